/*
 * planner.h
 *	  Binding of `<@>` to an index, and the custom scan over ranked index
 *	  scans.
 */
#ifndef SKX_PLANNER_PLANNER_H
#define SKX_PLANNER_PLANNER_H

/* planner_paths.c : setting, hook and custom scan; once, by _PG_init() */
extern void skx_planner_init(void);

#endif							/* SKX_PLANNER_PLANNER_H */
