/*
 * topk_prefix.c
 *	  A prefix of the ranking query as one list, gathered from those of its
 *	  lexemes.
 *
 * How often a prefix occurs in a document is the sum over its lexemes, so what
 * it gives is not the sum of what they give: the lists are added up before
 * anything is scored.  Where there is no room for all documents of a segment
 * that is done for a range of them at a time, when the search gets there.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "topk/topk_internal.h"

/* Documents that are gathered at once at most, 4 bytes each. */
#define SKX_PREFIX_DOCS		(1 << 18)

/* Postings of all prefixes of a query that are held at once, 8 bytes each. */
#define SKX_PREFIX_POSTINGS	(3 << 17)

/* Lexemes of all of them whose next documents are known, 4 bytes each. */
#define SKX_PREFIX_LEXEMES	(1 << 17)

/* Documents of a range at least, but for the last one. */
#define SKX_PREFIX_LEAST	1024

/* Of the documents of a range. */
typedef struct SkxTopkCounts
{
	uint64		bits[SKX_PREFIX_DOCS / 64]; /* those that have some */
	float		tfs[FLEXIBLE_ARRAY_MEMBER]; /* how many, if so */
} SkxTopkCounts;

/*
 * Documents of the scope have numbers: those of the segment, or places in
 * scope.docs.  A range is of such numbers.
 */
typedef struct SkxPrefix
{
	SkxCursorMemory memory;		/* first */
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	SkxTopkScope scope;
	SkxTopkList *list;
	uint32		most;			/* postings that there is room for */
	uint32		span;			/* documents of the next range */
	uint32		from;			/* the range */
	uint32		to;
	uint32		end;			/* its documents are before this one */
	SkxTopkCounts *counts;
	uint32		n;				/* of its documents have some */
	SkxCursor  *cursor;			/* of a lexeme at a time */
	uint32		lexeme;			/* its number */
	uint64		df;				/* postings of all lexemes, wherever */
	uint32	   *next;			/* by lexeme: it has nothing from `end` to
								 * this document; 0: not known */
	uint32		nnext;
} SkxPrefix;

/* Adds posting i of the sub-block to what document `at` of the range has. */
static inline void
skx_prefix_count(SkxPrefix *p, int i, uint32 at)
{
	float		tf = skx_score_tf(p->run->scorer, p->scored, p->cursor, i);
	uint64	   *word = &p->counts->bits[at / 64];
	uint64		bit = UINT64CONST(1) << (at % 64);

	if (tf < 0)
		return;
	p->counts->tfs[at] = tf + ((*word & bit) != 0 ? p->counts->tfs[at] : 0);
	*word |= bit;
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
			skx_prefix_count(p, i, c->docs[i] - p->from);
		if (end < c->n)
			return c->docs[end];
		doc = skx_cursor_seek(c, c->end);
	}
	return doc;
}

/* Adds those of the documents of the scope; returns the same. */
static uint32
skx_prefix_add_some(SkxPrefix *p)
{
	const uint32 *docs = p->scope.docs;
	uint32		i = p->from;

	while (i < p->to)
	{
		uint32		doc = skx_cursor_seek(p->cursor, docs[i]);

		if (doc >= p->end)
			return doc;
		i = skx_cursor_first_from(docs, i, p->to, doc);
		if (docs[i] != doc)
			continue;
		skx_prefix_count(p, p->cursor->i, i++ - p->from);
	}
	return p->end;
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
	if (known && p->next[number] >= p->end)
		return true;
	skx_cursor_begin(p->cursor, term);
	next = p->scope.docs == NULL ? skx_prefix_add_all(p) :
		skx_prefix_add_some(p);
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

/* The range is [from, to). */
static void
skx_prefix_range(SkxPrefix *p, uint32 from, uint32 to)
{
	p->from = from;
	p->to = to;
	p->end = to;
	if (p->scope.docs != NULL)
		p->end = to > from ? p->scope.docs[to - 1] + 1 : 0;
}

static inline uint32
skx_prefix_words(const SkxPrefix *p)
{
	return (p->to - p->from + 63) / 64;
}

/* Counts the range from `from` on. */
static void
skx_prefix_gather(SkxPrefix *p, uint32 from)
{
	uint64	   *bits = p->counts->bits;

	skx_prefix_range(p, from, from + Min(p->span, p->scope.to - from));
	memset(bits, 0, sizeof(uint64) * skx_prefix_words(p));
	p->df = 0;
	p->lexeme = 0;
	if (p->from < p->to)
	{
		p->cursor = skx_cursor_create(p->run->seg, SKX_CURSOR_PROBE);
		skx_segment_prefix(p->run->seg, p->scored->lexeme, p->scored->len,
						   true, NULL, skx_prefix_add, p);
		skx_cursor_close(p->cursor);
	}
	p->n = pg_popcount((const char *) bits,
					   sizeof(uint64) * skx_prefix_words(p));
}

/* Makes postings of what was counted. */
static void
skx_prefix_fill(SkxPrefix *p)
{
	SkxCursorMemory *m = &p->memory;
	const SkxTopkCounts *counts = p->counts;
	const uint32 *docs = p->scope.docs;
	uint32		nwords = skx_prefix_words(p);
	uint32		n = 0;
	uint32		w;

	for (w = 0; w < nwords; w++)
	{
		uint64		word = counts->bits[w];

		for (; word != 0; word &= word - 1)
		{
			uint32		at = w * 64 + pg_rightmost_one_pos64(word);

			m->docs[n] = docs == NULL ? p->from + at : docs[p->from + at];
			m->counts[n++] = Min(counts->tfs[at], SKX_SCORE_TF_MAX);
		}
	}
	m->n = n;
	m->to = p->to < p->scope.to ? p->end : SKX_NO_DOC;
	skx_prefix_bounds(p);
}

/*
 * Ends the range before what there is no room for; what is known of lexemes
 * was beyond that.
 */
static void
skx_prefix_cut(SkxPrefix *p)
{
	uint32		nwords = skx_prefix_words(p);

	while (p->n > p->most)
		p->n -= pg_popcount64(p->counts->bits[--nwords]);
	skx_prefix_range(p, p->from, p->from + nwords * 64);
	memset(p->next, 0, sizeof(uint32) * p->nnext);
}

/*
 * Fills as much as there is room for of the range that was counted; the next
 * one is as long as would fill it if it had as much, but for an eighth.
 */
static void
skx_prefix_fill_range(SkxPrefix *p)
{
	uint64		span = SKX_PREFIX_DOCS;

	if (p->n > 0)
		span = (uint64) (p->to - p->from) * p->most / p->n * 7 / 8;
	p->span = Max(Min(span, SKX_PREFIX_DOCS), SKX_PREFIX_LEAST);
	if (p->n > p->most)
		skx_prefix_cut(p);
	skx_prefix_fill(p);
}

/* The number of the first document from a later range on that is >= target. */
static uint32
skx_prefix_number(const SkxPrefix *p, uint32 target)
{
	const uint32 *docs = p->scope.docs;
	uint32		last = p->scope.to;

	if (docs == NULL)
		return Min(Max(p->to, target), last);
	if (p->to == last || docs[last - 1] < target)
		return last;
	return skx_cursor_first_from(docs, p->to, last, target);
}

static bool
skx_prefix_more(SkxCursorMemory *m, uint32 target)
{
	SkxPrefix  *p = (SkxPrefix *) m;
	uint32		from = skx_prefix_number(p, target);

	m->n = 0;
	while (m->n == 0 && from < p->scope.to)
	{
		skx_prefix_gather(p, from);
		skx_prefix_fill_range(p);
		from = p->to;
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
static SkxTopkCounts *
skx_prefix_counts(SkxTopkRun *run)
{
	Size		n = Min(run->seg->header.ndocs, SKX_PREFIX_DOCS);

	if (run->counts == NULL)
		run->counts = MemoryContextAlloc(run->topk->pass,
										 offsetof(SkxTopkCounts, tfs) +
										 sizeof(float) * (n + 1));
	return run->counts;
}

/* Postings of a prefix, beside the others that are there at the same time. */
static uint32
skx_prefix_most(const SkxTopkRun *run)
{
	const SkxScorer *scorer = run->scorer;
	int			n = run->topk->many ? 1 : scorer->nterms - scorer->nplain;

	return Min(SKX_PREFIX_POSTINGS / Max(n, 1), SKX_PREFIX_DOCS);
}

/* Of lexemes it is worth to know where they go on. */
static void
skx_prefix_open_next(SkxPrefix *p)
{
	p->nnext = (uint64) SKX_PREFIX_LEXEMES * p->most / SKX_PREFIX_POSTINGS;
	p->next = palloc0(sizeof(uint32) * p->nnext);
}

/* The list of a range, which the others will take the place of. */
static void
skx_prefix_open_ranges(SkxPrefix *p)
{
	SkxTopkList *l = p->list;

	p->run->ranged = true;
	if (p->next == NULL)
		skx_prefix_open_next(p);
	skx_prefix_alloc(p, p->most);
	skx_prefix_fill_range(p);
	p->memory.more = skx_prefix_more;
	l->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
	l->cursor->df = (uint32) Min(p->df, p->scope.to - p->scope.from);
	l->max = (int32) l->weight + 1; /* however often it occurs */
	skx_cursor_limit(l->cursor, l->max);
}

static void
skx_prefix_open_whole(SkxPrefix *p)
{
	skx_prefix_alloc(p, p->n);
	skx_prefix_fill(p);
	p->list->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
}

SkxTopkList *
skx_topk_list_prefix(SkxTopkRun *run, const SkxScoreTerm *scored,
					 const SkxTopkScope *scope)
{
	SkxPrefix  *p = palloc0(sizeof(SkxPrefix));
	uint32		total = scope->to - scope->from;
	bool		whole;

	p->run = run;
	p->scored = scored;
	p->scope = *scope;
	p->most = skx_prefix_most(run);
	p->counts = skx_prefix_counts(run);
	p->span = total;
	if (total > SKX_PREFIX_DOCS)
	{
		p->span = p->most;
		skx_prefix_open_next(p);
	}
	skx_prefix_gather(p, scope->from);
	whole = p->to == scope->to && p->n <= p->most;
	if (p->df == 0 || (whole && p->n == 0))
		return NULL;
	p->list = palloc0(sizeof(SkxTopkList));
	p->list->term = scored;
	p->list->weight = scored->weight;	/* a prefix has no pairs */
	if (whole)
		skx_prefix_open_whole(p);
	else
		skx_prefix_open_ranges(p);
	return p->list;
}
