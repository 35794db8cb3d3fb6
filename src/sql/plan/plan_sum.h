/*
 * plan_sum.h
 *	  Sort keys that are a distance to which values of columns add.
 */
#ifndef SKX_PLAN_SUM_H
#define SKX_PLAN_SUM_H

#include "sql/plan/plan_internal.h"
#include "sql/plan/plan_node.h"

/*
 * What the path and the plan have of such an expression: a list with these
 * members.
 */
enum
{
	SKX_SUM_EXPR,				/* the expression itself */
	SKX_SUM_STEPS,				/* integers: it as SkxPriorSum has it */
	SKX_SUM_COLUMNS,			/* integers: column of the index (from 0) of
								 * each term; they ascend */
	SKX_SUM_TERMS,				/* each term, with a CaseTestExpr in place of
								 * its column */
	SKX_SUM_PEAKS				/* for each term a like expression that has
								 * its value at the origin of skipidx_near();
								 * else the term itself */
};

/* plan_sum.c : recognises such keys */

/*
 * Returns true if the index orders by the sort key so, as far as the key
 * itself tells.
 */
extern bool skx_plan_is_sum_key(PlannerInfo *root, const IndexOptInfo *index,
								const PathKey *key);

/*
 * Adds a path in the order of the query's first sort key, if that is such an
 * expression, of an index that has what it needs.
 */
extern void skx_plan_add_by_sum(PlannerInfo *root, RelOptInfo *rel);

/* plan_sum_scan.c : computes the terms at run time */

/*
 * Returns what the search needs to order by the expression that a custom scan
 * of kind skx_plan_ranked has; NULL if it has none.  Lives as long as the
 * node.
 */
extern const SkxTopkPrior *skx_plan_sum_begin(SkxPlanNode *node);

/*
 * Shows in EXPLAIN the columns of the index whose values are added, if the
 * custom scan has such an expression.
 */
extern void skx_plan_sum_explain(SkxPlanNode *node, struct ExplainState *es);

#endif							/* SKX_PLAN_SUM_H */
