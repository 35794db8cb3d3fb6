/*
 * facets_merge.c
 *	  Merges the values of a column in several inputs, so that each value is
 *	  counted in all of them before the next one.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

/* Returns true if a lexeme is a value of the current column, or its NULL. */
static bool
skx_facets_is_of_column(const SkxFacetMerge *m, const SkxLexeme *lexeme)
{
	return skx_column_is_value(lexeme->bytes, lexeme->len) &&
		(uint8) lexeme->bytes[1] == m->columns[m->current_column] + 1 &&
		lexeme->bytes[2] != SKX_VALUE_EMPTY;
}

/*
 * Moves an input to the next value of the column.  Returns false if it has no
 * more.
 */
static bool
skx_facets_next_value(const SkxFacetMerge *m, SkxFacetInput *input)
{
	if (input->seg == NULL)
	{
		if (input->next == input->nhashed)
			return false;
		input->lexeme = input->hashed[input->next].lexeme;
		if (!skx_facets_is_of_column(m, &input->lexeme))
			return false;
		input->next++;
		return true;
	}
	return skx_segment_walk_next(input->term_walk, &input->term,
								 &input->lexeme.bytes, &input->lexeme.len) &&
		skx_facets_is_of_column(m, &input->lexeme);
}

/*
 * Moves an input to the values of a column.  If they were counted one by one,
 * skips those of columns before it.
 */
static void
skx_facets_seek_column(SkxFacetInput *input, const SkxLexeme ends[2])
{
	if (input->seg != NULL)
		skx_segment_walk_range(input->term_walk, ends);
	else
		while (input->next < input->nhashed &&
			   skx_column_compare_lexeme(&input->hashed[input->next].lexeme,
										 &ends[0]) < 0)
			input->next++;
}

static void
skx_facets_begin_column(SkxFacetMerge *m)
{
	int			column = m->columns[m->current_column];
	SkxFacetBounds bounds;
	int			i;

	skx_facets_column_bounds(column, &bounds);
	for (i = 0; i < m->ninputs; i++)
	{
		if ((m->inputs[i].counted_columns >> column & 1) != 0)
			continue;
		skx_facets_seek_column(&m->inputs[i], bounds.ends);
		if (skx_facets_next_value(m, &m->inputs[i]))
			binaryheap_add_unordered(m->heap, PointerGetDatum(&m->inputs[i]));
	}
	binaryheap_build(m->heap);
}

/* Reverses the order, since the heap has the largest element on top. */
static int
skx_facets_compare_inputs(Datum a, Datum b, void *arg)
{
	const SkxFacetInput *x = (const SkxFacetInput *) DatumGetPointer(a);
	const SkxFacetInput *y = (const SkxFacetInput *) DatumGetPointer(b);

	return skx_column_compare_lexeme(&y->lexeme, &x->lexeme);
}

void
skx_facets_merge_begin(SkxFacetMerge *m)
{
	int			i;

	for (i = 0; i < m->ninputs; i++)
	{
		SkxFacetInput *input = &m->inputs[i];

		if (input->seg == NULL)
			continue;
		input->term_walk = skx_segment_walk_begin(input->seg);
		input->cursor = skx_cursor_create(input->seg, SKX_CURSOR_LEAD);
	}
	m->heap = binaryheap_allocate(Max(m->ninputs, 1),
								  skx_facets_compare_inputs, NULL);
	m->current_column = -1;
}

/* Adds the rows of an input that have its current value. */
static void
skx_facets_add_input(SkxFacetInput *input, SkxFacet *facet)
{
	const SkxFacetHashEntry *loose = input->seg != NULL ? NULL :
		&input->hashed[input->next - 1];
	uint32		doc = 0;
	uint64		n = loose != NULL ? loose->count :
		skx_facets_count_term(input, &doc);

	if (facet->count == 0 && n > 0)
		facet->row = loose != NULL ? loose->row :
			skx_facets_document_row(input, doc);
	facet->count += n;
}

/* Sets *facet to the least value, and adds up its rows in all inputs. */
static void
skx_facets_merge_value(SkxFacetMerge *m, SkxFacet *facet)
{
	SkxFacetInput *input =
		(SkxFacetInput *) DatumGetPointer(binaryheap_first(m->heap));

	facet->count = facet->row = 0;
	facet->lexeme.bytes = m->bytes;
	facet->lexeme.len = input->lexeme.len;
	memcpy(m->bytes, input->lexeme.bytes, input->lexeme.len);
	do
	{
		skx_facets_add_input(input, facet);
		if (skx_facets_next_value(m, input))
			binaryheap_replace_first(m->heap, PointerGetDatum(input));
		else
			(void) binaryheap_remove_first(m->heap);
		if (binaryheap_empty(m->heap))
			break;
		input = (SkxFacetInput *) DatumGetPointer(binaryheap_first(m->heap));
	} while (skx_column_compare_lexeme(&input->lexeme, &facet->lexeme) == 0);
}

bool
skx_facets_merge_next(SkxFacetMerge *m, SkxFacet *facet)
{
	do
	{
		CHECK_FOR_INTERRUPTS();
		while (binaryheap_empty(m->heap))
		{
			if (++m->current_column >= m->ncolumns)
				return false;
			skx_facets_begin_column(m);
		}
		skx_facets_merge_value(m, facet);
	} while (facet->count == 0);
	return true;
}

void
skx_facets_merge_end(SkxFacetMerge *m)
{
	int			i;

	for (i = 0; i < m->ninputs; i++)
	{
		if (m->inputs[i].seg == NULL)
			continue;
		skx_segment_walk_end(m->inputs[i].term_walk);
		skx_cursor_close(m->inputs[i].cursor);
	}
	binaryheap_free(m->heap);
}
