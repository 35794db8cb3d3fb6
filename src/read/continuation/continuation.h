/*
 * continuation.h
 *	  The origin of a token: cluster, index, table file and query of the call
 *	  that returned it.  A later call continues from a token.
 */
#ifndef SKX_CONTINUATION_H
#define SKX_CONTINUATION_H

#include "support/compat/compat.h"
#include "tsearch/ts_type.h"
#include "utils/relcache.h"

/*
 * The first bytes of every token.  They are the same in all tokens of a call,
 * so tokens of one call order by the bytes that follow.
 */
typedef struct SkxTokenOrigin
{
	uint32		magic;			/* identifies the kind of token */
	uint32		version;		/* of the token's format */
	uint64		system;			/* identifier of cluster and standbys */
	uint64		query;			/* hash of the query and other arguments */
	uint64		lsn;			/* a standby must have replayed up to here */
	Oid			database;
	Oid			index;
	uint32		heap;			/* number of the table's file */
	uint32		reserved;		/* 0 */
} SkxTokenOrigin;

/* continuation_origin.c : origins of tokens, and the check of given ones */

/*
 * Fills in an origin that the caller has zeroed.  magic and version are
 * those of the kind of token; query is a result of skx_continuation_hash().
 * lsn becomes the current end of WAL: inserted on a primary, replayed on a
 * standby.
 */
extern void skx_continuation_begin(SkxTokenOrigin *origin, uint32 magic,
								   uint32 version, Relation heap,
								   Relation index,
								   uint64 query);

/*
 * Returns a hash of the items and lexemes of a query.  seed is 0, or the
 * hash of something else that the result is to cover as well.
 */
extern uint64 skx_continuation_hash(TSQuery query, uint64 seed);

/*
 * Returns the CRC-32C of the 4 bytes of seed followed by n bytes.  seed is
 * 0, or the CRC of other bytes that the result is to cover as well.
 */
extern uint32 skx_continuation_crc(const void *bytes, Size n, uint32 seed);

/*
 * Compares the origin of a given token with that of the current call.  The
 * caller has checked magic and checksum of the token.  Errors out with
 * ERRCODE_INVALID_PARAMETER_VALUE if version, system, database, index, table
 * file or query differ.  Errors out with
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE on a standby that has not replayed
 * the token's lsn.
 */
extern void skx_continuation_check(const SkxTokenOrigin *own,
								   const SkxTokenOrigin *given);

/*
 * Raises ERRCODE_INVALID_PARAMETER_VALUE: the token cannot be continued from.
 * detail is a full sentence that says why; it is shown untranslated.
 */
SKX_NORETURN extern void skx_continuation_refuse(const char *detail);

#endif							/* SKX_CONTINUATION_H */
