/*
 * segment_keys_reader.c
 *	  Keys of a column by document (format_keys.h).
 *
 * A reader goes down from the root to the leaf of a document, and stays there
 * while the documents that it is asked about do.  Ranges pass over what their
 * least and most key exclude, on every level.
 */
#include "postgres.h"

#include "codec/codec.h"
#include "format/format_check.h"
#include "format/format_keys.h"
#include "miscadmin.h"
#include "segment/segment_keys.h"

StaticAssertDecl(SKX_KEY_CHILDREN <= SKX_KEY_NODE_CHILDREN,
				 "children of a page");

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

static inline bool
skx_keys_meet(uint64 least, uint64 most, const SkxKeyRange *range)
{
	return least <= range->most && most >= range->least;
}

static void
skx_keys_damaged(const SkxKeyReader *reader, uint32 page, const char *what)
{
	skx_segment_damaged(reader->seg, SKX_SEGMENT_KEYS, page, what);
}

SkxKeyReader *
skx_segment_keys_open(SkxSegment *seg, int column)
{
	uint32		npages = seg->planes[SKX_SEGMENT_KEYS].npages;
	const SkxDiskKeyColumn *columns;
	SkxKeyReader *reader = NULL;
	SkxBlkRef	ref = {0};
	int			i;

	if (seg->header.nkeys == 0)
		return NULL;
	if (seg->header.nkeys > SKX_KEY_COLUMNS || npages <= seg->header.nkeys)
		skx_segment_damaged(seg, SKX_SEGMENT_KEYS, 0,
							"keys plane of an impossible size");
	columns = (const SkxDiskKeyColumn *)
		(skx_segment_pin(seg, SKX_SEGMENT_KEYS, npages - 1, &ref) +
		 SKX_PAGE_START);
	for (i = 0; i < seg->header.nkeys && reader == NULL; i++)
	{
		if (columns[i].column != column)
			continue;
		reader = palloc0(sizeof(SkxKeyReader));
		reader->seg = seg;
		reader->column = columns[i];
		reader->key.column = columns[i].column;
		reader->key.kind = columns[i].kind;
		reader->key.width = columns[i].width;
		reader->ngroups = (seg->header.ndocs + SKX_KEY_GROUP - 1) /
			SKX_KEY_GROUP;
		reader->reads = PG_UINT64_MAX;
		if (columns[i].level >= SKX_KEY_LEVELS ||
			!skx_format_key_column_is_sound(&columns[i]))
			skx_keys_damaged(reader, npages - 1,
							 "keys of a column are of no kind");
	}
	skx_blkio_unpin(seg->file, &ref);
	return reader;
}

static void
skx_keys_relax(SkxKeyReader *reader)
{
	int			i;

	for (i = 0; i < SKX_KEY_LEVELS; i++)
		skx_blkio_unpin(reader->seg->file, &reader->refs[i]);
	reader->leaf = NULL;
}

void
skx_segment_keys_close(SkxKeyReader *reader)
{
	skx_keys_relax(reader);
	pfree(reader);
}

const SkxKeyColumn *
skx_segment_keys_column(const SkxKeyReader *reader)
{
	return &reader->key;
}

/* A page of a level, with as many entries as it says. */
static const SkxDiskKeyPage *
skx_keys_page(SkxKeyReader *reader, uint32 ordinal, int level)
{
	const SkxDiskKeyPage *page = (const SkxDiskKeyPage *)
		(skx_segment_pin(reader->seg, SKX_SEGMENT_KEYS, ordinal,
						 &reader->refs[level]) + SKX_PAGE_START);

	if (page->level != level || page->column != reader->column.column ||
		page->n == 0 || page->n > SKX_KEY_CHILDREN ||
		page->first_group >= reader->ngroups)
		skx_keys_damaged(reader, ordinal, "key page of another place");
	return page;
}

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

/* The child that has the group: the last one that does not begin after it. */
static int
skx_keys_child(const SkxDiskKeyPage *page, uint32 group)
{
	const SkxDiskKeyChild *children = skx_keys_children(page);
	int			low = 0;
	int			high = page->n - 1;

	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (children[middle].first_group <= group)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static inline bool
skx_keys_on_leaf(const SkxKeyReader *reader, uint32 group)
{
	return reader->leaf != NULL && group >= reader->leaf->first_group &&
		group - reader->leaf->first_group < reader->leaf->n;
}

static void
skx_keys_enter_leaf(SkxKeyReader *reader, uint32 ordinal, uint32 group)
{
	reader->leaf = skx_keys_page(reader, ordinal, 0);
	reader->leaf_page = ordinal;
	if (!skx_keys_on_leaf(reader, group))
		skx_keys_damaged(reader, ordinal, "keys of other documents");
}

/* Goes to the leaf that has the group. */
static const SkxDiskKeyGroup *
skx_keys_group(SkxKeyReader *reader, uint32 group)
{
	if (!skx_keys_on_leaf(reader, group))
	{
		uint32		ordinal = reader->column.root;
		int			level;

		for (level = reader->column.level; level > 0; level--)
		{
			const SkxDiskKeyPage *page = skx_keys_page(reader, ordinal, level);

			ordinal = skx_keys_children(page)[skx_keys_child(page,
															 group)].page;
		}
		skx_keys_enter_leaf(reader, ordinal, group);
	}
	return &skx_keys_groups(reader->leaf)[group - reader->leaf->first_group];
}

/* The keys of a group: its NULLs (NULL: none or all), and its bit strings. */
typedef struct SkxKeyBody
{
	const SkxDiskKeyGroup *group;
	const uint8 *nulls;
	const uint8 *low;
	const uint8 *high;
	const uint8 *end;
} SkxKeyBody;

static void
skx_keys_body(SkxKeyReader *reader, const SkxDiskKeyGroup *group,
			  SkxKeyBody *body)
{
	const uint8 *page = (const uint8 *) reader->leaf - SKX_PAGE_START;
	const uint8 *at = page + group->body;

	body->group = group;
	body->nulls = NULL;
	body->end = page + SKX_PAGE_END;
	if (group->nnull > 0 && group->nnull < group->ndocs)
	{
		body->nulls = at;
		at += SKX_KEY_GROUP / 8;
	}
	body->low = at;
	body->high = at + ((uint32) group->ndocs * group->low_width + 7) / 8;
	if (group->ndocs > SKX_KEY_GROUP || group->low_width > 32 ||
		group->high_width > 32 ||
		body->high + ((uint32) group->ndocs * group->high_width + 7) / 8 >
		body->end)
		skx_keys_damaged(reader, reader->leaf_page,
						 "group of keys passes the end of its page");
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

/* Asks for the leaves of ascending documents, as far as they are not at hand. */
static void
skx_keys_ask(SkxKeyReader *reader, const uint32 *docs, int n)
{
	uint32		pages[SKX_AHEAD_MAX];
	uint32		end = 0;		/* groups below are on the last of them */
	int			k = 0;
	int			i;

	if (reader->seg->ahead == 0 || reader->column.level == 0 ||
		!skx_segment_cold(&reader->reads))
		return;
	for (i = 0; i < n && k < SKX_AHEAD_MAX; i++)
	{
		uint32		group = docs[i] / SKX_KEY_GROUP;
		uint32		ordinal = reader->column.root;
		int			level;

		if (group < end)
			continue;
		end = reader->ngroups;
		for (level = reader->column.level; level > 0; level--)
		{
			const SkxDiskKeyPage *page = skx_keys_page(reader, ordinal, level);
			int			child = skx_keys_child(page, group);

			if (child + 1 < page->n)
				end = skx_keys_children(page)[child + 1].first_group;
			ordinal = skx_keys_children(page)[child].page;
		}
		pages[k++] = ordinal;
	}
	skx_segment_ask(reader->seg, SKX_SEGMENT_KEYS, pages, k, 2);
}

/* Of ascending documents; NULL: of first, first + 1, ... */
static void
skx_keys_get(SkxKeyReader *reader, const uint32 *docs, uint32 first, int n,
			 SkxKey *keys)
{
	SkxKeyBody	body;
	uint32		current = PG_UINT32_MAX;
	int			k;

	for (k = 0; k < n; k++, keys++)
	{
		uint32		doc = docs != NULL ? docs[k] : first + k;
		uint32		i = doc % SKX_KEY_GROUP;

		if (doc / SKX_KEY_GROUP != current)
		{
			current = doc / SKX_KEY_GROUP;
			skx_keys_body(reader, skx_keys_group(reader, current), &body);
		}
		if (i >= body.group->ndocs)
			skx_keys_damaged(reader, reader->leaf_page,
							 "group of keys is too short");
		keys->is_null = skx_keys_is_null(&body, i);
		keys->value = keys->is_null ? 0 :
			body.group->least + skx_keys_delta(&body, i);
	}
	if (skx_blkio_crowded(reader->seg->file))
		skx_keys_relax(reader);
}

void
skx_segment_keys_read(SkxKeyReader *reader, uint32 first, int n, SkxKey *keys)
{
	skx_keys_get(reader, NULL, first, n, keys);
}

void
skx_segment_keys_of(SkxKeyReader *reader, const uint32 *docs, int n,
					SkxKey *keys)
{
	if (n > 1)
		skx_keys_ask(reader, docs, n);
	skx_keys_get(reader, docs, 0, n, keys);
}

void
skx_segment_keys_root(const SkxKeyReader *reader, SkxKeyNode *root)
{
	root->least = reader->column.quantiles[0];
	root->most = reader->column.quantiles[SKX_KEY_QUANTILES - 1];
	root->first = 0;
	root->end = reader->seg->header.ndocs;
	root->page = reader->column.root;
	root->level = reader->column.level;
}

static void
skx_keys_child_node(const SkxDiskKeyChild *child, SkxKeyNode *node)
{
	node->least = child->least;
	node->most = child->most;
	node->first = child->first_group * SKX_KEY_GROUP;
	node->page = child->page;
}

static void
skx_keys_group_node(const SkxDiskKeyPage *leaf, int i, uint32 page,
					SkxKeyNode *node)
{
	node->least = skx_keys_groups(leaf)[i].least;
	node->most = skx_keys_groups(leaf)[i].most;
	node->first = (leaf->first_group + i) * SKX_KEY_GROUP;
	node->page = page;
}

int
skx_segment_keys_children(SkxKeyReader *reader, const SkxKeyNode *node,
						  SkxKeyNode *children)
{
	const SkxDiskKeyPage *page;
	int			n;
	int			i;

	if (node->level < 0)
		return 0;
	page = skx_keys_page(reader, node->page, node->level);
	n = page->n;
	for (i = 0; i < n; i++)
	{
		if (node->level > 0)
			skx_keys_child_node(&skx_keys_children(page)[i], &children[i]);
		else
			skx_keys_group_node(page, i, node->page, &children[i]);
		children[i].level = node->level - 1;
		children[i].end = node->end;
		if (i > 0)
			children[i - 1].end = children[i].first;
	}
	/* the leaf's place has another one now */
	reader->leaf = NULL;
	if (skx_blkio_crowded(reader->seg->file))
		skx_keys_relax(reader);
	return n;
}

/* Of keys spread evenly between two, how many are in range. */
static double
skx_keys_part(uint64 least, uint64 most, const SkxKeyRange *range)
{
	if (!skx_keys_meet(least, most, range))
		return 0;
	return ((double) (Min(most, range->most) - Max(least, range->least)) + 1) /
		((double) (most - least) + 1);
}

double
skx_segment_keys_share(const SkxKeyReader *reader, const SkxKeyRange *range)
{
	const uint64 *quantiles = reader->column.quantiles;
	uint32		ndocs = reader->seg->header.ndocs;
	uint32		nvalues = ndocs - Min(reader->column.nnull, ndocs);
	double		parts = 0;
	int			i;

	for (i = 1; i < SKX_KEY_QUANTILES; i++)
		parts += skx_keys_part(quantiles[i - 1], quantiles[i], range);
	return nvalues == 0 ? 0 :
		Min(parts / (SKX_KEY_QUANTILES - 1), 1) * nvalues / ndocs;
}

/*
 * The first group from `group` on that may have keys in range, on whose leaf
 * the reader is then; ngroups: there is none.
 */
static uint32
skx_keys_next_group(SkxKeyReader *reader, const SkxKeyRange *range,
					uint32 group)
{
	while (group < reader->ngroups)
	{
		uint32		ordinal = reader->column.root;
		uint32		end = reader->ngroups;	/* of what the page has */
		int			level = reader->column.level;
		bool		on_leaf = skx_keys_on_leaf(reader, group);

		CHECK_FOR_INTERRUPTS();
		for (; level > 0 && !on_leaf; level--)
		{
			const SkxDiskKeyPage *page = skx_keys_page(reader, ordinal, level);
			const SkxDiskKeyChild *children = skx_keys_children(page);
			int			i = skx_keys_child(page, group);

			while (i < page->n && !skx_keys_meet(children[i].least,
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
				skx_keys_enter_leaf(reader, ordinal, group);
			end = reader->leaf->first_group + reader->leaf->n;
			for (; group < end; group++)
			{
				const SkxDiskKeyGroup *g = skx_keys_group(reader, group);

				if (skx_keys_meet(g->least, g->most, range))
					return group;
			}
		}
		if (end <= group && !on_leaf && level > 0)
			skx_keys_damaged(reader, ordinal, "key pages do not ascend");
		group = Max(end, group);
	}
	return reader->ngroups;
}

uint32
skx_segment_keys_next(SkxKeyReader *reader, const SkxKeyRange *range,
					  uint32 doc)
{
	uint32		group = skx_keys_next_group(reader, range,
											doc / SKX_KEY_GROUP);

	if (skx_blkio_crowded(reader->seg->file))
		skx_keys_relax(reader);
	if (group >= reader->ngroups)
		return SKX_NO_DOC;
	return Max(doc, group * SKX_KEY_GROUP);
}

/* A group as a range sees it: nothing of it, all of it, or what is tested. */
typedef struct SkxKeyTest
{
	bool		none;
	bool		all;
	uint64		least;			/* less the least of the group */
	uint64		most;
	SkxKeyBody	body;
} SkxKeyTest;

static void
skx_keys_test_group(SkxKeyReader *reader, const SkxKeyRange *range,
					uint32 number, SkxKeyTest *test)
{
	const SkxDiskKeyGroup *group = skx_keys_group(reader, number);

	test->none = group->least > group->most ||
		!skx_keys_meet(group->least, group->most, range);
	test->all = !test->none && group->nnull == 0 &&
		group->least >= range->least && group->most <= range->most;
	if (test->none || test->all)
		return;
	test->least = range->least > group->least ?
		range->least - group->least : 0;
	test->most = range->most - group->least;
	skx_keys_body(reader, group, &test->body);
}

static inline bool
skx_keys_passes(const SkxKeyTest *test, uint32 i)
{
	uint64		delta;

	if (test->none || test->all)
		return test->all;
	if (i >= test->body.group->ndocs || skx_keys_is_null(&test->body, i))
		return false;
	delta = skx_keys_delta(&test->body, i);
	return delta >= test->least && delta <= test->most;
}

uint32
skx_segment_keys_take(SkxKeyReader *reader, const SkxKeyRange *range,
					  uint32 doc, uint32 limit, uint32 *docs, int *n)
{
	uint32		group = doc / SKX_KEY_GROUP;
	uint32		end = Min((group + 1) * SKX_KEY_GROUP,
						  reader->seg->header.ndocs);
	uint32		stop = Min(end, limit);
	SkxKeyTest	test;

	*n = 0;
	skx_keys_test_group(reader, range, group, &test);
	for (; doc < stop && !test.none; doc++)
	{
		docs[*n] = doc;
		*n += skx_keys_passes(&test, doc % SKX_KEY_GROUP);
	}
	if (skx_blkio_crowded(reader->seg->file))
		skx_keys_relax(reader);
	return end;
}

int
skx_segment_keys_filter(SkxKeyReader *reader, const SkxKeyRange *range,
						uint32 *docs, int n)
{
	uint32		current = PG_UINT32_MAX;
	SkxKeyTest	test;
	int			kept = 0;
	int			i;

	if (n > 1)
		skx_keys_ask(reader, docs, n);
	for (i = 0; i < n; i++)
	{
		if (docs[i] / SKX_KEY_GROUP != current)
		{
			current = docs[i] / SKX_KEY_GROUP;
			skx_keys_test_group(reader, range, current, &test);
		}
		docs[kept] = docs[i];
		kept += skx_keys_passes(&test, docs[i] % SKX_KEY_GROUP);
	}
	if (skx_blkio_crowded(reader->seg->file))
		skx_keys_relax(reader);
	return kept;
}

void
skx_segment_keys_fill(SkxKeyReader *reader, const SkxKeyRange *range,
					  uint32 window, uint64 *bits, int nwords)
{
	uint32		end = Min(window + (uint32) nwords * 64,
						  reader->seg->header.ndocs);
	uint32		doc = window;

	while (doc < end && (doc = skx_segment_keys_next(reader, range, doc)) < end)
	{
		uint32		docs[SKX_KEY_GROUP];
		int			n;
		int			i;

		doc = skx_segment_keys_take(reader, range, doc, end, docs, &n);
		for (i = 0; i < n; i++)
			bits[(docs[i] - window) / 64] |=
				UINT64CONST(1) << ((docs[i] - window) % 64);
	}
}
