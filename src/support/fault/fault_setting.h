/*
 * fault_setting.h
 *	  What the setting skipidx.fault is defined with.
 */
#ifndef SKX_FAULT_SETTING_H
#define SKX_FAULT_SETTING_H

#include "utils/guc.h"

/* The text of the setting, as it was set last. */
extern char *skx_fault_setting;

/*
 * Check hook.  Returns false, with a detail that says why, for a text that
 * names no point or no action.
 */
extern bool skx_fault_check(char **newval, void **extra, GucSource source);

/* Assign hook.  Arms the point, and counts from 0 how often it is reached. */
extern void skx_fault_assign(const char *newval, void *extra);

#endif							/* SKX_FAULT_SETTING_H */
