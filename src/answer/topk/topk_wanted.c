/*
 * topk_wanted.c
 *	  How many rows a search looks for, and the memory for rows.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

int
skx_topk_most(uint64 rows)
{
	uint64		most = (uint64) work_mem * 1024 /
		(sizeof(SkxHit) + sizeof(SkxTopkHit) + SKX_TOPK_ROW_SCRATCH);

	return (int) Max(Min(rows, most), 1);
}

/*
 * There may be fewer documents above the threshold than the first search looks
 * for.  All of these are then hits.
 */
int
skx_topk_least_rows(const SkxTopk *topk)
{
	uint64		wanted = topk->request.wanted;

	return wanted > 0 && wanted < topk->rows ? (int) wanted : topk->rows;
}

void
skx_topk_make_out(SkxTopk *topk, int n)
{
	if (topk->out != NULL && n <= topk->max_out)
		return;
	if (topk->out != NULL)
		pfree(topk->out);
	topk->max_out = Max(n, 64);
	topk->out = palloc_extended(sizeof(SkxTopkHit) * (Size) topk->max_out,
								MCXT_ALLOC_HUGE);
}
