/*
 * query_ahead.c
 *	  Asks for what a query will read first, and tells its lists how they will
 *	  be read.
 *
 * Once the lexemes are looked up it is known where their lists begin, and
 * which of them matter: a conjunction without one of its lexemes reads
 * nothing.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "format/format_postings.h"
#include "miscadmin.h"
#include "query/query_internal.h"

/* Lists asked for before the first one is opened, at most. */
#define SKX_AHEAD_LISTS		256

/* Where positions are read, this part of what may be under way is lists. */
#define SKX_AHEAD_POSITIONS	4

void
skx_query_ask_terms(SkxSegment *seg, const SkxTerm *terms, int n)
{
	uint32		pages[SKX_AHEAD_LISTS];
	int			k = 0;
	int			i;

	if (seg->ahead == 0)
		return;
	for (i = 0; i < n && k < SKX_AHEAD_LISTS; i++)
		k += skx_segment_term_page(&terms[i], &pages[k]);
	skx_segment_ask(seg, SKX_SEGMENT_POSTINGS, pages, k, 2);
}

/*
 * Of a list of two nodes, most of which are short ones that lie across the
 * border of two blocks, so many documents sought will hardly leave out one.
 */
#define SKX_AHEAD_BOTH		8

/* Pages that a query asks for, the first of them all. */
typedef struct SkxFirst
{
	const SkxOpening *o;
	int			n;
	uint32		pages[SKX_AHEAD_LISTS + 1];
} SkxFirst;

static void
skx_query_first_pages(SkxFirst *first, const SkxTerm *term, uint32 candidates)
{
	uint32		unit = first->o->seg->planes[SKX_SEGMENT_POSTINGS].unit;
	uint32	   *page = &first->pages[first->n];

	if (first->n >= SKX_AHEAD_LISTS || !skx_segment_term_page(term, page))
		return;
	first->n++;
	if ((term->flags & SKX_TERM_PLACE) == SKX_TERM_LONG &&
		term->list.nnodes == 2 && first->o->all &&
		candidates >= SKX_AHEAD_BOTH)
		first->pages[first->n++] = (*page / unit + 1) * unit;
}

/* How many documents a conjunction can have, as its lexemes tell. */
static uint32
skx_query_first_candidates(const SkxFirst *first, const SkxQueryNode *node,
						   uint32 candidates)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		if (child->kind == SKX_NODE_TERM && !child->prefix)
			candidates = Min(candidates, first->o->terms[child->slot].df);
	}
	return candidates;
}

/*
 * Collects the pages of a subtree that is asked about `candidates` documents at
 * most; takes them back and returns false when it cannot match.
 */
static bool
skx_query_first(SkxFirst *first, const SkxQueryNode *node, uint32 candidates)
{
	int			before = first->n;
	const SkxTerm *term;
	bool		any = false;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (node->kind)
	{
		case SKX_NODE_TERM:
			if (node->prefix)
				return true;
			term = &first->o->terms[node->slot];
			if (!skx_query_has_term(term, node->weights))
				return false;
			skx_query_first_pages(first, term, candidates);
			return true;
		case SKX_NODE_OR:
			for (i = 0; i < node->nchildren; i++)
				any |= skx_query_first(first, node->children[i], candidates);
			return any;
		case SKX_NODE_NOT:
			(void) skx_query_first(first, node->children[0], candidates);
			return true;
		case SKX_NODE_AND:
		case SKX_NODE_PHRASE:
			candidates = skx_query_first_candidates(first, node, candidates);
			for (i = 0; i < node->nchildren; i++)
			{
				if (skx_query_first(first, node->children[i], candidates))
					continue;
				first->n = before;
				return false;
			}
			return true;
		case SKX_NODE_NONE:
			return false;
		default:
			return true;
	}
}

void
skx_query_ahead_first(const SkxOpening *o, bool alone)
{
	SkxFirst	first;

	first.o = o;
	first.n = 0;
	if (skx_query_first(&first, o->query->root, o->seg->header.ndocs))
		skx_segment_ask(o->seg, SKX_SEGMENT_POSTINGS, first.pages, first.n,
						alone ? 2 : 1);
}

/*
 * Asks for the table of a list's nodes when it will have to skip some for
 * `candidates` documents at most.
 */
static void
skx_query_ahead_table(SkxList *list, uint32 candidates)
{
	const SkxListAddress *address = &list->term.list;
	uint32		n = (address->nnodes - 1) / SKX_NODE_TABLE_MAX + 1;
	uint32		pages[SKX_AHEAD_MAX];
	uint32		i;

	if (!address->has_table || candidates >= address->nnodes)
		return;
	n = Min(n, SKX_AHEAD_MAX);
	for (i = 0; i < n; i++)
		pages[i] = address->table_page + i;
	skx_skiplist_ask(list->seg->file,
					 &list->seg->planes[SKX_SEGMENT_POSTINGS], pages, n);
}

/*
 * Long lists that are gone through; with `ahead`, each may have that many
 * nodes under way.  `running`: the node generates; else it filters what has
 * `candidates` documents.
 */
static int
skx_query_roles(SkxIter *it, bool running, uint32 candidates, int ahead,
				bool all)
{
	bool		seek;
	int			n = 0;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	switch (it->kind)
	{
		case SKX_NODE_TERM:
			if (!it->list->is_long)
				return 0;
			it->list->cursor.running = running && all;
			if (ahead == 0 && !running)
				skx_query_ahead_table(it->list, candidates);
			if (ahead > 0 && running)
				it->list->cursor.ahead = ahead;
			return running;
		case SKX_NODE_AND:
			seek = !skx_query_is_dense_and(it);
			for (i = 0; i < it->nchildren; i++)
			{
				bool		sought = seek ? i > 0 : !it->children[i]->cheap;

				n += skx_query_roles(it->children[i], running && !sought,
									 Min(candidates, it->cost), ahead, all);
			}
			return n;
		case SKX_NODE_OR:
			for (i = 0; i < it->nchildren; i++)
				n += skx_query_roles(it->children[i], running, candidates,
									 ahead, all);
			/* one clause after the other */
			return it->nchildren > SKX_GATHER_CLAUSES ? Min(n, 1) : n;
		case SKX_NODE_NOT:
		case SKX_NODE_PHRASE:
			return skx_query_roles(it->children[0], running, candidates,
								   ahead, all);
		default:
			return 0;
	}
}

void
skx_query_ahead_roles(SkxIter *it, bool all)
{
	int			n = skx_query_roles(it, true, it->cost, 0, all);
	int			ahead = it->seg->ahead;

	/* A node of postings lasts for many pages of positions: let these by. */
	if (!it->cheap)
		ahead /= SKX_AHEAD_POSITIONS;
	if (n > 0)
		(void) skx_query_roles(it, true, it->cost, Max(1, ahead / n), all);
}
