/*
 * segment_dict_reader.c
 *	  Looks lexemes up in a segment's dictionary (format_dict.h).
 *
 * A search walks from the top page to one leaf.  On each page it finds the
 * restart entry by binary search, whose keys are stored whole, and unfolds at
 * most SKX_DICT_RESTART front-coded entries from there.
 */
#include "postgres.h"

#include "codec/codec.h"
#include "format/format_dict.h"
#include "format/format_postings.h"
#include "intake/intake_value.h"
#include "miscadmin.h"
#include "segment/segment_build.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"

/* A position on a dictionary page, with its key unfolded. */
typedef struct SkxDictCursor
{
	SkxSegment *seg;
	uint32		ordinal;
	const char *page;
	const SkxDiskDictPage *head;
	const uint8 *value;			/* of the current entry */
	const uint8 *next;			/* the entry after it, NULL: not known */
	int			entry;
	int			keylen;
	char		key[SKX_LEXEME_MAX];
} SkxDictCursor;

static void
skx_segment_dict_damaged(SkxDictCursor *c, const char *what)
{
	skx_segment_damaged(c->seg, SKX_SEGMENT_DICT, c->ordinal, what);
}

static void
skx_segment_dict_enter(SkxDictCursor *c, uint32 ordinal)
{
	c->ordinal = ordinal;
	c->page = skx_segment_pin(c->seg, SKX_SEGMENT_DICT, ordinal,
							  &c->seg->dict_ref);
	c->head = (const SkxDiskDictPage *) (c->page + SKX_PAGE_START);
	if (c->head->nentries == 0 || c->head->nrestarts == 0 ||
		c->head->restarts % 2 != 0 ||
		c->head->restarts < SKX_PAGE_START + sizeof(SkxDiskDictPage) ||
		c->head->restarts + c->head->nrestarts * sizeof(uint16) >
		SKX_PAGE_END ||
		(c->head->nentries - 1) / SKX_DICT_RESTART + 1 != c->head->nrestarts)
		skx_segment_dict_damaged(c, "dictionary page counts out of range");
}

static const uint8 *
skx_segment_dict_end(const SkxDictCursor *c)
{
	return (const uint8 *) c->page + c->head->restarts;
}

/*
 * Reads the key of the entry at `src` over the key before it.
 */
static void
skx_segment_dict_key(SkxDictCursor *c, const uint8 *src)
{
	const uint8 *end = skx_segment_dict_end(c);
	uint32		shared = 0;
	uint32		more = 0;

	src = skx_codec_varint32_get(src, end, &shared);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &more);
	if (src == NULL || shared > (uint32) c->keylen ||
		more > SKX_LEXEME_MAX - shared || more > (uint32) (end - src))
		skx_segment_dict_damaged(c, "dictionary key out of range");
	memcpy(c->key + shared, src, more);
	c->keylen = shared + more;
	c->value = src + more;
	c->next = NULL;
}

static void
skx_segment_dict_restart(SkxDictCursor *c, int restart)
{
	const uint16 *restarts = (const uint16 *) (c->page + c->head->restarts);
	uint16		offset = restarts[restart];

	if (offset < SKX_PAGE_START + sizeof(SkxDiskDictPage) ||
		offset >= c->head->restarts)
		skx_segment_dict_damaged(c, "dictionary restart out of range");
	c->entry = restart * SKX_DICT_RESTART;
	c->keylen = 0;
	skx_segment_dict_key(c, (const uint8 *) c->page + offset);
}

static int
skx_segment_dict_compare(const SkxDictCursor *c, const char *lexeme, int len)
{
	return tsCompareString((char *) c->key, c->keylen,
						   unconstify(char *, lexeme), len, false);
}

/* Reads an address of the postings or positions plane, from page `first` on. */
static const uint8 *
skx_segment_dict_address(const uint8 *src, const uint8 *end, uint32 first,
						 uint32 *page, uint16 *offset)
{
	uint32		o = 0;

	src = skx_codec_varint32_get(src, end, page);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &o);
	if (src == NULL || o < SKX_PAGE_START || o >= SKX_PAGE_END)
		return NULL;
	*page += first;
	*offset = o;
	return src;
}

static const uint8 *
skx_segment_dict_long(const uint8 *src, const uint8 *end, uint32 first,
					  SkxTerm *t)
{
	static const uint32 ks[SKX_NKTHS] = SKX_KTHS;
	int			i;

	StaticAssertStmt(lengthof(t->kth) == SKX_NKTHS, "k-th best of a term");

	src = skx_segment_dict_address(src, end, first, &t->list.page,
								   &t->list.offset);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &t->list.nnodes);
	if (src == NULL || t->list.nnodes == 0 ||
		end - src < (ptrdiff_t) sizeof(uint64))
		return NULL;
	t->list.impacts = 0;
	for (i = 0; i < 8; i++)
		t->list.impacts |= (uint64) src[i] << (8 * i);
	src += sizeof(uint64);
	for (i = 0; i < SKX_NKTHS && t->df >= ks[i]; i++)
	{
		if (end - src < 2)
			return NULL;
		t->kth[i] = (uint16) (src[0] << 8 | src[1]);
		src += 2;
	}
	t->list.has_table = (t->flags & SKX_TERM_TABLE) != 0;
	if (t->list.has_table)
	{
		src = skx_codec_varint32_get(src, end, &t->list.table_page);
		t->list.table_page += first;
	}
	return src;
}

static const uint8 *
skx_segment_dict_place(const uint8 *src, const uint8 *end, uint32 first,
					   SkxTerm *t)
{
	uint32		n = 0;

	switch (t->flags & SKX_TERM_PLACE)
	{
		case SKX_TERM_INLINE:
			src = skx_codec_varint32_get(src, end, &n);
			if (src == NULL || n > sizeof(t->bytes) ||
				n > (uint32) (end - src) || t->df >= SKX_SUBBLOCK)
				return NULL;
			t->inline_size = n;
			memcpy(t->bytes, src, n);
			return src + n;
		case SKX_TERM_SHORT:
			src = skx_segment_dict_address(src, end, first, &t->short_page,
										   &t->short_offset);
			if (src != NULL)
				src = skx_codec_varint32_get(src, end, &t->short_size);
			if (src == NULL || t->df >= SKX_SUBBLOCK ||
				t->short_size > SKX_PAGE_END - t->short_offset)
				return NULL;
			return src;
		case SKX_TERM_LONG:
			return skx_segment_dict_long(src, end, first, t);
		default:
			return NULL;
	}
}

/*
 * Decodes the leaf value of the current entry; leaves c->next behind it.
 */
static void
skx_segment_dict_term(SkxDictCursor *c, SkxTerm *t)
{
	const uint8 *end = skx_segment_dict_end(c);
	const uint8 *src = c->value;

	memset(t, 0, offsetof(SkxTerm, bytes));
	memset(&t->short_size, 0, sizeof(*t) - offsetof(SkxTerm, short_size));
	t->ordinal = c->head->first_term + c->entry;
	src = skx_codec_varint32_get(src, end, &t->df);
	if (src != NULL && src < end)
	{
		t->flags = *src++;
		src = skx_codec_varint64_get(src, end, &t->npositions);
	}
	if (src != NULL && src < end)
		src = skx_segment_dict_place(src, end, c->head->postings_page, t);
	if (src != NULL && t->npositions > 0 &&
		(t->flags & SKX_TERM_OWN_POSITIONS) == 0)
		src = skx_segment_dict_address(src, end, c->head->positions_page,
									   &t->pos_page, &t->pos_offset);
	if (src == NULL || t->df == 0 || t->df > c->seg->header.ndocs)
		skx_segment_dict_damaged(c, "dictionary entry out of range");
	if ((t->flags & SKX_TERM_PLACE) == SKX_TERM_LONG)
		t->check = skx_format_lexeme_check(c->key, c->keylen);
	c->next = src;
}

/*
 * Steps to the next entry of the page; c->next must be known.
 */
static bool
skx_segment_dict_step(SkxDictCursor *c)
{
	if (c->entry + 1 >= c->head->nentries)
		return false;
	c->entry++;
	if (c->entry % SKX_DICT_RESTART == 0)
		skx_segment_dict_restart(c, c->entry / SKX_DICT_RESTART);
	else
		skx_segment_dict_key(c, c->next);
	return true;
}

/*
 * Stands on the last restart entry whose key is <= the lexeme, or on entry 0.
 */
static void
skx_segment_dict_bisect(SkxDictCursor *c, const char *lexeme, int len)
{
	int			low = 0;
	int			high = c->head->nrestarts - 1;

	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		skx_segment_dict_restart(c, mid);
		if (skx_segment_dict_compare(c, lexeme, len) <= 0)
			low = mid;
		else
			high = mid - 1;
	}
	skx_segment_dict_restart(c, low);
}

/*
 * The child of an inner page in which the lexeme must lie: that of the last
 * entry whose key is <= the lexeme.
 */
static uint32
skx_segment_dict_child(SkxDictCursor *c, const char *lexeme, int len)
{
	uint32		child = 0;

	skx_segment_dict_bisect(c, lexeme, len);
	do
	{
		uint32		ordinal = 0;

		if (c->entry > 0 && skx_segment_dict_compare(c, lexeme, len) > 0)
			break;
		c->next = skx_codec_varint32_get(c->value, skx_segment_dict_end(c),
										 &ordinal);
		if (c->next == NULL)
			skx_segment_dict_damaged(c, "dictionary child out of range");
		child = ordinal;
	} while (c->entry % SKX_DICT_RESTART != SKX_DICT_RESTART - 1 &&
			 skx_segment_dict_step(c));
	return child;
}

/*
 * Goes down to the leaf of the lexeme.  Returns the leaf's ordinal.
 */
static void
skx_segment_dict_descend(SkxDictCursor *c, const char *lexeme, int len)
{
	int			level;

	skx_segment_dict_enter(c, c->seg->header.dict_root);
	level = c->head->level;
	while (level > 0)
	{
		uint32		child = skx_segment_dict_child(c, lexeme, len);

		skx_segment_dict_enter(c, child);
		if (c->head->level != --level)
			skx_segment_dict_damaged(c, "dictionary page of another level");
	}
}

static void
skx_segment_dict_relax(SkxSegment *seg)
{
	if (skx_blkio_crowded(seg->file))
		skx_blkio_unpin(seg->file, &seg->dict_ref);
}

/*
 * Looks a lexeme up on the leaf that it must be on.
 */
static bool
skx_segment_dict_find(SkxDictCursor *c, const char *lexeme, int len,
					  SkxTerm *term)
{
	skx_segment_dict_bisect(c, lexeme, len);
	for (;;)
	{
		int			cmp = skx_segment_dict_compare(c, lexeme, len);

		if (cmp > 0)
			return false;
		skx_segment_dict_term(c, term);
		if (cmp == 0)
			return true;
		if (c->entry % SKX_DICT_RESTART == SKX_DICT_RESTART - 1 ||
			!skx_segment_dict_step(c))
			return false;
	}
}

bool
skx_segment_find(SkxSegment *seg, const char *lexeme, int len, SkxTerm *term)
{
	SkxDictCursor c;
	bool		found;

	if (seg->header.nterms == 0 || len > SKX_LEXEME_MAX)
		return false;
	c.seg = seg;
	skx_segment_dict_descend(&c, lexeme, len);
	found = skx_segment_dict_find(&c, lexeme, len, term);
	skx_segment_dict_relax(seg);
	return found;
}

/*
 * Takes lexemes, ascending, from their pages on one level to those on the
 * level below, which are asked for together if there are `least`, or from
 * nowhere (-1) via the root.  Returns the level of the pages, 0 when they are
 * leaves.
 */
static int
skx_segment_dict_down(SkxDictCursor *c, const SkxLexeme *lexemes, int n,
					  uint32 *pages, int level, int least)
{
	SkxSegment *seg = c->seg;
	uint32	   *ask;
	int			nask = 0;
	int			i;

	if (level < 0)
	{
		skx_segment_dict_enter(c, seg->header.dict_root);
		level = c->head->level;
		for (i = 0; i < n; i++)
			pages[i] = c->ordinal;
	}
	if (level == 0)
		return 0;
	ask = palloc(sizeof(uint32) * n);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pages[i] != c->ordinal)
			skx_segment_dict_enter(c, pages[i]);
		if (c->head->level != level)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		pages[i] = skx_segment_dict_child(c, lexemes[i].bytes, lexemes[i].len);
		if (nask == 0 || ask[nask - 1] != pages[i])
			ask[nask++] = pages[i];
	}
	if (seg->ahead > 0 && nask >= least && !skx_segment_warm(seg))
		skx_segment_prefetch(seg->file, &seg->planes[SKX_SEGMENT_DICT], ask,
							 nask);
	pfree(ask);
	return level - 1;
}

/*
 * Looks lexemes up on their leaves.
 */
static void
skx_segment_dict_finish(SkxDictCursor *c, const SkxLexeme *lexemes, int n,
						const uint32 *pages, SkxTerm *terms)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pages[i] != c->ordinal)
			skx_segment_dict_enter(c, pages[i]);
		if (c->head->level != 0)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		if (!skx_segment_dict_find(c, lexemes[i].bytes, lexemes[i].len,
								   &terms[i]))
			terms[i].df = 0;
	}
	skx_segment_dict_relax(c->seg);
}

/* Where the look-up in one of several segments has come. */
typedef struct SkxDictSearch
{
	SkxDictCursor cursor;
	int			level;			/* of the pages */
	uint32	   *pages;			/* one a lexeme */
} SkxDictSearch;

void
skx_segment_find_all(SkxSegment **segs, int nsegs, const SkxLexeme *lexemes,
					 int n, SkxTerm **terms)
{
	SkxDictSearch *searches = palloc(sizeof(SkxDictSearch) * nsegs);
	bool		more = n > 0;
	int			i;

	for (i = 0; i < nsegs; i++)
	{
		SkxDictSearch *s = &searches[i];

		s->cursor.seg = segs[i];
		s->level = segs[i]->header.nterms > 0 ? -1 : 0;
		s->pages = palloc(sizeof(uint32) * Max(n, 1));
		if (n > 0 && nsegs > 1 && s->level < 0 && segs[i]->ahead > 0)
			skx_segment_prefetch(segs[i]->file,
								 &segs[i]->planes[SKX_SEGMENT_DICT],
								 &segs[i]->header.dict_root, 1);
	}
	while (more)
	{
		more = false;
		for (i = 0; i < nsegs; i++)
		{
			SkxDictSearch *s = &searches[i];

			if (s->level != 0)
				s->level = skx_segment_dict_down(&s->cursor, lexemes, n,
												 s->pages, s->level,
												 nsegs > 1 ? 1 : 2);
			more |= s->level > 0;
		}
	}
	for (i = 0; i < nsegs; i++)
	{
		SkxDictSearch *s = &searches[i];
		int			k;

		if (segs[i]->header.nterms > 0 && n > 0)
			skx_segment_dict_finish(&s->cursor, lexemes, n, s->pages,
									terms[i]);
		else
		{
			for (k = 0; k < n; k++)
				terms[i][k].df = 0;
		}
		pfree(s->pages);
	}
	pfree(searches);
}

/*
 * Leaves stand in the plane in lexeme order, with inner pages among them.
 */
static bool
skx_segment_dict_next_leaf(SkxDictCursor *c)
{
	uint32		npages = c->seg->planes[SKX_SEGMENT_DICT].npages;

	while (c->ordinal + 1 < npages)
	{
		skx_segment_dict_enter(c, c->ordinal + 1);
		if (c->head->level == 0)
		{
			skx_segment_dict_restart(c, 0);
			return true;
		}
	}
	return false;
}

/*
 * Goes to the first leaf of a range of lexemes, whose ends are asked for
 * together if these are `least` pages.  Returns the page after its last one.
 */
static uint32
skx_segment_dict_range(SkxDictCursor *c, const SkxLexeme ends[2], int least)
{
	uint32		pages[2];
	int			level = -1;

	do
		level = skx_segment_dict_down(c, ends, 2, pages, level, least);
	while (level > 0);
	if (pages[0] != c->ordinal)
		skx_segment_dict_enter(c, pages[0]);
	if (c->head->level != 0)
		skx_segment_dict_damaged(c, "dictionary page of another level");
	return pages[1] + 1;
}

/* Does the current lexeme, not below ends[0], end the visit? */
static bool
skx_segment_dict_is_past(const SkxDictCursor *c, const SkxLexeme ends[2],
						 bool prefix)
{
	if (!prefix)
		return skx_segment_dict_compare(c, ends[1].bytes, ends[1].len) >= 0;
	return c->keylen < ends[0].len ||
		memcmp(c->key, ends[0].bytes, ends[0].len) != 0;
}

/* Visits lexemes from ends[0] on: with that prefix, or below ends[1]. */
static void
skx_segment_dict_visit(SkxSegment *seg, const SkxLexeme ends[2], bool prefix,
					   bool reads_ahead, SkxTermVisit visit, void *arg)
{
	SkxDictCursor c;
	SkxTerm		term;
	uint32		end;
	uint32		asked = 0;

	c.seg = seg;
	end = skx_segment_dict_range(&c, ends, reads_ahead ? 2 : 3);
	skx_segment_dict_bisect(&c, ends[0].bytes, ends[0].len);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (reads_ahead)
			skx_segment_ask_next(seg, SKX_SEGMENT_DICT, c.ordinal, end,
								 &asked);
		do
		{
			int			cmp = skx_segment_dict_compare(&c, ends[0].bytes,
													   ends[0].len);

			skx_segment_dict_term(&c, &term);
			/* a prefix of no letters is one of words */
			if (cmp < 0 || (ends[0].len == 0 &&
							skx_intake_is_value(c.key, c.keylen)))
				continue;
			if (skx_segment_dict_is_past(&c, ends, prefix) ||
				!visit(&term, c.key, c.keylen, arg))
			{
				skx_segment_dict_relax(seg);
				return;
			}
		} while (skx_segment_dict_step(&c));

		if (!skx_segment_dict_next_leaf(&c))
			break;
	}
	skx_segment_dict_relax(seg);
}

/*
 * No lexeme of a prefix is above the prefix followed by a byte that UTF-8 does
 * not have; in other encodings a page may be missed, and is not read ahead then.
 */
void
skx_segment_prefix(SkxSegment *seg, const char *prefix, int len,
				   bool reads_ahead, SkxTermVisit visit, void *arg)
{
	char		above[SKX_LEXEME_MAX + 1];
	SkxLexeme	ends[2] = {{prefix, len}, {above, len + 1}};

	if (seg->header.nterms == 0 || len > SKX_LEXEME_MAX)
		return;
	memcpy(above, prefix, len);
	above[len] = (char) 0xFF;
	skx_segment_dict_visit(seg, ends, true, reads_ahead, visit, arg);
}

void
skx_segment_between(SkxSegment *seg, const SkxLexeme *from,
					const SkxLexeme *to, bool reads_ahead,
					SkxTermVisit visit, void *arg)
{
	SkxLexeme	ends[2] = {*from, *to};

	if (seg->header.nterms > 0)
		skx_segment_dict_visit(seg, ends, false, reads_ahead, visit, arg);
}

/*
 * Number of the first term that is not below a lexeme, from the leaf that the
 * cursor has just entered on.
 */
static uint32
skx_segment_dict_number(SkxDictCursor *c, const SkxLexeme *lexeme)
{
	SkxTerm		term;

	skx_segment_dict_bisect(c, lexeme->bytes, lexeme->len);
	do
	{
		do
		{
			int			cmp = skx_segment_dict_compare(c, lexeme->bytes,
													   lexeme->len);

			skx_segment_dict_term(c, &term);
			if (cmp >= 0)
				return term.ordinal;
		} while (skx_segment_dict_step(c));
	} while (skx_segment_dict_next_leaf(c));
	return c->seg->header.nterms;
}

uint32
skx_segment_terms_between(SkxSegment *seg, const SkxLexeme *from,
						  const SkxLexeme *to)
{
	SkxLexeme	ends[2] = {*from, *to};
	SkxDictCursor c;
	uint32		last;
	uint32		first;
	uint32		past;

	if (seg->header.nterms == 0)
		return 0;
	c.seg = seg;
	last = skx_segment_dict_range(&c, ends, 3) - 1;
	first = skx_segment_dict_number(&c, from);
	skx_segment_dict_enter(&c, last);
	past = skx_segment_dict_number(&c, to);
	skx_segment_dict_relax(seg);
	return past - Min(first, past);
}

struct SkxTermWalk
{
	SkxDictCursor cursor;
	bool		begun;
	bool		waits;			/* the current term was not given out */
	uint32		asked;			/* pages before it were asked for */
	uint32		end;			/* and none from this one on will be */
	char		page[BLCKSZ];
};

SkxTermWalk *
skx_segment_walk_begin(SkxSegment *seg)
{
	SkxTermWalk *walk = palloc(sizeof(SkxTermWalk));

	memset(&walk->cursor, 0, sizeof(walk->cursor));
	walk->cursor.seg = seg;
	walk->begun = false;
	walk->waits = false;
	walk->asked = 0;
	walk->end = seg->planes[SKX_SEGMENT_DICT].npages;
	return walk;
}

/* Takes a copy of the page that it is on, and unpins that. */
static void
skx_segment_walk_copy(SkxTermWalk *walk)
{
	SkxDictCursor *c = &walk->cursor;

	skx_segment_ask_next(c->seg, SKX_SEGMENT_DICT, c->ordinal, walk->end,
						 &walk->asked);
	memcpy(walk->page, c->page, BLCKSZ);
	skx_blkio_unpin(c->seg->file, &c->seg->dict_ref);
	c->page = walk->page;
	c->head = (const SkxDiskDictPage *) (c->page + SKX_PAGE_START);
}

/* To the first leaf or the next one, of which it takes a copy. */
static bool
skx_segment_walk_page(SkxTermWalk *walk)
{
	SkxDictCursor *c = &walk->cursor;

	if (!walk->begun)
	{
		if (c->seg->header.nterms == 0)
			return false;
		skx_segment_dict_enter(c, 0);
		if (c->head->level != 0)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		walk->begun = true;
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

void
skx_segment_walk_range(SkxTermWalk *walk, const SkxLexeme ends[2])
{
	SkxDictCursor *c = &walk->cursor;
	SkxTerm		term;

	if (c->seg->header.nterms == 0)
		return;
	walk->end = skx_segment_dict_range(c, ends, 3);
	walk->begun = true;
	skx_segment_walk_copy(walk);
	skx_segment_dict_bisect(c, ends[0].bytes, ends[0].len);
	for (;;)
	{
		walk->waits = skx_segment_dict_compare(c, ends[0].bytes,
											   ends[0].len) >= 0;
		if (walk->waits)
			return;
		skx_segment_dict_term(c, &term);
		if (!skx_segment_dict_step(c))
			return;
	}
}

bool
skx_segment_walk_next(SkxTermWalk *walk, SkxTerm *term, const char **lexeme,
					  int *len)
{
	SkxDictCursor *c = &walk->cursor;

	if (!walk->waits && (!walk->begun || !skx_segment_dict_step(c)) &&
		!skx_segment_walk_page(walk))
		return false;
	walk->waits = false;
	skx_segment_dict_term(c, term);
	*lexeme = c->key;
	*len = c->keylen;
	return true;
}

void
skx_segment_walk_end(SkxTermWalk *walk)
{
	pfree(walk);
}

bool
skx_segment_dict_mark(SkxSegment *seg, uint32 ordinal, char *lexeme, int most,
					  int *len, uint64 *before)
{
	SkxDictCursor c;
	bool		leaf;

	c.seg = seg;
	skx_segment_dict_enter(&c, ordinal);
	leaf = c.head->level == 0;
	if (leaf)
	{
		skx_segment_dict_restart(&c, 0);
		*len = Min(c.keylen, most);
		memcpy(lexeme, c.key, *len);
		*before = (uint64) c.head->postings_page + c.head->positions_page;
	}
	skx_segment_dict_relax(seg);
	return leaf;
}
