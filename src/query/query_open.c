/*
 * query_open.c
 *	  Puts a compiled query on one segment: looks up terms, expands prefixes,
 *	  folds away what is empty or full, and orders conjunctions by cost.
 *
 * All lexemes have been looked up, and all lists asked for, before: what one
 * clause waits for is read with what the others need.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "query/query_internal.h"
#include "utils/memutils.h"

/* Prefixes with more terms than this are gathered into a bitmap. */
#define SKX_PREFIX_TERMS	16

static SkxIter *skx_query_open_node(const SkxOpening *o,
									const SkxQueryNode *node);

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
	CHECK_FOR_INTERRUPTS();
	for (i = 0; i < it->nchildren; i++)
		skx_query_close(it->children[i]);
	if (it->list != NULL)
		skx_cursor_close(it->list);
	if (it->phrase != NULL)
		skx_query_phrase_close(it->phrase);
	if (it->bitmap != NULL)
		pfree(it->bitmap);
	if (it->held != NULL)
		pfree(it->held);
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
bool
skx_query_has_term(const SkxTerm *term, uint8 labels)
{
	return term->df > 0 &&
		(labels == 0 || (labels & (1 << SKX_LABEL_D)) != 0 ||
		 (term->flags & (SKX_TERM_LABELS | SKX_TERM_BARE)) != 0);
}

static SkxIter *
skx_query_open_term(SkxSegment *seg, const SkxTerm *term, uint8 labels,
					SkxCursorRole role)
{
	SkxIter    *it;

	if (!skx_query_has_term(term, labels))
		return skx_query_none(seg);
	it = skx_query_iter(seg, SKX_NODE_TERM, term->df);
	it->list = skx_cursor_open(seg, term, role);
	skx_cursor_want_labels(it->list, labels);
	return it;
}

/* Terms of a prefix; when they are too many, those not in the bitmap yet. */
typedef struct SkxExpansion
{
	SkxIter    *it;
	uint8		labels;
	uint64		cost;
	int			n;
	SkxTerm		terms[SKX_PREFIX_TERMS];
} SkxExpansion;

/* Gives an iterator an empty bitmap. */
static void
skx_query_make_bitmap(SkxIter *it)
{
	it->kind = SKX_NODE_BITMAP;
	it->bitmap = palloc_extended(((Size) it->seg->header.ndocs / 64 + 1) *
								 sizeof(uint64),
								 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* ORs one more list into a bitmap. */
static void
skx_query_bitmap_add(SkxIter *it, const SkxTerm *term, uint8 labels)
{
	SkxCursor  *c;

	CHECK_FOR_INTERRUPTS();
	if (!skx_query_has_term(term, labels))
		return;
	c = skx_cursor_open(it->seg, term, SKX_CURSOR_LEAD);
	skx_cursor_want_labels(c, labels);
	skx_cursor_fill(c, 0, it->bitmap, it->seg->header.ndocs / 64 + 1);
	skx_cursor_close(c);
}

/*
 * Gathers the terms at hand into the bitmap.
 */
static void
skx_query_expand_gather(SkxExpansion *e)
{
	int			i;

	if (e->it->bitmap == NULL)
		skx_query_make_bitmap(e->it);
	skx_cursor_ask_terms(e->it->seg, e->terms, e->n);
	for (i = 0; i < e->n; i++)
		skx_query_bitmap_add(e->it, &e->terms[i], e->labels);
	e->n = 0;
}

static bool
skx_query_expand(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxExpansion *e = arg;

	e->cost += term->df;
	if (e->n == SKX_PREFIX_TERMS)
		skx_query_expand_gather(e);
	e->terms[e->n++] = *term;
	return true;
}

static SkxIter *
skx_query_open_prefix(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxExpansion e;
	SkxIter    *it = skx_query_iter(seg, SKX_NODE_OR, 0);
	int			i;

	e.it = it;
	e.labels = node->labels;
	e.cost = 0;
	e.n = 0;
	skx_segment_prefix(seg, node->lexeme, node->len, true, skx_query_expand,
					   &e);
	it->cost = Min(e.cost, seg->header.ndocs);
	if (it->kind == SKX_NODE_BITMAP)
	{
		skx_query_expand_gather(&e);
		return it;
	}
	skx_cursor_ask_terms(seg, e.terms, e.n);
	it->children = palloc(sizeof(SkxIter *) * Max(e.n, 1));
	for (i = 0; i < e.n; i++)
		it->children[it->nchildren++] =
			skx_query_open_term(seg, &e.terms[i], node->labels,
								SKX_CURSOR_PROBE);
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

/*
 * Is a clause of the conjunction a lexeme that the segment does not have, or
 * not with its labels?
 */
static bool
skx_query_lacks(const SkxOpening *o, const SkxQueryNode *node)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		if (child->kind == SKX_NODE_TERM && !child->prefix &&
			!skx_query_has_term(&o->terms[child->slot], child->labels))
			return true;
	}
	return false;
}

/* Is the clause one of those that are not opened beside others? */
static inline bool
skx_query_is_one_of_many(const SkxQueryNode *node, const SkxQueryNode *clause)
{
	return node->nchildren > SKX_OPEN_CLAUSES &&
		clause->kind == SKX_NODE_TERM && !clause->prefix;
}

/* Asks for the lists of clauses first, first + 1, ... that are lexemes. */
static void
skx_query_ask_many(const SkxOpening *o, const SkxQueryNode *node, int first)
{
	SkxTerm		terms[SKX_PREFIX_TERMS];
	int			n = 0;
	int			i;

	for (i = first; i < node->nchildren && n < SKX_PREFIX_TERMS; i++)
		if (skx_query_is_one_of_many(node, node->children[i]))
			terms[n++] = o->terms[node->children[i]->slot];
	skx_cursor_ask_terms(o->seg, terms, n);
}

/* Many lexemes, any of which a document must have, as one clause. */
static SkxIter *
skx_query_open_any_of_many(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxIter    *it = skx_query_iter(o->seg, SKX_NODE_BITMAP, 0);
	uint64		cost = 0;
	int			n = 0;
	int			i;

	skx_query_make_bitmap(it);
	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *clause = node->children[i];

		if (!skx_query_is_one_of_many(node, clause))
			continue;
		if (n++ % SKX_PREFIX_TERMS == 0)
			skx_query_ask_many(o, node, i);
		skx_query_bitmap_add(it, &o->terms[clause->slot], clause->labels);
		cost += o->terms[clause->slot].df;
	}
	it->cost = Min(cost, o->seg->header.ndocs);
	return it;
}

/* Drops the documents of a bitmap that lack a lexeme; false: none is left. */
static bool
skx_query_bitmap_drop(SkxIter *it, const SkxTerm *term, uint8 labels,
					  uint32 *docs)
{
	SkxIter    *one = skx_query_open_term(it->seg, term, labels,
										  SKX_CURSOR_PROBE);
	uint32		nwords = it->seg->header.ndocs / 64 + 1;
	uint32		left = 0;
	uint32		w = 0;

	while (w < nwords)
	{
		int			n = 0;
		int			i;

		for (; w < nwords && n <= SKX_QUERY_BATCH - 64; w++)
		{
			uint64		word = it->bitmap[w];

			it->bitmap[w] = 0;
			for (; word != 0; word &= word - 1)
				docs[n++] = w * 64 + pg_rightmost_one_pos64(word);
		}
		CHECK_FOR_INTERRUPTS();
		n = skx_query_filter(one, docs, n);
		for (i = 0; i < n; i++)
			it->bitmap[docs[i] / 64] |= UINT64CONST(1) << (docs[i] % 64);
		left += n;
	}
	skx_query_close(one);
	it->cost = left;
	return left > 0;
}

static int
skx_query_compare_clause(const void *a, const void *b, void *arg)
{
	const SkxTerm *terms = arg;
	const SkxTerm *x = &terms[(*(SkxQueryNode *const *) a)->slot];
	const SkxTerm *y = &terms[(*(SkxQueryNode *const *) b)->slot];

	CHECK_FOR_INTERRUPTS();
	return x->df < y->df ? -1 : x->df > y->df;
}

/* Many lexemes, all of which a document must have, as one clause. */
static SkxIter *
skx_query_open_all_of_many(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxIter    *it = skx_query_iter(o->seg, SKX_NODE_BITMAP, 0);
	SkxQueryNode **clauses = palloc_extended(sizeof(SkxQueryNode *) *
											 (Size) node->nchildren,
											 MCXT_ALLOC_HUGE);
	uint32	   *docs = palloc(sizeof(uint32) * SKX_QUERY_BATCH);
	int			n = 0;
	int			i;

	for (i = 0; i < node->nchildren; i++)
		if (skx_query_is_one_of_many(node, node->children[i]))
			clauses[n++] = node->children[i];
	qsort_arg(clauses, n, sizeof(SkxQueryNode *), skx_query_compare_clause,
			  o->terms);
	skx_query_make_bitmap(it);
	for (i = 0; i < n; i++)
	{
		const SkxTerm *term = &o->terms[clauses[i]->slot];

		if (i == 0)
		{
			skx_query_bitmap_add(it, term, clauses[i]->labels);
			it->cost = term->df;
		}
		else if (!skx_query_bitmap_drop(it, term, clauses[i]->labels, docs))
			break;
	}
	pfree(docs);
	pfree(clauses);
	return it;
}

static bool
skx_query_has_many(const SkxQueryNode *node)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
		if (skx_query_is_one_of_many(node, node->children[i]))
			return true;
	return false;
}

static SkxIter *
skx_query_open_and(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	SkxIter    *it;
	int			i;

	if (skx_query_lacks(o, node))
		return skx_query_none(seg);
	it = skx_query_iter(seg, SKX_NODE_AND, seg->header.ndocs);
	it->children = palloc_extended(sizeof(SkxIter *) *
								   ((Size) node->nchildren + 1),
								   MCXT_ALLOC_HUGE);
	if (skx_query_has_many(node))
	{
		it->children[it->nchildren++] = skx_query_open_all_of_many(o, node);
		if (it->children[0]->cost == 0)
		{
			skx_query_close(it);
			return skx_query_none(seg);
		}
	}
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child;

		if (skx_query_is_one_of_many(node, node->children[i]))
			continue;
		child = skx_query_open_node(o, node->children[i]);

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
skx_query_open_or(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	SkxIter    *it = skx_query_iter(seg, SKX_NODE_OR, 0);
	uint64		cost = 0;
	int			i;

	it->children = palloc_extended(sizeof(SkxIter *) *
								   ((Size) node->nchildren + 1),
								   MCXT_ALLOC_HUGE);
	if (skx_query_has_many(node))
	{
		it->children[it->nchildren++] = skx_query_open_any_of_many(o, node);
		cost = it->children[0]->cost;
	}
	for (i = 0; i < node->nchildren; i++)
	{
		SkxIter    *child;

		if (skx_query_is_one_of_many(node, node->children[i]))
			continue;
		child = skx_query_open_node(o, node->children[i]);
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
skx_query_open_not(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxSegment *seg = o->seg;
	SkxIter    *child = skx_query_open_node(o, node->children[0]);
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

static SkxIter *
skx_query_open_phrase(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxIter    *admit = skx_query_open_node(o, node->children[0]);
	SkxIter    *it;

	if (admit->kind == SKX_NODE_NONE)
		return admit;
	it = skx_query_iter(o->seg, SKX_NODE_PHRASE, admit->cost);
	it->children = palloc(sizeof(SkxIter *));
	it->children[0] = admit;
	it->nchildren = 1;
	it->phrase = skx_query_phrase_open(o, node);
	return it;
}

static SkxIter *
skx_query_open_node(const SkxOpening *o, const SkxQueryNode *node)
{
	const SkxTerm *term;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->kind)
	{
		case SKX_NODE_ALL:
			return skx_query_all(o->seg);
		case SKX_NODE_TERM:
			if (node->prefix)
				return skx_query_open_prefix(o->seg, node);
			term = &o->terms[node->slot];
			return skx_query_open_term(o->seg, term, node->labels,
									   SKX_CURSOR_PROBE);
		case SKX_NODE_AND:
			return skx_query_open_and(o, node);
		case SKX_NODE_OR:
			return skx_query_open_or(o, node);
		case SKX_NODE_NOT:
			return skx_query_open_not(o, node);
		case SKX_NODE_PHRASE:
			return skx_query_open_phrase(o, node);
		default:
			return skx_query_none(o->seg);
	}
}

/*
 * Gives the lists their roles: those of what generates (`leads`) are traversed,
 * others are probed for `candidates` documents at most.
 */
static void
skx_query_roles(SkxIter *it, SkxCursorRole role, bool leads,
				uint32 candidates, SkxCursorShare *share)
{
	int			before = share->leads;
	bool		windows;
	int			i;

	check_stack_depth();
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			if (leads)
				skx_cursor_lead(it->list, role, share);
			else
				skx_cursor_probe(it->list, candidates);
			break;
		case SKX_NODE_AND:
			windows = skx_query_is_dense_and(it);
			for (i = 0; i < it->nchildren; i++)
				skx_query_roles(it->children[i], role, leads &&
								(windows ? it->children[i]->cheap : i == 0),
								Min(candidates, it->cost), share);
			break;
		case SKX_NODE_OR:
			for (i = 0; i < it->nchildren; i++)
				skx_query_roles(it->children[i], role, leads, candidates,
								share);
			if (it->nchildren > SKX_GATHER_CLAUSES)
				share->leads = Min(share->leads, before + 1);
			break;
		case SKX_NODE_NOT:
		case SKX_NODE_PHRASE:
			skx_query_roles(it->children[0], role, leads, candidates, share);
			break;
		default:
			break;
	}
}

SkxIter *
skx_query_open(const SkxOpening *o)
{
	SkxIter    *it = skx_query_open_node(o, o->query->root);

	it->share.positions = !it->cheap;
	skx_query_roles(it, o->wants_all ? SKX_CURSOR_LEAD : SKX_CURSOR_LEAD_FIRST,
					true, it->cost, &it->share);
	return it;
}
