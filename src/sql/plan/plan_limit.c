/*
 * plan_limit.c
 *	  How a LIMIT reaches a scan: how many rows its plan asks for.
 *
 * A plan gets the expressions of LIMIT and OFFSET if these count the rows of
 * its scan.  They are evaluated when the scan begins (skx_plan_node_limit()).
 * The scan then asks for more rows, as conditions that the index does not
 * answer discard some.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"

/* The filter is taken to leave at least one of so many rows. */
#define SKX_FILTER_ROWS_PER_PASS_MAX	20

/*
 * Returns true if LIMIT counts the rows of this scan, or of it and the
 * siblings that it is merged with. root->limit_tuples does not tell that,
 * since it is set for constant limits only.
 */
static bool
skx_plan_limit_applies(PlannerInfo *root, RelOptInfo *rel, CustomPath *path)
{
	Query	   *query = root->parse;
	Relids		relids = rel->top_parent_relids != NULL ?
		rel->top_parent_relids : rel->relids;

	return query->limitCount != NULL &&
		query->commandType == CMD_SELECT &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->distinctClause == NIL && query->setOperations == NULL &&
		!query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		!root->hasHavingQual &&
		bms_equal(root->all_baserels, relids) &&
		root->sort_pathkeys != NIL && path->path.pathkeys != NIL &&
		linitial(root->sort_pathkeys) == linitial(path->path.pathkeys);
}

/*
 * Returns true if EXISTS, IN or their negations look for one row in the table.
 */
static bool
skx_plan_is_in_exists(PlannerInfo *root, RelOptInfo *rel)
{
	Relids		relids = rel->top_parent_relids != NULL ?
		rel->top_parent_relids : rel->relids;
	ListCell   *lc;

	foreach(lc, root->join_info_list)
	{
		SpecialJoinInfo *join = lfirst(lc);

		if ((join->jointype == JOIN_SEMI || join->jointype == JOIN_ANTI) &&
			bms_overlap(relids, join->syn_righthand))
			return true;
	}
	return false;
}

/*
 * Returns the relation that the query is in the one around it; NULL if it is
 * no part of FROM.
 */
static RelOptInfo *
skx_plan_rel_of_subquery(PlannerInfo *root)
{
	PlannerInfo *parent = root->parent_root;
	int			i;

	for (i = 1; i < parent->simple_rel_array_size; i++)
		if (parent->simple_rel_array[i] != NULL &&
			parent->simple_rel_array[i]->subroot == root)
			return parent->simple_rel_array[i];
	return NULL;
}

/*
 * Sublinks are evaluated as a whole if they want all rows.  The reader of a
 * CTE is not known, so its result is false.  A query whose CTEs are all
 * planned has as many plans of CTEs as CTEs; so the query in question is a
 * sublink.
 */
bool
skx_plan_is_unlimited(PlannerInfo *root, RelOptInfo *rel)
{
	for (;;)
	{
		PlannerInfo *parent = root->parent_root;

		if (root->tuple_fraction != 0 || root->parse->hasWindowFuncs ||
			skx_plan_is_in_exists(root, rel))
			return false;
		if (parent == NULL)
			return true;
		rel = skx_plan_rel_of_subquery(root);
		if (rel == NULL)
			return list_length(parent->cte_plan_ids) ==
				list_length(parent->parse->cteList);
		root = parent;
	}
}

void
skx_plan_fill_limit(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					SkxRankedPlanParts *planned)
{
	Query	   *query = root->parse;

	if (!skx_plan_limit_applies(root, rel, path) ||
		!skx_plan_is_simple(query->limitCount) ||
		!skx_plan_is_simple(query->limitOffset))
		return;
	planned->count = query->limitCount;
	planned->offset = query->limitOffset;
	/* one more row shows that a tie has ended */
	if (query->limitOption == LIMIT_OPTION_WITH_TIES ||
		!pathkeys_contained_in(root->sort_pathkeys, path->path.pathkeys))
		planned->extra = 1;
}

/*
 * Returns the conditions as RestrictInfos where the planner has these, since
 * they keep their selectivity.
 */
static List *
skx_plan_restrictions(const RelOptInfo *rel, List *clauses)
{
	List	   *result = NIL;
	ListCell   *lc;
	ListCell   *kept;

	foreach(lc, clauses)
	{
		void	   *clause = lfirst(lc);

		foreach(kept, rel->baserestrictinfo)
		{
			if (lfirst_node(RestrictInfo, kept)->clause == lfirst(lc))
				clause = lfirst(kept);
		}
		result = lappend(result, clause);
	}
	return result;
}

/* Returns what the index tests of the conditions in `rest`. */
static List *
skx_plan_predicate_implied(const IndexPath *path, const List *rest)
{
	List	   *implied = NIL;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (clause->lossy && list_member_ptr(rest, clause->rinfo->clause))
			implied = list_concat(implied, clause->indexquals);
	}
	return implied;
}

/*
 * Returns the conditions on rows that discard some.  A disjunction that the
 * index was asked for hardly does.
 */
static List *
skx_plan_discarding_quals(const IndexPath *path, List *conditions)
{
	List	   *discarding = list_copy(conditions);
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		if (skx_cost_disjunction(path->indexinfo, clause) != NULL)
			discarding = list_delete_ptr(discarding, clause->rinfo->clause);
	}
	return discarding;
}

/*
 * The result has a margin of a quarter.  If it is far too high, the search
 * looks for too many rows.  If it is too low, the search is repeated for 16
 * times as many rows.  SKX_FILTER_ROWS_PER_PASS_MAX bounds the former.
 */
int
skx_plan_percent(PlannerInfo *root, RelOptInfo *rel, const IndexPath *path,
				 const SkxRankedPlanParts *planned)
{
	List	   *rest = skx_plan_discarding_quals(path,
												 planned->other_conditions);
	Selectivity implied;
	Selectivity kept;

	if (rest == NIL)
		return 100;
	kept = clauselist_selectivity(root, skx_plan_restrictions(rel, rest),
								  rel->relid, JOIN_INNER, NULL);
	implied = clauselist_selectivity(root,
									 skx_plan_predicate_implied(path, rest),
									 rel->relid, JOIN_INNER, NULL);
	kept = Min(kept / Max(implied, 1e-9), 1);
	return (int) ceil(125.0 / Max(kept, 1.0 / SKX_FILTER_ROWS_PER_PASS_MAX));
}
