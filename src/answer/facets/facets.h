/*
 * facets.h
 *	  How many of the rows that match have each value of columns beside the
 *	  text.
 */
#ifndef SKX_FACETS_H
#define SKX_FACETS_H

#include "answer/count/count.h"

/* Columns of an index (from 0), ascending. */
typedef struct SkxFacetsRequest
{
	SkxRequest	rows;			/* which look rows up */
	SkxCountShare *share;		/* as skx_count_rows() has it */
	int			ncolumns;
	const int  *columns;
} SkxFacetsRequest;

/*
 * A value that some of the rows have; of an array an element, and each counts
 * once a row.  The lexeme (index/column/column_value.h) tells the column, and stays
 * until the next one.
 */
typedef struct SkxFacet
{
	SkxLexeme	lexeme;
	uint64		count;
	uint64		place;			/* of one of these rows: skx_facets_tid() */
} SkxFacet;

/* Counted per backend and never reset: tests assert work, not only answers. */
typedef struct SkxFacetsWork
{
	uint64		totals;			/* values known by their df, */
	uint64		lists;			/* and by their posting lists */
	uint64		tested;			/* postings of them that were looked up among
								 * the rows, */
	uint64		filled;			/* or of lists that were laid over them, */
	uint64		probed;			/* and rows that were looked up in a list */
	uint64		keyed;			/* rows whose keys told their values */
	uint64		fetched;		/* rows that told their values themselves */
	uint64		passes;			/* what was found was put aside to be summed
								 * up */
} SkxFacetsWork;

extern PGDLLIMPORT SkxFacetsWork skx_facets_work;

/* Adds what was counted since `before`. */
extern void skx_facets_add_work(SkxFacetsWork *sum,
								const SkxFacetsWork *before);

/*
 * facets_gather.c
 *
 * begin finds the rows; next gives the values, column by column, each once,
 * ascending by their lexemes, without those that are an empty array; false at
 * the end.  In the memory context of begin.
 */
typedef struct SkxFacets SkxFacets;

extern SkxFacets *skx_facets_begin(const SkxFacetsRequest *request,
								   SkxCountWork *work);
extern bool skx_facets_next(SkxFacets *f, SkxFacet *facet);
extern uint64 skx_facets_rows(const SkxFacets *f);
extern void skx_facets_tid(const SkxFacets *f, uint64 place, ItemPointer tid);
extern void skx_facets_end(SkxFacets *f);

/*
 * facets_sums.c : values of several of these, or of several goes, added up
 *
 * sort comes after the last add; next gives each value once, ascending, with
 * one of its places.
 */
typedef struct SkxFacetSums SkxFacetSums;

extern SkxFacetSums *skx_facets_sums_begin(void);
extern void skx_facets_sums_add(SkxFacetSums *sums, const SkxFacet *facet);
extern void skx_facets_sums_sort(SkxFacetSums *sums);
extern bool skx_facets_sums_next(SkxFacetSums *sums, SkxFacet *facet);
extern void skx_facets_sums_end(SkxFacetSums *sums);

/*
 * facets_ranges.c : how many rows have values between bounds
 *
 * Of a column that has keys, n ascending bounds, which are lexemes of it.
 * counts[i] is that of values not below i of them, and below all others;
 * counts[n + 1] that of NULLs.
 */
extern void skx_facets_ranges(const SkxRequest *rows, int column, int n,
							  const SkxLexeme *bounds, uint64 *counts,
							  SkxCountWork *work);

/*
 * facets_value.c : values as they are in the table
 *
 * get is of a value that next gave and that is no NULL: as one of its rows has
 * it, valid until the next call; type: what it is of.
 */
typedef struct SkxFacetValues SkxFacetValues;

extern SkxFacetValues *skx_facets_values_begin(const SkxFacetsRequest *request);
extern Oid	skx_facets_values_type(const SkxFacetValues *v, int column);
extern Datum skx_facets_values_get(SkxFacetValues *v, const SkxLexeme *lexeme,
								   const ItemPointerData *tid);
extern void skx_facets_values_end(SkxFacetValues *v);

#endif							/* SKX_FACETS_H */
