/*
 * maint_warm.c
 *	  Lets the pages of a merge's result be in the cache if the inputs' pages
 *	  were.
 *
 * A segment that is published has no page in the cache.  Without this file the
 * first queries on it would read, many at once, all that they had in the cache
 * before.  So a merge notes, for each page that it fills, whether the cache
 * has pages of the inputs with the same terms or the same documents.
 *
 * Before the new segment is published, the noted pages are read into the
 * cache, up to a quarter of it, those first whose inputs were used most.
 * Norms are filled in at the end of a merge.  All of them are read if the
 * cache has most of the norms of the inputs.
 *
 * Only queries that began before the publish need pages of the inputs, so
 * these are the next that the cache gives up.
 */
#include "postgres.h"

#include "format/disk/disk_page.h"
#include "index/segment/segment_maint.h"
#include "miscadmin.h"
#include "write/maint/maint_internal.h"

/* Most pages in one prefetch. */
#define SKX_WARM_PREFETCH_PAGES		64

struct SkxMaintWarm
{
	MemoryContext context;
	const SkxSnapshotReader *inputs;
	uint32		sizes[SKX_PLANE_LAST + 1];	/* number of notes, by plane */
	uint8	   *notes[SKX_PLANE_LAST + 1];	/* uses of each page, by plane */
	uint32		used[2];		/* pages read of planes with units of one
								 * page, and of others */
};

static void
skx_maint_warm_note(SkxMaintWarm *warm, uint8 plane, uint32 ordinal, int uses)
{
	Assert(plane <= SKX_PLANE_LAST && uses > 0);
	if (ordinal >= warm->sizes[plane])
	{
		uint32		size = Max(ordinal + 1, warm->sizes[plane] * 2);
		uint8	   *notes = MemoryContextAllocZero(warm->context, size);

		if (warm->notes[plane] != NULL)
		{
			memcpy(notes, warm->notes[plane], warm->sizes[plane]);
			pfree(warm->notes[plane]);
		}
		warm->notes[plane] = notes;
		warm->sizes[plane] = size;
	}
	warm->notes[plane][ordinal] = (uint8) uses;
}

static void
skx_maint_warm_note_page(void *arg, uint8 plane, uint32 ordinal)
{
	SkxMaintOutput *out = arg;
	int			uses;

	Assert(out->warm != NULL && out->writer != NULL);
	uses = skx_blkio_hit_use_count(out->warm->inputs->file, plane);
	if (plane != SKX_PLANE_NORMS && uses > 0)
		skx_maint_warm_note(out->warm, plane, ordinal, uses);
}

void
skx_maint_warm_begin(SkxMaintOutput *out, const SkxSnapshotReader *inputs)
{
	Assert(out->warm == NULL && inputs->nsegments > 0);
	out->warm = palloc0(sizeof(SkxMaintWarm));
	out->warm->context = CurrentMemoryContext;
	out->warm->inputs = inputs;
	out->store.filled = skx_maint_warm_note_page;
}

void
skx_maint_warm_write(const SkxMaintOutput *out, BufFile *file)
{
	const SkxMaintWarm *warm = out->warm;
	int			i;

	BufFileWrite(file, (void *) warm->sizes,
				 sizeof(warm->sizes));
	for (i = 0; i <= SKX_PLANE_LAST; i++)
		BufFileWrite(file, warm->notes[i], warm->sizes[i]);
}

void
skx_maint_warm_read(SkxMaintOutput *out, BufFile *file,
					void (*read) (BufFile *file, void *to, Size n))
{
	SkxMaintWarm *warm = out->warm;
	uint32		sizes[SKX_PLANE_LAST + 1];
	uint32		page;
	uint8		plane;

	read(file, sizes, sizeof(sizes));
	for (plane = 0; plane <= SKX_PLANE_LAST; plane++)
	{
		uint8	   *notes = palloc_extended(Max(sizes[plane], 1),
											MCXT_ALLOC_HUGE);

		read(file, notes, sizes[plane]);
		for (page = 0; page < sizes[plane]; page++)
		{
			if (notes[page] > 0)
				skx_maint_warm_note(warm, plane, page, notes[page]);
		}
		pfree(notes);
	}
}

/* Returns true if the cache has most of the norms of the inputs. */
static bool
skx_maint_warm_norms_are_cached(const SkxSnapshotReader *inputs)
{
	uint64		had = 0;
	uint64		all = 0;
	int			i;

	for (i = 0; i < inputs->nsegments; i++)
	{
		const SkxBlkPlane *plane =
			&inputs->segments[i]->planes[SKX_SEGMENT_NORMS];
		uint32		page;

		for (page = 0; page < plane->npages; page++)
			had += skx_blkio_page_is_cached(inputs->file, plane, page);
		all += plane->npages;
	}
	return had * 2 > all;
}

/* Returns the most uses of any of pages [page, end) of a plane. */
static int
skx_maint_warm_max_uses(const SkxMaintWarm *warm, uint8 plane, uint32 page,
						uint32 end)
{
	int			uses = 0;

	for (; page < Min(end, warm->sizes[plane]); page++)
		uses = Max(uses, warm->notes[plane][page]);
	return uses;
}

/* Reads n pages of a plane into the cache, without keeping pins. */
static void
skx_maint_warm_fetch(SkxSegment *seg, const SkxBlkPlane *plane,
					 const uint32 *pages, int n)
{
	SkxBlkRef	ref = {0};
	int			i;

	CHECK_FOR_INTERRUPTS();
	skx_blkio_prefetch(seg->file, plane, pages, n);
	for (i = 0; i < n; i++)
		(void) skx_blkio_pin(seg->file, plane, pages[i], &ref);
	skx_blkio_unpin(seg->file, &ref);
}

/*
 * Reads those units of a plane whose pages have `uses` uses into the cache, as
 * far as the quarter allows.  Starts at the end of the plane, where planes
 * have the pages that lead to their others.
 */
static void
skx_maint_warm_plane(SkxMaintWarm *warm, SkxSegment *seg,
					 const SkxBlkPlane *plane, int uses)
{
	uint32		room = skx_blkio_warmable_pages(seg->file, plane);
	uint32	   *used = &warm->used[plane->unit > 1];
	uint32		pages[SKX_WARM_PREFETCH_PAGES];
	uint32		end = plane->npages;
	uint32		page;
	int			n = 0;

	for (; end > 0; end = page)
	{
		uint32		unit = (end - 1) / plane->unit * plane->unit;

		page = unit;
		if (skx_maint_warm_max_uses(warm, plane->plane, unit, end) != uses)
			continue;
		if (*used + (end - unit) > room)
			break;
		*used += end - unit;
		for (; unit < end; unit++)
		{
			pages[n++] = unit;
			if (n == SKX_WARM_PREFETCH_PAGES)
			{
				skx_maint_warm_fetch(seg, plane, pages, n);
				n = 0;
			}
		}
	}
	if (n > 0)
		skx_maint_warm_fetch(seg, plane, pages, n);
}

/* Planes that every search needs come first. */
static const SkxSegmentPlane skx_maint_warm_order[] = {
	SKX_SEGMENT_NORMS, SKX_SEGMENT_DICT, SKX_SEGMENT_TIDS, SKX_SEGMENT_KEYS,
	SKX_SEGMENT_POSTINGS, SKX_SEGMENT_POSITIONS
};

void
skx_maint_warm_read_pages(SkxMaintOutput *out, const SkxDiskSegmentRef *ref)
{
	const SkxOperation *op = out->op;
	SkxMaintWarm *warm = out->warm;
	SkxBlkFile *file;
	SkxSegment *seg;
	uint32		page;
	int			uses;
	int			i;

	Assert(out->writer == NULL && !op->is_published);
	file = skx_segment_file(op->rel, op->incarnation);
	seg = skx_segment_open_ref(file, op->rel, op->incarnation,
							   op->block_pages * BLCKSZ, ref);
	if (skx_maint_warm_norms_are_cached(warm->inputs))
	{
		for (page = 0; page < seg->planes[SKX_SEGMENT_NORMS].npages; page++)
			skx_maint_warm_note(warm, SKX_PLANE_NORMS, page,
								SKX_BLK_USE_COUNT_MAX);
	}
	for (uses = SKX_BLK_USE_COUNT_MAX; uses > 0; uses--)
	{
		for (i = 0; i < (int) lengthof(skx_maint_warm_order); i++)
			skx_maint_warm_plane(warm, seg,
								 &seg->planes[skx_maint_warm_order[i]], uses);
	}
	skx_segment_close(seg);
	skx_blkio_close(file);
}

void
skx_maint_warm_evict_inputs(SkxMaintOutput *out)
{
	const SkxSnapshotReader *inputs = out->warm->inputs;
	const SkxBlkPlane **planes =
		palloc(inputs->nsegments * sizeof(SkxBlkPlane *));
	int			i;

	Assert(out->op->is_published);
	for (i = 0; i < inputs->nsegments; i++)
		planes[i] = &inputs->segments[i]->planes[SKX_SEGMENT_POSTINGS];
	skx_blkio_cache_retire(out->op->incarnation, planes, inputs->nsegments);
	pfree(planes);
}
