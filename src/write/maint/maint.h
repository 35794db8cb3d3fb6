/*
 * maint.h
 *	  Maintenance of an index after its build: VACUUM, flush, merge, and
 *	  giving back the end of its file.
 */
#ifndef SKX_MAINT_H
#define SKX_MAINT_H

#include "access/genam.h"
#include "index/manifest/manifest_publish.h"
#include "support/worker/worker.h"
#include "utils/relcache.h"

/* Result of work that may be left undone. */
typedef enum SkxMaintStep
{
	SKX_STEP_NONE,				/* there is nothing to do that is worth it */
	SKX_STEP_BUSY,				/* another process is in the way */
	SKX_STEP_DONE				/* the work is done */
} SkxMaintStep;

/*
 * Segments that a merge may write anew only because they keep the file from
 * becoming shorter.  Each value allows what those before it allow.
 */
typedef enum SkxMaintMoves
{
	SKX_MOVES_NONE,
	SKX_MOVES_LAST,				/* the last segment of the file */
	SKX_MOVES_ALL,				/* all segments of a small file, which become
								 * one */
	SKX_MOVES_PAST_END			/* those of a small file are written past its
								 * end if they fit nowhere else; the caller
								 * merges again then, and shrinks */
} SkxMaintMoves;

/* Most merges with SKX_MOVES_PAST_END for one shorter file. */
#define SKX_MOVES_PAST_END_MAX	2

/* Options of flushes and merges. */
typedef struct SkxMaintOptions
{
	double		k1;				/* of BM25 */
	double		b;				/* of BM25 */
	Size		memory;			/* bytes, for one flush or merge */
	uint64		pending_limit;	/* bytes of pending documents from which on
								 * they are flushed */
	uint64		max_merged_segment; /* bytes; most that the policy merges into
									 * one segment */
	bool		prefix_lists;	/* new segments get lists of prefixes */
	int			segments_per_tier;
	int			deletes_pct_allowed;	/* percent of deleted documents above
										 * which a segment is written anew */
	uint32		purge_up_to;	/* segments with ids up to this are written
								 * anew if they have deleted documents; 0:
								 * none is */
	SkxWorkerRequester requester;	/* what has begun the work */
	bool		needs_all_space;	/* errors cannot be caught: only work that
									 * has all its space is begun, and lack of
									 * space is a warning */
	SkxMaintMoves moves;
} SkxMaintOptions;

/* maint_open.c : opens an index that a user has named */

/*
 * Opens the index with the OID and its table, both locked in `mode`, the table
 * first.  The caller closes them.  Raises an error if the OID is not that of a
 * skipidx index, or skx_maint_check() fails.  `parts`: a partitioned index is
 * allowed, too.  Does not check privileges.
 */
extern void skx_maint_open(Oid oid, LOCKMODE mode, bool parts, Relation *heap,
						   Relation *index);

/*
 * Raises an error unless the skipidx index, which is open, can be read.  It
 * must be valid, have a file that this session can read, and have the rows of
 * its table.  The rows of a distributed table are in other tables.
 */
extern void skx_maint_check(Relation heap, Relation index);

/* Results of skx_maint_distribution() that are no methods. */
#define SKX_MAINT_NOT_DISTRIBUTED	'\0'
#define SKX_MAINT_METHOD_UNKNOWN	'?'

/*
 * Returns how the rows of a table are distributed over other tables by Citus,
 * or software derived from it.  'h', 'r' and 'a' are by a column, 'n' is none:
 * all rows are in one table, or in each of several.
 */
extern char skx_maint_distribution(Oid table);

/*
 * Opens an index of a distributed table, which has none of its rows, and the
 * table, as skx_maint_open() does.  Raises ERRCODE_FEATURE_NOT_SUPPORTED if the
 * table is not distributed.
 */
extern void skx_maint_open_distributed(Oid oid, Relation *heap,
									   Relation *index);

/* maint_vacuum.c : VACUUM */

/*
 * Calls the callback for every live document, and marks those as deleted for
 * which it returns true.  Documents that a flush or merge moves meanwhile may
 * be passed to it twice.  Adds to stats->tuples_removed and sets the other
 * counts.
 */
extern void skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
								 IndexBulkDeleteCallback callback,
								 void *state);

/*
 * Does the rest of VACUUM: takes back pages that operations have left
 * reserved, flushes, merges, and makes the file shorter where that is worth
 * it.  Does none of this if VACUUM is urgent.  Sets the counts of pages and
 * live documents.  Does not wait for another flush or merge to end.
 *
 * Errors become warnings, except a cancel.  Where they cannot be caught, it
 * begins only work that cannot fail for lack of space.  Changes
 * `needs_all_space` and `moves` of the options.
 */
extern void skx_maint_cleanup(Relation index, SkxMaintOptions *options,
							  IndexBulkDeleteResult *stats);

/* maint_optional.c : work whose errors become warnings */

/* Work on an index that may be left undone. */
typedef void (*SkxMaintWork) (Relation index, void *arg);

/* Errors that become warnings. */
typedef enum SkxMaintTolerance
{
	SKX_TOLERATE_NO_SPACE,		/* lack of disk space or memory: SQLSTATE
								 * class 53 */
	SKX_TOLERATE_ALL			/* all but a cancel or shutdown: class 57 */
} SkxMaintTolerance;

/*
 * Calls work(index, arg) in a subtransaction, in a memory context of its own.
 * Returns false if an error has ended it that became a warning.  Other errors
 * are raised.  May only be called if SKX_COMPAT_SUBTRANSACTIONS() is true.
 */
extern bool skx_maint_try_optional(Relation index, SkxMaintWork work,
								   void *arg, SkxMaintTolerance spare);

/* maint_flush.c : flush */

/*
 * Makes one segment of pending documents, about `budget` bytes of them, but
 * 64 MB at most and at least one document.  Adds the number of live documents
 * that have moved to *ndocs.  Returns false if nothing was moved: nothing was
 * pending, it would have to wait for longer than `wait` allows, or space is
 * lacking.
 *
 * Lack of space is an error, or a warning if options->needs_all_space.  With
 * SKX_WAIT_NEVER the caller must have a snapshot.
 */
extern bool skx_maint_flush(Relation index, const SkxMaintOptions *options,
							uint64 budget, SkxManifestWait wait,
							uint64 *ndocs);

/*
 * Flushes all documents that are pending when it is called, in portions that
 * the options bound.  Returns the number of live documents that have moved.
 * Stops early when skx_maint_flush() returns false.
 */
extern uint64 skx_maint_flush_all(Relation index,
								  const SkxMaintOptions *options,
								  SkxManifestWait wait);

/* Returns the bytes of the pending documents, live and dead. */
extern uint64 skx_maint_pending_bytes(Relation index);

/* maint_merge.c : merge */

/*
 * Merges segments, and returns how many the index has then.  `most` 0: merges
 * until the policy finds nothing worth it.  Else it merges until at most
 * `most` segments are left, or as few as can hold all documents.  It also
 * writes segments anew that are there at the start and have deleted
 * documents.  Segments that are made meanwhile, and their deleted documents,
 * do not make it go on.
 */
extern int	skx_maint_merge(Relation index, const SkxMaintOptions *options,
							int most, SkxManifestWait wait);

/*
 * Does one merge, or none; `most` as for skx_maint_merge().  Returns
 * SKX_STEP_NONE if there is nothing to merge, or if a segment that should move
 * does not lie lower.  Returns SKX_STEP_BUSY if it would have to wait for
 * longer than `wait` allows.
 *
 * Lack of space is an error.  With options->needs_all_space it is a warning,
 * and the result is SKX_STEP_BUSY.
 */
extern SkxMaintStep skx_maint_merge_step(Relation index,
										 const SkxMaintOptions *options,
										 int most, SkxManifestWait wait);

/* maint_shrink.c : gives back free pages at the end of the file */

/* How long to wait for other processes.  Waits take their time off it. */
typedef struct SkxMaintWaitBudget
{
	int			others_ms;		/* ms that are left */
	int			vacuum_ms;		/* ms that are left while no process but
								 * VACUUM is in the way */
	bool		(*wakeup) (void);	/* returns true to end a wait; or NULL */
	bool		caller_merges;	/* the caller of skx_maint_shrink() merges
								 * again after SKX_STEP_BUSY */
} SkxMaintWaitBudget;

/* Sets `others_ms` to ms, and `vacuum_ms` to many times that. */
extern void skx_maint_wait_budget(SkxMaintWaitBudget *patience, int ms);

/*
 * Makes the file shorter if skx_maint_shrink_wanted(), and returns
 * SKX_STEP_DONE.  Waits until no other process uses the index.  Returns
 * SKX_STEP_BUSY if the patience ends before.
 *
 * If it is not wanted, returns SKX_STEP_NONE.  But with
 * patience->caller_merges it returns SKX_STEP_BUSY if segments should move
 * into free pages that may not be overwritten yet.  It waits a little then, or
 * allows them to be overwritten.
 *
 * May assign a transaction id, so it is not called in parallel mode.
 */
extern SkxMaintStep skx_maint_shrink(Relation index,
									 SkxMaintWaitBudget *patience);

/*
 * Returns true if enough pages at the end of the file are free, or will be
 * when stripes without pending documents move; and if the end of the table's
 * file may be given back, too.
 */
extern bool skx_maint_shrink_wanted(Relation index);

/*
 * Returns true if skx_maint_shrink_wanted(), or if so much is free elsewhere
 * that segments should move, or if a flush or merge is under way, whose inputs
 * will be free.
 */
extern bool skx_maint_shrink_is_due(Relation index);

/*
 * Returns true if no process but VACUUM uses the index.  Its file is likely to
 * become shorter then, if the segments at its end move.
 */
extern bool skx_maint_index_is_unused(Relation index);

/*
 * Returns true if skx_maint_index_is_unused() is true at each of several
 * looks, which take 35 ms together.
 */
extern bool skx_maint_index_stays_unused(Relation index);

/*
 * Waits until skx_maint_index_is_unused() is true.  Returns false if the
 * patience ends before.
 */
extern bool skx_maint_wait_unused(Relation index,
								  SkxMaintWaitBudget *patience);

/*
 * Returns true if the policy finds a merge worth it by the sizes of segments
 * alone (maint_merge.c).  With SKX_WAIT_NEVER the caller must have a snapshot.
 */
extern bool skx_maint_merge_is_due(Relation index,
								   const SkxMaintOptions *options,
								   SkxManifestWait wait);

/*
 * Returns true if skx_maint_merge_step() would find something to merge, by
 * sizes and deleted documents (maint_merge.c).  Takes the heavyweight lock on
 * the metapage for a moment.
 */
extern bool skx_maint_merge_has_work(Relation index,
									 const SkxMaintOptions *options);

#endif							/* SKX_MAINT_H */
