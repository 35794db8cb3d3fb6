/*
 * damage.h
 *	  The one way to say that an index file is damaged.
 */
#ifndef SKX_DAMAGE_H
#define SKX_DAMAGE_H

#include "storage/block.h"
#include "support/compat/compat.h"
#include "utils/relcache.h"

/*
 * Raises ERROR, ERRCODE_INDEX_CORRUPTED: index "..." is damaged in block N,
 * with `what` as detail and REINDEX as hint.  block InvalidBlockNumber when
 * the damage cannot be tied to one.
 */
SKX_NORETURN extern void skx_damage_report(Relation rel, BlockNumber block,
										   const char *what);

/* The same with a detail made as by printf. */
SKX_NORETURN extern void skx_damage_report_detail(Relation rel,
												  BlockNumber block,
												  const char *format,...)
			pg_attribute_printf(3, 4);

#endif							/* SKX_DAMAGE_H */
