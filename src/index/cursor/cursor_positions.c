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
 * The address of a posting's positions (SkxPositionsRef) is found without
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
skx_cursor_positions_damaged(SkxCursorList *l)
{
	skx_segment_damaged(l->seg, SKX_SEGMENT_POSITIONS, l->positions.page,
						"position block does not decode");
}

void
skx_cursor_positions_begin(SkxCursorList *l)
{
	l->positions.own_posting = 0;
	l->positions.start_is_set = false;
	l->positions.from_page = PG_UINT32_MAX;
}

void
skx_cursor_positions_copy_own(SkxCursorList *l, const uint8 *bytes, uint32 n)
{
	SkxCursorPositions *r = &l->positions;

	if (r->own_bytes == NULL || n > r->own_size)
	{
		if (r->own_bytes != NULL)
			pfree(r->own_bytes);
		r->own_size = l->is_reused ? Max(n, SKX_OWN_POSITIONS_BYTES) : n;
		r->own_bytes = palloc(r->own_size + 1);
	}
	memcpy(r->own_bytes, bytes, n);
	r->own_end = r->own_bytes + n;
	r->own_next = r->own_bytes;
}

void
skx_cursor_positions_end(SkxCursorList *l)
{
	skx_blkio_unpin(l->seg->file, &l->positions.page_ref);
	if (l->positions.own_bytes != NULL)
		pfree(l->positions.own_bytes);
	if (l->positions.deltas != NULL)
		pfree(l->positions.deltas);
}

/*
 * Sets r->subblock_start to the address of the current sub-block's positions.
 */
static void
skx_cursor_positions_start(SkxCursorList *l)
{
	SkxCursorPositions *r = &l->positions;

	if (l->form == SKX_CURSOR_LONG)
	{
		skx_skiplist_positions(&l->nodes, &r->subblock_start);
		r->subblock_start.page += l->term.pos_page;
		skx_skiplist_unpin_if_crowded(&l->nodes);
	}
	else
	{
		r->subblock_start.page = l->term.pos_page;
		r->subblock_start.offset = l->term.pos_offset;
		r->subblock_start.index = 0;
	}
	r->ntf_sums = 0;
	r->start_is_set = true;
}

/*
 * Returns the bytes of the next block, which is on the current page, or else
 * the first one of the next page.  Sets *end to the end of the page's content.
 */
static const uint8 *
skx_cursor_positions_next_block(SkxCursorList *l, const uint8 **end)
{
	SkxCursorPositions *r = &l->positions;
	const char *page = skx_segment_pin(l->seg, SKX_SEGMENT_POSITIONS,
									   r->page, &r->page_ref);
	uint16		lower = ((const PageHeaderData *) page)->pd_lower;

	skx_cursor_prefetch_positions_after(l, r->page);
	if (r->offset >= lower)
	{
		r->page++;
		r->offset = SKX_PAGE_START;
		page = skx_segment_pin(l->seg, SKX_SEGMENT_POSITIONS, r->page,
							   &r->page_ref);
		lower = ((const PageHeaderData *) page)->pd_lower;
	}
	if (lower > SKX_PAGE_END || r->offset < SKX_PAGE_START ||
		r->offset >= lower)
		skx_cursor_positions_damaged(l);
	*end = (const uint8 *) page + lower;
	return (const uint8 *) page + r->offset;
}

/*
 * Decodes the block that has position number `want`, counted from the start of
 * the block where reading began.  The position must be after the block that is
 * decoded.
 */
static pg_noinline void
skx_cursor_positions_decode_block(SkxCursorList *l, uint32 want)
{
	SkxCursorPositions *r = &l->positions;

	do
	{
		const uint8 *end;
		const uint8 *src = skx_cursor_positions_next_block(l, &end);
		const uint8 *after;
		uint32		left;

		r->positions_before += r->n;
		r->n = 0;
		left = want - r->positions_before;
		after = skx_codec_positions_skip(src, end, &left);
		r->positions_before = want - left;
		if (after != NULL && after < end)
		{
			after = skx_codec_positions_get(after, end, r->deltas, &r->n);
			skx_cursor_work.positions++;
		}
		if (after == NULL)
			skx_cursor_positions_damaged(l);
		r->offset += after - src;
	} while (want >= r->positions_before + r->n);
	if (skx_blkio_has_many_pins(l->seg->file))
		skx_blkio_unpin(l->seg->file, &r->page_ref);
}

/* Positions that are computed from their deltas at once. */
#define SKX_POSITION_LANES	8

/*
 * Computes SKX_POSITION_LANES positions from their deltas, of which the first
 * is the first of a document.  Most documents have fewer positions, and the
 * results after these are meaningless.  A loop to the last position would end
 * after an unpredictable number of steps.
 */
static inline void
skx_cursor_positions_from_deltas(const uint32 *deltas, uint16 *positions)
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

	for (k = 0; k < SKX_POSITION_LANES; k++)
	{
		position = (position + deltas[k]) & SKX_POSITION_MASK;
		positions[k] = (uint16) ((deltas[k] >> 30) << 14 | position);
	}
#endif
}

/* Reads positions that are in the positions plane, and returns how many. */
static int
skx_cursor_positions_in_plane(SkxCursorList *l, const SkxPositionsRef *place,
							  uint16 *positions)
{
	SkxCursorPositions *r = &l->positions;
	uint32		want = place->first_position;
	uint32		end = place->first_position + place->tf;
	uint32		position = 0;

	if (place->page != r->from_page || place->offset != r->from_offset ||
		want < r->positions_before)
	{
		r->page = r->from_page = place->page;
		r->offset = r->from_offset = place->offset;
		r->positions_before = 0;
		r->n = 0;
		if (r->deltas == NULL)
			r->deltas = palloc0(sizeof(uint32) *
								(SKX_SUBBLOCK + SKX_POSITION_LANES));
	}
	if (end <= r->positions_before + r->n && place->tf <= SKX_POSITION_LANES)
	{
		skx_cursor_positions_from_deltas(r->deltas + (want -
													  r->positions_before),
										 positions);
		return place->tf;
	}
	while (want < end)
	{
		const uint32 *deltas;
		uint32		in_block;
		uint32		k;

		if (want >= r->positions_before + r->n)
			skx_cursor_positions_decode_block(l, want);
		if (want == r->positions_before)
			position = 0;		/* the first delta of a block begins at 0 */
		deltas = r->deltas + (want - r->positions_before);
		in_block = Min(end, r->positions_before + r->n) - want;
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
skx_cursor_positions_in_list(SkxCursorList *l, int which, uint16 *positions)
{
	SkxCursorPositions *r = &l->positions;
	int			skip = 0;

	if (which < r->own_posting)
	{
		r->own_posting = 0;
		r->own_next = r->own_bytes;
	}
	for (; r->own_posting < which; r->own_posting++)
		skip += l->postings.tf[r->own_posting];
	if (skip > 0)
		r->own_next = skx_codec_short_positions_skip(r->own_next, r->own_end,
													 skip);
	if (r->own_next == NULL ||
		skx_codec_short_positions_get(r->own_next, r->own_end, &l->postings,
									  which, positions, NULL) == NULL)
		skx_segment_damaged(l->seg, SKX_SEGMENT_DICT,
							l->seg->header.dict_root,
							"positions of a short list do not decode");
	return l->postings.tf[which];
}

/* Frequencies that are summed at once. */
#define SKX_TF_SUM_LANES		8

/*
 * Computes r->tf_sums up to posting i: for each posting, the sum of the
 * frequencies before it.  Computes SKX_TF_SUM_LANES sums at a time, so that
 * some after the last posting are meaningless.
 */
static void
skx_cursor_positions_sum_tfs(SkxCursorPositions *r, const uint16 *tfs, int i)
{
	int			at = r->ntf_sums;
	uint32		sum = at > 0 ? r->tf_sums[at - 1] + tfs[at - 1] : 0;

#ifdef __SSE2__
	__m128i		before = _mm_set1_epi16((int16) sum);

	for (; at <= i; at += SKX_TF_SUM_LANES)
	{
		__m128i		own = _mm_loadu_si128((const __m128i *) (tfs + at));
		__m128i		sums = _mm_add_epi16(own, _mm_slli_si128(own, 2));

		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 4));
		sums = _mm_add_epi16(sums, _mm_slli_si128(sums, 8));
		sums = _mm_add_epi16(sums, before);
		_mm_storeu_si128((__m128i *) (r->tf_sums + at),
						 _mm_sub_epi16(sums, own));
		before = _mm_shuffle_epi32(_mm_shufflehi_epi16(sums, 0xFF), 0xFF);
	}
#else
	for (; at <= i || at % SKX_TF_SUM_LANES != 0; at++)
	{
		r->tf_sums[at] = sum;
		sum += tfs[at];
	}
#endif
	r->ntf_sums = at;
}

/* Returns true if the list stores its own positions. */
static inline bool
skx_cursor_positions_are_own(const SkxCursorList *l)
{
	return (l->term.flags & SKX_TERM_OWN_POSITIONS) != 0;
}

/*
 * Sets *place to the address of posting i of a list whose positions are in
 * the positions plane.
 */
static pg_attribute_always_inline void
skx_cursor_positions_plane_ref(SkxCursorList *l, int i, const uint16 *tfs,
							   SkxPositionsRef *place)
{
	SkxCursorPositions *r = &l->positions;

	if (!r->start_is_set)
		skx_cursor_positions_start(l);
	if (r->ntf_sums <= i)
		skx_cursor_positions_sum_tfs(r, tfs, i);
	place->page = r->subblock_start.page;
	place->offset = r->subblock_start.offset;
	place->first_position = r->subblock_start.index + r->tf_sums[i];
}

static pg_attribute_always_inline void
skx_cursor_positions_posting(SkxCursor *c, int i, SkxPositionsRef *place)
{
	SkxCursorList *l = skx_cursor_list(c);
	const uint16 *tfs = skx_cursor_tfs(c);

	place->tf = tfs[i];
	place->first_position = i;
	if (place->tf > 0 && !skx_cursor_positions_are_own(l))
		skx_cursor_positions_plane_ref(l, i, tfs, place);
}

void
skx_cursor_positions_ref(SkxCursor *c, int i, SkxPositionsRef *place)
{
	skx_cursor_positions_posting(c, i, place);
}

/*
 * Copies the current sub-block into l->bits, if the list is long and the
 * sub-block is stored as a bitset and was not decoded; otherwise returns
 * false.  If the result is true, frequencies can be decoded.
 */
static bool
skx_cursor_copy_bits(SkxCursorList *l)
{
	SkxSkiplistCursor *s = &l->nodes;
	const uint8 *part;

	if (l->has_bits || l->bits_unavailable)
		return l->has_bits;
	l->bits_unavailable = true;
	if (l->head.docs != NULL || l->form != SKX_CURSOR_LONG)
		return false;
	skx_skiplist_pin(s);
	part = skx_codec_subblock_bits(s->body, s->end, s->n, s->base_doc,
								   &l->bits);
	if (part == NULL)
		return false;
	l->bits_unavailable = false;
	l->has_bits = true;
	skx_cursor_read_docs(l, part);
	skx_cursor_work.window_fills++;
	skx_skiplist_unpin_if_crowded(s);
	return true;
}

/*
 * Makes a document's posting in the current sub-block the current one.
 * Returns false if there is none.
 */
static inline bool
skx_cursor_move_to_document(SkxCursor *c, uint32 doc)
{
	SkxCursorList *l = skx_cursor_list(c);
	int			i;

	if (c->docs != NULL || !skx_cursor_copy_bits(l))
	{
		i = skx_cursor_find(c, doc);
		return c->docs[i] == doc;
	}
	i = skx_codec_subblock_rank(&l->bits, doc - (l->last_before + 1));
	c->i = Max(i, 0);
	return i >= 0;
}

bool
skx_cursor_locate(SkxCursor *c, uint32 doc, SkxPositionsRef *place)
{
	if (!skx_cursor_advance(c, doc) || !skx_cursor_move_to_document(c, doc))
		return false;
	skx_cursor_positions_posting(c, c->i, place);
	return true;
}

int
skx_cursor_positions_at(SkxCursor *c, const SkxPositionsRef *place,
						uint16 *positions)
{
	SkxCursorList *l = skx_cursor_list(c);

	if (place->tf == 0)
		return 0;
	if (skx_cursor_positions_are_own(l))
		return skx_cursor_positions_in_list(l, place->first_position,
											positions);
	return skx_cursor_positions_in_plane(l, place, positions);
}

int
skx_cursor_positions(SkxCursor *c, int i, uint16 *positions)
{
	SkxPositionsRef place;

	skx_cursor_positions_ref(c, i, &place);
	return skx_cursor_positions_at(c, &place, positions);
}
