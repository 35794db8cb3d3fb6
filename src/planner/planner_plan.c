/*
 * planner_plan.c
 *	  The custom scan's plan.
 *
 * Its child is the Index Scan, reduced to plain columns.  The scan tuple is
 * these columns and the distance; as the distance stands in custom_scan_tlist
 * as the very expression that the query has, the server replaces the latter by
 * a column, wherever it is in the output.
 */
#include "postgres.h"

#include "am/am.h"
#include "compat/compat_planner.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "planner/planner_internal.h"
#include "utils/lsyscache.h"

static Plan *skx_planner_plan(PlannerInfo *root, RelOptInfo *rel,
							  CustomPath *path, List *tlist, List *clauses,
							  List *custom_plans);

const CustomPathMethods skx_planner_path_methods = {
	.CustomName = "Skipidx Scan",
	.PlanCustomPath = skx_planner_plan
};

/*
 * The Index Scan.  Where there are conditions without columns it is below a
 * Result that evaluates them; the custom scan gets the same.
 */
static IndexScan *
skx_planner_child(Plan *plan)
{
	if (IsA(plan, Result) && outerPlan(plan) != NULL)
		plan = outerPlan(plan);
	return castNode(IndexScan, plan);
}

/* Is it a value that can be computed at any time, without a row? */
static bool
skx_planner_is_simple(Node *expr)
{
	return expr == NULL ||
		(!contain_subplans(expr) && !contain_volatile_functions(expr) &&
		 !contain_var_clause(expr));
}

static OpExpr *
skx_planner_distance_of(const IndexScan *child)
{
	return castNode(OpExpr, linitial(child->indexorderbyorig));
}

/* The query of a condition `document @@ query`; NULL if it is none. */
static Node *
skx_planner_matched(Node *clause, Node *document, Oid family)
{
	OpExpr	   *op = (OpExpr *) clause;
	Node	   *left;
	Node	   *right;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	if (op_in_opfamily(op->opno, family))
		return equal(left, document) && skx_planner_is_simple(right) ?
			right : NULL;
	if (OidIsValid(get_commutator(op->opno)) &&
		op_in_opfamily(get_commutator(op->opno), family))
		return equal(right, document) && skx_planner_is_simple(left) ?
			left : NULL;
	return NULL;
}

/*
 * If the child has such a condition, which could not be one of the index
 * because of those that have to be tested before, then all of its conditions,
 * in their order, are left to the custom scan.  Returns the query.
 */
static Node *
skx_planner_take_quals(CustomScan *scan, IndexScan *child, Oid family)
{
	Node	   *document = linitial(skx_planner_distance_of(child)->args);
	Node	   *query = NULL;
	ListCell   *lc;

	foreach(lc, child->scan.plan.qual)
	{
		query = skx_planner_matched(lfirst(lc), document, family);
		if (query != NULL)
			break;
	}
	if (query != NULL)
	{
		scan->scan.plan.qual = child->scan.plan.qual;
		child->scan.plan.qual = NIL;
	}
	return query;
}

/* Makes the child return the columns that the expressions need. */
static void
skx_planner_reduce(IndexScan *child, List *exprs)
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
		targets = lappend(targets,
						  makeTargetEntry(lfirst(lc),
										  foreach_current_index(lc) + 1,
										  NULL, false));
	child->scan.plan.targetlist = targets;
}

/*
 * Does LIMIT count the rows of this scan, or those of its siblings, which are
 * merged?  root->limit_tuples tells for constant limits only, and it is not
 * set in what is above.
 */
static bool
skx_planner_is_limited(PlannerInfo *root, RelOptInfo *rel, CustomPath *path)
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

static void
skx_planner_limit(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				  Node **count, Node **offset, int *extra)
{
	Query	   *query = root->parse;

	*count = *offset = NULL;
	*extra = 0;
	if (!skx_planner_is_limited(root, rel, path) ||
		!skx_planner_is_simple(query->limitCount) ||
		!skx_planner_is_simple(query->limitOffset))
		return;
	*count = copyObject(query->limitCount);
	*offset = copyObject(query->limitOffset);
	/* to see that a tie has ended */
	if (query->limitOption == LIMIT_OPTION_WITH_TIES ||
		!pathkeys_contained_in(root->sort_pathkeys, path->path.pathkeys))
		*extra = 1;
}

static Plan *
skx_planner_plan(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
				 List *tlist, List *clauses, List *custom_plans)
{
	IndexPath  *index = castNode(IndexPath, linitial(path->custom_paths));
	IndexScan  *child = skx_planner_child(linitial(custom_plans));
	OpExpr	   *distance = skx_planner_distance_of(child);
	CustomScan *scan = makeNode(CustomScan);
	Node	   *query;
	Node	   *count;
	Node	   *offset;
	int			extra;

	skx_planner_limit(root, rel, path, &count, &offset, &extra);
	query = skx_planner_take_quals(scan, child,
								   index->indexinfo->opfamily[0]);
	if (child->scan.plan.qual != NIL ||
		list_length(scan->scan.plan.qual) > 1)
		count = offset = NULL;

	skx_planner_reduce(child, list_concat_copy(distance->args,
											   scan->scan.plan.qual));
	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = rel->relid;
	scan->flags = path->flags;
	scan->custom_plans = list_make1(child);
	scan->custom_exprs = list_make5(linitial(distance->args),
									lsecond(distance->args), count, offset,
									query);
	scan->custom_exprs = copyObject(scan->custom_exprs);
	scan->custom_scan_tlist = copyObject(child->scan.plan.targetlist);
	scan->custom_scan_tlist =
		lappend(scan->custom_scan_tlist,
				makeTargetEntry((Expr *) copyObject(distance),
								list_length(scan->custom_scan_tlist) + 1,
								NULL, false));
	scan->custom_private = list_make2(list_make1_oid(get_opcode(distance->opno)),
									  makeInteger(extra));
	scan->methods = &skx_planner_scan_methods;
	return (Plan *) scan;
}
