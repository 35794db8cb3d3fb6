/*
 * blkio_ahead.c
 *	  Reads ahead of pins.
 *
 * A scan says which pages it will want.  As many of their units as the depth
 * allows are read at once; the others wait in a queue.  The next ones are
 * started when a unit is pinned that was read ahead, or that had to be read.
 * If the limit for all backends together is reached, every pin tries again.
 *
 * Frames read ahead are verified when they are pinned, so that damage in pages
 * that are not needed is not reported.  Until then they are busy.  Another
 * backend that wants one does not wait until this backend returns to it
 * (skx_blkio_cache_wait_valid).
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Most runs of pages that wait.  Further ones are ignored, as hints may be. */
#define SKX_BLK_PLANS_MAX		1024

/*
 * Most pages of one read of adjacent units.  Larger reads gain little on any
 * device. 256 kB are one request of most devices, and count as one where
 * requests are limited.  With it small blocks lose nothing if all pages are
 * read.
 */
#define SKX_BLK_RUN_PAGES		32

StaticAssertDecl(SKX_BLK_RUN_PAGES <= SKX_BLK_GROUP_FRAMES,
				 "a run must fit into one group");

/*
 * A unit read ahead is dropped when it was not wanted while more than this
 * many times the depth of other loads were.
 */
#define SKX_BLK_STALE_FACTOR		3

/*
 * For files read in passing, the depth and this patience are multiplied by
 * SKX_BLK_READ_ONCE_FACTOR.  The reads take at most SKX_BLK_READ_ONCE_PAGES
 * (16 MB) of this backend's memory.
 */
#define SKX_BLK_READ_ONCE_FACTOR		4
#define SKX_BLK_READ_ONCE_PAGES		(16 * 1024 * 1024 / BLCKSZ)

typedef struct SkxBlkPrefetchPlan
{
	SkxBlkFile *file;			/* NULL: dropped */
	ResourceOwner owner;
	const SkxBlkPlane *plane;
	uint32		first;
	uint32		npages;
} SkxBlkPrefetchPlan;

/* The queue of plans, a ring buffer. */
static SkxBlkPrefetchPlan *skx_blkio_plans = NULL;
static uint32 skx_blkio_plans_next = 0;
static uint32 skx_blkio_plans_end = 0;

bool		skx_blkio_ahead_starved = false;

static SkxBlkPrefetchPlan *
skx_blkio_prefetch_plan_at(uint32 i)
{
	return &skx_blkio_plans[i % SKX_BLK_PLANS_MAX];
}

/*
 * Starts to read those pages of a plan that are neither in the cache nor in
 * shared buffers.  Sets *started to the file if a read was started.  Returns
 * false if all backends together have as many reads under way as they may.
 */
static bool
skx_blkio_prefetch_start(const SkxBlkPrefetchPlan *plan, SkxBlkFile **started)
{
	uint32		frame = skx_blkio_frame_pages(skx_blkio_class(plan->plane));
	uint32		end = plan->first + plan->npages;
	ResourceOwner current = CurrentResourceOwner;
	uint64		requests = skx_blkio_count(plan->file)->requests;
	SkxBlkLoad *load;
	bool		turn;

	/* pins of a plan end with the scan that made it */
	CurrentResourceOwner = plan->owner;
	load = skx_blkio_load_new(plan->file, plan->plane, true);
	turn = load->has_permit = skx_blkio_depth_acquire(1, false) > 0;
	for (uint32 at = plan->first; turn && at < end; at += frame)
		skx_blkio_claim(load, at);
	if (load->group.nframes > 0)
	{
		skx_blkio_count(plan->file)->prefetches++;
		skx_blkio_load_start(load);
		if (skx_blkio_count(plan->file)->requests > requests)
			*started = plan->file;
	}
	else
		skx_blkio_load_drop(load);
	CurrentResourceOwner = current;
	return turn;
}

/*
 * Returns how many loads may be under way ahead for this plan.  They may take
 * no more than a quarter of the frames, since otherwise the first ones would
 * be evicted before they are wanted.  A file read in passing has a limit of
 * its own: its pages stay in this backend's memory until the last of them was
 * pinned, and a merge reads several runs of each input.
 */
static int
skx_blkio_prefetch_limit(const SkxBlkPrefetchPlan *plan)
{
	SkxBlkClass class = skx_blkio_class(plan->plane);
	uint32		frames = plan->npages / skx_blkio_frame_pages(class);

	if (plan->file->read_once)
		return Min(Min(SKX_BLK_READ_ONCE_FACTOR * plan->file->prefetch_depth,
					   SKX_BLK_MAX_AHEAD),
				   SKX_BLK_READ_ONCE_PAGES / plan->npages);
	return Min(plan->file->prefetch_depth,
			   skx_blkio_cache.nframes[class] / 4 / Max(frames, 1));
}

/*
 * Returns true if another load may start for this plan.  If not, it first
 * drops loads that were not wanted for long.
 */
static bool
skx_blkio_prefetch_may_start(const SkxBlkPrefetchPlan *plan)
{
	int			limit = skx_blkio_prefetch_limit(plan);

	if (skx_blkio_loads_ahead >= limit)
		skx_blkio_loads_drop_stale(SKX_BLK_STALE_FACTOR *
								   (plan->file->read_once ?
									SKX_BLK_READ_ONCE_FACTOR : 1) *
								   plan->file->prefetch_depth);
	return skx_blkio_loads_ahead < limit;
}

/*
 * The other plans wait until a unit read ahead is pinned or another one was
 * read, until reads of other backends have ended, or until the scan requests
 * more.  A scan that changes its course leaves units that are never pinned;
 * they are dropped in time (skx_blkio_loads_drop_stale).
 */
void
skx_blkio_prefetch_continue(void)
{
	SkxBlkFile *started = NULL;

	if (skx_blkio_plans_next == skx_blkio_plans_end)
		return;
	if (skx_blkio_loads_ahead > 0)
		(void) skx_blkio_ring_reap(false);
	skx_blkio_ahead_starved = false;
	while (skx_blkio_plans_next != skx_blkio_plans_end)
	{
		SkxBlkPrefetchPlan plan =
			*skx_blkio_prefetch_plan_at(skx_blkio_plans_next);

		/* a plan with a limit of 0 can never be read ahead: skip it */
		if (plan.file != NULL && skx_blkio_prefetch_limit(&plan) > 0)
		{
			if (!skx_blkio_prefetch_may_start(&plan))
				break;
			skx_blkio_ahead_starved = !skx_blkio_prefetch_start(&plan,
																&started);
			if (skx_blkio_ahead_starved)
				break;
		}
		skx_blkio_plans_next++;
	}
	if (started != NULL)
	{
		skx_blkio_ring_submit();
		skx_blkio_count(started)->batches++;
	}
}

/* Returns true if page `next` follows these pages, in the file, too. */
static bool
skx_blkio_prefetch_is_adjacent(const SkxBlkFile *file,
							   const SkxBlkPlane *plane, uint32 first,
							   uint32 npages, uint32 next)
{
	return first + npages == next &&
		skx_blkio_block(file->rel, plane, first) + npages ==
		skx_blkio_block(file->rel, plane, next);
}

/*
 * Appends the unit of a page to the queue.  It joins the last run if it is
 * adjacent to that, after it or before it (for a scan that goes backward).
 */
static void
skx_blkio_prefetch_append(SkxBlkFile *file, const SkxBlkPlane *plane,
						  uint32 ordinal)
{
	uint32		unit = Min(plane->unit, SKX_BLK_GROUP_PAGES);
	uint32		first = ordinal & ~(unit - 1);
	uint32		npages = Min(unit, plane->npages - first);
	SkxBlkPrefetchPlan *plan;

	if (skx_blkio_plans_next != skx_blkio_plans_end)
	{
		plan = skx_blkio_prefetch_plan_at(skx_blkio_plans_end - 1);
		if (plan->file == file && plan->plane == plane)
		{
			if (first >= plan->first && first < plan->first + plan->npages)
				return;
			if (plan->npages + npages <= SKX_BLK_RUN_PAGES &&
				(skx_blkio_prefetch_is_adjacent(file, plane, plan->first,
												plan->npages, first) ||
				 skx_blkio_prefetch_is_adjacent(file, plane, first, npages,
												plan->first)))
			{
				plan->first = Min(plan->first, first);
				plan->npages += npages;
				return;
			}
		}
	}
	if (skx_blkio_plans_end - skx_blkio_plans_next == SKX_BLK_PLANS_MAX)
		return;
	plan = skx_blkio_prefetch_plan_at(skx_blkio_plans_end++);
	plan->file = file;
	plan->owner = CurrentResourceOwner;
	plan->plane = plane;
	plan->first = first;
	plan->npages = npages;
}

void
skx_blkio_prefetch_plan(SkxBlkFile *file, const SkxBlkPlane *plane,
						const uint32 *ordinals, int n)
{
	if (skx_blkio_plans == NULL)
		skx_blkio_plans = MemoryContextAlloc(TopMemoryContext,
											 SKX_BLK_PLANS_MAX *
											 sizeof(SkxBlkPrefetchPlan));
	for (int i = 0; i < n; i++)
	{
		if (ordinals[i] < plane->npages &&
			!skx_blkio_claim_present(file, plane, ordinals[i]))
			skx_blkio_prefetch_append(file, plane, ordinals[i]);
	}
	skx_blkio_prefetch_continue();
}

void
skx_blkio_prefetch_finish(SkxBlkFile *file, const SkxBlkKey *key)
{
	int			which;
	SkxBlkLoad *load = skx_blkio_load_find(key, false, &which);

	if (load == NULL)
		return;
	skx_blkio_count(file)->prefetches_used++;
	skx_blkio_load_finish(load);
	skx_blkio_load_drop(load);
	skx_blkio_prefetch_continue();
}

int32
skx_blkio_prefetch_take(SkxBlkFile *file, const SkxBlkKey *key)
{
	int			which;
	SkxBlkLoad *load = skx_blkio_load_find(key, true, &which);
	int32		slot;
	bool		left = false;

	if (load == NULL)
		return -1;
	if (!load->is_complete)
	{
		skx_blkio_count(file)->prefetches_used++;
		skx_blkio_load_finish(load);
	}
	slot = load->group.slots[which];
	load->group.slots[which] = -1;
	skx_blkio_pins_ahead--;
	skx_blkio_pins_slot(slot)->owner = CurrentResourceOwner;
	for (int i = 0; i < load->group.nframes; i++)
		left |= load->group.slots[i] >= 0;
	if (!left)
		skx_blkio_load_drop(load);
	skx_blkio_prefetch_continue();
	return slot;
}

void
skx_blkio_prefetch_forget(ResourceOwner owner, SkxBlkFile *file)
{
	for (uint32 i = skx_blkio_plans_next; i != skx_blkio_plans_end; i++)
	{
		SkxBlkPrefetchPlan *plan = skx_blkio_prefetch_plan_at(i);

		if (plan->file != NULL &&
			(owner == NULL || plan->owner == owner) &&
			(file == NULL || plan->file == file))
			plan->file = NULL;
	}
	while (skx_blkio_plans_next != skx_blkio_plans_end &&
		   skx_blkio_prefetch_plan_at(skx_blkio_plans_next)->file == NULL)
		skx_blkio_plans_next++;
	if (skx_blkio_plans_next == skx_blkio_plans_end)
		skx_blkio_ahead_starved = false;
	skx_blkio_loads_end(owner, file);
}
