/*
 * plan_rivals.c
 *	  Rows that ranked scans of partitions have returned together, for a LIMIT.
 *
 * The best rows that they have returned so far tell which distance a further
 * row needs to be wanted.  A scan that begins later leaves out worse rows, and
 * with them most of its search, or all of it.  Rows count when they are
 * returned, so they are visible and meet all conditions.  Rows as good as the
 * worst of them still come, as another sort key may put them before it.
 */
#include "postgres.h"

#include "sql/plan/plan_internal.h"

/*
 * Maximum number of rows that a scan reads ahead, so that those after it know
 * what to reach.  A row that is not wanted costs reading a page of the table.
 */
#define SKX_SIBLINGS_AHEAD_MAX	128

bool
skx_plan_siblings_max_distance(const SkxSiblingScans *rivals, float4 *distance)
{
	if (rivals->wanted_rows == 0 || rivals->n < rivals->wanted_rows)
		return false;
	*distance = rivals->distances[rivals->n - 1];
	return *distance < 0;
}

void
skx_plan_siblings_add(SkxSiblingScans *rivals, float4 distance)
{
	int			at = rivals->n;

	if (rivals->n == rivals->wanted_rows)
	{
		if (at == 0 || distance >= rivals->distances[at - 1])
			return;
		at--;
	}
	else
		rivals->n++;
	for (; at > 0 && rivals->distances[at - 1] > distance; at--)
		rivals->distances[at] = rivals->distances[at - 1];
	rivals->distances[at] = distance;
}

int64
skx_plan_siblings_begin(SkxSiblingScans *rivals)
{
	rivals->nbegun++;
	return rivals->nbegun >= rivals->nscans ||
		rivals->wanted_rows > SKX_SIBLINGS_AHEAD_MAX ? 0 : rivals->wanted_rows;
}

void
skx_plan_siblings_count_skipped(SkxSiblingScans *rivals)
{
	rivals->nskipped++;
}
