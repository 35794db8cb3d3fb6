/*
 * cost_prices.c
 *	  Tells what reading a page costs, by the direction of reading.
 *
 * The planner has one price for pages in order and one for pages anywhere, and
 * uses the former for a backward scan, too.  But kernels and devices read
 * ahead forward only.  Page by page, backward reads cost as much as random
 * ones.  If the scan itself prefetches pages in its direction, their cost is
 * in between.
 *
 * Prices are means over reads from caches and from devices.  Those of the
 * server are, too: its default takes nine of ten random pages to be cached.
 */
#include "postgres.h"

#include <math.h>

#include "index/snapshot/snapshot.h"
#include "sql/cost/cost.h"
#include "utils/spccache.h"

double		skx_cost_prices_backward = SKX_READ_COST_UNSET;

void
skx_cost_page_read_costs(Oid tablespace, SkxPageReadCosts *prices)
{
	get_tablespace_page_costs(tablespace, &prices->random, &prices->forward);
	if (skx_cost_prices_backward >= 0)
		prices->backward = skx_cost_prices_backward * prices->forward;
	else if (skx_snapshot_heap_depth(tablespace) > 1)
		prices->backward = sqrt(prices->forward * prices->random);
	else
		prices->backward = prices->random;
}

/*
 * The price of a page falls with the square root of the share that is read, as
 * the server's price of bitmap heap scans does (cost_bitmap_heap_scan() in
 * costsize.c).
 */
double
skx_cost_read_pages(double pages, double all, double ordered, double random)
{
	if (pages <= 0)
		return 0;
	pages = Min(pages, Max(all, 1));
	return pages * (random - (random - ordered) * sqrt(pages / Max(all, 1)));
}
