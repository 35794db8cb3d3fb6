/*
 * cost_model.h
 *	  How much work a query is, from document frequencies.  Pure: builds
 *	  without a server.
 */
#ifndef SKX_COST_MODEL_H
#define SKX_COST_MODEL_H

#include "format/disk/disk_dict.h"

/*
 * An item of a query.  Items stand in the order of a tsquery: an operator is
 * followed by its right operand and that by its left one.
 */
typedef enum SkxCostKind
{
	SKX_COST_WORD,
	SKX_COST_NOT,
	SKX_COST_AND,
	SKX_COST_OR,
	SKX_COST_PHRASE
} SkxCostKind;

typedef struct SkxCostItem
{
	SkxCostKind kind;
	double		df;				/* of a word: documents, all segments' */
} SkxCostItem;

/*
 * What it is to find the documents of a query.  Work is in units of
 * cpu_operator_cost, fetching them from the heap not included.
 */
typedef struct SkxCostSet
{
	double		docs;			/* about so many match, if words are
								 * independent of each other */
	double		likely;			/* matches if words are correlated: geometric
								 * mean of independence and of the rarer set
								 * lying within the other */
	double		among;			/* on average, which is what it adds to a
								 * disjunction: between these two */
	double		lead;			/* postings traversed */
	double		work;			/* to find all of them */
	double		pages;			/* that are read for that */
	double		ask;			/* work to probe for a document, without
								 * decoding */
	double		decode;			/* and that, but never more than the work */
	double		lists;			/* of postings that are probed for it */
	double		span;			/* share of all documents among which they lie */
	bool		phrase;			/* words that follow each other */
} SkxCostSet;

/*
 * cost_model.c
 *
 * match: `sets` has room for as many as depth tells, which of a row of one
 * operator are few; the result is that of the whole query.
 * both: documents that are in two sets.  keys: those whose keys of a column are
 * in a range, where `met` of all documents lie in groups that have such keys.
 * gathered: work to go through lists of a prefix one by one; places: once for
 * the documents, and once for the places of those that are short.
 */
extern int	skx_cost_model_depth(const SkxCostItem *items, int n);
extern SkxCostSet skx_cost_model_match(const SkxCostItem *items, int n,
									   double ndocs, SkxCostSet *sets);
extern SkxCostSet skx_cost_model_keys(double docs, double met, double ndocs);
extern double skx_cost_model_gathered(double lists, double postings,
									  bool places);
extern SkxCostSet skx_cost_model_both(const SkxCostSet *a, const SkxCostSet *b,
									  double ndocs);

/*
 * A word of a ranking query.  Parts of scores are in any unit, the same for
 * all words; kth are those of the postings with the k-th largest part for each
 * k of SKX_KTHS, 0 if there are fewer.
 */
typedef struct SkxCostWord
{
	double		df;
	double		most;			/* no part is larger */
	double		kth[SKX_NKTHS];
} SkxCostWord;

typedef struct SkxCostRanked
{
	double		ndocs;
	int			nwords;
	const SkxCostWord *words;	/* in any order */
	double		many;			/* words are so many that their lists are gone
								 * through one by one; 0: they are not */
	double		postings;		/* of all of these */
	double		paired;			/* documents with two neighbouring words,
								 * where these count for something: */
	double		proximity;		/* what a pair counts beside its words */
	bool		any;			/* whatever has one of the words matches; or
								 * those in `match` */
	int			others;			/* words that `match` does not ask for */
	SkxCostSet	match;			/* rows that come out; with `any` only how
								 * many */
} SkxCostRanked;

/*
 * To find the k best rows by searches for `first`, and then each time for
 * `growth` times as many: work and pages.  Never less for a larger k.
 */
extern void skx_cost_model_best(const SkxCostRanked *ranked, double first,
								double k, double growth, double *work,
								double *pages);

/*
 * Documents that match and have one of the words; above: about how many of all
 * have a score of at least so much.
 */
extern double skx_cost_model_findable(const SkxCostRanked *ranked);
extern double skx_cost_model_above(const SkxCostRanked *ranked, double score);

/* Postings of a list on one page of BLCKSZ. */
#define SKX_COST_PAGE_POSTINGS	4000.0

/* Work that is not the model's own: matching one pending document, ... */
#define SKX_COST_PENDING	60.0

/* ... looking a word up, with what comes before and after, ... */
#define SKX_COST_OPEN	500.0

/* ... beginning on a segment, ... */
#define SKX_COST_SEGMENT	1000.0

/* ... and to rank, with statistics and all that a search needs, ... */
#define SKX_COST_RANKING	2000.0

/* ... and handing out a row, besides cpu_index_tuple_cost. */
#define SKX_COST_ROW		2.0

#endif							/* SKX_COST_MODEL_H */
