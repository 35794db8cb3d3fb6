/*
 * disk_meta.h
 *	  The metapage, the copy-on-write root under it, and what the root holds.
 *
 * The metapage is page 0.  A publish writes a new root and flips the metapage
 * to it in one WAL record: that record is the commit point.  The root is a
 * byte stream spread over a chain of root pages: SkxDiskRoot, then its
 * arrays in the order of its counts.
 *
 * Every page below meta.nblocks has one owner: metapage, root, stripe, a
 * stripe's extent, a segment, an extent listed in the root, or the pool.
 */
#ifndef SKX_DISK_META_H
#define SKX_DISK_META_H

#include "storage/block.h"

/* Pages of the pool: free, and needed by no snapshot. */
typedef struct SkxDiskPoolExtent
{
	BlockNumber block;
	uint32		npages;
} SkxDiskPoolExtent;

StaticAssertDecl(sizeof(SkxDiskPoolExtent) == 8, "pool extent size");

#define SKX_META_POOL		64

typedef struct SkxDiskMeta
{
	uint32		magic;			/* SKX_MAGIC, first so that any version can be
								 * recognised */
	uint32		version;		/* SKX_VERSION of the whole file */
	uint64		incarnation;
	uint64		generation;		/* counts flips of `root` */
	uint32		block_size;		/* bytes; fixed at build */
	BlockNumber root;			/* first page of the current root */
	uint32		next_segment;	/* segment ids are never reused; first is 1 */
	BlockNumber nblocks;		/* pages below this are allocated; whole
								 * blocks */
	uint16		order_key_bits; /* 0, 64 or 128 */
	uint16		npool;
	BlockNumber old_end;		/* pages past nblocks and below this were the
								 * file's once, and hold anything; 0: none */
	uint64		freed_xid;		/* next xid after the flip to `root`: safexid
								 * of SKX_SAFEXID_FLIP; 0: not noted */
	SkxDiskPoolExtent pool[SKX_META_POOL];	/* where stripes take extents
											 * before the file grows */
} SkxDiskMeta;

StaticAssertDecl(sizeof(SkxDiskMeta) == 568, "metapage size");

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
	uint32		nextents;		/* SkxDiskExtent, by block */
	uint32		noperations;	/* SkxDiskOperation */
} SkxDiskRoot;

StaticAssertDecl(sizeof(SkxDiskRoot) == 16, "root size");

typedef struct SkxDiskSegmentRef
{
	uint64		salt;			/* random: tells this segment from one of the
								 * same id in a copy of the index */
	uint32		segment;
	BlockNumber header;			/* first of header_pages consecutive pages */
	uint16		header_pages;
	uint16		level;			/* merge tier; a build's is its size's */
	uint32		ndocs;
	uint64		total_length;	/* positions, or 1 per lexeme without */
	uint64		npages;			/* of all planes, for cost and statistics */
} SkxDiskSegmentRef;

StaticAssertDecl(sizeof(SkxDiskSegmentRef) == 40, "segment ref size");

/*
 * A stripe as the root knows it.  Documents up to flushed_through live in
 * segments; the counts are of those, to be taken from the stripe's own, which
 * only grow.  `first` is a page at or before the one with the next document;
 * it has the last flushed one, and stays allocated with its extent.
 */
typedef struct SkxDiskStripeRef
{
	BlockNumber stripe;			/* the stripe page */
	BlockNumber first;			/* Invalid: nothing was flushed yet, the
								 * stripe page has the first page */
	uint64		flushed_through;
	uint64		ndead;
	uint64		nnull;
	uint64		total_length;
	uint64		nbytes;
	BlockNumber extent;			/* oldest extent that is the stripe's;
								 * Invalid: all that it ever took are */
	uint32		npages;			/* of the extents given up, modulo 2^32 */
} SkxDiskStripeRef;

StaticAssertDecl(sizeof(SkxDiskStripeRef) == 56, "stripe ref size");

/*
 * safexid of pages that were freed by the flip to the root they are listed
 * in.  The root is written before the transaction id is known.
 */
#define SKX_SAFEXID_FLIP	PG_UINT64_MAX

/*
 * What pages wait for that are free but not yet reusable: that no snapshot needs
 * them; that no view has them which is open; or, when none has, that no query of
 * a standby needs them.
 */
#define SKX_WAITS_SNAPSHOTS	0
#define SKX_WAITS_VIEWS		1
#define SKX_WAITS_STANDBYS	2

typedef struct SkxDiskExtent
{
	BlockNumber block;
	uint32		npages;
	uint64		safexid;		/* free: transaction id from which on the
								 * pages are not needed; 0: reusable now; of
								 * SKX_WAITS_VIEWS: SKX_LIFE of generations */
	uint32		operation;		/* reserved for the operation with this output
								 * segment; 0: free */
	uint32		waits;			/* SKX_WAITS_...; 0 if reusable or reserved */
} SkxDiskExtent;

/*
 * No view that was taken before the generation `born`, or is of `freed` or a
 * later one, has the pages.  Both are less than 2^32 flips ago.
 */
#define SKX_LIFE(born, freed) \
	(((uint64) (uint32) (freed)) << 32 | (uint32) (born))
#define SKX_LIFE_BORN(life, now) \
	((now) - (uint32) ((uint32) (now) - (uint32) (life)))
#define SKX_LIFE_FREED(life, now)	SKX_LIFE_BORN((life) >> 32, now)

StaticAssertDecl(sizeof(SkxDiskExtent) == 24, "extent size");

/* A flush or a merge in work, or one whose process has gone. */
#define SKX_OPERATION_FLUSH	1
#define SKX_OPERATION_MERGE	2

typedef struct SkxDiskOperation
{
	uint32		segment;		/* id of the segment it makes */
	uint32		kind;			/* SKX_OPERATION_* */
} SkxDiskOperation;

StaticAssertDecl(sizeof(SkxDiskOperation) == 8, "operation size");

/*
 * The stripe page: where the next pending document goes.  Counts are of all
 * documents ever added; those flushed since are the root's to subtract.
 */
typedef struct SkxDiskStripe
{
	uint64		next_sequence;	/* of the next document; first is 1 */
	uint64		ndead;			/* documents marked by VACUUM */
	uint64		nnull;			/* with a NULL tsvector */
	uint64		total_length;
	uint64		nbytes;			/* of all records */
	BlockNumber first;			/* first page ever, or Invalid */
	BlockNumber tail;			/* last pending page, or Invalid */
	BlockNumber extent_next;	/* next unused page of the stripe's extent */
	BlockNumber extent_end;		/* end of that extent; equal: none left */
	BlockNumber extent_last;	/* where the newest extent starts; each
								 * extent's first page names the one before */
	uint32		npages;			/* pages ever put to use, modulo 2^32 */
} SkxDiskStripe;

StaticAssertDecl(sizeof(SkxDiskStripe) == 64, "stripe size");

#endif							/* SKX_DISK_META_H */
