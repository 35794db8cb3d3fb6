/*
 * count_share.c
 *	  Counts by several processes: each counts the parts that it takes, by the
 *	  order of reads that README.md tells, and adds them up when it ends.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "answer/count/count_internal.h"
#include "answer/count/count_share.h"

/*
 * Parts of a segment: each is looked for once in every list; where rows are
 * told, in those of all values, too.
 */
#define SKX_COUNT_PARTS		128
#define SKX_COUNT_TOLD_PARTS	8

void
skx_count_share_init(SkxCountShare *share)
{
	int			i;

	skx_share_init(&share->parts);
	pg_atomic_init_u64(&share->rows, 0);
	for (i = 0; i < SKX_COUNT_COUNTERS; i++)
		pg_atomic_init_u64(&share->work[i], 0);
}

void
skx_count_share_restart(SkxCountShare *share)
{
	skx_share_restart(&share->parts);
	pg_atomic_write_u64(&share->rows, 0);
}

bool
skx_count_share_none(SkxCountShare *share)
{
	SkxShareReader reader;
	SkxSharePart part;

	skx_share_begin(&reader, &share->parts, NULL, 0, SKX_COUNT_PARTS);
	return skx_share_done(&reader, skx_share_take(&reader, &part));
}

uint64
skx_count_share_total(SkxCountShare *share)
{
	return pg_atomic_read_u64(&share->rows);
}

/* What processes other than the leader have done, which EXPLAIN shows. */
static void
skx_count_share_tell(SkxCountShare *share, const SkxCountWork *work)
{
	if (!IsParallelWorker())
		return;
	pg_atomic_fetch_add_u64(&share->work[0], work->fetched);
	pg_atomic_fetch_add_u64(&share->work[1], work->mapped);
	pg_atomic_fetch_add_u64(&share->work[2], work->whole);
	pg_atomic_fetch_add_u64(&share->work[3], work->totals);
}

void
skx_count_share_work(SkxCountShare *share, SkxCountWork *work)
{
	work->fetched += pg_atomic_read_u64(&share->work[0]);
	work->mapped += pg_atomic_read_u64(&share->work[1]);
	work->whole += pg_atomic_read_u64(&share->work[2]);
	work->totals += pg_atomic_read_u64(&share->work[3]);
}

/* A process's way through the segments. */
typedef struct SkxCountParts
{
	SkxCount   *count;
	SkxSource  *source;
	int			segment;		/* that is open; -1: none is */
	SkxQueryScan *answer;		/* of it */
} SkxCountParts;

static void
skx_count_parts_close(SkxCountParts *p)
{
	if (p->answer != NULL)
		skx_query_scan_close(p->answer);
	p->answer = NULL;
}

static void
skx_count_parts_next(SkxCountParts *p, const SkxSharePart *part)
{
	if (part->segment < 0)
	{
		skx_count_pending(p->count, p->source);
		return;
	}
	if (p->segment != part->segment)
	{
		skx_count_parts_close(p);
		p->segment = part->segment;
		p->answer = skx_query_scan_open(skx_snapshot_at(p->source, p->segment),
										p->count->request->query, true);
	}
	if (p->count->request->taker != NULL)
		p->count->request->taker->part(p->source->segments[0], part->from,
									   part->to,
									   p->count->request->taker->arg);
	p->answer = skx_count_part(p->count, p->source->segments[0], p->answer,
							   part->from, part->to);
}

bool
skx_count_share_rows(const SkxCountRequest *request, SkxCountWork *work,
					 uint64 *rows)
{
	SkxCountWork own = {0};
	SkxShareReader reader;
	SkxSharePart part;
	SkxCountParts p = {skx_count_begin(request, &own), NULL, -1, NULL};
	uint64		nparts = 0;

	p.source = skx_snapshot_open(request->index, request->view);
	skx_share_begin(&reader, &request->share->parts,
					skx_share_ndocs(request->view), request->view->nsegments,
					request->taker == NULL ? SKX_COUNT_PARTS :
					SKX_COUNT_TOLD_PARTS);
	for (; skx_share_take(&reader, &part); nparts++)
		skx_count_parts_next(&p, &part);
	skx_count_parts_close(&p);
	*rows = skx_count_end(p.count);
	skx_snapshot_close(p.source);
	skx_count_share_tell(request->share, &own);
	work->fetched += own.fetched;
	work->mapped += own.mapped;
	work->whole += own.whole;
	work->totals += own.totals;
	pg_atomic_fetch_add_u64(&request->share->rows, *rows);
	return skx_share_done(&reader, nparts);
}
