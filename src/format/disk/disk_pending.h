/*
 * disk_pending.h
 *	  Pages of the pending list: documents inserted since the last flush.
 *
 * A page holds SkxDiskPendingPage and then records, each 4-byte aligned:
 * SkxDiskPendingDoc and its payload.  The payload is the tsvector as the
 * server keeps it in memory (detoasted, 4-byte header); nothing when NULL; a
 * SkxDiskPendingChain when the document does not fit on one page.  Record i
 * of a page has sequence number first_sequence + i.
 */
#ifndef SKX_DISK_PENDING_H
#define SKX_DISK_PENDING_H

#include "storage/block.h"
#include "storage/itemptr.h"

typedef struct SkxDiskPendingPage
{
	uint64		first_sequence;
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nrecords;
} SkxDiskPendingPage;

StaticAssertDecl(sizeof(SkxDiskPendingPage) == 16, "pending page size");

#define SKX_PENDING_DEAD	0x0001	/* VACUUM removed the row */
#define SKX_PENDING_NULL	0x0002	/* its text is NULL */
#define SKX_PENDING_CHAIN	0x0004	/* the payload is a SkxDiskPendingChain */

typedef struct SkxDiskPendingDoc
{
	uint32		nbytes;			/* of the payload on this page */
	uint16		flags;
	ItemPointerData tid;
} SkxDiskPendingDoc;

StaticAssertDecl(sizeof(SkxDiskPendingDoc) == 12, "pending record size");

typedef struct SkxDiskPendingChain
{
	BlockNumber first;			/* first page of the chain */
	uint32		nbytes;			/* of the tsvector, over all its pages */
} SkxDiskPendingChain;

StaticAssertDecl(sizeof(SkxDiskPendingChain) == 8, "pending chain size");

/* At the start of a chain page; `nbytes` of the tsvector follow. */
typedef struct SkxDiskChainPage
{
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nbytes;
} SkxDiskChainPage;

StaticAssertDecl(sizeof(SkxDiskChainPage) == 8, "chain page size");

#endif							/* SKX_DISK_PENDING_H */
