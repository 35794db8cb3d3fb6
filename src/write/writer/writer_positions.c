/*
 * writer_positions.c
 *	  Fills the positions plane: blocks of 128 positions, list after list.
 *
 * A block has an address only when it is full and encoded, because only then
 * it is known whether it fits on the page.  A caller that needs the address of
 * a position earlier leaves a mark, which is filled in when the block is
 * placed.
 */
#include "postgres.h"

#include "support/bitset/bitset.h"
#include "write/writer/writer.h"

struct SkxPositionsWriter
{
	SkxPageSink sink;
	void	   *arg;
	char	   *page;
	uint32		ordinal;		/* of `page` */
	uint32		used;			/* page offset where its content ends */
	int			n;				/* positions in the block being filled */
	uint16		positions[SKX_SUBBLOCK];
	uint64		document_starts[2];
	SkxPositionAddress *waiting_addresses[4];	/* marks that wait for the
												 * block's address */
	int			nwaiting;
};

SkxPositionsWriter *
skx_writer_positions_begin(SkxPageSink sink, void *arg)
{
	SkxPositionsWriter *w = palloc0(sizeof(SkxPositionsWriter));

	w->sink = sink;
	w->arg = arg;
	w->page = palloc0(BLCKSZ);
	w->used = SKX_PAGE_START;
	return w;
}

uint32
skx_writer_positions_page(const SkxPositionsWriter *w)
{
	return w->ordinal;
}

static void
skx_writer_positions_page_end(SkxPositionsWriter *w)
{
	w->sink(w->arg, w->ordinal, w->page, w->used - SKX_PAGE_START);
	w->ordinal++;
	w->used = SKX_PAGE_START;
}

void
skx_writer_positions_next_address(SkxPositionsWriter *w,
								  SkxPositionAddress *mark)
{
	Assert(w->nwaiting < lengthof(w->waiting_addresses));
	mark->index = (uint8) w->n;
	w->waiting_addresses[w->nwaiting++] = mark;
}

void
skx_writer_positions_end_block(SkxPositionsWriter *w)
{
	uint8		block[SKX_POSBLOCK_MAX];
	uint32		size;
	int			i;

	if (w->n == 0)
		return;
	size = skx_codec_positions_put(block, w->positions, w->n,
								   w->document_starts) -
		block;
	if (w->used + size > SKX_PAGE_END)
		skx_writer_positions_page_end(w);
	for (i = 0; i < w->nwaiting; i++)
	{
		w->waiting_addresses[i]->page = w->ordinal;
		w->waiting_addresses[i]->offset = (uint16) w->used;
	}
	w->nwaiting = 0;
	memcpy(w->page + w->used, block, size);
	w->used += size;
	w->n = 0;
	w->document_starts[0] = 0;
	w->document_starts[1] = 0;
}

void
skx_writer_positions_add(SkxPositionsWriter *w, const uint16 *positions,
						 int n)
{
	int			i;

	if (n > 0)
		skx_bitset_set(w->document_starts, w->n);
	for (i = 0; i < n; i++)
	{
		w->positions[w->n++] = positions[i];
		if (w->n == SKX_SUBBLOCK)
			skx_writer_positions_end_block(w);
	}
}

uint32
skx_writer_positions_end(SkxPositionsWriter *w)
{
	Assert(w->n == 0);
	if (w->used > SKX_PAGE_START)
		skx_writer_positions_page_end(w);
	return w->ordinal;
}
