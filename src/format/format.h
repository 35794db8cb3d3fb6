/*
 * format.h
 *	  The one way to say that an index file is damaged.
 */
#ifndef SKX_FORMAT_FORMAT_H
#define SKX_FORMAT_FORMAT_H

#include "compat/compat.h"
#include "storage/block.h"
#include "utils/relcache.h"

/*
 * Raises ERROR, ERRCODE_INDEX_CORRUPTED: index "..." is damaged in block N,
 * with `what` as detail and REINDEX as hint.  block InvalidBlockNumber when
 * the damage cannot be tied to one.
 */
SKX_NORETURN extern void skx_format_report(Relation rel, BlockNumber block,
										   const char *what);

/* The same with a detail made as by printf. */
SKX_NORETURN extern void skx_format_report_detail(Relation rel,
												  BlockNumber block,
												  const char *format,...)
			pg_attribute_printf(3, 4);

#endif							/* SKX_FORMAT_FORMAT_H */
