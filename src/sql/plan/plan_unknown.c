/*
 * plan_unknown.c
 *	  Ranked searches, and groups, that may have more rows than the planner
 *	  expects.
 *
 * Fetching all rows that match, and sorting them by distance, takes time for
 * each row.  A search takes much the same time for any number of rows.  So the
 * former is charged for the mean of the numbers that an estimate stands for.
 *
 * For `document @@ $1` the server expects one row in a thousand to match.  By
 * that it would rather sort, and takes a plan for all parameters for as good
 * as one for these.  There the mean is what frequent words find.  Words that
 * are known may be in far more documents together than each of them lets
 * expect, as those of a name are.  So it is with groups, which facets count
 * without going from row to row.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_reading.h"
#include "utils/spccache.h"

/*
 * Share of the rows that frequent words find.  Disjunctions of two to four
 * words, drawn by how often they are used, matched 28 % of a million passages
 * on average.  A search took 117, 60 and 47 us beside a condition that 1,032,
 * 100 and 13 rows meet.  Fetching what matches and sorting it took 190, 31 and
 * 17 us.  With a tenth, the faster way is chosen each time.
 */
#define SKX_UNKNOWN_COMMON_FRACTION		0.1

/*
 * Rows that may match a conjunction beyond the estimate, as a multiple of it.
 * Of 120 queries of two to four words of a passage, for which 2 to 9 rows in a
 * million were expected, half had a third of these.  All together had 3.1
 * times as many.  Where more are expected the multiple is less, but the search
 * is cheaper then.
 */
#define SKX_UNKNOWN_MISSED_FACTOR		2.0

/* Returns the query of `document @@ query`; NULL if it is not known. */
static const Const *
skx_plan_query_of(PlannerInfo *root, const IndexClause *clause)
{
	const RestrictInfo *qual = linitial(clause->indexquals);

	return skx_cost_planned_value(root, get_rightop(qual->clause));
}

/*
 * Returns what an index is asked for a condition with `@@`; NULL for other
 * conditions.
 */
static const IndexClause *
skx_plan_match_condition_of(PlannerInfo *root, const RelOptInfo *rel,
							RestrictInfo *rinfo)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		const IndexClause *clause;

		if (!skx_plan_is_skipidx(index) || index->indpred != NIL)
			continue;
		clause = skx_plan_matching_clause(root, index, rinfo);
		if (clause != NULL && clause->indexcol == 0 && !clause->lossy &&
			IsA(rinfo->clause, OpExpr))
			return clause;
	}
	return NULL;
}

/* Returns true if it is `@@` with a query that is known at execution only. */
static bool
skx_plan_is_unknown_query(PlannerInfo *root, const RelOptInfo *rel,
						  RestrictInfo *rinfo)
{
	const IndexClause *clause = skx_plan_match_condition_of(root, rel, rinfo);

	return clause != NULL && skx_plan_query_of(root, clause) == NULL;
}

/* Returns true if it is known that words of the query must all be there. */
static bool
skx_plan_is_conjunction(PlannerInfo *root, const IndexClause *clause)
{
	const Const *value = skx_plan_query_of(root, clause);
	TSQuery		query;

	if (value == NULL || value->constisnull)
		return false;
	query = DatumGetTSQuery(value->constvalue);
	return query->size > 1 && GETQUERY(query)->type == QI_OPR &&
		(GETQUERY(query)->qoperator.oper == OP_AND ||
		 GETQUERY(query)->qoperator.oper == OP_PHRASE);
}

/* Returns how many rows may match beyond the estimate, as a multiple of it. */
static double
skx_plan_missed_factor(PlannerInfo *root, const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		const IndexClause *clause = skx_plan_match_condition_of(root, rel,
																lfirst(lc));

		if (clause != NULL && skx_plan_is_conjunction(root, clause))
			return SKX_UNKNOWN_MISSED_FACTOR;
	}
	return 0;
}

static bool
skx_plan_has_param(Node *node, void *unused)
{
	if (node == NULL)
		return false;
	return IsA(node, Param) ||
		expression_tree_walker(node, skx_plan_has_param, unused);
}

/*
 * Returns the share of rows that the conditions on other columns leave.  Of
 * those with parameters the server knows a default each, and the values may go
 * together, so only the most selective one counts.
 */
static double
skx_plan_other_selectivity(PlannerInfo *root, List *conditions)
{
	List	   *known = NIL;
	double		least = 1;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		RestrictInfo *rinfo = lfirst(lc);

		if (skx_plan_has_param((Node *) rinfo->clause, NULL))
			least = Min(least, clause_selectivity(root, (Node *) rinfo, 0,
												  JOIN_INNER, NULL));
		else
			known = lappend(known, rinfo);
	}
	return least * clauselist_selectivity(root, known, 0, JOIN_INNER, NULL);
}

/*
 * Returns the number of rows that frequent words find beyond those of the
 * limit, which a search fetches, too.  Returns 0 if all queries are known.
 */
static double
skx_plan_extra_rows(PlannerInfo *root, const RelOptInfo *rel)
{
	List	   *others = NIL;
	double		rows;
	ListCell   *lc;

	foreach(lc, rel->baserestrictinfo)
	{
		if (!skx_plan_is_unknown_query(root, rel, lfirst(lc)))
			others = lappend(others, lfirst(lc));
	}
	if (list_length(others) == list_length(rel->baserestrictinfo))
		return 0;
	rows = SKX_UNKNOWN_COMMON_FRACTION * rel->tuples *
		skx_plan_other_selectivity(root, others);
	return Max(rows - Max(root->limit_tuples, 1), 0);
}

/*
 * Returns true if the path is a scan that returns what its conditions find, in
 * no order.
 */
static bool
skx_plan_is_unordered(const Path *path)
{
	if (path->pathkeys != NIL || path->param_info != NULL)
		return false;
	return IsA(path, BitmapHeapPath) ||
		(IsA(path, IndexPath) &&
		 skx_plan_is_skipidx(((const IndexPath *) path)->indexinfo));
}

/*
 * Returns true if a scan in no order may fetch more rows than expected, as
 * words are in more documents together.  If the index is asked for one word of
 * these, as where the others are prefixes, it is known how many have it.
 */
static bool
skx_plan_may_underestimate(PlannerInfo *root, const Path *path)
{
	ListCell   *lc;

	if (IsA(path, BitmapHeapPath))
		path = ((const BitmapHeapPath *) path)->bitmapqual;
	if (!IsA(path, IndexPath) ||
		!skx_plan_is_skipidx(((const IndexPath *) path)->indexinfo))
		return true;
	foreach(lc, ((const IndexPath *) path)->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);
		const RestrictInfo *qual = linitial(clause->indexquals);

		if (clause->indexcol == 0 && IsA(qual->clause, OpExpr) &&
			exprType(get_rightop(qual->clause)) == TSQUERYOID &&
			skx_plan_is_conjunction(root, clause))
			return true;
	}
	return false;
}

/*
 * Charges scans in no order for `rows` more rows, and for `missed` times those
 * that are expected.
 */
static void
skx_plan_charge_rows(PlannerInfo *root, List *paths, double rows,
					 double missed)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		Cost		run = path->total_cost - path->startup_cost;

		if (!skx_plan_is_unordered(path))
			continue;
		path->total_cost += run * rows / path->rows;
		if (missed > 0 && skx_plan_may_underestimate(root, path))
			path->total_cost += run * missed;
	}
}

bool
skx_plan_is_only_table(const PlannerInfo *root, const RelOptInfo *rel)
{
	return bms_equal(root->all_baserels, rel->reloptkind == RELOPT_BASEREL ?
					 rel->relids : rel->top_parent_relids);
}

/* ---- rows in memory ---- */

/* Returns what a search costs up to the limit, if there is one. */
static SkxReadingCost
skx_plan_search_reading(const PlannerInfo *root, const RelOptInfo *rel,
						const IndexPath *index)
{
	const Path *path = &index->path;
	double		share = root->limit_tuples <= 0 ? 1 :
		Min(root->limit_tuples / Max(path->rows, 1), 1);

	return skx_plan_scan_reading_cost(rel, index, 0, share);
}

/* Returns what a scan in no order pays for reading the table. */
static Cost
skx_plan_unordered_reading(const RelOptInfo *rel, Path *path)
{
	Selectivity share;
	Cost		finding;
	double		page;

	if (path->pathtype == T_SeqScan)
	{
		get_tablespace_page_costs(rel->reltablespace, NULL, &page);
		return page * rel->pages;
	}
	if (IsA(path, IndexPath))
	{
		finding = ((IndexPath *) path)->indextotalcost;
		share = ((IndexPath *) path)->indexselectivity;
	}
	else
		cost_bitmap_tree_node(((BitmapHeapPath *) path)->bitmapqual, &finding,
							  &share);
	return skx_plan_reading_part(rel, path->total_cost - finding, share);
}

/* Returns true if the path is a search by distance. */
static bool
skx_plan_is_ranked_search(const Path *path)
{
	return IsA(path, IndexPath) && path->param_info == NULL &&
		((const IndexPath *) path)->indexorderbys != NIL;
}

/*
 * Returns the search that costs least up to the limit, and sets *search to its
 * costs; NULL if there is none.
 */
static const IndexPath *
skx_plan_best_search(const PlannerInfo *root, const RelOptInfo *rel,
					 List *paths, SkxReadingCost *search)
{
	const IndexPath *found = NULL;
	ListCell   *lc;

	foreach(lc, paths)
	{
		SkxReadingCost one;

		if (!skx_plan_is_ranked_search(lfirst(lc)))
			continue;
		one = skx_plan_search_reading(root, rel, lfirst(lc));
		if (found != NULL && one.cost >= search->cost)
			continue;
		found = lfirst(lc);
		*search = one;
	}
	return found;
}

/*
 * Returns what it costs to fetch all rows by a path, compute distances, and
 * sort them.
 */
static SkxReadingCost
skx_plan_sorted_reading(const PlannerInfo *root, const RelOptInfo *rel,
						Path *path, Cost distance)
{
	double		kept = root->limit_tuples <= 0 ? path->rows :
		Min(root->limit_tuples, path->rows);
	SkxReadingCost sorted;

	sorted.reading = skx_plan_unordered_reading(rel, path);
	sorted.cost = path->total_cost + path->rows *
		(distance + 2 * cpu_operator_cost * log2(Max(kept, 2)));
	return sorted;
}

/*
 * Charges sorts and searches for pages that they do not save if the table is
 * in memory.
 *
 * Fetching and sorting all rows reads the table in its order.  So it seems to
 * cost less than a search for many rows or all, which knows their distances.
 * In memory it does not.  A search for a few rows reads less, and so seems to
 * cost less than fetching and sorting what a condition leaves.  In memory it
 * does not, if it goes through very many lists, as of a prefix.
 */
static void
skx_plan_charge_sorted(PlannerInfo *root, const RelOptInfo *rel,
					   List *paths)
{
	SkxReadingCost search = {0, 0};
	const IndexPath *found = skx_plan_best_search(root, rel, paths,
												  &search);
	QualCost	distance;
	Cost		charge = 0;
	ListCell   *lc;

	if (found == NULL)
		return;
	cost_qual_eval_node(&distance, linitial(found->indexorderbys), root);
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);
		SkxReadingCost sorted;

		if (!skx_plan_is_unordered(path) && path->pathtype != T_SeqScan)
			continue;
		sorted = skx_plan_sorted_reading(root, rel, path,
										 distance.per_tuple);
		path->total_cost += skx_plan_unsaved_charge(rel, &sorted, &search);
		if (path->pathtype != T_SeqScan)
			charge = Max(charge,
						 skx_plan_unsaved_charge(rel, &search, &sorted));
	}
	foreach(lc, paths)
	{
		Path	   *path = lfirst(lc);

		if (!skx_plan_is_ranked_search(path))
			continue;
		path->startup_cost += charge;
		path->total_cost += charge;
	}
}

void
skx_plan_charge_unknown(PlannerInfo *root, RelOptInfo *rel)
{
	bool		all = root->tuple_fraction <= 0;
	List	   *paths;
	List	   *partial;
	double		rows;
	double		missed;

	if (!skx_plan_is_only_table(root, rel))
		return;
	/* if `all` is true, all rows are sorted in any case */
	rows = all ? 0 : skx_plan_extra_rows(root, rel);
	missed = all || rows > 0 ? 0 : skx_plan_missed_factor(root, rel);
	skx_plan_detach_paths(rel, &paths, &partial);
	if (all || root->limit_tuples > 0)
		skx_plan_charge_sorted(root, rel, paths);
	skx_plan_charge_rows(root, paths, rows, missed);
	skx_plan_charge_rows(root, partial, rows, missed);
	skx_plan_offer_paths(rel, paths, partial);
}

void
skx_plan_charge_grouping(PlannerInfo *root, const RelOptInfo *rel,
						 RelOptInfo *output)
{
	double		factor = 1 + skx_plan_extra_rows(root, rel) / Max(rel->rows, 1);
	ListCell   *lc;

	foreach(lc, output->pathlist)
	{
		Path	   *path = lfirst(lc);

		path->startup_cost *= factor;
		path->total_cost *= factor;
	}
}
