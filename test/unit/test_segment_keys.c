/*
 * test_segment_keys.c
 *	  Keys of documents as they were written: read back, and by ranges, against
 *	  all of them; and how many pages that takes.
 *
 * Holds: disk 5; segment 4, 5
 */
#include "unit.h"

#include <math.h>

#include "server.h"
#include "unit_error.h"

#define DOCS			400000
#define UNIT_WATCHES_PAGES

#include "unit_segment.h"
#include "index/segment/segment_keys.h"

#define COLUMNS			9

static uint32 pins;				/* of the keys plane */

static void
unit_pinned(SkxSegmentPlane plane, uint32 ordinal)
{
	pins += plane == SKX_SEGMENT_KEYS;
}

static void
unit_asked(SkxSegmentPlane plane, uint32 ordinal)
{
}

void
skx_writer_plane_put(void *arg, uint32 ordinal, char *page, uint32 used)
{
	unit_sink(arg, ordinal, page, used);
}

/* ---- keys ---- */

static SkxKey *unit_keys[COLUMNS];

/*
 * Ascending; any; few; none; some NULL; the ends and what is between; one; as row
 * numbers make them.
 */
static SkxKey
unit_key(int column, uint32 doc)
{
	SkxKey		key = {0, 0};

	switch (column)
	{
		case 0:
			key.value = (UINT64CONST(1) << 63) + doc * UINT64CONST(1000);
			break;
		case 1:
			key.value = unit_random();
			break;
		case 2:
			key.value = unit_below(5) * 7;
			break;
		case 3:
			key.is_null = 1;
			break;
		case 4:
			key.is_null = unit_below(3) == 0 || doc / 500 % 4 == 1;
			key.value = key.is_null ? 0 : doc / 3 + unit_below(100);
			break;
		case 5:
			key.value = unit_below(10) == 0 ? 0 : unit_below(10) == 0 ?
				PG_UINT64_MAX : 1000000 + unit_below(1000000);
			break;
		case 6:
			key.value = doc % 8;
			break;
		case 7:
			/* high bits that many have, and all low ones */
			key.is_null = unit_below(20) == 0;
			key.value = key.is_null ? 0 : unit_below(5) << 32 |
				(uint32) unit_random();
			break;
		default:
			key.value = 42;
			break;
	}
	return key;
}

static void
unit_write(UnitSegment *us, uint32 ndocs)
{
	SkxKeyColumns columns = {COLUMNS};
	SkxKeysWriter *w;
	uint32		doc;
	int			i;

	memset(us, 0, sizeof(*us));
	for (i = 0; i < COLUMNS; i++)
		columns.columns[i] = (SkxKeyColumn) {i + 1, SKX_KEY_BYTES, 8};
	w = skx_writer_keys_begin((SkxPlaneWriter *) &us->planes[SKX_SEGMENT_KEYS],
							   &columns);
	for (doc = 0; doc < ndocs; doc++)
	{
		SkxKey		keys[COLUMNS];

		for (i = 0; i < COLUMNS; i++)
			unit_keys[i][doc] = keys[i] = unit_key(i, doc);
		skx_writer_keys_add(w, keys);
	}
	skx_writer_keys_end(w);
	us->seg.file = (SkxBlkFile *) us;
	us->seg.session = &unit_kept;
	us->seg.header.ndocs = ndocs;
	us->seg.header.nkeys = COLUMNS;
	us->seg.planes[SKX_SEGMENT_KEYS].unit = 1;
	us->seg.planes[SKX_SEGMENT_KEYS].npages =
		us->seg.header.planes[SKX_SEGMENT_KEYS].npages =
		us->planes[SKX_SEGMENT_KEYS].npages;
	for (doc = 0; doc < us->planes[SKX_SEGMENT_KEYS].npages; doc++)
		CHECK(skx_disk_check_keys(us->planes[SKX_SEGMENT_KEYS].pages[doc],
									doc, &us->seg.header) == NULL);
}

/* ---- against all of them ---- */

static bool
unit_in(const SkxKey *key, const SkxKeyRange *range)
{
	return !key->is_null && key->value >= range->least &&
		key->value <= range->most;
}

/* From a key to another one, or anything. */
static SkxKeyRange
unit_range(const SkxKey *keys, uint32 ndocs)
{
	uint64		a = unit_below(3) > 0 ? keys[unit_below(ndocs)].value :
		unit_random();
	uint64		b = unit_below(4) > 0 ? keys[unit_below(ndocs)].value :
		unit_below(2) > 0 ? PG_UINT64_MAX : a;
	SkxKeyRange range = {Min(a, b), Max(a, b)};

	if (unit_below(10) == 0)
		range.least = 0;
	return range;
}

static void
unit_compare_range(SkxKeyReader *reader, const SkxKey *keys, uint32 ndocs,
				   const SkxKeyRange *range)
{
	uint32		docs[SKX_KEY_GROUP_DOCS];
	uint32		doc = unit_below(ndocs);
	uint32		next = skx_segment_keys_next_candidate(reader, range, doc);
	uint32		limit = doc + 1 + unit_below(2000);
	uint64		bits[64] = {0};
	uint64		some_bits[64];
	uint64		left_bits[64];
	uint32		window = doc & ~(uint32) 63;
	uint32		some[200];
	int			n = 0;
	int			kept;
	int			k = 0;
	uint32		i;

	limit = Min(ndocs, limit);
	/* nothing before the first one that may be */
	CHECK(next == SKX_NO_DOC || (next >= doc && next < ndocs));
	for (i = doc; i < Min(next, ndocs); i++)
		if (unit_in(&keys[i], range))
			break;
	CHECK(i == Min(next, ndocs));

	/* those of a group */
	i = skx_segment_keys_next_docs(reader, range, doc, limit, docs, &n);
	CHECK(i == Min((doc / SKX_KEY_GROUP_DOCS + 1) * SKX_KEY_GROUP_DOCS,
				   ndocs));
	for (; doc < Min(i, limit); doc++)
		if (unit_in(&keys[doc], range))
			CHECK(k < n && docs[k++] == doc);
	CHECK(k == n);

	/* of a window, */
	skx_segment_keys_fill_window(reader, range, window, bits, lengthof(bits));
	for (i = 0; i < lengthof(bits) * 64; i++)
		CHECK((bits[i / 64] >> (i % 64) & 1) ==
			  (window + i < ndocs && unit_in(&keys[window + i], range)));

	for (i = 0; i < lengthof(bits); i++)
		some_bits[i] = unit_below(3) > 0 ? unit_random() : 0;
	for (i = ndocs - Min(window, ndocs); i < lengthof(bits) * 64; i++)
		some_bits[i / 64] &= ~(UINT64CONST(1) << (i % 64));
	memcpy(left_bits, some_bits, sizeof(left_bits));
	skx_segment_keys_clear_others(reader, range, window, left_bits,
								  lengthof(bits));
	for (i = 0; i < lengthof(bits); i++)
		CHECK(left_bits[i] == (some_bits[i] & bits[i]));

	/* and of any */
	doc = unit_below(ndocs);
	for (n = 0; n < (int) lengthof(some) && doc < ndocs; n++)
	{
		some[n] = doc;
		doc += 1 + unit_below(unit_below(5) == 0 ? 3000 : 3);
	}
	{
		uint32		left[200];

		memcpy(left, some, sizeof(left));
		kept = skx_segment_keys_filter(reader, range, left, n);
		for (i = k = 0; i < (uint32) n; i++)
			if (unit_in(&keys[some[i]], range))
				CHECK(k < kept && left[k++] == some[i]);
		CHECK(k == kept);
	}
}

static void
unit_compare_share(SkxKeyReader *reader, const SkxKey *keys, uint32 ndocs,
				   const SkxKeyRange *range)
{
	double		share = skx_segment_keys_fraction(reader, range);
	uint32		met = skx_segment_keys_to_test(reader, range);
	uint32		n = 0;
	uint32		i;

	for (i = 0; i < ndocs; i++)
		n += unit_in(&keys[i], range);
	CHECK(share >= 0 && share <= 1);
	CHECK(met >= n && met <= ndocs);
	CHECK((share == 0) <= (n == 0));
	if (ndocs > 10000)
		CHECK(fabs(share - (double) n / ndocs) < .1);
}

/* All keys, from the first document or another one on. */
static void
unit_compare_keys(SkxKeyReader *reader, const SkxKey *keys, uint32 ndocs)
{
	SkxKey		got[1000];
	uint32		doc;
	int			n;
	int			i;

	for (doc = 0; doc < ndocs; doc += n)
	{
		n = 1 + unit_below(lengthof(got));
		n = Min(ndocs - doc, n);
		skx_segment_keys_read(reader, doc, n, got);
		for (i = 0; i < n; i++)
			CHECK(got[i].is_null == keys[doc + i].is_null &&
				  got[i].value == keys[doc + i].value);
	}
}

/* The stretches of the tree hold what they say, and are all there is. */
static uint32
unit_compare_nodes(SkxKeyReader *reader, const SkxKey *keys,
				   const SkxKeyNode *node)
{
	SkxKeyNode *children = malloc(sizeof(SkxKeyNode) * SKX_KEY_NODE_CHILDREN);
	int			n = skx_segment_keys_children(reader, node, children);
	uint32		at = node->first;
	uint64		least = PG_UINT64_MAX;
	uint64		most = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		CHECK(children[i].first == at && children[i].end > at);
		at = unit_compare_nodes(reader, keys, &children[i]);
	}
	for (at = node->first; n == 0 && at < node->end; at++)
	{
		least = keys[at].is_null ? least : Min(least, keys[at].value);
		most = keys[at].is_null ? most : Max(most, keys[at].value);
	}
	for (i = 0; i < n; i++)
	{
		least = Min(least, children[i].least);
		most = Max(most, children[i].most);
	}
	CHECK(n > 0 || node->level < 0);
	CHECK(at == node->end || n > 0);
	if (node->first > 0 || node->level < 0 || least <= most)
		CHECK(node->least == least && node->most == most);
	free(children);
	return node->end;
}

static void
test_segment(uint32 ndocs, int ranges)
{
	UnitSegment us;
	int			column;
	int			i;

	unit_write(&us, ndocs);
	CHECK(skx_segment_keys_open(&us.seg, 0) == NULL);
	for (column = 0; column < COLUMNS; column++)
	{
		SkxKeyReader *reader = skx_segment_keys_open(&us.seg, column + 1);
		SkxKeyNode	root;

		CHECK(skx_segment_keys_column(reader)->column == column + 1);
		unit_compare_keys(reader, unit_keys[column], ndocs);
		for (i = 0; i < ranges; i++)
		{
			SkxKeyRange range = unit_range(unit_keys[column], ndocs);

			unit_compare_range(reader, unit_keys[column], ndocs, &range);
			if (i % 10 == 0)
				unit_compare_share(reader, unit_keys[column], ndocs, &range);
		}
		skx_segment_keys_root(reader, &root);
		CHECK(unit_compare_nodes(reader, unit_keys[column], &root) == ndocs);
		skx_segment_keys_close(reader);
	}
}

/* A few keys of many that ascend: a page of each level, no more. */
static void
test_work(void)
{
	UnitSegment us;
	SkxKeyReader *reader;
	SkxKeyRange range;
	uint32		docs[SKX_KEY_GROUP_DOCS];
	uint32		doc;
	int			n;

	unit_write(&us, DOCS);
	CHECK(us.planes[SKX_SEGMENT_KEYS].npages > 500);
	reader = skx_segment_keys_open(&us.seg, 1);
	range.least = unit_keys[0][DOCS / 2].value;
	range.most = range.least + 9000;
	pins = 0;
	doc = skx_segment_keys_next_candidate(reader, &range, 0);
	CHECK(doc == DOCS / 2 / SKX_KEY_GROUP_DOCS * SKX_KEY_GROUP_DOCS);
	(void) skx_segment_keys_next_docs(reader, &range, doc, DOCS, docs, &n);
	CHECK(n > 0 && docs[0] == DOCS / 2);
	CHECK(skx_segment_keys_next_candidate(reader, &range,
										  doc + 2 * SKX_KEY_GROUP_DOCS) ==
		  SKX_NO_DOC);
	CHECK(pins > 0 && pins <= 12);
	skx_segment_keys_close(reader);
}

int
main(void)
{
	static const uint32 sizes[] = {1, 2, 127, 128, 129, 1000, 1152, 5000,
	20000};
	int			i;

	unit_seed(17);
	unit_block_pages = 4;
	for (i = 0; i < COLUMNS; i++)
		unit_keys[i] = malloc(sizeof(SkxKey) * DOCS);
	for (i = 0; i < (int) lengthof(sizes); i++)
		test_segment(sizes[i], UNIT_CASES(200));
	test_segment(DOCS, UNIT_CASES(40));
	test_work();
	return unit_done("segment_keys");
}
