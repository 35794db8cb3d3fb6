/*
 * topk_filter.c
 *	  The best of the documents that a query gives, when these are few, or when
 *	  the query has no word that every match must have.
 */
#include "postgres.h"

#include "topk/topk_internal.h"

void
skx_topk_filter(SkxTopkRun *run, SkxQueryScan *scan)
{
	int64		sum = 0;
	int			i;

	for (i = 0; i < run->noptional; i++)
	{
		sum += run->optional[i]->max;
		run->optional[i]->before = sum;
	}
	for (;;)
	{
		run->n = skx_query_scan_next(scan, run->docs);
		if (run->n == 0 || skx_topk_tick(run, run->docs[0]))
			break;
		memset(run->sums, 0, sizeof(int32) * run->n);
		skx_topk_batch_optional(run, run->optional, run->noptional,
								run->noptional);
		skx_topk_batch_finish(run);
	}
}
