/*
 * facets_cost.c
 *	  Estimates from what the values of some rows cost least: from the posting
 *	  lists of a column, the keys of the rows, or the rows themselves.
 *
 * Costs are in units of the time that a list takes for a document, 3 ns.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

/*
 * Opening a list takes 300 ns.  Looking up and sorting the key of a row takes
 * 100 ns.  Counting a value by itself takes 200 ns, or 600 if memory does not
 * suffice for all of them.  Fetching a row is counted as 6 us: it takes 2 us
 * or more, and much more if the row has to be read.
 */
#define SKX_FACETS_OPEN		100
#define SKX_FACETS_KEY		32
#define SKX_FACETS_VALUE	64
#define SKX_FACETS_SPILLED	200
#define SKX_FACETS_FETCH	2000

/* Approximate bytes of memory for a value that is counted by itself. */
#define SKX_FACETS_BYTES	128

/*
 * Assumed bound of the array elements of a document.  If fetching the rows
 * costs more than this many for each document, their lists are not examined
 * one by one.
 */
#define SKX_FACETS_ELEMENTS	32

/*
 * Returns the number of values of a column in the segment.  Each has a list.
 */
static uint64
skx_facets_count_lists(const SkxFacetInput *input, int column)
{
	SkxFacetBounds bounds;

	skx_facets_bounds(column, &bounds);
	return skx_segment_terms_between(input->seg, &bounds.ends[0],
									 &bounds.ends[1]);
}

bool
skx_facets_keys_cost_less(const SkxFacetInput *input, int column)
{
	uint64		lists = skx_facets_count_lists(input, column);
	uint64		values = Min(lists, input->n);
	bool		fit = values * SKX_FACETS_BYTES <= (uint64) work_mem * 1024;

	return (uint64) input->n * SKX_FACETS_KEY +
		values * (fit ? SKX_FACETS_VALUE : SKX_FACETS_SPILLED) <
		lists * SKX_FACETS_OPEN + (input->to - input->from);
}

/*
 * Returns the cost of the lists of a column of arrays, or a number above
 * `enough`.
 */
static uint64
skx_facets_elements_cost(const SkxFacetInput *input, int column, uint64 enough)
{
	SkxTermWalk *walk = skx_segment_walk_begin(input->seg);
	uint64		span = input->to - input->from;
	uint64		cost = 0;
	SkxFacetBounds bounds;
	SkxLexeme	lexeme;
	SkxTerm		term;

	skx_facets_bounds(column, &bounds);
	skx_segment_walk_range(walk, bounds.ends);
	while (cost <= enough &&
		   skx_segment_walk_next(walk, &term, &lexeme.bytes, &lexeme.len) &&
		   skx_column_compare_lexeme(&lexeme, &bounds.ends[1]) < 0)
	{
		uint64		df = term.df * span / input->seg->header.ndocs;

		CHECK_FOR_INTERRUPTS();
		cost += SKX_FACETS_OPEN +
			Min(df, (uint64) input->n * SKX_FACETS_PROBE);
	}
	skx_segment_walk_end(walk);
	return cost;
}

/*
 * Returns the cost of the lists of a column.  It need not be exact if it is
 * clear whether it is above `enough`.
 */
static uint64
skx_facets_lists_cost(const SkxFacetInput *input, int column, bool is_array,
					  uint64 enough)
{
	uint64		span = input->to - input->from;
	uint64		opened = skx_facets_count_lists(input, column) *
		SKX_FACETS_OPEN;

	if (!is_array)
		return opened + span;
	if (opened > enough || span * SKX_FACETS_ELEMENTS < enough)
		return opened;
	return skx_facets_elements_cost(input, column, enough);
}

bool
skx_facets_rows_cost_less(const SkxFacetInput *input,
						  const SkxFacetsRequest *request)
{
	uint64		rows = (uint64) input->n * SKX_FACETS_FETCH;
	uint64		lists = 0;
	int			i;

	for (i = 0; i < request->ncolumns && lists <= rows; i++)
	{
		int			column = request->columns[i];
		bool		is_array =
			OidIsValid(skx_column_element_type(request->rows.index, column));

		if ((input->counted >> column & 1) == 0)
			lists += skx_facets_lists_cost(input, column, is_array,
										   rows - lists);
	}
	return rows < lists;
}
