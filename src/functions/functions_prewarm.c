/*
 * functions_prewarm.c
 *	  skipidx_prewarm(): reads the segments of an index into memory.
 *
 * Everything that queries read through the block cache is read, in the order
 * of the file.  What goes through shared buffers (the pages of inserted
 * documents, deletes) is not.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "inspect/inspect.h"
#include "segment/segment.h"

PG_FUNCTION_INFO_V1(skipidx_prewarm);

Datum
skipidx_prewarm(PG_FUNCTION_ARGS)
{
	Relation	rel = skx_inspect_open(PG_GETARG_OID(0), SKX_INSPECT_READ);
	SkxView    *view = skx_manifest_view(rel);
	SkxBlkFile *file = skx_segment_file(rel, view->meta.incarnation);
	const SkxBlkPlane **planes = palloc((view->nsegments + 1) *
										SKX_SEGMENT_NPLANES *
										sizeof(SkxBlkPlane *));
	SkxSegment **segments = palloc((view->nsegments + 1) *
								   sizeof(SkxSegment *));
	uint64		npages;
	int			n = 0;
	int			i;
	int			plane;

	for (i = 0; i < view->nsegments; i++)
	{
		segments[i] = skx_segment_open(file, rel, view, i);
		for (plane = 0; plane < SKX_SEGMENT_NPLANES; plane++)
		{
			if (plane != SKX_SEGMENT_DELETES)
				planes[n++] = &segments[i]->planes[plane];
		}
	}
	npages = skx_blkio_prewarm(file, planes, n);
	for (i = 0; i < view->nsegments; i++)
		skx_segment_close(segments[i]);
	skx_blkio_close(file);
	relation_close(rel, AccessShareLock);
	PG_RETURN_INT64((int64) npages);
}
