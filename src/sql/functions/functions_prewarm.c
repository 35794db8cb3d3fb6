/*
 * functions_prewarm.c
 *	  skipidx_prewarm(): reads the segments of an index into memory.
 *
 * It reads all pages that queries read through the block cache, in the order
 * of the file.  It does not read those in shared buffers, which are the pages
 * of pending documents and of deleted bits.
 */
#include "postgres.h"

#include "fmgr.h"
#include "index/snapshot/snapshot.h"
#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(skipidx_prewarm);

Datum
skipidx_prewarm(PG_FUNCTION_ARGS)
{
	Relation	heap;
	Relation	index;
	SkxSnapshotReader *source;
	const SkxBlkPlane **planes;
	uint64		npages = 0;
	int			nsegments;
	int			n = 0;
	int			i;
	int			plane;

	skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_READ, &heap, &index);
	source = skx_snapshot_open(index, skx_manifest_view(index));
	nsegments = skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	planes = palloc((nsegments + 1) * SKX_SEGMENT_NPLANES *
					sizeof(SkxBlkPlane *));
	for (i = 0; i < nsegments; i++)
	{
		for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
		{
			if (plane != SKX_SEGMENT_DELETES)
				planes[n++] = &source->segments[i]->planes[plane];
		}
	}
	if (n > 0)
		npages = skx_blkio_prewarm(source->file, planes, n);
	skx_snapshot_close(source);
	skx_inspect_close(heap, index);
	PG_RETURN_INT64((int64) npages);
}
