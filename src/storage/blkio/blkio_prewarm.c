/*
 * blkio_prewarm.c
 *	  Reads all pages of some planes into memory, as far as they fit.
 *
 * The runs of all planes are read in the order of the file.  Reading of one
 * class of frames ends when the first frame read has been evicted.  The clock
 * evicts them in the order they came, so each further one would evict another
 * that was just read.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
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

/* Returns the runs of all planes in the order of blocks. */
static SkxBlkWarmRun *
skx_blkio_prewarm_runs(const SkxBlkPlane *const *planes, int nplanes, int *n)
{
	SkxBlkWarmRun *runs;
	int			most = 0;

	for (int i = 0; i < nplanes; i++)
		most += planes[i]->nruns;
	runs = palloc_extended((most + 1) * sizeof(SkxBlkWarmRun),
						   MCXT_ALLOC_HUGE);
	*n = 0;
	for (int i = 0; i < nplanes; i++)
	{
		for (int k = 0; k < planes[i]->nruns; k++)
		{
			SkxBlkRun	run = planes[i]->runs[k];

			if (run.first >= planes[i]->npages)
				break;
			run.npages = Min(run.npages, planes[i]->npages - run.first);
			runs[*n].plane = planes[i];
			runs[*n].run = run;
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
skx_blkio_prewarm_count(SkxBlkWarm *warm, const SkxBlkRef *ref)
{
	SkxBlkWarmClass *class = skx_blkio_prewarm_class(warm, ref->plane);

	class->n++;
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
skx_blkio_prewarm_ahead(SkxBlkWarm *warm)
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
		if (warm->nrequested < warm->npinned + SKX_BLK_WARM_PREFETCH / 2)
		{
			CHECK_FOR_INTERRUPTS();
			skx_blkio_prewarm_ahead(warm);
		}
		(void) skx_blkio_pin(warm->file, run->plane, run->run.first + i,
							 &ref);
		skx_blkio_prewarm_count(warm, &ref);
		i = ref.first + ref.npages - run->run.first;
		warm->npinned = before + i;
	}
	skx_blkio_unpin(warm->file, &ref);
	warm->npinned = before + run->run.npages;
}

uint64
skx_blkio_prewarm(SkxBlkFile *file, const SkxBlkPlane *const *planes,
				  int nplanes)
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
			warm.classes[i].is_full = skx_blkio_cache.nframes[i] == 0;
			warm.classes[i].frame_pages = skx_blkio_frame_pages(i);
		}
	}
	warm.runs = skx_blkio_prewarm_runs(planes, nplanes, &warm.nruns);
	for (int i = 0; i < warm.nruns; i++)
		skx_blkio_prewarm_run(&warm, &warm.runs[i]);
	pfree(warm.runs);
	return count->pages_read + count->resident_pages - before;
}
