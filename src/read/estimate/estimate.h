/*
 * estimate.h
 *	  Estimates of how many documents a set has, and of the time to find them.
 *	  Pure: builds without a server.
 *
 * The planner feeds them with what the dictionary or ANALYZE says of all
 * documents, an execution with what its segment has.  Times are in ns, for an
 * index that is in memory.
 */
#ifndef SKX_ESTIMATE_H
#define SKX_ESTIMATE_H

/* Postings of a list on one page of BLCKSZ. */
#define SKX_ESTIMATE_PAGE_POSTINGS	4000.0

/* Time to traverse a list, for each posting. */
#define SKX_ESTIMATE_POSTING_NS	1.5

/* A set of documents, and what finding them takes. */
typedef struct SkxEstimate
{
	double		docs;			/* documents in it, if words are independent
								 * of each other */
	double		likely_docs;	/* documents in it, if words are correlated:
								 * geometric mean of independence and of the
								 * rarer set lying within the other */
	double		union_docs;		/* documents that it adds to a disjunction, on
								 * average: between docs and likely */
	double		lead_postings;	/* postings that are traversed to find them */
	double		find_time;		/* time to find all of them */
	double		fill_time;		/* time to set their bits in all windows */
	double		pages;			/* that are read to find all of them */
	double		probe_time;		/* time to test whether one document is in it,
								 * without decoding */
	double		probe_decode_time;	/* time of decoding for one such test */
	double		max_decode_time;	/* time of decoding for all tests at most */
	double		probed_lists;	/* posting lists that such a test probes */
	double		doc_span;		/* share of all documents that it lies among */
	bool		is_phrase;		/* it is of words that follow each other */
} SkxEstimate;

/* estimate_set.c : sets, among ndocs documents */

/* Returns the set of the documents that a word or a value has. */
extern SkxEstimate skx_estimate_word(double df, double ndocs);

/*
 * Returns a set of `docs` documents whose keys of a column are in a range.
 * `met` of the ndocs documents are in groups that have such keys.
 */
extern SkxEstimate skx_estimate_keys(double docs, double met, double ndocs);

/* Returns a set of documents that stands in bits already. */
extern SkxEstimate skx_estimate_bits(double docs, double ndocs);

/* Returns the documents that are not in the set. */
extern SkxEstimate skx_estimate_not(const SkxEstimate *a, double ndocs);

/* Returns the documents that are in both sets. */
extern SkxEstimate skx_estimate_and(const SkxEstimate *a,
									const SkxEstimate *b, double ndocs);

/* Returns the documents that are in one of the sets or in both. */
extern SkxEstimate skx_estimate_or(const SkxEstimate *a,
								   const SkxEstimate *b, double ndocs);

/*
 * Returns the documents in which a match of the one set is followed by one of
 * the other.  Both are sets of words or of phrases.
 */
extern SkxEstimate skx_estimate_phrase(const SkxEstimate *a,
									   const SkxEstimate *b, double ndocs);

/*
 * Returns the time to test n documents, which lie within a share `span` of
 * all.
 */
extern double skx_estimate_probe_time(const SkxEstimate *set, double n,
									  double span);

/* Returns the pages that are read for such tests. */
extern double skx_estimate_probe_pages(const SkxEstimate *set, double n,
									   double span);

/*
 * Returns the expected share of the windows that have one of `docs` documents,
 * if these are spread at random.
 */
extern double skx_estimate_windows_hit(double docs, double ndocs);

/*
 * Returns the time to go through the posting lists of a prefix one by one.
 * With `places`, their positions are read as well, as for a phrase.
 */
extern double skx_estimate_gather_time(double lists, double postings,
									   bool places);

/* estimate_likely.c : numbers of documents */

/*
 * Returns the likely size of the conjunction of sets of a and b documents, if
 * these are of words.  Words of one query tend to be in the same documents.
 */
extern double skx_estimate_likely_and(double a, double b, double ndocs);

/*
 * Returns how many of `together` documents, which have all words of a phrase,
 * have the phrase.  With `longer`, they have a phrase already that one more
 * word is to continue.
 */
extern double skx_estimate_likely_phrase(double together, bool longer);

/* estimate_leads.c : what leads a search for the best documents */

/*
 * Returns true if a search for the `best` documents by words among ndocs, which
 * must also be in a set, takes less time if the documents of the set are looked
 * up in the lists of the words.  Otherwise the best documents by words are
 * tested, until enough of them are in the set.  The set has `docs` documents
 * and goes through `steps` postings to find them; the words have `scored`
 * postings.
 */
extern bool skx_estimate_set_leads(double docs, double steps, double scored,
								   double best, double ndocs);

/*
 * estimate_values.c : times to count some rows by their values in a column
 */

/*
 * Returns the time to go through the lists of that many values, which have so
 * many postings together.
 */
extern double skx_estimate_values_listed(double values, double postings);

/*
 * Returns the time to read the keys of the rows, and to count their values in
 * so many bytes of memory.  `values` are those of all rows of the table.
 */
extern double skx_estimate_values_keyed(double rows, double values,
										double memory);

/* Returns the time to fetch the rows from the table. */
extern double skx_estimate_values_fetched(double rows);

#endif							/* SKX_ESTIMATE_H */
