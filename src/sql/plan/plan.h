/*
 * plan.h
 *	  Binding of `<@>` to an index, and the custom scan over ranked index
 *	  scans.
 */
#ifndef SKX_PLAN_H
#define SKX_PLAN_H

extern bool skx_plan_custom;	/* skipidx.enable_custom_scan */

/* plan_paths.c : hooks and custom scans; called once, by _PG_init() */
extern void skx_plan_init(void);

#endif							/* SKX_PLAN_H */
