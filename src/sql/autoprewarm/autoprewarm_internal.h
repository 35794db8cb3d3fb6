/*
 * autoprewarm_internal.h
 *	  The notes on what was in the cache.
 */
#ifndef SKX_AUTOPREWARM_INTERNAL_H
#define SKX_AUTOPREWARM_INTERNAL_H

#include "postmaster/bgworker.h"
#include "sql/autoprewarm/autoprewarm.h"
#include "storage/blkio/blkio_warmer.h"

/* Name of the C function that reads pages of one database back. */
#define SKX_AUTOPREWARM_DATABASE_MAIN	"skx_autoprewarm_database_main"

/*
 * autoprewarm_notes.c : the notes in memory
 *
 * They have a header, the indexes by incarnation, and groups of stretches of
 * pages.  A group has pages of one plane of a segment with one use count.
 */

/* Most bytes of notes.  What was used least is left out. */
#define SKX_AUTOPREWARM_MAX_BYTES	(16 * 1024 * 1024)

/* Most frames that notes are made of. */
#define SKX_AUTOPREWARM_MAX_FRAMES	(2 * 1024 * 1024)

/* A stretch of pages in the notes. */
typedef struct SkxAutoprewarmStretch
{
	uint32		index;			/* number of an index of that incarnation */
	uint32		segment;
	uint64		salt;			/* of the segment */
	uint8		plane;
	uint8		uses;			/* use count of the pages */
	uint32		first;
	uint32		npages;			/* at least 1 */
} SkxAutoprewarmStretch;

/* Notes that were checked, with the place of a reader. */
typedef struct SkxAutoprewarmNotes
{
	const SkxBlkKnownIndex *indexes;
	uint32		nindexes;
	const uint8 *next;			/* not read yet */
	const uint8 *end;
	uint64		page;			/* after the last stretch; PG_UINT64_MAX: no
								 * group has begun */
	SkxAutoprewarmStretch last;
} SkxAutoprewarmNotes;

/*
 * Makes notes of the frames and sets *size; palloc'd.  Frames of indexes that
 * are not among the known ones are left out.
 */
extern uint8 *skx_autoprewarm_encode(const SkxBlkKnownIndex *indexes,
									 int nindexes,
									 const SkxBlkContent *frames, int nframes,
									 Size *size);

/*
 * Begins to read notes.  Returns NULL, or what is wrong with them.  The bytes
 * must stay, and be aligned as palloc'd memory is.
 */
extern const char *skx_autoprewarm_decode(const uint8 *bytes, Size size,
										  SkxAutoprewarmNotes *notes);

/*
 * Sets *stretch to the next one, in which all numbers are possible.  Returns
 * false at the end, and where the notes are wrong.
 */
extern bool skx_autoprewarm_next(SkxAutoprewarmNotes *notes,
								 SkxAutoprewarmStretch *stretch);

/* autoprewarm_file.c : the notes in a file of the data directory */

/*
 * Replaces the file.  Returns false, with the reason in the log and the file as
 * it was, if that fails.
 */
extern bool skx_autoprewarm_write(const uint8 *bytes, Size size);

/*
 * Reads the file in the current memory context.  Returns false if there is
 * none, or it cannot be used; the log says why in the second case.
 */
extern bool skx_autoprewarm_read(SkxAutoprewarmNotes *notes);

#endif							/* SKX_AUTOPREWARM_INTERNAL_H */
