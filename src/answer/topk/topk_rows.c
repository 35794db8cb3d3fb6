/*
 * topk_rows.c
 *	  Rows without a score, in the order of tids: those that match without any
 *	  of the words, then those whose tsvector is NULL.
 */
#include "postgres.h"

#include "answer/rows/rows.h"
#include "answer/topk/topk_internal.h"
#include "index/column/column_value.h"
#include "utils/memutils.h"

typedef struct SkxTopkRows
{
	MemoryContext context;
	const SkxScorer *scorer;
	SkxRequest	of;
	SkxRowPlaces places;
} SkxTopkRows;

/* Returns the query that rows without a score match. */
static SkxQuery *
skx_topk_rows_query(SkxTopk *topk, bool nulls)
{
	const SkxScorer *scorer = topk->scorer;
	SkxQueryWord *words;
	int			i;

	if (nulls)
		return unconstify(SkxQuery *, topk->request.filter);
	words = palloc(sizeof(SkxQueryWord) * (scorer->nterms + 1));
	for (i = 0; i < scorer->nterms; i++)
	{
		words[i].lexeme = scorer->terms[i].lexeme;
		words[i].len = scorer->terms[i].len;
		words[i].prefix = scorer->terms[i].prefix;
		words[i].labels = scorer->terms[i].labels;
	}
	return skx_query_without(topk->request.filter, words, scorer->nterms);
}

/*
 * Lets the score decide about pending documents.  A lexeme without positions
 * may have the labels of a word or not.  So a document with it matches the
 * query with the word and the one without it.
 */
static bool
skx_topk_rows_wants(const SkxPendingDoc *doc, void *arg)
{
	const SkxTopkRows *rows = arg;
	bool		is_null = skx_column_is_null(doc->value);

	return rows->places.nulls == is_null &&
		(is_null || skx_score_document(rows->scorer, doc->value, NULL) == 0);
}

/*
 * Returns the number of rows that a search looks for, given that `rows` are
 * wanted.
 */
static int
skx_topk_rows_most(const SkxTopk *topk, uint64 rows)
{
	return skx_topk_most(topk->request.wants_all ? PG_UINT32_MAX :
						 Max(rows, SKX_TOPK_ROWS));
}

SkxTopkRows *
skx_topk_rows_open(SkxTopk *topk, bool nulls)
{
	MemoryContext context = AllocSetContextCreate(topk->context,
												  "skipidx rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTopkRows *rows = palloc0(sizeof(SkxTopkRows));

	rows->context = context;
	rows->scorer = topk->scorer;
	rows->of.index = topk->request.index;
	rows->of.view = topk->request.view;
	rows->of.query = skx_topk_rows_query(topk, nulls);
	rows->places.slice.slices = 1;
	rows->places.nulls = nulls;
	rows->places.wants = skx_topk_rows_wants;
	rows->places.arg = rows;
	if (!nulls && topk->has_after && topk->after == 0)
		rows->places.from = skx_rows_key(&topk->after_tid) + 1;
	rows->places.most = skx_topk_rows_most(topk, topk->rows);
	skx_rows_places_begin(&rows->places);
	MemoryContextSwitchTo(old);
	return rows;
}

int
skx_topk_rows_next(SkxTopk *topk, SkxTopkRows *rows)
{
	SkxRowPlaces *places = &rows->places;
	MemoryContext old = MemoryContextSwitchTo(topk->pass);
	int			i;

	skx_rows_places(places, &rows->of);
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass);
	skx_topk_make_out(topk, places->n);
	for (i = 0; i < places->n; i++)
	{
		skx_rows_key_place(places->keys[i], &topk->out[i].tid);
		topk->out[i].is_null = places->nulls;
		topk->out[i].at = -1;
		topk->out[i].sum = 0;
	}
	if (places->n > 0)
		places->from = places->keys[places->n - 1] + 1;
	places->most = skx_topk_rows_most(topk, (uint64) places->most *
									  SKX_TOPK_GROWTH);
	return places->n;
}

void
skx_topk_rows_close(SkxTopkRows *rows)
{
	MemoryContextDelete(rows->context);
}
