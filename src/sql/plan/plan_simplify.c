/*
 * plan_simplify.c
 *	  Expressions simplified in addition to the planner.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_condition.h"

Node *
skx_plan_simplify(Node *expr)
{
	int			level;
	Node	   *simplified;

	if (expr == NULL || IsA(expr, Var))
		return expr;
	level = skx_cost_silence_begin();
	simplified = eval_const_expressions(NULL, expr);
	skx_cost_silence_end(level);
	return simplified;
}

Node *
skx_plan_unrelabel(Node *expr)
{
	while (expr != NULL && IsA(expr, RelabelType))
		expr = (Node *) ((RelabelType *) expr)->arg;
	return expr;
}
