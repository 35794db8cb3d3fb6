/*
 * segment_dict_writer.c
 *	  Writes the dictionary of a segment, lexeme after lexeme.
 *
 * Leaves come first, in the order of their lexemes, then level after level,
 * the root last.  What a level needs to know of the one below, the key and the
 * ordinal of each page, is kept until that one is complete: a dozen bytes for
 * some hundred lexemes.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "segment/segment_internal.h"

#define SKX_DICT_RESTARTS_MAX \
	(SKX_PAGE_CAPACITY / (3 * SKX_DICT_RESTART) + 1)

/* A page of the level being written; its key follows. */
typedef struct SkxDictChild
{
	uint32		ordinal;
	uint32		len;
} SkxDictChild;

struct SkxDictWriter
{
	SkxPlaneWriter *plane;
	uint32		nterms;
	uint32		npages;
	int			level;			/* being written */
	StringInfoData children;	/* SkxDictChild and key, of the pages of it */

	/* the page being filled */
	char	   *page;
	uint32		used;			/* page offset where the entries end */
	uint32		nentries;
	uint32		first_term;
	uint16		restarts[SKX_DICT_RESTARTS_MAX];
	uint32		nrestarts;
	int			len;			/* key of the last entry */
	char		key[SKX_LEXEME_MAX];
};

/* Begins a page, to which `key` leads from above. */
static void
skx_segment_dict_page(SkxDictWriter *dict, const char *key, int len)
{
	SkxDictChild child;

	child.ordinal = dict->npages;
	child.len = len;
	appendBinaryStringInfo(&dict->children, (char *) &child, sizeof(child));
	appendBinaryStringInfo(&dict->children, key, len);
	dict->used = SKX_PAGE_START + sizeof(SkxDiskDictPage);
	dict->nentries = 0;
	dict->nrestarts = 0;
	dict->len = 0;
	dict->first_term = dict->nterms;
}

SkxDictWriter *
skx_segment_dict_begin(SkxPlaneWriter *plane)
{
	SkxDictWriter *dict = palloc0(sizeof(SkxDictWriter));

	dict->plane = plane;
	dict->page = palloc0(BLCKSZ);
	initStringInfo(&dict->children);
	skx_segment_dict_page(dict, "", 0);
	return dict;
}

static int
skx_segment_dict_shared(const char *a, int alen, const char *b, int blen)
{
	int			most = Min(alen, blen);
	int			i = 0;

	while (i < most && a[i] == b[i])
		i++;
	return i;
}

static void
skx_segment_dict_flush(SkxDictWriter *dict)
{
	SkxDiskDictPage *head = (SkxDiskDictPage *) (dict->page + SKX_PAGE_START);
	uint32		restarts = TYPEALIGN(2, dict->used);

	memset(head, 0, sizeof(*head));
	head->nentries = (uint16) dict->nentries;
	head->level = (uint16) dict->level;
	head->nrestarts = (uint16) dict->nrestarts;
	head->restarts = (uint16) restarts;
	head->first_term = dict->level == 0 ? dict->first_term : 0;
	if (restarts > dict->used)
		dict->page[dict->used] = 0;
	memcpy(dict->page + restarts, dict->restarts,
		   dict->nrestarts * sizeof(uint16));
	skx_segment_plane_put(dict->plane, dict->npages++, dict->page,
						  restarts + dict->nrestarts * sizeof(uint16) -
						  SKX_PAGE_START);
}

/* Adds an entry to the page, or to a new one. */
static void
skx_segment_dict_put(SkxDictWriter *dict, const char *key, int len,
					 const uint8 *value, uint32 nvalue)
{
	int			common = skx_segment_dict_shared(dict->key, dict->len,
												 key, len);
	int			shared;
	uint8	   *to;

	shared = dict->nentries % SKX_DICT_RESTART == 0 ? 0 : common;
	if (dict->nentries > 0 &&
		dict->used + 2 * SKX_VARINT32_MAX + (len - shared) + nvalue + 1 +
		(dict->nrestarts + 1) * sizeof(uint16) > SKX_PAGE_END)
	{
		skx_segment_dict_flush(dict);

		/*
		 * One byte more than is shared tells two leaves apart.  The last key
		 * of an inner page is not its last lexeme, so keys stay whole there.
		 */
		skx_segment_dict_page(dict, key,
							  dict->level > 0 ? len : Min(common + 1, len));
		shared = 0;
	}
	if (dict->nentries % SKX_DICT_RESTART == 0)
		dict->restarts[dict->nrestarts++] = (uint16) dict->used;
	to = (uint8 *) dict->page + dict->used;
	to = skx_codec_varint32_put(to, shared);
	to = skx_codec_varint32_put(to, len - shared);
	memcpy(to, key + shared, len - shared);
	to += len - shared;
	memcpy(to, value, nvalue);
	to += nvalue;
	dict->used = (char *) to - dict->page;
	dict->nentries++;
	memcpy(dict->key + shared, key + shared, len - shared);
	dict->len = len;
}

/* Adds a lexeme, larger than all before, with its value. */
void
skx_segment_dict_add(SkxDictWriter *dict, const char *lexeme, int len,
					 const uint8 *value, uint32 nvalue)
{
	Assert(len <= SKX_LEXEME_MAX);
	Assert(nvalue <= SKX_DICT_VALUE_MAX);
	skx_segment_dict_put(dict, lexeme, len, value, nvalue);
	dict->nterms++;
}

uint32
skx_segment_dict_end(SkxDictWriter *dict)
{
	if (dict->nterms == 0)
		return 0;
	skx_segment_dict_flush(dict);
	for (;;)
	{
		StringInfoData below = dict->children;
		SkxDictChild child;
		int			at = 0;

		memcpy(&child, below.data, sizeof(child));
		if (sizeof(child) + child.len == below.len)
			return dict->npages - 1;
		dict->level++;
		initStringInfo(&dict->children);
		skx_segment_dict_page(dict, "", 0);
		while (at < below.len)
		{
			uint8		value[SKX_VARINT32_MAX];

			memcpy(&child, below.data + at, sizeof(child));
			skx_segment_dict_put(dict, below.data + at + sizeof(child),
								 child.len, value,
								 skx_codec_varint32_put(value,
														child.ordinal) - value);
			at += sizeof(child) + child.len;
		}
		skx_segment_dict_flush(dict);
		pfree(below.data);
	}
}
