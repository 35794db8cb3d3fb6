/*
 * shm.h
 *	  How much dynamic shared memory may be taken without taking it from
 *	  others.
 */
#ifndef SKX_SHM_H
#define SKX_SHM_H

#include "storage/dsm.h"

/*
 * shm_limits.c : what there is, and what to take of it.  Needs no server.
 */

/* Of memory: no limit, or none that is known. */
#define SKX_ROOM_UNLIMITED	PG_UINT64_MAX

/* Bytes to be had. */
typedef struct SkxRoom
{
	uint64		aside;			/* largest free piece of what the server has
								 * set aside (min_dynamic_shared_memory) */
	uint64		place;			/* free where other segments are made;
								 * SKX_ROOM_UNLIMITED: not known */
	uint64		memory;			/* left of the cgroup's limit */
} SkxRoom;

/* Which of them decides. */
typedef enum SkxRoomLimit
{
	SKX_ROOM_LIMIT_NONE,		/* there is room for all */
	SKX_ROOM_LIMIT_ASIDE,
	SKX_ROOM_LIMIT_PLACE,
	SKX_ROOM_LIMIT_UNKNOWN,
	SKX_ROOM_LIMIT_MEMORY,
	SKX_ROOM_LIMIT_REFUSED		/* there is less than there seemed to be */
} SkxRoomLimit;

/* The least worth a segment, but for what is to be smaller. */
#define SKX_ROOM_LEAST		((uint64) 4 * 1024 * 1024)

/* Taken where it is not known what there is. */
#define SKX_ROOM_MODEST		((uint64) 16 * 1024 * 1024)

/*
 * How many of `wanted` bytes to take, 0 for none.  *elsewhere is how many may
 * be taken of `place`; more than that is for memory set aside only.
 */
extern uint64 skx_shm_choose(uint64 wanted, const SkxRoom *room,
							 SkxRoomLimit *limit, uint64 *elsewhere);

/*
 * Bytes to be had, or SKX_ROOM_UNLIMITED: in the file system of a directory;
 * of System V memory; of the machine's memory; of the memory of the cgroup that
 * this process is in, and of those around it, less what is in use.  `root` is
 * "" or a directory with a copy of proc/ and sys/.
 */
extern uint64 skx_shm_free(const char *dir);
extern uint64 skx_shm_sysv(void);
extern uint64 skx_shm_machine(const char *root);
extern uint64 skx_shm_cgroup(const char *root);

/*
 * shm_segment.c : a segment that leaves most of what there is to others
 *
 * ask looks at this server.  segment makes one of as many bytes as granted, or
 * fewer.  Both raise errors of the server's shared memory.  hint says what
 * helps against a limit.
 */
#define SKX_ROOM_WHY		160

typedef struct SkxRoomGrant
{
	uint64		bytes;			/* of those wanted; 0: none */
	uint64		elsewhere;		/* most bytes of a segment outside of .. */
	const char *aside;			/* .. the memory set aside */
	Size		aside_bytes;
	SkxRoomLimit limit;
	char		why[SKX_ROOM_WHY];	/* "" when all are granted */
} SkxRoomGrant;

extern void skx_shm_ask(uint64 wanted, SkxRoomGrant *grant);
extern dsm_segment *skx_shm_segment(const SkxRoomGrant *grant, Size bytes);

/*
 * Runs `action`; returns NULL, or the text of the error it raised.  What it
 * makes belongs to the session rather than to the query.
 */
extern char *skx_shm_attempt(void (*action) (void *arg), void *arg);
extern const char *skx_shm_hint(SkxRoomLimit limit);

#endif							/* SKX_SHM_H */
