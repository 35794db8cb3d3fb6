/*
 * plan.h
 *	  The module binds `<@>` to an index, and puts custom scans over index
 *	  scans into plans.
 */
#ifndef SKX_PLAN_H
#define SKX_PLAN_H

extern bool skx_plan_custom;	/* skipidx.enable_custom_scan */

/* plan_policy.c */

extern bool skx_plan_under_policy;	/* skipidx.index_under_policy */

/* Called when the setting gets a value: another one needs other plans. */
extern void skx_plan_under_policy_assign(bool value, void *extra);

/*
 * plan_paths.c : registers planner hooks and custom scans; _PG_init() calls
 * it once
 */
extern void skx_plan_init(void);

#endif							/* SKX_PLAN_H */
