/*
 * maint.h
 *	  What happens to an index after its build: VACUUM, flush, merge.
 */
#ifndef SKX_MAINT_H
#define SKX_MAINT_H

#include "access/genam.h"
#include "index/manifest/manifest_publish.h"
#include "support/worker/worker.h"
#include "utils/relcache.h"

/* What has become of work that may have to be left. */
typedef enum SkxMaintStep
{
	SKX_STEP_NONE,				/* there is nothing worth it */
	SKX_STEP_BUSY,				/* another process is in the way */
	SKX_STEP_DONE
} SkxMaintStep;

/*
 * Which segments are written anew that are only in the way of a shorter file.
 * All of a small one: they become one.  Aside: past the end of the file, where
 * they do not fit elsewhere; the caller merges again, and shrinks.
 */
typedef enum SkxMaintMoves
{
	SKX_MOVES_NONE,
	SKX_MOVES_LAST,
	SKX_MOVES_ALL,
	SKX_MOVES_ASIDE
} SkxMaintMoves;

/* So often at most for one shorter file. */
#define SKX_MOVES_ASIDE_MOST	2

/* What segments are made with. */
typedef struct SkxMaintOptions
{
	double		k1;				/* BM25's */
	double		b;
	Size		memory;			/* bytes, for one flush or merge */
	uint64		pending_limit;	/* bytes */
	uint64		max_merged_segment; /* bytes, by the policy */
	int			segments_per_tier;
	int			deletes_pct_allowed;
	uint32		purged;			/* segments up to this number are rid of all
								 * deletes; 0: none is */
	SkxWorkerAsker asker;		/* on whose behalf */
	bool		certain;		/* no error can be caught: begin only what has
								 * all its space, and warn of the rest */
	SkxMaintMoves moves;
} SkxMaintOptions;

/*
 * maint_open.c : the way from an OID that a user has given to an index
 *
 * open locks the table first, then the index, and returns both.  It errors out
 * unless that is an index of ours, with `parts` also a partitioned one, which
 * is valid, can be read here and now, and has the rows of its table: those of
 * a distributed one are elsewhere.  Rights are the caller's matter.  check is
 * the rest of that for an index of ours that is open.
 */
extern void skx_maint_open(Oid oid, LOCKMODE mode, bool parts, Relation *heap,
						   Relation *index);
extern void skx_maint_check(Relation heap, Relation index);

/* maint_vacuum.c */

/*
 * Marks every document for which the callback says so; asks it once for every
 * live one.  Adds to stats->tuples_removed and sets the other counts.
 */
extern void skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
								 IndexBulkDeleteCallback callback,
								 void *state);

/*
 * The rest of VACUUM: takes back what was left behind, flushes and merges
 * where that is worth it, unless VACUUM has no time for it; and counts as
 * above.  Waits for no other flush or merge to end.  What fails of it is
 * warned of and left; where no error can be caught, only what cannot fail for
 * want of space is begun.
 */
extern void skx_maint_cleanup(Relation index, SkxMaintOptions *options,
							  IndexBulkDeleteResult *stats);

/*
 * maint_optional.c
 *
 * Does work in a subtransaction, in a memory context of its own; false: an
 * error of the kind to be spared has ended it, and become a warning.  Not
 * where SKX_COMPAT_SUBTRANSACTIONS() says no.
 */
typedef void (*SkxMaintWork) (Relation index, void *arg);

typedef enum SkxMaintSpare
{
	SKX_SPARE_SPACE,			/* want of space, memory, temporary files */
	SKX_SPARE_ALL				/* all errors but a cancel */
} SkxMaintSpare;

extern bool skx_maint_optional(Relation index, SkxMaintWork work, void *arg,
							   SkxMaintSpare spare);

/*
 * maint_flush.c
 *
 * Makes one segment of pending documents, `budget` bytes of them, at least one
 * document.  False: nothing was pending, or would have to wait.  Adds to
 * *ndocs the live documents that have moved.  A caller that does not wait
 * must have a snapshot.
 */
extern bool skx_maint_flush(Relation index, const SkxMaintOptions *options,
							uint64 budget, SkxManifestWait wait,
							uint64 *ndocs);

/*
 * Flushes, in portions of what the options say, all documents that are pending
 * when it is called; returns how many live ones it has moved.
 */
extern uint64 skx_maint_flush_all(Relation index,
								  const SkxMaintOptions *options,
								  SkxManifestWait wait);

/* Bytes of the documents that are pending now. */
extern uint64 skx_maint_pending_bytes(Relation index);

/*
 * maint_merge.c
 *
 * Merges segments until there is nothing worth it (`most` 0), or until no more
 * than `most` are left, as far as segments can hold that, and none of those that
 * there were has deletes; returns how many there are.  It does not chase
 * segments that are made, or deletes that are marked in these, meanwhile.
 */
extern int	skx_maint_merge(Relation index, const SkxMaintOptions *options,
							int most, SkxManifestWait wait);

/* One merge of these, if another process is not at one. */
extern SkxMaintStep skx_maint_merge_step(Relation index,
										 const SkxMaintOptions *options,
										 int most, SkxManifestWait wait);

/*
 * maint_shrink.c
 *
 * Makes the file shorter where many pages at its end are free, or could be, and
 * that of its table may be made shorter.  Waits for other processes that use
 * the index, and for a caller that `merges` until free pages may be
 * overwritten, as long as the patience lasts, and takes that time off it.
 * Assigns an xid, so it is not for parallel mode.  wanted: is there so much at
 * the end?
 */
typedef struct SkxMaintPatience
{
	int			others;			/* ms */
	int			vacuum;			/* ms, while nothing but VACUUM is in the way */
	bool		(*called) (void);	/* NULL, or: true ends the wait */
	bool		merges;			/* the caller merges again when it is told
								 * that something is in the way */
} SkxMaintPatience;

extern void skx_maint_patience(SkxMaintPatience *patience, int ms);
extern SkxMaintStep skx_maint_shrink(Relation index,
									 SkxMaintPatience *patience);
extern bool skx_maint_shrink_wanted(Relation index);

/*
 * Does no process but VACUUM use the index?  Then its file is likely to become
 * shorter, if what is in the way moves.  wait: until it is so, or patience ends.
 * unused: it is so for 35 ms, which this takes.
 */
extern bool skx_maint_clear(Relation index);
extern bool skx_maint_unused(Relation index);
extern bool skx_maint_clear_wait(Relation index, SkxMaintPatience *patience);

/*
 * Is a merge worth it (`most` 0)?  due looks at sizes alone; a caller that does
 * not wait must have a snapshot.  wanted looks at deletes, too.
 */
extern bool skx_maint_merge_due(Relation index,
								const SkxMaintOptions *options,
								SkxManifestWait wait);
extern bool skx_maint_merge_wanted(Relation index,
								   const SkxMaintOptions *options);

#endif							/* SKX_MAINT_H */
