/*
 * segment_dict_reader.c
 *	  Looks up lexemes in a segment's dictionary (disk_dict.h).
 *
 * A look-up descends from the root page to one leaf.  On each page it finds a
 * restart entry by binary search, since the keys of these are stored whole.
 * From there it passes at most SKX_DICT_RESTART_ENTRIES front-coded entries.
 * Most of them need no comparison of bytes: how much an entry shares with the
 * entry before it decides (skx_segment_dict_compare_at).  Walks over ranges
 * decode the keys.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_postings.h"
#include "index/segment/segment_dict_internal.h"
#include "miscadmin.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"

/*
 * The bytes that a short key adds are copied by one memcpy of this fixed
 * size, even if they are fewer.
 */
#define SKX_DICT_KEY_COPY_BYTES	16

void
skx_segment_dict_damaged(SkxDictCursor *c, const char *what)
{
	skx_segment_damaged(c->seg, SKX_SEGMENT_DICT, c->ordinal, what);
}

void
skx_segment_dict_pin_page(SkxDictCursor *c, uint32 ordinal)
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
		(c->head->nentries - 1) / SKX_DICT_RESTART_ENTRIES + 1 !=
		c->head->nrestarts)
		skx_segment_dict_damaged(c, "dictionary page counts out of range");
}

/*
 * Reads the head of the entry at `src`: its key consists of the first *shared
 * bytes of the key before it and *more bytes of its own.  Returns the address
 * of the latter.  Sets keylen and value, but not the bytes of the key.
 */
static inline const uint8 *
skx_segment_dict_head(SkxDictCursor *c, const uint8 *src, uint32 *shared,
					  uint32 *more)
{
	const uint8 *end = skx_segment_dict_end(c);

	*shared = *more = 0;
	if (end - src >= 2 && (src[0] | src[1]) < 0x80)
	{
		*shared = src[0];
		*more = src[1];
		src += 2;
	}
	else
	{
		src = skx_codec_varint32_get(src, end, shared);
		if (src != NULL)
			src = skx_codec_varint32_get(src, end, more);
	}
	if (src == NULL || *shared > (uint32) c->keylen ||
		*more > SKX_LEXEME_MAX - *shared || *more > (uint32) (end - src))
		skx_segment_dict_damaged(c, "dictionary key out of range");
	c->shared = *shared;
	c->keylen = *shared + *more;
	c->value = src + *more;
	c->next = NULL;
	return src;
}

/* Decodes the key of the entry at `src` over the key before it. */
static void
skx_segment_dict_key(SkxDictCursor *c, const uint8 *src)
{
	const uint8 *end = skx_segment_dict_end(c);
	uint32		shared;
	uint32		more;

	src = skx_segment_dict_head(c, src, &shared, &more);
	if (more <= SKX_DICT_KEY_COPY_BYTES &&
		end - src >= SKX_DICT_KEY_COPY_BYTES &&
		shared <= SKX_LEXEME_MAX - SKX_DICT_KEY_COPY_BYTES)
		memcpy(c->key + shared, src, SKX_DICT_KEY_COPY_BYTES);
	else
		memcpy(c->key + shared, src, more);
}

/*
 * Returns the address of a restart entry and makes its number the current
 * one.  Clears the key, since a restart entry shares nothing with the entry
 * before it.
 */
static const uint8 *
skx_segment_dict_restart_at(SkxDictCursor *c, int restart)
{
	const uint16 *restarts = (const uint16 *) (c->page + c->head->restarts);
	uint16		offset = restarts[restart];

	if (offset < SKX_PAGE_START + sizeof(SkxDiskDictPage) ||
		offset >= c->head->restarts)
		skx_segment_dict_damaged(c, "dictionary restart out of range");
	c->entry = restart * SKX_DICT_RESTART_ENTRIES;
	c->keylen = 0;
	return (const uint8 *) c->page + offset;
}

void
skx_segment_dict_restart(SkxDictCursor *c, int restart)
{
	skx_segment_dict_key(c, skx_segment_dict_restart_at(c, restart));
}

int
skx_segment_dict_compare(const SkxDictCursor *c, const char *lexeme, int len)
{
	return tsCompareString((char *) c->key, c->keylen,
						   unconstify(char *, lexeme), len, false);
}

/*
 * Decodes an address in the postings or positions plane, whose page is stored
 * relative to page `first`.  Returns NULL if it is damaged.
 */
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
skx_segment_dict_long_list(const uint8 *src, const uint8 *end, uint32 first,
						   SkxTerm *t)
{
	static const uint32 ks[SKX_NKTH_BEST] = SKX_KTH_BEST_RANKS;
	int			i;

	StaticAssertStmt(lengthof(t->kth_best) == SKX_NKTH_BEST,
					 "k-th best of a term");

	src = skx_segment_dict_address(src, end, first, &t->long_list.page,
								   &t->long_list.offset);
	if (src != NULL)
		src = skx_codec_varint32_get(src, end, &t->long_list.nnodes);
	if (src == NULL || t->long_list.nnodes == 0 ||
		end - src < (ptrdiff_t) sizeof(uint64))
		return NULL;
	t->long_list.impacts = 0;
	for (i = 0; i < 8; i++)
		t->long_list.impacts |= (uint64) src[i] << (8 * i);
	src += sizeof(uint64);
	for (i = 0; i < SKX_NKTH_BEST && t->df >= ks[i]; i++)
	{
		if (end - src < 2)
			return NULL;
		t->kth_best[i] = (uint16) (src[0] << 8 | src[1]);
		src += 2;
	}
	t->long_list.has_table = (t->flags & SKX_TERM_TABLE_PAGES) != 0;
	if (t->long_list.has_table)
	{
		src = skx_codec_varint32_get(src, end, &t->long_list.table_page);
		t->long_list.table_page += first;
	}
	return src;
}

static const uint8 *
skx_segment_dict_list_address(const uint8 *src, const uint8 *end, uint32 first,
							  SkxTerm *t)
{
	uint32		n = 0;

	switch (t->flags & SKX_TERM_FORM_MASK)
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
			return skx_segment_dict_long_list(src, end, first, t);
		default:
			return NULL;
	}
}

/*
 * Decodes df, flags and number of positions of an entry.  Returns the address
 * behind them, or NULL if they are damaged.
 */
static inline const uint8 *
skx_segment_dict_read_counts(const uint8 *src, const uint8 *end, SkxTerm *t)
{
	if (end - src > 3 && (src[0] | src[2]) < 0x80)
	{
		t->df = src[0];
		t->flags = src[1];
		t->npositions = src[2];
		return src + 3;
	}
	src = skx_codec_varint32_get(src, end, &t->df);
	if (src == NULL || src >= end)
		return NULL;
	t->flags = *src++;
	return skx_codec_varint64_get(src, end, &t->npositions);
}

/*
 * Decodes the current entry into *t, all fields except `check`, and sets
 * c->next to the entry after it.
 */
static void
skx_segment_dict_value(SkxDictCursor *c, SkxTerm *t)
{
	const uint8 *end = skx_segment_dict_end(c);
	const uint8 *src = c->value;

	memset(t, 0, offsetof(SkxTerm, bytes));
	memset(&t->short_size, 0, sizeof(*t) - offsetof(SkxTerm, short_size));
	t->ordinal = c->head->first_term + c->entry;
	src = skx_segment_dict_read_counts(src, end, t);
	if (src != NULL && src < end)
		src = skx_segment_dict_list_address(src, end, c->head->postings_page,
											t);
	if ((t->flags & SKX_TERM_FORM_MASK) == SKX_TERM_INLINE)
		t->short_page = c->ordinal;
	if (src != NULL && t->npositions > 0 &&
		(t->flags & SKX_TERM_OWN_POSITIONS) == 0)
		src = skx_segment_dict_address(src, end, c->head->positions_page,
									   &t->pos_page, &t->pos_offset);
	if (src == NULL || t->df == 0 || t->df > c->seg->header.ndocs)
		skx_segment_dict_damaged(c, "dictionary entry out of range");
	c->next = src;
}

void
skx_segment_dict_counts(SkxDictCursor *c, SkxTerm *t)
{
	if (skx_segment_dict_read_counts(c->value, skx_segment_dict_end(c),
									 t) == NULL ||
		t->df == 0 || t->df > c->seg->header.ndocs)
		skx_segment_dict_damaged(c, "dictionary entry out of range");
}

/* Returns the address after n varints, or NULL if there are fewer. */
static const uint8 *
skx_segment_dict_after_varints(const uint8 *src, const uint8 *end, int n)
{
	for (; n > 0; n--)
	{
		while (src < end && *src >= 0x80)
			src++;
		if (src >= end)
			return NULL;
		src++;
	}
	return src;
}

/*
 * Sets c->next to the entry after the current one.  Most entries have a df and
 * a number of positions of one byte each, and a short list.  They are not
 * decoded.
 */
static inline void
skx_segment_dict_pass(SkxDictCursor *c)
{
	const uint8 *end = skx_segment_dict_end(c);
	const uint8 *src = c->value;
	SkxTerm		term;

	if (end - src > 3 && (src[0] | src[2] | src[3]) < 0x80)
	{
		int			form = src[1] & SKX_TERM_FORM_MASK;
		int			n = src[2] > 0 && (src[1] & SKX_TERM_OWN_POSITIONS) == 0 ?
			2 : 0;

		if (form == SKX_TERM_INLINE && src[3] < end - src - 3)
			c->next = skx_segment_dict_after_varints(src + 4 + src[3], end, n);
		else if (form == SKX_TERM_SHORT)
			c->next = skx_segment_dict_after_varints(src + 3, end, 3 + n);
	}
	if (c->next == NULL)
		skx_segment_dict_value(c, &term);
}

/* Sets the check value of a term whose list is long. */
static void
skx_segment_dict_check(SkxTerm *t, const char *lexeme, int len)
{
	if ((t->flags & SKX_TERM_FORM_MASK) == SKX_TERM_LONG)
		t->list_check = skx_disk_lexeme_check(lexeme, len);
}

void
skx_segment_dict_term(SkxDictCursor *c, SkxTerm *t)
{
	skx_segment_dict_value(c, t);
	skx_segment_dict_check(t, c->key, c->keylen);
}

bool
skx_segment_dict_next_entry(SkxDictCursor *c)
{
	if (c->entry + 1 >= c->head->nentries)
		return false;
	if ((c->entry + 1) % SKX_DICT_RESTART_ENTRIES != 0)
	{
		if (c->next == NULL)
			skx_segment_dict_pass(c);
		c->entry++;
		skx_segment_dict_key(c, c->next);
		return true;
	}
	c->entry++;
	skx_segment_dict_restart(c, c->entry / SKX_DICT_RESTART_ENTRIES);
	return true;
}

/* Returns true if the key of a restart entry is <= the lexeme. */
static bool
skx_segment_dict_restart_precedes(SkxDictCursor *c, int restart,
								  const char *lexeme, int len)
{
	const uint8 *src = skx_segment_dict_restart_at(c, restart);
	uint32		shared;
	uint32		more;
	int			cmp;

	src = skx_segment_dict_head(c, src, &shared, &more);
	cmp = memcmp(src, lexeme, Min(more, (uint32) len));
	return cmp < 0 || (cmp == 0 && more <= (uint32) len);
}

/*
 * Returns the number of the last restart entry of those from `low` to `high`
 * whose key is <= the lexeme, or `low` if there is none.
 */
static int
skx_segment_dict_last_restart(SkxDictCursor *c, int low, int high,
							  const char *lexeme, int len)
{
	while (low < high)
	{
		int			mid = (low + high + 1) / 2;

		if (skx_segment_dict_restart_precedes(c, mid, lexeme, len))
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/*
 * Does the same for all from `low` on, in steps that double.  The entry is
 * near, mostly.
 */
static int
skx_segment_dict_nearest_restart(SkxDictCursor *c, int low, const char *lexeme,
								 int len)
{
	int			last = c->head->nrestarts - 1;
	int			step = 1;

	while (low + step <= last &&
		   skx_segment_dict_restart_precedes(c, low + step, lexeme, len))
	{
		low += step;
		step *= 2;
	}
	return skx_segment_dict_last_restart(c, low, Min(low + step - 1, last),
										 lexeme, len);
}

void
skx_segment_dict_bisect_restarts(SkxDictCursor *c, const char *lexeme, int len)
{
	skx_segment_dict_restart(c, skx_segment_dict_last_restart(c, 0,
															  c->head->nrestarts - 1,
															  lexeme, len));
}

/*
 * Moves to the entry at `src` without decoding its key.  Returns a negative
 * number, 0 or a positive number if the key is below, equal to or above the
 * lexeme.
 *
 * The key before the entry is below the lexeme, and has its first *same bytes
 * in common with it; *same is updated for this entry's key.  Keys ascend, so
 * a key that shares more than *same bytes with the key before it is below the
 * lexeme, and one that shares fewer is above it.  Bytes are compared only if
 * it shares exactly *same.
 */
static inline int
skx_segment_dict_compare_at(SkxDictCursor *c, const uint8 *src,
							const char *lexeme, uint32 len, uint32 *same)
{
	uint32		shared;
	uint32		more;
	uint32		i;

	src = skx_segment_dict_head(c, src, &shared, &more);
	if (shared != *same)
		return shared > *same ? -1 : 1;
	lexeme += shared;
	len -= shared;
	for (i = 0; i < Min(more, len) && src[i] == (uint8) lexeme[i]; i++)
		;
	*same += i;
	if (i == more)
		return i == len ? 0 : -1;
	return i == len || src[i] > (uint8) lexeme[i] ? 1 : -1;
}

/*
 * Moves to the last restart entry whose key is <= the lexeme, or to entry 0
 * if there is none.  Sets *same and returns the comparison like
 * skx_segment_dict_compare_at().
 */
static int
skx_segment_dict_seek(SkxDictCursor *c, const char *lexeme, uint32 len,
					  uint32 *same)
{
	int			restart = skx_segment_dict_last_restart(c, 0, c->head->nrestarts - 1,
														lexeme, len);

	*same = 0;
	return skx_segment_dict_compare_at(c,
									   skx_segment_dict_restart_at(c, restart),
									   lexeme, len, same);
}

/* The key has its first c->shared bytes in common with the lexeme. */
static void
skx_segment_dict_key_from(SkxDictCursor *c, const char *lexeme)
{
	int			more = c->keylen - c->shared;

	memcpy(c->key, lexeme, c->shared);
	memcpy(c->key + c->shared, c->value - more, more);
}

/*
 * Most of the time the entry is near, so it is looked for among those before
 * the next restart entry first.
 */
bool
skx_segment_dict_forward(SkxDictCursor *c, const char *lexeme, int len)
{
	uint32		least = Min((uint32) c->keylen, (uint32) len);
	uint32		same = 0;
	int			cmp;

	while (same < least && c->key[same] == lexeme[same])
		same++;
	cmp = same < least ? (uint8) c->key[same] - (uint8) lexeme[same] :
		c->keylen - len;
	if (cmp >= 0)
		return true;
	while (cmp < 0)
	{
		const uint8 *src;

		if (c->entry + 1 >= c->head->nentries)
			return false;
		if ((c->entry + 1) % SKX_DICT_RESTART_ENTRIES == 0)
		{
			int			restart = (c->entry + 1) / SKX_DICT_RESTART_ENTRIES;

			restart = skx_segment_dict_nearest_restart(c, restart, lexeme,
													   len);
			src = skx_segment_dict_restart_at(c, restart);
			same = 0;
		}
		else
		{
			if (c->next == NULL)
				skx_segment_dict_pass(c);
			src = c->next;
			c->entry++;
		}
		cmp = skx_segment_dict_compare_at(c, src, lexeme, len, &same);
	}
	skx_segment_dict_key_from(c, lexeme);
	return true;
}

/*
 * Makes the next entry of the page current, without reading it.  Returns
 * false if that is a restart entry, or the page has no more entries.  The
 * caller begins at the last restart entry <= the lexeme, so that the next
 * restart entry is above the lexeme.
 */
static bool
skx_segment_dict_next_unread(SkxDictCursor *c)
{
	if (c->entry + 1 >= c->head->nentries ||
		c->entry % SKX_DICT_RESTART_ENTRIES == SKX_DICT_RESTART_ENTRIES - 1)
		return false;
	c->entry++;
	return true;
}

uint32
skx_segment_dict_child(SkxDictCursor *c, const char *lexeme, int len,
					   bool *covers)
{
	uint32		child = 0;
	uint32		same;
	int			cmp = skx_segment_dict_seek(c, lexeme, len, &same);

	for (;;)
	{
		if (c->entry > 0 && cmp > 0)
			break;
		c->next = skx_codec_varint32_get(c->value, skx_segment_dict_end(c),
										 &child);
		if (c->next == NULL)
			skx_segment_dict_damaged(c, "dictionary child out of range");
		if (cmp >= 0 || !skx_segment_dict_next_unread(c))
			break;
		cmp = skx_segment_dict_compare_at(c, c->next, lexeme, len, &same);
	}
	*covers = cmp > 0 ? c->entry > 0 : c->entry + 1 < c->head->nentries;
	return child;
}

void
skx_segment_dict_descend(SkxDictCursor *c, const char *lexeme, int len,
						 char *parent)
{
	int			level;
	bool		covers;

	skx_segment_dict_pin_page(c, c->seg->header.dict_root);
	level = c->head->level;
	while (level > 0)
	{
		uint32		child = skx_segment_dict_child(c, lexeme, len, &covers);

		if (level == 1 && parent != NULL)
			memcpy(parent, c->page, BLCKSZ);

		skx_segment_dict_pin_page(c, child);
		if (c->head->level != --level)
			skx_segment_dict_damaged(c, "dictionary page of another level");
	}
}

void
skx_segment_dict_unpin_if_crowded(SkxSegment *seg)
{
	if (skx_blkio_has_many_pins(seg->file))
		skx_blkio_unpin(seg->file, &seg->dict_ref);
}

/*
 * Looks up a lexeme on the current leaf.  Returns true and fills *term if the
 * leaf has it.
 */
static bool
skx_segment_dict_find(SkxDictCursor *c, const char *lexeme, int len,
					  SkxTerm *term)
{
	uint32		same;
	int			cmp = skx_segment_dict_seek(c, lexeme, len, &same);

	for (;;)
	{
		if (cmp > 0)
			return false;
		if (cmp == 0)
			break;
		skx_segment_dict_pass(c);
		if (!skx_segment_dict_next_unread(c))
			return false;
		cmp = skx_segment_dict_compare_at(c, c->next, lexeme, len, &same);
	}
	skx_segment_dict_value(c, term);
	skx_segment_dict_check(term, lexeme, len);
	return true;
}

bool
skx_segment_find(SkxSegment *seg, const char *lexeme, int len, SkxTerm *term)
{
	SkxDictCursor c;
	bool		found;

	if (seg->header.nterms == 0 || len > SKX_LEXEME_MAX)
		return false;
	c.seg = seg;
	skx_segment_dict_descend(&c, lexeme, len, NULL);
	found = skx_segment_dict_find(&c, lexeme, len, term);
	skx_segment_dict_unpin_if_crowded(seg);
	return found;
}

int
skx_segment_dict_next_level(SkxDictCursor *c, const SkxLexeme *lexemes, int n,
							uint32 *pages, int level, int least)
{
	SkxSegment *seg = c->seg;
	uint32	   *ask;
	bool		covers;
	int			nask = 0;
	int			i;

	if (level < 0)
	{
		skx_segment_dict_pin_page(c, seg->header.dict_root);
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
			skx_segment_dict_pin_page(c, pages[i]);
		if (c->head->level != level)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		pages[i] = skx_segment_dict_child(c, lexemes[i].bytes, lexemes[i].len,
										  &covers);
		if (nask == 0 || ask[nask - 1] != pages[i])
			ask[nask++] = pages[i];
	}
	if (seg->prefetch_units > 0 && nask >= least && !skx_segment_is_warm(seg))
		skx_segment_prefetch(seg->file, &seg->planes[SKX_SEGMENT_DICT], ask,
							 nask);
	pfree(ask);
	return level - 1;
}

/*
 * Looks up n lexemes on their leaves: pages[i] is that of lexeme i.  Sets
 * terms[i].df to 0 if the segment does not have lexeme i.
 */
static void
skx_segment_dict_find_on_leaves(SkxDictCursor *c, const SkxLexeme *lexemes,
								int n, const uint32 *pages, SkxTerm *terms)
{
	int			i;

	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (pages[i] != c->ordinal)
			skx_segment_dict_pin_page(c, pages[i]);
		if (c->head->level != 0)
			skx_segment_dict_damaged(c, "dictionary page of another level");
		if (!skx_segment_dict_find(c, lexemes[i].bytes, lexemes[i].len,
								   &terms[i]))
			terms[i].df = 0;
	}
	skx_segment_dict_unpin_if_crowded(c->seg);
}

/* State of the look-up in one of several segments. */
typedef struct SkxDictSearch
{
	SkxDictCursor cursor;
	int			level;			/* of the pages; -1: pages is not set yet */
	uint32	   *pages;			/* the current page of each lexeme */
} SkxDictSearch;

void
skx_segment_find_all(SkxSegment *const *segs, int nsegs,
					 const SkxLexeme *lexemes,
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
		if (n > 0 && nsegs > 1 && s->level < 0 && segs[i]->prefetch_units > 0)
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
				s->level = skx_segment_dict_next_level(&s->cursor, lexemes, n,
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
			skx_segment_dict_find_on_leaves(&s->cursor, lexemes, n, s->pages,
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

/* Leaves are in the plane in lexeme order, with inner pages between them. */
bool
skx_segment_dict_next_leaf(SkxDictCursor *c)
{
	uint32		npages = c->seg->planes[SKX_SEGMENT_DICT].npages;

	while (c->ordinal + 1 < npages)
	{
		skx_segment_dict_pin_page(c, c->ordinal + 1);
		if (c->head->level == 0)
		{
			skx_segment_dict_restart(c, 0);
			return true;
		}
	}
	return false;
}

bool
skx_segment_dict_first_lexeme(SkxSegment *seg, uint32 ordinal, char *lexeme,
							  int most, int *len, uint64 *before)
{
	SkxDictCursor c;
	bool		leaf;

	c.seg = seg;
	skx_segment_dict_pin_page(&c, ordinal);
	leaf = c.head->level == 0;
	if (leaf)
	{
		skx_segment_dict_restart(&c, 0);
		*len = Min(c.keylen, most);
		memcpy(lexeme, c.key, *len);
		*before = (uint64) c.head->postings_page + c.head->positions_page;
	}
	skx_segment_dict_unpin_if_crowded(seg);
	return leaf;
}
