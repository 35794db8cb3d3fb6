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
#define SKX_BITMAP_BYTES_MAX		(3 << 19)

/*
 * A bitmap of fewer windows than this, of 512 bytes each, is a small piece of
 * memory.
 */
#define SKX_BITMAP_SMALL_WINDOWS		16

/*
 * The number of lexemes, in all bitmaps of a query, whose next documents are
 * stored, in 4 bytes each.
 */
#define SKX_BITMAP_NEXT_LEXEMES	(1 << 17)

/* A term that is put into a bitmap. */
typedef struct SkxBitmapTerm
{
	const SkxTerm *term;
	uint8		labels;
} SkxBitmapTerm;

/*
 * A bitmap.  If `is_intersection` is false, its documents are those that have
 * one of the prefixes or terms, or match one of the clauses.  If
 * `is_intersection` is true, they are those that have all terms and match all
 * clauses that take turns.
 */
struct SkxBitmap
{
	SkxSegment *seg;
	uint32		capacity_docs;	/* capacity of the bitmap in documents */
	uint32		from;			/* the range is [from, to); it is empty before
								 * the first one is made */
	uint32		to;
	uint64	   *bits;
	int			nprefixes;
	int			max_prefixes;
	const SkxQueryNode **prefixes;
	bool		is_intersection;
	int			nterms;
	int			max_terms;
	SkxBitmapTerm *terms;
	SkxTerm    *term_copies;	/* copies of the terms, if further ranges may
								 * be made */
	SkxSequence *sequence;
	int			nclauses;
	SkxIter   **clauses;		/* owned and closed by the caller */
	uint32		lexeme;			/* number of the next lexeme of a prefix */
	uint32	   *next_docs;		/* by lexeme: it has no document from the end
								 * of the last range up to this one; 0 if that
								 * is not known */
	uint32		nnext_docs;
};

/*
 * Counts the operands below the node that are no prefixes, each of which opens
 * a list.
 */
static uint64
skx_bitmap_count_lexemes(const SkxQueryNode *node)
{
	uint64		n = node->kind == SKX_NODE_TERM && !node->prefix;
	int			i;

	check_stack_depth();
	for (i = 0; i < node->nchildren; i++)
		n += skx_bitmap_count_lexemes(node->children[i]);
	return n;
}

/*
 * Returns the number of bitmaps that the node may need.  Adds its phrases to
 * o->nphrases, and sets o->keeps_terms if clauses that take turns are no plain
 * lexemes.
 */
static uint64
skx_bitmap_count_bitmaps(SkxOpening *o, const SkxQueryNode *node)
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
		o->keeps_terms |= many && child->kind != SKX_NODE_TERM;
		/* the prefixes of a disjunction share a bitmap, with its lexemes */
		if (node->kind == SKX_NODE_OR && child->kind == SKX_NODE_TERM)
			prefixes |= child->prefix;
		else
			n += skx_bitmap_count_bitmaps(o, child);
	}
	if (node->kind == SKX_NODE_OR)
		negations = node->nchildren;
	return n + (prefixes || many) +
		(negations > Min(o->gather_clauses, o->most_clauses));
}

void
skx_query_bitmap_plan(SkxOpening *o)
{
	uint64		room = o->wants_all ?
		Max(SKX_BITMAP_BYTES_MAX,
			(uint64) work_mem * 1024) : SKX_BITMAP_BYTES_MAX;
	uint64		n;
	uint64		windows;

	o->most_clauses = skx_bitmap_count_lexemes(o->query->root) >
		SKX_OPEN_LEXEMES_MAX ?
		SKX_OPEN_CLAUSES_LOW : SKX_OPEN_CLAUSES;
	o->gather_clauses = o->is_filter ? SKX_GATHER_FILTER_MAX :
		SKX_GATHER_CLAUSES;
	o->nphrases = 0;
	o->keeps_terms = false;
	n = Max(skx_bitmap_count_bitmaps(o, o->query->root), 1);
	windows = Max(room / n * 8 / SKX_WINDOW_DOCS, 1);

	/* the server rounds small pieces of memory up to powers of two */
	if (windows < SKX_BITMAP_SMALL_WINDOWS)
		windows = UINT64CONST(1) << pg_leftmost_one_pos64(windows);
	o->bitmap_docs = Min(windows * SKX_WINDOW_DOCS, o->seg->header.ndocs);
	o->keeps_terms &= o->bitmap_docs < o->seg->header.ndocs;
	o->nnext_docs = SKX_BITMAP_NEXT_LEXEMES / n;
}

static inline bool
skx_bitmap_is_whole(const SkxBitmap *r)
{
	return r->capacity_docs == r->seg->header.ndocs;
}

/*
 * Returns the size of the bits in 64-bit words.  These are whole windows,
 * since the last window that clauses fill may go past the segment.
 */
static Size
skx_bitmap_nwords(const SkxBitmap *r)
{
	return ((Size) r->capacity_docs + SKX_WINDOW_DOCS - 1) / SKX_WINDOW_DOCS *
		SKX_WINDOW_WORDS;
}

static SkxBitmap *
skx_bitmap_create(SkxSegment *seg, uint32 span)
{
	SkxBitmap  *r = palloc0(sizeof(SkxBitmap));

	r->seg = seg;
	r->capacity_docs = span;
	r->bits = palloc_extended(sizeof(uint64) * skx_bitmap_nwords(r),
							  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return r;
}

/*
 * Frees the terms and the clauses that take turns.  They are needed only as
 * long as further ranges may be made.
 */
static void
skx_bitmap_free_inputs(SkxBitmap *r)
{
	if (r->terms != NULL)
		pfree(r->terms);
	if (r->term_copies != NULL)
		pfree(r->term_copies);
	if (r->sequence != NULL)
		skx_query_seq_close(r->sequence);
	r->terms = NULL;
	r->term_copies = NULL;
	r->sequence = NULL;
	r->nterms = 0;
}

void
skx_query_bitmap_close(SkxBitmap *r)
{
	if (r->prefixes != NULL)
		pfree(r->prefixes);
	skx_bitmap_free_inputs(r);
	if (r->next_docs != NULL)
		pfree(r->next_docs);
	pfree(r->bits);
	pfree(r);
}

/*
 * Sets the bits of a list's documents in the range.  Returns a lower bound of
 * the list's next document behind the range, or SKX_NO_DOC if there is none.
 */
static uint32
skx_bitmap_add_list(SkxBitmap *r, SkxCursor *c, const SkxTerm *term,
					uint8 labels)
{
	CHECK_FOR_INTERRUPTS();
	if (!skx_query_has_term(term, labels))
		return SKX_NO_DOC;
	skx_cursor_begin_term(c, term);
	skx_cursor_want_labels(c, labels);
	skx_cursor_fill_window(c, r->from, r->bits,
						   SKX_BITSET_WORDS(r->to - r->from));
	if (r->to == r->seg->header.ndocs)
		return SKX_NO_DOC;
	return skx_cursor_lower_bound(c, r->to);
}

/*
 * Makes a cursor for the lists of the bitmap.  They are traversed to their
 * ends if the bitmap covers the segment, else within the range.
 */
static SkxCursor *
skx_bitmap_create_cursor(const SkxBitmap *r)
{
	return skx_cursor_create(r->seg, skx_bitmap_is_whole(r) ?
							 SKX_CURSOR_LEAD : SKX_CURSOR_LEAD_FIRST);
}

/*
 * Puts the terms of a walk into the bitmap.  The beginnings of their lists are
 * prefetched together.
 */
static void
skx_bitmap_walk_flush(SkxBitmapWalk *walk)
{
	SkxBitmap  *r = walk->bitmap;
	int			i;

	skx_cursor_prefetch_terms(r->seg, walk->terms, walk->n);
	for (i = 0; i < walk->n; i++)
	{
		uint32		number = walk->numbers[i];
		uint32		next = skx_bitmap_add_list(r, walk->cursor,
											   &walk->terms[i], walk->labels);

		if (number < r->nnext_docs)
			r->next_docs[number] = next;
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
skx_bitmap_term_number(const SkxBitmapWalk *walk, const SkxTerm *term)
{
	if (walk->bits.bits != NULL && skx_segment_list_is_inline(term))
		return PG_UINT32_MAX;
	return walk->bitmap->lexeme++;
}

static bool
skx_bitmap_visit_term(const SkxTerm *term, const char *lexeme, int len,
					  void *arg)
{
	SkxBitmapWalk *walk = arg;
	SkxBitmap  *r = walk->bitmap;
	uint32		number = skx_bitmap_term_number(walk, term);

	CHECK_FOR_INTERRUPTS();
	if (number < r->nnext_docs && r->next_docs[number] >= r->to)
		return true;
	if (walk->n == SKX_PREFIX_TERMS)
		skx_bitmap_walk_flush(walk);
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
skx_bitmap_walk_bits(SkxBitmapWalk *walk)
{
	const SkxBitmap *r = walk->bitmap;

	walk->bits.bits = walk->labels == 0 ? r->bits : NULL;
	walk->bits.first_doc = r->from;
	walk->bits.ndocs = r->to - r->from;
}

/*
 * Makes a bitmap whose range begins with the first document, since these
 * documents are most likely needed.
 */
static SkxBitmap *
skx_bitmap_begin(const SkxOpening *o)
{
	SkxBitmap  *r = skx_bitmap_create(o->seg, o->bitmap_docs);

	r->to = r->capacity_docs;
	return r;
}

void
skx_query_walk_begin(SkxBitmapWalk *walk, const SkxOpening *o, SkxBitmap **in,
					 const SkxQueryNode *prefix)
{
	SkxBitmap  *r = *in;
	int			i;

	if (r == NULL)
		r = *in = skx_bitmap_begin(o);
	if (!skx_bitmap_is_whole(r))
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
	if (!skx_bitmap_is_whole(r) && r->next_docs == NULL && o->nnext_docs > 0)
	{
		r->nnext_docs = o->nnext_docs;
		r->next_docs = palloc0(sizeof(uint32) * r->nnext_docs);
	}
	walk->bitmap = r;
	walk->cursor = skx_bitmap_create_cursor(r);
	skx_bitmap_walk_bits(walk);
	for (i = 0; i < walk->n; i++)
		walk->numbers[i] = skx_bitmap_term_number(walk, &walk->terms[i]);
}

void
skx_query_walk_add(SkxBitmapWalk *walk, const SkxTerm *term)
{
	(void) skx_bitmap_visit_term(term, NULL, 0, walk);
}

void
skx_query_walk_end(SkxBitmapWalk *walk)
{
	skx_bitmap_walk_flush(walk);
	skx_cursor_close(walk->cursor);
}

static void
skx_bitmap_gather_prefixes(SkxBitmap *r)
{
	SkxBitmapWalk walk;
	int			i;

	walk.bitmap = r;
	walk.n = 0;
	walk.cursor = skx_bitmap_create_cursor(r);
	r->lexeme = 0;
	for (i = 0; i < r->nprefixes; i++)
	{
		const SkxQueryNode *prefix = r->prefixes[i];

		walk.labels = prefix->labels;
		skx_bitmap_walk_bits(&walk);
		skx_query_visit_terms(r->seg, prefix, &walk.bits,
							  skx_bitmap_visit_term, &walk);
		skx_bitmap_walk_flush(&walk);
	}
	skx_cursor_close(walk.cursor);
}

/* Prefetches the lists of terms i, i + 1, ..., up to SKX_PREFIX_TERMS. */
static void
skx_bitmap_prefetch_lists(const SkxBitmap *r, int i)
{
	SkxTerm		terms[SKX_PREFIX_TERMS];
	int			n = 0;

	for (; i < r->nterms && n < SKX_PREFIX_TERMS; i++)
		terms[n++] = *r->terms[i].term;
	skx_cursor_prefetch_terms(r->seg, terms, n);
}

/*
 * Sets the bits of documents that match any of the terms and clauses.  Returns
 * an upper bound of their number in the segment.
 */
static uint64
skx_bitmap_gather_any(SkxBitmap *r)
{
	SkxCursor  *c = r->nterms > 0 ? skx_bitmap_create_cursor(r) : NULL;
	uint64		most = 0;
	int			i;

	for (i = 0; i < r->nterms; i++)
	{
		if (i % SKX_PREFIX_TERMS == 0)
			skx_bitmap_prefetch_lists(r, i);
		(void) skx_bitmap_add_list(r, c, r->terms[i].term, r->terms[i].labels);
		most += r->terms[i].term->df;
	}
	if (c != NULL)
		skx_cursor_close(c);
	if (r->sequence != NULL)
		most += skx_query_seq_match_any(r->sequence, r->from, r->to, r->bits);
	return most;
}

/*
 * Sets the bits of the documents in the range that have all terms.  It takes
 * those of the rarest term, and clears those that lack another.  Returns an
 * upper bound of the number of documents.
 */
static uint32
skx_bitmap_gather_terms(SkxBitmap *r)
{
	SkxCursor  *c = skx_bitmap_create_cursor(r);
	uint32		left = r->terms[0].term->df;
	int			i;

	(void) skx_bitmap_add_list(r, c, r->terms[0].term, r->terms[0].labels);
	skx_cursor_close(c);
	for (i = 1; i < r->nterms && left > 0; i++)
	{
		const SkxBitmapTerm *t = &r->terms[i];
		SkxIter    *it = skx_query_open_term(r->seg, t->term, t->labels,
											 SKX_CURSOR_PROBE);

		left = skx_query_seq_keep(it, r->from, r->to, r->bits);
		skx_query_close(it);
	}
	return left;
}

/*
 * Sets the bits of documents that match all terms and clauses.  Returns an
 * upper bound of the number of documents.
 */
static uint32
skx_bitmap_gather_all(SkxBitmap *r)
{
	uint32		left = r->nterms > 0 ? skx_bitmap_gather_terms(r) : 1;

	if (r->sequence != NULL && left > 0)
		left = skx_query_seq_match_all(r->sequence, r->nterms == 0, r->from,
									   r->to, r->bits);
	return left;
}

/* Moves the range so that it begins with the document's word of bits. */
static void
skx_bitmap_move(SkxBitmap *r, uint32 doc)
{
	int			i;

	Assert(doc >= r->from);
	r->from = doc & ~(uint32) 63;
	r->to = r->from + Min(r->capacity_docs, r->seg->header.ndocs - r->from);
	memset(r->bits, 0, sizeof(uint64) * skx_bitmap_nwords(r));
	if (r->nprefixes > 0)
		skx_bitmap_gather_prefixes(r);
	if (r->is_intersection)
		(void) skx_bitmap_gather_all(r);
	else
		(void) skx_bitmap_gather_any(r);
	for (i = 0; i < r->nclauses; i++)
		skx_query_seq_fill(r->clauses[i], r->from, r->to, r->bits);
}

void
skx_query_bitmap_reserve(const SkxOpening *o, SkxBitmap **in, int nterms)
{
	SkxBitmap  *r = *in;

	if (r == NULL)
		r = *in = skx_bitmap_begin(o);
	r->max_terms = nterms;
	r->terms = palloc_extended(sizeof(SkxBitmapTerm) * (Size) nterms,
							   MCXT_ALLOC_HUGE);
	if (!skx_bitmap_is_whole(r))
		r->term_copies = palloc_extended(sizeof(SkxTerm) * (Size) nterms,
										 MCXT_ALLOC_HUGE);
}

void
skx_query_bitmap_add_term(SkxBitmap *r, const SkxTerm *term, uint8 labels)
{
	SkxBitmapTerm *t = &r->terms[r->nterms];

	Assert(r->nterms < r->max_terms);
	if (r->term_copies != NULL)
	{
		r->term_copies[r->nterms] = *term;
		term = &r->term_copies[r->nterms];
	}
	t->term = term;
	t->labels = labels;
	r->nterms++;
}

static int
skx_bitmap_compare_term(const void *a, const void *b)
{
	uint32		x = ((const SkxBitmapTerm *) a)->term->df;
	uint32		y = ((const SkxBitmapTerm *) b)->term->df;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}

void
skx_query_bitmap_add_seq(const SkxOpening *o, SkxBitmap **in,
						 SkxSequence *turns)
{
	if (*in == NULL)
		*in = skx_bitmap_begin(o);
	(*in)->sequence = turns;
}

uint32
skx_query_bitmap_all(SkxBitmap *r)
{
	uint32		most = r->seg->header.ndocs;

	r->is_intersection = true;
	if (r->nterms > 0)
	{
		qsort(r->terms, r->nterms, sizeof(SkxBitmapTerm),
			  skx_bitmap_compare_term);
		most = r->terms[0].term->df;
	}
	if (skx_bitmap_is_whole(r))
	{
		most = skx_bitmap_gather_all(r);
		skx_bitmap_free_inputs(r);
	}
	else
		r->to = 0;
	return most;
}

uint64
skx_query_bitmap_any(SkxBitmap *r)
{
	uint64		most = skx_bitmap_gather_any(r);

	if (skx_bitmap_is_whole(r))
		skx_bitmap_free_inputs(r);
	return most;
}

SkxBitmap *
skx_query_bitmap_of(SkxSegment *seg, uint32 span, SkxIter **clauses,
					int n)
{
	SkxBitmap  *r = skx_bitmap_create(seg, span);

	r->clauses = clauses;
	r->nclauses = n;
	return r;
}

bool
skx_query_bitmap_covers(const SkxBitmap *r, uint32 doc)
{
	return doc - r->from < r->to - r->from;
}

/*
 * The iterators have moved past the documents before the range, and these have
 * been filled in already.  So the range never moves backward.
 */
bool
skx_query_bitmap_move_to(SkxBitmap *r, uint32 doc)
{
	doc = Max(doc, r->from);
	if (!skx_query_bitmap_covers(r, doc))
		skx_bitmap_move(r, doc);
	return r->to < r->seg->header.ndocs;
}

int
skx_query_bitmap_filter(SkxBitmap *r, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint32		at;

		if (docs[i] < r->from)
			elog(ERROR, "a bitmap of a query does not move backward");
		(void) skx_query_bitmap_move_to(r, docs[i]);
		at = docs[i] - r->from;
		docs[kept] = docs[i];
		kept += skx_bitset_test(r->bits, at);
	}
	return kept;
}

void
skx_query_bitmap_fill(SkxBitmap *r, uint32 window, uint64 *bits)
{
	uint32		end = window + Min(SKX_WINDOW_DOCS,
								   r->seg->header.ndocs - window);
	uint32		doc = window;

	while (doc < end)
	{
		uint32		nwords;

		(void) skx_query_bitmap_move_to(r, doc);
		doc = Max(doc, r->from);
		if (doc >= end)
			break;
		nwords = SKX_BITSET_WORDS(Min(end, r->to) - doc);
		skx_bitset_or(bits + (doc - window) / SKX_BITSET_BITS,
					  r->bits + (doc - r->from) / SKX_BITSET_BITS, nwords);
		doc += nwords * SKX_BITSET_BITS;
	}
}
