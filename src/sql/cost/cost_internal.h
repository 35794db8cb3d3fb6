/*
 * cost_internal.h
 *	  Declarations that the files of cost/ share.
 */
#ifndef SKX_COST_INTERNAL_H
#define SKX_COST_INTERNAL_H

#include "answer/topk/topk.h"
#include "index/snapshot/snapshot.h"
#include "read/query/query.h"
#include "read/score/score.h"
#include "sql/cost/cost.h"
#include "sql/cost/cost_model.h"

/*
 * How many words of a ranking query, values of a condition and prefixes are
 * looked up at most.
 */
#define SKX_COST_LOOKUPS_MAX	SKX_TOPK_MANY_WORDS

/*
 * How many words of a condition's query are looked up at most.  In a longer
 * query, that many words from its beginning to its end are looked up, and
 * stand for the others.  They come in groups of SKX_COST_PAIR_LOOKUPS_MAX,
 * because words of a conjunction are next to each other.
 */
#define SKX_COST_QUERY_LOOKUPS_MAX	(4 * SKX_COST_LOOKUPS_MAX)
#define SKX_COST_PAIR_LOOKUPS_MAX	8

/* How many words of all queries of a scan are looked up at most. */
#define SKX_COST_LEXEMES_MAX	(2 * SKX_COST_QUERY_LOOKUPS_MAX)

/*
 * Share of the documents that have a word, if nothing is known of the word.
 */
#define SKX_COST_UNKNOWN_FRACTION	0.005

/* Conditions like `column < value` on one column. */
typedef struct SkxCostRange
{
	int			column;			/* of the index, from 0 */
	List	   *quals;			/* RestrictInfo */
} SkxCostRange;

/*
 * Words or prefixes of a query, and their document frequencies in a segment.
 */
typedef struct SkxCostFoundWords
{
	int			n;
	SkxLexeme  *lexemes;		/* ascending, distinct */
	double	   *df;				/* of each lexeme */
} SkxCostFoundWords;

/* The estimate of one scan: what is known of its queries and of the index. */
typedef struct SkxCostState
{
	PlannerInfo *root;
	const SkxCostIndex *index;
	IndexPath  *path;			/* NULL: only matches are estimated, no cost */
	List	   *filters;		/* TSQuery: queries of `@@` */
	List	   *conditions;		/* SkxCondition: of other columns, and on the
								 * text other than `@@` */
	List	   *ranges;			/* SkxCostRange: ranges of other columns; the
								 * planner knows how many rows meet them */
	List	   *unknown;		/* RestrictInfo: conditions that only the
								 * planner can estimate */
	bool		is_empty;		/* no row matches: a query is NULL or empty */
	TSQuery		ranking;		/* query of `<@>`; NULL: unknown, or none */
	double		rows;			/* that match, as the planner expects */

	/* of the index */
	double		ndocs;			/* documents, at least 1 */
	double		nsegments;
	double		npending;		/* pending documents */
	double		pending_pages;
	double		length;			/* average number of words of a document */

	/* of the queries' words */
	int			nlexemes;		/* number of `lexemes` */
	double		nskipped_words; /* words that are not among these */
	SkxTerm    *terms;			/* of `lexemes`, in the largest segment; df 0:
								 * the segment does not have it */
	double		df_scale;		/* ndocs by the documents of that segment */
	double		average_df;		/* df of a word that was not looked up */
	int			nprefixes;		/* prefixes that were looked up */
	double		prefix_df_sum;	/* sum of their df */
	const SkxCostFoundWords *found; /* all words [0] and all prefixes [1], if
									 * not NULL; else `terms` is used */
	bool		in_phrase;		/* the operand being looked up is one of a
								 * phrase */
	Cost		disjunction_cost;	/* cost of gathering bits, which
									 * disjunctions tell */
	double		gather_ns;		/* ns before the first row for the lists of
								 * prefixes */
	double		gather_pages;	/* pages that are read for that */
	bool		was_read;		/* `terms` and `segment_docs` are set */
	double		segment_docs;	/* documents of the largest segment */
	SkxSnapshotReader *source;	/* NULL: it was not opened */

	/* last, as it is large, and not cleared */
	SkxLexeme	lexemes[SKX_COST_LEXEMES_MAX];	/* ascending, distinct */
} SkxCostState;

/*
 * What a scan does.  Arrays of two have the amount before the first row at 0,
 * and the amount for all rows at 1.
 */
typedef struct SkxCostScan
{
	double		lookups;		/* words that are looked up */
	double		work[2];		/* in ns */
	double		pages[2];		/* pages of posting lists that are read */
	double		list_pages;		/* pages in these lists, at least `pages` */
	double		scored_fraction;	/* share of the rows that come by a score */
	double		table_fraction; /* share of the table that the rows lie in */
	double		likely_rows;	/* rows that match; 0: not known */
	double		segments;
	double		pending;		/* pending documents */
	double		pending_pages;
	Cost		disjunction_cost;	/* see SkxCostState */
} SkxCostScan;

/* cost_planned.c : results that are kept while a statement is planned */

/*
 * Returns what the scan of a path does, if it was kept for a path with the
 * same index, conditions and distance; else NULL.  `selectivity` is that of
 * the conditions as the planner has it.  If the result depends on what the
 * planner expects, selectivity and number of rows must be equal, too.
 */
extern const SkxCostScan *skx_cost_planned_scan(PlannerInfo *root,
												const IndexPath *path,
												Selectivity selectivity);

/*
 * Keeps a copy of what the scan of a path does.  `selectivity` is that of the
 * conditions as the planner has it, or a value below 0 if the result does not
 * depend on what the planner expects.
 */
extern void skx_cost_planned_keep_scan(PlannerInfo *root,
									   const IndexPath *path,
									   Selectivity selectivity,
									   const SkxCostScan *scan);

/*
 * Fills in the terms of n lexemes, which are ascending and distinct, if they
 * were kept.  Returns false if one of them was not.
 */
extern bool skx_cost_planned_terms(PlannerInfo *root, Relation index,
								   const SkxLexeme *lexemes, int n,
								   SkxTerm *terms);

/*
 * Keeps a copy of n lexemes and their terms, in place of those kept before
 * for the index.  Does nothing if they are too many or too long.
 */
extern void skx_cost_planned_keep_terms(PlannerInfo *root, Relation index,
										const SkxLexeme *lexemes, int n,
										const SkxTerm *terms);

/* cost_query.c : the queries, as far as the planner knows them */

/*
 * Adds quals (RestrictInfo) on a column (from 0) to the filters, conditions,
 * ranges or unknown conditions.  Sets c->is_empty if one of them is never met.
 */
extern void skx_cost_conditions(SkxCostState *c, List *quals, int column);

/*
 * Adds all conditions of c->path, and sets c->ranking and c->disjunction_cost.
 */
extern void skx_cost_add_queries(SkxCostState *c);

/*
 * Returns the query of a distance (an OpExpr), of a ranking as a value any of
 * its words; NULL if it cannot be known.
 */
extern TSQuery skx_cost_ranking(const SkxCostState *c, Node *distance);

/* Returns how many operands of a query are words, not prefixes. */
extern int	skx_cost_count_words(TSQuery query);

/*
 * Returns for each word of a query, in order, the word that is looked up for
 * it: itself, or in a long query one that stands for it.  The array has
 * skx_cost_count_words() elements and is palloc'd.
 */
extern const QueryOperand **skx_cost_lookup_words(TSQuery query);

/*
 * Adds the words of a query that are looked up to c->lexemes, as far as there
 * is space, and counts all others in c->nskipped_words.
 */
extern void skx_cost_gather_words(SkxCostState *c, TSQuery query);

/* Adds values of a condition to c->lexemes, likewise. */
extern void skx_cost_gather_condition(SkxCostState *c,
									  const SkxCondition *condition);

/*
 * Returns true if the ranking query is also the query of the only condition
 * of the scan.
 */
extern bool skx_cost_ranks_filter(const SkxCostState *c);

/* cost_words.c : what the index knows of the queries' words */

/* Returns how many documents have a value of a column. */
extern double skx_cost_value_df(SkxCostState *c, const SkxLexeme *value);

/*
 * Gathers the words of all queries, and looks them up if the index may be
 * read.  Must be followed by skx_cost_end().
 */
extern void skx_cost_begin(SkxCostState *c);

/* Closes what skx_cost_begin() and further look-ups have opened. */
extern void skx_cost_end(SkxCostState *c);

/*
 * Sets *df to how many documents have an operand of the query.  Returns its
 * term in the largest segment; NULL for a prefix, or if it was not looked up.
 */
extern const SkxTerm *skx_cost_operand_df(SkxCostState *c, TSQuery query,
										  const QueryOperand *operand,
										  double *df);

/* cost_rows.c : the documents that match */

/* Returns the documents that match one query, and the work to find them. */
extern SkxEstimate skx_cost_query_docs(SkxCostState *c, TSQuery query);

/*
 * Returns the documents that match all conditions of the scan, and the work
 * to find them.
 */
extern SkxEstimate skx_cost_all_conditions(SkxCostState *c);

/*
 * Returns the share of the table in which the rows that match lie, above 0 to
 * 1.  It is less than 1 if a condition is on a column that follows the order
 * of the table's rows.
 */
extern double skx_cost_table_fraction(const SkxCostState *c);

/* cost_ranked.c : ranked scans */

/*
 * Sets work, pages and scored of a ranked scan.  It finds the best rows
 * before it hands out the first, and then all others.  `match` are the
 * documents that match its conditions.
 */
extern void skx_cost_ranked(SkxCostState *c, const SkxEstimate *match,
							SkxCostScan *scan);

/*
 * Returns about how many documents have at least that score by the ranking
 * query; for a score of 0, how many have a word of it.
 */
extern double skx_cost_docs_above(SkxCostState *c, double score);

#endif							/* SKX_COST_INTERNAL_H */
