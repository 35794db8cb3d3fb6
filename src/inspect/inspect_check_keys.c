/*
 * inspect_check_keys.c
 *	  Checks the keys plane of a segment: its trees, and that each document has
 *	  the same keys as in the posting lists of values.
 *
 * Trees are decoded here from their own pages.  Then the reader that scans use
 * must find the same key of the first document of each group.  A document has
 * one key of each column, and is in the posting list of one value of it.  So
 * a sum of hashes over all keys equals the sum over all postings of values,
 * in whatever order they are read.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "format/codec/codec.h"
#include "format/disk/disk_keys.h"
#include "index/segment/segment_keys.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"

/* State of a walk over the tree of a column. */
typedef struct SkxCheckKeys
{
	SkxCheckSegment *cs;
	SkxCheckReader reader;
	SkxDiskKeyColumn column;
	SkxKeyReader *scan_reader;	/* reader that scans use */
	int			number;			/* of the column, among those with keys */
	uint32		group;			/* number of the next group */
	uint32		ngroups;		/* of the segment */
	uint32		nnull;			/* NULLs so far */
} SkxCheckKeys;

/* Least and most key of a subtree.  Without keys, least is above most. */
typedef struct SkxCheckKeyRange
{
	uint64		least;
	uint64		most;
} SkxCheckKeyRange;

static const SkxCheckKeyRange skx_no_keys = {PG_UINT64_MAX, 0};

#define skx_inspect_keys_damaged(k, ...) \
	skx_inspect_damaged(&(k)->reader, __VA_ARGS__)

static uint64
skx_inspect_hash_key(int column, uint32 doc, const SkxKey *key)
{
	uint64		parts[4] = {column, doc, key->value, key->is_null};

	return hash_bytes_extended((const unsigned char *) parts, sizeof(parts),
							   UINT64CONST(0x6B657973));
}

void
skx_inspect_add_key(SkxCheckSegment *cs, int column, uint32 doc,
					const SkxKey *key)
{
	cs->key_sums[column] -= skx_inspect_hash_key(column, doc, key);
}

void
skx_inspect_check_key_sums(SkxCheckSegment *cs)
{
	int			i;

	for (i = 0; i < cs->keys.n; i++)
		if (cs->key_sums[i] != 0)
			skx_damage_report_detail(cs->check->index,
									 skx_segment_block(cs->seg,
													   SKX_SEGMENT_KEYS, 0),
									 "the keys of column %d are not those of its values",
									 cs->keys.columns[i].column + 1);
}

static void
skx_inspect_widen_range(SkxCheckKeyRange *ends, uint64 least, uint64 most)
{
	ends->least = Min(ends->least, least);
	ends->most = Max(ends->most, most);
}

/* Decodes key `i` of a group on the reader's page. */
static void
skx_inspect_get_key(SkxCheckKeys *k, const SkxDiskKeyGroup *group, uint32 i,
					SkxKey *key)
{
	const uint8 *page = (const uint8 *) k->reader.page.data;
	const uint8 *end = page + k->reader.lower;
	const uint8 *low = page + group->body;
	bool		some = group->nnull > 0 && group->nnull < group->ndocs;
	const uint8 *nulls = low;
	uint32		parts[2];

	if (some)
		low += SKX_KEY_GROUP_DOCS / 8;
	key->is_null = some ? skx_bitset_bytes_test(nulls, i) : group->nnull > 0;
	if (!skx_codec_bits_get(low, end, i, group->low_width, &parts[0]) ||
		!skx_codec_bits_get(low + ((uint32) group->ndocs * group->low_width +
								   7) / 8, end, i, group->high_width,
							&parts[1]))
		skx_inspect_keys_damaged(k, "key group %u does not decode", k->group);
	if (key->is_null && (parts[0] | parts[1]) != 0)
		skx_inspect_keys_damaged(k, "key group %u has a NULL with a key",
								 k->group);
	key->value = key->is_null ? 0 :
		group->least + ((uint64) parts[1] << 32 | parts[0]);
}

/* Checks the next group, and widens *ends by its keys. */
static void
skx_inspect_key_group(SkxCheckKeys *k, const SkxDiskKeyGroup *group,
					  SkxCheckKeyRange *ends)
{
	SkxCheckKeyRange own = skx_no_keys;
	uint32		nnull = 0;
	SkxKey		found;
	uint32		i;

	for (i = 0; i < group->ndocs; i++)
	{
		uint32		doc = k->group * SKX_KEY_GROUP_DOCS + i;
		SkxKey		key;

		skx_inspect_get_key(k, group, i, &key);
		k->cs->key_sums[k->number] += skx_inspect_hash_key(k->number, doc,
														   &key);
		nnull += key.is_null ? 1 : 0;
		if (!key.is_null)
			skx_inspect_widen_range(&own, key.value, key.value);
		if (i > 0)
			continue;
		skx_segment_keys_read(k->scan_reader, doc, 1, &found);
		if (found.value != key.value || found.is_null != key.is_null)
			skx_inspect_keys_damaged(k, "a look-up of key group %u goes astray",
									 k->group);
	}
	if (nnull != group->nnull || own.least != group->least ||
		own.most != group->most)
		skx_inspect_keys_damaged(k, "key group %u is not what its head says",
								 k->group);
	k->nnull += nnull;
	k->group++;
	skx_inspect_widen_range(ends, own.least, own.most);
}

/* Checks a page and all pages below; returns their least and most key. */
static SkxCheckKeyRange
skx_inspect_key_page(SkxCheckKeys *k, uint32 ordinal, int level)
{
	SkxCheckKeyRange ends = skx_no_keys;
	SkxDiskKeyChild *children;
	const SkxDiskKeyPage *head;
	uint32		n;
	uint32		i;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	head = (const SkxDiskKeyPage *)
		(skx_inspect_reader_page(&k->reader, ordinal) + SKX_PAGE_START);
	if (head->level != level || head->column != k->column.column ||
		head->first_group != k->group || head->n > k->ngroups - k->group)
		skx_inspect_keys_damaged(k, "the key page does not go on with group %u",
								 k->group);
	n = head->n;
	for (i = 0; level == 0 && i < n; i++)
		skx_inspect_key_group(k, (const SkxDiskKeyGroup *) (head + 1) + i,
							  &ends);
	if (level == 0)
		return ends;
	children = palloc(n * sizeof(SkxDiskKeyChild));
	memcpy(children, head + 1, n * sizeof(SkxDiskKeyChild));
	for (i = 0; i < n; i++)
	{
		SkxCheckKeyRange below;

		if (children[i].first_group != k->group)
			skx_inspect_keys_damaged(k, "a key page has a child of group %u, not %u",
									 children[i].first_group, k->group);
		below = skx_inspect_key_page(k, children[i].page, level - 1);
		if (below.least != children[i].least || below.most != children[i].most)
			skx_damage_report_detail(k->cs->check->index,
									 skx_segment_block(k->cs->seg,
													   SKX_SEGMENT_KEYS,
													   ordinal),
									 "the keys below child %u are not between those given",
									 i);
		skx_inspect_widen_range(&ends, below.least, below.most);
	}
	pfree(children);
	return ends;
}

/* Checks the tree of a column against the column's entry. */
static void
skx_inspect_check_tree(SkxCheckKeys *k)
{
	const uint64 *quantiles = k->column.quantiles;
	SkxCheckKeyRange ends;

	k->group = k->nnull = 0;
	ends = skx_inspect_key_page(k, k->column.root, k->column.level);
	if (k->group != k->ngroups || k->nnull != k->column.nnull ||
		(ends.least <= ends.most &&
		 (quantiles[0] != ends.least ||
		  quantiles[SKX_KEY_QUANTILES - 1] != ends.most)))
		skx_inspect_keys_damaged(k,
								 "the keys of column %u are not what its entry says",
								 k->column.column + 1);
}

void
skx_inspect_check_keys(SkxCheckSegment *cs)
{
	uint32		npages = cs->seg->planes[SKX_SEGMENT_KEYS].npages;
	SkxDiskKeyColumn *columns;
	SkxCheckKeys k = {0};
	int			i;

	cs->keys.n = cs->seg->header.nkeys;
	if (cs->keys.n == 0)
		return;
	cs->key_sums = palloc0(cs->keys.n * sizeof(uint64));
	k.cs = cs;
	k.ngroups = (cs->ndocs + SKX_KEY_GROUP_DOCS - 1) / SKX_KEY_GROUP_DOCS;
	skx_inspect_reader_init(&k.reader, cs->check, cs->seg, SKX_SEGMENT_KEYS);
	columns = palloc(cs->keys.n * sizeof(SkxDiskKeyColumn));
	memcpy(columns, skx_inspect_reader_page(&k.reader, npages - 1) +
		   SKX_PAGE_START, cs->keys.n * sizeof(SkxDiskKeyColumn));
	for (i = 0; i < cs->keys.n; i++)
	{
		k.number = i;
		k.column = columns[i];
		/* it reads through the cache, which may have another page */
		k.scan_reader = skx_segment_keys_open(cs->seg, columns[i].column);
		if (k.scan_reader == NULL)
			skx_inspect_keys_damaged(&k,
									 "scans find no keys of column %u",
									 k.column.column + 1);
		cs->keys.columns[i] = *skx_segment_keys_column(k.scan_reader);
		skx_inspect_check_tree(&k);
		skx_segment_keys_close(k.scan_reader);
	}
	pfree(columns);
	skx_inspect_reader_free(&k.reader);
}
