/*
 * query_range.c
 *	  Bitmaps of prefixes and of many clauses, for one range of documents at a
 *	  time.
 *
 * The documents that many lists match are put into bits, one list after the
 * other.  All bitmaps of a query on a segment share one memory budget.  If a
 * bitmap cannot cover the whole segment within its share, it covers a range of
 * documents.  It goes through its lists again for each further range that is
 * needed.
 *
 * For a limited number of lexemes of prefixes, a bitmap stores the next
 * document after the range.  A list that has no document in a range is then
 * not opened for it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "read/query/query_internal.h"

/*
 * The memory budget, in bytes, of all bitmaps of a query on a segment.  If the
 * whole answer will be fetched, it is work_mem if that is more.
 */
#define SKX_RANGE_BYTES		(3 << 19)

/*
 * A bitmap of fewer windows than this, of 512 bytes each, is a small piece of
 * memory.
 */
#define SKX_RANGE_SMALL		16

/*
 * The number of lexemes, in all bitmaps of a query, whose next documents are
 * stored, in 4 bytes each.
 */
#define SKX_RANGE_LEXEMES	(1 << 17)

/* A term that is put into a bitmap. */
typedef struct SkxRangeTerm
{
	const SkxTerm *term;
	uint8		labels;
} SkxRangeTerm;

/*
 * A bitmap.  If `all` is false, its documents are those that have one of the
 * prefixes or terms, or match one of the clauses.  If `all` is true, they are
 * those that have all terms and match all clauses that take turns.
 */
struct SkxRange
{
	SkxSegment *seg;
	uint32		span;			/* capacity of the bitmap in documents */
	uint32		from;			/* the range is [from, to); it is empty before
								 * the first one is made */
	uint32		to;
	uint64	   *bits;
	int			nprefixes;
	int			max_prefixes;
	const SkxQueryNode **prefixes;
	bool		all;
	int			nterms;
	int			max_terms;
	SkxRangeTerm *terms;
	SkxTerm    *copies;			/* copies of the terms, if further ranges may
								 * be made */
	SkxTurns   *turns;
	int			nclauses;
	SkxIter   **clauses;		/* owned and closed by the caller */
	uint32		lexeme;			/* number of the next lexeme of a prefix */
	uint32	   *next;			/* by lexeme: it has no document from the end
								 * of the last range up to this one; 0 if that
								 * is not known */
	uint32		nnext;
};

/*
 * Counts the operands below the node that are no prefixes, each of which opens
 * a list.
 */
static uint64
skx_range_lexemes(const SkxQueryNode *node)
{
	uint64		n = node->kind == SKX_NODE_TERM && !node->prefix;
	int			i;

	check_stack_depth();
	for (i = 0; i < node->nchildren; i++)
		n += skx_range_lexemes(node->children[i]);
	return n;
}

/*
 * Returns the number of bitmaps that the node may need.  Adds its phrases to
 * o->nphrases, and sets o->reopens if clauses that take turns are no plain
 * lexemes.
 */
static uint64
skx_range_count(SkxOpening *o, const SkxQueryNode *node)
{
	bool		prefixes = node->kind == SKX_NODE_TERM && node->prefix;
	bool		many = node->nchildren > o->most_clauses;
	int			negations = 0;
	uint64		n = 0;
	int			i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	o->nphrases += node->kind == SKX_NODE_PHRASE;
	for (i = 0; i < node->nchildren; i++)
	{
		const SkxQueryNode *child = node->children[i];

		negations += child->kind == SKX_NODE_NOT;
		o->reopens |= many && child->kind != SKX_NODE_TERM;
		/* the prefixes of a disjunction share a bitmap, with its lexemes */
		if (node->kind == SKX_NODE_OR && child->kind == SKX_NODE_TERM)
			prefixes |= child->prefix;
		else
			n += skx_range_count(o, child);
	}
	if (node->kind == SKX_NODE_OR)
		negations = node->nchildren;
	return n + (prefixes || many) +
		(negations > Min(o->gather_clauses, o->most_clauses));
}

void
skx_query_range_plan(SkxOpening *o)
{
	uint64		room = o->wants_all ?
		Max(SKX_RANGE_BYTES, (uint64) work_mem * 1024) : SKX_RANGE_BYTES;
	uint64		n;
	uint64		windows;

	o->most_clauses = skx_range_lexemes(o->query->root) > SKX_OPEN_LEXEMES ?
		SKX_OPEN_FEW : SKX_OPEN_CLAUSES;
	o->gather_clauses = o->rest ? SKX_GATHER_ASKED : SKX_GATHER_CLAUSES;
	o->nphrases = 0;
	o->reopens = false;
	n = Max(skx_range_count(o, o->query->root), 1);
	windows = Max(room / n * 8 / SKX_QUERY_BATCH, 1);

	/* the server rounds small pieces of memory up to powers of two */
	if (windows < SKX_RANGE_SMALL)
		windows = UINT64CONST(1) << pg_leftmost_one_pos64(windows);
	o->span = Min(windows * SKX_QUERY_BATCH, o->seg->header.ndocs);
	o->reopens &= o->span < o->seg->header.ndocs;
	o->nnext = SKX_RANGE_LEXEMES / n;
}

static inline bool
skx_range_is_whole(const SkxRange *r)
{
	return r->span == r->seg->header.ndocs;
}

/*
 * Returns the size of the bits in 64-bit words.  These are whole windows,
 * since the last window that clauses fill may go past the segment.
 */
static Size
skx_range_words(const SkxRange *r)
{
	return ((Size) r->span + SKX_QUERY_BATCH - 1) / SKX_QUERY_BATCH *
		SKX_WINDOW_WORDS;
}

static SkxRange *
skx_range_create(SkxSegment *seg, uint32 span)
{
	SkxRange   *r = palloc0(sizeof(SkxRange));

	r->seg = seg;
	r->span = span;
	r->bits = palloc_extended(sizeof(uint64) * skx_range_words(r),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return r;
}

/*
 * Frees the terms and the clauses that take turns.  They are needed only as
 * long as further ranges may be made.
 */
static void
skx_range_forget(SkxRange *r)
{
	if (r->terms != NULL)
		pfree(r->terms);
	if (r->copies != NULL)
		pfree(r->copies);
	if (r->turns != NULL)
		skx_query_turns_close(r->turns);
	r->terms = NULL;
	r->copies = NULL;
	r->turns = NULL;
	r->nterms = 0;
}

void
skx_query_range_close(SkxRange *r)
{
	if (r->prefixes != NULL)
		pfree(r->prefixes);
	skx_range_forget(r);
	if (r->next != NULL)
		pfree(r->next);
	pfree(r->bits);
	pfree(r);
}

/*
 * Sets the bits of a list's documents in the range.  Returns a lower bound of
 * the list's next document behind the range, or SKX_NO_DOC if there is none.
 */
static uint32
skx_range_add(SkxRange *r, SkxCursor *c, const SkxTerm *term, uint8 labels)
{
	CHECK_FOR_INTERRUPTS();
	if (!skx_query_has_term(term, labels))
		return SKX_NO_DOC;
	skx_cursor_begin(c, term);
	skx_cursor_want_labels(c, labels);
	skx_cursor_fill(c, r->from, r->bits, SKX_BITSET_WORDS(r->to - r->from));
	if (r->to == r->seg->header.ndocs)
		return SKX_NO_DOC;
	return skx_cursor_lower_bound(c, r->to);
}

/*
 * Makes a cursor for the lists of the bitmap.  They are traversed to their
 * ends if the bitmap covers the segment, else within the range.
 */
static SkxCursor *
skx_range_cursor(const SkxRange *r)
{
	return skx_cursor_create(r->seg, skx_range_is_whole(r) ?
							 SKX_CURSOR_LEAD : SKX_CURSOR_LEAD_FIRST);
}

/*
 * Puts the terms of a walk into the bitmap.  The beginnings of their lists are
 * prefetched together.
 */
static void
skx_range_walk_flush(SkxRangeWalk *walk)
{
	SkxRange   *r = walk->range;
	int			i;

	skx_cursor_ask_terms(r->seg, walk->terms, walk->n);
	for (i = 0; i < walk->n; i++)
	{
		uint32		number = walk->numbers[i];
		uint32		next = skx_range_add(r, walk->cursor, &walk->terms[i],
										 walk->labels);

		if (number < r->nnext)
			r->next[number] = next;
	}
	walk->n = 0;
}

/*
 * Returns the number of a term among those that are visited for each range.  A
 * term whose documents are put into bits from the dictionary gets none.  That
 * also holds if it was visited before the walk put terms into bits, so that
 * numbers are the same for each range.
 */
static uint32
skx_range_number(const SkxRangeWalk *walk, const SkxTerm *term)
{
	if (walk->bits.bits != NULL && skx_segment_is_put(term))
		return PG_UINT32_MAX;
	return walk->range->lexeme++;
}

static bool
skx_range_visit(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxRangeWalk *walk = arg;
	SkxRange   *r = walk->range;
	uint32		number = skx_range_number(walk, term);

	CHECK_FOR_INTERRUPTS();
	if (number < r->nnext && r->next[number] >= r->to)
		return true;
	if (walk->n == SKX_PREFIX_TERMS)
		skx_range_walk_flush(walk);
	walk->numbers[walk->n] = number;
	walk->terms[walk->n++] = *term;
	return true;
}

/*
 * Makes the walk put terms whose documents stand in the dictionary into the
 * bits, without visiting them.  That is done only without labels, since labels
 * stand elsewhere.
 */
static void
skx_range_walk_bits(SkxRangeWalk *walk)
{
	const SkxRange *r = walk->range;

	walk->bits.bits = walk->labels == 0 ? r->bits : NULL;
	walk->bits.from = r->from;
	walk->bits.ndocs = r->to - r->from;
}

/*
 * Makes a bitmap whose range begins with the first document, since these
 * documents are most likely needed.
 */
static SkxRange *
skx_range_begin(const SkxOpening *o)
{
	SkxRange   *r = skx_range_create(o->seg, o->span);

	r->to = r->span;
	return r;
}

void
skx_query_walk_begin(SkxRangeWalk *walk, const SkxOpening *o, SkxRange **in,
					 const SkxQueryNode *prefix)
{
	SkxRange   *r = *in;
	int			i;

	if (r == NULL)
		r = *in = skx_range_begin(o);
	if (!skx_range_is_whole(r))
	{
		if (r->nprefixes == r->max_prefixes)
		{
			r->max_prefixes = Max(4, r->max_prefixes * 2);
			if (r->prefixes == NULL)
				r->prefixes = palloc(sizeof(*r->prefixes) * r->max_prefixes);
			else
				r->prefixes = repalloc_huge(r->prefixes, sizeof(*r->prefixes) *
											(Size) r->max_prefixes);
		}
		r->prefixes[r->nprefixes++] = prefix;
	}
	if (!skx_range_is_whole(r) && r->next == NULL && o->nnext > 0)
	{
		r->nnext = o->nnext;
		r->next = palloc0(sizeof(uint32) * r->nnext);
	}
	walk->range = r;
	walk->cursor = skx_range_cursor(r);
	skx_range_walk_bits(walk);
	for (i = 0; i < walk->n; i++)
		walk->numbers[i] = skx_range_number(walk, &walk->terms[i]);
}

void
skx_query_walk_add(SkxRangeWalk *walk, const SkxTerm *term)
{
	(void) skx_range_visit(term, NULL, 0, walk);
}

void
skx_query_walk_end(SkxRangeWalk *walk)
{
	skx_range_walk_flush(walk);
	skx_cursor_close(walk->cursor);
}

static void
skx_range_gather_prefixes(SkxRange *r)
{
	SkxRangeWalk walk;
	int			i;

	walk.range = r;
	walk.n = 0;
	walk.cursor = skx_range_cursor(r);
	r->lexeme = 0;
	for (i = 0; i < r->nprefixes; i++)
	{
		const SkxQueryNode *prefix = r->prefixes[i];

		walk.labels = prefix->labels;
		skx_range_walk_bits(&walk);
		skx_query_visit_terms(r->seg, prefix, &walk.bits, skx_range_visit,
							  &walk);
		skx_range_walk_flush(&walk);
	}
	skx_cursor_close(walk.cursor);
}

/* Prefetches the lists of terms i, i + 1, ..., up to SKX_PREFIX_TERMS. */
static void
skx_range_ask(const SkxRange *r, int i)
{
	SkxTerm		terms[SKX_PREFIX_TERMS];
	int			n = 0;

	for (; i < r->nterms && n < SKX_PREFIX_TERMS; i++)
		terms[n++] = *r->terms[i].term;
	skx_cursor_ask_terms(r->seg, terms, n);
}

/*
 * Sets the bits of documents that match any of the terms and clauses.  Returns
 * an upper bound of their number in the segment.
 */
static uint64
skx_range_gather_any(SkxRange *r)
{
	SkxCursor  *c = r->nterms > 0 ? skx_range_cursor(r) : NULL;
	uint64		most = 0;
	int			i;

	for (i = 0; i < r->nterms; i++)
	{
		if (i % SKX_PREFIX_TERMS == 0)
			skx_range_ask(r, i);
		(void) skx_range_add(r, c, r->terms[i].term, r->terms[i].labels);
		most += r->terms[i].term->df;
	}
	if (c != NULL)
		skx_cursor_close(c);
	if (r->turns != NULL)
		most += skx_query_turns_any(r->turns, r->from, r->to, r->bits);
	return most;
}

/*
 * Sets the bits of the documents in the range that have all terms.  It takes
 * those of the rarest term, and clears those that lack another.  Returns an
 * upper bound of the number of documents.
 */
static uint32
skx_range_gather_terms(SkxRange *r)
{
	SkxCursor  *c = skx_range_cursor(r);
	uint32		left = r->terms[0].term->df;
	int			i;

	(void) skx_range_add(r, c, r->terms[0].term, r->terms[0].labels);
	skx_cursor_close(c);
	for (i = 1; i < r->nterms && left > 0; i++)
	{
		const SkxRangeTerm *t = &r->terms[i];
		SkxIter    *it = skx_query_open_term(r->seg, t->term, t->labels,
											 SKX_CURSOR_PROBE);

		left = skx_query_turn_keep(it, r->from, r->to, r->bits);
		skx_query_close(it);
	}
	return left;
}

/*
 * Sets the bits of documents that match all terms and clauses.  Returns an
 * upper bound of the number of documents.
 */
static uint32
skx_range_gather_all(SkxRange *r)
{
	uint32		left = r->nterms > 0 ? skx_range_gather_terms(r) : 1;

	if (r->turns != NULL && left > 0)
		left = skx_query_turns_all(r->turns, r->nterms == 0, r->from, r->to,
								   r->bits);
	return left;
}

/* Moves the range so that it begins with the document's word of bits. */
static void
skx_range_move(SkxRange *r, uint32 doc)
{
	int			i;

	Assert(doc >= r->from);
	r->from = doc & ~(uint32) 63;
	r->to = r->from + Min(r->span, r->seg->header.ndocs - r->from);
	memset(r->bits, 0, sizeof(uint64) * skx_range_words(r));
	if (r->nprefixes > 0)
		skx_range_gather_prefixes(r);
	if (r->all)
		(void) skx_range_gather_all(r);
	else
		(void) skx_range_gather_any(r);
	for (i = 0; i < r->nclauses; i++)
		skx_query_turn_fill(r->clauses[i], r->from, r->to, r->bits);
}

void
skx_query_range_reserve(const SkxOpening *o, SkxRange **in, int nterms)
{
	SkxRange   *r = *in;

	if (r == NULL)
		r = *in = skx_range_begin(o);
	r->max_terms = nterms;
	r->terms = palloc_extended(sizeof(SkxRangeTerm) * (Size) nterms,
							   MCXT_ALLOC_HUGE);
	if (!skx_range_is_whole(r))
		r->copies = palloc_extended(sizeof(SkxTerm) * (Size) nterms,
									MCXT_ALLOC_HUGE);
}

void
skx_query_range_term(SkxRange *r, const SkxTerm *term, uint8 labels)
{
	SkxRangeTerm *t = &r->terms[r->nterms];

	Assert(r->nterms < r->max_terms);
	if (r->copies != NULL)
	{
		r->copies[r->nterms] = *term;
		term = &r->copies[r->nterms];
	}
	t->term = term;
	t->labels = labels;
	r->nterms++;
}

static int
skx_range_compare_term(const void *a, const void *b)
{
	uint32		x = ((const SkxRangeTerm *) a)->term->df;
	uint32		y = ((const SkxRangeTerm *) b)->term->df;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

void
skx_query_range_turns(const SkxOpening *o, SkxRange **in, SkxTurns *turns)
{
	if (*in == NULL)
		*in = skx_range_begin(o);
	(*in)->turns = turns;
}

uint32
skx_query_range_all(SkxRange *r)
{
	uint32		most = r->seg->header.ndocs;

	r->all = true;
	if (r->nterms > 0)
	{
		qsort(r->terms, r->nterms, sizeof(SkxRangeTerm),
			  skx_range_compare_term);
		most = r->terms[0].term->df;
	}
	if (skx_range_is_whole(r))
	{
		most = skx_range_gather_all(r);
		skx_range_forget(r);
	}
	else
		r->to = 0;
	return most;
}

uint64
skx_query_range_any(SkxRange *r)
{
	uint64		most = skx_range_gather_any(r);

	if (skx_range_is_whole(r))
		skx_range_forget(r);
	return most;
}

SkxRange *
skx_query_range_clauses(SkxSegment *seg, uint32 span, SkxIter **clauses,
						int n)
{
	SkxRange   *r = skx_range_create(seg, span);

	r->clauses = clauses;
	r->nclauses = n;
	return r;
}

bool
skx_query_range_has(const SkxRange *r, uint32 doc)
{
	return doc - r->from < r->to - r->from;
}

/*
 * The iterators have moved past the documents before the range, and these have
 * been filled in already.  So the range never moves backward.
 */
bool
skx_query_range_reach(SkxRange *r, uint32 doc)
{
	doc = Max(doc, r->from);
	if (!skx_query_range_has(r, doc))
		skx_range_move(r, doc);
	return r->to < r->seg->header.ndocs;
}

int
skx_query_range_filter(SkxRange *r, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		at;

		if (docs[i] < r->from)
			elog(ERROR, "a bitmap of a query does not move backward");
		(void) skx_query_range_reach(r, docs[i]);
		at = docs[i] - r->from;
		docs[kept] = docs[i];
		kept += skx_bitset_test(r->bits, at);
	}
	return kept;
}

void
skx_query_range_fill(SkxRange *r, uint32 window, uint64 *bits)
{
	uint32		end = window + Min(SKX_QUERY_BATCH,
								   r->seg->header.ndocs - window);
	uint32		doc = window;

	while (doc < end)
	{
		uint32		nwords;

		(void) skx_query_range_reach(r, doc);
		doc = Max(doc, r->from);
		if (doc >= end)
			break;
		nwords = SKX_BITSET_WORDS(Min(end, r->to) - doc);
		skx_bitset_or(bits + (doc - window) / SKX_BITSET_WORD,
					  r->bits + (doc - r->from) / SKX_BITSET_WORD, nwords);
		doc += nwords * SKX_BITSET_WORD;
	}
}
