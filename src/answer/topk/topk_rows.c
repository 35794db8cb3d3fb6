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
	SkxRequest	rows_request;
	SkxTidCollector collector;
} SkxTopkRows;

/* Returns the query that rows without a score match. */
static SkxQuery *
skx_topk_unscored_query(SkxTopk *topk, bool nulls)
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
	return skx_query_exclude_lexemes(topk->request.filter, words,
									 scorer->nterms);
}

/*
 * Lets the score decide about pending documents.  A lexeme without positions
 * may have the labels of a word or not.  So a document with it matches the
 * query with the word and the one without it.
 */
static bool
skx_topk_unscored_wants(const SkxPendingDoc *doc, void *arg)
{
	const SkxTopkRows *rows = arg;
	bool		is_null = skx_column_is_null(doc->value);

	return rows->collector.only_nulls == is_null &&
		(is_null || skx_score_document(rows->scorer, doc->value, NULL) == 0);
}

/*
 * Returns the number of rows that a search looks for, given that `rows` are
 * wanted.
 */
static int
skx_topk_unscored_max_rows(const SkxTopk *topk, uint64 rows)
{
	return skx_topk_limit_rows(topk->request.wants_all ? PG_UINT32_MAX :
							   Max(rows, SKX_TOPK_ROWS));
}

SkxTopkRows *
skx_topk_unscored_open(SkxTopk *topk, bool nulls)
{
	MemoryContext context = AllocSetContextCreate(topk->context,
												  "skipidx rows",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxTopkRows *rows = palloc0(sizeof(SkxTopkRows));

	rows->context = context;
	rows->scorer = topk->scorer;
	rows->rows_request.index = topk->request.index;
	rows->rows_request.view = topk->request.view;
	rows->rows_request.query = skx_topk_unscored_query(topk, nulls);
	rows->collector.slice.nslices = 1;
	rows->collector.only_nulls = nulls;
	rows->collector.wants_pending = skx_topk_unscored_wants;
	rows->collector.arg = rows;
	if (!nulls && topk->has_after && topk->after_sum == 0)
		rows->collector.from_key = skx_rows_tid_key(&topk->after_tid) + 1;
	rows->collector.max_rows = skx_topk_unscored_max_rows(topk,
														  topk->search_rows);
	skx_rows_tids_begin(&rows->collector);
	MemoryContextSwitchTo(old);
	return rows;
}

int
skx_topk_unscored_next(SkxTopk *topk, SkxTopkRows *rows)
{
	SkxTidCollector *places = &rows->collector;
	MemoryContext old = MemoryContextSwitchTo(topk->pass_context);
	int			i;

	skx_rows_first_tids(places, &rows->rows_request);
	MemoryContextSwitchTo(old);
	MemoryContextReset(topk->pass_context);
	skx_topk_reserve_rows(topk, places->n);
	for (i = 0; i < places->n; i++)
	{
		skx_rows_key_tid(places->keys[i], &topk->rows_out[i].tid);
		topk->rows_out[i].is_null = places->only_nulls;
		topk->rows_out[i].is_final = true;
		topk->rows_out[i].hit_index = -1;
		topk->rows_out[i].sum = 0;
	}
	if (places->n > 0)
		places->from_key = places->keys[places->n - 1] + 1;
	places->max_rows = skx_topk_unscored_max_rows(topk,
												  (uint64) places->max_rows *
												  SKX_TOPK_GROWTH);
	return places->n;
}

void
skx_topk_unscored_close(SkxTopkRows *rows)
{
	MemoryContextDelete(rows->context);
}
