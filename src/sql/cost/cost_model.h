/*
 * cost_model.h
 *	  A model of the work of a query, computed from document frequencies.
 *	  Pure: builds without a server.
 */
#ifndef SKX_COST_MODEL_H
#define SKX_COST_MODEL_H

#include "format/disk/disk_dict.h"

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

/*
 * A set of documents, and what finding them takes.  Work is in units of
 * cpu_operator_cost, fetching rows from the heap not included.
 */
typedef struct SkxCostSet
{
	double		docs;			/* documents in it, if words are independent
								 * of each other */
	double		likely;			/* documents in it, if words are correlated:
								 * geometric mean of independence and of the
								 * rarer set lying within the other */
	double		among;			/* documents that it adds to a disjunction, on
								 * average: between docs and likely */
	double		lead;			/* postings that are traversed to find them */
	double		work;			/* to find all of them */
	double		pages;			/* that are read for that */
	double		ask;			/* work to test whether one document is in it,
								 * without decoding */
	double		decode;			/* work of decoding for one such test; in
								 * total never more than `work` */
	double		lists;			/* posting lists that such a test probes */
	double		span;			/* share of all documents that it lies among */
	bool		phrase;			/* it is of words that follow each other */
} SkxCostSet;

/* cost_model.c */

/* Returns how many elements skx_cost_model_match() needs in `sets`. */
extern int	skx_cost_model_depth(const SkxCostItem *items, int n);

/*
 * Returns the documents that match a query of n items, among ndocs documents.
 * `sets` is working memory for skx_cost_model_depth() sets.
 */
extern SkxCostSet skx_cost_model_match(const SkxCostItem *items, int n,
									   double ndocs, SkxCostSet *sets);

/*
 * Returns a set of `docs` documents whose keys of a column are in a range.
 * `met` of the ndocs documents are in groups that have such keys.
 */
extern SkxCostSet skx_cost_model_keys(double docs, double met, double ndocs);

/*
 * Returns the work to go through the posting lists of a prefix one by one.
 * With `places`, their positions are read as well, as for a phrase.
 */
extern double skx_cost_model_gathered(double lists, double postings,
									  bool places);

/* Returns the documents, of ndocs, that are in both sets. */
extern SkxCostSet skx_cost_model_both(const SkxCostSet *a, const SkxCostSet *b,
									  double ndocs);

/*
 * A word of a ranking query.  Contributions to scores are in any unit that is
 * the same for all words.
 */
typedef struct SkxCostWord
{
	double		df;
	double		most;			/* largest contribution of the word */
	double		kth[SKX_NKTHS]; /* k-th largest contribution, for each k of
								 * SKX_KTHS; 0 if there are fewer */
} SkxCostWord;

/* A ranked search. */
typedef struct SkxCostRanked
{
	double		ndocs;
	int			nwords;
	const SkxCostWord *words;	/* in any order */
	double		many;			/* number of words, if they are so many that
								 * their lists are gone through one by one;
								 * else 0 */
	double		postings;		/* in the lists of all words, if many > 0 */
	double		paired;			/* documents with two neighbouring words of
								 * the query; 0 if pairs count nothing */
	double		proximity;		/* weight of a pair against that of its lesser
								 * word */
	bool		any;			/* every document with a word matches; false:
								 * only those in `match` do */
	int			others;			/* words that the conditions of `match` do not
								 * look up */
	SkxCostSet	match;			/* documents that match; with `any` only its
								 * number is used */
} SkxCostRanked;

/*
 * Sets *work and *pages to what finding the k best rows takes.  The first
 * search is for `first` rows, and each further one for `growth` times as
 * many.  Neither result is less for a larger k.
 */
extern void skx_cost_model_best(const SkxCostRanked *ranked, double first,
								double k, double growth, double *work,
								double *pages);

/* Returns how many documents match and have one of the words. */
extern double skx_cost_model_findable(const SkxCostRanked *ranked);

/* Returns about how many of these documents have at least that score. */
extern double skx_cost_model_above(const SkxCostRanked *ranked, double score);

/* Postings of a list on one page of BLCKSZ. */
#define SKX_COST_PAGE_POSTINGS	4000.0

/*
 * Work outside of the model, in the same units: matching a pending document.
 */
#define SKX_COST_PENDING	60.0

/* Work of looking up a word, with what comes before and after. */
#define SKX_COST_OPEN	500.0

/* Work of beginning on a segment. */
#define SKX_COST_SEGMENT	1000.0

/* Work of beginning a ranked scan, with statistics and all that it needs. */
#define SKX_COST_RANKING	2000.0

/* Work of handing out a row, besides cpu_index_tuple_cost. */
#define SKX_COST_ROW		2.0

#endif							/* SKX_COST_MODEL_H */
