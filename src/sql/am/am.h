/*
 * am.h
 *	  The access method's callbacks and options.
 */
#ifndef SKX_AM_H
#define SKX_AM_H

#include "access/amapi.h"
#include "access/genam.h"
#include "format/rank/rank_score.h"
#include "index/column/column.h"
#include "index/pending/pending.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "support/compat/compat_planner.h"
#include "utils/rel.h"
#include "write/maint/maint.h"

/*
 * Strategies of the opclass for tsvector; of those for other columns see
 * index/column/column.h.
 */
#define SKX_STRATEGY_MATCH		1	/* tsvector @@ tsquery */
#define SKX_STRATEGY_MATCH_OLD	2	/* tsvector @@@ tsquery, GIN's synonym */
#define SKX_STRATEGY_RANK		3	/* tsvector <@> skipidx_ref, FOR ORDER BY */
/* SKX_STRATEGY_DISJUNCTION		4	   tsvector @@| skipidx_disjunction */

/* Of all of them. */
#define SKX_NSTRATEGIES			SKX_STRATEGY_DISJOINT

/* Parsed reloptions. */
typedef struct SkxOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			block_size;		/* bytes (given with a unit, or in kB) */
	int			pending_limit;	/* kB */
	int			max_merged_segment; /* kB */
	int			segments_per_tier;
	int			deletes_pct_allowed;
	double		k1;
	double		b;
	double		proximity;
	int			weights;		/* where their string is */
	double		labels[4];		/* weights of D, C, B, A */
} SkxOptions;

#define SKX_DEFAULT_BLOCK_SIZE	(32 * 1024)
#define SKX_DEFAULT_PENDING_LIMIT	1024
#define SKX_DEFAULT_SEGMENTS_PER_TIER	8
#define SKX_DEFAULT_DELETES_PCT	20
#define SKX_DEFAULT_K1			1.2
#define SKX_DEFAULT_B			0.75
#define SKX_DEFAULT_PROXIMITY	0.1
#define SKX_DEFAULT_WEIGHT		1.0
#define SKX_DEFAULT_WEIGHTS		"{1, 1, 1, 1}"

/* am_handler.c : a relation, open */
extern bool skx_am_is_ours(Relation index);

/* am_options.c */
extern void skx_am_options_init(void);
extern bytea *skxoptions(Datum reloptions, bool validate);
extern uint32 skx_am_block_size(Relation index);	/* bytes */
extern void skx_am_rank_options(Relation index, SkxRankOptions *options);
extern void skx_am_maint_options(Relation index, SkxWorkerAsker asker,
								 SkxMaintOptions *options);

/* am_columns.c : errors out unless the index has a tsvector first, and only
 * then, and other columns whose values it can hold */
extern void skx_am_check_columns(Relation index);

/* am_validate.c : is the type one that has an operator class for no other purpose
 * than that CREATE INDEX comes to skx_am_check_columns(), which refuses it? */
extern bool skx_am_is_refused(Oid type);

/* am_build.c */
extern IndexBuildResult *skxbuild(Relation heap, Relation index,
								  struct IndexInfo *info);
extern void skxbuildempty(Relation index);
extern char *skxbuildphasename(int64 phase);

/* am_insert.c */
extern bool skxinsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer tid, Relation heap,
					  IndexUniqueCheck unique, bool unchanged,
					  struct IndexInfo *info);

/* am_vacuum.c */
extern IndexBulkDeleteResult *skxbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *state);
extern IndexBulkDeleteResult *skxvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

/* am_scan.c */
extern IndexScanDesc skxbeginscan(Relation index, int nkeys, int norderbys);
extern void skxrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					  ScanKey orderbys, int norderbys);
extern bool skxgettuple(IndexScanDesc scan, ScanDirection dir);
extern int64 skxgetbitmap(IndexScanDesc scan, TIDBitmap *tbm);
extern void skxendscan(IndexScanDesc scan);

/* by several processes */
extern Size skxestimateparallelscan(SKX_COMPAT_ESTIMATE_PARALLEL);
extern void skxinitparallelscan(void *target);
extern void skxparallelrescan(IndexScanDesc scan);

/*
 * am_ranked.c
 *
 * The index of a reference, opened with AccessShareLock to open a scorer by it;
 * errors out when it is gone, and, unless a plan checks it, where the user has
 * not the right that skx_score_check_rights() asks for.
 */
struct SkxRef;
extern Relation skx_am_open_bound(const struct SkxRef *ref);

/*
 * am_cost.c : skx_cost_share() and skx_cost_length() of an index that is not
 * open; length 0: not known
 */
extern double skx_am_cost_share(PlannerInfo *root, IndexOptInfo *info,
								Node *clause, int column, double score);
extern double skx_am_cost_length(PlannerInfo *root,
								 const IndexOptInfo *info);
extern void skxcostestimate(PlannerInfo *root, IndexPath *path,
							double loop_count, Cost *startup, Cost *total,
							Selectivity *selectivity, double *correlation,
							double *pages);

/* am_validate.c */
extern bool skxvalidate(Oid opclass);

#endif							/* SKX_AM_H */
