/*
 * continuation_origin.c
 *	  Makes the origin of a token, and refuses tokens of another origin.
 *
 * A token names the row that was returned last, not a state of the index, so
 * flushes and merges do not affect it.  It names its origin, so that a token
 * of another query does not skip rows silently.  The checksum finds damage.
 * It is no secret, so what a token holds is checked where it is used, like any
 * other argument.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "access/xlogrecovery.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_crc32c.h"
#include "read/continuation/continuation.h"
#include "utils/rel.h"

StaticAssertDecl(sizeof(SkxTokenOrigin) == 48, "token origin size");

void
skx_continuation_begin(SkxTokenOrigin *origin, uint32 magic, uint32 version,
					   Relation heap, Relation index, uint64 query)
{
	origin->magic = magic;
	origin->version = version;
	origin->system = GetSystemIdentifier();
	origin->query = query;
	origin->lsn = RecoveryInProgress() ? GetXLogReplayRecPtr(NULL) :
		GetXLogInsertRecPtr();
	origin->database = MyDatabaseId;
	origin->index = RelationGetRelid(index);
	origin->heap = SKX_LOCATOR_NUMBER(SKX_REL_LOCATOR(heap));
}

/*
 * The hash leaves out where the bytes of the operands lie, which is no part of
 * a query.
 */
uint64
skx_continuation_hash(TSQuery query, uint64 seed)
{
	const QueryItem *items = GETQUERY(query);
	uint64		hash = hash_bytes_extended((const unsigned char *)
										   &query->size,
										   sizeof(query->size), seed);
	int			i;

	for (i = 0; i < query->size; i++)
	{
		const QueryItem *item = &items[i];
		bool		is_value = item->type == QI_VAL;
		uint32		kind[4] = {item->type};

		CHECK_FOR_INTERRUPTS();
		if (is_value)
		{
			kind[1] = item->qoperand.weight;
			kind[2] = item->qoperand.prefix;
			kind[3] = item->qoperand.length;
		}
		else
		{
			kind[1] = item->qoperator.oper;
			kind[2] = item->qoperator.oper == OP_PHRASE ?
				item->qoperator.distance : 0;
		}
		hash = hash_bytes_extended((const unsigned char *) kind, sizeof(kind),
								   hash);
		if (is_value)
			hash = hash_bytes_extended((const unsigned char *)
									   GETOPERAND(query) +
									   item->qoperand.distance,
									   item->qoperand.length, hash);
	}
	return hash;
}

uint32
skx_continuation_crc(const void *bytes, Size n, uint32 seed)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, &seed, sizeof(seed));
	COMP_CRC32C(crc, bytes, n);
	FIN_CRC32C(crc);
	return crc;
}

void
skx_continuation_refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("this token cannot be gone on from"),
			 errdetail_internal("%s", detail),
			 errhint("Give the token of the last row that the same call returned before, or begin anew without one.")));
}

void
skx_continuation_check(const SkxTokenOrigin *own, const SkxTokenOrigin *given)
{
	if (given->version != own->version)
		skx_continuation_refuse("It is of another version of skipidx.");
	if (given->system != own->system)
		skx_continuation_refuse("It is of another database cluster.");
	if (given->database != own->database || given->index != own->index)
		skx_continuation_refuse("It is of another index.");
	if (given->heap != own->heap)
		skx_continuation_refuse("The table has been rewritten since, and its rows have other places.");
	if (given->query != own->query)
		skx_continuation_refuse("It is of another query.");
	if (RecoveryInProgress() && given->lsn > GetXLogReplayRecPtr(NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("this standby has not yet replayed what the token has seen"),
				 errdetail("The token is of %X/%X, this server is at %X/%X.",
						   LSN_FORMAT_ARGS(given->lsn),
						   LSN_FORMAT_ARGS(GetXLogReplayRecPtr(NULL))),
				 errhint("Try again in a moment.")));
}
