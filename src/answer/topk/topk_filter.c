/*
 * topk_filter.c
 *	  The documents that match a query, as a list that leads a search.  It is
 *	  used if they are few in comparison with the postings of the words.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"

/* Number of documents held at a time, 4 bytes each. */
#define SKX_TOPK_FILTER_DOCS		(2 * SKX_QUERY_BATCH_DOCS)

typedef struct SkxTopkFilter
{
	SkxCursorMemory memory;		/* first */
	SkxTopkRun *run;
	SkxDocs    *matches;
} SkxTopkFilter;

/* Replaces the documents that are held by the next ones of the scan. */
static void
skx_filter_next_docs(SkxTopkFilter *f)
{
	SkxCursorMemory *m = &f->memory;
	int			some;

	m->n = 0;
	do
	{
		some = skx_query_docs_next(f->matches, m->docs + m->n);
		skx_query_docs_check(m->docs + m->n, some, m->refill_to, f->run->to);
		m->n += some;
		m->refill_to = some > 0 ? m->docs[m->n - 1] + 1 : f->run->to;
	} while (some > 0 && m->n + SKX_QUERY_BATCH_DOCS <= SKX_TOPK_FILTER_DOCS);
}

static bool
skx_filter_next_subblock(SkxCursorMemory *m, uint32 target)
{
	do
		skx_filter_next_docs((SkxTopkFilter *) m);
	while (m->n > 0 && m->docs[m->n - 1] < target);
	return m->n > 0;
}

SkxTopkList *
skx_topk_open_filter_list(SkxTopkRun *run, SkxDocs *matches)
{
	SkxTopkList *l = palloc0(sizeof(SkxTopkList));
	SkxTopkFilter *f = palloc0(sizeof(SkxTopkFilter));

	f->run = run;
	f->matches = matches;
	f->memory.docs = palloc(sizeof(uint32) * SKX_TOPK_FILTER_DOCS);
	f->memory.refill = skx_filter_next_subblock;
	skx_filter_next_docs(f);
	l->cursor = skx_cursor_open_memory(run->seg, &f->memory);
	return l;
}
