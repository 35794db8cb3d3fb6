/*
 * query_ahead.c
 *	  Prefetches what a query reads first.
 *
 * Once the lexemes are looked up, it is known where their lists begin, and
 * which of the lists matter.  A conjunction that lacks one of its lexemes
 * reads nothing.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_internal.h"

/*
 * Returns an upper bound of the number of documents of a conjunction, as the
 * df of its lexemes tells.
 */
static uint32
skx_query_max_candidates(const SkxOpening *o, const SkxQueryNode *node,
						 uint32 candidates)
{
	int			i;

	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		if (child->kind == SKX_NODE_TERM && !child->prefix)
			candidates = Min(candidates, o->terms[child->slot].df);
	}
	return candidates;
}

/*
 * Collects the lists of a subtree that filters at most `candidates` documents.
 * If the subtree cannot match, takes its lists back and returns false.
 */
static bool
skx_query_prefetch_subtree(const SkxOpening *o, SkxCursorFirstPages *starts,
						   const SkxQueryNode *node, uint32 candidates)
{
	int			before = starts->n;
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
			term = &o->terms[node->slot];
			if (!skx_query_has_term(term, node->labels))
				return false;
			skx_cursor_first_pages_add(starts, term,
									   o->wants_all ? candidates : 0);
			return true;
		case SKX_NODE_OR:
			for (i = 0; i < node->nchildren; i++)
				any |= skx_query_prefetch_subtree(o, starts, node->children[i],
												  candidates);
			return any;
		case SKX_NODE_NOT:
			(void) skx_query_prefetch_subtree(o, starts, node->children[0],
											  candidates);
			return true;
		case SKX_NODE_AND:
		case SKX_NODE_PHRASE:
			candidates = skx_query_max_candidates(o, node, candidates);
			for (i = 0; i < node->nchildren; i++)
			{
				if (skx_query_prefetch_subtree(o, starts, node->children[i],
											   candidates))
					continue;
				starts->n = before;
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
skx_query_prefetch_first(const SkxOpening *o, bool alone)
{
	SkxCursorFirstPages starts;

	if (skx_cursor_first_pages_begin(&starts, o->seg) &&
		skx_query_prefetch_subtree(o, &starts, o->query->root,
								   o->seg->header.ndocs))
		skx_cursor_first_pages_prefetch(&starts, alone ? 2 : 1);
}
