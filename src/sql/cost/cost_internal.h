/*
 * cost_internal.h
 *	  Between the files of cost/.
 */
#ifndef SKX_COST_INTERNAL_H
#define SKX_COST_INTERNAL_H

#include "answer/topk/topk.h"
#include "index/snapshot/snapshot.h"
#include "read/query/query.h"
#include "read/score/score.h"
#include "sql/cost/cost.h"
#include "sql/cost/cost_model.h"

/* Words of a ranking query, and values of a condition, that are looked up. */
#define SKX_COST_LOOKUPS	SKX_TOPK_MANY

/*
 * Words of a condition's query that are.  Of more, so many from its beginning to
 * its end, some next to each other, as words of a conjunction are: these stand
 * for the others.
 */
#define SKX_COST_MATCHED	(4 * SKX_COST_LOOKUPS)
#define SKX_COST_NEIGHBOURS	8

/* Words of all queries that are looked up. */
#define SKX_COST_LEXEMES	(2 * SKX_COST_MATCHED)

/* Share of the documents that have a word of which nothing is known. */
#define SKX_COST_UNKNOWN	0.005

/* `column < value`, and the like. */
typedef struct SkxCostRange
{
	int			column;			/* of the index, from 0 */
	List	   *quals;			/* RestrictInfo */
} SkxCostRange;

/* Words or prefixes of a query; how many documents of a segment have each. */
typedef struct SkxCostKnown
{
	int			n;
	SkxLexeme  *lexemes;		/* ascending, distinct */
	double	   *df;
} SkxCostKnown;

/* What is known of the queries of one scan, and of the index. */
typedef struct SkxCosting
{
	PlannerInfo *root;
	const SkxCostIndex *index;
	IndexPath  *path;			/* NULL: only what matches is asked for */
	List	   *filters;		/* TSQuery, of `@@` */
	List	   *conditions;		/* SkxCondition, of other columns, and others
								 * of the text */
	List	   *ranges;			/* SkxCostRange: others, of which the planner
								 * knows how many rows meet them */
	List	   *unknown;		/* RestrictInfo: conditions of which only the
								 * planner knows that */
	bool		nothing;		/* a query is NULL or empty */
	TSQuery		ranking;		/* of `<@>`; NULL: unknown, or none */
	double		rows;			/* that match, as the planner thinks */

	/* of the index */
	double		ndocs;			/* at least 1 */
	double		nsegments;
	double		npending;
	double		pending_pages;
	double		length;			/* average */

	/* of the queries' words */
	int			nlexemes;		/* of `lexemes` */
	double		left;			/* words that are not among these */
	SkxTerm    *terms;			/* df 0: none; scaled by: */
	double		scale;
	double		average;		/* df of a word that was not looked up */
	int			nprefixes;		/* that were looked up, */
	double		prefixed;		/* and df of all of them */
	const SkxCostKnown *known;	/* NULL: the above; else all words, and all
								 * prefixes */
	bool		phrase;			/* is the operand that is looked up one of a
								 * phrase? */
	Cost		charged;		/* to gather bits, as disjunctions tell */
	double		gathered;		/* work before the first row: their lists, */
	double		gathered_pages; /* and what is read for that */
	bool		read;			/* are the terms known, of the largest
								 * segment? */
	double		segment_docs;	/* of that */
	SkxSource  *source;			/* NULL: it was not opened */

	/* last, as it is large, and not cleared */
	SkxLexeme	lexemes[SKX_COST_LEXEMES];	/* ascending, distinct */
} SkxCosting;

/* What a scan does: before its first row, and for all rows. */
typedef struct SkxCostScan
{
	double		lookups;		/* words */
	double		work[2];
	double		pages[2];		/* of lists */
	double		listed;			/* pages that these have; never less */
	double		scored;			/* share of the rows that come by a score */
	double		near;			/* share of the table that these rows lie in */
	double		likely;			/* rows that match; 0: not known */
	double		segments;
	double		pending;		/* documents, */
	double		pending_pages;	/* and their pages */
	Cost		charged;		/* see SkxCosting */
} SkxCostScan;

/*
 * cost_planned.c : what was found last, for the same index
 *
 * scan: what the scan of a path does, which follows from its index and
 * conditions, the distance, and how many rows the planner expects: `selectivity`
 * is that of the conditions as the planner has it, or, when it is kept, below 0
 * where nothing follows from it; NULL: it is not known.
 * terms: of n lexemes, ascending and distinct, filled in; false: not all of them
 * are known.
 */
extern const SkxCostScan *skx_cost_planned_scan(PlannerInfo *root,
												const IndexPath *path,
												Selectivity selectivity);
extern void skx_cost_planned_keep_scan(PlannerInfo *root,
									   const IndexPath *path,
									   Selectivity selectivity,
									   const SkxCostScan *scan);
extern bool skx_cost_planned_terms(PlannerInfo *root, Relation index,
								   const SkxLexeme *lexemes, int n,
								   SkxTerm *terms);
extern void skx_cost_planned_keep_terms(PlannerInfo *root, Relation index,
										const SkxLexeme *lexemes, int n,
										const SkxTerm *terms);

/*
 * cost_query.c : the queries, as far as the planner knows them
 *
 * conditions, of a column (from 0), and queries fill filters, conditions and
 * ranking; gather adds words of a query that are no prefixes, or values of a
 * condition, as far as there is room.
 * plain is how many of a query's operands are no prefixes; looked_up: of each of
 * these, itself or the one that stands for it.  ranks_filter: is
 * the ranking query the condition, and the only one?  ranking is the query of
 * `<@>`, NULL if it cannot be known.
 */
extern void skx_cost_conditions(SkxCosting *c, List *quals, int column);
extern void skx_cost_queries(SkxCosting *c);
extern TSQuery skx_cost_ranking(PlannerInfo *root, Node *distance);
extern int	skx_cost_plain(TSQuery query);
extern const QueryOperand **skx_cost_looked_up(TSQuery query);
extern void skx_cost_gather(SkxCosting *c, TSQuery query);
extern void skx_cost_gather_condition(SkxCosting *c,
									  const SkxCondition *condition);
extern bool skx_cost_ranks_filter(const SkxCosting *c);

/*
 * cost_words.c : what the index knows of their words
 *
 * begin reads it, as far as it may be read, until end.  operand is the term of
 * an operand, or NULL; in any case how many documents have it.  value_df: how
 * many have a value.
 */
extern double skx_cost_value_df(SkxCosting *c, const SkxLexeme *value);
extern void skx_cost_begin(SkxCosting *c);
extern void skx_cost_end(SkxCosting *c);
extern const SkxTerm *skx_cost_operand(SkxCosting *c, TSQuery query,
									   const QueryOperand *operand,
									   double *df);

/*
 * cost_rows.c : the documents that match a query, or all conditions
 *
 * near: the share of the table in which rows that match lie, above 0 to 1.  It
 * is less than 1 where a condition is on a column that follows the order of the
 * table's rows.
 */
extern SkxCostSet skx_cost_filter(SkxCosting *c, TSQuery query);
extern SkxCostSet skx_cost_filters(SkxCosting *c);
extern double skx_cost_near(const SkxCosting *c);

/*
 * cost_ranked.c : a search finds the best before it hands them out, and then
 * all the rest; `match` are the documents that match.  above: how many have a
 * score of at least so much; of 0: a word of the ranking query
 */
extern void skx_cost_ranked(SkxCosting *c, const SkxCostSet *match,
							SkxCostScan *scan);
extern double skx_cost_above(SkxCosting *c, double score);

#endif							/* SKX_COST_INTERNAL_H */
