/*
 * topk_rare.c
 *	  The posting list of a prefix whose lexemes have few postings, or of several
 *	  words of a group, gathered as a whole.
 *
 * The cost depends only on the number of postings, not on the documents of the
 * segment.  Postings are taken list by list, sorted by document, and added up.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "answer/topk/topk_sort.h"
#include "miscadmin.h"

/*
 * If the documents fit into a range, postings are sorted only if there is at
 * most one for this many documents.  Adding them up by document takes a
 * quarter of the time of sorting them, but also some time for each document.
 */
#define SKX_RARE_SORT_RATIO		4

typedef struct SkxTopkRare
{
	SkxCursorMemory memory;		/* first */
	SkxCursorMemory sort_memory;	/* arrays that the sort exchanges with
									 * those of `memory` */
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	uint32		from;			/* range of documents [from, to) */
	uint32		to;
	SkxCursor  *cursor;			/* list of the current lexeme */
	int64		postings;		/* postings of all lexemes, or more than
								 * `max_postings` */
	int64		max_postings;
} SkxTopkRare;

static bool
skx_rare_count(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxTopkRare *r = arg;

	r->postings += term->df;
	return r->postings <= r->max_postings;
}

/* Returns the frequency of posting i, or a negative number. */
static inline float
skx_rare_tf(const SkxTopkRare *r, int i)
{
	const SkxTopkRun *run = r->run;
	float		tf = skx_score_tf(run->scorer, r->scored, r->cursor, i);

	if (tf < 0 || !run->has_ceilings ||
		skx_score_is_unweighted(run->scorer, r->scored))
		return tf;
	return skx_topk_ceiling_tf(r->scored, r->cursor, i, tf);
}

/* Takes the postings of the current sub-block that count. */
static void
skx_rare_take_subblock(SkxTopkRare *r)
{
	SkxSegment *seg = r->run->seg;
	SkxCursor  *c = r->cursor;
	SkxCursorMemory *m = &r->memory;
	int			i;

	if (c->n - c->i > r->postings - m->n)
		skx_segment_damaged(seg, SKX_SEGMENT_DICT, seg->header.dict_root,
							"more postings than the terms of a prefix have");
	for (i = c->i; i < c->n && c->docs[i] < r->to; i++)
	{
		float		tf = skx_rare_tf(r, i);

		if (tf < 0)
			continue;
		m->docs[m->n] = c->docs[i];
		m->counts[m->n++] = tf;
	}
}

static bool
skx_rare_add_lexeme(const SkxTerm *term, const char *lexeme, int len,
					void *arg)
{
	SkxTopkRare *r = arg;
	SkxCursor  *c = r->cursor;
	uint32		doc;

	CHECK_FOR_INTERRUPTS();
	skx_cursor_begin_term(c, term);
	for (doc = skx_cursor_seek(c, r->from); doc < r->to;
		 doc = skx_cursor_seek(c, c->end))
	{
		CHECK_FOR_INTERRUPTS();
		skx_rare_take_subblock(r);
	}
	return true;
}

/*
 * Sorts the postings by document.  Those of one document stay in the order of
 * the lexemes, in which the score of a row adds them up, too.
 */
static void
skx_rare_sort(SkxTopkRare *r)
{
	SkxCursorMemory *m = &r->memory;
	SkxCursorMemory *other = &r->sort_memory;
	SkxTopkSortPairs pairs = {m->n, m->docs, (uint32 *) m->counts};
	SkxTopkSortPairs spare = {m->n, other->docs, (uint32 *) other->counts};

	StaticAssertStmt(sizeof(float) == sizeof(uint32), "a count is no number");
	skx_topk_sort(&pairs, &spare, r->to - 1);
	m->docs = pairs.keys;
	m->counts = (float *) pairs.values;
	other->docs = spare.keys;
	other->counts = (float *) spare.values;
}

/* Adds up the postings of each document. */
static void
skx_rare_sum_documents(SkxCursorMemory *m)
{
	uint32		n = 0;
	uint32		i;

	for (i = 0; i < m->n; i++)
	{
		if (n > 0 && m->docs[n - 1] == m->docs[i])
			m->counts[n - 1] += m->counts[i];
		else
		{
			m->docs[n] = m->docs[i];
			m->counts[n++] = m->counts[i];
		}
	}
	for (i = 0; i < n; i++)
		m->counts[i] = Min(m->counts[i], SKX_SCORE_TF_MAX);
	m->n = n;
}

static void
skx_rare_alloc(SkxCursorMemory *m, int64 n)
{
	m->docs = palloc(sizeof(uint32) * n);
	m->counts = palloc(sizeof(float) * n);
}

static void
skx_rare_free(SkxCursorMemory *m)
{
	pfree(m->docs);
	pfree(m->counts);
}

static void
skx_rare_begin(SkxTopkRare *r)
{
	skx_rare_alloc(&r->memory, r->postings);
	r->cursor = skx_cursor_create(r->run->seg, SKX_CURSOR_PROBE);
}

/* Makes a list of what was taken. */
static void
skx_rare_end(SkxTopkRare *r)
{
	skx_cursor_close(r->cursor);
	if (r->memory.n == 0)
		return;
	skx_rare_alloc(&r->sort_memory, r->memory.n);
	skx_rare_sort(r);
	skx_rare_free(&r->sort_memory);
	skx_rare_sum_documents(&r->memory);
}

SkxTopkList *
skx_topk_open_rare_words(SkxTopkRun *run, const SkxTerm **terms,
						 const SkxScoreTerm **scored, int n)
{
	SkxTopkRare *r = palloc0(sizeof(SkxTopkRare));
	const SkxScoreTerm *heaviest = scored[0];
	int			i;

	r->run = run;
	r->from = run->from;
	r->to = run->to;
	for (i = 0; i < n; i++)
	{
		r->postings += terms[i]->df;
		if (scored[i]->ceiling > heaviest->ceiling)
			heaviest = scored[i];
	}
	skx_rare_begin(r);
	for (i = 0; i < n; i++)
	{
		r->scored = scored[i];
		(void) skx_rare_add_lexeme(terms[i], NULL, 0, r);
	}
	skx_rare_end(r);
	return r->memory.n == 0 ? NULL :
		skx_topk_open_memory_list(run, heaviest, &r->memory);
}

bool
skx_topk_open_rare_list(SkxTopkRun *run, const SkxScoreTerm *scored,
						const SkxTopkScope *scope, uint32 docs,
						SkxTopkList **list)
{
	SkxTopkRare *r = palloc0(sizeof(SkxTopkRare));

	*list = NULL;
	r->run = run;
	r->scored = scored;
	r->from = scope->from;
	r->to = scope->to;
	r->max_postings = skx_topk_prefix_max_postings(run);
	if (docs <= SKX_TOPK_SCOPE_DOCS_MAX)
		r->max_postings = Min(r->max_postings, docs / SKX_RARE_SORT_RATIO);
	skx_segment_visit_prefix(run->seg, scored->lexeme, scored->len, true, NULL,
							 skx_rare_count, r);
	if (r->postings > r->max_postings)
		return false;
	if (r->postings > 0 && r->from < r->to)
	{
		skx_rare_begin(r);
		skx_segment_visit_prefix(run->seg, scored->lexeme, scored->len, true,
								 NULL, skx_rare_add_lexeme, r);
		skx_rare_end(r);
	}
	if (r->memory.n > 0)
		*list = skx_topk_open_memory_list(run, scored, &r->memory);
	return true;
}
