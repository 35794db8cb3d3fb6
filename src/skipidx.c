/*
 * skipidx.c
 *	  The library as the server loads it.
 */
#include "postgres.h"

#include "am/am.h"
#include "blkio/blkio.h"
#include "cost/cost.h"
#include "fault/fault.h"
#include "fmgr.h"
#include "manifest/manifest.h"
#include "planner/planner.h"
#include "topk/topk.h"
#include "utils/guc.h"
#include "worker/worker.h"

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	skx_fault_init();
	skx_fault_transfer_init();
	skx_fault_undo_init();
	skx_blkio_init();
	skx_topk_init();
	skx_cost_init();
	skx_am_options_init();
	skx_worker_init();
	skx_manifest_init();
	skx_planner_init();
	MarkGUCPrefixReserved("skipidx");
}
