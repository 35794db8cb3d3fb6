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
 * Strategy numbers of the operator class for tsvector.  index/column/column.h
 * has those of the operator classes for other columns.
 */
#define SKX_STRATEGY_MATCH		1	/* tsvector @@ tsquery */
#define SKX_STRATEGY_MATCH_OLD	2	/* tsvector @@@ tsquery, GIN's synonym */
#define SKX_STRATEGY_RANK		3	/* tsvector <@> skipidx_ref, FOR ORDER BY */
/* SKX_STRATEGY_DISJUNCTION		4	   tsvector @@| skipidx_disjunction */
/* SKX_STRATEGY_RANKING			5	   tsvector <@> skipidx_ranking (score.h) */

/* The largest strategy number of all operator classes. */
#define SKX_NSTRATEGIES			SKX_STRATEGY_DISJOINT

/* The parsed storage parameters of an index, as rd_options has them. */
typedef struct SkxOptions
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	int			block_size;		/* bytes */
	int			pending_limit;	/* kB */
	int			max_merged_segment; /* kB */
	int			segments_per_tier;
	int			deletes_pct_allowed;
	bool		prefix_lists;
	double		k1;
	double		b;
	double		proximity;
	int			weights;		/* offset of the option's string, in bytes
								 * from the start of this struct */
	double		labels[4];		/* the weights of labels D, C, B and A, which
								 * that string gives */
	int			defaults;		/* offset of that string, or 0 */
	bool		knows_defaults; /* this library has them; else the parameters
								 * of ranking are not valid */
} SkxOptions;

#define SKX_DEFAULT_BLOCK_SIZE	(32 * 1024)
#define SKX_DEFAULT_PENDING_LIMIT	1024
#define SKX_DEFAULT_SEGMENTS_PER_TIER	8
#define SKX_DEFAULT_DELETES_PCT	20

/* am_columns.c */

/*
 * Returns the session's text search configuration as it is written in a
 * statement, for hints; "english" if there is none.
 */
extern char *skx_am_session_config(void);

/* am_index.c : which indexes are of this access method */

struct SkxRef;

/* Returns true if the open relation is an index of this access method. */
extern bool skx_am_is_skipidx(Relation index);

/*
 * Opens the index that a reference names, for use with a scorer.  The caller
 * closes it and keeps the AccessShareLock that this takes.  Raises an error if
 * the index does not exist or is not a skipidx index.  Unless a plan made the
 * reference, it also raises one if the user lacks the rights that
 * skx_score_check_rights() asks for, on any of its indexes.
 */
extern Relation skx_am_open_referenced(const struct SkxRef *ref);

/* am_defaults.c : defaults of parameters that scores depend on, by release */

/* The storage parameter that names a release. */
#define SKX_DEFAULTS_OPTION	"defaults"

typedef struct SkxDefaults
{
	const char *release;		/* the first one that has them */
	SkxRankOptions ranking;
} SkxDefaults;

/*
 * Returns the defaults that an index has by its storage parameter, those of 1.0
 * if that is NULL.  Returns NULL if this library does not have them.
 */
extern const SkxDefaults *skx_am_find_defaults(const char *release);

/*
 * Names the defaults of an index that is being created, unless its statement
 * does.  Ends the current command.
 */
extern void skx_am_note_defaults(Oid index);

/* am_guest.c : an index that a background process works on */

typedef struct SkxAmGuest
{
	Oid			database;		/* that the process is connected to */
	LOCKMODE	mode;			/* of its lock on an index */
	Relation	index;			/* NULL: none is open */
	bool		is_barred;		/* another process had or wanted the index for
								 * itself when it was last looked at */
	bool		is_evicted;		/* a process wants the database */
	int			nchecks;
} SkxAmGuest;

/* SQLSTATE of work that gives way, which is that of a cancel. */
#define SKX_AM_GUEST_SQLSTATE	ERRCODE_QUERY_CANCELED

/*
 * Opens the index and locks it, without waiting.  Returns false, with nothing
 * locked, if it is not there, is no index of this access method, is not ready
 * or cannot be read here, or is locked by another process (is_barred).
 */
extern bool skx_am_guest_open(SkxAmGuest *guest, Oid index);

/* Closes the index and gives the lock back. */
extern void skx_am_guest_close(SkxAmGuest *guest);

/*
 * Ends the process if the postmaster is gone, since then there are no more
 * checkpoints, either; reads the configuration if that has changed.
 */
extern void skx_am_guest_look(void);

/*
 * Returns true if a process wants the database.  That is looked up in one call
 * of several.
 */
extern bool skx_am_guest_must_leave(SkxAmGuest *guest);

/*
 * Raises an error with SKX_AM_GUEST_SQLSTATE if the work was switched off, if a
 * process waits for the open index, or if one wants the database.
 */
extern void skx_am_guest_check(SkxAmGuest *guest, bool is_off);

/* am_options.c : storage parameters */

/* Registers the storage parameters; called once, when the module is loaded. */
extern void skx_am_options_init(void);

/*
 * amoptions: returns the parsed storage parameters as an SkxOptions, palloc'd,
 * or NULL if there are none.  With `validate` it raises an error for a value
 * that is not allowed.
 */
extern bytea *skxoptions(Datum reloptions, bool validate);

/* Returns true if new segments of the index get lists of prefixes. */
extern bool skx_am_has_prefix_lists(Relation index);

/* Returns the block size of the index in bytes. */
extern uint32 skx_am_block_size(Relation index);

/*
 * Fills in the ranking parameters of the index.  Returns false if they depend
 * on defaults that this library does not have; then they are those of 1.0.
 */
extern bool skx_am_find_rank_options(Relation index, SkxRankOptions *options);

/*
 * Fills in the ranking parameters of the index.  Raises an error if they depend
 * on defaults that this library does not have.
 */
extern void skx_am_rank_options(Relation index, SkxRankOptions *options);

/*
 * Fills in the parameters of flushes and merges of the index.  They come from
 * its storage parameters and from the memory settings of this session.
 * `asker` is the kind of caller, which decides on the memory setting that
 * applies.
 */
extern void skx_am_maint_options(Relation index, SkxWorkerRequester asker,
								 SkxMaintOptions *options);

/* am_policy.c : new indexes of tables with row security */

extern bool skx_am_allow_policies;	/* skipidx.allow_policies */

/*
 * Installs the hook that refuses them, and lets skx_am_note_defaults() know of
 * all others; called once, when the module is loaded.
 */
extern void skx_am_policy_init(void);

/* am_columns.c */

/*
 * Raises an error unless the index can hold its columns.  The first column,
 * and no other, must be a tsvector.  Each other column needs a canonical form
 * of its values and must not have a nondeterministic collation.  For an array
 * that applies to its elements, whose operator = must be that of their default
 * operator class for skipidx.
 */
extern void skx_am_check_columns(Relation index);

/* am_validate.c */

/*
 * Returns true for a type of which no index can have a column, although there
 * is an operator class for it (json and jsonb).  That class only makes CREATE
 * INDEX reach skx_am_check_columns(), which refuses the column with a hint.
 */
extern bool skx_am_type_is_refused(Oid type);

/* am_build.c */

/*
 * ambuild: builds the index from the rows of its table, with parallel workers
 * if the planner grants them.  Returns the numbers of rows of both, palloc'd.
 * Raises an error for columns that an index cannot hold, and if the file
 * already contains data.
 */
extern IndexBuildResult *skxbuild(Relation heap, Relation index,
								  struct IndexInfo *info);

/*
 * ambuildempty: writes an empty index to the init fork of an unlogged index.
 */
extern void skxbuildempty(Relation index);

/*
 * ambuildphasename: returns the name of a phase of a build, which
 * pg_stat_progress_create_index shows; NULL if the number is unknown.
 */
extern char *skxbuildphasename(int64 phase);

/* am_insert.c */

/*
 * aminsert: adds a row to the pending documents as one document; `values` and
 * `isnull` have an element for each column of the index.  If the pending list
 * has become too long, it has a worker flush the list, or flushes a part of it
 * itself.  Always returns false, since an index is never unique.
 */
extern bool skxinsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer tid, Relation heap,
					  IndexUniqueCheck unique, bool unchanged,
					  struct IndexInfo *info);

/* am_vacuum.c */

/*
 * ambulkdelete: calls `callback` for each live document and marks as deleted
 * those for which it returns true.  Returns `stats` with its counts updated;
 * NULL makes it allocate them.
 */
extern IndexBulkDeleteResult *skxbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *state);

/*
 * amvacuumcleanup: flushes and merges where that is due, and counts documents
 * and pages.  Returns `stats` with these counts; NULL makes it allocate them.
 * For ANALYZE alone it does nothing and returns `stats` as it is.
 */
extern IndexBulkDeleteResult *skxvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

/* am_scan.c */

/* ambeginscan: returns a scan that has not begun; no page is read. */
extern IndexScanDesc skxbeginscan(Relation index, int nkeys, int norderbys);

/*
 * amrescan: ends the scan under way, if there is one, and sets the keys of the
 * next.  NULL for `keys` or `orderbys` leaves them as they are.
 */
extern void skxrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					  ScanKey orderbys, int norderbys);

/*
 * amgettuple: puts the TID of the next row into the scan; false at the end.
 * The scan begins with the first call.  Raises an error in an index-only scan.
 */
extern bool skxgettuple(IndexScanDesc scan, ScanDirection dir);

/* amgetbitmap: adds all rows that match to `tbm` and returns how many. */
extern int64 skxgetbitmap(IndexScanDesc scan, TIDBitmap *tbm);

/* amendscan: ends the scan and frees its state. */
extern void skxendscan(IndexScanDesc scan);

/*
 * amestimateparallelscan: returns how many bytes of shared memory a scan by
 * several processes needs.
 */
extern Size skxestimateparallelscan(SKX_COMPAT_ESTIMATE_PARALLEL);

/* aminitparallelscan: sets up that shared memory, which `target` points to. */
extern void skxinitparallelscan(void *target);

/* amparallelrescan: sets that shared memory back for a rescan. */
extern void skxparallelrescan(IndexScanDesc scan);

/* am_cost.c : opens the index of a path and calls cost/ with it */

/*
 * Returns what skx_cost_selectivity() does: a share of the table from 0 to 1,
 * or a value below 0 if it is not known.
 */
extern double skx_am_cost_selectivity(PlannerInfo *root, IndexOptInfo *info,
									  Node *clause, int column, double score);

/*
 * Returns the average number of words of a document; 0 if the index must not
 * be read while the query is planned.
 */
extern double skx_am_cost_average_length(PlannerInfo *root,
										 const IndexOptInfo *info);

/*
 * amcostestimate: estimates what the scan of a path costs.  It makes an
 * index-only scan of the path a plain index scan.
 */
extern void skxcostestimate(PlannerInfo *root, IndexPath *path,
							double loop_count, Cost *startup, Cost *total,
							Selectivity *selectivity, double *correlation,
							double *pages);

/* am_validate.c */

/*
 * amvalidate: returns true if the operator class and its family are valid.
 * Reports each defect as a message of level INFO.
 */
extern bool skxvalidate(Oid opclass);

#endif							/* SKX_AM_H */
