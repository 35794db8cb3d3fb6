/*
 * plan_node.h
 *	  The run-time state that all custom scans share, and the kinds of custom
 *	  scan.
 */
#ifndef SKX_PLAN_NODE_H
#define SKX_PLAN_NODE_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "sql/am/am_desc.h"

struct ExplainState;

typedef struct SkxPlanNode SkxPlanNode;

/* How a count of work is shown: a set of these. */
enum
{
	SKX_COUNT_OWN = 1,			/* of the leader alone, without other
								 * processes */
	SKX_COUNT_ANY = 2,			/* in text only if it is above 0 */
	SKX_COUNT_NO_TEXT = 4,		/* in formats other than text */
	SKX_COUNT_WITH_LAST = 8		/* in text only if the count before it is
								 * above 0 */
};

/* A count of work that EXPLAIN ANALYZE shows. */
typedef struct SkxPlanCount
{
	const char *label;
	Size		at;				/* offset of the count, a uint64, in what the
								 * kind's `work` returns */
	int			shown;			/* set of SKX_COUNT_...; 0: always */
} SkxPlanCount;

/* The largest number of counts of a kind. */
#define SKX_PLAN_COUNTS		8

/*
 * A kind of custom scan and its methods.  A method may be NULL, but `fetch`
 * and `next` may not both be.
 */
typedef struct SkxPlanKind
{
	CustomScanMethods scan;		/* first: its name, and skx_plan_node_create */
	Size		size;			/* of its state, in bytes; that begins with
								 * SkxPlanNode */

	/* Initializes the kind's state, after the children were initialized. */
	void		(*begin) (SkxPlanNode *node);

	/*
	 * Puts the next row into the scan slot, which is empty.  The slot stays
	 * empty at the end, or if another process returns the rows.
	 */
	void		(*fetch) (SkxPlanNode *node, TupleTableSlot *slot);

	/*
	 * Returns the next row that meets the quals; an empty slot or NULL at the
	 * end.  If it is NULL, skx_plan_node_next_passing() does that.
	 */
	TupleTableSlot *(*next) (SkxPlanNode *node);

	/* Resets the kind's state, before the children are rescanned. */
	void		(*rescan) (SkxPlanNode *node);

	/* Frees what the kind holds, before the children are ended. */
	void		(*end) (SkxPlanNode *node);

	/* Adds properties to every EXPLAIN. */
	void		(*explain) (SkxPlanNode *node, struct ExplainState *es);

	/*
	 * The counts of work, in the order in which they are shown; the one
	 * behind the last has no label.  They lie in what `work` returns, for
	 * this process and all rescans; NULL: nothing was done yet.  If `work` is
	 * NULL, they lie in the kind's state.
	 */
	const SkxPlanCount *counts;
	const void *(*work) (SkxPlanNode *node);

	/*
	 * Shared memory of a parallel scan, at node->shared_part in each process.
	 * share_size returns its size in bytes for nprocesses, leader included;
	 * NULL: the kind never runs in several processes.  The leader calls
	 * share_init to fill it, and share_restart before a rescan.
	 */
	Size		(*share_size) (SkxPlanNode *node, int nprocesses);
	void		(*share_init) (SkxPlanNode *node, int nprocesses);
	void		(*share_restart) (SkxPlanNode *node);

	/*
	 * Ends the part of this process, before its work is counted and the
	 * shared memory goes away.
	 */
	void		(*share_finish) (SkxPlanNode *node);

	/*
	 * Drops references to the shared memory, which is gone; more rows may
	 * still be fetched.
	 */
	void		(*share_detach) (SkxPlanNode *node);
} SkxPlanKind;

/*
 * Returns true if the kind reads indexes itself: any kind but skx_plan_best.
 */
static inline bool
skx_plan_kind_reads(const SkxPlanKind *kind)
{
	return kind->share_size != NULL;
}

/*
 * The number of rows that a scan is asked for: (count + offset + extra) *
 * times.  LIMIT and OFFSET are the first two members of custom_exprs, if they
 * apply to the scan.
 */
typedef struct SkxPlanLimit
{
	ExprState  *count;			/* LIMIT; NULL: there is none */
	ExprState  *offset;			/* OFFSET; NULL: there is none */
	int			extra;			/* rows fetched beyond LIMIT and OFFSET */
	double		rows_per_pass;	/* rows fetched for each that passes the
								 * filter */
} SkxPlanLimit;

/*
 * Numbers of the members of custom_exprs that kinds have in common.  Kinds
 * without a limit have no custom_exprs.
 */
enum
{
	SKX_EXPR_COUNT,				/* LIMIT, or NULL */
	SKX_EXPR_OFFSET,			/* OFFSET, or NULL */
	SKX_EXPR_FIRST				/* first member that belongs to the kind */
};

/*
 * Numbers of the members of custom_private that all kinds have in common.  A
 * node without an Index Scan directly below it has no custom_private.
 */
enum
{
	SKX_PRIVATE_BLOCKS,			/* result of skx_plan_expected_pages() */
	SKX_PRIVATE_FIRST			/* first member that belongs to the kind */
};

/* The work of a custom scan. */
typedef struct SkxPlanWork
{
	SkxScanReads reads;			/* of the children */
	uint64		counts[SKX_PLAN_COUNTS];	/* those of the kind */
} SkxPlanWork;

/* The run-time state of a custom scan; a kind's own state begins with it. */
struct SkxPlanNode
{
	CustomScanState css;		/* custom_ps: an IndexScanState for each table
								 * or partition; of skx_plan_best the
								 * MergeAppend */
	const SkxPlanKind *kind;
	SkxPlanLimit limit;
	bool		is_ready;		/* the kind has prepared its first row; false
								 * after a rescan */
	struct SkxPlanSharedWork *shared;	/* shared memory while a parallel scan
										 * runs; else NULL */
	void	   *shared_part;	/* the kind's part of it */
	SkxPlanWork other_work;		/* work of other processes */
};

/* plan_node.c */

/*
 * Creates the state of a custom scan, for CreateCustomScanState of every
 * kind.  scan->methods must be the first field of a SkxPlanKind.
 */
extern Node *skx_plan_node_create(CustomScan *scan);

/*
 * Returns true if the methods belong to a kind of custom scan that reads
 * indexes itself: to any kind but skx_plan_best.
 */
extern bool skx_plan_node_reads_index(const CustomScanMethods *methods);

/* Returns the state if the custom scan is of the given kind, else NULL. */
extern SkxPlanNode *skx_plan_node_of_kind(CustomScanState *css,
										  const SkxPlanKind *kind);

/* Returns child i (from 0), which must be an Index Scan. */
extern IndexScanState *skx_plan_node_child(const SkxPlanNode *node, int i);

/*
 * Initializes member `number` of custom_exprs for evaluation, and returns its
 * state; NULL if the member is NULL.
 */
extern ExprState *skx_plan_node_expr(SkxPlanNode *node, int number);

/* Returns member `number` of custom_private. */
extern Node *skx_plan_node_private(const SkxPlanNode *node, int number);

/*
 * Returns the next row of the kind's `fetch` that meets the quals; an empty
 * slot at the end.
 */
extern TupleTableSlot *skx_plan_node_next_passing(SkxPlanNode *node);

/*
 * Copies the first natts columns of a row of the only child into the slot,
 * and sets its other columns to NULL.  `place` is the tid of the row, which
 * WHERE CURRENT OF needs.
 */
extern void skx_plan_node_copy_row(const SkxPlanNode *node,
								   TupleTableSlot *slot, TupleTableSlot *row,
								   int natts,
								   const ItemPointerData *place);

/*
 * Evaluates LIMIT and OFFSET, and sets *rows to the number of rows that the
 * scan is asked for; 0 if it is not known.  Returns false if LIMIT is
 * missing or NULL.  A negative LIMIT gives true and 0: the server raises the
 * error.
 */
extern bool skx_plan_node_limit(SkxPlanNode *node, uint64 *rows);

/*
 * Shows in EXPLAIN (VERBOSE) how many rows the scan is asked for: `rows`, or
 * nothing if that is 0.  Without ANALYZE the number is computed, if LIMIT and
 * OFFSET are constants.
 */
extern void skx_plan_node_explain_limit(SkxPlanNode *node, uint64 rows,
										struct ExplainState *es);

/*
 * Evaluates the scan keys of a child and begins its scan of the index, unless
 * that is done.  The child itself would do so only with its first fetch.
 */
extern void skx_plan_open_child(IndexScanState *child);

/*
 * Returns true if the child returns the row that EvalPlanQual rechecks, and
 * so does not scan the index.
 */
extern bool skx_plan_is_rechecked(const IndexScanState *child);

/*
 * plan_explain_work.c : the work of all processes of a custom scan
 *
 * The shared memory has the sums over all workers.
 */
typedef struct SkxPlanSharedWork SkxPlanSharedWork;

/* Returns the size of the shared memory in bytes. */
extern Size skx_plan_work_size(void);

/* Initializes the shared memory. */
extern void skx_plan_work_init(SkxPlanSharedWork *shared);

/*
 * Adds the work of this process to the shared memory if it is a worker.  Then
 * adds the sums over all workers to node->other_work.
 */
extern void skx_plan_work_leave(SkxPlanNode *node, SkxPlanSharedWork *shared);

/*
 * Shows in EXPLAIN (ANALYZE) the kind's counts of work, and if it is VERBOSE,
 * what the children have read.
 */
extern void skx_plan_work_explain(SkxPlanNode *node, struct ExplainState *es);

/*
 * plan_scan.c : rows in the order of their distance.  The quals of the child
 * become those of the custom scan if one of them is `document @@ query`, or
 * bounds the distance.  If that query is the ranking query, the scan ends
 * with the last row that has a score.
 */
extern const SkxPlanKind skx_plan_ranked;

/* Members of custom_exprs of skx_plan_ranked. */
enum
{
	SKX_EXPR_DOCUMENT = SKX_EXPR_FIRST, /* left operand of `<@>` */
	SKX_EXPR_REF,				/* right operand of `<@>` */
	SKX_EXPR_FILTER,			/* query that all rows must match, or NULL */
	SKX_EXPR_BOUNDS,			/* list of conditions that end the scan once
								 * they are not true */
	SKX_EXPR_TERMS,				/* lists SKX_SUM_TERMS and SKX_SUM_PEAKS of */
	SKX_EXPR_PEAKS				/* plan_sum.h, where values are added to the
								 * distance */
};

/* Members of custom_private of skx_plan_ranked. */
enum
{
	SKX_RANKED_DISTANCE = SKX_PRIVATE_FIRST,	/* list of one OID: function
												 * of `<@>` */
	SKX_RANKED_EXTRA,			/* `extra` of SkxPlanLimit */
	SKX_RANKED_PERCENT,			/* `rows_per_pass` of SkxPlanLimit, in percent */
	SKX_RANKED_UNLIMITED,		/* 1: all rows will be fetched, as far as is
								 * known; else 0 */
	SKX_RANKED_FIRST,			/* rows that the first search looks for, if no
								 * other member tells */
	SKX_RANKED_STEPS,			/* lists SKX_SUM_STEPS and SKX_SUM_COLUMNS of */
	SKX_RANKED_COLUMNS			/* plan_sum.h, where SKX_EXPR_TERMS is there */
};

/* plan_ordered_scan.c : rows in the order of a column beside the text */
extern const SkxPlanKind skx_plan_ordered;

/* Members of custom_private of skx_plan_ordered; all are integers. */
enum
{
	SKX_ORDERED_COLUMN = SKX_PRIVATE_FIRST, /* column of the index, from 0 */
	SKX_ORDERED_DESCENDING,		/* 1: descending, 0: ascending */
	SKX_ORDERED_NULLS,			/* 1: NULLs come first, 0: last */
	SKX_ORDERED_NPARTS,			/* number of parts for several processes */
	SKX_ORDERED_EXTRA,			/* `extra` of SkxPlanLimit */
	SKX_ORDERED_PERCENT,		/* `rows_per_pass` of SkxPlanLimit, in percent */
	SKX_ORDERED_TIE_COLUMN		/* child's column (from 1) that sorts rows of
								 * equal key; 0: no sort is needed */
};

/* plan_count_scan.c : one row, with the number of matches in each column */
extern const SkxPlanKind skx_plan_counted;

/* plan_facets_scan.c : a row for each value of a column */
extern const SkxPlanKind skx_plan_faceted;

/*
 * Members of custom_private of skx_plan_faceted; both are lists of integers.
 */
enum
{
	SKX_FACETS_COLUMNS = SKX_PRIVATE_FIRST, /* for each child the column of
											 * its index, from 0 */
	SKX_FACETS_OUTPUTS			/* for each column of the result a
								 * SkxFacetOutput */
};

/* plan_columns_scan.c : rows of columns whose values the index has */
extern const SkxPlanKind skx_plan_columned;

/* Members of custom_private of skx_plan_columned. */
enum
{
	SKX_COLUMNS_NUMBERS = SKX_PRIVATE_FIRST,	/* integers: columns of the
												 * index, from 0, ascending */
	SKX_COLUMNS_ALL				/* 1: all rows will be fetched, as far as is
								 * known; else 0 */
};

/* plan_rivals.c : the rows of a merge of ranked scans */
extern const SkxPlanKind skx_plan_best;

#endif							/* SKX_PLAN_NODE_H */
