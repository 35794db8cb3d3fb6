/*
 * plan.h
 *	  The module binds `<@>` to an index, and puts custom scans over index
 *	  scans into plans.
 */
#ifndef SKX_PLAN_H
#define SKX_PLAN_H

extern bool skx_plan_custom;	/* skipidx.enable_custom_scan */

/*
 * plan_paths.c : registers planner hooks and custom scans; _PG_init() calls
 * it once
 */
extern void skx_plan_init(void);

#endif							/* SKX_PLAN_H */
