/*
 * planner_unknown.c
 *	  Ranked searches for words that are not known when they are planned.
 *
 * Of `document @@ $1` the server expects one row in a thousand to match.  By
 * that it would rather fetch the rows that meet all conditions, and sort them by
 * distance, than search for the best, and takes a plan for all parameters for as
 * good as one for these.  Frequent words find very many rows for that, while a
 * search takes much the same time for any words.  So what fetches rows is
 * charged for as many as frequent words find.
 */
#include "postgres.h"

#include "cost/cost.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "planner/planner_internal.h"

/*
 * What frequent words find.  Of a million passages any of two to four words, drawn
 * by how often they are used, were in 28 % on average; a search took 117, 60 and
 * 47 us beside a condition that 1,032, 100 and 13 rows meet, and to fetch what
 * matches and sort it 190, 31 and 17: with a tenth, that is what is chosen.
 */
#define SKX_PLANNER_COMMON		0.1

/* The query of `document @@ query`; NULL: it is not known. */
static const Const *
skx_planner_query_of(PlannerInfo *root, const IndexClause *clause)
{
	const RestrictInfo *qual = linitial(clause->indexquals);

	return skx_cost_planned_value(root, get_rightop(qual->clause));
}

/* Is it `@@` with a query that only the execution will know? */
static bool
skx_planner_is_unknown(PlannerInfo *root, const RelOptInfo *rel,
					   RestrictInfo *rinfo)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		IndexClause *clause;

		if (!skx_planner_is_ours(index) || index->indpred != NIL)
			continue;
		clause = skx_planner_matching_clause(root, index, rinfo);
		if (clause != NULL && clause->indexcol == 0 && !clause->lossy &&
			IsA(rinfo->clause, OpExpr))
			return skx_planner_query_of(root, clause) == NULL;
	}
	return false;
}

/*
 * Rows that frequent words find beyond the limit, which a search fetches, too;
 * 0: all queries are known.
 */
static double
skx_planner_more_rows(PlannerInfo *root, const RelOptInfo *rel)
{
	List	   *known = NIL;
	double		rows;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (!skx_planner_is_unknown(root, rel, lfirst(lc)))
			known = lappend(known, lfirst(lc));
	}
	if (list_length(known) == list_length(rel->baserestrictinfo))
		return 0;
	rows = SKX_PLANNER_COMMON * rel->tuples *
		clauselist_selectivity(root, known, 0, JOIN_INNER, NULL);
	return Max(rows - Max(root->limit_tuples, 1), 0);
}

/* A scan that returns what its conditions find, in no order. */
static bool
skx_planner_is_unordered(const Path *path)
{
	if (path->pathkeys != NIL || path->param_info != NULL)
		return false;
	return IsA(path, BitmapHeapPath) ||
		(IsA(path, IndexPath) &&
		 skx_planner_is_ours(((const IndexPath *) path)->indexinfo));
}

static void
skx_planner_charge_rows(List *paths, double rows)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		run = path->total_cost - path->startup_cost;

		if (skx_planner_is_unordered(path))
			path->total_cost += run / path->rows * rows;
	}
}

void
skx_planner_charge_unknown(PlannerInfo *root, RelOptInfo *rel)
{
	List	   *paths;
	List	   *partial;
	double		rows;

	/* all rows are to be sorted, or joined first */
	if (root->tuple_fraction <= 0 || rel->reloptkind != RELOPT_BASEREL ||
		!bms_equal(root->all_baserels, rel->relids))
		return;
	rows = skx_planner_more_rows(root, rel);
	if (rows <= 0)
		return;
	skx_planner_take_paths(rel, &paths, &partial);
	skx_planner_charge_rows(paths, rows);
	skx_planner_charge_rows(partial, rows);
	skx_planner_offer_paths(rel, paths, partial);
}
