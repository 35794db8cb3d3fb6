/*
 * cursor_positions.c
 *	  Reads the positions of postings.
 *
 * A sub-block of a long list has the address where its positions begin.  The
 * number of positions before those of posting i is the sum of the frequencies
 * of the postings before it.  Position blocks in between are skipped without
 * decoding them, and the block decoded last is kept for the next posting.  A
 * short list is a single sub-block, whose positions begin at the address in
 * the dictionary entry.
 *
 * The address of a posting's positions (SkxPositionPlace) is found without
 * reading a page of positions.  So the pages of many documents can be
 * prefetched together.
 */
#include "postgres.h"

#include "format/disk/disk_page.h"
#include "index/cursor/cursor_internal.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Mask of the position in a WordEntryPos, and in a sum of deltas. */
#define SKX_POSITION_MASK	0x3FFF

static void
skx_cursor_places_damaged(SkxCursorList *l)
{
	skx_segment_damaged(l->seg, SKX_SEGMENT_POSITIONS, l->places.page,
						"position block does not decode");
}

void
skx_cursor_places_begin(SkxCursorList *l)
{
	l->places.own_i = 0;
	l->places.ready = false;
	l->places.from_page = PG_UINT32_MAX;
}

void
skx_cursor_places_own(SkxCursorList *l, const uint8 *bytes, uint32 n)
{
	SkxCursorPlaces *r = &l->places;

	if (r->own == NULL || n > r->own_size)
	{
		if (r->own != NULL)
			pfree(r->own);
		r->own_size = l->reused ? Max(n, SKX_OWN_POSITIONS_BYTES) : n;
		r->own = palloc(r->own_size + 1);
	}
	memcpy(r->own, bytes, n);
	r->own_end = r->own + n;
	r->own_src = r->own;
}

void
skx_cursor_places_end(SkxCursorList *l)
{
	skx_blkio_unpin(l->seg->file, &l->places.ref);
	if (l->places.own != NULL)
		pfree(l->places.own);
	if (l->places.deltas != NULL)
		pfree(l->places.deltas);
}

/* Sets r->start to the address of the current sub-block's positions. */
static void
skx_cursor_places_start(SkxCursorList *l)
{
	SkxCursorPlaces *r = &l->places;

	if (l->form == SKX_CURSOR_LONG)
	{
		skx_skiplist_positions(&l->nodes, &r->start);
		r->start.page += l->term.pos_page;
		skx_skiplist_relax(&l->nodes);
	}
	else
	{
		r->start.page = l->term.pos_page;
		r->start.offset = l->term.pos_offset;
		r->start.index = 0;
	}
	r->nsums = 0;
	r->ready = true;
}

/*
 * Returns the bytes of the next block, which is on the current page, or else
 * the first one of the next page.  Sets *end to the end of the page's content.
 */
static const uint8 *
skx_cursor_places_next(SkxCursorList *l, const uint8 **end)
{
	SkxCursorPlaces *r = &l->places;
	const char *page = skx_segment_pin(l->seg, SKX_SEGMENT_POSITIONS,
									   r->page, &r->ref);
	uint16		lower = ((const PageHeaderData *) page)->pd_lower;

	skx_cursor_ahead_places(l, r->page);
	if (r->offset >= lower)
	{
		r->page++;
		r->offset = SKX_PAGE_START;
		page = skx_segment_pin(l->seg, SKX_SEGMENT_POSITIONS, r->page,
							   &r->ref);
		lower = ((const PageHeaderData *) page)->pd_lower;
	}
	if (lower > SKX_PAGE_END || r->offset < SKX_PAGE_START ||
		r->offset >= lower)
		skx_cursor_places_damaged(l);
	*end = (const uint8 *) page + lower;
	return (const uint8 *) page + r->offset;
}

/*
 * Decodes the block that has position number `want`, counted from the start of
 * the block where reading began.  The position must be after the block that is
 * decoded.
 */
static pg_noinline void
skx_cursor_places_block(SkxCursorList *l, uint32 want)
{
	SkxCursorPlaces *r = &l->places;

	do
	{
		const uint8 *end;
		const uint8 *src = skx_cursor_places_next(l, &end);
		const uint8 *after;
		uint32		left;

		r->before += r->n;
		r->n = 0;
		left = want - r->before;
		after = skx_codec_positions_skip(src, end, &left);
		r->before = want - left;
		if (after != NULL && after < end)
		{
			after = skx_codec_positions_get(after, end, r->deltas, &r->n);
			skx_cursor_work.positions++;
		}
		if (after == NULL)
			skx_cursor_places_damaged(l);
		r->offset += after - src;
	} while (want >= r->before + r->n);
	if (skx_blkio_crowded(l->seg->file))
		skx_blkio_unpin(l->seg->file, &r->ref);
}

/* Positions that are computed from their deltas at once. */
#define SKX_PLACES_LANES	8

/*
 * Computes SKX_PLACES_LANES positions from their deltas, of which the first
 * is the first of a document.  Most documents have fewer positions, and the
 * results after these are meaningless.  A loop to the last position would end
 * after an unpredictable number of steps.
 */
static inline void
skx_cursor_places_sum(const uint32 *deltas, uint16 *positions)
{
#ifdef __SSE2__
	const __m128i mask = _mm_set1_epi32(SKX_POSITION_MASK);
	__m128i		low = _mm_loadu_si128((const __m128i *) deltas);
	__m128i		high = _mm_loadu_si128((const __m128i *) (deltas + 4));
	__m128i		labels = _mm_packs_epi32(_mm_srli_epi32(low, 30),
										 _mm_srli_epi32(high, 30));
	__m128i		sums = _mm_packs_epi32(_mm_and_si128(low, mask),
									   _mm_and_si128(high, mask));

	sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 2));
	sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
	sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
	sums = _mm_and_si128(sums, _mm_set1_epi16(SKX_POSITION_MASK));
	_mm_storeu_si128((__m128i *) positions,
					 _mm_or_si128(sums, _mm_slli_epi16(labels, 14)));
#else
	uint32		position = 0;
	int			k;

	for (k = 0; k < SKX_PLACES_LANES; k++)
	{
		position = (position + deltas[k]) & SKX_POSITION_MASK;
		positions[k] = (uint16) ((deltas[k] >> 30) << 14 | position);
	}
#endif
}

/* Reads positions that are in the positions plane, and returns how many. */
static int
skx_cursor_positions_far(SkxCursorList *l, const SkxPositionPlace *place,
						 uint16 *positions)
{
	SkxCursorPlaces *r = &l->places;
	uint32		want = place->first;
	uint32		end = place->first + place->tf;
	uint32		position = 0;

	if (place->page != r->from_page || place->offset != r->from_offset ||
		want < r->before)
	{
		r->page = r->from_page = place->page;
		r->offset = r->from_offset = place->offset;
		r->before = 0;
		r->n = 0;
		if (r->deltas == NULL)
			r->deltas = palloc0(sizeof(uint32) *
								(SKX_SUBBLOCK + SKX_PLACES_LANES));
	}
	if (end <= r->before + r->n && place->tf <= SKX_PLACES_LANES)
	{
		skx_cursor_places_sum(r->deltas + (want - r->before), positions);
		return place->tf;
	}
	while (want < end)
	{
		const uint32 *deltas;
		uint32		in_block;
		uint32		k;

		if (want >= r->before + r->n)
			skx_cursor_places_block(l, want);
		if (want == r->before)
			position = 0;		/* the first delta of a block begins at 0 */
		deltas = r->deltas + (want - r->before);
		in_block = Min(end, r->before + r->n) - want;
		for (k = 0; k < in_block; k++)
		{
			position = (position + deltas[k]) & SKX_POSITION_MASK;
			positions[k] = (uint16) ((deltas[k] >> 30) << 14 | position);
		}
		positions += in_block;
		want += in_block;
	}
	return place->tf;
}

/*
 * Reads the positions of posting `which` of a short list that stores its own.
 * Postings are mostly read in order, except if a phrase has the list twice, or
 * the cursor moves backward.
 */
static int
skx_cursor_positions_own(SkxCursorList *l, int which, uint16 *positions)
{
	SkxCursorPlaces *r = &l->places;
	int			skip = 0;

	if (which < r->own_i)
	{
		r->own_i = 0;
		r->own_src = r->own;
	}
	for (; r->own_i < which; r->own_i++)
		skip += l->p.tf[r->own_i];
	if (skip > 0)
		r->own_src = skx_codec_short_positions_skip(r->own_src, r->own_end,
													skip);
	if (r->own_src == NULL ||
		skx_codec_short_positions_get(r->own_src, r->own_end, &l->p, which,
									  positions, NULL) == NULL)
		skx_segment_damaged(l->seg, SKX_SEGMENT_DICT,
							l->seg->header.dict_root,
							"positions of a short list do not decode");
	return l->p.tf[which];
}

/* Frequencies that are summed at once. */
#define SKX_SUMS_LANES		8

/*
 * Computes r->sums up to posting i: for each posting, the sum of the
 * frequencies before it.  Computes SKX_SUMS_LANES sums at a time, so that some
 * after the last posting are meaningless.
 */
static void
skx_cursor_places_sum_up(SkxCursorPlaces *r, const uint16 *tfs, int i)
{
	int			at = r->nsums;
	uint32		sum = at > 0 ? r->sums[at - 1] + tfs[at - 1] : 0;

#ifdef __SSE2__
	__m128i		before = _mm_set1_epi16((int16) sum);

	for (; at <= i; at += SKX_SUMS_LANES)
	{
		__m128i		own = _mm_loadu_si128((const __m128i *) (tfs + at));
		__m128i		sums = _mm_add_epi16(own, _mm_slli_si128(own, 2));

		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
		sums = _mm_add_epi16(sums, before);
		_mm_storeu_si128((__m128i *) (r->sums + at), _mm_sub_epi16(sums, own));
		before = _mm_shuffle_epi32(_mm_shufflehi_epi16(sums, 0xFF), 0xFF);
	}
#else
	for (; at <= i || at % SKX_SUMS_LANES != 0; at++)
	{
		r->sums[at] = sum;
		sum += tfs[at];
	}
#endif
	r->nsums = at;
}

/* Returns true if the list stores its own positions. */
static inline bool
skx_cursor_places_are_own(const SkxCursorList *l)
{
	return (l->term.flags & SKX_TERM_OWN_POSITIONS) != 0;
}

/*
 * Sets *place to the address of posting i of a list whose positions are in
 * the positions plane.
 */
static pg_attribute_always_inline void
skx_cursor_place_far(SkxCursorList *l, int i, const uint16 *tfs,
					 SkxPositionPlace *place)
{
	SkxCursorPlaces *r = &l->places;

	if (!r->ready)
		skx_cursor_places_start(l);
	if (r->nsums <= i)
		skx_cursor_places_sum_up(r, tfs, i);
	place->page = r->start.page;
	place->offset = r->start.offset;
	place->first = r->start.index + r->sums[i];
}

static pg_attribute_always_inline void
skx_cursor_place_posting(SkxCursor *c, int i, SkxPositionPlace *place)
{
	SkxCursorList *l = skx_cursor_list(c);
	const uint16 *tfs = skx_cursor_tfs(c);

	place->tf = tfs[i];
	place->first = i;
	if (place->tf > 0 && !skx_cursor_places_are_own(l))
		skx_cursor_place_far(l, i, tfs, place);
}

void
skx_cursor_place(SkxCursor *c, int i, SkxPositionPlace *place)
{
	skx_cursor_place_posting(c, i, place);
}

/*
 * Copies the current sub-block into l->bits, if the list is long and the
 * sub-block is stored as a bitset and was not decoded; otherwise returns
 * false.  If the result is true, frequencies can be decoded.
 */
static bool
skx_cursor_has_bits(SkxCursorList *l)
{
	SkxSkiplistCursor *s = &l->nodes;
	const uint8 *part;

	if (l->has_bits || l->no_bits)
		return l->has_bits;
	l->no_bits = true;
	if (l->head.docs != NULL || l->form != SKX_CURSOR_LONG)
		return false;
	skx_skiplist_pin(s);
	part = skx_codec_subblock_bits(s->body, s->end, s->n, s->base, &l->bits);
	if (part == NULL)
		return false;
	l->no_bits = false;
	l->has_bits = true;
	skx_cursor_read_docs(l, part);
	skx_cursor_work.fills++;
	skx_skiplist_relax(s);
	return true;
}

/*
 * Makes a document's posting in the current sub-block the current one.
 * Returns false if there is none.
 */
static inline bool
skx_cursor_at(SkxCursor *c, uint32 doc)
{
	SkxCursorList *l = skx_cursor_list(c);
	int			i;

	if (c->docs != NULL || !skx_cursor_has_bits(l))
	{
		i = skx_cursor_find(c, doc);
		return c->docs[i] == doc;
	}
	i = skx_codec_subblock_rank(&l->bits, doc - (l->base + 1));
	c->i = Max(i, 0);
	return i >= 0;
}

bool
skx_cursor_locate(SkxCursor *c, uint32 doc, SkxPositionPlace *place)
{
	if (!skx_cursor_reach(c, doc) || !skx_cursor_at(c, doc))
		return false;
	skx_cursor_place_posting(c, c->i, place);
	return true;
}

int
skx_cursor_positions_at(SkxCursor *c, const SkxPositionPlace *place,
						uint16 *positions)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (place->tf == 0)
		return 0;
	if (skx_cursor_places_are_own(l))
		return skx_cursor_positions_own(l, place->first, positions);
	return skx_cursor_positions_far(l, place, positions);
}

int
skx_cursor_positions(SkxCursor *c, int i, uint16 *positions)
{
	SkxPositionPlace place;

	skx_cursor_place(c, i, &place);
	return skx_cursor_positions_at(c, &place, positions);
}
