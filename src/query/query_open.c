/*
 * query_open.c
 *	  Puts a compiled query on one segment: looks up terms, expands prefixes,
 *	  folds away what is empty or full, and orders conjunctions by cost.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "miscadmin.h"
#include "query/query_internal.h"
#include "utils/memutils.h"

/* Prefixes with more terms than this are gathered into a bitmap. */
#define SKX_PREFIX_TERMS	16

static SkxIter *
skx_query_iter(SkxSegment *seg, SkxNodeKind kind, uint32 cost)
{
	SkxIter    *it = palloc0(sizeof(SkxIter));

	it->seg = seg;
	it->kind = kind;
	it->cost = cost;
	it->cheap = kind != SKX_NODE_PHRASE;
	return it;
}

static SkxIter *
skx_query_none(SkxSegment *seg)
{
	return skx_query_iter(seg, SKX_NODE_NONE, 0);
}

static SkxIter *
skx_query_all(SkxSegment *seg)
{
	return skx_query_iter(seg, SKX_NODE_ALL, seg->header.ndocs);
}

void
skx_query_close(SkxIter *it)
{
	int			i;

	check_stack_depth();
	for (i = 0; i < it->nchildren; i++)
		skx_query_close(it->children[i]);
	if (it->list != NULL)
		skx_segment_list_close(it->list);
	if (it->phrase != NULL)
		skx_query_phrase_close(it->phrase);
	if (it->bitmap != NULL)
		pfree(it->bitmap);
	if (it->scratch != NULL)
		pfree(it->scratch);
	if (it->children != NULL)
		pfree(it->children);
	pfree(it);
}

/*
 * A lexeme stored without positions matches whatever labels are asked for, as
 * in the server; with positions, only D unless the list says otherwise.
 */
SkxIter *
skx_query_open_term(SkxSegment *seg, const SkxTerm *term, uint8 weights)
{
	SkxIter    *it;

	if (weights != 0 && (term->flags & SKX_TERM_LABELS) == 0)
	{
		if (weights & (1 << SKX_LABEL_D))
			weights = 0;
		else if ((term->flags & SKX_TERM_BARE) == 0)
			return skx_query_none(seg);
	}
	it = skx_query_iter(seg, SKX_NODE_TERM, term->df);
	it->weights = weights;
	it->list = skx_segment_list_open(seg, term);
	return it;
}

/* Terms of a prefix, until they are too many. */
typedef struct SkxExpansion
{
	SkxIter    *it;
	uint8		weights;
	uint64		cost;
	int			n;
	SkxTerm		terms[SKX_PREFIX_TERMS];
	uint32	   *docs;			/* SKX_QUERY_BATCH of them */
} SkxExpansion;

/*
 * ORs one more list into the bitmap of a prefix.
 */
static void
skx_query_bitmap_add(SkxExpansion *e, const SkxTerm *term)
{
	SkxSegment *seg = e->it->seg;
	SkxIter    *one = skx_query_open_term(seg, term, e->weights);
	uint64	   *bitmap = e->it->bitmap;
	uint32		ndocs = seg->header.ndocs;
	uint32		from = 0;
	int			n;
	int			i;

	while (from < ndocs)
	{
		CHECK_FOR_INTERRUPTS();
		from = skx_query_generate(one, from, ndocs, e->docs, &n);
		for (i = 0; i < n; i++)
			bitmap[e->docs[i] / 64] |= UINT64CONST(1) << (e->docs[i] % 64);
	}
	skx_query_close(one);
}

static bool
skx_query_expand(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxExpansion *e = arg;
	int			i;

	e->cost += term->df;
	if (e->n < SKX_PREFIX_TERMS)
	{
		e->terms[e->n++] = *term;
		return true;
	}
	if (e->it->bitmap == NULL)
	{
		e->it->kind = SKX_NODE_BITMAP;
		e->it->bitmap = palloc_extended(((Size) e->it->seg->header.ndocs / 64 +
										 1) * sizeof(uint64),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		e->docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH);
		for (i = 0; i < e->n; i++)
			skx_query_bitmap_add(e, &e->terms[i]);
	}
	skx_query_bitmap_add(e, term);
	return true;
}

static SkxIter *
skx_query_open_prefix(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxExpansion e;
	SkxIter    *it = skx_query_iter(seg, SKX_NODE_OR, 0);
	int			i;

	e.it = it;
	e.weights = node->weights;
	e.cost = 0;
	e.n = 0;
	e.docs = NULL;
	skx_segment_prefix(seg, node->lexeme, node->len, skx_query_expand, &e);
	it->cost = Min(e.cost, seg->header.ndocs);
	if (it->kind == SKX_NODE_BITMAP)
	{
		pfree(e.docs);
		return it;
	}
	it->children = palloc(sizeof(SkxIter *) * Max(e.n, 1));
	for (i = 0; i < e.n; i++)
		it->children[it->nchildren++] =
			skx_query_open_term(seg, &e.terms[i], node->weights);
	return it;
}

static int
skx_query_rank(const SkxIter *it)
{
	return (it->kind == SKX_NODE_NOT ? 2 : 0) + (it->cheap ? 0 : 1);
}

/*
 * Positive clauses first, those with few documents before others: they leave
 * least to the rest.  What has to read positions comes after what has not;
 * negations last, those that leave least first.
 */
static int
skx_query_compare_cost(const void *a, const void *b)
{
	const SkxIter *x = *(SkxIter *const *) a;
	const SkxIter *y = *(SkxIter *const *) b;

	if (skx_query_rank(x) != skx_query_rank(y))
		return skx_query_rank(x) - skx_query_rank(y);
	return x->cost < y->cost ? -1 : x->cost > y->cost;
}

/*
 * Makes many negations of a conjunction one, of a disjunction, which can be
 * gathered.
 */
static void
skx_query_join_negations(SkxIter *it)
{
	SkxIter   **negations = it->children + it->npositive;
	int			most = it->nchildren - it->npositive;
	int			n = 0;
	SkxIter    *any;
	uint64		cost = 0;
	int			i;

	while (n < most && negations[n]->cheap)
		n++;
	if (n <= SKX_GATHER_CLAUSES)
		return;
	any = skx_query_iter(it->seg, SKX_NODE_OR, 0);
	any->children = palloc(sizeof(SkxIter *) * n);
	for (i = 0; i < n; i++)
	{
		any->children[any->nchildren++] = negations[i]->children[0];
		cost += negations[i]->children[0]->cost;
		negations[i]->nchildren = 0;
		if (i > 0)
			skx_query_close(negations[i]);
	}
	any->cost = Min(cost, it->seg->header.ndocs);
	negations[0]->children[0] = any;
	negations[0]->nchildren = 1;
	negations[0]->cost = it->seg->header.ndocs - any->cost;
	memmove(negations + 1, negations + n, sizeof(SkxIter *) * (most - n));
	it->nchildren -= n - 1;
}

static SkxIter *
skx_query_open_and(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxIter    *it = skx_query_iter(seg, SKX_NODE_AND, seg->header.ndocs);
	int			i;

	it->children = palloc(sizeof(SkxIter *) * node->nchildren);
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child = skx_query_open(seg, node->children[i]);

		if (child->kind == SKX_NODE_NONE)
		{
			skx_query_close(child);
			skx_query_close(it);
			return skx_query_none(seg);
		}
		if (child->kind == SKX_NODE_ALL)
			skx_query_close(child);
		else
		{
			it->children[it->nchildren++] = child;
			it->cheap &= child->cheap;
		}
	}
	qsort(it->children, it->nchildren, sizeof(SkxIter *),
		  skx_query_compare_cost);
	while (it->npositive < it->nchildren &&
		   it->children[it->npositive]->kind != SKX_NODE_NOT)
		it->npositive++;
	skx_query_join_negations(it);
	if (it->nchildren == 0)
		it->kind = SKX_NODE_ALL;
	else if (it->npositive > 0)
		it->cost = it->children[0]->cost;
	return it;
}

static SkxIter *
skx_query_open_or(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxIter    *it = skx_query_iter(seg, SKX_NODE_OR, 0);
	uint64		cost = 0;
	int			i;

	it->children = palloc(sizeof(SkxIter *) * node->nchildren);
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child = skx_query_open(seg, node->children[i]);

		if (child->kind == SKX_NODE_ALL)
		{
			skx_query_close(it);
			return child;
		}
		cost += child->cost;
		it->cheap &= child->cheap;
		if (child->kind == SKX_NODE_NONE)
			skx_query_close(child);
		else
			it->children[it->nchildren++] = child;
	}
	if (it->nchildren == 0)
		it->kind = SKX_NODE_NONE;
	it->cost = Min(cost, seg->header.ndocs);
	return it;
}

static SkxIter *
skx_query_open_not(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxIter    *child = skx_query_open(seg, node->children[0]);
	SkxIter    *it;

	if (child->kind == SKX_NODE_NONE || child->kind == SKX_NODE_ALL)
	{
		bool		all = child->kind == SKX_NODE_NONE;

		skx_query_close(child);
		return all ? skx_query_all(seg) : skx_query_none(seg);
	}
	it = skx_query_iter(seg, SKX_NODE_NOT, seg->header.ndocs - child->cost);
	it->cheap = child->cheap;
	it->children = palloc(sizeof(SkxIter *));
	it->children[0] = child;
	it->nchildren = 1;
	return it;
}

SkxIter *
skx_query_open(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxIter    *it;
	SkxTerm		term;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->kind)
	{
		case SKX_NODE_ALL:
			return skx_query_all(seg);
		case SKX_NODE_TERM:
			if (node->prefix)
				return skx_query_open_prefix(seg, node);
			if (!skx_segment_find(seg, node->lexeme, node->len, &term))
				return skx_query_none(seg);
			return skx_query_open_term(seg, &term, node->weights);
		case SKX_NODE_AND:
			return skx_query_open_and(seg, node);
		case SKX_NODE_OR:
			return skx_query_open_or(seg, node);
		case SKX_NODE_NOT:
			return skx_query_open_not(seg, node);
		case SKX_NODE_PHRASE:
			it = skx_query_open(seg, node->children[0]);
			if (it->kind != SKX_NODE_NONE)
			{
				SkxIter    *admit = it;

				it = skx_query_iter(seg, SKX_NODE_PHRASE, admit->cost);
				it->children = palloc(sizeof(SkxIter *));
				it->children[0] = admit;
				it->nchildren = 1;
				it->phrase = skx_query_phrase_open(seg, node);
			}
			return it;
		default:
			return skx_query_none(seg);
	}
}
