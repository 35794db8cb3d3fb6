/*
 * format_meta.h
 *	  The metapage, the copy-on-write root under it, and what the root holds.
 *
 * The metapage is page 0.  A publish writes a new root and flips the metapage
 * to it in one WAL record: that record is the commit point.  The root is a
 * byte stream spread over a chain of root pages: SkxDiskRoot, then its
 * arrays in the order of its counts.
 */
#ifndef SKX_FORMAT_META_H
#define SKX_FORMAT_META_H

#include "storage/block.h"

typedef struct SkxDiskMeta
{
	uint32		magic;			/* SKX_MAGIC, first so that any version can
								 * be recognised */
	uint32		version;		/* SKX_VERSION of the whole file */
	uint64		incarnation;
	uint64		generation;		/* counts flips of `root` */
	uint32		block_size;		/* bytes; fixed at build */
	BlockNumber root;			/* first page of the current root */
	uint32		next_segment;	/* segment ids are never reused; first is 1 */
	BlockNumber nblocks;		/* pages below this are allocated; whole
								 * blocks */
	uint16		order_key_bits; /* 0, 64 or 128 */
	uint16		reserved1;
	uint32		reserved2;
} SkxDiskMeta;

StaticAssertDecl(sizeof(SkxDiskMeta) == 48, "metapage size");

/* At the start of each root page; `nbytes` of the stream follow. */
typedef struct SkxDiskRootPage
{
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nbytes;
} SkxDiskRootPage;

StaticAssertDecl(sizeof(SkxDiskRootPage) == 8, "root page size");

typedef struct SkxDiskRoot
{
	uint32		nsegments;		/* SkxDiskSegmentRef, largest first */
	uint32		nstripes;		/* SkxDiskStripeRef */
	uint32		nextents;		/* SkxDiskExtent, free, by block */
	uint32		noperations;	/* 0 in version 0 */
} SkxDiskRoot;

StaticAssertDecl(sizeof(SkxDiskRoot) == 16, "root size");

typedef struct SkxDiskSegmentRef
{
	uint32		segment;
	BlockNumber header;			/* first of header_pages consecutive pages */
	uint16		header_pages;
	uint16		level;			/* merge tier; a build's is its size's */
	uint32		ndocs;
	uint64		total_length;	/* positions, or 1 per lexeme without */
	uint64		npages;			/* of all planes, for cost and statistics */
} SkxDiskSegmentRef;

StaticAssertDecl(sizeof(SkxDiskSegmentRef) == 32, "segment ref size");

typedef struct SkxDiskStripeRef
{
	BlockNumber stripe;			/* the stripe page */
	BlockNumber first;			/* first pending page, or Invalid: none was
								 * there when the root was written, look at
								 * the stripe page */
	uint64		flushed_through;	/* documents up to this number live in
									 * segments */
} SkxDiskStripeRef;

StaticAssertDecl(sizeof(SkxDiskStripeRef) == 16, "stripe ref size");

typedef struct SkxDiskExtent
{
	BlockNumber block;
	uint32		npages;
	uint64		safexid;		/* reusable when no snapshot needs it; 0: now */
} SkxDiskExtent;

StaticAssertDecl(sizeof(SkxDiskExtent) == 16, "extent size");

/* The stripe page: where the next pending document goes. */
typedef struct SkxDiskStripe
{
	uint64		next_sequence;	/* of the next document; first is 1 */
	uint64		ndocs;			/* documents in the list, dead ones too */
	uint64		ndead;			/* of them, marked by VACUUM */
	uint64		nnull;			/* of them, with a NULL tsvector */
	uint64		total_length;
	uint64		nbytes;			/* of all records */
	BlockNumber first;			/* first pending page, or Invalid */
	BlockNumber tail;			/* last pending page, or Invalid */
	BlockNumber extent_next;	/* next unused page of the stripe's extent */
	BlockNumber extent_end;		/* end of that extent; equal: none left */
	BlockNumber extent_last;	/* where the newest extent starts; each
								 * extent's first page names the one before */
	uint32		npages;			/* pages in use */
} SkxDiskStripe;

StaticAssertDecl(sizeof(SkxDiskStripe) == 72, "stripe size");

#endif							/* SKX_FORMAT_META_H */
