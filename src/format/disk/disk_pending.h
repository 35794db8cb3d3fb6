/*
 * disk_pending.h
 *	  Pages of a pending list: documents inserted since the last flush.
 *
 * A page is SkxDiskPendingPage and then records, each 4-byte aligned.  A
 * record is SkxDiskPendingDoc and its payload.  The payload is the tsvector as
 * the server keeps it in memory (detoasted, 4-byte header).  It is empty if
 * the tsvector is NULL, and an SkxDiskPendingChain if the document does not
 * fit on one page.  Record i of a page has the sequence number first_sequence
 * + i.
 */
#ifndef SKX_DISK_PENDING_H
#define SKX_DISK_PENDING_H

#include "storage/block.h"
#include "storage/itemptr.h"

/* Header of a pending page. */
typedef struct SkxDiskPendingPage
{
	uint64		first_sequence;
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nrecords;
} SkxDiskPendingPage;

StaticAssertDecl(sizeof(SkxDiskPendingPage) == 16, "pending page size");

/* Flags of a pending document. */
#define SKX_PENDING_DEAD	0x0001	/* VACUUM removed the row */
#define SKX_PENDING_NULL	0x0002	/* its text is NULL */
#define SKX_PENDING_CHAIN	0x0004	/* the payload is a SkxDiskPendingChain */

/* Header of a pending document's record. */
typedef struct SkxDiskPendingDoc
{
	uint32		nbytes;			/* of the payload on this page */
	uint16		flags;			/* SKX_PENDING_* */
	ItemPointerData tid;		/* of the table's row */
} SkxDiskPendingDoc;

StaticAssertDecl(sizeof(SkxDiskPendingDoc) == 12, "pending record size");

/* Payload of a document that does not fit on one page. */
typedef struct SkxDiskPendingChain
{
	BlockNumber first;			/* first page of the chain */
	uint32		nbytes;			/* of the tsvector, over all its pages */
} SkxDiskPendingChain;

StaticAssertDecl(sizeof(SkxDiskPendingChain) == 8, "pending chain size");

/* Header of a chain page; `nbytes` of the tsvector follow. */
typedef struct SkxDiskChainPage
{
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nbytes;
} SkxDiskChainPage;

StaticAssertDecl(sizeof(SkxDiskChainPage) == 8, "chain page size");

#endif							/* SKX_DISK_PENDING_H */
