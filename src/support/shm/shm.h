/*
 * shm.h
 *	  Dynamic shared memory: how much of it a session may take, so that most
 *	  of it is left to others.
 */
#ifndef SKX_SHM_H
#define SKX_SHM_H

#include "storage/dsm.h"

/*
 * shm_limits.c : free memory, and how much of it to take.  Builds without a
 * server.
 */

/* Number of free bytes where memory has no limit, or none that is known. */
#define SKX_SHM_UNLIMITED	PG_UINT64_MAX

/* Free bytes, by kind of memory. */
typedef struct SkxShmFree
{
	uint64		reserved;		/* largest free piece of the memory that the
								 * server has set aside
								 * (min_dynamic_shared_memory) */
	uint64		segments;		/* free where other segments are made;
								 * SKX_SHM_UNLIMITED: not known */
	uint64		memory;			/* left of the cgroup's limit, or
								 * SKX_SHM_UNLIMITED */
} SkxShmFree;

/* The limit that keeps a session from all the bytes that it wants. */
typedef enum SkxShmLimit
{
	SKX_SHM_LIMIT_NONE,			/* it gets all of them */
	SKX_SHM_LIMIT_RESERVED,		/* SkxShmFree.reserved */
	SKX_SHM_LIMIT_SEGMENTS,		/* SkxShmFree.segments */
	SKX_SHM_LIMIT_UNKNOWN,		/* SkxShmFree.segments is not known */
	SKX_SHM_LIMIT_MEMORY,		/* SkxShmFree.memory */
	SKX_SHM_LIMIT_REFUSED		/* the server refused a segment that was
								 * granted */
} SkxShmLimit;

/*
 * Least bytes that are granted, unless fewer are wanted: a smaller segment is
 * not worth it.
 */
#define SKX_SHM_GRANT_MIN		((uint64) 4 * 1024 * 1024)

/* Most bytes that are granted where free memory is not known. */
#define SKX_SHM_GRANT_UNKNOWN_MAX		((uint64) 16 * 1024 * 1024)

/*
 * Returns how many of `wanted` bytes to take, or 0 if too few are free.  Sets
 * *limit to what bounds them.  Sets *elsewhere to the most bytes of a segment
 * that does not lie in the memory set aside.
 */
extern uint64 skx_shm_choose_bytes(uint64 wanted, const SkxShmFree *room,
								   SkxShmLimit *limit, uint64 *elsewhere);

/*
 * Returns the free bytes of the file system that has the directory `dir`, or
 * SKX_SHM_UNLIMITED.
 */
extern uint64 skx_shm_free_in_directory(const char *dir);

/*
 * Returns how large a segment of System V memory can be by its limits and what
 * is in use, in bytes, or SKX_SHM_UNLIMITED.
 */
extern uint64 skx_shm_sysv_segment_max(void);

/*
 * Returns the available bytes of the machine's memory, or SKX_SHM_UNLIMITED.
 * `root` is "" or a directory with a copy of proc/.
 */
extern uint64 skx_shm_free_in_machine(const char *root);

/*
 * Returns how many bytes are left of the memory limit of the cgroup of this
 * process, or of a cgroup around it if that has fewer.  Returns
 * SKX_SHM_UNLIMITED if none has a limit.  `root` is "" or a directory with a
 * copy of proc/ and sys/.
 */
extern uint64 skx_shm_free_in_cgroup(const char *root);

/* shm_segment.c : segments that leave most of the free memory to others */

/* Capacity of SkxShmGrant.reason in bytes. */
#define SKX_SHM_REASON_SIZE		160

/* What a session may take of shared memory. */
typedef struct SkxShmGrant
{
	uint64		bytes;			/* bytes granted; 0: none */
	uint64		max_unreserved; /* most bytes of a segment outside of the
								 * memory set aside */
	const char *reserved;		/* start of the memory set aside */
	Size		reserved_bytes; /* its size; 0: there is none */
	SkxShmLimit limit;
	char		reason[SKX_SHM_REASON_SIZE];	/* words for the limit; "" if
												 * all bytes are granted */
} SkxShmGrant;

/*
 * Finds out how many of `wanted` bytes this server can give, and sets *grant.
 * May raise errors of the server's shared memory.
 */
extern void skx_shm_request(uint64 wanted, SkxShmGrant *grant);

/*
 * Makes a segment of `bytes` bytes, no more than were granted.  Raises
 * ERRCODE_INSUFFICIENT_RESOURCES if there are too many segments, or if the
 * memory set aside, which it needs, is in use; and errors of the server's
 * shared memory.
 */
extern dsm_segment *skx_shm_segment(const SkxShmGrant *grant, Size bytes);

/*
 * Calls action(arg).  Returns NULL, or the message of the error that it
 * raised, palloc'd.  What it makes belongs to the session rather than to the
 * query.  The caller holds no LWLock: an error releases all of them.
 */
extern char *skx_shm_attempt(void (*action) (void *arg), void *arg);

/* Returns the hint of an error message: how to raise the limit. */
extern const char *skx_shm_hint(SkxShmLimit limit);

#endif							/* SKX_SHM_H */
