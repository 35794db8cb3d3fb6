/*
 * disk_keys.h
 *	  The keys plane of a segment: values of columns by document.
 *
 * Each column with keys has a tree.  Its leaves hold groups of SKX_KEY_GROUP
 * documents (fewer only in the last group of the segment), its inner pages their
 * children, each with the least and the most key below it; of what has none but
 * NULLs the least is above the most.  Pages stand in the order in which they
 * became full, so that children precede their parents, and columns alternate.
 * The last page of the plane has an SkxDiskKeyColumn for each column, by number.
 */
#ifndef SKX_DISK_KEYS_H
#define SKX_DISK_KEYS_H

#include "format/disk/disk_page.h"

#define SKX_KEY_GROUP		128

/* Columns with keys at most: INDEX_MAX_KEYS, without the text. */
#define SKX_KEY_COLUMNS		31

/* The head of a page of a tree; n SkxDiskKeyGroup or SkxDiskKeyChild follow. */
typedef struct SkxDiskKeyPage
{
	uint32		first_group;
	uint16		n;
	uint8		column;			/* of the index, from 0 */
	uint8		level;			/* 0: a leaf */
} SkxDiskKeyPage;

StaticAssertDecl(sizeof(SkxDiskKeyPage) == 8, "key page size");

/*
 * The body of a group is, where some keys are NULL but not all, a bit for each
 * document, set for those (SKX_KEY_GROUP / 8 bytes); then low_width bits of
 * (key - least) for each, then the high_width bits above these, as one plain bit
 * string each, the second on the next byte boundary.  A NULL has zeros there.
 */
typedef struct SkxDiskKeyGroup
{
	uint64		least;
	uint64		most;
	uint16		body;			/* where it starts, from page start */
	uint8		low_width;		/* 0 to 32 */
	uint8		high_width;		/* 0 unless low_width is 32 */
	uint16		ndocs;			/* 1 to SKX_KEY_GROUP */
	uint16		nnull;
} SkxDiskKeyGroup;

StaticAssertDecl(sizeof(SkxDiskKeyGroup) == 24, "key group size");

typedef struct SkxDiskKeyChild
{
	uint64		least;
	uint64		most;
	uint32		page;
	uint32		first_group;
} SkxDiskKeyChild;

StaticAssertDecl(sizeof(SkxDiskKeyChild) == 24, "key child size");

#define SKX_KEY_CHILDREN \
	((SKX_PAGE_CAPACITY - sizeof(SkxDiskKeyPage)) / sizeof(SkxDiskKeyChild))

/* Levels of a tree at most: 2^31 documents have fewer. */
#define SKX_KEY_LEVELS		5

/*
 * Of the keys that are not NULL, about as many lie between two quantiles as
 * between any others next to each other; the first and the last are the least
 * and the most.  Without keys all are 0.
 */
#define SKX_KEY_QUANTILES	25

typedef struct SkxDiskKeyColumn
{
	uint64		quantiles[SKX_KEY_QUANTILES];
	uint32		root;
	uint32		nnull;
	uint8		column;
	uint8		kind;			/* SkxKeyKind */
	uint8		width;			/* bytes of a canonical form, or what the kind
								 * says */
	uint8		level;			/* of the root */
	uint32		reserved;
} SkxDiskKeyColumn;

StaticAssertDecl(sizeof(SkxDiskKeyColumn) == 216, "key column size");
StaticAssertDecl(SKX_KEY_COLUMNS * sizeof(SkxDiskKeyColumn) <=
				 SKX_PAGE_CAPACITY, "key columns have one page");

/* Can forms become keys in that way?  See SkxKeyKind of document/. */
static inline bool
skx_disk_key_column_is_sound(const SkxDiskKeyColumn *column)
{
	switch (column->kind)
	{
		case 1:
			return column->width >= 1 && column->width <= 8;
		case 2:
		case 3:
			return column->width == 12;
		case 4:
			return column->width <= 18;
		case 5:
		case 6:
			return column->width == 8;
		default:
			return false;
	}
}

#endif							/* SKX_DISK_KEYS_H */
