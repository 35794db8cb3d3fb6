/*
 * skipidx.c
 *	  Initializes the library when the server loads it.
 */
#include "postgres.h"

#include "fmgr.h"
#include "index/manifest/manifest.h"
#include "sql/am/am.h"
#include "sql/autoprewarm/autoprewarm.h"
#include "sql/plan/plan.h"
#include "storage/blkio/blkio.h"
#include "support/fault/fault.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

/* skipidx_settings.c */
extern void skx_settings_init(void);

void
_PG_init(void)
{
	skx_settings_init();
	skx_fault_transfer_init();
	skx_blkio_anchor_init();
	skx_am_options_init();
	skx_am_policy_init();
	skx_manifest_open_init();
	skx_plan_init();
	skx_autoprewarm_init();
}
