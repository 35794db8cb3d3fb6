/*
 * fault_setting.h
 *	  Variable and hooks of the setting skipidx.fault.
 */
#ifndef SKX_FAULT_SETTING_H
#define SKX_FAULT_SETTING_H

#include "utils/guc.h"

/* Value of the setting: point:action or point:action:n; or empty. */
extern char *skx_fault_setting;

/*
 * Check hook of the setting.  Returns false, with an error detail, for a text
 * that is not empty and not of the form point:action or point:action:n.  The
 * same for action wait at a point that forbids it.
 */
extern bool skx_fault_check(char **newval, void **extra, GucSource source);

/*
 * Assign hook of the setting.  Arms the point, or disarms all for an empty
 * text.  Counts from 0 how often the point is reached.
 */
extern void skx_fault_assign(const char *newval, void *extra);

#endif							/* SKX_FAULT_SETTING_H */
