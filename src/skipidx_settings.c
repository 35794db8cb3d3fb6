/*
 * skipidx_settings.c
 *	  Defines all settings.  doc/reference.md says what they are for.
 */
#include "postgres.h"

#include <float.h>
#include <limits.h>

#include "answer/topk/topk.h"
#include "index/manifest/manifest.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan.h"
#include "storage/blkio/blkio_warmer.h"
#include "support/fault/fault_setting.h"
#include "support/worker/worker.h"
#include "utils/guc.h"

extern void skx_settings_init(void);

static const struct config_enum_entry skx_settings_methods[] = {
	{"auto", SKX_BLK_METHOD_AUTO, false},
	{"shared_buffers", SKX_BLK_SHARED_BUFFERS, false},
	{"buffered", SKX_BLK_BUFFERED, false},
	{"direct", SKX_BLK_DIRECT, false},
	{"uring", SKX_BLK_URING, false},
	{"uring_direct", SKX_BLK_URING_DIRECT, false},
	{NULL, 0, false}
};

static const struct config_enum_entry skx_settings_reuse[] = {
	{"auto", SKX_REUSE_AUTO, false},
	{"on", SKX_REUSE_ON, false},
	{"off", SKX_REUSE_OFF, false},
	{NULL, 0, false}
};

/* Defines the settings of reads. */
static void
skx_settings_reads(void)
{
	DefineCustomEnumVariable("skipidx.io_method",
							 "How skipidx reads the blocks of its segments.",
							 "auto chooses by what the machine has: io_uring, direct I/O, skipidx's own cache. Temporary indexes always use the session's temporary buffers.",
							 &skx_blkio_io_method, SKX_BLK_METHOD_AUTO,
							 skx_settings_methods, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.cache_size",
							"Size of skipidx's block cache in shared memory.",
							"Takes effect when the cache is made: at the first use after the server's start, or at its start when skipidx is preloaded. 0 makes none.",
							&skx_blkio_cache_size, 128 * 1024,
							0, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.autoprewarm_interval",
							"Time between two notes of what is in skipidx's block cache.",
							"The next start of the server reads that back. 0 notes nothing and reads nothing back.",
							&skx_blkio_warmer_interval, 300,
							0, INT_MAX / 1000, PGC_SIGHUP, GUC_UNIT_S,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.io_depth",
							"Most blocks that a session reads ahead at a time.",
							"For methods that can; 0 reads nothing ahead.",
							&skx_blkio_io_depth, 16,
							0, SKX_BLK_MAX_AHEAD, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.io_depth_total",
							"Most reads that skipidx has under way in all sessions together.",
							"A session that would pass this waits for its turn.",
							&skx_blkio_io_depth_total, 64,
							1, SKX_BLK_DEPTH_MAX, PGC_SIGHUP, 0,
							NULL, NULL, NULL);
}

/* Defines the settings of flushes, merges and their workers. */
static void
skx_settings_writes(void)
{
	DefineCustomIntVariable("skipidx.max_workers",
							"Most background workers that flush and merge skipidx indexes at a time.",
							"They count towards max_worker_processes. With 0 a session asks for none: its inserts flush, and VACUUM merges.",
							&skx_worker_max, 2,
							0, SKX_WORKERS_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.merge_rate_limit",
							"How much a background worker that merges writes in a second, at most.",
							"0 sets no limit.",
							&skx_worker_rate, 0,
							0, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("skipidx.log_min_duration",
							"Least time that a flush or merge must have taken to be told in the server's log.",
							"-1 logs none, 0 all.",
							&skx_worker_log_min, 600000,
							-1, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("skipidx.reuse_early",
							 "Whether a skipidx index overwrites pages that no query of this server needs any more, though a standby's may.",
							 "auto waits for transactions that write, and for slots and feedback, where a standby or a slot of one is connected or WAL is archived.",
							 &skx_manifest_reuse_early, SKX_REUSE_AUTO,
							 skx_settings_reuse, PGC_SUSET, 0,
							 NULL, NULL, NULL);
}

/* Defines the settings of the planner. */
static void
skx_settings_plans(void)
{
	DefineCustomBoolVariable("skipidx.enable_custom_scan",
							 "Lets skipidx add scans of its own to plans.",
							 "Otherwise scores are computed again from the rows, and rows are counted, sorted and grouped by the server.",
							 &skx_plan_custom, true, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomRealVariable("skipidx.backward_read_cost",
							 "What the planner charges a skipidx scan for a page read in descending order, as a multiple of one in ascending order.",
							 "A mean over cached pages and others. -1 takes the geometric mean of seq_page_cost and random_page_cost, or the latter where nothing is asked for ahead. skipidx_calibrate() measures it.",
							 &skx_cost_prices_backward, SKX_READ_COST_UNSET,
							 SKX_READ_COST_UNSET, DBL_MAX, PGC_USERSET,
							 GUC_EXPLAIN, NULL, NULL, NULL);
}

/* Defines the settings of tables with row security. */
static void
skx_settings_policies(void)
{
	DefineCustomBoolVariable("skipidx.allow_policies",
							 "Allows skipidx indexes to be created on tables with row security.",
							 "Scores and times depend on hidden rows. Indexes that exist are not affected.",
							 &skx_am_allow_policies, true, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("skipidx.index_under_policy",
							 "Lets the planner ask a skipidx index for @@ although row security has other conditions tested first.",
							 "All other conditions wait for the policies as before. Times and plans then depend on hidden rows.",
							 &skx_plan_under_policy, false, PGC_SUSET, 0,
							 NULL, skx_plan_under_policy_assign, NULL);
}

void
skx_settings_init(void)
{
	skx_settings_reads();
	skx_settings_writes();
	skx_settings_plans();
	skx_settings_policies();
	DefineCustomIntVariable("skipidx.search_budget",
							"Time after which a ranked search ends with the best rows found so far.",
							"A NOTICE tells how much was left out. 0 turns this off.",
							&skx_topk_budget, 0,
							0, PG_INT32_MAX / 1000, PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomStringVariable("skipidx.fault",
							   "For tests: what to do at a named point of the storage protocol.",
							   "point:action or point:action:n, the n-th time the point is reached. Actions are note, error, cancel, wait, pause, kill and panic.",
							   &skx_fault_setting, "", PGC_SUSET,
							   GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL,
							   skx_fault_check, skx_fault_assign, NULL);
	MarkGUCPrefixReserved("skipidx");
}
