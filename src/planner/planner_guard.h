/*
 * planner_guard.h
 *	  Values that are computed only where the condition would compute them
 *	  (planner_guard.c).
 */
#ifndef SKX_PLANNER_PLANNER_GUARD_H
#define SKX_PLANNER_PLANNER_GUARD_H

#include "planner/planner_internal.h"

/*
 * may_fail: can computing it raise an error, or run a subquery?  has_failing: has
 * it a part without columns of the index's table that can?  guarded: the value,
 * or, if it may fail and one of the conditions in `met` is true, or one of the
 * gates is not, NULL.
 */
extern bool skx_planner_may_fail(Node *expr);
extern bool skx_planner_has_failing(const SkxIndexColumn *key, Node *expr);
extern Node *skx_planner_guarded(Node *value, List *met, List *gates);

#endif							/* SKX_PLANNER_PLANNER_GUARD_H */
