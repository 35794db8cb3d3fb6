/*
 * maint_internal.h
 *	  Shared by the files of maint/: a segment that a flush or merge makes
 *	  while the index is in use.
 */
#ifndef SKX_MAINT_INTERNAL_H
#define SKX_MAINT_INTERNAL_H

#include "index/segment/segment.h"
#include "index/snapshot/snapshot.h"
#include "storage/blkio/blkio.h"
#include "storage/buffile.h"
#include "write/build/build.h"
#include "write/maint/maint.h"
#include "write/writer/writer_build.h"

/* maint_output.c : the new segment of an operation */

/* Notes of skx_maint_warm_begin(). */
typedef struct SkxMaintWarm SkxMaintWarm;

/* A segment in the making, whose pages go to extents of an operation. */
typedef struct SkxMaintOutput
{
	SkxOperation *op;
	SkxBlkWriter *writer;		/* NULL when all pages are written */
	SkxSegmentStore store;
	SkxSegmentBuildOptions build;
	SkxMaintWarm *warm;			/* NULL, or notes on the cache for a merge */
	uint64		nwritten;		/* pages written by this process */
} SkxMaintOutput;

/*
 * Returns how many blocks of block_size bytes to reserve for a segment of
 * about nbytes bytes.
 */
extern uint32 skx_maint_blocks(uint64 nbytes, uint32 block_size);

/*
 * Sets up *out for a new segment of about `bytes` bytes; 0: its size is not
 * known.
 */
extern void skx_maint_output_begin(SkxMaintOutput *out, SkxOperation *op,
								   const SkxMaintOptions *options,
								   uint64 bytes);

/*
 * Finishes the writing of pages.  They are crash-safe as soon as a later WAL
 * record is flushed.
 */
extern void skx_maint_output_end(SkxMaintOutput *out);

/*
 * maint_warm.c : the cache before and after a merge
 *
 * If the cache has pages of the inputs of a merge, queries are likely to need
 * the pages of the new segment that have the same terms or documents.
 */

/*
 * Lets the merge note for each page that it writes whether the cache has the
 * pages that it is made from.  Called before the first page is written.
 * `inputs` were opened by skx_snapshot_open() and skx_snapshot_read_once().
 */
extern void skx_maint_warm_begin(SkxMaintOutput *out,
								 const SkxSnapshotReader *inputs);

/*
 * Reads the noted pages of the new segment into the cache.  Called between
 * skx_maint_output_end() and the publishing of the segment.
 */
extern void skx_maint_warm_read_pages(SkxMaintOutput *out,
									  const SkxDiskSegmentRef *ref);

/*
 * Makes pages of the inputs the next that the cache gives up.  Called when the
 * new segment is published.
 */
extern void skx_maint_warm_evict_inputs(SkxMaintOutput *out);

/* Writes what a helper has noted on its pages to a file. */
extern void skx_maint_warm_write(const SkxMaintOutput *out, BufFile *file);

/*
 * Adds what a helper has written to the file to the notes of this process.
 * `read` reads n bytes, or raises an error.
 */
extern void skx_maint_warm_read(SkxMaintOutput *out, BufFile *file,
								void (*read) (BufFile *file, void *to,
											  Size n));

/*
 * maint_help.c : a merge by several processes
 *
 * After an error no function need be called.
 */

/* The helpers of a merge. */
typedef struct SkxMaintHelpers SkxMaintHelpers;

/*
 * Prepares a merge by several processes, whose result has about `bytes` bytes.
 * `past`: helpers read the inputs past the page cache of the kernel.  Returns
 * NULL if helpers are not worth it or not allowed, or if memory or shared
 * memory is too small.
 */
extern SkxMaintHelpers *skx_maint_help_begin(SkxMaintOutput *out,
											 const SkxMaintOptions *options,
											 const SkxSnapshotReader *source,
											 bool past, SkxMerge *merge,
											 uint64 bytes);

/*
 * Merges with helpers, and sets *ref to the new segment; called instead of
 * skx_merge_run().  The inputs must have live documents.
 */
extern void skx_maint_help_run(SkxMaintHelpers *h, SkxDiskSegmentRef *ref);

/* Frees h and its shared memory.  Called after the segment is published. */
extern void skx_maint_help_end(SkxMaintHelpers *h);

/*
 * Documents of a segment whose deleted bits are to be set (maint_output.c);
 * zero: none.
 */
typedef struct SkxMaintDeletes
{
	uint32		npages;			/* pages of deleted bits */
	uint8	  **pages;			/* bits of each page; NULL: it has none */
} SkxMaintDeletes;

/* Adds a document of the segment. */
extern void skx_maint_deletes_add(SkxMaintDeletes *marks, uint32 doc);

/*
 * Sets the deleted bits of the documents in the segment.  The caller holds the
 * lock on the metapage.
 */
extern void skx_maint_deletes_set(const SkxMaintDeletes *marks,
								  const SkxOperation *op,
								  const SkxDiskSegmentRef *ref);

/*
 * Returns a view of the present root, for maintenance (maint_output.c).  With
 * SKX_WAIT_NEVER it is a skx_manifest_view(), and the caller must have a
 * snapshot.  Else it is a skx_manifest_view_unlisted() that is read under the
 * lock on the metapage: its pages stay readable only as far as the lock of an
 * operation keeps them.
 */
extern SkxView *skx_maint_view(Relation index, SkxManifestWait wait);

/*
 * Sets the deleted bits of documents whose rows are dead to all snapshots
 * (maint_dead.c).  `inputs` is a view with the segments to look at, which have
 * `bytes` bytes and stay as they are under the lock of the operation.  Does
 * nothing if they have more than 64 MB, the table is locked, or it is not a
 * heap.
 */
extern void skx_maint_delete_dead(const SkxOperation *op,
								  const SkxView *inputs, uint64 bytes);

/*
 * Returns true if VACUUM may give back the end of the table's file, and so
 * that of the index (maint_shrink.c).
 */
extern bool skx_maint_may_truncate(Relation index);

/*
 * Returns true if so much of the file is free that segments should move
 * towards its beginning, and the end of the file may be given back
 * (maint_shrink.c).
 */
extern bool skx_maint_segments_should_move(Relation index,
										   const SkxView *view);

#endif							/* SKX_MAINT_INTERNAL_H */
