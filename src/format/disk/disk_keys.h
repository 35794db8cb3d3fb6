/*
 * disk_keys.h
 *	  The keys plane of a segment: values of columns by document.
 *
 * Each column with keys has a tree.  Its leaves have groups of
 * SKX_KEY_GROUP_DOCS documents (fewer only in the last group of the segment).
 * Its inner pages have their children, each with the least and the most key
 * below it; the least is above the most if all keys below are NULL.  Pages
 * stand in the order in which they became full, so that children precede their
 * parents, and pages of different columns alternate.  The last page of the
 * plane has an SkxDiskKeyColumn for each column, ordered by column number.
 */
#ifndef SKX_DISK_KEYS_H
#define SKX_DISK_KEYS_H

#include "format/disk/disk_page.h"

/* Documents of a group. */
#define SKX_KEY_GROUP_DOCS		128

/* Most columns with keys: INDEX_MAX_KEYS without the text column. */
#define SKX_KEY_COLUMNS_MAX		31

/*
 * Header of a page of a tree.  n SkxDiskKeyGroup follow in a leaf, n
 * SkxDiskKeyChild in an inner page.
 */
typedef struct SkxDiskKeyPage
{
	uint32		first_group;	/* number of the first group below it */
	uint16		n;				/* groups or children */
	uint8		column;			/* of the index, from 0 */
	uint8		level;			/* 0: leaf */
} SkxDiskKeyPage;

StaticAssertDecl(sizeof(SkxDiskKeyPage) == 8, "key page size");

/*
 * A group of documents and their keys.
 *
 * The body begins with a bit for each document, set where the key is NULL
 * (SKX_KEY_GROUP_DOCS / 8 bytes), if some but not all keys are NULL.  Two
 * plain bit strings follow, each at a byte boundary: the low low_width bits of
 * (key - least) of each document, then the high_width bits above these.  A
 * NULL has zeros there.
 */
typedef struct SkxDiskKeyGroup
{
	uint64		least;			/* least key; above most if all are NULL */
	uint64		most;			/* most key */
	uint16		body;			/* page offset of the body */
	uint8		low_width;		/* 0 to 32 */
	uint8		high_width;		/* 0 unless low_width is 32 */
	uint16		ndocs;			/* 1 to SKX_KEY_GROUP_DOCS */
	uint16		nnull;			/* documents whose key is NULL */
} SkxDiskKeyGroup;

StaticAssertDecl(sizeof(SkxDiskKeyGroup) == 24, "key group size");

/* A child of an inner page, with the range of the keys below it. */
typedef struct SkxDiskKeyChild
{
	uint64		least;
	uint64		most;
	uint32		page;			/* ordinal in the keys plane */
	uint32		first_group;	/* number of the first group below it */
} SkxDiskKeyChild;

StaticAssertDecl(sizeof(SkxDiskKeyChild) == 24, "key child size");

/* Most children of an inner page. */
#define SKX_KEY_CHILDREN_MAX \
	((SKX_PAGE_CAPACITY - sizeof(SkxDiskKeyPage)) / sizeof(SkxDiskKeyChild))

/* Bound of the levels of a tree.  A tree of 2^31 documents has fewer. */
#define SKX_KEY_LEVELS_MAX		5

/*
 * Number of quantiles of the keys that are not NULL.  About as many keys lie
 * between two neighbouring quantiles as between any other two.  The first
 * quantile is the least key, the last one the most.  All are 0 if all keys are
 * NULL.
 */
#define SKX_KEY_QUANTILES	25

/* A column with keys, on the last page of the plane. */
typedef struct SkxDiskKeyColumn
{
	uint64		quantiles[SKX_KEY_QUANTILES];
	uint32		root;			/* page ordinal of the tree's root */
	uint32		nnull;			/* documents whose key is NULL */
	uint8		column;			/* of the index, from 0 */
	uint8		kind;			/* SkxKeyKind */
	uint8		width;			/* bytes of a canonical form; scale of a
								 * decimal */
	uint8		level;			/* of the root */
	uint32		reserved;
} SkxDiskKeyColumn;

StaticAssertDecl(sizeof(SkxDiskKeyColumn) == 216, "key column size");
StaticAssertDecl(SKX_KEY_COLUMNS_MAX * sizeof(SkxDiskKeyColumn) <=
				 SKX_PAGE_CAPACITY, "key columns have one page");

/*
 * Returns true if kind and width of the column fit together.  The cases are
 * the values of SkxKeyKind (index/column/column_key.h).
 */
static inline bool
skx_disk_key_column_is_valid(const SkxDiskKeyColumn *column)
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
