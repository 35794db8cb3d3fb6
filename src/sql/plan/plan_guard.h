/*
 * plan_guard.h
 *	  Values of scan keys that are computed only if the condition itself would
 *	  compute them (plan_guard.c).
 */
#ifndef SKX_PLAN_GUARD_H
#define SKX_PLAN_GUARD_H

#include "sql/plan/plan_internal.h"

/*
 * Returns true if evaluating the expression may raise an error or run a
 * subquery.
 */
extern bool skx_plan_may_fail(Node *expr);

/*
 * Returns true if the expression has a part that may raise an error or run a
 * subquery, and that is not volatile and has no column of the index's table.
 */
extern bool skx_plan_has_part_that_may_fail(const SkxIndexColumn *key,
											Node *expr);

/*
 * Returns an expression that is evaluated as `value` only if no condition in
 * `met` is true and all conditions in `gates` are, and else is NULL.  Returns
 * `value` itself if it cannot fail, or if both lists are empty.
 */
extern Node *skx_plan_guard_expr(Node *value, List *met, List *gates);

#endif							/* SKX_PLAN_GUARD_H */
