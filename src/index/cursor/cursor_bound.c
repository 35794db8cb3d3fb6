/*
 * cursor_bound.c
 *	  Computes upper bounds of the contributions of postings without decoding
 *	  them.
 *
 * The bounds of a long list are computed from the impacts of sub-blocks, pages
 * or nodes: the finest of these of which the range needs only a few.  Each
 * bound is computed once.  Bounds of sub-blocks are kept as long as the cursor
 * is on their page, and bounds of pages as long as it is on their node.
 */
#include "postgres.h"

#include "format/rank/rank_score.h"
#include "index/cursor/cursor_internal.h"

/* A page has fewer sub-blocks: each has 19 bytes of columns, and a body. */
#define SKX_PAGE_SUBBLOCKS_MAX		400

/*
 * A sub-block that spans so many times more documents than the range is
 * decoded, to see whether it has a document in the range.
 */
#define SKX_BOUND_DECODE_SPAN			16

/*
 * If the range extends past the current page, and more sub-blocks than this
 * are left on the page, bounds of whole pages are used.
 */
#define SKX_BOUND_SUBBLOCKS_MAX		6

static inline int32
skx_cursor_bound_impacts(const SkxCursorBounds *b, SkxImpacts impacts)
{
	return skx_rank_bound(impacts, b->weight, b->max_label_weight, b->inverse);
}

int32
skx_cursor_set_weight(SkxCursor *c, float weight, float most,
					  const float *inverse)
{
	SkxCursorList *l = skx_cursor_list(c);
	SkxCursorBounds *b = &l->bounds;

	b->weight = weight;
	b->max_label_weight = most;
	b->inverse = inverse;
	b->list_bound = -1;
	if (l->form == SKX_CURSOR_LONG)
		b->list_bound = skx_cursor_bound_impacts(b, l->term.long_list.impacts);
	return b->list_bound;
}

void
skx_cursor_set_bound(SkxCursor *c, int32 limit)
{
	skx_cursor_list(c)->bounds.list_bound = limit;
}

void
skx_cursor_bounds_reset(SkxCursorBounds *b)
{
	if (b->subblock_bounds != NULL)
		pfree(b->subblock_bounds);
	if (b->page_bounds != NULL)
		pfree(b->page_bounds);
	if (b->node_bounds != NULL)
		pfree(b->node_bounds);
	memset(b, 0, sizeof(*b));
	b->page = b->node = PG_UINT32_MAX;
}

/*
 * Returns a bound of sub-block number `sub` of the current page, which must
 * be pinned.
 */
static int32
skx_cursor_bound_subblocks(SkxCursorList *l, int sub)
{
	const SkxSkiplistCursor *s = &l->nodes;
	SkxCursorBounds *b = &l->bounds;
	uint32		page = s->node_page + s->portion;

	if (b->page != page)
	{
		if (b->subblock_bounds == NULL)
			b->subblock_bounds =
				palloc(sizeof(int32) * SKX_PAGE_SUBBLOCKS_MAX);
		if (s->nsub > SKX_PAGE_SUBBLOCKS_MAX)
			return b->list_bound;
		memset(b->subblock_bounds, 0xFF, sizeof(int32) * s->nsub);
		b->page = page;
	}
	if (b->subblock_bounds[sub] < 0)
		b->subblock_bounds[sub] = skx_cursor_bound_impacts(b, s->impacts[sub]);
	return b->subblock_bounds[sub];
}

int32
skx_cursor_bound_subblock(SkxCursor *c)
{
	SkxCursorList *l = skx_cursor_list(c);

	switch (l->form)
	{
		case SKX_CURSOR_LONG:
			skx_skiplist_pin(&l->nodes);
			return skx_cursor_bound_subblocks(l, l->nodes.subblock);
		case SKX_CURSOR_MEMORY:
			return l->memory->bounds[l->block];
		default:
			return l->bounds.list_bound;
	}
}

bool
skx_cursor_impacts(SkxCursor *c, SkxImpacts *impacts)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (l->form != SKX_CURSOR_LONG)
		return false;
	skx_skiplist_pin(&l->nodes);
	*impacts = l->nodes.impacts[l->nodes.subblock];
	return true;
}

uint8
skx_cursor_bound_norm(SkxCursor *c, int i)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (l->form != SKX_CURSOR_LONG)
		return 0;
	skx_skiplist_pin(&l->nodes);
	return skx_rank_impacts_norm(l->nodes.impacts[l->nodes.subblock],
								 skx_cursor_tfs(c)[i]);
}

static int32
skx_cursor_bound_page(SkxCursorList *l, int page)
{
	const SkxSkiplistCursor *s = &l->nodes;
	SkxCursorBounds *b = &l->bounds;

	if (b->node != s->node)
	{
		if (b->page_slots < s->node_npages)
		{
			if (b->page_bounds != NULL)
				pfree(b->page_bounds);
			b->page_slots = Max(s->node_npages, 4);
			b->page_bounds = palloc(sizeof(int32) * b->page_slots);
		}
		memset(b->page_bounds, 0xFF, sizeof(int32) * s->node_npages);
		b->node = s->node;
	}
	if (b->page_bounds[page] < 0)
		b->page_bounds[page] = skx_cursor_bound_impacts(b,
														s->page_impacts[page]);
	return b->page_bounds[page];
}

static int32
skx_cursor_bound_node(SkxCursorList *l, uint32 node)
{
	const SkxSkiplistCursor *s = &l->nodes;
	SkxCursorBounds *b = &l->bounds;

	if (b->node_bounds == NULL)
	{
		Size		size = sizeof(int32) * (Size) s->list.nnodes;

		b->node_bounds = palloc_extended(size, MCXT_ALLOC_HUGE);
		memset(b->node_bounds, 0xFF, size);
	}
	if (b->node_bounds[node] < 0)
		b->node_bounds[node] =
			skx_cursor_bound_impacts(b, s->table_impacts[node]);
	return b->node_bounds[node];
}

/*
 * Returns a bound of the contributions of documents below `to` on the pages
 * after the current one, and if `whole` is true, on the current page, too.
 */
static int32
skx_cursor_bound_pages(SkxCursorList *l, uint32 to, bool whole)
{
	SkxSkiplistCursor *s = &l->nodes;
	int32		bound = 0;
	uint32		node = s->node;
	int			page;

	if (s->node_last >= to - 1 || !whole)
	{
		for (page = s->portion + (whole ? 0 : 1); page < s->node_npages; page++)
		{
			int32		there = skx_cursor_bound_page(l, page);

			bound = Max(bound, there);
			if (s->page_last[page] >= to - 1)
				return bound;
		}
		node++;
	}
	if (node >= s->list.nnodes)
		return bound;
	skx_skiplist_fill_tables_from(s);
	for (; node < s->list.nnodes; node++)
	{
		int32		there = skx_cursor_bound_node(l, node);

		bound = Max(bound, there);
		if (s->table_last[node] >= to - 1)
			break;
	}
	return bound;
}

static int32
skx_cursor_bound_memory(const SkxCursorList *l, uint32 to)
{
	const SkxCursorMemory *m = l->memory;
	uint32		block = l->block;
	int32		bound = 0;

	for (; block * SKX_SUBBLOCK < m->n; block++)
	{
		bound = Max(bound, m->bounds[block]);
		if (m->docs[Min((block + 1) * SKX_SUBBLOCK, m->n) - 1] >= to - 1)
			return bound;
	}
	if (m->refill != NULL && m->refill_to < to)
		return l->bounds.list_bound;
	return bound;
}

static int32
skx_cursor_bound_long(SkxCursorList *l, uint32 from, uint32 to)
{
	SkxSkiplistCursor *s = &l->nodes;
	SkxCursor  *c = &l->head;
	int32		bound = 0;
	int32		rest;
	int			sub;

	if (s->base_doc + 1 >= to)
		return 0;				/* base + 1 wraps to 0 in the first one */
	if (s->last_doc >= to &&
		(c->docs != NULL ||
		 s->last_doc - s->base_doc > SKX_BOUND_DECODE_SPAN *
		 (uint64) (to - from)) &&
		skx_cursor_seek(c, from) >= to)
		return 0;
	skx_skiplist_pin(s);
	sub = s->subblock;
	if (s->last_docs[s->nsub - 1] < to - 1 &&
		s->nsub - sub > SKX_BOUND_SUBBLOCKS_MAX)
		return skx_cursor_bound_pages(l, to, true);
	for (; sub < s->nsub; sub++)
	{
		int32		there = skx_cursor_bound_subblocks(l, sub);

		bound = Max(bound, there);
		if (s->last_docs[sub] >= to - 1)
			return bound;
	}
	rest = skx_cursor_bound_pages(l, to, false);
	return Max(bound, rest);
}

int32
skx_cursor_bound(SkxCursor *c, uint32 from, uint32 to)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (c->at_end)
		return 0;
	switch (l->form)
	{
		case SKX_CURSOR_LONG:
			return skx_cursor_bound_long(l, from, to);
		case SKX_CURSOR_MEMORY:
			return skx_cursor_bound_memory(l, to);
		default:
			return skx_cursor_seek(c, from) < to ? l->bounds.list_bound : 0;
	}
}
