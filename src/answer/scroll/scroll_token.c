/*
 * scroll_token.c
 *	  Tokens of a scroll, which tell where it continues.
 *
 * A forged token can do no more than a genuine one: let the scroll continue
 * after some row.
 */
#include "postgres.h"

#include "answer/scroll/scroll.h"
#include "port/pg_bswap.h"
#include "utils/rel.h"

#define SKX_SCROLL_MAGIC		0x53584B53	/* "SKXS" */
#define SKX_SCROLL_VERSION		3

StaticAssertDecl(sizeof(SkxScrollToken) == 80, "scroll token size");

static uint32
skx_scroll_token_crc(const SkxScrollToken *token)
{
	return skx_continuation_crc(token, offsetof(SkxScrollToken, crc), 0);
}

void
skx_scroll_token_begin(SkxScrollToken *token, Relation heap, Relation index,
					   TSQuery query, const SkxRowsSlice *slice)
{
	memset(token, 0, sizeof(*token));
	skx_continuation_begin(&token->origin, SKX_SCROLL_MAGIC,
						   SKX_SCROLL_VERSION, heap,
						   index, skx_continuation_hash(query, 0));
	token->slice = slice->number;
	token->slices = slice->nslices;
}

static uint32
skx_scroll_token_file_number(Relation table)
{
	return SKX_LOCATOR_NUMBER(SKX_REL_LOCATOR(table));
}

void
skx_scroll_token_set_table(SkxScrollToken *token, Relation table)
{
	token->table = pg_hton32(RelationGetRelid(table));
	token->file = pg_hton32(skx_scroll_token_file_number(table));
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

void
skx_scroll_token_read(const SkxScrollToken *token, const bytea *given,
					  SkxScrollStart *place)
{
	SkxScrollToken read;

	if (VARSIZE_ANY_EXHDR(given) != sizeof(read))
		skx_continuation_refuse("It has another length than tokens have.");
	memcpy(&read, VARDATA_ANY(given), sizeof(read));
	if (read.origin.magic != SKX_SCROLL_MAGIC ||
		read.crc != skx_scroll_token_crc(&read))
		skx_continuation_refuse("It is damaged, or none.");
	skx_continuation_check(&token->origin, &read.origin);
	if (read.slice != token->slice || read.slices != token->slices)
		skx_continuation_refuse("It is of another slice.");
	place->table = pg_ntoh32(read.table);
	place->file = pg_ntoh32(read.file);
	place->key = ((uint64) pg_ntoh32(read.block) << 16 |
				  (pg_ntoh32(read.offset) & 0xFFFF)) + 1;
}

bool
skx_scroll_token_start_key(const SkxScrollStart *place, Relation table,
						   uint64 *from)
{
	Oid			oid = RelationGetRelid(table);

	*from = 0;
	if (oid < place->table)
		return false;
	if (oid > place->table)
		return true;
	if (skx_scroll_token_file_number(table) != place->file)
		skx_continuation_refuse("A partition has been rewritten since, and its rows have other places.");
	*from = place->key;
	return true;
}
