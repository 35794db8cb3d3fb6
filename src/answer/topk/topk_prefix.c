/*
 * topk_prefix.c
 *	  The posting list of a prefix of the ranking query: that which the segment
 *	  has of it, or else one gathered from those of its lexemes.
 *
 * The frequency of a prefix in a document is the sum over its lexemes, so its
 * contribution is not the sum of theirs.  Frequencies are added up before
 * anything is scored.  If memory does not suffice for all documents of a
 * segment, this is done for one range of documents at a time, when the search
 * reaches it.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "index/cursor/cursor_sum.h"
#include "miscadmin.h"
#include "support/bitset/bitset.h"

/*
 * Bytes for the frequencies of all prefixes of a query that are gathered in
 * ranges: 2 for each document, or 4 if labels have weights.  The more there
 * are, the fewer ranges go through all lists again.
 */
#define SKX_PREFIX_TF_BYTES	(1 << 22)

/*
 * Number of postings of all prefixes of a query that are held at once, 8 bytes
 * each.
 */
#define SKX_PREFIX_POSTINGS_MAX	(3 << 17)

/*
 * Largest number of postings of a prefix in ranges that are held at once.
 * Others are made of the frequencies when they are needed.
 */
#define SKX_PREFIX_RANGE_POSTINGS	(1 << 16)

/*
 * Number of lexemes of all prefixes whose next documents are remembered, 4
 * bytes each.
 */
#define SKX_PREFIX_NEXT_DOCS	(1 << 17)

/* Least number of documents of a range, except the last one. */
#define SKX_PREFIX_RANGE_MIN	1024

/*
 * Number of bits that tell which documents the scope may have.  In a larger
 * segment several documents share a bit.
 */
#define SKX_PREFIX_SCOPE_BITS		(1 << 22)

/*
 * A list is traversed if it has fewer than this many times the documents of
 * the scope.  That takes 2 ns for a posting, with the bits of the scope,
 * whereas looking up a document takes 20.
 */
#define SKX_PREFIX_DENSE_RATIO	8

/* Memory for gathering, used by one prefix after the other. */
typedef struct SkxTopkPrefixCounts
{
	uint64	   *scope_bits;		/* bits of documents of the scope, at most
								 * SKX_PREFIX_SCOPE_BITS */
	Size		tfs_bytes;		/* bytes of `tfs` */
	void	   *tfs;			/* NULL: not allocated, or a prefix has taken
								 * them over */
} SkxTopkPrefixCounts;

/*
 * A prefix.  Documents of the scope have numbers: those of the segment, or
 * indexes in scope.docs.  Ranges are ranges of these numbers.
 */
typedef struct SkxTopkPrefix
{
	SkxCursorMemory memory;		/* first */
	SkxTopkRun *run;
	const SkxScoreTerm *scored;
	SkxTopkScope scope;
	SkxTopkList *list;
	uint32		max_postings;	/* largest number of postings held at once */
	uint32		max_range_docs; /* largest number of documents of a range */
	uint32		from;			/* the current range of numbers, [from, to) */
	uint32		to;
	uint32		filled_to;		/* postings were made of the numbers before
								 * this one */
	bool		is_unweighted;	/* each position counts as 1 */
	uint16	   *unweighted_tfs; /* if flat: frequency in each document of the
								 * range */
	float	   *label_tfs;		/* if not: the same; below 0: none */
	uint32		end_doc;		/* end of the documents of the range */
	uint32		first_doc;		/* first document of the range */
	int			scope_shift;	/* number of low bits of documents that
								 * `scope_bits` ignores */
	SkxTopkPrefixCounts *counts;
	uint32		n;				/* documents of the range with the prefix */
	SkxCursor  *cursor;			/* list of the current lexeme */
	uint32		lexeme;			/* number of the next lexeme */
	uint64		df;				/* postings of all lexemes, also outside the
								 * range */
	uint32	   *next_docs;		/* for each lexeme: its first document beyond
								 * the ranges it was read in; 0: not known */
	uint32		nnext_docs;
} SkxTopkPrefix;

/* Frequencies are capped as the score of a document caps them. */
static inline void
skx_prefix_add_unweighted(SkxTopkPrefix *p, uint32 at, uint16 tf)
{
	uint32		sum = (uint32) p->unweighted_tfs[at] + Max(tf, 1);

	p->unweighted_tfs[at] = (uint16) Min(sum, PG_UINT16_MAX);
}

/*
 * Adds posting i of the current sub-block to the frequency in document `at` of
 * the range.
 */
static inline void
skx_prefix_add_posting(SkxTopkPrefix *p, int i, uint32 at)
{
	float		tf;

	if (p->is_unweighted)
	{
		skx_prefix_add_unweighted(p, at, skx_cursor_tfs(p->cursor)[i]);
		return;
	}
	tf = skx_score_tf(p->run->scorer, p->scored, p->cursor, i);
	if (tf >= 0)
		p->label_tfs[at] = Max(p->label_tfs[at], 0) + tf;
}

/*
 * Adds postings [i, end) of the current sub-block, if the scope has all
 * documents.
 */
static void
skx_prefix_add_postings(SkxTopkPrefix *p, int i, int end)
{
	const uint32 *docs = p->cursor->docs;

	for (; i < end; i++)
		skx_prefix_add_posting(p, i, docs[i] - p->from);
}

/*
 * Returns the index, from i on, of the first document that is not below
 * `target`.  The n documents ascend, and the last one is not below it.  Since
 * the result is near, the search goes in steps of 8, 16, 32 and so on.
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

/*
 * Looks up each document of the range in the list of a lexeme, and adds what
 * is found.  Returns a lower bound of the list's next document beyond the
 * range.
 */
static uint32
skx_prefix_probe_list(SkxTopkPrefix *p)
{
	const uint32 *docs = p->scope.docs;
	uint32		i = p->from;

	while (i < p->to)
	{
		uint32		doc = skx_cursor_seek(p->cursor, docs[i]);

		if (doc >= p->end_doc)
			return doc;
		i = skx_prefix_first_from(docs, i, p->to, doc);
		if (docs[i] != doc)
			continue;
		skx_prefix_add_posting(p, p->cursor->i, i++ - p->from);
	}
	return p->end_doc;
}

/* Returns true if the scope may have a document that is in the range. */
static inline bool
skx_prefix_may_be_in_scope(const SkxTopkPrefix *p, uint32 doc)
{
	uint32		bit = (doc - p->first_doc) >> p->scope_shift;

	return skx_bitset_test(p->counts->scope_bits, bit);
}

/*
 * Adds those of postings [i, end) of the current sub-block that are in the
 * scope.  Searches scope.docs from index `at` on.  Returns the index from
 * which the next call may search.
 */
static uint32
skx_prefix_add_in_scope(SkxTopkPrefix *p, int i, int end, uint32 at)
{
	const uint32 *docs = p->scope.docs;
	const uint32 *found = p->cursor->docs;

	for (; i < end; i++)
	{
		if (!skx_prefix_may_be_in_scope(p, found[i]))
			continue;
		at = skx_prefix_first_from(docs, at, p->to, found[i]);
		if (docs[at] == found[i])
			skx_prefix_add_posting(p, i, at - p->from);
	}
	return at;
}

/*
 * Traverses the list of a lexeme in the range, and adds its postings.  Returns
 * the list's next document beyond the range.
 */
static uint32
skx_prefix_traverse_list(SkxTopkPrefix *p)
{
	SkxCursor  *c = p->cursor;
	uint32		at = p->from;
	uint32		doc;

	if (p->is_unweighted && p->scope.docs == NULL)
		return skx_cursor_add_tfs(c, p->from, p->end_doc, p->unweighted_tfs);
	doc = skx_cursor_seek(c, p->first_doc);
	while (doc < p->end_doc)
	{
		int			end = c->n;

		CHECK_FOR_INTERRUPTS();
		while (c->docs[end - 1] >= p->end_doc)
			end--;
		if (p->scope.docs == NULL)
			skx_prefix_add_postings(p, c->i, end);
		else
			at = skx_prefix_add_in_scope(p, c->i, end, at);
		if (end < c->n)
			return c->docs[end];
		doc = skx_cursor_seek(c, c->end);
	}
	return doc;
}

/*
 * Adds the postings of a lexeme.  Does not open its list if it is known to
 * have none in the range.
 */
static bool
skx_prefix_add_lexeme(const SkxTerm *term, const char *lexeme, int len,
					  void *arg)
{
	SkxTopkPrefix *p = arg;
	uint32		number = p->lexeme++;
	bool		known = number < p->nnext_docs;
	uint32		next;

	CHECK_FOR_INTERRUPTS();
	p->df += term->df;
	if (known && p->next_docs[number] >= p->end_doc)
		return true;
	skx_cursor_begin_term(p->cursor, term);
	next = p->scope.docs == NULL ||
		term->df / SKX_PREFIX_DENSE_RATIO < p->to - p->from ?
		skx_prefix_traverse_list(p) : skx_prefix_probe_list(p);
	if (known)
		p->next_docs[number] = next;
	return true;
}

/*
 * Computes the bounds of all sub-blocks of a list in memory, and of the list.
 */
static void
skx_prefix_compute_bounds(SkxTopkRun *run, SkxTopkList *l, SkxCursorMemory *m)
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
				run->scorer->inverses[norms[i - first]];
			int32		part = skx_rank_contribution(l->weight, m->counts[i],
													 inverse);

			bound = Max(bound, part);
		}
		m->bounds[first / SKX_SUBBLOCK] = bound;
		l->max_contribution = Max(l->max_contribution, bound);
	}
}

/* Sets the range to [from, to). */
static void
skx_prefix_set_range(SkxTopkPrefix *p, uint32 from, uint32 to)
{
	p->from = from;
	p->to = to;
	p->end_doc = to;
	if (p->scope.docs != NULL)
		p->end_doc = to > from ? p->scope.docs[to - 1] + 1 : 0;
}

/* Sets the bits of the documents of the scope that are in the range. */
static void
skx_prefix_set_scope_bits(SkxTopkPrefix *p)
{
	const uint32 *docs = p->scope.docs;
	uint64	   *bits = p->counts->scope_bits;
	uint32		i;

	p->first_doc = p->from;
	if (docs == NULL || p->to == p->from)
		return;
	p->first_doc = docs[p->from];
	p->scope_shift = 0;
	while ((p->end_doc - p->first_doc) >> p->scope_shift >=
		   SKX_PREFIX_SCOPE_BITS)
		p->scope_shift++;
	memset(bits, 0, sizeof(uint64) *
		   SKX_BITSET_WORDS(((p->end_doc - p->first_doc) >> p->scope_shift) +
							1));
	for (i = p->from; i < p->to; i++)
		skx_bitset_set(bits, (docs[i] - p->first_doc) >> p->scope_shift);
}

static inline uint32
skx_prefix_words(const SkxTopkPrefix *p)
{
	return SKX_BITSET_WORDS(p->to - p->from);
}

/*
 * Clears the frequencies, including those of the last 64 documents that lie
 * beyond the range.
 */
static void
skx_prefix_clear_tfs(SkxTopkPrefix *p)
{
	uint32		n = skx_prefix_words(p) * SKX_BITSET_BITS;
	uint32		i;

	if (p->is_unweighted)
		memset(p->unweighted_tfs, 0, sizeof(uint16) * (Size) n);
	else
		for (i = 0; i < n; i++)
			p->label_tfs[i] = -1;
}

/*
 * Returns the bits of those of the 64 documents from `at` on that have the
 * prefix.
 */
static inline uint64
skx_prefix_doc_bits(const SkxTopkPrefix *p, uint32 at)
{
	uint64		word = 0;
	int			i;

	if (p->is_unweighted)
		for (i = 0; i < 64; i++)
			word |= (uint64) (p->unweighted_tfs[at + i] != 0) << i;
	else
		for (i = 0; i < 64; i++)
			word |= (uint64) (p->label_tfs[at + i] >= 0) << i;
	return word;
}

/* Counts the documents of the range that have the prefix. */
static void
skx_prefix_count_docs(SkxTopkPrefix *p)
{
	uint32		nwords = skx_prefix_words(p);
	uint32		w;

	p->n = 0;
	for (w = 0; w < nwords; w++)
		p->n +=
			skx_bitset_count_word(skx_prefix_doc_bits(p, w * SKX_BITSET_BITS));
}

/* Gathers the frequencies of the range that begins at `from`. */
static void
skx_prefix_gather_range(SkxTopkPrefix *p, uint32 from)
{
	skx_prefix_set_range(p, from,
						 from + Min(p->max_range_docs, p->scope.to - from));
	skx_prefix_clear_tfs(p);
	skx_prefix_set_scope_bits(p);
	p->df = 0;
	p->lexeme = 0;
	if (p->from < p->to)
	{
		p->cursor = skx_cursor_create(p->run->seg, SKX_CURSOR_PROBE);
		skx_segment_visit_prefix(p->run->seg, p->scored->lexeme,
								 p->scored->len, true, NULL,
								 skx_prefix_add_lexeme, p);
		skx_cursor_close(p->cursor);
	}
}

/*
 * Makes postings of the documents whose bits are set in `word`, which is for
 * the 64 documents from `at` on.  n is the number of postings so far.  Returns
 * their new number.
 */
static uint32
skx_prefix_make_word(SkxTopkPrefix *p, uint32 at, uint64 word, uint32 n)
{
	SkxCursorMemory *m = &p->memory;
	const uint32 *docs = p->scope.docs;

	while (word != 0)
	{
		uint32		i = at + skx_bitset_pop_lowest(&word);

		m->docs[n] = docs == NULL ? p->from + i : docs[p->from + i];
		m->counts[n++] = p->is_unweighted ? (float) p->unweighted_tfs[i] :
			Min(p->label_tfs[i], SKX_SCORE_TF_MAX);
	}
	return n;
}

/*
 * Makes postings of the frequencies, from number `from` of the range on.
 * Stops when those of the next 64 documents exceed the capacity.
 */
static void
skx_prefix_make_postings(SkxTopkPrefix *p, uint32 from)
{
	SkxCursorMemory *m = &p->memory;
	uint32		at = from - p->from;
	uint32		end = p->to - p->from;
	uint32		n = 0;

	while (at < end)
	{
		uint32		first = at % SKX_BITSET_BITS;
		uint64		word = skx_prefix_doc_bits(p,
											   at - first) >> first << first;

		if (n + skx_bitset_count_word(word) > p->max_postings)
			break;
		n = skx_prefix_make_word(p, at - first, word, n);
		at += SKX_BITSET_BITS - first;
	}
	m->n = n;
	p->filled_to = Min(p->from + at, p->to);
	m->refill_to = SKX_NO_DOC;
	if (p->filled_to < p->scope.to)
		m->refill_to = p->scope.docs == NULL ? p->filled_to :
			p->scope.docs[p->filled_to - 1] + 1;
	skx_prefix_compute_bounds(p->run, p->list, m);
}

/*
 * Returns the number of the first document that is not filled yet and not
 * below `target`.
 */
static uint32
skx_prefix_doc_number(const SkxTopkPrefix *p, uint32 target)
{
	const uint32 *docs = p->scope.docs;
	uint32		last = p->scope.to;

	if (docs == NULL)
		return Min(Max(p->filled_to, target), last);
	if (p->filled_to == last || docs[last - 1] < target)
		return last;
	return skx_cursor_first_from(docs, p->filled_to, last, target);
}

static bool
skx_prefix_next_postings(SkxCursorMemory *m, uint32 target)
{
	SkxTopkPrefix *p = (SkxTopkPrefix *) m;
	uint32		from = skx_prefix_doc_number(p, target);

	m->n = 0;
	while (m->n == 0 && from < p->scope.to)
	{
		CHECK_FOR_INTERRUPTS();
		if (from >= p->to)
			skx_prefix_gather_range(p, from);
		skx_prefix_make_postings(p, from);
		from = p->filled_to;
	}
	return m->n > 0;
}

static int32 *
skx_prefix_alloc_bounds(uint32 n)
{
	return palloc(sizeof(int32) * ((Size) n / SKX_SUBBLOCK + 1));
}

static void
skx_prefix_alloc(SkxTopkPrefix *p, uint32 n)
{
	SkxCursorMemory *m = &p->memory;

	m->docs = palloc(sizeof(uint32) * (Size) n);
	m->counts = palloc(sizeof(float) * (Size) n);
	m->bounds = skx_prefix_alloc_bounds(n);
}

static inline Size
skx_prefix_tf_width(const SkxTopkPrefix *p)
{
	return p->is_unweighted ? sizeof(uint16) : sizeof(float);
}

/*
 * Returns the largest number of documents of a range.  All prefixes have equal
 * shares of the memory.
 */
static uint32
skx_prefix_max_range(const SkxTopkPrefix *p)
{
	const SkxScorer *scorer = p->run->scorer;
	int			n = p->run->topk->has_many_words ? 1 : scorer->nterms -
		scorer->nplain;
	Size		room = SKX_PREFIX_TF_BYTES / Max(n,
												 1) / skx_prefix_tf_width(p);

	room = Max(room, SKX_PREFIX_RANGE_MIN);
	return room - room % SKX_BITSET_BITS;
}

/*
 * Allocates the frequencies for a scope of `total` documents: for all of them
 * if they may become a whole list, or else for a range.  The last 64 documents
 * may lie beyond the range.
 */
static void
skx_prefix_alloc_tfs(SkxTopkPrefix *p, uint32 total)
{
	SkxTopkRun *run = p->run;
	MemoryContext context = run->topk->pass_context;
	Size		width = skx_prefix_tf_width(p);
	Size		size;

	p->max_range_docs = total <= SKX_TOPK_SCOPE_DOCS_MAX ? total :
		Min(skx_prefix_max_range(p), total);
	size = (p->max_range_docs + (Size) 64) * width;
	if (run->prefix_counts == NULL)
		run->prefix_counts =
			MemoryContextAllocZero(context, sizeof(SkxTopkPrefixCounts));
	if (p->scope.docs != NULL && run->prefix_counts->scope_bits == NULL)
		run->prefix_counts->scope_bits =
			MemoryContextAlloc(context, sizeof(uint64) *
							   SKX_BITSET_WORDS(Min(run->seg->header.ndocs,
													SKX_PREFIX_SCOPE_BITS) +
												1));
	if (run->prefix_counts->tfs != NULL &&
		run->prefix_counts->tfs_bytes < size)
	{
		pfree(run->prefix_counts->tfs);
		run->prefix_counts->tfs = NULL;
	}
	if (run->prefix_counts->tfs == NULL)
	{
		run->prefix_counts->tfs_bytes = size;
		run->prefix_counts->tfs = MemoryContextAlloc(context, size);
	}
	p->counts = run->prefix_counts;
	p->unweighted_tfs = run->prefix_counts->tfs;
	p->label_tfs = run->prefix_counts->tfs;
}

/*
 * Keeps the frequencies of a list in ranges, up to its share of the memory.
 * With very many words no other list is open, so it may use the shared memory.
 */
static void
skx_prefix_keep_tfs(SkxTopkPrefix *p)
{
	Size		width = skx_prefix_tf_width(p);
	uint32		room = skx_prefix_max_range(p);
	void	   *cells;

	if (p->run->topk->has_many_words)
		return;
	if (p->to - p->from > room)
	{
		skx_prefix_set_range(p, p->from, p->from + room);
		cells = palloc(room * width);
		memcpy(cells, p->counts->tfs, room * width);
		p->unweighted_tfs = cells;
		p->label_tfs = cells;
		p->max_range_docs = room;
	}
	else
		p->counts->tfs = NULL;
}

uint32
skx_topk_prefix_max_postings(const SkxTopkRun *run)
{
	const SkxScorer *scorer = run->scorer;
	int			n = run->topk->has_many_words ? 1 : scorer->nterms -
		scorer->nplain;

	return Min(SKX_PREFIX_POSTINGS_MAX / Max(n, 1), SKX_TOPK_SCOPE_DOCS_MAX);
}

/*
 * Remembers the next documents of as many lexemes as the share of this prefix
 * allows.
 */
static void
skx_prefix_alloc_next_docs(SkxTopkPrefix *p)
{
	p->nnext_docs = (uint64) SKX_PREFIX_NEXT_DOCS * p->max_postings /
		SKX_PREFIX_POSTINGS_MAX;
	p->next_docs = palloc0(sizeof(uint32) * p->nnext_docs);
}

/* Opens a list in ranges, with the first postings of the first range. */
static void
skx_prefix_open_ranges(SkxTopkPrefix *p)
{
	SkxTopkList *l = p->list;

	p->run->gathers_ranges = true;
	if (p->next_docs == NULL)
		skx_prefix_alloc_next_docs(p);
	skx_prefix_keep_tfs(p);
	p->max_postings = Max(Min(p->max_postings, SKX_PREFIX_RANGE_POSTINGS), 64);
	skx_prefix_alloc(p, p->max_postings);
	skx_prefix_make_postings(p, p->from);
	p->memory.refill = skx_prefix_next_postings;
	l->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
	l->cursor->df = (uint32) Min(p->df, p->scope.to - p->scope.from);
	l->max_contribution = (int32) l->weight + 1;	/* whatever the
													 * frequencies are */
	skx_cursor_set_bound(l->cursor, l->max_contribution);
}

static void
skx_prefix_open_whole(SkxTopkPrefix *p)
{
	skx_prefix_alloc(p, p->n);
	skx_prefix_make_postings(p, p->from);
	p->list->cursor = skx_cursor_open_memory(p->run->seg, &p->memory);
}

/* A prefix has no pairs, but words of a group may. */
static SkxTopkList *
skx_prefix_open_list(const SkxTopkRun *run, const SkxScoreTerm *scored)
{
	SkxTopkList *l = palloc0(sizeof(SkxTopkList));

	l->term = scored;
	l->weight = run->has_ceilings ? scored->ceiling : scored->weight;
	return l;
}

SkxTopkList *
skx_topk_open_memory_list(SkxTopkRun *run, const SkxScoreTerm *scored,
						  SkxCursorMemory *memory)
{
	SkxTopkList *l = skx_prefix_open_list(run, scored);

	memory->bounds = skx_prefix_alloc_bounds(memory->n);
	skx_prefix_compute_bounds(run, l, memory);
	l->cursor = skx_cursor_open_memory(run->seg, memory);
	return l;
}

SkxTopkList *
skx_topk_open_stored_list(SkxTopkRun *run, const SkxScoreTerm *scored)
{
	SkxSegment *prefixes = skx_segment_prefixes(run->seg);
	SkxTerm		term;

	if (prefixes == NULL || !skx_score_is_unweighted(run->scorer, scored) ||
		!skx_segment_find(prefixes, scored->lexeme, scored->len, &term))
		return NULL;
	return skx_topk_list_open(run, prefixes, &term, scored, 0);
}

SkxTopkList *
skx_topk_open_prefix_list(SkxTopkRun *run, const SkxScoreTerm *scored,
						  const SkxTopkScope *scope)
{
	SkxTopkPrefix *p = palloc0(sizeof(SkxTopkPrefix));
	uint32		total = scope->to - scope->from;
	bool		whole;

	p->run = run;
	p->scored = scored;
	p->scope = *scope;
	p->max_postings = skx_topk_prefix_max_postings(run);
	p->is_unweighted = skx_score_is_unweighted(run->scorer, scored);
	skx_prefix_alloc_tfs(p, total);
	if (p->max_range_docs < total)
		skx_prefix_alloc_next_docs(p);
	skx_prefix_gather_range(p, scope->from);
	skx_prefix_count_docs(p);
	whole = p->to == scope->to && p->n <= p->max_postings;
	if (p->df == 0 || (whole && p->n == 0))
		return NULL;
	p->list = skx_prefix_open_list(run, scored);
	if (whole)
		skx_prefix_open_whole(p);
	else
		skx_prefix_open_ranges(p);
	return p->list;
}
