/*
 * plan_guard.c
 *	  Values that are computed only where the condition would compute them.
 *
 * `$1 = '' OR n = $1::int` raises no error for '': OR and AND end with the
 * first operand that decides, CASE and coalesce with the first that applies.
 * A scan computes all of its values when it begins.  So a CASE is put around a
 * value that may raise an error, or runs a subquery.  It makes the value NULL
 * where other operands without columns decide.
 */
#include "postgres.h"

#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "sql/plan/plan_guard.h"
#include "utils/lsyscache.h"

static bool
skx_plan_function_is_leaky(Oid function, void *context)
{
	return !get_func_leakproof(function);
}

/*
 * Returns true if the node itself may raise an error or run a subquery,
 * whatever its arguments do.
 */
static bool
skx_plan_node_may_fail(Node *node)
{
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	return IsA(node, SubPlan) || IsA(node, MinMaxExpr) ||
		IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, skx_plan_function_is_leaky, NULL);
}

static bool
skx_plan_node_may_fail_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	return skx_plan_node_may_fail(node) ||
		expression_tree_walker(node, skx_plan_node_may_fail_walker, context);
}

bool
skx_plan_may_fail(Node *expr)
{
	return skx_plan_node_may_fail_walker(expr, NULL);
}

static bool
skx_plan_may_fail_walker(Node *node, void *key)
{
	if (node == NULL)
		return false;
	if (skx_plan_node_may_fail(node) && skx_plan_is_comparand(key, node))
		return true;
	return expression_tree_walker(node, skx_plan_may_fail_walker, key);
}

bool
skx_plan_has_part_that_may_fail(const SkxIndexColumn *key, Node *expr)
{
	return skx_plan_may_fail_walker(expr, (void *) key);
}

Node *
skx_plan_guard_expr(Node *value, List *met, List *gates)
{
	List	   *when = NIL;
	CaseExpr   *expr;
	ListCell   *lc;

	if ((met == NIL && gates == NIL) || !skx_plan_may_fail(value))
		return value;
	foreach(lc, met)
	{
		BooleanTest *test = makeNode(BooleanTest);

		test->arg = copyObject(lfirst(lc));
		test->booltesttype = IS_NOT_TRUE;
		test->location = -1;
		when = lappend(when, test);
	}
	when = list_concat(when, copyObject(gates));
	expr = makeNode(CaseExpr);
	expr->casetype = exprType(value);
	expr->casecollid = exprCollation(value);
	expr->args = list_make1(makeNode(CaseWhen));
	linitial_node(CaseWhen, expr->args)->expr = make_ands_explicit(when);
	linitial_node(CaseWhen, expr->args)->result = (Expr *) value;
	linitial_node(CaseWhen, expr->args)->location = -1;
	expr->defresult = (Expr *) makeNullConst(expr->casetype,
											 exprTypmod(value),
											 expr->casecollid);
	expr->location = -1;
	return (Node *) expr;
}
