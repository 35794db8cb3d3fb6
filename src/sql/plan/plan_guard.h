/*
 * plan_guard.h
 *	  Values that are computed only where the condition would compute them
 *	  (plan_guard.c).
 */
#ifndef SKX_PLAN_GUARD_H
#define SKX_PLAN_GUARD_H

#include "sql/plan/plan_internal.h"

/*
 * may_fail: can computing it raise an error, or run a subquery?  has_failing: has
 * it a part without columns of the index's table that can?  guarded: the value,
 * or, if it may fail and one of the conditions in `met` is true, or one of the
 * gates is not, NULL.
 */
extern bool skx_plan_may_fail(Node *expr);
extern bool skx_plan_has_failing(const SkxIndexColumn *key, Node *expr);
extern Node *skx_plan_guarded(Node *value, List *met, List *gates);

#endif							/* SKX_PLAN_GUARD_H */
