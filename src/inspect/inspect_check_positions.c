/*
 * inspect_check_positions.c
 *	  Reads the positions plane, block after block.
 *
 * The plane has the positions of all lists in the order of their terms.  So
 * one walk over the dictionary reads every block exactly once.  A block that
 * does not begin where the last one ended, or that belongs to no list, is
 * damage.
 */
#include "postgres.h"

#include "inspect/inspect_internal.h"

/* Mask of the position in a WordEntryPos, and in a sum of deltas. */
#define SKX_POSITION_MASK	0x3FFF

void
skx_inspect_positions_init(SkxCheckPositions *pos, SkxCheckSegment *cs)
{
	memset(pos, 0, sizeof(*pos));
	skx_inspect_reader_init(&pos->reader, cs->check, cs->seg,
							SKX_SEGMENT_POSITIONS);
	pos->next_offset = SKX_PAGE_START;
}

/* Moves to the next page if the current one has no more blocks. */
static void
skx_inspect_positions_next_page(SkxCheckPositions *pos)
{
	SkxCheckReader *r = &pos->reader;

	if (pos->next_page >= r->seg->planes[SKX_SEGMENT_POSITIONS].npages)
		return;
	skx_inspect_reader_page(r, pos->next_page);
	if (pos->next_offset >= r->lower)
	{
		pos->next_page++;
		pos->next_offset = SKX_PAGE_START;
	}
}

void
skx_inspect_positions_at(SkxCheckPositions *pos, SkxPositionAddress *address)
{
	if (pos->i < pos->n)
	{
		*address = pos->block;
		address->index = (uint8) pos->i;
		return;
	}
	skx_inspect_positions_next_page(pos);
	address->page = pos->next_page;
	address->offset = (uint16) pos->next_offset;
	address->index = 0;
}

/* Decodes the next block. */
static void
skx_inspect_positions_block(SkxCheckPositions *pos)
{
	SkxCheckReader *r = &pos->reader;
	const char *page;
	const uint8 *src;
	const uint8 *end;

	skx_inspect_positions_next_page(pos);
	page = skx_inspect_reader_page(r, pos->next_page);
	src = (const uint8 *) page + pos->next_offset;
	end = (const uint8 *) page + r->lower;
	pos->n = pos->i = 0;
	src = src < end ? skx_codec_positions_get(src, end, pos->deltas,
											  &pos->n) : NULL;
	if (src == NULL || pos->n < 1 || pos->n > SKX_SUBBLOCK)
		skx_inspect_damaged(r, "the position block at %u does not decode",
							pos->next_offset);
	pos->block.page = pos->next_page;
	pos->block.offset = (uint16) pos->next_offset;
	pos->next_offset = (const char *) src - page;
}

void
skx_inspect_positions_read(SkxCheckPositions *pos, int n, uint16 *positions)
{
	uint32		position = 0;
	int			previous = -1;
	int			k;

	for (k = 0; k < n; k++)
	{
		uint32		delta;

		if (pos->i == pos->n)
			skx_inspect_positions_block(pos);
		if (pos->i == 0)
			position = 0;		/* the first delta of a block begins at 0 */
		delta = pos->deltas[pos->i++];
		position = (position + delta) & SKX_POSITION_MASK;
		if ((int) position <= previous)
			skx_inspect_damaged(&pos->reader,
								"the position block at %u has positions that do not ascend",
								pos->block.offset);
		previous = position;
		positions[k] = (uint16) ((delta >> 30) << 14 | position);
	}
}

void
skx_inspect_positions_list_end(SkxCheckPositions *pos)
{
	if (pos->i < pos->n)
		skx_inspect_damaged(&pos->reader,
							"the position block at %u has more than its list",
							pos->block.offset);
}

void
skx_inspect_positions_end(SkxCheckPositions *pos)
{
	uint32		npages = pos->reader.seg->planes[SKX_SEGMENT_POSITIONS].npages;

	skx_inspect_positions_next_page(pos);
	if (pos->next_page < npages)
		skx_inspect_damaged(&pos->reader,
							"positions from page %u, offset %u on belong to no list",
							pos->next_page, pos->next_offset);
}
