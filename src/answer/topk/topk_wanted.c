/*
 * topk_wanted.c
 *	  How many rows a search looks for, and the memory for rows.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "miscadmin.h"

int
skx_topk_limit_rows(uint64 rows)
{
	uint64		most = (uint64) work_mem * 1024 /
		(sizeof(SkxTopkDoc) + sizeof(SkxTopkHit) + SKX_TOPK_ROW_TEMP_BYTES);

	return (int) Max(Min(rows, most), 1);
}

/*
 * There may be fewer documents above the threshold than the first search looks
 * for.  All of these are then hits.
 */
int
skx_topk_min_rows(const SkxTopk *topk)
{
	uint64		wanted = topk->request.wanted_rows;

	return wanted > 0 &&
		wanted < topk->search_rows ? (int) wanted : topk->search_rows;
}

void
skx_topk_reserve_rows(SkxTopk *topk, int n)
{
	if (topk->rows_out != NULL && n <= topk->returned_size)
		return;
	if (topk->rows_out != NULL)
		pfree(topk->rows_out);
	topk->returned_size = Max(n, 64);
	topk->rows_out =
		palloc_extended(sizeof(SkxTopkHit) * (Size) topk->returned_size,
						MCXT_ALLOC_HUGE);
}
