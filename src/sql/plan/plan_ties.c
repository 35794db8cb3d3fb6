/*
 * plan_ties.c
 *	  Rows of equal distance in the order of their tids.
 *
 * A ranked scan returns them in that order; a sort returns them in any order.
 * If the plan changed between two pages of a result, rows would come twice or
 * never.  So a query on one table that is sorted by its distance alone gets
 * ctid as its second sort key.
 *
 * The scan knows the tid of a row's first version, a sort that of the visible
 * one.  These differ only for rows that were updated within their page.  That
 * is good enough for a key that the query does not have.  If the query has it,
 * rows are sorted by it.
 *
 * The key is added while the planner runs, since this library may not be
 * loaded when it begins.  It is added before the query's output is built, so
 * that all steps above the table's paths find ctid among their columns and
 * sort keys.  The planner reads these from PlannerInfo by then.  The Query
 * stays as it is, since other modules may read it after planning.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_class.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "parser/parse_clause.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"

/* The name of the column that is added, which no column of a query has. */
static const char *const skx_plan_tie_name = "(ctid of skipidx)";

/*
 * Returns true if the order of the query's result comes from its only table.
 */
static bool
skx_plan_sorts_table(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	Query	   *query = root->parse;

	return query->commandType == CMD_SELECT && !rte->inh &&
		(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW) &&
		rel->reloptkind == RELOPT_BASEREL &&
		bms_equal(root->all_baserels, rel->relids) &&
		query->groupClause == NIL && query->groupingSets == NIL &&
		query->distinctClause == NIL && query->setOperations == NULL &&
		!query->hasAggs && !query->hasWindowFuncs && !query->hasTargetSRFs &&
		!root->hasHavingQual &&
		query->limitOption != LIMIT_OPTION_WITH_TIES &&
		list_length(query->sortClause) == 1 &&
		list_length(root->sort_pathkeys) == 1 &&
		root->query_pathkeys == root->sort_pathkeys;
}

/*
 * Returns true if all paths can return ctid.  The existing ones share the list
 * of columns to which it is added.  Scans of an index alone have none, and of
 * paths of other modules it is not known.
 */
static bool
skx_plan_can_return_ctid(const List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		switch (((Path *) lfirst(lc))->pathtype)
		{
			case T_SeqScan:
			case T_SampleScan:
			case T_IndexScan:
			case T_BitmapHeapScan:
			case T_TidScan:
			case T_TidRangeScan:
				break;
			default:
				return false;
		}
	}
	return true;
}

void
skx_plan_add_ctid_key(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	SortGroupClause *clause;
	TargetEntry *target;
	List	   *pathkeys;
	Var		   *place;

	if (!skx_plan_sorts_table(root, rel, rte) ||
		!skx_plan_can_return_ctid(rel->pathlist) ||
		!skx_plan_can_return_ctid(rel->partial_pathlist))
		return;
	place = makeVar(rel->relid, SelfItemPointerAttributeNumber, TIDOID, -1,
					InvalidOid, 0);
	target = makeTargetEntry((Expr *) place,
							 list_length(root->processed_tlist) + 1,
							 pstrdup(skx_plan_tie_name), true);
	root->processed_tlist = lappend(list_copy(root->processed_tlist), target);
	clause = makeNode(SortGroupClause);
	clause->tleSortGroupRef = assignSortGroupRef(target,
												 root->processed_tlist);
	clause->eqop = TIDEqualOperator;
	clause->sortop = TIDLessOperator;
	clause->hashable = true;
	pathkeys = make_pathkeys_for_sortclauses(root, list_make1(clause),
											 root->processed_tlist);
	root->sort_pathkeys = list_concat_copy(root->sort_pathkeys, pathkeys);
	root->query_pathkeys = root->sort_pathkeys;
	add_new_column_to_pathtarget(rel->reltarget, (Expr *) copyObject(place));
	rel->attr_needed[SelfItemPointerAttributeNumber - rel->min_attr] =
		bms_add_member(rel->attr_needed[SelfItemPointerAttributeNumber -
										rel->min_attr], 0);
}

/* Returns true if the key after the distance was added here. */
static bool
skx_plan_has_ctid_tie(PlannerInfo *root)
{
	const TargetEntry *last;

	if (root->processed_tlist == NIL)
		return false;
	last = llast_node(TargetEntry, root->processed_tlist);
	return last->resjunk && last->resname != NULL &&
		strcmp(last->resname, skx_plan_tie_name) == 0;
}

/* Returns true if a sort key is the table's ctid, ascending. */
static bool
skx_plan_is_ctid_key(const PathKey *key, const RelOptInfo *rel)
{
	ListCell   *lc;

	if (!skx_compat_pathkey_ascends(key))
		return false;
	foreach(lc, key->pk_eclass->ec_members)
	{
		Var		   *var = (Var *) ((EquivalenceMember *) lfirst(lc))->em_expr;

		if (IsA(var, Var) && var->varno == rel->relid &&
			var->varattno == SelfItemPointerAttributeNumber)
			return true;
	}
	return false;
}

List *
skx_plan_ranked_order(PlannerInfo *root, const RelOptInfo *rel,
					  List *pathkeys)
{
	if (pathkeys != NIL && list_length(root->query_pathkeys) > 1 &&
		linitial(pathkeys) == linitial(root->query_pathkeys) &&
		skx_plan_has_ctid_tie(root) &&
		skx_plan_is_ctid_key(lsecond(root->query_pathkeys), rel))
		return list_copy_head(root->query_pathkeys, 2);
	return pathkeys;
}
