/*
 * skipidx.c
 *	  The library as the server loads it.
 */
#include "postgres.h"

#include "answer/topk/topk.h"
#include "fmgr.h"
#include "index/manifest/manifest.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan.h"
#include "storage/blkio/blkio.h"
#include "support/fault/fault.h"
#include "support/worker/worker.h"
#include "utils/guc.h"

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
	skx_plan_init();
	MarkGUCPrefixReserved("skipidx");
}
