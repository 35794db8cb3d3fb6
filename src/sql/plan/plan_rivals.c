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
#define SKX_RIVALS_AHEAD	128

bool
skx_plan_rivals_floor(const SkxRivals *rivals, float4 *distance)
{
	if (rivals->wanted == 0 || rivals->n < rivals->wanted)
		return false;
	*distance = rivals->distances[rivals->n - 1];
	return *distance < 0;
}

void
skx_plan_rivals_add(SkxRivals *rivals, float4 distance)
{
	int			at = rivals->n;

	if (rivals->n == rivals->wanted)
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
skx_plan_rivals_begin(SkxRivals *rivals)
{
	rivals->begun++;
	return rivals->begun >= rivals->scans ||
		rivals->wanted > SKX_RIVALS_AHEAD ? 0 : rivals->wanted;
}

void
skx_plan_rivals_bar(SkxRivals *rivals)
{
	rivals->barred++;
}
