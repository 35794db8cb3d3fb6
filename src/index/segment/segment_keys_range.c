/*
 * segment_keys_range.c
 *	  Finds the documents whose keys of a column are in a range.
 *
 * A search skips inner pages and groups whose least and most key exclude the
 * range.  The keys of a group are tested together if many of its documents
 * are looked up, and one by one otherwise.
 */
#include "postgres.h"

#include "index/segment/segment_keys_internal.h"
#include "miscadmin.h"
#include "support/bitset/bitset.h"

/* Number of documents of a group from which on all its keys are tested. */
#define SKX_KEYS_TEST_ALL_DOCS	6

/*
 * Inner pages that skx_segment_keys_to_test() reads at most, below the root.
 */
#define SKX_KEYS_ESTIMATE_PAGES		8

#define SKX_KEY_WORDS		SKX_BITSET_WORDS(SKX_KEY_GROUP_DOCS)

uint64		skx_segment_keys_tested;

static inline bool
skx_keys_overlap(uint64 least, uint64 most, const SkxKeyRange *range)
{
	return least <= range->most && most >= range->least;
}

/*
 * Returns the share of keys that are in the range, if keys are spread evenly
 * from `least` to `most`.
 */
static double
skx_keys_range_fraction(uint64 least, uint64 most, const SkxKeyRange *range)
{
	if (!skx_keys_overlap(least, most, range))
		return 0;
	return ((double) (Min(most, range->most) - Max(least, range->least)) + 1) /
		((double) (most - least) + 1);
}

int
skx_segment_keys_quantiles(const SkxKeyReader *reader, uint64 *quantiles)
{
	if (reader->column.nnull >= reader->seg->header.ndocs)
		return 0;
	memcpy(quantiles, reader->column.quantiles,
		   sizeof(reader->column.quantiles));
	return SKX_KEY_QUANTILES;
}

double
skx_segment_keys_fraction(const SkxKeyReader *reader, const SkxKeyRange *range)
{
	const uint64 *quantiles = reader->column.quantiles;
	uint32		ndocs = reader->seg->header.ndocs;
	uint32		nvalues = ndocs - Min(reader->column.nnull, ndocs);
	double		parts = 0;
	int			i;

	for (i = 1; i < SKX_KEY_QUANTILES; i++)
		parts += skx_keys_range_fraction(quantiles[i - 1], quantiles[i],
										 range);
	return nvalues == 0 ? 0 :
		Min(parts / (SKX_KEY_QUANTILES - 1), 1) * nvalues / ndocs;
}

/*
 * Returns the first group from `group` on that may have keys in the range,
 * and puts the reader on its leaf.  Returns ngroups if there is none.
 */
static uint32
skx_keys_next_group(SkxKeyReader *reader, const SkxKeyRange *range,
					uint32 group)
{
	while (group < reader->ngroups)
	{
		uint32		ordinal = reader->column.root;
		uint32		end = reader->ngroups;	/* group after those of the page */
		int			level = reader->column.level;
		bool		on_leaf = skx_keys_on_leaf(reader, group);

		CHECK_FOR_INTERRUPTS();
		for (; level > 0 && !on_leaf; level--)
		{
			const SkxDiskKeyPage *page = skx_segment_keys_page(reader, ordinal, level);
			const SkxDiskKeyChild *children = skx_keys_children(page);
			int			i = skx_segment_keys_child(page, group);

			while (i < page->n && !skx_keys_overlap(children[i].least,
													children[i].most, range))
				i++;
			if (i == page->n)
				break;
			group = Max(group, children[i].first_group);
			if (i + 1 < page->n)
				end = children[i + 1].first_group;
			ordinal = children[i].page;
		}
		if (on_leaf || level == 0)
		{
			if (!on_leaf)
				skx_segment_keys_pin_leaf(reader, ordinal, group);
			end = reader->leaf->first_group + reader->leaf->n;
			for (; group < end; group++)
			{
				const SkxDiskKeyGroup *g = skx_segment_keys_group(reader, group);

				if (skx_keys_overlap(g->least, g->most, range))
					return group;
			}
		}
		if (end <= group && !on_leaf && level > 0)
			skx_segment_keys_damaged(reader, ordinal, "key pages do not ascend");
		group = Max(end, group);
	}
	return reader->ngroups;
}

uint32
skx_segment_keys_next_candidate(SkxKeyReader *reader, const SkxKeyRange *range,
								uint32 doc)
{
	uint32		group = skx_keys_next_group(reader, range,
											doc / SKX_KEY_GROUP_DOCS);

	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
	if (group >= reader->ngroups)
		return SKX_NO_DOC;
	return Max(doc, group * SKX_KEY_GROUP_DOCS);
}

/*
 * Returns the estimated number of groups below a page whose keys meet the
 * range; `end` is the group after those of the page.  *pages is the number of
 * inner pages that may still be read.  Other children that meet the range
 * are not read and count with all their groups, and so do leaves below an
 * inner page.
 */
static uint32
skx_keys_count_overlapping(SkxKeyReader *reader, uint32 ordinal, int level,
						   uint32 end, const SkxKeyRange *range, int *pages)
{
	const SkxDiskKeyPage *page = skx_segment_keys_page(reader, ordinal, level);
	const SkxDiskKeyChild *children = skx_keys_children(page);
	const SkxDiskKeyGroup *groups = skx_keys_groups(page);
	uint32		met = 0;
	int			i;

	for (i = 0; i < page->n; i++)
	{
		uint32		stop;

		if (level == 0)
		{
			if (skx_keys_overlap(groups[i].least, groups[i].most, range))
				met++;
			continue;
		}
		if (!skx_keys_overlap(children[i].least, children[i].most, range))
			continue;
		stop = i + 1 < page->n ? children[i + 1].first_group : end;
		if (level > 1 && (*pages)-- > 0)
			met += skx_keys_count_overlapping(reader, children[i].page,
											  level - 1, stop, range, pages);
		else
			met += stop - Min(children[i].first_group, stop);
	}
	return met;
}

uint32
skx_segment_keys_to_test(SkxKeyReader *reader, const SkxKeyRange *range)
{
	int			pages = SKX_KEYS_ESTIMATE_PAGES;
	uint64		met;

	met = skx_keys_count_overlapping(reader, reader->column.root,
									 reader->column.level, reader->ngroups,
									 range, &pages);
	/* skx_keys_count_overlapping() may have replaced the pin of the leaf */
	reader->leaf = NULL;
	return Min(met * SKX_KEY_GROUP_DOCS, reader->seg->header.ndocs);
}

/*
 * A group that is tested on a range.  Fields from `min_delta` on are set only
 * if single keys must be tested.
 */
typedef struct SkxKeyTest
{
	const SkxDiskKeyGroup *group;
	bool		none_in_range;	/* no key is in the range */
	bool		all_in_range;	/* all keys are in the range */
	uint64		min_delta;		/* ends of the range, less the least key of
								 * the group */
	uint64		max_delta;
	SkxKeyBody	body;
} SkxKeyTest;

static void
skx_keys_test_group(SkxKeyReader *reader, const SkxKeyRange *range,
					uint32 number, SkxKeyTest *test)
{
	const SkxDiskKeyGroup *group = skx_segment_keys_group(reader, number);

	test->group = group;
	test->none_in_range = group->least > group->most ||
		!skx_keys_overlap(group->least, group->most, range);
	test->all_in_range = !test->none_in_range && group->nnull == 0 &&
		group->least >= range->least && group->most <= range->most;
	if (test->none_in_range || test->all_in_range)
		return;
	test->min_delta = range->least > group->least ?
		range->least - group->least : 0;
	test->max_delta = range->most - group->least;
	skx_segment_keys_body(reader, group, &test->body);
}

static inline bool
skx_keys_is_in_range(const SkxKeyTest *test, uint32 i)
{
	uint64		delta;

	if (test->none_in_range || test->all_in_range)
		return test->all_in_range;
	skx_segment_keys_tested++;
	if (i >= test->group->ndocs || skx_keys_is_null(&test->body, i))
		return false;
	delta = skx_keys_delta(&test->body, i);
	return delta >= test->min_delta && delta <= test->max_delta;
}

/*
 * Sets the bits of those documents of the group for which one part of the
 * key, less the group's least key, is in [least, most]: the high 32 bits if
 * `high` is true, otherwise the low ones.  Returns false if the keys do not
 * decode.
 */
static inline bool
skx_keys_between(const SkxKeyTest *test, bool high, uint32 least, uint32 most,
				 uint64 *bits)
{
	const SkxDiskKeyGroup *group = test->group;
	const SkxKeyBody *body = &test->body;

	return skx_codec_bits_between(high ? body->high_bits : body->low_bits,
								  body->end, group->ndocs,
								  high ? group->high_width : group->low_width,
								  least, most - least, bits);
}

/*
 * Tests a group whose keys have no high part.  Returns false if they do not
 * decode.
 */
static bool
skx_keys_test_narrow(const SkxKeyTest *test, uint64 *bits)
{
	return test->min_delta > PG_UINT32_MAX ||
		skx_keys_between(test, false, (uint32) test->min_delta,
						 (uint32) Min(test->max_delta, PG_UINT32_MAX), bits);
}

/*
 * Sets `bits` to the documents whose keys are in the range.  Before, `bits`
 * has those whose high part is from that of test->min_delta to that of
 * test->max_delta, and `inner` those whose high part is strictly between.  The
 * latter are in the range.  If the high part is that of an end, the low part
 * decides.  Returns false if the keys do not decode.
 */
static bool
skx_keys_test_high_ends(const SkxKeyTest *test, const uint64 *inner,
						uint64 *bits)
{
	uint32		from = (uint32) (test->min_delta >> 32);
	uint32		to = (uint32) (test->max_delta >> 32);
	uint64		first[SKX_KEY_WORDS] = {0};
	uint64		above[SKX_KEY_WORDS] = {0};
	uint64		below[SKX_KEY_WORDS] = {0};
	int			w;

	if (!skx_keys_between(test, true, from, from, first) ||
		!skx_keys_between(test, false, (uint32) test->min_delta, PG_UINT32_MAX,
						  above) ||
		!skx_keys_between(test, false, 0, (uint32) test->max_delta, below))
		return false;
	for (w = 0; w < SKX_KEY_WORDS; w++)
	{
		uint64		last = from == to ? first[w] : bits[w] & ~first[w];

		first[w] &= above[w];
		last &= below[w];
		bits[w] = inner[w] | (from == to ? first[w] & last : first[w] | last);
	}
	return true;
}

/*
 * Tests a group whose keys have a high part.  Returns false if they do not
 * decode.  Low parts are tested only if some key needs it, which is rare.
 */
static bool
skx_keys_test_wide(const SkxKeyTest *test, uint64 *bits)
{
	uint32		from = (uint32) (test->min_delta >> 32);
	uint32		to = (uint32) (test->max_delta >> 32);
	uint64		inner[SKX_KEY_WORDS] = {0};
	bool		ends = false;
	int			w;

	if (!skx_keys_between(test, true, from, to, bits) ||
		(to - from > 1 &&
		 !skx_keys_between(test, true, from + 1, to - 1, inner)))
		return false;
	for (w = 0; w < SKX_KEY_WORDS; w++)
		ends |= bits[w] != inner[w];
	return !ends || skx_keys_test_high_ends(test, inner, bits);
}

/*
 * Sets bit i of `bits` if the key of document i of the group is in the range,
 * and clears all others.
 */
static void
skx_keys_test_all(SkxKeyReader *reader, const SkxKeyTest *test, uint64 *bits)
{
	const SkxDiskKeyGroup *group = test->group;
	const SkxKeyBody *body = &test->body;

	memset(bits, 0, sizeof(uint64) * SKX_KEY_WORDS);
	if (test->all_in_range)
		skx_bitset_set_range(bits, 0, group->ndocs);
	if (test->none_in_range || test->all_in_range)
		return;
	skx_segment_keys_tested += group->ndocs;
	if (group->high_width == 0 ? !skx_keys_test_narrow(test, bits) :
		!skx_keys_test_wide(test, bits))
		skx_segment_keys_damaged(reader, reader->leaf_page,
								 "group of keys passes the end of its page");
	if (body->nulls != NULL)
		skx_bitset_andnot_bytes(bits, body->nulls, SKX_KEY_GROUP_DOCS / 8);
	else if (group->nnull > 0)
		memset(bits, 0, sizeof(uint64) * SKX_KEY_WORDS);
}

static void
skx_keys_group_bits(SkxKeyReader *reader, const SkxKeyRange *range,
					uint32 number, uint64 *bits)
{
	SkxKeyTest	test;

	skx_keys_test_group(reader, range, number, &test);
	skx_keys_test_all(reader, &test, bits);
}

uint32
skx_segment_keys_next_docs(SkxKeyReader *reader, const SkxKeyRange *range,
						   uint32 doc, uint32 limit, uint32 *docs, int *n)
{
	uint32		group = doc / SKX_KEY_GROUP_DOCS;
	uint32		first = group * SKX_KEY_GROUP_DOCS;
	uint64		bits[SKX_KEY_WORDS];
	uint32		w = 0;

	skx_keys_group_bits(reader, range, group, bits);
	skx_bitset_clear_range(bits, 0, doc - first);
	if (limit - first < SKX_KEY_GROUP_DOCS)
		skx_bitset_clear_range(bits, limit - first, SKX_KEY_GROUP_DOCS);
	*n = skx_bitset_list(bits, SKX_KEY_WORDS, &w, first, docs,
						 SKX_KEY_GROUP_DOCS);
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
	return Min(first + SKX_KEY_GROUP_DOCS, reader->seg->header.ndocs);
}

/*
 * Returns true if at least the first SKX_KEYS_TEST_ALL_DOCS of n ascending
 * documents are in the same group.
 */
static inline bool
skx_keys_has_many_docs(const uint32 *docs, int n)
{
	return n >= SKX_KEYS_TEST_ALL_DOCS &&
		docs[SKX_KEYS_TEST_ALL_DOCS - 1] / SKX_KEY_GROUP_DOCS == docs[0] /
		SKX_KEY_GROUP_DOCS;
}

int
skx_segment_keys_filter(SkxKeyReader *reader, const SkxKeyRange *range,
						uint32 *docs, int n)
{
	uint32		current = PG_UINT32_MAX;
	uint64		bits[SKX_KEY_WORDS];
	bool		many = false;
	SkxKeyTest	test;
	int			kept = 0;
	int			i;

	if (n > 1)
		skx_segment_keys_prefetch(reader, docs, n);
	for (i = 0; i < n; i++)
	{
		uint32		at = docs[i] % SKX_KEY_GROUP_DOCS;

		if (docs[i] / SKX_KEY_GROUP_DOCS != current)
		{
			current = docs[i] / SKX_KEY_GROUP_DOCS;
			skx_keys_test_group(reader, range, current, &test);
			many = skx_keys_has_many_docs(docs + i, n - i);
			if (many)
				skx_keys_test_all(reader, &test, bits);
		}
		docs[kept] = docs[i];
		kept += many ? skx_bitset_test(bits, at) : skx_keys_is_in_range(&test,
																		at);
	}
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
	return kept;
}

void
skx_segment_keys_fill_window(SkxKeyReader *reader, const SkxKeyRange *range,
							 uint32 window, uint64 *bits, int nwords)
{
	uint32		end = Min(window + (uint32) nwords * SKX_BITSET_BITS,
						  reader->seg->header.ndocs);
	uint32		doc = window;

	while (doc < end &&
		   (doc = skx_segment_keys_next_candidate(reader, range, doc)) < end)
	{
		uint64		of_group[SKX_KEY_WORDS];
		uint32		group = doc / SKX_KEY_GROUP_DOCS;
		int			w;

		skx_keys_group_bits(reader, range, group, of_group);
		doc = group * SKX_KEY_GROUP_DOCS;
		for (w = 0; w < SKX_KEY_WORDS; w++, doc += SKX_BITSET_BITS)
			if (doc >= window && doc < end)
				bits[(doc - window) / SKX_BITSET_BITS] |= of_group[w];
	}
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
}

void
skx_segment_keys_clear_others(SkxKeyReader *reader, const SkxKeyRange *range,
							  uint32 window, uint64 *bits, int nwords)
{
	uint32		current = PG_UINT32_MAX;
	uint64		of_group[SKX_KEY_WORDS];
	int			i;

	for (i = 0; i < nwords; i++)
	{
		uint32		doc = window + (uint32) i * SKX_BITSET_BITS;

		if (doc >= reader->seg->header.ndocs)
			break;
		if (bits[i] == 0)
			continue;
		if (doc / SKX_KEY_GROUP_DOCS != current)
		{
			current = doc / SKX_KEY_GROUP_DOCS;
			skx_keys_group_bits(reader, range, current, of_group);
		}
		bits[i] &= of_group[doc / SKX_BITSET_BITS % SKX_KEY_WORDS];
	}
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
}
