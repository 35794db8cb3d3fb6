/*
 * segment_keys_internal.h
 *	  Between the files that read keys.
 */
#ifndef SKX_SEGMENT_KEYS_INTERNAL_H
#define SKX_SEGMENT_KEYS_INTERNAL_H

#include "format/codec/codec.h"
#include "format/disk/disk_keys.h"
#include "index/segment/segment_keys.h"

struct SkxKeyReader
{
	SkxSegment *seg;
	SkxDiskKeyColumn column;
	SkxKeyColumn key;
	uint32		ngroups;
	SkxBlkRef	refs[SKX_KEY_LEVELS];	/* a page of each level */
	const SkxDiskKeyPage *leaf; /* pinned, or NULL */
	uint32		leaf_page;
	uint64		reads;			/* for skx_segment_cold */
};

/* The keys of a group: its NULLs (NULL: none or all), and its bit strings. */
typedef struct SkxKeyBody
{
	const SkxDiskKeyGroup *group;
	const uint8 *nulls;
	const uint8 *low;
	const uint8 *high;
	const uint8 *end;
} SkxKeyBody;

/*
 * segment_keys_reader.c
 *
 * page: of a level, with as many entries as it says.  child: the one that has the
 * group.  enter goes to a leaf that must have the group; group goes to the one
 * that has it.  body: where its keys are; the leaf must stay.  ask: for the
 * leaves of ascending documents, as far as they are not at hand.  relax gives up
 * all pages.
 */
SKX_NORETURN extern void skx_segment_keys_damaged(const SkxKeyReader *reader,
												  uint32 page,
												  const char *what);
extern const SkxDiskKeyPage *skx_segment_keys_page(SkxKeyReader *reader,
												   uint32 ordinal, int level);
extern int	skx_segment_keys_child(const SkxDiskKeyPage *page, uint32 group);
extern void skx_segment_keys_enter(SkxKeyReader *reader, uint32 ordinal,
								   uint32 group);
extern const SkxDiskKeyGroup *skx_segment_keys_group(SkxKeyReader *reader,
													 uint32 group);
extern void skx_segment_keys_body(SkxKeyReader *reader,
								  const SkxDiskKeyGroup *group,
								  SkxKeyBody *body);
extern void skx_segment_keys_ask(SkxKeyReader *reader, const uint32 *docs,
								 int n);
extern void skx_segment_keys_relax(SkxKeyReader *reader);

static inline const SkxDiskKeyGroup *
skx_keys_groups(const SkxDiskKeyPage *leaf)
{
	return (const SkxDiskKeyGroup *) (leaf + 1);
}

static inline const SkxDiskKeyChild *
skx_keys_children(const SkxDiskKeyPage *page)
{
	return (const SkxDiskKeyChild *) (page + 1);
}

static inline bool
skx_keys_on_leaf(const SkxKeyReader *reader, uint32 group)
{
	return reader->leaf != NULL && group >= reader->leaf->first_group &&
		group - reader->leaf->first_group < reader->leaf->n;
}

static inline bool
skx_keys_is_null(const SkxKeyBody *body, uint32 i)
{
	if (body->nulls != NULL)
		return (body->nulls[i / 8] >> (i % 8) & 1) != 0;
	return body->group->nnull > 0;
}

/* Key `i` of a group that has so many, less its least. */
static inline uint64
skx_keys_delta(const SkxKeyBody *body, uint32 i)
{
	uint32		low = 0;
	uint32		high = 0;

	(void) skx_codec_bits_get(body->low, body->end, i,
							  body->group->low_width, &low);
	if (body->group->high_width > 0)
		(void) skx_codec_bits_get(body->high, body->end, i,
								  body->group->high_width, &high);
	return (uint64) high << 32 | low;
}

#endif							/* SKX_SEGMENT_KEYS_INTERNAL_H */
