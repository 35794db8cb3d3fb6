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

#include "format/disk/disk_format.h"
#include "storage/block.h"

/*
 * An extent of the pool: consecutive pages that are free and that no snapshot
 * needs.
 */
typedef struct SkxDiskPoolExtent
{
	BlockNumber block;
	uint32		npages;
} SkxDiskPoolExtent;

StaticAssertDecl(sizeof(SkxDiskPoolExtent) == 8, "pool extent size");

/* Most extents of the pool. */
#define SKX_META_POOL_EXTENTS		64

/* Content of the metapage. */
typedef struct SkxDiskMeta
{
	SkxDiskFormat format;		/* of the whole file; first, so that any
								 * release can tell whether it knows it */
	uint64		incarnation;	/* random id of the index, set at build */
	uint64		generation;		/* number of flips of `root` */
	uint32		block_size;		/* bytes; fixed at build */
	BlockNumber root;			/* first page of the current root */
	uint32		next_segment;	/* id of the next segment; the first is 1,
								 * none is reused */
	BlockNumber nblocks;		/* pages below this are allocated; whole
								 * blocks */
	uint16		order_key_bits; /* 0, 64 or 128 */
	uint16		npool;			/* extents in `pool` */
	BlockNumber old_end;		/* pages from nblocks to old_end - 1 were
								 * allocated once and have any content; 0:
								 * none */
	uint64		freed_xid;		/* next xid after the flip to `root`: safexid
								 * of extents with SKX_SAFEXID_FLIP; 0: not
								 * noted */
	uint64		reserved[6];	/* 0; for fields of later features */
	SkxDiskPoolExtent pool[SKX_META_POOL_EXTENTS];	/* a stripe takes extents
													 * from here before the
													 * file grows */
} SkxDiskMeta;

StaticAssertDecl(sizeof(SkxDiskMeta) == 640, "metapage size");

/* Header of a root page; `nbytes` of the root's stream follow. */
typedef struct SkxDiskRootPage
{
	BlockNumber next;			/* InvalidBlockNumber: last page */
	uint32		nbytes;
} SkxDiskRootPage;

StaticAssertDecl(sizeof(SkxDiskRootPage) == 8, "root page size");

/*
 * Start of the root's stream: the lengths of the arrays that follow, in this
 * order.
 */
typedef struct SkxDiskRoot
{
	uint32		nsegments;		/* of SkxDiskSegmentRef, largest first */
	uint32		nstripes;		/* of SkxDiskStripeRef */
	uint32		nextents;		/* of SkxDiskExtent, by block */
	uint32		noperations;	/* of SkxDiskOperation */
} SkxDiskRoot;

StaticAssertDecl(sizeof(SkxDiskRoot) == 16, "root size");

/* A segment of the index. */
typedef struct SkxDiskSegmentRef
{
	uint64		salt;			/* random; tells the segment from one with the
								 * same id in a copy of the index */
	uint32		segment;		/* id */
	BlockNumber header;			/* first of header_pages consecutive pages */
	uint16		header_pages;
	uint16		level;			/* merge tier; that of a built segment follows
								 * from its size */
	uint32		ndocs;
	uint64		total_length;	/* sum of the documents' lengths: positions,
								 * or 1 per lexeme without */
	uint64		npages;			/* pages of all planes, for costs and
								 * statistics */
} SkxDiskSegmentRef;

StaticAssertDecl(sizeof(SkxDiskSegmentRef) == 40, "segment ref size");

/*
 * A stripe as the root knows it.  Documents up to flushed_through are in
 * segments, and the counts are of these documents.  The counts of the stripe
 * page are of all documents ever added and only grow; a reader subtracts the
 * root's.
 *
 * `first` is a page at or before the one with the next document: the page with
 * the last flushed document, which stays allocated with its extent.
 */
typedef struct SkxDiskStripeRef
{
	BlockNumber stripe;			/* the stripe page */
	BlockNumber first;			/* Invalid: nothing was flushed, and the
								 * stripe page has the first page */
	uint64		flushed_through;	/* sequence number of the last flushed
									 * document; 0: none */
	uint64		ndead;
	uint64		nnull;
	uint64		total_length;
	uint64		nbytes;
	BlockNumber extent;			/* oldest extent of the stripe; Invalid: it
								 * owns all that it ever took */
	uint32		npages;			/* pages of the extents that were given up,
								 * modulo 2^32 */
} SkxDiskStripeRef;

StaticAssertDecl(sizeof(SkxDiskStripeRef) == 56, "stripe ref size");

/*
 * safexid of extents that were freed by the flip to the root that lists them.
 * The root is written before their transaction id is known.
 */
#define SKX_SAFEXID_FLIP	PG_UINT64_MAX

/*
 * What free pages wait for before they can be reused.  SKX_WAITS_SNAPSHOTS: no
 * snapshot needs them.  SKX_WAITS_VIEWS: no open view has them.
 * SKX_WAITS_STANDBYS: no open view has them, and no query of a standby needs
 * them.
 */
#define SKX_WAITS_SNAPSHOTS	0
#define SKX_WAITS_VIEWS		1
#define SKX_WAITS_STANDBYS	2

/* An extent that is free, or reserved for an operation. */
typedef struct SkxDiskExtent
{
	BlockNumber block;
	uint32		npages;
	uint64		safexid;		/* of a free extent: first transaction id from
								 * which the pages are not needed; 0:
								 * reusable; with SKX_WAITS_VIEWS an
								 * SKX_VIEW_SPAN of generations */
	uint32		operation;		/* output segment of the operation it is
								 * reserved for; 0: it is free */
	uint32		waits;			/* SKX_WAITS_...; 0 if reusable or reserved */
} SkxDiskExtent;

/*
 * SKX_VIEW_SPAN packs the generations between which views can have pages: from
 * `born` to `freed` - 1.  SKX_VIEW_SPAN_BORN and SKX_VIEW_SPAN_FREED unpack
 * them, given the present generation `now`.  Both must be less than 2^32 flips
 * before `now`.
 */
#define SKX_VIEW_SPAN(born, freed) \
	(((uint64) (uint32) (freed)) << 32 | (uint32) (born))
#define SKX_VIEW_SPAN_BORN(life, now) \
	((now) - (uint32) ((uint32) (now) - (uint32) (life)))
#define SKX_VIEW_SPAN_FREED(life, now)	SKX_VIEW_SPAN_BORN((life) >> 32, now)

StaticAssertDecl(sizeof(SkxDiskExtent) == 24, "extent size");

/* Kinds of operations that make a segment. */
#define SKX_OPERATION_FLUSH	1
#define SKX_OPERATION_MERGE	2

/*
 * A flush or merge that is running, or whose process ended without finishing
 * it.
 */
typedef struct SkxDiskOperation
{
	uint32		segment;		/* id of its output segment */
	uint32		kind;			/* SKX_OPERATION_* */
} SkxDiskOperation;

StaticAssertDecl(sizeof(SkxDiskOperation) == 8, "operation size");

/*
 * Content of a stripe page, which tells where the next pending document goes.
 * The counts are of all documents ever added; a reader subtracts those of
 * flushed documents, which the root has.
 */
typedef struct SkxDiskStripe
{
	uint64		next_sequence;	/* number of the next document; the first is 1 */
	uint64		ndead;			/* documents whose rows VACUUM removed */
	uint64		nnull;			/* documents with a NULL tsvector */
	uint64		total_length;
	uint64		nbytes;			/* of all records */
	BlockNumber first;			/* first page ever used; Invalid: none */
	BlockNumber tail;			/* last pending page; Invalid: none */
	BlockNumber extent_next;	/* next unused page of the newest extent */
	BlockNumber extent_end;		/* end of that extent; no page is left if
								 * equal */
	BlockNumber extent_last;	/* start of that extent; the first page of
								 * each extent names the one before */
	uint32		npages;			/* pages ever used, modulo 2^32 */
} SkxDiskStripe;

StaticAssertDecl(sizeof(SkxDiskStripe) == 64, "stripe size");

#endif							/* SKX_DISK_META_H */
