/*
 * segment_positions_reader.c
 *	  Positions of the posting that a list stands on.
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

#include "format/format_dict.h"
#include "format/format_page.h"
#include "segment/segment.h"

/* The position in a WordEntryPos; deltas are summed modulo this. */
#define SKX_POSITION_MASK	0x3FFF

/*
 * Bytes that positions take on average, in halves: to guess whether they
 * begin on the page where their sub-block's do or on the next one.
 */
#define SKX_POSITION_HALVES	3

/* Pages asked for at a time: of one list, then of the next one's. */
#define SKX_POSITIONS_ASKED	8

static void
skx_segment_positions_damaged(SkxList *list)
{
	skx_segment_damaged(list->seg, SKX_SEGMENT_POSITIONS, list->pos_page,
						"position block does not decode");
}

/*
 * Goes to where the positions of the current sub-block start.
 */
static void
skx_segment_positions_start(SkxList *list)
{
	if (list->is_long)
	{
		skx_skiplist_positions(&list->cursor, &list->pos_place);
		list->pos_place.page += list->term.pos_page;
		skx_skiplist_relax(&list->cursor);
	}
	else
	{
		list->pos_place.page = list->term.pos_page;
		list->pos_place.offset = list->term.pos_offset;
		list->pos_place.index = 0;
	}
	list->pos_i = 0;
	list->pos_first = list->pos_place.index;
	list->pos_ready = true;
}

/*
 * Finds the bytes of the next block: on this page, or first on the next one.
 */
static const uint8 *
skx_segment_positions_next(SkxList *list, const uint8 **end)
{
	const char *page = skx_segment_pin(list->seg, SKX_SEGMENT_POSITIONS,
									   list->pos_page, &list->pos_ref);
	uint16		lower = ((const PageHeaderData *) page)->pd_lower;

	if (list->keep)
		skx_segment_ask_next(list->seg, SKX_SEGMENT_POSITIONS, list->pos_page,
							 list->seg->planes[SKX_SEGMENT_POSITIONS].npages,
							 &list->pos_ahead);
	if (list->pos_offset >= lower)
	{
		list->pos_page++;
		list->pos_offset = SKX_PAGE_START;
		page = skx_segment_pin(list->seg, SKX_SEGMENT_POSITIONS,
							   list->pos_page, &list->pos_ref);
		lower = ((const PageHeaderData *) page)->pd_lower;
	}
	if (lower > SKX_PAGE_END || list->pos_offset < SKX_PAGE_START ||
		list->pos_offset >= lower)
		skx_segment_positions_damaged(list);
	*end = (const uint8 *) page + lower;
	return (const uint8 *) page + list->pos_offset;
}

/*
 * Makes the decoded block the one that holds position `want` (counted from
 * the block that was read from).
 */
static void
skx_segment_positions_block(SkxList *list, uint32 want)
{
	while (want >= list->pos_start + list->pos_n)
	{
		const uint8 *end;
		const uint8 *src = skx_segment_positions_next(list, &end);
		const uint8 *after;
		int			n = 0;

		list->pos_start += list->pos_n;
		list->pos_n = 0;
		after = skx_codec_positions_skip(src, end, &n);
		if (after == NULL || n <= 0)
			skx_segment_positions_damaged(list);
		if (want < list->pos_start + n)
		{
			if (skx_codec_positions_get(src, end, list->pos_deltas,
										&n) == NULL)
				skx_segment_positions_damaged(list);
			skx_skiplist_work.positions++;
		}
		list->pos_n = n;
		list->pos_offset += after - src;
	}
}

static int
skx_segment_positions_far(SkxList *list, const SkxPositionPlace *place,
						  uint16 *positions)
{
	uint32		want = place->first;
	uint32		position = 0;
	bool		moved = false;
	int			k;

	if (place->page != list->pos_from_page ||
		place->offset != list->pos_from_offset || want < list->pos_start)
	{
		list->pos_page = list->pos_from_page = place->page;
		list->pos_offset = list->pos_from_offset = place->offset;
		list->pos_start = 0;
		list->pos_n = 0;
		if (list->pos_deltas == NULL)
			list->pos_deltas = palloc(sizeof(uint32) * SKX_SUBBLOCK);
	}
	for (k = 0; k < place->tf; k++, want++)
	{
		uint32		delta;

		if (want >= list->pos_start + list->pos_n)
		{
			skx_segment_positions_block(list, want);
			moved = true;
		}
		if (want == list->pos_start)
			position = 0;		/* a block needs no other */
		delta = list->pos_deltas[want - list->pos_start];
		position = (position + delta) & SKX_POSITION_MASK;
		positions[k] = (uint16) ((delta >> 30) << 14 | position);
	}
	if (moved && skx_blkio_crowded(list->seg->file))
		skx_blkio_unpin(list->seg->file, &list->pos_ref);
	return place->tf;
}

/*
 * Positions that a short list carries itself.  Postings come in order, but for
 * a list that is two links of one phrase.
 */
static int
skx_segment_positions_own(SkxList *list, int which, uint16 *positions)
{
	int			skip = 0;

	if (which < list->own_i)
	{
		list->own_i = 0;
		list->own_src = list->own;
	}
	for (; list->own_i < which; list->own_i++)
		skip += list->p.tf[list->own_i];
	if (skip > 0)
		list->own_src = skx_codec_short_positions_skip(list->own_src,
													   list->own_end, skip);
	if (list->own_src == NULL ||
		skx_codec_short_positions_get(list->own_src, list->own_end, &list->p,
									  which, positions, NULL) == NULL)
		skx_segment_damaged(list->seg, SKX_SEGMENT_DICT,
							list->seg->header.dict_root,
							"positions of a short list do not decode");
	return list->p.tf[which];
}

void
skx_segment_list_place(SkxList *list, SkxPositionPlace *place)
{
	skx_segment_list_tfs(list);
	place->tf = list->p.tf[list->i];
	if (place->tf == 0)
		return;
	if (list->term.flags & SKX_TERM_OWN_POSITIONS)
	{
		place->first = list->i;
		return;
	}
	if (!list->pos_ready)
		skx_segment_positions_start(list);
	for (; list->pos_i < list->i; list->pos_i++)
		list->pos_first += list->p.tf[list->pos_i];
	place->page = list->pos_place.page;
	place->offset = list->pos_place.offset;
	place->first = list->pos_first;
}

int
skx_segment_list_positions_at(SkxList *list, const SkxPositionPlace *place,
							  uint16 *positions)
{
	if (place->tf == 0)
		return 0;
	if (list->term.flags & SKX_TERM_OWN_POSITIONS)
		return skx_segment_positions_own(list, place->first, positions);
	return skx_segment_positions_far(list, place, positions);
}

int
skx_segment_list_positions(SkxList *list, uint16 *positions)
{
	SkxPositionPlace place;

	skx_segment_list_place(list, &place);
	return skx_segment_list_positions_at(list, &place, positions);
}

/*
 * The page where the positions of a place are, as far as can be guessed.
 */
static uint32
skx_segment_positions_guess(const SkxPositionPlace *place)
{
	uint32		bytes = place->offset - SKX_PAGE_START +
		place->first * SKX_POSITION_HALVES / 2;

	return place->page + Min(bytes / SKX_PAGE_CAPACITY,
							 SKX_POSITIONS_ASKED - 1);
}

/*
 * About the last page of the list's positions: the part of them that lies
 * behind is that of the list itself.  Its last node is taken for half full.
 */
static uint32
skx_segment_positions_last(const SkxList *list)
{
	const SkxSkiplistCursor *c = &list->cursor;
	uint32		start = list->term.list.page;
	uint32		at;
	uint32		end;
	uint32		unit;

	/* Of a short list the cursor is none. */
	if (!list->is_long || !list->pos_ready)
		return list->pos_last;
	unit = c->plane->unit;
	at = c->node_page + c->portion;
	end = c->node_page + c->node_npages;
	if (!c->is_last)
		end = (start / unit + c->list.nnodes - 1) * unit + (unit + 1) / 2;
	return list->term.pos_page +
		(uint64) (list->pos_place.page - list->term.pos_page + 1) *
		Max(end - start, 1) / (at - start + 1);
}

/*
 * Of a list whose places have gone on to the next page, and not skipped any,
 * further pages are asked for, more each time.
 */
int
skx_segment_ask_positions(SkxList *list, const SkxPositionPlace *places,
						  int i, int n)
{
	SkxSegment *seg = list->seg;
	const SkxBlkPlane *plane = &seg->planes[SKX_SEGMENT_POSITIONS];
	uint32		pages[2 * SKX_POSITIONS_ASKED + SKX_AHEAD_MAX];
	uint32		next = list->pos_asked;
	uint32		last = list->pos_last;
	bool		skipped = false;
	int			npages = 0;

	if (list->term.flags & SKX_TERM_OWN_POSITIONS)
		return n;
	for (; i < n && npages < SKX_POSITIONS_ASKED; i++)
	{
		if (places[i].tf == 0)
			continue;
		skipped |= places[i].page > next;
		next = Max(next, places[i].page);
		last = skx_segment_positions_guess(&places[i]);
		while (next <= last)
			pages[npages++] = next++;
	}
	if (skipped)
		list->pos_window = 0;
	else if (last > list->pos_last)
		list->pos_window = Min(Max(list->pos_window * 2, 1), seg->ahead);
	list->pos_last = last;
	if ((last + 1 + list->pos_window - next) * 2 >= list->pos_window)
	{
		last = Min(last + list->pos_window,
				   Max(last, skx_segment_positions_last(list)));
		last = Min(last, plane->npages - 1);
		while (next <= last)
			pages[npages++] = next++;
	}
	list->pos_asked = next;
	skx_skiplist_ask(seg->file, plane, pages, npages);
	return i;
}
