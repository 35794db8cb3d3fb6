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
	double		labels[4];		/* weights of D, C, B, A */
} SkxOptions;

#define SKX_DEFAULT_BLOCK_SIZE	(32 * 1024)
#define SKX_DEFAULT_PENDING_LIMIT	1024
#define SKX_DEFAULT_SEGMENTS_PER_TIER	8
#define SKX_DEFAULT_DELETES_PCT	20
#define SKX_DEFAULT_K1			1.2
#define SKX_DEFAULT_B			0.75
#define SKX_DEFAULT_PROXIMITY	0.1
#define SKX_DEFAULT_LABEL_WEIGHT	1.0

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
 * am_ranked.c : scans with `<@>` in ORDER BY
 *
 * By several processes (topk_share.h): size and init are of one that has been
 * told what is wanted; share is told to each of them before its first row,
 * NULL when there are no others any more. want tells that about so many rows
 * will be fetched (0: not known), before the first one; want_all, that all
 * will be fetched, about so many; floor, that no rows will whose distance is
 * larger than that, below 0, until a rescan; page, that only rows behind one
 * will be, under the statistics that it was given out by, which stay as long
 * as the scan; last is the place of the row fetched last in the order, and
 * what the scan scores by; distance is that of the row fetched last, false: it
 * is NULL, or was not ranked.  work: see SkxTopkWork, of all rescans; valid
 * until the next call.
 */
struct SkxRef;
struct SkxTopkShare;
extern Size skx_am_scan_share_size(IndexScanDesc scan, int nprocesses);
extern void skx_am_scan_share_init(IndexScanDesc scan,
								   struct SkxTopkShare *share,
								   int nprocesses);
extern void skx_am_scan_share(IndexScanDesc scan, struct SkxTopkShare *share);
extern void skx_am_scan_want(IndexScanDesc scan, uint64 rows);
extern void skx_am_scan_want_all(IndexScanDesc scan, double rows);
extern void skx_am_scan_floor(IndexScanDesc scan, float4 distance);
struct SkxTopkPage;
struct SkxTopkAfter;
struct SkxScorer;
extern void skx_am_scan_page(IndexScanDesc scan,
							 const struct SkxTopkPage *page);
extern const struct SkxScorer *skx_am_scan_last(IndexScanDesc scan,
												struct SkxTopkAfter *last);
extern bool skx_am_scan_distance(IndexScanDesc scan, float4 *distance);
extern const struct SkxTopkWork *skx_am_scan_work(IndexScanDesc scan);

/*
 * am_ordered.c : scans in the order of a column beside the text (from 0), if
 * that is said before the first row is fetched.  divide: what is shared, among
 * other processes, into so many parts, about.  work: see SkxOrderedWork; NULL:
 * there was no such scan
 */
struct SkxOrderedShare;
typedef struct SkxScanOrder
{
	int			column;
	bool		descending;
	bool		nulls_first;
	uint64		wanted;			/* rows that will be fetched, about; 0: not
								 * known */
	struct SkxOrderedShare *share;	/* NULL: by this process alone */
} SkxScanOrder;

/*
 * am_reads.c : what a scan has read of its index so far, rescans included; the
 * rows' blocks are not among it
 *
 * All members are counts.  now: those of this process; scan_since adds what came
 * since then to a scan's.  add: one sum to another.
 */
typedef struct SkxScanReads
{
	uint64		blocks;			/* pages, past the cache */
	uint64		hits;			/* frames, in it */
	uint64		rounds;			/* of reads that wait for each other */
	uint64		nodes;			/* of skip lists, */
	uint64		passed;			/* and those passed over without reading */
	uint64		subblocks;
	uint64		positions;		/* position blocks */
} SkxScanReads;

#define SKX_SCAN_READS	(sizeof(SkxScanReads) / sizeof(uint64))

extern void skx_am_reads_now(SkxScanReads *now);
extern void skx_am_reads_add(SkxScanReads *sum, const SkxScanReads *more);
extern void skx_am_scan_since(IndexScanDesc scan, const SkxScanReads *before);
extern const SkxScanReads *skx_am_scan_reads(IndexScanDesc scan);

extern void skx_am_scan_order(IndexScanDesc scan, const SkxScanOrder *order);
extern void skx_am_scan_divide(IndexScanDesc scan, int parts);
extern const struct SkxOrderedWork *skx_am_scan_ordered_work(IndexScanDesc scan);

/* Of the row returned last: may others with its key have another value? */
extern bool skx_am_scan_shared_key(IndexScanDesc scan, uint64 *key);

/*
 * am_count.c : how many rows a scan that was not begun would return, after
 * recheck() where conditions ask for one; adds to `work`
 *
 * With other processes (`share` not NULL, count_share.h) *rows are those that
 * this one has counted.  True: it is the last one, or alone.
 */
struct SkxCountShare;
struct SkxCountWork;
extern bool skx_am_scan_count(IndexScanDesc scan,
							  bool (*recheck) (TupleTableSlot *row, void *arg),
							  void *arg, struct SkxCountShare *share,
							  struct SkxCountWork *work, uint64 *rows);

/*
 * am_scroll.c : the rows of a scan that was not begun, by place; fills in what
 * the scan knows, and returns how many rows there were
 */
struct SkxScrollRequest;
extern uint64 skx_am_scan_scroll(IndexScanDesc scan,
								 struct SkxScrollRequest *request);

/*
 * am_facets.c : the values of the columns asked for, among the rows of a scan
 * that was not begun; NULL: there are no rows.  Fills in of the request what
 * the scan knows, which is to be kept as long as the facets are.  With other
 * processes (`share` not NULL) each has the values of its own part of the rows
 */
struct SkxFacets;
struct SkxFacetsRequest;
extern struct SkxFacets *skx_am_scan_facets(IndexScanDesc scan,
											struct SkxFacetsRequest *request,
											struct SkxCountShare *share,
											struct SkxCountWork *work);

/* Likewise, as skx_facets_ranges(); counts are zero where there are no rows. */
extern void skx_am_scan_ranges(IndexScanDesc scan, int column, int n,
							   const SkxLexeme *bounds, uint64 *counts,
							   struct SkxCountWork *work);

/*
 * The index of a reference, opened with AccessShareLock to open a scorer by it;
 * errors out when it is gone, and, unless a plan checks it, where the user has
 * not the right that skx_score_check_rights() asks for.
 */
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
