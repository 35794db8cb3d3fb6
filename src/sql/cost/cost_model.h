/*
 * cost_model.h
 *	  A model of the work of a query, computed from document frequencies.
 *	  Pure: builds without a server.
 */
#ifndef SKX_COST_MODEL_H
#define SKX_COST_MODEL_H

#include "format/disk/disk_dict.h"
#include "read/estimate/estimate.h"

/* The kind of an item of a query. */
typedef enum SkxCostKind
{
	SKX_COST_WORD,
	SKX_COST_NOT,
	SKX_COST_AND,
	SKX_COST_OR,
	SKX_COST_PHRASE
} SkxCostKind;

/*
 * An item of a query.  Items stand in the order of a tsquery: an operator is
 * followed by its right operand and that by its left one.
 */
typedef struct SkxCostItem
{
	SkxCostKind kind;
	double		df;				/* of a word: documents of all segments */
} SkxCostItem;

/* cost_model.c */

/* Returns how many elements skx_cost_model_match() needs in `sets`. */
extern int	skx_cost_model_stack_size(const SkxCostItem *items, int n);

/*
 * Returns the documents that match a query of n items, among ndocs documents.
 * `sets` is working memory for skx_cost_model_stack_size() sets.
 */
extern SkxEstimate skx_cost_model_match(const SkxCostItem *items, int n,
										double ndocs, SkxEstimate *sets);

/*
 * A word of a ranking query.  Contributions to scores are in any unit that is
 * the same for all words.
 */
typedef struct SkxCostWord
{
	double		df;
	double		max_contribution;	/* largest contribution of the word */
	double		kth_contribution[SKX_NKTH_BEST];	/* k-th largest
													 * contribution, for each
													 * k of
													 * SKX_KTH_BEST_RANKS; 0
													 * if there are fewer */
} SkxCostWord;

/* A ranked search. */
typedef struct SkxCostRanked
{
	double		ndocs;
	int			nwords;
	const SkxCostWord *words;	/* in any order */
	double		nmany_words;	/* number of words, if they are so many that
								 * their lists are gone through one by one;
								 * else 0 */
	double		postings;		/* in the lists of all words, if many > 0 */
	double		pair_docs;		/* documents with two neighbouring words of
								 * the query; 0 if pairs count nothing */
	double		proximity;		/* weight of a pair against that of its lesser
								 * word */
	bool		matches_any_word;	/* every document with a word matches;
									 * false: only those in `match` do */
	int			other_words;	/* words that the conditions of `match` do not
								 * look up */
	SkxEstimate match;			/* documents that match; with
								 * `matches_any_word` only its number is used */
} SkxCostRanked;

/*
 * Sets *work (ns) and *pages to what finding the k best rows takes.  The first
 * search is for `first` rows, and each further one for `growth` times as
 * many.  Neither result is less for a larger k.
 */
extern void skx_cost_model_best(const SkxCostRanked *ranked, double first,
								double k, double growth, double *work,
								double *pages);

/* Returns how many documents match and have one of the words. */
extern double skx_cost_model_scored_matches(const SkxCostRanked *ranked);

/* Returns about how many of these documents have at least that score. */
extern double skx_cost_model_count_above(const SkxCostRanked *ranked,
										 double score);

/* Time outside of the model, in ns: matching a pending document. */
#define SKX_COST_PENDING_NS	400.0

/* Time to look up a word, with what comes before and after. */
#define SKX_COST_LOOKUP_NS	3300.0

/* Time to begin on a segment. */
#define SKX_COST_SEGMENT_NS	6500.0

/* Time to begin a ranked scan, with statistics and all that it needs. */
#define SKX_COST_RANKING_NS	13000.0

/* Time to hand out a row, besides cpu_index_tuple_cost. */
#define SKX_COST_ROW_NS		13.0

/*
 * Times that cpu_operator_cost stands for, in ns.  This fits the planner's
 * price of a page that is in memory.
 */
#define SKX_COST_OPERATOR_NS	6.5

#endif							/* SKX_COST_MODEL_H */
