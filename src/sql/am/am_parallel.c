/*
 * am_parallel.c
 *	  Scans by several processes, in no order.
 *
 * They share a view, whose documents they take part by part (share/).  Each of
 * them looks the words up in the segments that it takes parts of.  Scans with
 * an order are none of these: the planner is left no partial path with one, but
 * custom scans of its own.
 */
#include "postgres.h"

#include "answer/share/share.h"
#include "sql/am/am_scan.h"
#include "support/compat/compat_planner.h"

/* Parts of a segment: each is looked for once in every list. */
#define SKX_PARALLEL_PARTS	128

typedef struct SkxParallel
{
	SkxShareReader reader;
	bool		ended;
	bool		has_part;		/* that is not done */
	SkxSharePart part;
	int			segment;		/* that is open; -1: none is */
	SkxQueryScan *answer;		/* of it */
} SkxParallel;

Size
skxestimateparallelscan(SKX_COMPAT_ESTIMATE_PARALLEL)
{
	return sizeof(SkxShare);
}

void
skxinitparallelscan(void *target)
{
	skx_share_init(target);
}

void
skxparallelrescan(IndexScanDesc scan)
{
	skx_share_restart(skx_compat_parallel_part(scan->parallel_scan));
}

bool
skx_am_parallel_start(IndexScanDesc scan)
{
	SkxScan    *so = scan->opaque;
	SkxShare   *share;
	const SkxView *view;

	if (scan->parallel_scan == NULL)
		return false;
	share = skx_compat_parallel_part(scan->parallel_scan);
	so->view = view = skx_share_view(share, scan->indexRelation, NULL);
	so->source = skx_snapshot_open(scan->indexRelation, view);
	so->parallel = palloc0(sizeof(SkxParallel));
	so->parallel->segment = -1;
	skx_share_begin(&so->parallel->reader, share, skx_share_ndocs(view),
					view->nsegments, SKX_PARALLEL_PARTS);
	return true;
}

static void
skx_am_parallel_close_answer(SkxParallel *p)
{
	if (p->answer != NULL)
		skx_query_scan_close(p->answer);
	p->answer = NULL;
	p->segment = -1;
}

/* Makes the answer one of the segment that the part is of. */
static void
skx_am_parallel_open(SkxScan *so)
{
	SkxParallel *p = so->parallel;

	if (p->segment != p->part.segment)
	{
		skx_am_parallel_close_answer(p);
		p->segment = p->part.segment;
		p->answer = skx_query_scan_open(skx_snapshot_at(so->source,
														p->segment),
										so->query, true);
	}
	skx_query_scan_range(p->answer, p->part.from, p->part.to);
}

/* Takes a part; false: there is none left. */
static bool
skx_am_parallel_take(SkxScan *so)
{
	SkxParallel *p = so->parallel;

	if (p->ended || !skx_share_take(&p->reader, &p->part))
	{
		p->ended = true;
		return false;
	}
	p->has_part = true;
	if (p->part.segment >= 0)
		skx_am_parallel_open(so);
	return true;
}

/* The next batch of the part; false: it is done. */
static bool
skx_am_parallel_batch(SkxScan *so)
{
	SkxParallel *p = so->parallel;

	if (p->part.segment < 0)
	{
		p->has_part = skx_am_scan_documents(so);
		return so->n > 0;
	}
	so->is_pending = false;
	so->n = skx_query_scan_next(p->answer, so->docs);
	if (so->n > 0)
		skx_segment_tids_of(so->source->segments[0], so->docs, so->n,
							so->tids);
	else
		p->has_part = false;
	return so->n > 0;
}

bool
skx_am_parallel_fetch(SkxScan *so)
{
	while (so->parallel->has_part || skx_am_parallel_take(so))
		if (skx_am_parallel_batch(so))
			return true;
	return false;
}

void
skx_am_parallel_stop(SkxScan *so)
{
	if (so->parallel == NULL)
		return;
	skx_am_parallel_close_answer(so->parallel);
	skx_snapshot_close(so->source);
	so->source = NULL;
	so->parallel = NULL;
}
