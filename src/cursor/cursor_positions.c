/*
 * cursor_positions.c
 *	  Positions of the posting that a cursor stands on.
 *
 * A sub-block of a long list says in which position block its positions
 * start; those of posting i come after the frequencies of the postings before
 * it.  Blocks in between are stepped over undecoded, and the block decoded
 * last is kept for the next posting.  A list is its own sub-block when it is
 * short, and starts at the address in the dictionary.
 *
 * Where positions are (SkxPositionPlace) takes no page of them to know, so
 * that those of many documents can be asked for at once.
 */
#include "postgres.h"

#include "cursor/cursor_internal.h"
#include "format/format_page.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The position in a WordEntryPos; deltas are summed modulo this. */
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

/*
 * Goes to where the positions of the current sub-block start.
 */
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
	r->i = 0;
	r->first = r->start.index;
	r->ready = true;
}

/*
 * Finds the bytes of the next block: on this page, or first on the next one.
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
 * Makes the decoded block the one that holds position `want` (counted from
 * the block that was read from), which is none of the one before.
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
		int			n = skx_codec_positions_count(src, end);

		r->before += r->n;
		r->n = 0;
		if (n == 0)
			skx_cursor_places_damaged(l);
		if (want < r->before + n)
		{
			after = skx_codec_positions_get(src, end, r->deltas, &n);
			skx_cursor_work.positions++;
		}
		else
			after = skx_codec_positions_skip(src, end, &n);
		if (after == NULL)
			skx_cursor_places_damaged(l);
		r->n = n;
		r->offset += after - src;
	} while (want >= r->before + r->n);
	if (skx_blkio_crowded(l->seg->file))
		skx_blkio_unpin(l->seg->file, &r->ref);
}

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
			r->deltas = palloc(sizeof(uint32) * SKX_SUBBLOCK);
	}
	while (want < end)
	{
		const uint32 *deltas;
		uint32		in_block;
		uint32		k;

		if (want >= r->before + r->n)
			skx_cursor_places_block(l, want);
		if (want == r->before)
			position = 0;		/* a block needs no other */
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
 * Positions that a short list carries itself.  Postings come in order, but for
 * a list that is two links of one phrase, or one that is moved backward.
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

/*
 * Positions of postings i, ..., to - 1 (some of n), until one of them has a
 * document >= doc; *i is where that is.
 */
static inline uint32
skx_cursor_positions_before(const uint32 *docs, const uint16 *tfs, int *i,
							int to, uint32 doc)
{
	uint32		sum = 0;

#ifdef __SSE2__
	/* eight at once; documents and frequencies are not negative if signed */
	const __m128i wanted = _mm_set1_epi32((int32) doc);
	const __m128i ones = _mm_set1_epi16(1);
	__m128i		sums = _mm_setzero_si128();
	int			mask = 0xFFFF;
	int			at = *i;

	while (at + 8 <= to)
	{
		__m128i		tf = _mm_loadu_si128((const __m128i *) (tfs + at));
		__m128i		low = _mm_loadu_si128((const __m128i *) (docs + at));
		__m128i		high = _mm_loadu_si128((const __m128i *) (docs + at + 4));
		__m128i		before = _mm_packs_epi32(_mm_cmpgt_epi32(wanted, low),
											 _mm_cmpgt_epi32(wanted, high));

		tf = _mm_and_si128(tf, before);
		sums = _mm_add_epi32(sums, _mm_madd_epi16(tf, ones));
		mask = _mm_movemask_epi8(before);
		if (mask != 0xFFFF)
			break;
		at += 8;
	}
	*i = at;
	sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(1, 0, 3, 2)));
	sums = _mm_add_epi32(sums, _mm_shuffle_epi32(sums, _MM_SHUFFLE(2, 3, 0, 1)));
	sum = _mm_cvtsi128_si32(sums);
	if (mask != 0xFFFF)
	{
		*i += __builtin_ctz(~mask) / 2;
		return sum;
	}
#endif
	for (; *i < to && docs[*i] < doc; (*i)++)
		sum += tfs[*i];
	return sum;
}

/* Has the list no other place for positions than where the list itself is? */
static inline bool
skx_cursor_places_are_own(const SkxCursorList *l)
{
	return (l->term.flags & SKX_TERM_OWN_POSITIONS) != 0;
}

static inline void
skx_cursor_place_far(SkxCursorPlaces *r, SkxPositionPlace *place)
{
	place->page = r->start.page;
	place->offset = r->start.offset;
	place->first = r->first;
}

void
skx_cursor_place(SkxCursor *c, int i, SkxPositionPlace *place)
{
	SkxCursorList *l = skx_cursor_list(c);
	SkxCursorPlaces *r = &l->places;
	const uint16 *tfs = skx_cursor_tfs(c);

	place->tf = tfs[i];
	place->first = i;
	if (place->tf == 0 || skx_cursor_places_are_own(l))
		return;
	if (!r->ready || i < r->i)
		skx_cursor_places_start(l);
	r->first += skx_cursor_positions_before(c->docs, tfs, &r->i, i, SKX_DOC_MAX);
	skx_cursor_place_far(r, place);
}

bool
skx_cursor_locate(SkxCursor *c, uint32 doc, SkxPositionPlace *place)
{
	SkxCursorList *l = skx_cursor_list(c);
	SkxCursorPlaces *r = &l->places;
	const uint16 *tfs;

	if (!skx_cursor_reach(c, doc))
		return false;
	if (skx_cursor_places_are_own(l))
	{
		if (c->docs[skx_cursor_find(c, doc)] != doc)
			return false;
		skx_cursor_place(c, c->i, place);
		return true;
	}

	/* one pass finds it, and counts the positions before */
	if (c->docs == NULL)
		skx_cursor_decode(c);
	tfs = skx_cursor_tfs(c);
	if (!r->ready || c->docs[r->i] > doc)
		skx_cursor_places_start(l);
	r->first += skx_cursor_positions_before(c->docs, tfs, &r->i, c->n, doc);
	c->i = r->i;
	if (c->docs[c->i] != doc)
		return false;
	place->tf = tfs[c->i];
	skx_cursor_place_far(r, place);
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
skx_cursor_positions(SkxCursor *c, uint16 *positions)
{
	SkxPositionPlace place;

	skx_cursor_place(c, c->i, &place);
	return skx_cursor_positions_at(c, &place, positions);
}
