/*
 * maint.h
 *	  What happens to an index after its build: VACUUM, flush, merge.
 */
#ifndef SKX_MAINT_MAINT_H
#define SKX_MAINT_MAINT_H

#include "access/genam.h"
#include "manifest/manifest_publish.h"
#include "utils/relcache.h"

/* What segments are made with. */
typedef struct SkxMaintOptions
{
	double		k1;				/* BM25's */
	double		b;
	Size		memory;			/* bytes, for one flush or merge */
	uint64		pending_limit;	/* bytes */
} SkxMaintOptions;

/* maint_open.c : errors out unless the relation is an index of ours that can
 * be read here and now */
extern void skx_maint_check_index(Relation rel);

/* maint_vacuum.c */

/*
 * Marks every document for which the callback says so; asks it once for every
 * live one.  Adds to stats->tuples_removed and sets the other counts.
 */
extern void skx_maint_bulkdelete(Relation index, IndexBulkDeleteResult *stats,
								 IndexBulkDeleteCallback callback,
								 void *state);

/* Sets the counts of pages and of live documents. */
extern void skx_maint_count(Relation index, IndexBulkDeleteResult *stats);

/*
 * The rest of VACUUM: takes back what was left behind, flushes and merges
 * where that is worth it.  Waits for no other flush or merge to end.
 */
extern void skx_maint_cleanup(Relation index, const SkxMaintOptions *options);

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
 * than `most` are left and none of them has many deletes, as far as segments
 * can hold that; returns how many there are.  It does not chase segments that
 * are made meanwhile.
 */
extern int	skx_maint_merge(Relation index, const SkxMaintOptions *options,
							int most, SkxManifestWait wait);

#endif							/* SKX_MAINT_MAINT_H */
