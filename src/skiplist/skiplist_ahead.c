/*
 * skiplist_ahead.c
 *	  Asks for nodes before the cursor gets to them, so that they are read
 *	  while it is busy with others.
 *
 * A cursor that goes through its list knows where the nodes are, whatever is
 * in them.  It has the more of them under way the longer it has not skipped
 * any: 1, 2, 4, ... up to `ahead`.  One that is sought knows what will be
 * sought next: from the last documents of nodes, which it has for its own
 * moves, it finds the nodes where these targets lie.  Each of them will be
 * entered, so nothing is read in vain.
 *
 * All of this happens once a node.  Looking a target's node up and asking the
 * cache for it would still be felt where each node is good for one document,
 * so a sought cursor plans only while the backend is reading something.
 */
#include "postgres.h"

#include "format/format_postings.h"
#include "skiplist/skiplist_internal.h"

void
skx_skiplist_ask(SkxBlkFile *file, const SkxBlkPlane *plane,
				 const uint32 *ordinals, int n)
{
	if (n == 0)
		return;
	skx_skiplist_work.asked += n;
	skx_blkio_prefetch(file, plane, ordinals, n);
}

uint64
skx_skiplist_reads(void)
{
	const SkxBlkCounters *counters = skx_blkio_counters();
	uint64		reads = 0;

	for (int i = 0; i < SKX_BLK_NMETHODS; i++)
		reads += counters[i].loads + counters[i].ahead;
	return reads;
}

bool
skx_skiplist_cold(uint64 *seen)
{
	uint64		now = skx_skiplist_reads();
	bool		cold = now != *seen;

	*seen = now;
	return cold;
}

/*
 * Goes through the list: `window` nodes are wanted under way, and asked for
 * when at least half of them are missing, or the last ones of the list are.
 */
static void
skx_skiplist_ahead_run(SkxSkiplistCursor *c, bool in_row)
{
	uint32		pages[SKX_AHEAD_MAX];
	uint32		from = Max(c->asked, c->node + 1);
	uint32		to;
	int			n = 0;

	if (in_row)
		c->window = Min(Max(1, c->window * 2), c->ahead);
	else
		c->window = c->node == 0 && c->running ? 1 : 0;
	to = Min(c->node + 1 + c->window, c->list.nnodes);
	if (from >= to ||
		((to - from) * 2 < c->window && to < c->list.nnodes))
		return;
	while (from < to)
		pages[n++] = skx_skiplist_node_page(c, from++);
	c->asked = to;
	skx_skiplist_ask(c->file, c->plane, pages, n);
}

/*
 * Makes *node, which precedes the target, the node that it lies in, nnodes
 * when it lies behind all; false when that is not known from here.
 */
static bool
skx_skiplist_ahead_find(SkxSkiplistCursor *c, uint32 target, uint32 *node)
{
	uint32		reach = c->node + c->nforward;

	/* One of the seeks would read the table as well, or it is worth a read. */
	if (c->table_last == NULL && c->list.has_table &&
		(c->nforward == 0 || c->forward_last[c->nforward - 1] < target))
		skx_skiplist_load_table(c);
	if (c->table_last != NULL)
	{
		*node = skx_skiplist_lower_bound(c->table_last, *node + 1,
										 c->list.nnodes, target);
		return true;
	}
	while (*node < reach)
	{
		(*node)++;
		if (c->forward_last[*node - c->node - 1] >= target)
			return true;
	}
	*node = reach + 1;
	return *node >= c->list.nnodes;
}

/*
 * Asks for the nodes of the next targets.
 */
static void
skx_skiplist_ahead_targets(SkxSkiplistCursor *c)
{
	uint32		pages[SKX_AHEAD_MAX];
	int			room = c->ahead - c->under_way;
	uint32		node = c->node;
	uint32		last = c->node_last;
	int			n = 0;

	if (room * 2 < c->ahead || c->ntargets == 0 ||
		!skx_skiplist_cold(&c->reads))
		return;
	while (c->ntargets > 0 && n < room)
	{
		if (*c->targets > last)
		{
			if (!skx_skiplist_ahead_find(c, *c->targets, &node))
				break;
			if (node >= c->list.nnodes)
			{
				c->ntargets = 0;
				break;
			}
			last = c->table_last != NULL ? c->table_last[node] :
				c->forward_last[node - c->node - 1];
			if (node >= c->asked)
				pages[n++] = skx_skiplist_node_page(c, node);
			c->asked = Max(c->asked, node + 1);
		}
		c->targets++;
		c->ntargets--;
	}
	/* The cursor goes for the first one right away. */
	if (n + c->under_way < 2)
		return;
	c->under_way += n;
	skx_skiplist_ask(c->file, c->plane, pages, n);
}

void
skx_skiplist_ahead(SkxSkiplistCursor *c, bool in_row)
{
	if (c->under_way > 0)
		c->under_way--;
	if (c->is_last)
		return;
	if (c->targets != NULL)
		skx_skiplist_ahead_targets(c);
	else
		skx_skiplist_ahead_run(c, in_row);
}

void
skx_skiplist_targets(SkxSkiplistCursor *c, const uint32 *docs, int n)
{
	c->targets = n > 0 ? docs : NULL;
	c->ntargets = n;
	if (n > 0 && c->ahead > 0 && c->node_npages > 0 && !c->is_last &&
		docs[n - 1] > c->node_last)
		skx_skiplist_ahead_targets(c);
}
