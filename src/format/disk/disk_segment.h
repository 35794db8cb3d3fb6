/*
 * disk_segment.h
 *	  The header of an immutable segment, its documents, and its deletes.
 *
 * Documents are numbered 0..ndocs-1 in the order (order key, TID).  The header
 * is SkxDiskSegment, then nruns SkxDiskRun, as a byte stream over header_pages
 * consecutive pages (SKX_PAGE_CAPACITY bytes each).
 */
#ifndef SKX_DISK_SEGMENT_H
#define SKX_DISK_SEGMENT_H

#include "format/disk/disk_format.h"
#include "storage/block.h"

/* Planes that a header describes, as indexes into its array of planes. */
typedef enum SkxSegmentPlane
{
	SKX_SEGMENT_TIDS,
	SKX_SEGMENT_NORMS,
	SKX_SEGMENT_KEYS,
	SKX_SEGMENT_DICT,
	SKX_SEGMENT_POSTINGS,
	SKX_SEGMENT_POSITIONS,
	SKX_SEGMENT_DELETES,
	SKX_SEGMENT_PREFIXES,		/* dictionary of the lists of prefixes */
	SKX_SEGMENT_PREFIX_POSTINGS,	/* these lists */
	SKX_SEGMENT_NPLANES
} SkxSegmentPlane;

/* Returns true if the plane is made of whole blocks. */
static inline bool
SkxPlaneHasBlocks(int plane)
{
	return plane == SKX_SEGMENT_POSTINGS ||
		plane == SKX_SEGMENT_PREFIX_POSTINGS;
}

/* disk_page.c : the SkxPlane of each SkxSegmentPlane */
extern const uint8 skx_disk_plane_ids[SKX_SEGMENT_NPLANES];

/* A plane of a segment: its pages, and the runs that tell where they are. */
typedef struct SkxDiskPlane
{
	uint32		npages;
	uint16		first_run;		/* index into the runs of the header */
	uint16		nruns;
} SkxDiskPlane;

StaticAssertDecl(sizeof(SkxDiskPlane) == 8, "plane size");

/*
 * A run of consecutive pages: pages first..first+npages-1 of a plane lie at
 * block, block+1, ...  Runs of the postings plane start at ordinals and file
 * blocks that are multiples of the block size.  The last, partial block of
 * that plane may lie anywhere within one block.
 */
typedef struct SkxDiskRun
{
	uint32		first;			/* ordinal in the plane */
	uint32		npages;
	BlockNumber block;			/* of the first page, in the file */
} SkxDiskRun;

StaticAssertDecl(sizeof(SkxDiskRun) == 12, "run size");

/* Header of a segment. */
typedef struct SkxDiskSegment
{
	SkxDiskFormat format;		/* of all planes of the segment */
	uint64		salt;			/* as in the root's reference */
	uint32		segment;		/* id */
	uint32		block_size;		/* bytes */
	uint32		ndocs;
	uint32		nnull;			/* documents with norm SKX_NORM_NULL */
	uint64		total_length;	/* sum of the documents' lengths */
	uint64		npostings;
	uint64		npositions;
	uint32		nterms;
	uint32		dict_root;		/* page ordinal of the dictionary's root */
	uint32		tid_pages;		/* data pages of the TID plane; directory
								 * pages follow */
	uint16		nkeys;			/* columns with keys (disk_keys.h) */
	uint16		nruns;			/* runs of all planes */
	float		weights[4];		/* label weights D, C, B, A at build, which
								 * the impacts contain */
	SkxDiskPlane planes[SKX_SEGMENT_NPLANES];
	uint32		nprefixes;		/* prefixes with a list, the terms of their
								 * dictionary */
	uint32		prefix_root;	/* page ordinal of the root of that */
	uint64		nprefix_postings;
	uint64		reserved[3];	/* 0; for planes and fields of later features */
} SkxDiskSegment;

StaticAssertDecl(sizeof(SkxDiskSegment) == 224, "segment header size");

/*
 * TID plane.  A data page is SkxDiskTidPage, an array of SkxDiskTidGroup, and
 * bodies.  A group is SKX_TID_GROUP_DOCS documents (fewer only in the last
 * group of the segment).  Its body is two plain bit strings, each at a byte
 * boundary: block_width bits of (heap block - block) of each document, then
 * offset_width bits of (offset number - offset) of each.
 *
 * Directory pages have, as uint32, the first group of each data page,
 * SKX_TID_DIRECTORY to a page.
 */
#define SKX_TID_GROUP_DOCS		128
#define SKX_TID_DIRECTORY	(SKX_PAGE_CAPACITY / sizeof(uint32))

/* Header of a data page of the TID plane. */
typedef struct SkxDiskTidPage
{
	uint32		first_group;	/* number of the page's first group */
	uint16		ngroups;
	uint16		reserved;
} SkxDiskTidPage;

StaticAssertDecl(sizeof(SkxDiskTidPage) == 8, "TID page size");

/* A group of documents and their tids. */
typedef struct SkxDiskTidGroup
{
	BlockNumber block;			/* smallest heap block of the group */
	uint16		offset;			/* smallest offset number of the group */
	uint16		body;			/* page offset of the body */
	uint8		block_width;
	uint8		offset_width;
	uint16		ndocs;			/* 1..SKX_TID_GROUP_DOCS */
} SkxDiskTidGroup;

StaticAssertDecl(sizeof(SkxDiskTidGroup) == 12, "TID group size");

/* Norm plane: one byte per document, SKX_NORMS_PER_PAGE to a page. */
#define SKX_NORMS_PER_PAGE	8128

StaticAssertDecl(SKX_NORMS_PER_PAGE % 64 == 0, "norms by words");

/*
 * Header of a page of the deletes plane.  Bit i of page p is the deleted bit
 * of document p * SKX_DELETES_PER_PAGE + i, set when the row is deleted.  A
 * page that is all zero has no deleted bits.
 *
 * The header of page 0 tells which groups of pages have deleted bits, so that
 * a reader need not read the pages of the other groups (SkxDeletesGroup).
 */
typedef struct SkxDiskDeletes
{
	uint32		ndeleted;		/* deleted bits set on this page */
	uint32		groups;			/* page 0: SKX_DELETES_GROUPS_VALID and a bit
								 * for each group with deleted bits, or 0: not
								 * known; other pages: 0 */
} SkxDiskDeletes;

StaticAssertDecl(sizeof(SkxDiskDeletes) == 8, "deletes page size");

/* Documents, and bytes of their bits, on a page of the deletes plane. */
#define SKX_DELETES_PER_PAGE	(8128 * 8)
#define SKX_DELETES_BYTES		(SKX_DELETES_PER_PAGE / 8)

StaticAssertDecl(SKX_DELETES_PER_PAGE % 64 == 0, "deleted bits by words");

/*
 * Number of groups of pages, and the bit of `groups` that says the bits below
 * it are maintained.
 */
#define SKX_DELETES_GROUPS		31
#define SKX_DELETES_GROUPS_VALID		((uint32) 1 << SKX_DELETES_GROUPS)

/* Returns the bit, in `groups`, of the group of page `ordinal` of `npages`. */
static inline uint32
SkxDeletesGroup(uint32 ordinal, uint32 npages)
{
	return (uint32) 1 << (uint32) ((uint64) ordinal * SKX_DELETES_GROUPS / npages);
}

#endif							/* SKX_DISK_SEGMENT_H */
