/*
 * facets.h
 *	  Counts how many of the rows that match have each value of columns beside
 *	  the text.
 */
#ifndef SKX_FACETS_H
#define SKX_FACETS_H

#include "answer/count/count.h"

/*
 * A request for the values of columns.  What it points to must stay valid
 * until the end of the facets.
 */
typedef struct SkxFacetsRequest
{
	SkxRequest	rows;			/* with heap and snapshot */
	SkxCountShared *share;		/* as for skx_count_rows() */
	int			ncolumns;
	const int  *columns;		/* of the index, from 0, ascending */
} SkxFacetsRequest;

/*
 * A value of a column, with the number of rows that have it.  Of an array,
 * each element is a value, and counts once a row.  NULL is a value, too.  The
 * lexeme (index/column/column_value.h) contains the column and the value, and
 * is valid until the next facet is returned.
 */
typedef struct SkxFacet
{
	SkxLexeme	lexeme;
	uint64		count;
	uint64		row;			/* one of these rows, for skx_facets_tid() */
} SkxFacet;

/*
 * Counters of work, per backend and never reset.  Tests check the work by
 * them, not only the results.
 */
typedef struct SkxFacetsWork
{
	uint64		df_values;		/* values counted by their df alone */
	uint64		list_values;	/* values counted by their posting lists */
	uint64		tested_postings;	/* postings that were looked up among the
									 * rows */
	uint64		bitmap_postings;	/* df of lists that were intersected with
									 * the rows as bitmaps */
	uint64		probed_rows;	/* rows that were looked up in a list */
	uint64		key_rows;		/* rows whose values were read from keys */
	uint64		fetched_rows;	/* rows that were fetched from the table for
								 * their values */
	uint64		sort_spills;	/* times that counts were moved to the sort
								 * that adds them up */
} SkxFacetsWork;

extern PGDLLIMPORT SkxFacetsWork skx_facets_work;

/* Adds to *sum what skx_facets_work has counted since it was *before. */
extern void skx_facets_add_work(SkxFacetsWork *sum,
								const SkxFacetsWork *before);

/*
 * Rows are looked up in a posting list, instead of the reverse, if it has
 * more than this many postings for each row.
 */
#define SKX_FACETS_PROBE_RATIO	16

/* facets_gather.c : the values of all rows that match */

/* The rows of a request, and the iterator over their values. */
typedef struct SkxFacets SkxFacets;

/*
 * Finds all rows that match, in the current memory context, and prepares
 * their values.  Adds to *work what skx_count_rows() does.
 */
extern SkxFacets *skx_facets_begin(const SkxFacetsRequest *request,
								   SkxCountWork *work);

/*
 * Sets *facet to the next value.  Returns false if there are no more.  Values
 * come column by column, ascending by their lexemes, each once.  The empty
 * array is not returned.  To be called in the memory context of
 * skx_facets_begin().
 */
extern bool skx_facets_next(SkxFacets *f, SkxFacet *facet);

/* Returns the number of rows that this process has found. */
extern uint64 skx_facets_rows(const SkxFacets *f);

/* Sets *tid to the tid of a row, given by `place` of a SkxFacet. */
extern void skx_facets_tid(const SkxFacets *f, uint64 place, ItemPointer tid);

/*
 * Closes what the facets have open.  Their other memory goes with its memory
 * context.
 */
extern void skx_facets_end(SkxFacets *f);

/* facets_sums.c : adds up the counts of values that come several times */

/* A sort of facets, in work_mem or on disk, that adds up their counts. */
typedef struct SkxFacetSums SkxFacetSums;

/* Begins a sort, in the current memory context. */
extern SkxFacetSums *skx_facets_sums_begin(void);

/* Adds a facet, which is copied. */
extern void skx_facets_sums_add(SkxFacetSums *sums, const SkxFacet *facet);

/* Sorts the facets.  None may be added after that. */
extern void skx_facets_sums_sort(SkxFacetSums *sums);

/*
 * Sets *facet to the next value, with the sum of its counts and the place of
 * one of its facets.  Returns false if there are no more.  Values ascend by
 * their lexemes, and each comes once.
 */
extern bool skx_facets_sums_next(SkxFacetSums *sums, SkxFacet *facet);

/* Frees the sort, at any time. */
extern void skx_facets_sums_end(SkxFacetSums *sums);

/* facets_ranges.c : counts by ranges of values */

/*
 * Counts the rows of a request by the range of their value in a column.
 * bounds are n ascending lexemes of the column.  Sets counts[i], for i from 0
 * to n, to the number of rows whose value is not below exactly i of the
 * bounds.  Sets counts[n + 1] to the number of rows whose value is NULL.
 * Adds to *work what skx_count_rows() does.  Errors out if a segment lacks
 * keys of a column whose keys determine its values.  Not for requests with
 * other processes.
 */
extern void skx_facets_count_ranges(const SkxRequest *rows, int column, int n,
									const SkxLexeme *bounds, uint64 *counts,
									SkxCountWork *work);

/* facets_words.c : words of the rows that match */

/* The rows of a request, of which those with a word are counted. */
typedef struct SkxFacetWords SkxFacetWords;

/* Returns how many documents the segments may have together. */
extern uint64 skx_facets_words_room(void);

/*
 * Finds all rows that match, in the current memory context, to count words
 * with the prefix.  What the request points to, and the prefix, must stay
 * valid.  Adds to *work what skx_count_rows() does.  Subtracts the documents of
 * the segments from *room; returns NULL, and has found nothing, if there are
 * more.
 */
extern SkxFacetWords *skx_facets_words_begin(const SkxRequest *request,
											 const SkxLexeme *prefix,
											 uint64 *room, SkxCountWork *work);

/* Returns the number of rows that were found. */
extern uint64 skx_facets_words_rows(const SkxFacetWords *w);

/* Returns how many of them have a word, which has the prefix. */
extern uint64 skx_facets_words_count(SkxFacetWords *w, const SkxLexeme *word);

/* Closes what is open.  Other memory goes with its memory context. */
extern void skx_facets_words_end(SkxFacetWords *w);

/* facets_value.c : converts lexemes of values to Datums */

/* A converter of the values of a request. */
typedef struct SkxFacetValues SkxFacetValues;

/*
 * Makes a converter in the current memory context.  The request must stay
 * valid.
 */
extern SkxFacetValues *skx_facets_values_begin(const SkxFacetsRequest *request);

/*
 * Returns the type of the values of a requested column: of an array, the type
 * of its elements.
 */
extern Oid	skx_facets_values_type(const SkxFacetValues *v, int column);

/*
 * Returns the value of a lexeme that is not the column's NULL, valid until
 * the next call.  It is made from the lexeme if that determines it; otherwise
 * it is read from the row at `tid`, which must have the value.  Errors out
 * (ERRCODE_INDEX_CORRUPTED) if the row is missing or lacks the array element.
 */
extern Datum skx_facets_values_get(SkxFacetValues *v, const SkxLexeme *lexeme,
								   const ItemPointerData *tid);

/* Frees what the converter holds, but not the converter itself. */
extern void skx_facets_values_end(SkxFacetValues *v);

#endif							/* SKX_FACETS_H */
