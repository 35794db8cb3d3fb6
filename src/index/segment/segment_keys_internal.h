/*
 * segment_keys_internal.h
 *	  Declarations that the files which read keys share.
 */
#ifndef SKX_SEGMENT_KEYS_INTERNAL_H
#define SKX_SEGMENT_KEYS_INTERNAL_H

#include "format/codec/codec.h"
#include "format/disk/disk_keys.h"
#include "index/segment/segment_keys.h"

/* A reader of the keys of one column of a segment. */
struct SkxKeyReader
{
	SkxSegment *seg;
	SkxDiskKeyColumn column;	/* as it is on disk */
	SkxKeyColumn key;			/* how values become keys */
	uint32		ngroups;		/* of the segment */
	SkxBlkRef	refs[SKX_KEY_LEVELS_MAX];	/* a page of each level */
	const SkxDiskKeyPage *leaf; /* pinned, or NULL */
	uint32		leaf_page;		/* ordinal of leaf */
	uint64		reads;			/* for skx_segment_has_read */
};

/* The encoded keys of a group of documents. */
typedef struct SkxKeyBody
{
	const SkxDiskKeyGroup *group;
	const uint8 *nulls;			/* a bit for each document, set if its key is
								 * NULL; NULL if none or all are */
	const uint8 *low_bits;		/* bit string of the low bits of keys */
	const uint8 *high_bits;		/* bit string of the high bits */
	const uint8 *end;			/* of the page's content */
} SkxKeyBody;

/* segment_keys_reader.c : reads pages of keys */

/*
 * Raises ERRCODE_INDEX_CORRUPTED with the file block of page `page` of the
 * keys plane, and `what` as detail.
 */
SKX_NORETURN extern void skx_segment_keys_damaged(const SkxKeyReader *reader,
												  uint32 page,
												  const char *what);

/*
 * Pins page `ordinal` of a level and returns its head.  Raises an error if it
 * is of another column or level, or its number of entries is impossible.  The
 * pin replaces that of the level's last page, so that the leaf must not be
 * used after a call for level 0.
 */
extern const SkxDiskKeyPage *skx_segment_keys_page(SkxKeyReader *reader,
												   uint32 ordinal, int level);

/*
 * Returns the number of the child of an inner page that has the group: the
 * last one that does not begin after the group, or 0.
 */
extern int	skx_segment_keys_child(const SkxDiskKeyPage *page, uint32 group);

/*
 * Makes page `ordinal` the reader's leaf.  Raises an error if the group is
 * not on it.
 */
extern void skx_segment_keys_pin_leaf(SkxKeyReader *reader, uint32 ordinal,
									  uint32 group);

/*
 * Returns a group, after descending to its leaf if the reader is on another
 * one.  The result is valid as long as the reader stays on the leaf.
 */
extern const SkxDiskKeyGroup *skx_segment_keys_group(SkxKeyReader *reader,
													 uint32 group);

/*
 * Finds the encoded keys of a group of the current leaf.  Raises an error if
 * they end after the page's content.  body is valid as long as the reader
 * stays on the leaf.
 */
extern void skx_segment_keys_body(SkxKeyReader *reader,
								  const SkxDiskKeyGroup *group,
								  SkxKeyBody *body);

/*
 * Prefetches the leaves of n ascending documents, the first
 * SKX_PREFETCH_UNITS_MAX of them, if there are two or more.  Does nothing if
 * the backend has read no page since the last call.
 */
extern void skx_segment_keys_prefetch(SkxKeyReader *reader, const uint32 *docs,
									  int n);

/* Unpins all pages that a reader holds, its leaf included. */
extern void skx_segment_keys_unpin(SkxKeyReader *reader);

/* Returns the groups of a leaf, leaf->n of them. */
static inline const SkxDiskKeyGroup *
skx_keys_groups(const SkxDiskKeyPage *leaf)
{
	return (const SkxDiskKeyGroup *) (leaf + 1);
}

/* Returns the children of an inner page, page->n of them. */
static inline const SkxDiskKeyChild *
skx_keys_children(const SkxDiskKeyPage *page)
{
	return (const SkxDiskKeyChild *) (page + 1);
}

/* Returns true if a group is on the reader's current leaf. */
static inline bool
skx_keys_on_leaf(const SkxKeyReader *reader, uint32 group)
{
	return reader->leaf != NULL && group >= reader->leaf->first_group &&
		group - reader->leaf->first_group < reader->leaf->n;
}

/* Returns true if key i of a group is NULL. */
static inline bool
skx_keys_is_null(const SkxKeyBody *body, uint32 i)
{
	if (body->nulls != NULL)
		return skx_bitset_bytes_test(body->nulls, i);
	return body->group->nnull > 0;
}

/*
 * Returns key i of a group less the group's least key.  i must be below the
 * number of documents of the group, and the result for a NULL is meaningless.
 */
static inline uint64
skx_keys_delta(const SkxKeyBody *body, uint32 i)
{
	uint32		low = 0;
	uint32		high = 0;

	(void) skx_codec_bits_get(body->low_bits, body->end, i,
							  body->group->low_width, &low);
	if (body->group->high_width > 0)
		(void) skx_codec_bits_get(body->high_bits, body->end, i,
								  body->group->high_width, &high);
	return (uint64) high << 32 | low;
}

#endif							/* SKX_SEGMENT_KEYS_INTERNAL_H */
