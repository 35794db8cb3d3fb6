/*
 * writer_dict.c
 *	  Writes the dictionary of a segment, lexeme after lexeme.
 *
 * Leaves come first, in the order of their lexemes, then level after level,
 * with the root last.  A level needs the key and the ordinal of each page of
 * the level below.  These are kept until that level is complete: a dozen bytes
 * for some hundred lexemes.
 *
 * The first entry of a leaf settles what its pages are counted from.  So an
 * entry that does not fit on a leaf is encoded again for the next one.
 */
#include "postgres.h"

#include "write/writer/writer.h"

#define SKX_DICT_RESTARTS_MAX \
	(SKX_PAGE_CAPACITY / (3 * SKX_DICT_RESTART_ENTRIES) + 1)

/* Most bytes of the value of an entry: its numbers, and an inline list. */
#define SKX_DICT_VALUE_MAX	(10 * SKX_VARINT64_MAX + SKX_INLINE_BYTES)

struct SkxDictWriter
{
	SkxPageSink sink;
	void	   *arg;
	uint32		nterms;
	uint32		npages;
	int			level;			/* level being written */
	SkxDictLeaves children;		/* its pages; n is the ordinal of the next one */

	/* the page being filled */
	char	   *page;
	uint32		used;			/* page offset where the entries end */
	uint32		nentries;
	SkxDiskDictPage head;		/* for a leaf: what its entries count from */
	uint16		restarts[SKX_DICT_RESTARTS_MAX];
	uint32		nrestarts;
	int			len;			/* key of the last entry */
	char		key[SKX_LEXEME_MAX];
};

/* Appends a key that leads to the next page of a level. */
static void
skx_writer_dict_add_child(SkxDictLeaves *to, const char *key, uint32 len)
{
	SkxDictChild child;

	child.ordinal = to->n++;
	child.len = len;
	appendBinaryStringInfo(&to->keys, (char *) &child, sizeof(child));
	appendBinaryStringInfo(&to->keys, key, len);
}

/* Begins a page, to which `key` leads from above. */
static void
skx_writer_dict_page(SkxDictWriter *dict, const char *key, int len)
{
	skx_writer_dict_add_child(&dict->children, key, len);
	dict->used = SKX_PAGE_START + sizeof(SkxDiskDictPage);
	dict->nentries = 0;
	dict->nrestarts = 0;
	dict->len = 0;
}

SkxDictWriter *
skx_writer_dict_begin(SkxPageSink sink, void *arg)
{
	SkxDictWriter *dict = palloc0(sizeof(SkxDictWriter));

	dict->sink = sink;
	dict->arg = arg;
	dict->page = palloc0(BLCKSZ);
	initStringInfo(&dict->children.keys);
	return dict;
}

static int
skx_writer_dict_common_bytes(const char *a, int alen, const char *b, int blen)
{
	int			most = Min(alen, blen);
	int			i = 0;

	while (i < most && a[i] == b[i])
		i++;
	return i;
}

static void
skx_writer_dict_flush(SkxDictWriter *dict)
{
	SkxDiskDictPage *head = (SkxDiskDictPage *) (dict->page + SKX_PAGE_START);
	uint32		restarts = TYPEALIGN(2, dict->used);

	*head = dict->head;
	head->nentries = (uint16) dict->nentries;
	head->nrestarts = (uint16) dict->nrestarts;
	head->restarts = (uint16) restarts;
	if (restarts > dict->used)
		dict->page[dict->used] = 0;
	memcpy(dict->page + restarts, dict->restarts,
		   dict->nrestarts * sizeof(uint16));
	dict->sink(dict->arg, dict->npages++, dict->page,
			   restarts + dict->nrestarts * sizeof(uint16) - SKX_PAGE_START);
}

/*
 * Returns how many bytes the next key takes from the last one: `common`, or 0
 * at a restart.
 */
static int
skx_writer_dict_key_bytes(const SkxDictWriter *dict, int common)
{
	return dict->nentries % SKX_DICT_RESTART_ENTRIES == 0 ? 0 : common;
}

/*
 * Returns true if a key that has `common` bytes in common with the last one,
 * and its value, fit on the page.
 */
static bool
skx_writer_dict_entry_fits(const SkxDictWriter *dict, int common, int len,
						   uint32 nvalue)
{
	int			shared = skx_writer_dict_key_bytes(dict, common);

	return dict->nentries == 0 ||
		dict->used + 2 * SKX_VARINT32_MAX + (len - shared) + nvalue + 1 +
		(dict->nrestarts + 1) * sizeof(uint16) <= SKX_PAGE_END;
}

/* Adds an entry to the page. */
static void
skx_writer_dict_put_entry(SkxDictWriter *dict, int common, const char *key,
						  int len, const uint8 *value, uint32 nvalue)
{
	int			shared = skx_writer_dict_key_bytes(dict, common);
	uint8	   *to = (uint8 *) dict->page + dict->used;

	if (dict->nentries % SKX_DICT_RESTART_ENTRIES == 0)
		dict->restarts[dict->nrestarts++] = (uint16) dict->used;
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

/*
 * Leaves
 */

static uint8 *
skx_writer_dict_long(const SkxDictEntry *entry, uint32 first, uint8 *to)
{
	int			i;

	to = skx_codec_varint32_put(to, entry->list.page - first);
	to = skx_codec_varint32_put(to, entry->list.offset);
	to = skx_codec_varint32_put(to, entry->list.nnodes);
	for (i = 0; i < 8; i++)
		*to++ = (uint8) (entry->list.impacts >> (8 * i));
	for (i = 0; i < entry->nkths; i++)
	{
		*to++ = (uint8) (entry->kths[i] >> 8);
		*to++ = (uint8) entry->kths[i];
	}
	if (entry->flags & SKX_TERM_TABLE_PAGES)
		to = skx_codec_varint32_put(to, entry->list.table_page - first);
	return to;
}

/* Encodes the value of an entry for the current leaf; returns its length. */
static uint32
skx_writer_dict_value(const SkxDictWriter *dict, const SkxDictEntry *entry,
					  uint8 *value)
{
	uint32		first = dict->head.postings_page;
	uint8	   *to = value;

	to = skx_codec_varint32_put(to, entry->df);
	*to++ = entry->flags;
	to = skx_codec_varint64_put(to, entry->npositions);
	switch (entry->flags & SKX_TERM_FORM_MASK)
	{
		case SKX_TERM_INLINE:
			to = skx_codec_varint32_put(to, entry->nbytes);
			memcpy(to, entry->bytes, entry->nbytes);
			to += entry->nbytes;
			break;
		case SKX_TERM_SHORT:
			to = skx_codec_varint32_put(to, entry->list.page - first);
			to = skx_codec_varint32_put(to, entry->list.offset);
			to = skx_codec_varint32_put(to, entry->nbytes);
			break;
		default:
			to = skx_writer_dict_long(entry, first, to);
	}
	if ((entry->flags & SKX_TERM_OWN_POSITIONS) == 0 && entry->npositions > 0)
	{
		to = skx_codec_varint32_put(to, entry->positions.page -
									dict->head.positions_page);
		to = skx_codec_varint32_put(to, entry->positions.offset);
	}
	Assert(to - value <= SKX_DICT_VALUE_MAX);
	return to - value;
}

/* Begins a leaf, whose entries count from its first one, `entry`. */
static void
skx_writer_dict_leaf(SkxDictWriter *dict, const char *key, int len,
					 const SkxDictEntry *entry)
{
	skx_writer_dict_page(dict, key, len);
	dict->head.first_term = dict->nterms;
	dict->head.postings_page = entry->postings_page;
	dict->head.positions_page = entry->positions_page;
}

void
skx_writer_dict_add(SkxDictWriter *dict, const char *lexeme, int len,
					const SkxDictEntry *entry)
{
	int			common = skx_writer_dict_common_bytes(dict->key, dict->len,
													  lexeme, len);
	uint8		value[SKX_DICT_VALUE_MAX];
	uint32		nvalue;

	Assert(len <= SKX_LEXEME_MAX);
	if (dict->nterms == 0)
		skx_writer_dict_leaf(dict, "", 0, entry);
	nvalue = skx_writer_dict_value(dict, entry, value);
	if (!skx_writer_dict_entry_fits(dict, common, len, nvalue))
	{
		skx_writer_dict_flush(dict);
		/* one byte more than the common bytes tells two leaves apart */
		skx_writer_dict_leaf(dict, lexeme, Min(common + 1, len), entry);
		nvalue = skx_writer_dict_value(dict, entry, value);
	}
	skx_writer_dict_put_entry(dict, common, lexeme, len, value, nvalue);
	dict->nterms++;
}

void
skx_writer_dict_leaves(SkxDictWriter *dict, SkxDictLeaves *leaves)
{
	if (dict->nterms > 0)
		skx_writer_dict_flush(dict);
	*leaves = dict->children;
}

void
skx_writer_dict_relocate(char *page, uint32 terms, uint32 postings,
						 uint32 positions)
{
	SkxDiskDictPage *head = (SkxDiskDictPage *) (page + SKX_PAGE_START);

	Assert(head->level == 0);
	head->first_term += terms;
	head->postings_page += postings;
	head->positions_page += positions;
}

/*
 * Levels above the leaves
 */

/* Returns the key at *at, sets *child, and moves *at to the next key. */
static const char *
skx_writer_dict_next_leaf_key(const SkxDictLeaves *leaves, int *at,
							  SkxDictChild *child)
{
	const char *from = leaves->keys.data + *at;

	memcpy(child, from, sizeof(*child));
	*at += sizeof(*child) + child->len;
	return from + sizeof(*child);
}

void
skx_writer_dict_join(SkxDictLeaves *leaves, const SkxDictLeaves *after,
					 const char *key, int len)
{
	int			at = 0;

	while (at < after->keys.len)
	{
		bool		first = at == 0;
		SkxDictChild child;
		const char *own = skx_writer_dict_next_leaf_key(after, &at, &child);

		if (first && leaves->n > 0)
			skx_writer_dict_add_child(leaves, key, len);
		else
			skx_writer_dict_add_child(leaves, own, child.len);
	}
}

/* Writes the level above `below`, and sets dict->children to its pages. */
static void
skx_writer_dict_level(SkxDictWriter *dict, const SkxDictLeaves *below)
{
	int			at = 0;

	dict->head.level++;
	dict->children.n = dict->npages;
	initStringInfo(&dict->children.keys);
	skx_writer_dict_page(dict, "", 0);
	while (at < below->keys.len)
	{
		SkxDictChild child;
		const char *key = skx_writer_dict_next_leaf_key(below, &at, &child);
		int			common = skx_writer_dict_common_bytes(dict->key, dict->len,
														  key, child.len);
		uint8		value[SKX_VARINT32_MAX];
		uint32		nvalue = skx_codec_varint32_put(value, child.ordinal) -
			value;

		if (!skx_writer_dict_entry_fits(dict, common, child.len, nvalue))
		{
			/*
			 * the last key of a page is not its last lexeme, so keys are not
			 * cut
			 */
			skx_writer_dict_flush(dict);
			skx_writer_dict_page(dict, key, child.len);
		}
		skx_writer_dict_put_entry(dict, common, key, child.len, value, nvalue);
	}
	skx_writer_dict_flush(dict);
}

uint32
skx_writer_dict_levels(SkxPageSink sink, void *arg,
					   const SkxDictLeaves *leaves)
{
	SkxDictWriter *dict;
	SkxDictLeaves below = *leaves;

	if (leaves->n == 0)
		return 0;
	dict = skx_writer_dict_begin(sink, arg);
	dict->npages = leaves->n;
	for (;;)
	{
		SkxDictChild child;
		int			at = 0;

		skx_writer_dict_next_leaf_key(&below, &at, &child);
		if (at == below.keys.len)
			return child.ordinal;
		skx_writer_dict_level(dict, &below);
		if (below.keys.data != leaves->keys.data)
			pfree(below.keys.data);
		below = dict->children;
	}
}
