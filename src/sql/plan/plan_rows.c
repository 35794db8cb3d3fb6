/*
 * plan_rows.c
 *	  The estimated number of matching rows, from the index's document
 *	  frequencies.
 *
 * ANALYZE knows only the words that are frequent in a sample; all other words,
 * and phrases, get one default.  An index knows the document frequency of each
 * word.  The server estimates the rows of a table before it calls the first
 * hook, and makes paths with that number.  It hardly affects the costs of
 * these paths, but it determines what follows: the share of a path that a
 * LIMIT takes, and joins.  So the estimate is corrected in the existing paths,
 * by the same factor in all of them, and the conditions keep their corrected
 * selectivity.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"
#include "utils/lsyscache.h"

bool
skx_plan_is_skipidx(const IndexOptInfo *index)
{
	return index->amcanorderbyop && index->amhasgettuple &&
		(void *) index->amcostestimate == (void *) skxcostestimate;
}

/*
 * Finds out what an index knows of a condition.  Returns false if the index
 * does not have it.  *share becomes the share of the table's rows that meet
 * it; below 0 if that is not known.
 */
typedef bool (*SkxPlanSelectivity) (PlannerInfo *root, IndexOptInfo *index,
									RestrictInfo *rinfo, double *share);

/*
 * Returns the share of rows that meet a condition whose words hide its columns
 * from the server.  It is estimated from the reworded condition.  Returns a
 * value below 0 for other conditions.
 */
static double
skx_plan_rewritten_selectivity(PlannerInfo *root, IndexOptInfo *index,
							   RestrictInfo *rinfo)
{
	RestrictInfo *other = IsA(rinfo->clause, BooleanTest) ||
		is_orclause(rinfo->clause) ? NULL :
		skx_plan_rewrite_condition(root, index, rinfo);

	return other == NULL ? -1 :
		clause_selectivity(root, (Node *) other, 0, JOIN_INNER, NULL);
}

static bool
skx_plan_clause_selectivity(PlannerInfo *root, IndexOptInfo *index,
							RestrictInfo *rinfo, double *share)
{
	IndexClause *clause = skx_plan_matching_clause(root, index, rinfo);

	if (clause == NULL)
		return false;
	if (clause->lossy || list_length(clause->indexquals) > 1 ||
		skx_cost_disjunction(index, clause) != NULL)
	{
		*share = skx_plan_rewritten_selectivity(root, index, rinfo);
		return true;
	}
	*share = skx_am_cost_selectivity(root, index, linitial(clause->indexquals),
									 clause->indexcol, 0);
	return true;
}

/*
 * Does so for a condition that bounds the distance.  If the bound is known,
 * the best postings of the words tell how many rows can have such a distance.
 */
static bool
skx_plan_bound_selectivity(PlannerInfo *root, IndexOptInfo *index,
						   RestrictInfo *rinfo, double *share)
{
	Node	   *clause = (Node *) rinfo->clause;
	OpExpr	   *distance = skx_plan_bounded_distance(index, clause);

	if (distance == NULL || !skx_plan_needs_score(root, clause, distance))
		return false;
	*share = skx_am_cost_selectivity(root, index, (Node *) distance, 0,
									 skx_plan_least_score(root, clause,
														  distance));
	if (*share >= 0)
		*share = Min(*share, clause_selectivity(root, (Node *) rinfo, 0,
												JOIN_INNER, NULL));
	return true;
}

/*
 * Corrects the selectivity of a condition by the first index of all rows that
 * has the condition.  Returns false if there is none, or if that does not know
 * the selectivity.
 */
static bool
skx_plan_correct_clause(PlannerInfo *root, RelOptInfo *rel,
						RestrictInfo *rinfo, SkxPlanSelectivity ask)
{
	ListCell   *lc;

	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		double		share;

		if (!skx_plan_is_skipidx(index) || index->indpred != NIL ||
			!ask(root, index, rinfo, &share))
			continue;
		if (share < 0)
			return false;
		rinfo->norm_selec = share;
		return true;
	}
	return false;
}

/*
 * Maximum number of arms of a disjunction that an index is asked about, and of
 * conditions in an arm.
 */
#define SKX_SELECTIVITY_ARMS_MAX		16

/*
 * Corrects the conditions in the arms of a disjunction that no index answers
 * as a whole.  The server then computes the selectivity of the disjunction
 * again.  Returns false if an index knows none of them.
 */
static bool
skx_plan_correct_arms(PlannerInfo *root, RelOptInfo *rel,
					  RestrictInfo *rinfo)
{
	List	   *arms = rinfo->orclause == NULL ? NIL :
		((BoolExpr *) rinfo->orclause)->args;
	bool		known = false;
	ListCell   *lc;
	ListCell   *part;

	if (list_length(arms) > SKX_SELECTIVITY_ARMS_MAX)
		return false;
	foreach(lc, arms)
	{
		List	   *parts = is_andclause(lfirst(lc)) ?
			((BoolExpr *) lfirst(lc))->args : list_make1(lfirst(lc));

		if (list_length(parts) > SKX_SELECTIVITY_ARMS_MAX)
			return false;
		foreach(part, parts)
		{
			if (IsA(lfirst(part), RestrictInfo))
				known |= skx_plan_correct_clause(root, rel, lfirst(part),
												 skx_plan_clause_selectivity);
		}
	}
	if (known)
		rinfo->norm_selec = rinfo->outer_selec = -1;
	return known;
}

static void
skx_plan_scale_rows(List *paths, double ratio)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		((Path *) lfirst(lc))->rows =
			clamp_row_est(((Path *) lfirst(lc))->rows * ratio);
	}
}

/*
 * Sets the rows of a table to the sum of its children's, which were corrected
 * before.
 */
static void
skx_plan_sum_rows(PlannerInfo *root, RelOptInfo *rel)
{
	double		rows = 0;
	ListCell   *lc;

	foreach(lc, root->append_rel_list)
	{
		AppendRelInfo *part = lfirst(lc);
		RelOptInfo *child = root->simple_rel_array[part->child_relid];

		if (part->parent_relid == rel->relid && child != NULL &&
			!IS_DUMMY_REL(child))
			rows += child->rows;
	}
	if (rows > 0)
		rel->rows = clamp_row_est(rows);
}

void
skx_plan_correct_rows(PlannerInfo *root, RelOptInfo *rel,
					  RangeTblEntry *rte)
{
	bool		known = false;
	double		rows;
	double		ratio;
	ListCell   *lc;

	if (rte->inh)
	{
		skx_plan_sum_rows(root, rel);
		return;
	}
	if (rte->tablesample != NULL)
		return;
	foreach(lc, rel->baserestrictinfo)
	{
		known |= skx_plan_correct_clause(root, rel, lfirst(lc),
										 skx_plan_clause_selectivity) ||
			skx_plan_correct_clause(root, rel, lfirst(lc),
									skx_plan_bound_selectivity) ||
			skx_plan_correct_arms(root, rel, lfirst(lc));
	}
	if (!known)
		return;
	rows = clamp_row_est(rel->tuples *
						 clauselist_selectivity(root, rel->baserestrictinfo, 0,
												JOIN_INNER, NULL));
	ratio = rows / Max(rel->rows, 1);
	rel->rows = rows;
	skx_plan_scale_rows(rel->pathlist, ratio);
	skx_plan_scale_rows(rel->partial_pathlist, ratio);
	foreach(lc, rel->ppilist)
	{
		ParamPathInfo *ppi = lfirst(lc);

		ppi->ppi_rows = clamp_row_est(ppi->ppi_rows * ratio);
	}
}
