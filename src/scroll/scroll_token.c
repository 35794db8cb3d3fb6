/*
 * scroll_token.c
 *	  Where a scroll goes on, as bytes that the user keeps.
 *
 * A token names the place of the last row, not a state of the index: flushes
 * and merges do not concern it.  It says what it belongs to, so that one of
 * another query or slice does not pass over rows in silence.  The checksum
 * finds damage; it keeps no secret, and a token that was made up can do no more
 * than one that was given: go on behind some place.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "common/hashfn.h"
#include "compat/compat.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "port/pg_crc32c.h"
#include "scroll/scroll.h"
#include "utils/rel.h"

#define SKX_SCROLL_MAGIC		0x53584B53	/* "SKXS" */
#define SKX_SCROLL_VERSION		1

StaticAssertDecl(sizeof(SkxScrollToken) == 64, "scroll token size");

static uint32
skx_scroll_token_crc(const SkxScrollToken *token)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, token, offsetof(SkxScrollToken, crc));
	FIN_CRC32C(crc);
	return crc;
}

void
skx_scroll_token_begin(SkxScrollToken *token, Relation heap, Relation index,
					   TSQuery query, const SkxScrollSlice *slice)
{
	memset(token, 0, sizeof(*token));
	token->magic = SKX_SCROLL_MAGIC;
	token->version = SKX_SCROLL_VERSION;
	token->system = GetSystemIdentifier();
	token->query = hash_bytes_extended((const unsigned char *) VARDATA(query),
									   VARSIZE(query) - VARHDRSZ, 0);
	token->lsn = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
	token->database = MyDatabaseId;
	token->index = RelationGetRelid(index);
	token->heap = SKX_LOCATOR_NUMBER(SKX_REL_LOCATOR(heap));
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

static void
skx_scroll_token_refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("this token cannot be gone on from"),
			 errdetail_internal("%s", detail),
			 errhint("Give the token of the last row that the same call returned before, or begin anew without one.")));
}

/* What differs, in words; NULL: nothing. */
static const char *
skx_scroll_token_differs(const SkxScrollToken *token,
						 const SkxScrollToken *given)
{
	if (given->system != token->system)
		return "It is of another database cluster.";
	if (given->database != token->database || given->index != token->index)
		return "It is of another index.";
	if (given->heap != token->heap)
		return "The table has been rewritten since, and its rows have other places.";
	if (given->query != token->query)
		return "It is of another query.";
	if (given->slice != token->slice || given->slices != token->slices)
		return "It is of another slice.";
	return NULL;
}

uint64
skx_scroll_token_read(const SkxScrollToken *token, const bytea *given)
{
	SkxScrollToken read;
	const char *detail;

	if (VARSIZE_ANY_EXHDR(given) != sizeof(read))
		skx_scroll_token_refuse("It has another length than tokens have.");
	memcpy(&read, VARDATA_ANY(given), sizeof(read));
	if (read.magic != SKX_SCROLL_MAGIC || read.crc != skx_scroll_token_crc(&read))
		skx_scroll_token_refuse("It is damaged, or none.");
	if (read.version != SKX_SCROLL_VERSION)
		skx_scroll_token_refuse("It is of another version of skipidx.");
	detail = skx_scroll_token_differs(token, &read);
	if (detail != NULL)
		skx_scroll_token_refuse(detail);
	if (RecoveryInProgress() && read.lsn > GetXLogReplayRecPtr(NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this standby has not yet replayed what the token has seen"),
				 errdetail("The token is of %X/%X, this server is at %X/%X.",
						   LSN_FORMAT_ARGS(read.lsn),
						   LSN_FORMAT_ARGS(GetXLogReplayRecPtr(NULL))),
				 errhint("Try again in a moment.")));
	return ((uint64) pg_ntoh32(read.block) << 16 |
			(pg_ntoh32(read.offset) & 0xFFFF)) + 1;
}
