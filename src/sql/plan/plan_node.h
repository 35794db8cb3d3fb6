/*
 * plan_node.h
 *	  What all custom scans do alike at run time, and what each of them adds.
 */
#ifndef SKX_PLAN_NODE_H
#define SKX_PLAN_NODE_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "sql/am/am_ask.h"

struct ExplainState;

typedef struct SkxPlanNode SkxPlanNode;

/*
 * A kind of custom scan.  Methods that it has no use for are NULL, but never
 * `explain_work`, nor both `fetch` and `next`.
 */
typedef struct SkxPlanKind
{
	CustomScanMethods scan;		/* first: its name, and skx_plan_node_create */
	Size		size;			/* of its state, which begins with SkxPlanNode */

	/* after its children were begun */
	void		(*begin) (SkxPlanNode *node);

	/*
	 * Puts the next row into the scan slot, which is empty; at the end, or if
	 * it is another process that has the rows, it stays so.
	 */
	void		(*fetch) (SkxPlanNode *node, TupleTableSlot *slot);

	/*
	 * The next row that is left by the quals; an empty slot or NULL at the
	 * end. No method: those fetched are tested.
	 */
	TupleTableSlot *(*next) (SkxPlanNode *node);

	/* before the children are told to begin anew */
	void		(*rescan) (SkxPlanNode *node);

	/* before the children are ended */
	void		(*end) (SkxPlanNode *node);

	/*
	 * What EXPLAIN tells in any case, and of work that was done; the latter
	 * returns false if there was none.
	 */
	void		(*explain) (SkxPlanNode *node, struct ExplainState *es);
	bool		(*explain_work) (SkxPlanNode *node, struct ExplainState *es);

	/*
	 * With other processes, in each of which the node runs: bytes that they
	 * share, in node->share; made by the leader for so many, itself included,
	 * and made ready for another scan.  No share_size: it is never run by
	 * several.
	 */
	Size		(*share_size) (SkxPlanNode *node, int nprocesses);
	void		(*share_init) (SkxPlanNode *node, int nprocesses);
	void		(*share_restart) (SkxPlanNode *node);

	/*
	 * The process has done its part: a worker leaves what it did, the leader
	 * takes what the others have left.
	 */
	void		(*share_leave) (SkxPlanNode *node);

	/* The share is gone, and there may be further rows to be fetched. */
	void		(*share_gone) (SkxPlanNode *node);
} SkxPlanKind;

/*
 * How many rows a scan is asked for: LIMIT and OFFSET, where they apply, as the
 * first two members of custom_exprs.
 */
typedef struct SkxPlanLimit
{
	ExprState  *count;			/* NULL: there is none */
	ExprState  *offset;
	int			extra;			/* rows fetched beyond them */
	double		times;			/* rows fetched for each that is left */
} SkxPlanLimit;

enum
{
	SKX_EXPR_COUNT,
	SKX_EXPR_OFFSET,
	SKX_EXPR_FIRST				/* of the kind's own */
};

/*
 * The first member of custom_private, see skx_plan_estimate(); but of nodes that
 * have no scan of an index below them.
 */
enum
{
	SKX_PRIVATE_BLOCKS,
	SKX_PRIVATE_FIRST			/* of the kind's own */
};

struct SkxPlanNode
{
	CustomScanState css;		/* custom_ps: of IndexScanState, for a table
								 * or partition each */
	const SkxPlanKind *kind;
	SkxPlanLimit limit;
	bool		ready;			/* the kind has done what it does before the
								 * first row; false after a rescan */
	struct SkxPlanShare *shared;	/* with other processes, as long as these
									 * run; else NULL */
	void	   *share;			/* the kind's part of it */
	SkxScanReads others;		/* what other processes have read */
};

/* The only function for CreateCustomScanState: `scan` has a kind's methods. */
extern Node *skx_plan_node_create(CustomScan *scan);

/* Does a custom scan of ours that reads indexes have such methods? */
extern bool skx_plan_node_reads(const CustomScanMethods *methods);

/* The state if it is of that kind; else NULL. */
extern SkxPlanNode *skx_plan_node_of(CustomScanState *css,
									 const SkxPlanKind *kind);

/* Child i, and the only one. */
extern IndexScanState *skx_plan_node_child(const SkxPlanNode *node, int i);

/* A member of custom_exprs, begun, and of custom_private. */
extern ExprState *skx_plan_node_expr(SkxPlanNode *node, int number);
extern Node *skx_plan_node_private(const SkxPlanNode *node, int number);

/* The next row that `fetch` gives and the quals leave; an empty slot at the end. */
extern TupleTableSlot *skx_plan_node_passing(SkxPlanNode *node);

/*
 * Puts a row of the only child, which has the slot's first `natts` columns, into
 * the slot; `place`: where it is in the table, for WHERE CURRENT OF.  Other
 * columns are NULL.
 */
extern void skx_plan_node_copy(const SkxPlanNode *node, TupleTableSlot *slot,
							   TupleTableSlot *row, int natts,
							   const ItemPointerData *place);

/*
 * Rows that are asked for, of LIMIT and OFFSET as they are now; 0: that is not
 * known.  False: there is no limit, or it is NULL.  A negative one is an error,
 * but not here.
 */
extern bool skx_plan_node_asked(SkxPlanNode *node, uint64 *rows);

/*
 * Tells EXPLAIN the number; where the scan was not run, if LIMIT and OFFSET are
 * constants.
 */
extern void skx_plan_node_explain_asked(SkxPlanNode *node, uint64 rows,
										struct ExplainState *es);

/*
 * What a child would do before its first fetch, as it is then that it begins the
 * scan of the index.  is_rechecked: the child returns a row that EvalPlanQual
 * has, and does not scan the index.
 */
extern void skx_plan_open_child(IndexScanState *child);
extern bool skx_plan_is_rechecked(const IndexScanState *child);

/*
 * plan_scan.c : rows by their distance.  Quals are those of the child, if
 * `document @@ query` is one of them: should the query be the ranking query, the
 * scan ends with the last row that has a score.  So they are if one of them
 * bounds the distance.
 */
extern const SkxPlanKind skx_plan_ranked;

enum
{
	SKX_EXPR_DOCUMENT = SKX_EXPR_FIRST, /* operands of `<@>` */
	SKX_EXPR_REF,
	SKX_EXPR_FILTER,			/* query that all rows have to match, or NULL */
	SKX_EXPR_BOUNDS				/* list of conditions that end the scan once
								 * they are not true */
};

enum
{
	SKX_RANKED_DISTANCE = SKX_PRIVATE_FIRST,	/* a list of the function
												 * under `<@>` */
	SKX_RANKED_EXTRA,			/* see SkxPlanLimit, */
	SKX_RANKED_PERCENT,			/* its `times` */
	SKX_RANKED_UNLIMITED		/* 1 if nothing tells that not all rows will
								 * be fetched, else 0 */
};

/* plan_ordered_scan.c : rows in the order of a column beside the text */
extern const SkxPlanKind skx_plan_ordered;

enum
{
	SKX_ORDERED_COLUMN = SKX_PRIVATE_FIRST, /* integers, as all that follow */
	SKX_ORDERED_DESCENDING,
	SKX_ORDERED_NULLS,			/* 1: they come first */
	SKX_ORDERED_DIVIDED,		/* parts for several processes */
	SKX_ORDERED_EXTRA,
	SKX_ORDERED_PERCENT,
	SKX_ORDERED_TIED			/* number of the child's column by which rows
								 * of one key are sorted; 0: they need not be */
};

/* plan_count_scan.c : one row, their number in each column */
extern const SkxPlanKind skx_plan_counted;

/* plan_facets_scan.c : a row for each value of a column */
extern const SkxPlanKind skx_plan_faceted;

enum
{
	SKX_FACETS_COLUMNS = SKX_PRIVATE_FIRST, /* integers, for each scan below
											 * the column of its index, from 0 */
	SKX_FACETS_OUTPUTS			/* integers, for each column that is returned
								 * a SkxFacetOutput */
};

/* plan_columns_scan.c : rows of columns that the index has the values of */
extern const SkxPlanKind skx_plan_columned;

enum
{
	SKX_COLUMNS_NUMBERS = SKX_PRIVATE_FIRST,	/* integers, of the index's
												 * columns, from 0, ascending */
	SKX_COLUMNS_ALL				/* 1: all rows will be fetched, as far as is
								 * known; else 0 */
};

/* plan_rivals.c : the rows of a merge of ranked scans */
extern const SkxPlanKind skx_plan_best;

#endif							/* SKX_PLAN_NODE_H */
