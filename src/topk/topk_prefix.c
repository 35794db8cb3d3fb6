/*
 * topk_prefix.c
 *	  A prefix of the ranking query as one list, gathered from those of its
 *	  lexemes.
 *
 * How often a prefix occurs in a document is the sum over its lexemes, so what
 * it gives is not the sum of what they give: the lists are added up before
 * anything is scored.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "topk/topk_internal.h"

typedef struct SkxPrefix
{
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	SkxCursor  *cursor;			/* of a lexeme at a time */
	const uint32 *docs;			/* those that are looked at; NULL: all, */
	uint32		ndocs;			/* which are so many */
	float	   *tfs;			/* by number among them; -1: it has none */
	uint32		n;				/* documents that have some */
} SkxPrefix;

/* Adds posting i of the sub-block to what the document has. */
static inline void
skx_prefix_count(SkxPrefix *p, int i, float *sum)
{
	float		tf = skx_score_tf(p->run->scorer, p->scored, p->cursor, i);

	if (tf < 0)
		return;
	p->n += *sum < 0;
	*sum = Max(*sum, 0) + tf;
}

/* Adds all postings of a lexeme; its sub-blocks are traversed once. */
static void
skx_prefix_add_all(SkxPrefix *p)
{
	while (skx_cursor_next(p->cursor))
	{
		int			i;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < p->cursor->n; i++)
			skx_prefix_count(p, i, &p->tfs[p->cursor->docs[i]]);
	}
}

/* Adds those of the documents that are looked at. */
static void
skx_prefix_add_some(SkxPrefix *p)
{
	uint32		i = 0;

	while (i < p->ndocs)
	{
		uint32		doc = skx_cursor_seek(p->cursor, p->docs[i]);

		if (doc == SKX_NO_DOC || doc > p->docs[p->ndocs - 1])
			break;
		i = skx_cursor_first_from(p->docs, i, p->ndocs, doc);
		if (p->docs[i] != doc)
			continue;
		skx_prefix_count(p, p->cursor->i, &p->tfs[i++]);
	}
}

static bool
skx_prefix_add(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxPrefix  *p = arg;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin(p->cursor, term);
	if (p->docs == NULL)
		skx_prefix_add_all(p);
	else
		skx_prefix_add_some(p);
	return true;
}

/* As the document's score caps them. */
static void
skx_prefix_bounds(SkxTopkRun *run, SkxTopkList *l, SkxCursorMemory *m)
{
	uint32		first;

	for (first = 0; first < m->n; first += SKX_SUBBLOCK)
	{
		uint32		end = Min(first + SKX_SUBBLOCK, m->n);
		uint8		norms[SKX_SUBBLOCK];
		int32		bound = 0;
		uint32		i;

		skx_segment_norms(run->seg, m->docs + first, end - first, norms);
		for (i = first; i < end; i++)
		{
			float		inverse =
				run->scorer->inverse[norms[i - first]];
			int32		part = skx_rank_part(l->weight, m->counts[i], inverse);

			bound = Max(bound, part);
		}
		m->bounds[first / SKX_SUBBLOCK] = bound;
		l->max = Max(l->max, bound);
	}
}

/* What was counted, as a list. */
static SkxCursorMemory *
skx_prefix_memory(const SkxPrefix *p)
{
	SkxCursorMemory *m = palloc0(sizeof(SkxCursorMemory));
	uint32		i;

	m->docs = palloc_extended(sizeof(uint32) * (Size) p->n, MCXT_ALLOC_HUGE);
	m->counts = palloc_extended(sizeof(float) * (Size) p->n, MCXT_ALLOC_HUGE);
	m->bounds = palloc_extended(sizeof(int32) *
								((Size) p->n / SKX_SUBBLOCK + 1),
								MCXT_ALLOC_HUGE);
	for (i = 0; i < p->ndocs; i++)
	{
		if (p->tfs[i] < 0)
			continue;
		m->docs[m->n] = p->docs == NULL ? i : p->docs[i];
		m->counts[m->n++] = Min(p->tfs[i], SKX_SCORE_TF_MAX);
	}
	return m;
}

SkxTopkList *
skx_topk_list_prefix(SkxTopkRun *run, const SkxScoreTerm *scored,
					 const uint32 *docs, uint32 n)
{
	SkxPrefix  *p = palloc0(sizeof(SkxPrefix));
	SkxTopkList *l = NULL;
	uint32		i;

	p->run = run;
	p->scored = scored;
	p->cursor = skx_cursor_create(run->seg, SKX_CURSOR_PROBE);
	p->docs = docs;
	p->ndocs = docs == NULL ? run->seg->header.ndocs : n;
	p->tfs = palloc_extended(sizeof(float) * ((Size) p->ndocs + 1),
							 MCXT_ALLOC_HUGE);
	for (i = 0; i < p->ndocs; i++)
		p->tfs[i] = -1;
	if (p->ndocs > 0)
		skx_segment_prefix(run->seg, scored->lexeme, scored->len,
						   true, skx_prefix_add, p);
	skx_cursor_close(p->cursor);
	if (p->n > 0)
	{
		SkxCursorMemory *memory = skx_prefix_memory(p);

		l = palloc0(sizeof(SkxTopkList));
		l->term = scored;
		l->weight = scored->weight; /* a prefix has no pairs */
		skx_prefix_bounds(run, l, memory);
		l->cursor = skx_cursor_open_memory(run->seg, memory);
	}
	pfree(p->tfs);
	pfree(p);
	return l;
}
