/*
 * maint_internal.h
 *	  What flush and merge share: a segment that is made while the index is in
 *	  use.
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

/*
 * maint_output.c
 *
 * Where the pages of the new segment go: extents of the operation.
 */
typedef struct SkxMaintWarm SkxMaintWarm;

typedef struct SkxMaintOutput
{
	SkxOperation *op;
	SkxBlkLive *live;
	SkxSegmentStore store;
	SkxSegmentBuildOptions build;
	SkxMaintWarm *warm;			/* NULL: what it is made of is in no cache */
	uint64		nwritten;		/* pages */
} SkxMaintOutput;

/* Blocks for the pages of a segment of about so many bytes. */
extern uint32 skx_maint_blocks(uint64 nbytes, uint32 block_size);

/* `bytes`: about so large. */
extern void skx_maint_output_begin(SkxMaintOutput *out, SkxOperation *op,
								   const SkxMaintOptions *options,
								   uint64 bytes);

/* Afterwards all pages are safe as soon as a later WAL record is. */
extern void skx_maint_output_end(SkxMaintOutput *out);

/*
 * maint_warm.c : what queries read of the inputs of a merge, they will of the
 * segment that it makes
 *
 * begin: before the first page, of inputs that are read in passing.  bring:
 * after skx_maint_output_end(), before the segment is published.  retire: when
 * it has been.
 */
extern void skx_maint_warm_begin(SkxMaintOutput *out,
								 const SkxSource *inputs);
extern void skx_maint_warm_bring(SkxMaintOutput *out,
								 const SkxDiskSegmentRef *ref);
extern void skx_maint_warm_retire(SkxMaintOutput *out);

/*
 * What another process has noted, of pages that it wrote: to a file, and from
 * it, by a function that reads all bytes that it is asked for.
 */
extern void skx_maint_warm_write(const SkxMaintOutput *out, BufFile *file);
extern void skx_maint_warm_read(SkxMaintOutput *out, BufFile *file,
								void (*read) (BufFile *file, void *to,
											  Size n));

/*
 * maint_help.c : a merge by several processes
 *
 * begin: `bytes` of result, about; NULL where it is not worth that, or there is
 * no room.  run instead of skx_merge_run(), of a merge that has live documents;
 * end after all is done.  After an error nothing need be called.
 */
typedef struct SkxMaintHelp SkxMaintHelp;

extern SkxMaintHelp *skx_maint_help_begin(SkxMaintOutput *out,
										  const SkxMaintOptions *options,
										  const SkxSource *source, bool past,
										  SkxMerge *merge, uint64 bytes);
extern void skx_maint_help_run(SkxMaintHelp *h, SkxDiskSegmentRef *ref);
extern void skx_maint_help_end(SkxMaintHelp *h);

/* Documents of the new segment that were deleted while it was made. */
typedef struct SkxMaintMarks
{
	uint32		npages;
	uint8	  **pages;			/* bits, or NULL where there are none */
} SkxMaintMarks;

extern void skx_maint_marks_add(SkxMaintMarks *marks, uint32 doc);

/* Sets the bits in the segment; the metapage's lock is held. */
extern void skx_maint_marks_set(const SkxMaintMarks *marks,
								const SkxOperation *op,
								const SkxDiskSegmentRef *ref);

/*
 * A view that does not depend on a snapshot: taken under the lock on the
 * metapage, unless the caller has a snapshot and must not wait.  What the
 * view names stays readable only as far as an operation's lock, or the
 * snapshot, sees to it.
 */
extern SkxView *skx_maint_view(Relation index, SkxManifestWait wait);

/*
 * maint_dead.c
 *
 * Marks documents of the segments of `inputs`, which the operation's lock keeps
 * where they are, whose rows are dead to all.  None where they have more than
 * some bytes, or the table is locked, or is not a heap.
 */
extern void skx_maint_dead(const SkxOperation *op, const SkxView *inputs,
						   uint64 bytes);

/* maint_shrink.c : may the end of the file be given back at all? */
extern bool skx_maint_truncates(Relation index);

/* maint_merge.c : is so much of the file free that segments should move? */
extern bool skx_maint_loose(Relation index, const SkxView *view);

#endif							/* SKX_MAINT_INTERNAL_H */
