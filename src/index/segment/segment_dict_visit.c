/*
 * segment_dict_visit.c
 *	  Visits ranges of a segment's dictionary: leaf by leaf, or term by term
 *	  with a copy of the leaf.
 *
 * Most terms of a range have short lists, which are stored in their entries.
 * If a caller wants only the documents of all terms, a visit puts those of
 * such lists into a bitset itself.  This takes some 15 ns for each term, while
 * decoding the entry and opening its list take 100 ns.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "index/column/column_value.h"
#include "index/segment/segment_dict_internal.h"
#include "miscadmin.h"

/*
 * Bytes before the list in an entry that satisfies
 * skx_segment_list_is_inline(): df, flags, number of positions and length of
 * the list have one byte each.
 */
#define SKX_DICT_INLINE_HEAD_BYTES	4

uint32
skx_segment_dict_range(SkxDictCursor *c, const SkxLexeme ends[2], int least)
{
	uint32		pages[2];
	int			level = -1;

	do
		level = skx_segment_dict_next_level(c, ends, 2, pages, level, least);
	while (level > 0);
	if (pages[0] != c->ordinal)
		skx_segment_dict_pin_page(c, pages[0]);
	if (c->head->level != 0)
		skx_segment_dict_damaged(c, "dictionary page of another level");
	return pages[1] + 1;
}

/*
 * Returns true if the current lexeme, which is not below ends[0], is past the
 * range: without the prefix ends[0], or not below ends[1].
 */
static bool
skx_segment_dict_is_past(const SkxDictCursor *c, const SkxLexeme ends[2],
						 bool prefix)
{
	if (!prefix)
		return skx_segment_dict_compare(c, ends[1].bytes, ends[1].len) >= 0;
	return c->keylen < ends[0].len ||
		memcmp(c->key, ends[0].bytes, ends[0].len) != 0;
}

/*
 * Reads the entry without decoding it as a term: its numbers have one byte
 * each if it satisfies skx_segment_list_is_inline().
 */
int
skx_segment_dict_documents(SkxDictCursor *c, uint32 *docs)
{
	const uint8 *src = c->value;
	const uint8 *end = skx_segment_dict_end(c);
	const uint8 *stop;
	int			df;

	if (end - src < SKX_DICT_INLINE_HEAD_BYTES || src[0] == 0 ||
		src[0] >= SKX_SUBBLOCK ||
		(src[1] & (SKX_TERM_FORM_MASK | SKX_TERM_OWN_POSITIONS)) !=
		(SKX_TERM_INLINE | SKX_TERM_OWN_POSITIONS) || src[2] >= 0x80)
		return 0;
	df = src[0];
	stop = src + SKX_DICT_INLINE_HEAD_BYTES + src[3];
	if (src[3] > SKX_INLINE_BYTES || stop > end)
		return 0;
	src = skx_codec_short_docs(src + SKX_DICT_INLINE_HEAD_BYTES, end, df,
							   docs);
	if (src == NULL || src > stop || docs[df - 1] >= c->seg->header.ndocs)
		return 0;
	c->next = stop;
	return df;
}

/*
 * Sets the bits of the documents of the current entry.  Returns false if
 * skx_segment_dict_documents() cannot read them.
 */
static bool
skx_segment_dict_set_bits(SkxDictCursor *c, SkxTermBits *b)
{
	uint32		docs[SKX_SUBBLOCK];
	int			df = skx_segment_dict_documents(c, docs);
	int			i;

	for (i = 0; i < df; i++)
	{
		uint32		at = docs[i] - b->first_doc;

		if (at < b->ndocs)
			skx_bitset_set(b->bits, at);
	}
	b->nput += df;
	return df > 0;
}

/*
 * Visits the terms of the leaf from the current one on.  Returns false if the
 * visit is at its end: `visit` returned false, or the range ends on this
 * leaf, which is possible only if `last` is true.
 */
static bool
skx_segment_dict_visit_leaf(SkxDictCursor *c, const SkxLexeme ends[2],
							bool prefix, bool last, SkxTermBits *bits,
							SkxTermVisit visit, void *arg)
{
	SkxTerm		term;

	do
	{
		/* an empty prefix leaves out values of columns */
		bool		wanted = ends[0].len > 0 ||
			!skx_column_is_value(c->key, c->keylen);

		if (last && skx_segment_dict_is_past(c, ends, prefix))
			return false;
		if (wanted && bits != NULL && bits->bits != NULL &&
			skx_segment_dict_set_bits(c, bits))
			continue;
		skx_segment_dict_term(c, &term);
		if (wanted && !visit(&term, c->key, c->keylen, arg))
			return false;
	} while (skx_segment_dict_next_entry(c));
	return true;
}

/*
 * Visits the terms from ends[0] on: those with the prefix ends[0] if `prefix`
 * is true, otherwise those below ends[1].
 */
static void
skx_segment_dict_visit(SkxSegment *seg, const SkxLexeme ends[2], bool prefix,
					   bool reads_ahead, SkxTermBits *bits,
					   SkxTermVisit visit, void *arg)
{
	SkxDictCursor c;
	uint32		end;
	uint32		asked = 0;
	bool		more;

	c.seg = seg;
	end = skx_segment_dict_range(&c, ends, reads_ahead ? 2 : 3);
	skx_segment_dict_bisect_restarts(&c, ends[0].bytes, ends[0].len);
	more = skx_segment_dict_forward(&c, ends[0].bytes, ends[0].len) ||
		skx_segment_dict_next_leaf(&c);
	while (more)
	{
		CHECK_FOR_INTERRUPTS();
		if (reads_ahead)
			skx_segment_prefetch_next(seg, SKX_SEGMENT_DICT, c.ordinal, end,
									  &asked);
		more = skx_segment_dict_visit_leaf(&c, ends, prefix,
										   c.ordinal + 1 >= end, bits, visit,
										   arg) &&
			skx_segment_dict_next_leaf(&c);
	}
	skx_segment_dict_unpin_if_crowded(seg);
}

/*
 * Sets `above` to the prefix followed by a byte that UTF-8 does not have, so
 * that no lexeme with the prefix is above it.  In other encodings there can
 * be such lexemes; their pages are then not prefetched or counted.
 */
static void
skx_segment_dict_prefix_end(const SkxLexeme *prefix, char *above)
{
	memcpy(above, prefix->bytes, prefix->len);
	above[prefix->len] = (char) 0xFF;
}

void
skx_segment_visit_prefix(SkxSegment *seg, const char *prefix, int len,
						 bool reads_ahead, SkxTermBits *bits,
						 SkxTermVisit visit,
						 void *arg)
{
	char		above[SKX_LEXEME_MAX + 1];
	SkxLexeme	ends[2] = {{prefix, len}, {above, len + 1}};

	if (seg->header.nterms == 0 || len > SKX_LEXEME_MAX)
		return;
	skx_segment_dict_prefix_end(&ends[0], above);
	skx_segment_dict_visit(seg, ends, true, reads_ahead, bits, visit, arg);
}

void
skx_segment_visit_range(SkxSegment *seg, const SkxLexeme *from,
						const SkxLexeme *to, bool reads_ahead,
						SkxTermBits *bits,
						SkxTermVisit visit, void *arg)
{
	SkxLexeme	ends[2] = {*from, *to};

	if (seg->header.nterms > 0)
		skx_segment_dict_visit(seg, ends, false, reads_ahead, bits, visit,
							   arg);
}

/*
 * Returns the ordinal of the first term that is not below a lexeme; the
 * number of terms if there is none.  Searches from the current leaf on.
 */
static uint32
skx_segment_dict_ordinal_of(SkxDictCursor *c, const SkxLexeme *lexeme)
{
	SkxTerm		term;

	skx_segment_dict_bisect_restarts(c, lexeme->bytes, lexeme->len);
	do
	{
		do
		{
			int			cmp = skx_segment_dict_compare(c, lexeme->bytes,
													   lexeme->len);

			skx_segment_dict_term(c, &term);
			if (cmp >= 0)
				return term.ordinal;
		} while (skx_segment_dict_next_entry(c));
	} while (skx_segment_dict_next_leaf(c));
	return c->seg->header.nterms;
}

/*
 * Returns an estimate of the pages that the lists of the terms on the leaves
 * from the current one to `last` take.  Counts for `last` the average of the
 * others.
 */
static uint32
skx_segment_dict_list_pages(SkxDictCursor *c, uint32 last)
{
	uint32		others = last - c->ordinal;
	uint32		begin = c->head->postings_page;
	uint64		pages;

	if (others == 0)
		return 0;
	skx_segment_dict_pin_page(c, last);
	pages = c->head->postings_page - Min(begin, c->head->postings_page);
	return (uint32) Min(pages * (others + 1) / others, PG_UINT32_MAX);
}

/*
 * Returns the number of terms in a range, and fills *extent unless that is
 * NULL.
 */
static uint32
skx_segment_dict_count_range(SkxSegment *seg, const SkxLexeme ends[2],
							 SkxTermPages *extent)
{
	SkxDictCursor c;
	uint32		leaf;
	uint32		last;
	uint32		first;
	uint32		past;

	c.seg = seg;
	last = skx_segment_dict_range(&c, ends, 3) - 1;
	if (extent != NULL)
	{
		leaf = c.ordinal;
		extent->leaf_pages = last - leaf + 1;
		extent->list_pages = skx_segment_dict_list_pages(&c, last);
		skx_segment_dict_pin_page(&c, leaf);
	}
	first = skx_segment_dict_ordinal_of(&c, &ends[0]);
	skx_segment_dict_pin_page(&c, last);
	past = skx_segment_dict_ordinal_of(&c, &ends[1]);
	skx_segment_dict_unpin_if_crowded(seg);
	return past - Min(first, past);
}

uint32
skx_segment_count_range(SkxSegment *seg, const SkxLexeme *from,
						const SkxLexeme *to)
{
	SkxLexeme	ends[2] = {*from, *to};

	return seg->header.nterms == 0 ? 0 :
		skx_segment_dict_count_range(seg, ends, NULL);
}

uint32
skx_segment_count_prefix(SkxSegment *seg, const char *prefix, int len,
						 SkxTermPages *extent)
{
	char		above[SKX_LEXEME_MAX + 1];
	SkxLexeme	ends[2] = {{prefix, len}, {above, len + 1}};

	memset(extent, 0, sizeof(*extent));
	if (seg->header.nterms == 0 || len > SKX_LEXEME_MAX)
		return 0;
	skx_segment_dict_prefix_end(&ends[0], above);
	return skx_segment_dict_count_range(seg, ends, extent);
}

/* No page is before page 0 in a walk; page 0 is not after this one, either. */
#define SKX_NO_PAGE		(PG_UINT32_MAX - 1)

struct SkxTermWalk
{
	SkxDictCursor cursor;
	bool		has_begun;
	bool		has_unreturned; /* the current term was not returned yet */
	uint32		prefetched_to;	/* *asked of skx_segment_prefetch_next */
	uint32		prefetch_end;	/* no page from this one on is prefetched */
	bool		seeks;			/* only pages read in order are prefetched */
	uint32		last;			/* the page before */
	uint32		nordered;		/* that many may be prefetched, as they were
								 * read in order */
	bool		has_parent;
	PGAlignedBlock parent;		/* copy of the page above the last leaf that
								 * was sought */
	PGAlignedBlock page;		/* copy of the current leaf */
};

SkxTermWalk *
skx_segment_walk_begin(SkxSegment *seg)
{
	SkxTermWalk *walk = palloc(sizeof(SkxTermWalk));

	memset(&walk->cursor, 0, sizeof(walk->cursor));
	walk->cursor.seg = seg;
	walk->has_begun = false;
	walk->has_unreturned = false;
	walk->has_parent = false;
	walk->prefetched_to = 0;
	walk->prefetch_end = seg->planes[SKX_SEGMENT_DICT].npages;
	walk->seeks = false;
	return walk;
}

/*
 * Returns the page up to which pages are prefetched.  A walk that seeks passes
 * over some, so it has more with each one that it reads after the one before.
 */
static uint32
skx_segment_walk_prefetch_end(SkxTermWalk *walk)
{
	uint32		here = walk->cursor.ordinal;

	if (!walk->seeks)
		return walk->prefetch_end;
	if (here == walk->last + 1)
		walk->nordered = Min(2 * walk->nordered + 1,
							 2 * SKX_PREFETCH_UNITS_MAX);
	else if (here != walk->last)
		walk->nordered = 0;
	walk->last = here;
	return Min(walk->prefetch_end, here + 1 + walk->nordered);
}

/* Copies the current page, and unpins it. */
static void
skx_segment_walk_copy(SkxTermWalk *walk)
{
	SkxDictCursor *c = &walk->cursor;
	uint32		end = skx_segment_walk_prefetch_end(walk);

	if (end > c->ordinal)
		skx_segment_prefetch_next(c->seg, SKX_SEGMENT_DICT, c->ordinal, end,
								  &walk->prefetched_to);
	memcpy(walk->page.data, c->page, BLCKSZ);
	skx_blkio_unpin(c->seg->file, &c->seg->dict_ref);
	c->page = walk->page.data;
	c->head = (const SkxDiskDictPage *) (c->page + SKX_PAGE_START);
}

/*
 * Moves to the first leaf, or to the next one, and copies it.  Returns false
 * if there is none.
 */
static bool
skx_segment_walk_page(SkxTermWalk *walk)
{
	SkxDictCursor *c = &walk->cursor;

	if (!walk->has_begun)
	{
		if (c->seg->header.nterms == 0)
			return false;
		skx_segment_dict_pin_page(c, 0);
		if (c->head->level != 0)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		walk->has_begun = true;
	}
	else if (!skx_segment_dict_next_leaf(c))
	{
		skx_blkio_unpin(c->seg->file, &c->seg->dict_ref);
		return false;
	}
	skx_segment_walk_copy(walk);
	skx_segment_dict_restart(c, 0);
	return true;
}

/*
 * Moves to the first term of the page that is not below `from`.  If there is
 * none, the walk is before the next page.
 */
static void
skx_segment_walk_seek_in_page(SkxTermWalk *walk, const SkxLexeme *from)
{
	SkxDictCursor *c = &walk->cursor;

	walk->has_begun = true;
	skx_segment_walk_copy(walk);
	skx_segment_dict_bisect_restarts(c, from->bytes, from->len);
	walk->has_unreturned = skx_segment_dict_forward(c, from->bytes, from->len);
}

/* Moves a walk before the first term of a range. */
static void
skx_segment_walk_position(SkxTermWalk *walk, const SkxLexeme ends[2],
						  bool seeks)
{
	if (walk->cursor.seg->header.nterms == 0)
		return;
	walk->prefetch_end = skx_segment_dict_range(&walk->cursor, ends, 3);
	walk->seeks = seeks;
	walk->last = SKX_NO_PAGE;
	walk->nordered = 0;
	skx_segment_walk_seek_in_page(walk, &ends[0]);
}

void
skx_segment_walk_range(SkxTermWalk *walk, const SkxLexeme ends[2])
{
	skx_segment_walk_position(walk, ends, false);
}

void
skx_segment_walk_sparse(SkxTermWalk *walk, const SkxLexeme ends[2])
{
	walk->prefetched_to = 0;
	skx_segment_walk_position(walk, ends, true);
}

/*
 * Goes to the leaf of the lexeme: from the page above the last one, if it
 * covers the lexeme, else from the root.
 */
static void
skx_segment_walk_descend(SkxTermWalk *walk, const SkxLexeme *from)
{
	SkxDictCursor *c = &walk->cursor;

	if (walk->has_parent)
	{
		uint32		child;
		bool		covers;

		c->page = walk->parent.data;
		c->head = (const SkxDiskDictPage *) (c->page + SKX_PAGE_START);
		child = skx_segment_dict_child(c, from->bytes, from->len, &covers);
		if (covers)
		{
			skx_segment_dict_pin_page(c, child);
			if (c->head->level != 0)
				skx_segment_dict_damaged(c, "dictionary page of another level");
			return;
		}
	}
	skx_segment_dict_descend(c, from->bytes, from->len, walk->parent.data);
	walk->has_parent = c->seg->header.dict_root != c->ordinal;
}

void
skx_segment_walk_seek(SkxTermWalk *walk, const SkxLexeme *from)
{
	SkxDictCursor *c = &walk->cursor;

	walk->has_unreturned = skx_segment_dict_forward(c, from->bytes, from->len);
	if (walk->has_unreturned)
		return;
	skx_segment_walk_descend(walk, from);
	skx_segment_walk_seek_in_page(walk, from);
}

bool
skx_segment_walk_lexeme(SkxTermWalk *walk, const char **lexeme, int *len)
{
	SkxDictCursor *c = &walk->cursor;

	if (!walk->has_unreturned &&
		(!walk->has_begun || !skx_segment_dict_next_entry(c)) &&
		!skx_segment_walk_page(walk))
		return false;
	walk->has_unreturned = false;
	*lexeme = c->key;
	*len = c->keylen;
	return true;
}

void
skx_segment_walk_counts(SkxTermWalk *walk, SkxTerm *term)
{
	skx_segment_dict_counts(&walk->cursor, term);
}

void
skx_segment_walk_term(SkxTermWalk *walk, SkxTerm *term)
{
	skx_segment_dict_term(&walk->cursor, term);
}

bool
skx_segment_walk_next(SkxTermWalk *walk, SkxTerm *term, const char **lexeme,
					  int *len)
{
	if (!skx_segment_walk_lexeme(walk, lexeme, len))
		return false;
	skx_segment_walk_term(walk, term);
	return true;
}

void
skx_segment_walk_end(SkxTermWalk *walk)
{
	pfree(walk);
}
