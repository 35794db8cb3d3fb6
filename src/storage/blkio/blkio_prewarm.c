/*
 * blkio_prewarm.c
 *	  Reads pages of some planes into memory, as far as they fit.
 *
 * The runs of all planes are read in the order of the file.  Reading of one
 * class of frames ends when the first frame read has been evicted.  The clock
 * evicts them in the order they came, so each further one would evict another
 * that was just read.
 *
 * Pages that the cache had before a restart take only frames that were never
 * taken.  Reading of one class ends when there are none left.  Pages of their
 * units that the cache did not have are not read.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/blkio/blkio_warmer.h"
#include "storage/bufmgr.h"
#include "support/throttle/throttle.h"
#include "utils/guc.h"

/* Pages prefetched ahead of the pins, and most pages of one prefetch. */
#define SKX_BLK_WARM_PREFETCH		512
#define SKX_BLK_WARM_STEP_PAGES		64

/* Frames between two checks of the first one. */
#define SKX_BLK_WARM_CHECK_EVERY		16

typedef struct SkxBlkWarmRun
{
	const SkxBlkPlane *plane;
	SkxBlkRun	run;
	int			uses;			/* least use count of its frames */
} SkxBlkWarmRun;

/* What has been read for one class of frames. */
typedef struct SkxBlkWarmClass
{
	uint64		max_frames;		/* frames that fit */
	uint64		n;				/* frames so far */
	uint64		planned;		/* pages prefetched */
	const SkxBlkPlane *plane;	/* plane of the first frame; NULL if there is
								 * none or it cannot be looked up */
	uint32		first;			/* its first page */
	uint32		frame_pages;
	bool		is_full;
} SkxBlkWarmClass;

typedef struct SkxBlkWarm
{
	SkxBlkFile *file;
	SkxBlkWarmClass classes[SKX_BLK_NCLASSES];
	SkxBlkWarmRun *runs;		/* by block */
	int			nruns;
	uint64		npinned;		/* pages of runs that were pinned or skipped */
	uint64		nrequested;		/* pages of runs that were prefetched or
								 * skipped */
	int			next;			/* run of the page to prefetch next */
	uint32		next_page;		/* in that run */
} SkxBlkWarm;

static int
skx_blkio_prewarm_compare(const void *a, const void *b)
{
	BlockNumber x = ((const SkxBlkWarmRun *) a)->run.block;
	BlockNumber y = ((const SkxBlkWarmRun *) b)->run.block;

	return (x > y) - (x < y);
}

/*
 * Returns the runs of all stretches in the order of blocks.  Pages past the end
 * of a plane are left out.
 */
static SkxBlkWarmRun *
skx_blkio_prewarm_runs(const SkxBlkStretch *stretches, int nstretches, int *n)
{
	SkxBlkWarmRun *runs;
	int			most = 0;

	for (int i = 0; i < nstretches; i++)
		most += stretches[i].plane->nruns;
	runs = palloc_extended((most + 1) * sizeof(SkxBlkWarmRun),
						   MCXT_ALLOC_HUGE);
	*n = 0;
	for (int i = 0; i < nstretches; i++)
	{
		const SkxBlkPlane *plane = stretches[i].plane;
		uint64		end = Min((uint64) stretches[i].first +
							  stretches[i].npages, plane->npages);

		for (int k = 0; k < plane->nruns; k++)
		{
			SkxBlkRun	run = plane->runs[k];
			uint32		first = Max(run.first, stretches[i].first);
			uint64		run_end = Min((uint64) run.first + run.npages, end);

			if (first >= run_end)
				continue;
			runs[*n].plane = plane;
			runs[*n].run.first = first;
			runs[*n].run.npages = (uint32) (run_end - first);
			runs[*n].run.block = run.block + (first - run.first);
			runs[*n].uses = stretches[i].uses;
			(*n)++;
		}
	}
	qsort(runs, *n, sizeof(SkxBlkWarmRun), skx_blkio_prewarm_compare);
	return runs;
}

static SkxBlkWarmClass *
skx_blkio_prewarm_class(SkxBlkWarm *warm, const SkxBlkPlane *plane)
{
	if (warm->file->method->pin != NULL)
		return &warm->classes[0];
	return &warm->classes[skx_blkio_class(plane)];
}

/* Counts the frame just pinned, and notes whether its class is full. */
static void
skx_blkio_prewarm_count(SkxBlkWarm *warm, const SkxBlkRef *ref, int uses)
{
	SkxBlkWarmClass *class = skx_blkio_prewarm_class(warm, ref->plane);

	class->n++;
	if (warm->file->evict_nothing)
	{
		const SkxBlkPin *pin = skx_blkio_pins_slot(ref->slot);

		if (pin->kind == SKX_BLK_PIN_FRAME)
			skx_blkio_cache_raise_uses(pin->number, uses);
		class->is_full = !skx_blkio_cache_has_spare(skx_blkio_class(ref->plane));
		return;
	}
	if (class->n == 1 &&
		skx_blkio_page_is_cached(warm->file, ref->plane, ref->first))
	{
		class->plane = ref->plane;
		class->first = ref->first;
	}
	if (class->n >= class->max_frames)
		class->is_full = true;
	else if (class->plane != NULL && class->n % SKX_BLK_WARM_CHECK_EVERY == 0)
		class->is_full = !skx_blkio_page_is_cached(warm->file,
												   class->plane, class->first);
}

/*
 * Prefetches pages, up to SKX_BLK_WARM_PREFETCH before the ones being pinned.
 */
static void
skx_blkio_prewarm_prefetch(SkxBlkWarm *warm)
{
	while (warm->next < warm->nruns &&
		   warm->nrequested < warm->npinned + SKX_BLK_WARM_PREFETCH)
	{
		const SkxBlkWarmRun *run = &warm->runs[warm->next];
		uint32		left = run->run.npages - warm->next_page;
		uint32		ordinals[SKX_BLK_WARM_STEP_PAGES];
		int			n = Min(left, SKX_BLK_WARM_STEP_PAGES);
		SkxBlkWarmClass *class = skx_blkio_prewarm_class(warm, run->plane);

		for (int i = 0; i < n; i++)
			ordinals[i] = run->run.first + warm->next_page + i;
		if (class->planned + n <= class->max_frames * class->frame_pages)
		{
			skx_blkio_prefetch(warm->file, run->plane, ordinals, n);
			class->planned += n;
		}
		warm->nrequested += n;
		warm->next_page += n;
		if (n == left)
		{
			warm->next++;
			warm->next_page = 0;
		}
	}
}

static void
skx_blkio_prewarm_run(SkxBlkWarm *warm, const SkxBlkWarmRun *run)
{
	SkxBlkWarmClass *class = skx_blkio_prewarm_class(warm, run->plane);
	uint64		before = warm->npinned;
	SkxBlkRef	ref = {0};

	for (uint32 i = 0; i < run->run.npages && !class->is_full;)
	{
		skx_throttle_point();
		if (warm->nrequested < warm->npinned + SKX_BLK_WARM_PREFETCH / 2)
			skx_blkio_prewarm_prefetch(warm);
		(void) skx_blkio_pin(warm->file, run->plane, run->run.first + i,
							 &ref);
		skx_blkio_prewarm_count(warm, &ref, run->uses);
		i = ref.first + ref.npages - run->run.first;
		warm->npinned = before + i;
	}
	skx_blkio_unpin(warm->file, &ref);
	warm->npinned = before + run->run.npages;
}

/*
 * Lets no page be read that is in none of the runs, until the file is closed:
 * reads ahead may go on for so long.
 */
static void
skx_blkio_prewarm_only_runs(SkxBlkWarm *warm)
{
	SkxBlkRun  *only = palloc_extended((warm->nruns + 1) * sizeof(SkxBlkRun),
									   MCXT_ALLOC_HUGE);

	for (int i = 0; i < warm->nruns; i++)
		only[i] = warm->runs[i].run;
	warm->file->only = only;
	warm->file->nonly = warm->nruns;
}

/* Does the work of skx_blkio_prewarm and skx_blkio_prewarm_spare. */
static uint64
skx_blkio_prewarm_stretches(SkxBlkFile *file, const SkxBlkStretch *stretches,
							int n)
{
	const SkxBlkCounters *count = skx_blkio_count(file);
	uint64		before = count->pages_read + count->resident_pages;
	SkxBlkWarm	warm = {0};

	warm.file = file;
	if (file->method->pin != NULL)
	{
		warm.classes[0].max_frames = RelationUsesLocalBuffers(file->rel) ?
			num_temp_buffers : NBuffers;
		warm.classes[0].frame_pages = 1;
	}
	else
	{
		for (int i = 0; i < SKX_BLK_NCLASSES; i++)
		{
			warm.classes[i].max_frames = skx_blkio_cache.nframes[i];
			warm.classes[i].is_full = skx_blkio_cache.nframes[i] == 0 ||
				(file->evict_nothing && !skx_blkio_cache_has_spare(i));
			warm.classes[i].frame_pages = skx_blkio_frame_pages(i);
		}
	}
	warm.runs = skx_blkio_prewarm_runs(stretches, n, &warm.nruns);
	if (file->evict_nothing)
		skx_blkio_prewarm_only_runs(&warm);
	for (int i = 0; i < warm.nruns; i++)
		skx_blkio_prewarm_run(&warm, &warm.runs[i]);
	pfree(warm.runs);
	return count->pages_read + count->resident_pages - before;
}

uint64
skx_blkio_prewarm(SkxBlkFile *file, const SkxBlkPlane *const *planes,
				  int nplanes)
{
	SkxBlkStretch *stretches = palloc(nplanes * sizeof(SkxBlkStretch));
	uint64		npages;

	for (int i = 0; i < nplanes; i++)
	{
		stretches[i].plane = planes[i];
		stretches[i].first = 0;
		stretches[i].npages = planes[i]->npages;
		stretches[i].uses = 0;
	}
	npages = skx_blkio_prewarm_stretches(file, stretches, nplanes);
	pfree(stretches);
	return npages;
}

uint64
skx_blkio_prewarm_spare(SkxBlkFile *file, const SkxBlkStretch *stretches,
						int n)
{
	uint64		npages;

	if (file->method->pin != NULL || skx_blkio_cache.header == NULL)
		return 0;
	Assert(file->evict_nothing);
	npages = skx_blkio_prewarm_stretches(file, stretches, n);
	pg_atomic_fetch_add_u64(&skx_blkio_cache.header->prewarmed, npages);
	return npages;
}
