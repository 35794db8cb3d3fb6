/*
 * blkio_plane.c
 *	  Where a page of a plane lies in the file.
 */
#include "postgres.h"

#include "storage/blkio/blkio.h"
#include "utils/rel.h"

BlockNumber
skx_blkio_block(Relation rel, const SkxBlkPlane *plane, uint32 ordinal)
{
	int			low = 0;
	int			high = plane->nruns - 1;

	if (ordinal >= plane->npages)
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" refers to page %u of plane %u of segment %u, which has %u pages",
						RelationGetRelationName(rel), ordinal, plane->plane,
						plane->segment, plane->npages)));
	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (plane->runs[middle].first <= ordinal)
			low = middle;
		else
			high = middle - 1;
	}
	return plane->runs[low].block + (ordinal - plane->runs[low].first);
}
