/*
 * skiplist_internal.h
 *	  What the cursor and its reading ahead share.
 */
#ifndef SKX_SKIPLIST_INTERNAL_H
#define SKX_SKIPLIST_INTERNAL_H

#include "skiplist/skiplist.h"

/* Ordinal of the first page of a node. */
static inline uint32
skx_skiplist_node_page(const SkxSkiplistCursor *c, uint32 node)
{
	uint32		unit = c->plane->unit;

	if (node == 0)
		return c->list.page;
	return (c->list.page / unit + node) * unit;
}

/*
 * The first entry of ascending `last` in [from, n) that is >= target; n when
 * there is none.
 */
static inline int
skx_skiplist_lower_bound(const uint32 *last, int from, int n, uint32 target)
{
	int			low = from;
	int			high = n;

	/* the next entry is by far the likeliest */
	if (low < high && last[low] >= target)
		return low;
	while (low < high)
	{
		int			mid = (low + high) / 2;

		if (last[mid] < target)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * skiplist_cursor.c : reads the node table from its own pages, all of it, and
 * keeps 4 bytes a node.
 */
extern void skx_skiplist_load_table(SkxSkiplistCursor *c);

/*
 * skiplist_ahead.c : the cursor has entered a node, the one after the last or
 * another.
 */
extern void skx_skiplist_ahead(SkxSkiplistCursor *c, bool in_row);

#endif							/* SKX_SKIPLIST_INTERNAL_H */
