/*
 * exec_share.h
 *	  State that the processes of one parallel scan share: the view that they
 *	  read, and which documents are taken.
 */
#ifndef SKX_EXEC_SHARE_H
#define SKX_EXEC_SHARE_H

#include "index/manifest/manifest.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

/*
 * The shared state of a parallel scan.  It lies in dynamic shared memory,
 * aligned to 8 bytes.
 */
typedef struct SkxExecShared
{
	slock_t		mutex;			/* protects has_view and view */
	bool		has_view;		/* a process has set the view */
	SkxView		view;			/* only its meta, bound and ends are used */
	pg_atomic_uint64 next_part; /* number of the part that is taken next */
	pg_atomic_uint64 finished_parts;	/* number of parts that are done */
	ConditionVariable all_finished_cv;	/* signalled when all parts are done */
} SkxExecShared;

/*
 * Least number of documents of a part of a segment, except its last part.  It
 * is a multiple of the windows in which queries are evaluated.
 */
#define SKX_EXEC_PART_DOCS_MIN		(1 << 15)

/*
 * A part of the scan that one process takes: documents [from, to) of a
 * segment, or all pending documents.
 */
typedef struct SkxExecPart
{
	int			segment;		/* -1: the pending documents */
	uint32		from;
	uint32		to;
} SkxExecPart;

/* The position of one process in the sequence of parts. */
typedef struct SkxExecPartReader
{
	SkxExecShared *shared;
	int			nsegments;
	const uint32 *ndocs;		/* number of documents of each segment */
	uint32		max_parts;		/* parts of a segment at most */
	int			segment;		/* segment of the part taken last */
	uint64		first_part;		/* number of the first part of that segment */
} SkxExecPartReader;

/* exec_share.c : divides a view and its documents among processes */

/* Initializes the shared memory.  One process calls it before all others. */
extern void skx_exec_share_init(SkxExecShared *share);

/*
 * Discards the view and resets the counters for a further scan.  No process
 * may be using the shared memory.
 */
extern void skx_exec_share_restart(SkxExecShared *share);

/*
 * Returns the one view that all processes of the scan read.  The process that
 * calls first sets it: to `own`, or to a view taken now if `own` is NULL.
 * The result is `own` if that is the shared view, or else is allocated in the
 * current memory context.
 */
extern const SkxView *skx_exec_share_view(SkxExecShared *share, Relation index,
										  const SkxView *own);

/*
 * Takes the next part that no process has taken, and returns its number, from
 * 0.  For searches whose parts are not those of skx_exec_share_next_part().
 */
extern uint64 skx_exec_share_next(SkxExecShared *share);

/*
 * Initializes the reader of this process.  ndocs has the number of documents
 * of each of the nsegments segments and is kept by reference.  ndocs and
 * parts, the largest number of parts of a segment, must be the same in all
 * processes.
 */
extern void skx_exec_share_begin(SkxExecPartReader *reader,
								 SkxExecShared *share, const uint32 *ndocs,
								 int nsegments, uint32 parts);

/*
 * Takes the next part that no process has taken.  Returns false if none is
 * left.  The parts that one process takes ascend, and the pending documents
 * are the last part of all.
 */
extern bool skx_exec_share_next_part(SkxExecPartReader *reader,
									 SkxExecPart *part);

/*
 * Reports that n further parts are done.  Returns true if all parts of the
 * scan are done with these, which holds in exactly one process.  It then
 * wakes the processes in skx_exec_share_wait().
 */
extern bool skx_exec_share_finish_parts(SkxExecPartReader *reader, uint64 n);

/* Waits until all parts of the scan are done, in all processes. */
extern void skx_exec_share_wait(const SkxExecPartReader *reader);

#endif							/* SKX_EXEC_SHARE_H */
