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
#define SKX_PREFIX_DOCS		SKX_TOPK_SCOPE_DOCS

/* Postings of all prefixes of a query that are held at once, 8 bytes each. */
#define SKX_PREFIX_POSTINGS	(3 << 17)

/* Lexemes of all of them whose next documents are known, 4 bytes each. */
#define SKX_PREFIX_LEXEMES	(1 << 17)

/* Documents of a range at least, but for the last one. */
#define SKX_PREFIX_LEAST	1024

/*
 * Bits that tell which documents a scope may have; in a segment with more
 * documents several of them share one.
 */
#define SKX_PREFIX_BITS		(1 << 22)

/*
 * A list with less than so many times the documents of the scope is traversed:
 * 2 ns a posting with such bits, where looking a document up takes 20.
 */
#define SKX_PREFIX_DENSE	8

/* Of the documents of a range. */
typedef struct SkxTopkCounts
{
	uint64		bits[SKX_PREFIX_DOCS / 64]; /* those that have some */
	uint64	   *scoped;			/* those of the scope, SKX_PREFIX_BITS */
	float		tfs[FLEXIBLE_ARRAY_MEMBER]; /* how many, above none */
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
	uint32		base;			/* the first of them; */
	int			shift;			/* the scope's, by so many, are in `scoped` */
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

	if (tf >= 0)
		p->counts->tfs[at] = Max(p->counts->tfs[at], 0) + tf;
}

/* Adds postings [i, end) of the sub-block, where all documents are meant. */
static void
skx_prefix_count_all(SkxPrefix *p, int i, int end)
{
	SkxCursor  *c = p->cursor;
	const uint32 *docs = c->docs;
	uint32		from = p->from;
	float	   *sums = p->counts->tfs;
	const uint16 *tfs;

	if (!skx_score_is_flat(p->run->scorer, p->scored))
	{
		for (; i < end; i++)
			skx_prefix_count(p, i, docs[i] - from);
		return;
	}
	for (tfs = skx_cursor_tfs(c); i < end; i++)
		sums[docs[i] - from] += Max(tfs[i], 1);
}

/*
 * The first of ascending docs[i], ..., docs[n - 1], of which there may be very
 * many, that is >= target; the last one is.  It is near: one of the next 8, or
 * of 16 behind these, or of 32.
 */
static inline uint32
skx_prefix_first_from(const uint32 *docs, uint32 i, uint32 n, uint32 target)
{
	uint32		step = 8;

	while (step < n - i && docs[i + step - 1] < target)
	{
		i += step;
		step *= 2;
	}
	return skx_cursor_first_from(docs, i, Min(i + step, n), target);
}

/* Adds those of the documents of the scope, each of which is looked up. */
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
		i = skx_prefix_first_from(docs, i, p->to, doc);
		if (docs[i] != doc)
			continue;
		skx_prefix_count(p, p->cursor->i, i++ - p->from);
	}
	return p->end;
}

/* May the scope have the document, which is in the range? */
static inline bool
skx_prefix_is_scoped(const SkxPrefix *p, uint32 doc)
{
	uint32		bit = (doc - p->base) >> p->shift;

	return (p->counts->scoped[bit / 64] >> (bit % 64) & 1) != 0;
}

/*
 * Adds postings [i, end) of the sub-block, of documents that the scope has;
 * returns where it goes on in these, from `at` on.
 */
static uint32
skx_prefix_count_scoped(SkxPrefix *p, int i, int end, uint32 at)
{
	const uint32 *docs = p->scope.docs;
	const uint32 *found = p->cursor->docs;

	for (; i < end; i++)
	{
		if (!skx_prefix_is_scoped(p, found[i]))
			continue;
		at = skx_prefix_first_from(docs, at, p->to, found[i]);
		if (docs[at] == found[i])
			skx_prefix_count(p, i, at - p->from);
	}
	return at;
}

/*
 * Adds the postings of a lexeme in the range, whose sub-blocks are traversed
 * once; returns its first document after that.
 */
static uint32
skx_prefix_add_all(SkxPrefix *p)
{
	SkxCursor  *c = p->cursor;
	uint32		doc = skx_cursor_seek(c, p->base);
	uint32		at = p->from;

	while (doc < p->end)
	{
		int			end = c->n;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= p->end)
			end--;
		if (p->scope.docs == NULL)
			skx_prefix_count_all(p, c->i, end);
		else
			at = skx_prefix_count_scoped(p, c->i, end, at);
		if (end < c->n)
			return c->docs[end];
		doc = skx_cursor_seek(c, c->end);
	}
	return doc;
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
	next = p->scope.docs == NULL ||
		term->df / SKX_PREFIX_DENSE < p->to - p->from ?
		skx_prefix_add_all(p) : skx_prefix_add_some(p);
	if (known)
		p->next[number] = next;
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

		CHECK_FOR_INTERRUPTS();
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

/* Which documents of the scope are in the range. */
static void
skx_prefix_note_scope(SkxPrefix *p)
{
	const uint32 *docs = p->scope.docs;
	uint64	   *bits = p->counts->scoped;
	uint32		i;

	p->base = p->from;
	if (docs == NULL || p->to == p->from)
		return;
	p->base = docs[p->from];
	p->shift = 0;
	while ((p->end - p->base) >> p->shift >= SKX_PREFIX_BITS)
		p->shift++;
	memset(bits, 0, ((p->end - p->base) >> p->shift) / 8 + sizeof(uint64));
	for (i = p->from; i < p->to; i++)
	{
		uint32		bit = (docs[i] - p->base) >> p->shift;

		bits[bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
}

static inline uint32
skx_prefix_words(const SkxPrefix *p)
{
	return (p->to - p->from + 63) / 64;
}

/*
 * What a document without any has.  Where each place counts once, postings can
 * be added to 0; elsewhere one may count 0 times.
 */
static inline float
skx_prefix_none(const SkxPrefix *p)
{
	return skx_score_is_flat(p->run->scorer, p->scored) ? 0 : -1;
}

/* No document has any; those of the last word behind the range, too. */
static void
skx_prefix_clear(SkxPrefix *p)
{
	float		none = skx_prefix_none(p);
	float	   *tfs = p->counts->tfs;
	uint32		n = skx_prefix_words(p) * 64;
	uint32		i;

	for (i = 0; i < n; i++)
		tfs[i] = none;
}

/* Which documents have some, and how many these are. */
static void
skx_prefix_mark(SkxPrefix *p)
{
	const float *tfs = p->counts->tfs;
	float		none = skx_prefix_none(p);
	uint64	   *bits = p->counts->bits;
	uint32		nwords = skx_prefix_words(p);
	uint32		w;
	int			i;

	for (w = 0; w < nwords; w++, tfs += 64)
	{
		uint64		word = 0;

		for (i = 0; i < 64; i++)
			word |= (uint64) (tfs[i] > none) << i;
		bits[w] = word;
	}
	p->n = pg_popcount((const char *) bits, sizeof(uint64) * nwords);
}

/* Counts the range from `from` on. */
static void
skx_prefix_gather(SkxPrefix *p, uint32 from)
{
	skx_prefix_range(p, from, from + Min(p->span, p->scope.to - from));
	skx_prefix_clear(p);
	skx_prefix_note_scope(p);
	p->df = 0;
	p->lexeme = 0;
	if (p->from < p->to)
	{
		p->cursor = skx_cursor_create(p->run->seg, SKX_CURSOR_PROBE);
		skx_segment_prefix(p->run->seg, p->scored->lexeme, p->scored->len,
						   true, NULL, skx_prefix_add, p);
		skx_cursor_close(p->cursor);
	}
	skx_prefix_mark(p);
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
	skx_prefix_bounds(p->run, p->list, m);
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

static int32 *
skx_prefix_alloc_bounds(uint32 n)
{
	return palloc(sizeof(int32) * ((Size) n / SKX_SUBBLOCK + 1));
}

static void
skx_prefix_alloc(SkxPrefix *p, uint32 n)
{
	SkxCursorMemory *m = &p->memory;

	m->docs = palloc(sizeof(uint32) * (Size) n);
	m->counts = palloc(sizeof(float) * (Size) n);
	m->bounds = skx_prefix_alloc_bounds(n);
}

/* The counts of all prefixes of a run, one after the other. */
static SkxTopkCounts *
skx_prefix_counts(SkxTopkRun *run, bool scoped)
{
	Size		ndocs = run->seg->header.ndocs;

	if (run->counts == NULL)
	{
		run->counts = MemoryContextAlloc(run->topk->pass,
										 offsetof(SkxTopkCounts, tfs) +
										 sizeof(float) *
										 (Min(ndocs, SKX_PREFIX_DOCS) + 64));
		run->counts->scoped = NULL;
	}
	if (scoped && run->counts->scoped == NULL)
		run->counts->scoped = MemoryContextAlloc(run->topk->pass,
												 Min(ndocs, SKX_PREFIX_BITS) / 8 +
												 2 * sizeof(uint64));
	return run->counts;
}

uint32
skx_topk_prefix_most(const SkxTopkRun *run)
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

static SkxTopkList *
skx_prefix_list(const SkxScoreTerm *scored)
{
	SkxTopkList *l = palloc0(sizeof(SkxTopkList));

	l->term = scored;
	l->weight = scored->weight; /* a prefix has no pairs */
	return l;
}

SkxTopkList *
skx_topk_list_memory(SkxTopkRun *run, const SkxScoreTerm *scored,
					 SkxCursorMemory *memory)
{
	SkxTopkList *l = skx_prefix_list(scored);

	memory->bounds = skx_prefix_alloc_bounds(memory->n);
	skx_prefix_bounds(run, l, memory);
	l->cursor = skx_cursor_open_memory(run->seg, memory);
	return l;
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
	p->most = skx_topk_prefix_most(run);
	p->counts = skx_prefix_counts(run, scope->docs != NULL);
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
	p->list = skx_prefix_list(scored);
	if (whole)
		skx_prefix_open_whole(p);
	else
		skx_prefix_open_ranges(p);
	return p->list;
}
