/*
 * continuation.h
 *	  What a token belongs to, from which a later call goes on.
 */
#ifndef SKX_CONTINUATION_H
#define SKX_CONTINUATION_H

#include "support/compat/compat.h"
#include "tsearch/ts_type.h"
#include "utils/relcache.h"

/*
 * The first bytes of every token.  They are the same in all tokens of a call,
 * so that these order by what follows.
 */
typedef struct SkxTokenOrigin
{
	uint32		magic;			/* of the kind of token */
	uint32		version;
	uint64		system;			/* identifier of the cluster and its standbys */
	uint64		query;			/* a hash of what was asked for */
	uint64		lsn;			/* what a standby must have replayed */
	Oid			database;
	Oid			index;
	uint32		heap;			/* number of the table's file */
	uint32		reserved;		/* 0 */
} SkxTokenOrigin;

/*
 * continuation_origin.c
 *
 * begin fills in all of a zeroed origin.  hash is that of a query, and of what
 * `seed` is a hash of.  crc is one of n bytes, and of what `seed` is one of.
 * check errors out unless a token that was given, and whose checksum is right,
 * is of the same origin, and this server has what it has seen; refuse errors
 * out.
 */
extern void skx_continuation_begin(SkxTokenOrigin *origin, uint32 magic,
								   uint32 version, Relation heap,
								   Relation index,
								   uint64 query);
extern uint64 skx_continuation_hash(TSQuery query, uint64 seed);
extern uint32 skx_continuation_crc(const void *bytes, Size n, uint32 seed);
extern void skx_continuation_check(const SkxTokenOrigin *own,
								   const SkxTokenOrigin *given);
SKX_NORETURN extern void skx_continuation_refuse(const char *detail);

#endif							/* SKX_CONTINUATION_H */
