/*
 * topk_list.c
 *	  A list in a search: what it can give, without decoding it, and what it
 *	  gives.
 *
 * Bounds come from the impacts of sub-blocks, pages and nodes, whichever is
 * the finest that a question needs few of; each is computed once and kept for
 * as long as the cursor is near it.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "topk/topk_internal.h"

/* A page has fewer sub-blocks: each has 19 bytes of columns, and a body. */
#define SKX_SUBS_MAX		400

/*
 * A sub-block that reaches so many times further than a window is decoded, to
 * see whether it has a document there.
 */
#define SKX_SPARSE			16

/* Sub-blocks looked at before a page is asked as a whole. */
#define SKX_SUBS_FEW		6

/* What a short list gives at most: the parts of all of its postings tell. */
static int32
skx_topk_list_short_limit(SkxTopkRun *run, SkxTopkList *l)
{
	uint32		docs[SKX_SUBBLOCK];
	int32		parts[SKX_SUBBLOCK];
	int32		limit = 0;
	int			n = skx_topk_list_parts(run, l, 0, SKX_NO_DOC, docs, parts);
	int			i;

	for (i = 0; i < n; i++)
		limit = Max(limit, parts[i]);
	return limit;
}

static int32
skx_topk_list_limit(SkxTopkRun *run, SkxTopkList *l)
{
	if (l->term == NULL)
		return 0;
	if (!l->list->is_long)
		return skx_topk_list_short_limit(run, l);
	return skx_rank_bound(l->list->term.list.impacts, l->weight,
						  run->scorer->most, run->scorer->inverse);
}

void
skx_topk_list_begin(SkxTopkRun *run, SkxTopkList *l, const SkxTerm *term,
					const SkxScoreTerm *scored, uint8 labels)
{
	SkxList    *list = l->list;

	memset(l, 0, sizeof(*l));
	l->list = list;
	skx_segment_list_begin(list, run->seg, term);
	l->term = scored;
	l->weight = scored == NULL ? 0 :
		run->paired ? scored->ceiling : scored->weight;
	l->labels = labels;
	l->labelled = labels != 0 || (scored != NULL && !run->scorer->flat);
	l->df = term->df;
	l->last = SKX_NO_DOC;
	l->page = l->node = PG_UINT32_MAX;
	if (!list->is_long)
	{
		l->docs = list->p.docs;
		l->n = list->p.n;
		l->decoded = true;
		l->last = l->docs[l->n - 1];
	}
}

SkxTopkList *
skx_topk_list_open(SkxTopkRun *run, const SkxTerm *term,
				   const SkxScoreTerm *scored, uint8 labels)
{
	SkxTopkList *l = palloc(sizeof(SkxTopkList));

	l->list = palloc0(sizeof(SkxList));
	skx_topk_list_begin(run, l, term, scored, labels);
	l->max = skx_topk_list_limit(run, l);
	return l;
}

void
skx_topk_list_close(SkxTopkList *l)
{
	if (l->list != NULL)
		skx_segment_list_close(l->list);
}

bool
skx_topk_list_move(SkxTopkList *l, uint32 target)
{
	if (l->memory != NULL)
	{
		SkxTopkMemory *m = l->memory;
		uint32		nblocks = (m->n + SKX_SUBBLOCK - 1) / SKX_SUBBLOCK;
		uint32		end;

		if (l->last != SKX_NO_DOC)
			l->block++;
		for (; l->block < nblocks; l->block++)
		{
			end = Min((l->block + 1) * SKX_SUBBLOCK, m->n);
			if (m->docs[end - 1] >= target)
				break;
		}
		l->done = l->block >= nblocks;
		if (l->done)
			return false;
		l->docs = m->docs + l->block * SKX_SUBBLOCK;
		l->n = end - l->block * SKX_SUBBLOCK;
		l->i = 0;
		l->last = l->docs[l->n - 1];
		return true;
	}
	l->list->decoded = l->decoded = false;
	if (!l->list->is_long || !skx_skiplist_seek(&l->list->cursor, target))
	{
		l->done = true;
		return false;
	}
	l->last = l->list->cursor.last;
	return true;
}

void
skx_topk_list_decode(SkxTopkList *l)
{
	if (l->memory == NULL)
	{
		skx_segment_list_decode(l->list);
		l->docs = l->list->p.docs;
		l->n = l->list->p.n;
		l->i = 0;
	}
	l->decoded = true;
}

static inline int32
skx_topk_impacts_bound(SkxTopkRun *run, SkxTopkList *l, SkxImpacts impacts)
{
	return skx_rank_bound(impacts, l->weight, run->scorer->most,
						  run->scorer->inverse);
}

/* Of a sub-block of the page that the cursor is on, which is pinned. */
static int32
skx_topk_list_sub(SkxTopkRun *run, SkxTopkList *l, int sub)
{
	const SkxSkiplistCursor *c = &l->list->cursor;
	uint32		page = c->node_page + c->portion;

	if (l->page != page)
	{
		if (l->sub_bounds == NULL)
			l->sub_bounds = palloc(sizeof(int32) * SKX_SUBS_MAX);
		if (c->nsub > SKX_SUBS_MAX)
			return l->max;
		memset(l->sub_bounds, 0xFF, sizeof(int32) * c->nsub);
		l->page = page;
	}
	if (l->sub_bounds[sub] < 0)
		l->sub_bounds[sub] = skx_topk_impacts_bound(run, l, c->impacts[sub]);
	return l->sub_bounds[sub];
}

int32
skx_topk_list_sub_bound(SkxTopkRun *run, SkxTopkList *l)
{
	if (l->term == NULL)
		return 0;
	if (l->memory != NULL)
		return l->memory->bounds[l->block];
	if (!l->list->is_long)
		return l->max;
	skx_skiplist_pin(&l->list->cursor);
	return skx_topk_list_sub(run, l, l->list->cursor.sub);
}

static int32
skx_topk_list_page(SkxTopkRun *run, SkxTopkList *l, int page)
{
	const SkxSkiplistCursor *c = &l->list->cursor;

	if (l->node != c->node)
	{
		if (l->page_slots < c->node_npages)
		{
			l->page_slots = Max(c->node_npages, 4);
			l->page_bounds = palloc(sizeof(int32) * l->page_slots);
		}
		memset(l->page_bounds, 0xFF, sizeof(int32) * c->node_npages);
		l->node = c->node;
	}
	if (l->page_bounds[page] < 0)
		l->page_bounds[page] = skx_topk_impacts_bound(run, l,
													  c->page_impacts[page]);
	return l->page_bounds[page];
}

static int32
skx_topk_list_node(SkxTopkRun *run, SkxTopkList *l, uint32 node)
{
	const SkxSkiplistCursor *c = &l->list->cursor;

	if (l->node_bounds == NULL)
	{
		Size		size = sizeof(int32) * (Size) c->list.nnodes;

		l->node_bounds = palloc_extended(size, MCXT_ALLOC_HUGE);
		memset(l->node_bounds, 0xFF, size);
	}
	if (l->node_bounds[node] < 0)
		l->node_bounds[node] = skx_topk_impacts_bound(run, l,
													  c->table_impacts[node]);
	return l->node_bounds[node];
}

/* The same past the current page, or from it when `whole`. */
static int32
skx_topk_list_bound_pages(SkxTopkRun *run, SkxTopkList *l, uint32 to,
						  bool whole)
{
	SkxSkiplistCursor *c = &l->list->cursor;
	int32		bound = 0;
	uint32		node;
	int			page;

	if (c->node_last >= to - 1 || !whole)
	{
		for (page = c->portion + (whole ? 0 : 1); page < c->node_npages; page++)
		{
			int32		there = skx_topk_list_page(run, l, page);

			bound = Max(bound, there);
			if (c->page_last[page] >= to - 1)
				return bound;
		}
		node = c->node + 1;
	}
	else
		node = c->node;
	if (node >= c->list.nnodes)
		return bound;
	skx_skiplist_know_nodes(c);
	for (; node < c->list.nnodes; node++)
	{
		int32		there = skx_topk_list_node(run, l, node);

		bound = Max(bound, there);
		if (c->table_last[node] >= to - 1)
			break;
	}
	return bound;
}

static int32
skx_topk_memory_bound(SkxTopkList *l, uint32 to)
{
	SkxTopkMemory *m = l->memory;
	uint32		block = l->block;
	int32		bound = 0;

	for (; block * SKX_SUBBLOCK < m->n; block++)
	{
		uint32		end = Min((block + 1) * SKX_SUBBLOCK, m->n);

		bound = Max(bound, m->bounds[block]);
		if (m->docs[end - 1] >= to - 1)
			break;
	}
	return bound;
}

int32
skx_topk_list_bound(SkxTopkRun *run, SkxTopkList *l, uint32 from, uint32 to)
{
	SkxSkiplistCursor *c;
	int32		bound = 0;
	int32		rest;
	int			sub;

	if (l->done || l->term == NULL)
		return 0;
	if (l->memory != NULL)
		return skx_topk_memory_bound(l, to);
	if (!l->list->is_long)
		return l->docs[skx_topk_list_find(l, from)] < to ? l->max : 0;
	c = &l->list->cursor;
	if (c->base + 1 >= to)
		return 0;				/* base + 1 wraps to 0 in the first one */
	if (c->last >= to &&
		(l->decoded || c->last - c->base > SKX_SPARSE * (uint64) (to - from)))
	{
		int			at = skx_topk_list_find(l, from);

		if (l->docs[at] >= to)
			return 0;
	}
	skx_skiplist_pin(c);
	sub = c->sub;
	if (c->lasts[c->nsub - 1] < to - 1 && c->nsub - sub > SKX_SUBS_FEW)
		return skx_topk_list_bound_pages(run, l, to, true);
	for (; sub < c->nsub; sub++)
	{
		int32		there = skx_topk_list_sub(run, l, sub);

		bound = Max(bound, there);
		if (c->lasts[sub] >= to - 1)
			return bound;
	}
	rest = skx_topk_list_bound_pages(run, l, to, false);
	return Max(bound, rest);
}

/*
 * How often posting i counts; -1: it has none of the labels.  Pairs are counted
 * by positions, whatever their labels count: a ceiling must hold for these.
 */
static inline float
skx_topk_list_tf(SkxTopkRun *run, SkxTopkList *l, int i)
{
	SkxList    *list = l->list;
	float		tf;

	if (l->memory != NULL)
		return l->memory->tfs[l->block * SKX_SUBBLOCK + i];
	if (l->labelled)
	{
		skx_segment_list_labels(list);
		tf = skx_score_tf(run->scorer, l->term, &list->p, i);
		return tf >= 0 && run->paired ? Max(tf, (float) list->p.tf[i]) : tf;
	}
	skx_segment_list_tfs(list);
	return Max(list->p.tf[i], 1);
}

bool
skx_topk_list_has(SkxTopkList *l, int i)
{
	SkxList    *list = l->list;

	if (l->labels == 0)
		return true;
	skx_segment_list_labels(list);
	return list->p.tf[i] == 0 || (list->p.labels[i] & l->labels) != 0;
}

int32
skx_topk_list_part(SkxTopkRun *run, SkxTopkList *l, int i)
{
	float		tf;

	if (l->term == NULL)
		return 0;
	tf = skx_topk_list_tf(run, l, i);
	if (tf < 0)
		return 0;
	skx_topk_norms_want(run->norms, &l->docs[i], 1);
	return skx_rank_part(l->weight, tf,
						 run->scorer->inverse[run->norms->bytes[l->docs[i]]]);
}

/*
 * Postings [a, e) of a list whose labels do not matter: in plain loops, so
 * that the compiler makes vectors of the arithmetic.
 */
static void
skx_topk_list_plain(SkxTopkRun *run, SkxTopkList *l, int a, int e,
					int32 *parts)
{
	const float *inverse = run->scorer->inverse;
	const uint8 *norms = run->norms->bytes;
	const uint32 *docs = l->docs + a;
	float		weight = l->weight;
	float		inverses[SKX_SUBBLOCK];
	float		tfs[SKX_SUBBLOCK];
	int			n = e - a;
	int			i;

	for (i = 0; i < n; i++)
		inverses[i] = inverse[norms[docs[i]]];
	if (l->memory != NULL)
		memcpy(tfs, l->memory->tfs + l->block * SKX_SUBBLOCK + a,
			   sizeof(float) * n);
	else
	{
		const uint16 *tf = l->list->p.tf + a;

		for (i = 0; i < n; i++)
			tfs[i] = (float) (tf[i] + (tf[i] == 0));
	}
	skx_topk_parts(weight, tfs, inverses, n, parts);
}

/* Postings before `to`, from `a` on, of the decoded sub-block. */
static int
skx_topk_list_before(const SkxTopkList *l, int a, uint32 to)
{
	int			e = a;

	if (l->last < to)
		return l->n;
	while (l->docs[e] < to)
		e++;
	return e;
}

int
skx_topk_list_docs(SkxTopkList *l, uint32 from, uint32 to, uint32 *docs)
{
	int			a = skx_topk_list_find(l, from);
	int			n = skx_topk_list_before(l, a, to) - a;

	memcpy(docs, l->docs + a, sizeof(uint32) * n);
	return n;
}

int
skx_topk_list_parts(SkxTopkRun *run, SkxTopkList *l, uint32 from, uint32 to,
					uint32 *docs, int32 *parts)
{
	int			a = skx_topk_list_find(l, from);
	int			e = skx_topk_list_before(l, a, to);
	int			kept = 0;
	int			i;

	if (e == a)
		return 0;
	run->topk->work.scored += e - a;
	if (l->term != NULL)
		skx_topk_norms_want(run->norms, l->docs + a, e - a);
	if (l->term != NULL && !l->labelled)
	{
		if (l->memory == NULL)
			skx_segment_list_tfs(l->list);
		skx_topk_list_plain(run, l, a, e, parts);
		memcpy(docs, l->docs + a, sizeof(uint32) * (e - a));
		return e - a;
	}
	for (i = a; i < e; i++)
	{
		docs[kept] = l->docs[i];
		parts[kept] = skx_topk_list_part(run, l, i);
		kept += l->term != NULL ? parts[kept] > 0 : skx_topk_list_has(l, i);
	}
	return kept;
}
