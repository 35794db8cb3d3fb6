/*
 * scroll_token.c
 *	  Where a scroll goes on, as bytes that the user keeps.
 *
 * A token that was made up can do no more than one that was given: go on behind
 * some place.
 */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "scroll/scroll.h"

#define SKX_SCROLL_MAGIC		0x53584B53	/* "SKXS" */
#define SKX_SCROLL_VERSION		2

StaticAssertDecl(sizeof(SkxScrollToken) == 72, "scroll token size");

static uint32
skx_scroll_token_crc(const SkxScrollToken *token)
{
	return skx_token_crc(token, offsetof(SkxScrollToken, crc), 0);
}

void
skx_scroll_token_begin(SkxScrollToken *token, Relation heap, Relation index,
					   TSQuery query, const SkxScrollSlice *slice)
{
	memset(token, 0, sizeof(*token));
	skx_token_begin(&token->origin, SKX_SCROLL_MAGIC, SKX_SCROLL_VERSION, heap,
					index, skx_token_hash(query, 0));
	token->slice = slice->slice;
	token->slices = slice->slices;
}

bytea *
skx_scroll_token_make(SkxScrollToken *token, const ItemPointerData *place)
{
	bytea	   *made = palloc(VARHDRSZ + sizeof(*token));

	token->block = pg_hton32(ItemPointerGetBlockNumber(place));
	token->offset = pg_hton32(ItemPointerGetOffsetNumber(place));
	token->crc = skx_scroll_token_crc(token);
	SET_VARSIZE(made, VARHDRSZ + sizeof(*token));
	memcpy(VARDATA(made), token, sizeof(*token));
	return made;
}

uint64
skx_scroll_token_read(const SkxScrollToken *token, const bytea *given)
{
	SkxScrollToken read;

	if (VARSIZE_ANY_EXHDR(given) != sizeof(read))
		skx_token_refuse("It has another length than tokens have.");
	memcpy(&read, VARDATA_ANY(given), sizeof(read));
	if (read.origin.magic != SKX_SCROLL_MAGIC ||
		read.crc != skx_scroll_token_crc(&read))
		skx_token_refuse("It is damaged, or none.");
	skx_token_check(&token->origin, &read.origin);
	if (read.slice != token->slice || read.slices != token->slices)
		skx_token_refuse("It is of another slice.");
	return ((uint64) pg_ntoh32(read.block) << 16 |
			(pg_ntoh32(read.offset) & 0xFFFF)) + 1;
}
