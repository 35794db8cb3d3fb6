/*
 * facets_list.c
 *	  How many rows of a range of documents are in a posting list.
 *
 * Rows are bits.  A dense list is intersected with them as a bitmap, window by
 * window.  The postings of a sparse list are looked up among the bits.  If the
 * list has far more postings than there are rows, the rows are looked up in
 * the list.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

/*
 * A list is dense if it has more than one posting for this many documents.
 * Then a window is cheaper as bits than as documents.
 */
#define SKX_FACETS_DENSE_RATIO		24

#define SKX_FACETS_WINDOW_WORDS		SKX_BITSET_WORDS(SKX_WINDOW_DOCS)

SkxFacetsWork skx_facets_work;

void
skx_facets_add_work(SkxFacetsWork *sum, const SkxFacetsWork *before)
{
	sum->df_values += skx_facets_work.df_values - before->df_values;
	sum->list_values += skx_facets_work.list_values - before->list_values;
	sum->tested_postings += skx_facets_work.tested_postings -
		before->tested_postings;
	sum->bitmap_postings += skx_facets_work.bitmap_postings -
		before->bitmap_postings;
	sum->probed_rows += skx_facets_work.probed_rows - before->probed_rows;
	sum->key_rows += skx_facets_work.key_rows - before->key_rows;
	sum->fetched_rows += skx_facets_work.fetched_rows - before->fetched_rows;
	sum->sort_spills += skx_facets_work.sort_spills - before->sort_spills;
}

static inline bool
skx_facets_row_bit(const SkxFacetInput *input, uint32 doc)
{
	return skx_bitset_test(input->bits, doc - input->from);
}

/* Intersects the list with the rows, as bitmaps. */
static uint64
skx_facets_intersect_bitmap(SkxFacetInput *input, uint32 *first)
{
	uint64		found = 0;
	uint32		window;

	for (window = input->from; window < input->to; window += SKX_WINDOW_DOCS)
	{
		uint64		bits[SKX_FACETS_WINDOW_WORDS] = {0};
		const uint64 *rows = input->bits +
			(window - input->from) / SKX_BITSET_BITS;
		int			nwords = SKX_BITSET_WORDS(Min(SKX_WINDOW_DOCS,
												  input->to - window));
		uint64		before = found;

		CHECK_FOR_INTERRUPTS();
		skx_cursor_fill_window(input->cursor, window, bits, nwords);
		skx_bitset_and(bits, rows, nwords);
		found += skx_bitset_count(bits, nwords);
		if (before == 0 && found > 0)
			*first = window + skx_bitset_first(bits);
	}
	skx_facets_work.bitmap_postings += input->term.df;
	return found;
}

/* Looks up the postings among the rows. */
static uint64
skx_facets_test_postings(SkxFacetInput *input, uint32 *first)
{
	SkxCursor  *c = input->cursor;
	uint64		found = 0;

	while (skx_cursor_next(c))
	{
		const uint32 *docs = c->docs;
		const uint64 *bits = input->bits;
		uint32		from = input->from;
		uint64		before = found;
		int			n = c->n;
		int			i;

		CHECK_FOR_INTERRUPTS();
		while (n > c->i && docs[n - 1] >= input->to)
			n--;
		for (i = c->i; i < n; i++)
			found += skx_bitset_test(bits, docs[i] - from);
		skx_facets_work.tested_postings += i - c->i;
		if (before > 0 || found == 0)
			continue;
		for (i = c->i; !skx_facets_row_bit(input, c->docs[i]); i++)
			;
		*first = c->docs[i];
	}
	return found;
}

/* Looks up the rows in the list. */
static uint64
skx_facets_probe_rows(SkxFacetInput *input, uint32 *first)
{
	uint32		docs[SKX_WINDOW_DOCS];
	uint64		found = 0;
	uint32		word = 0;
	int			n;

	while ((n = skx_facets_input_rows(input, &word, docs, SKX_WINDOW_DOCS)) >
		   0)
	{
		CHECK_FOR_INTERRUPTS();
		skx_facets_work.probed_rows += n;
		n = skx_cursor_filter(input->cursor, docs, n);
		if (found == 0 && n > 0)
			*first = docs[0];
		found += n;
	}
	return found;
}

uint64
skx_facets_count_term(SkxFacetInput *input, uint32 *first)
{
	uint32		span = input->to - input->from;
	uint64		df = input->term.df;

	CHECK_FOR_INTERRUPTS();
	if (input->n == input->seg->header.ndocs)
	{
		/* every document of the segment is a row */
		skx_facets_work.df_values++;
		skx_cursor_begin_term(input->cursor, &input->term);
		*first = skx_cursor_seek(input->cursor, 0);
		return df;
	}
	skx_facets_work.list_values++;
	skx_cursor_begin_term(input->cursor, &input->term);
	if (span < input->seg->header.ndocs)
	{
		skx_cursor_set_range(input->cursor, input->from, input->to);
		df = df * span / input->seg->header.ndocs;
	}
	if ((uint64) input->n * SKX_FACETS_PROBE_RATIO < df)
		return skx_facets_probe_rows(input, first);
	if (df * SKX_FACETS_DENSE_RATIO > span)
		return skx_facets_intersect_bitmap(input, first);
	return skx_facets_test_postings(input, first);
}
