/*
 * facets_cost.c
 *	  Estimates from what the values of some rows cost least: from the posting
 *	  lists of a column, the keys of the rows, or the rows themselves.
 *
 * Costs are times in ns (read/estimate/).
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"
#include "read/estimate/estimate.h"

/*
 * Assumed bound of the array elements of a document.  If fetching the rows
 * costs more than this many for each document, their lists are not examined
 * one by one.
 */
#define SKX_FACETS_ELEMENTS_MAX	32

/*
 * Returns the number of values of a column in the segment.  Each has a list.
 */
static double
skx_facets_count_lists(const SkxFacetInput *input, int column)
{
	SkxFacetBounds bounds;

	skx_facets_column_bounds(column, &bounds);
	return (double) skx_segment_count_range(input->seg, &bounds.ends[0],
											&bounds.ends[1]);
}

bool
skx_facets_keys_are_cheaper(const SkxFacetInput *input, int column)
{
	double		values = skx_facets_count_lists(input, column);

	return skx_estimate_values_keyed(input->n, values, work_mem * 1024.0) <
		skx_estimate_values_listed(values, input->to - input->from);
}

/*
 * Returns the cost of the lists of a column of arrays, or a number above
 * `enough`.
 */
static double
skx_facets_elements_cost(const SkxFacetInput *input, int column, double enough)
{
	SkxTermWalk *walk = skx_segment_walk_begin(input->seg);
	double		share = (double) (input->to - input->from) /
		input->seg->header.ndocs;
	double		most = (double) input->n * SKX_FACETS_PROBE_RATIO;
	double		cost = 0;
	SkxFacetBounds bounds;
	SkxLexeme	lexeme;
	SkxTerm		term;

	skx_facets_column_bounds(column, &bounds);
	skx_segment_walk_range(walk, bounds.ends);
	while (cost <= enough &&
		   skx_segment_walk_next(walk, &term, &lexeme.bytes, &lexeme.len) &&
		   skx_column_compare_lexeme(&lexeme, &bounds.ends[1]) < 0)
	{
		CHECK_FOR_INTERRUPTS();
		cost += skx_estimate_values_listed(1, Min(term.df * share, most));
	}
	skx_segment_walk_end(walk);
	return cost;
}

/*
 * Returns the cost of the lists of a column.  It need not be exact if it is
 * clear whether it is above `enough`.
 */
static double
skx_facets_lists_cost(const SkxFacetInput *input, int column, bool is_array,
					  double enough)
{
	double		span = input->to - input->from;
	double		values = skx_facets_count_lists(input, column);
	double		opened = skx_estimate_values_listed(values, 0);

	if (!is_array)
		return skx_estimate_values_listed(values, span);
	if (opened > enough ||
		skx_estimate_values_listed(0, span * SKX_FACETS_ELEMENTS_MAX) < enough)
		return opened;
	return skx_facets_elements_cost(input, column, enough);
}

bool
skx_facets_rows_are_cheaper(const SkxFacetInput *input,
							const SkxFacetsRequest *request)
{
	double		rows = skx_estimate_values_fetched(input->n);
	double		lists = 0;
	int			i;

	for (i = 0; i < request->ncolumns && lists <= rows; i++)
	{
		int			column = request->columns[i];
		bool		is_array =
			OidIsValid(skx_column_element_type(request->rows.index, column));

		if ((input->counted_columns >> column & 1) == 0)
			lists += skx_facets_lists_cost(input, column, is_array,
										   rows - lists);
	}
	return rows < lists;
}
