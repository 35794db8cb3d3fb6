/*
 * plan_plan.c
 *	  The plan of the custom scan of ranked rows.
 *
 * Its child is the Index Scan, reduced to plain columns.  The scan tuple is
 * these columns and the distance.  The distance stands in custom_scan_tlist as
 * the very expression that the query has.  So the server replaces that
 * expression by a column, wherever it is in the output.
 */
#include "postgres.h"

#include <math.h>

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"

/* The filter is taken to leave at least one of so many rows. */
#define SKX_FILTER_ROWS_PER_PASS_MAX	20

static Plan *skx_plan_make_ranked_plan(PlannerInfo *root, RelOptInfo *rel,
									   CustomPath *path, List *tlist,
									   List *clauses,
									   List *custom_plans);

const		CustomPathMethods skx_plan_path_methods = {
	.CustomName = "Skipidx Scan",
	.PlanCustomPath = skx_plan_make_ranked_plan
};

static OpExpr *
skx_plan_distance_of(const IndexScan *child)
{
	return castNode(OpExpr, linitial(child->indexorderbyorig));
}

/*
 * Returns the condition whose query the scan is told; NULL if there is none.
 * One with the ranking query is preferred, since the scan can then end with
 * the last row that has a score.  Of a ranking as a value no query is known.
 */
static Node *
skx_plan_scan_filter(List *quals, OpExpr *distance, Oid family)
{
	Node	   *told = NULL;
	ListCell   *lc;

	if (skx_score_is_by_value(distance->opno, family))
		return NULL;
	foreach(lc, quals)
	{
		Node	   *query = skx_plan_matched_query(lfirst(lc),
												   linitial(distance->args),
												   family);

		if (query == NULL)
			continue;
		if (skx_plan_ref_ranks_by(query, distance, family))
			return lfirst(lc);
		if (told == NULL)
			told = lfirst(lc);
	}
	return told;
}

/*
 * Takes all conditions from the child and returns them, in their order, for the
 * custom scan, if one of them can end it.  That is a condition that bounds the distance, or
 * `document @@ query`.  The latter is left to rows if other conditions have to
 * be tested before it.
 */
static List *
skx_plan_take_quals(IndexScan *child, Oid family, SkxRankedPlanParts *planned)
{
	OpExpr	   *distance = skx_plan_distance_of(child);
	List	   *quals = child->scan.plan.qual;
	Node	   *told = skx_plan_scan_filter(quals, distance, family);
	ListCell   *lc;

	foreach(lc, quals)
	{
		Node	   *clause = lfirst(lc);

		if (clause == told)
			planned->query = skx_plan_matched_query(clause,
													linitial(distance->args),
													family);
		else if (skx_plan_is_bound(clause, distance))
			planned->bounds = lappend(planned->bounds, clause);
		else
			planned->other_conditions = lappend(planned->other_conditions,
												clause);
	}
	if (planned->query == NULL && planned->bounds == NIL)
		return NIL;
	child->scan.plan.qual = NIL;
	return quals;
}

void
skx_plan_reduce_target(IndexScan *child, List *exprs)
{
	List	   *columns = NIL;
	List	   *targets = NIL;
	ListCell   *lc;

	exprs = list_concat_copy(child->scan.plan.targetlist, exprs);
	foreach(lc, pull_var_clause((Node *) exprs, PVC_RECURSE_PLACEHOLDERS))
	{
		Var		   *var = lfirst(lc);

		if (var->varno == child->scan.scanrelid && var->varlevelsup == 0)
			columns = list_append_unique(columns, var);
	}
	foreach(lc, columns)
	{
		targets = lappend(targets,
						  makeTargetEntry(lfirst(lc),
										  foreach_current_index(lc) + 1,
										  NULL, false));
	}
	child->scan.plan.targetlist = targets;
}

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
 * Returns true if nothing tells that fewer than all rows will be fetched.
 * Signs of that are LIMIT, of any query around, a cursor, a search for one
 * row, and window functions, which may end when they have counted enough.
 *
 * Sublinks are evaluated as a whole if they want all rows.  The reader of a
 * CTE is not known, so its result is false.  A query whose CTEs are all
 * planned has as many plans of CTEs as CTEs; so the query in question is a
 * sublink.
 */
static bool
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

static Plan *
skx_plan_make_ranked_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
						  List *tlist, List *clauses, List *custom_plans)
{
	IndexPath  *index = castNode(IndexPath, linitial(path->custom_paths));
	IndexScan  *child = skx_plan_index_scan_child(linitial(custom_plans));
	OpExpr	   *distance = skx_plan_distance_of(child);
	SkxRankedPlanParts planned = {0};
	CustomScan *scan;
	List	   *quals;
	List	   *exprs;

	skx_plan_fill_limit(root, rel, path, &planned);
	quals = skx_plan_take_quals(child, index->indexinfo->opfamily[0],
								&planned);
	skx_plan_reduce_target(child, list_concat_copy(distance->args, quals));
	exprs = lappend(get_tlist_exprs(child->scan.plan.targetlist, true),
					distance);
	scan = skx_plan_custom_scan(path, rel->relid, tlist, list_make1(child),
								exprs, &skx_plan_ranked.scan);
	scan->scan.plan.qual = quals;
	scan->custom_exprs = list_make5(planned.count, planned.offset,
									linitial(distance->args),
									lsecond(distance->args), planned.query);
	scan->custom_exprs = lappend(scan->custom_exprs, planned.bounds);
	scan->custom_exprs = copyObject(scan->custom_exprs);
	scan->custom_private =
		list_make5(skx_plan_expected_pages(skx_cost_planned_pages(root, index, planned.count != NULL)), list_make1_oid(get_opcode(distance->opno)), makeInteger(planned.extra), makeInteger(skx_plan_percent(root, rel, index, &planned)), makeInteger(skx_plan_is_unlimited(root, rel)));
	scan->custom_private = lappend(scan->custom_private,
								   makeInteger(skx_cost_first_rows(root, path->path.pathkeys)));
	return (Plan *) scan;
}
