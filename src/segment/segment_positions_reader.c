/*
 * segment_positions_reader.c
 *	  Positions of the posting that a list stands on.
 *
 * A sub-block of a long list says in which position block its positions
 * start; those of posting i come after the frequencies of the postings before
 * it.  Blocks in between are stepped over undecoded, and the block decoded
 * last is kept for the next posting.  A list is its own sub-block when it is
 * short, and starts at the address in the dictionary.
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "format/format_page.h"
#include "segment/segment.h"

/* The position in a WordEntryPos; deltas are summed modulo this. */
#define SKX_POSITION_MASK	0x3FFF

/* Pages that a reader of all lists asks for at once. */
#define SKX_POSITIONS_AHEAD	16

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
		SkxPositionAddress address;

		skx_skiplist_positions(&list->cursor, &address);
		list->pos_page = address.page;
		list->pos_offset = address.offset;
		list->pos_index = address.index;
		skx_skiplist_relax(&list->cursor);
	}
	else
	{
		list->pos_page = list->term.pos_page;
		list->pos_offset = list->term.pos_offset;
		list->pos_index = 0;
	}
	list->pos_start = 0;
	list->pos_n = 0;
	list->pos_i = 0;
	list->pos_first = 0;
	list->pos_ready = true;
	if (list->pos_deltas == NULL)
		list->pos_deltas = palloc(sizeof(uint32) * SKX_SUBBLOCK);
}

/*
 * Asks for pages that will be wanted when all lists are read in turn.
 */
static void
skx_segment_positions_ahead(SkxList *list)
{
	uint32		npages = list->seg->planes[SKX_SEGMENT_POSITIONS].npages;
	uint32		pages[2 * SKX_POSITIONS_AHEAD];
	uint32		next = Max(list->pos_ahead, list->pos_page + 1);
	uint32		end = Min(list->pos_page + 2 * SKX_POSITIONS_AHEAD, npages);
	int			n = 0;

	while (next < end)
		pages[n++] = next++;
	list->pos_ahead = next;
	skx_blkio_prefetch(list->seg->file,
					   &list->seg->planes[SKX_SEGMENT_POSITIONS], pages, n);
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

	if (list->keep && list->pos_page + SKX_POSITIONS_AHEAD >= list->pos_ahead &&
		list->pos_ahead < list->seg->planes[SKX_SEGMENT_POSITIONS].npages)
		skx_segment_positions_ahead(list);

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
 * the start of the sub-block's first position block).
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
skx_segment_positions_far(SkxList *list, uint16 *positions)
{
	uint32		want;
	uint32		position = 0;
	int			tf;
	int			k;

	if (!list->pos_ready)
		skx_segment_positions_start(list);
	for (; list->pos_i < list->i; list->pos_i++)
		list->pos_first += list->p.tf[list->pos_i];
	tf = list->p.tf[list->i];
	want = list->pos_index + list->pos_first;
	for (k = 0; k < tf; k++, want++)
	{
		uint32		delta;

		skx_segment_positions_block(list, want);
		if (want == list->pos_start)
			position = 0;		/* a block needs no other */
		delta = list->pos_deltas[want - list->pos_start];
		position = (position + delta) & SKX_POSITION_MASK;
		positions[k] = (uint16) ((delta >> 30) << 14 | position);
	}
	if (skx_blkio_crowded(list->seg->file))
		skx_blkio_unpin(list->seg->file, &list->pos_ref);
	return tf;
}

/*
 * Positions that a short list carries itself.
 */
static int
skx_segment_positions_own(SkxList *list, uint16 *positions)
{
	int			skip = 0;

	for (; list->own_i < list->i; list->own_i++)
		skip += list->p.tf[list->own_i];
	if (skip > 0)
		list->own_src = skx_codec_short_positions_skip(list->own_src,
													   list->own_end, skip);
	if (list->own_src == NULL ||
		skx_codec_short_positions_get(list->own_src, list->own_end, &list->p,
									  list->i, positions, NULL) == NULL)
		skx_segment_damaged(list->seg, SKX_SEGMENT_DICT,
							list->seg->header.dict_root,
							"positions of a short list do not decode");
	return list->p.tf[list->i];
}

int
skx_segment_list_positions(SkxList *list, uint16 *positions)
{
	skx_segment_list_tfs(list);
	if (list->p.tf[list->i] == 0)
		return 0;
	if (list->term.flags & SKX_TERM_OWN_POSITIONS)
		return skx_segment_positions_own(list, positions);
	return skx_segment_positions_far(list, positions);
}
