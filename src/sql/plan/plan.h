/*
 * plan.h
 *	  Binding of `<@>` to an index, and the custom scan over ranked index
 *	  scans.
 */
#ifndef SKX_PLAN_H
#define SKX_PLAN_H

/* plan_paths.c : setting, hook and custom scan; once, by _PG_init() */
extern void skx_plan_init(void);

#endif							/* SKX_PLAN_H */
