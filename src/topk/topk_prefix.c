/*
 * topk_prefix.c
 *	  A prefix of the ranking query as one list, gathered from those of its
 *	  lexemes.
 *
 * How often a prefix occurs in a document is the sum over its lexemes, so what
 * it gives is not the sum of what they give: the lists are added up before
 * anything is scored.  In a large segment that is done for a range of
 * documents at a time, when the search gets there.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "topk/topk_internal.h"

/* Documents that are gathered at once at most, 4 bytes each. */
#define SKX_PREFIX_DOCS		(1 << 18)

/* Postings of all prefixes of a query that are held at once, 8 bytes each. */
#define SKX_PREFIX_POSTINGS	(3 << 17)

/* Lexemes of all of them that are known to be over, 4 bytes each. */
#define SKX_PREFIX_LEXEMES	(1 << 17)

/* Documents of a range at least. */
#define SKX_PREFIX_LEAST	1024

typedef struct SkxPrefix
{
	SkxCursorMemory memory;		/* first */
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	SkxTopkList *list;
	SkxCursor  *cursor;			/* of a lexeme at a time */
	const uint32 *docs;			/* those that are looked at; NULL: all */
	uint32		last;			/* in a range up to this one, */
	uint32		from;			/* now in this range, */
	uint32		to;
	uint32		ndocs;			/* which are so many */
	uint32		span;			/* documents of the next range */
	uint32		most;			/* postings that there is room for */
	float	   *tfs;			/* by number among them; -1: it has none */
	uint32		n;				/* documents that have some */
	uint64		df;				/* postings of all lexemes */
	uint32		lexeme;			/* number of the current one */
	uint32		nnext;			/* of so many lexemes, */
	uint32	   *next;			/* the first document after the range; 0: not
								 * known */
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

/*
 * Adds the postings of a lexeme in the range, whose sub-blocks are traversed
 * once; returns its first document after that.
 */
static uint32
skx_prefix_add_all(SkxPrefix *p)
{
	SkxCursor  *c = p->cursor;
	uint32		doc = skx_cursor_seek(c, p->from);

	while (doc < p->to)
	{
		int			end = c->n;
		int			i;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= p->to)
			end--;
		for (i = c->i; i < end; i++)
			skx_prefix_count(p, i, &p->tfs[c->docs[i] - p->from]);
		if (end < c->n)
			return c->docs[end];
		doc = skx_cursor_seek(c, c->end);
	}
	return doc;
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

/* A list that is over, or not yet there, is not opened. */
static bool
skx_prefix_add(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxPrefix  *p = arg;
	uint32		number = p->lexeme++;
	bool		known = number < p->nnext;
	uint32		next;

	CHECK_FOR_INTERRUPTS();
	p->df += term->df;
	if (known && p->next[number] >= p->to)
		return true;
	skx_cursor_begin(p->cursor, term);
	if (p->docs != NULL)
	{
		skx_prefix_add_some(p);
		return true;
	}
	next = skx_prefix_add_all(p);
	if (known)
		p->next[number] = next;
	return true;
}

/* As the document's score caps them. */
static void
skx_prefix_bounds(SkxPrefix *p)
{
	SkxTopkRun *run = p->run;
	SkxTopkList *l = p->list;
	SkxCursorMemory *m = &p->memory;
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

/* Counts the range from `from` on, or the documents that are looked at. */
static void
skx_prefix_gather(SkxPrefix *p, uint32 from)
{
	uint32		i;

	p->from = from;
	p->to = from + Min(p->span, p->last - from);
	if (p->docs == NULL)
		p->ndocs = p->to - from;
	p->n = 0;
	p->df = 0;
	p->lexeme = 0;
	for (i = 0; i < p->ndocs; i++)
		p->tfs[i] = -1;
	if (p->ndocs == 0)
		return;
	p->cursor = skx_cursor_create(p->run->seg, SKX_CURSOR_PROBE);
	skx_segment_prefix(p->run->seg, p->scored->lexeme, p->scored->len,
					   true, skx_prefix_add, p);
	skx_cursor_close(p->cursor);
}

/*
 * Ends the range before what there is no room for; what is known of lexemes
 * was beyond that.
 */
static void
skx_prefix_cut(SkxPrefix *p)
{
	while (p->n > p->most)
		p->n -= p->tfs[--p->ndocs] >= 0;
	p->to = p->from + p->ndocs;
	memset(p->next, 0, sizeof(uint32) * p->nnext);
}

/* Makes postings of what was counted. */
static void
skx_prefix_fill(SkxPrefix *p)
{
	SkxCursorMemory *m = &p->memory;
	uint32		i;

	m->n = 0;
	for (i = 0; i < p->ndocs; i++)
	{
		if (p->tfs[i] < 0)
			continue;
		m->docs[m->n] = p->docs == NULL ? p->from + i : p->docs[i];
		m->counts[m->n++] = Min(p->tfs[i], SKX_SCORE_TF_MAX);
	}
	m->from = p->from;
	m->to = p->to;
	skx_prefix_bounds(p);
}

/* A range of which there is room for what has been counted; the next span. */
static void
skx_prefix_fill_range(SkxPrefix *p)
{
	uint64		span = SKX_PREFIX_DOCS;

	if (p->n > 0)
		span = (uint64) p->ndocs * p->most / p->n * 7 / 8;
	p->span = Max(Min(span, SKX_PREFIX_DOCS), SKX_PREFIX_LEAST);
	if (p->n > p->most)
		skx_prefix_cut(p);
	skx_prefix_fill(p);
}

static bool
skx_prefix_more(SkxCursorMemory *m, uint32 target)
{
	SkxPrefix  *p = (SkxPrefix *) m;

	m->n = 0;
	while (m->n == 0 && Max(m->to, target) < p->last)
	{
		skx_prefix_gather(p, Max(m->to, target));
		skx_prefix_fill_range(p);
	}
	return m->n > 0;
}

static void
skx_prefix_alloc(SkxPrefix *p, uint32 n)
{
	SkxCursorMemory *m = &p->memory;

	m->docs = palloc(sizeof(uint32) * (Size) n);
	m->counts = palloc(sizeof(float) * (Size) n);
	m->bounds = palloc(sizeof(int32) * ((Size) n / SKX_SUBBLOCK + 1));
}

/* The counts of all prefixes of a run, one after the other. */
static float *
skx_prefix_tfs(SkxTopkRun *run)
{
	Size		n = Min(run->seg->header.ndocs, SKX_PREFIX_DOCS);

	if (run->tfs == NULL)
		run->tfs = MemoryContextAlloc(run->topk->pass,
									  sizeof(float) * (n + 1));
	return run->tfs;
}

uint32
skx_topk_prefix_room(const SkxTopkRun *run)
{
	const SkxScorer *scorer = run->scorer;
	int			n = run->topk->many ? 1 : scorer->nterms - scorer->nplain;

	return Min(SKX_PREFIX_POSTINGS / Max(n, 1), SKX_PREFIX_DOCS);
}

/* The list, of a range at a time if there is no room for all of it. */
static void
skx_prefix_open(SkxPrefix *p)
{
	SkxTopkList *l = p->list;

	l->term = p->scored;
	l->weight = p->scored->weight;	/* a prefix has no pairs */
	if (p->to == p->last && p->n <= p->most)
	{
		skx_prefix_alloc(p, p->n);
		skx_prefix_fill(p);
		l->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
		return;
	}
	p->run->ranged = true;
	p->nnext = (uint64) SKX_PREFIX_LEXEMES * p->most / SKX_PREFIX_POSTINGS;
	p->next = palloc0(sizeof(uint32) * p->nnext);
	skx_prefix_alloc(p, p->most);
	l->max = (int32) l->weight + 1; /* however often it occurs */
	skx_prefix_fill_range(p);
	p->memory.more = skx_prefix_more;
	l->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
	l->cursor->df = (uint32) Min(p->df, p->last);
	skx_cursor_limit(l->cursor, l->max);
}

SkxTopkList *
skx_topk_list_prefix(SkxTopkRun *run, const SkxScoreTerm *scored,
					 const SkxTopkScope *scope)
{
	SkxPrefix  *p = palloc0(sizeof(SkxPrefix));

	p->run = run;
	p->scored = scored;
	p->docs = scope->docs;
	p->ndocs = scope->n;
	p->last = scope->to;
	p->span = scope->docs == NULL ? SKX_PREFIX_DOCS : PG_UINT32_MAX;
	p->most = skx_topk_prefix_room(run);
	p->tfs = skx_prefix_tfs(run);
	skx_prefix_gather(p, scope->from);
	if (p->df == 0 || (p->n == 0 && p->to == p->last))
	{
		pfree(p);
		return NULL;
	}
	p->list = palloc0(sizeof(SkxTopkList));
	skx_prefix_open(p);
	return p->list;
}
