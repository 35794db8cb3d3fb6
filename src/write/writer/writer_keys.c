/*
 * writer_keys.c
 *	  Keys of a segment's documents, in document order: a tree for each column.
 *
 * Trees grow from the left.  A full page is put into the plane, and becomes a
 * child of the page above it, which may become full by that.  For each column,
 * one page of each level is kept in memory.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "support/bitset/bitset.h"
#include "write/writer/writer.h"

/* Most keys that quantiles are computed from. */
#define SKX_KEY_SAMPLES		1024

/* A page that is being filled, and the range of the keys on it. */
typedef struct SkxKeyPageWriter
{
	char	   *page;			/* NULL: there is none yet */
	uint32		n;				/* groups or children on it */
	uint32		nbody;			/* for a leaf: bytes of bodies */
	uint32		first_group;
	uint64		least;
	uint64		most;
} SkxKeyPageWriter;

/*
 * The tree of a column.  Heads and bodies of the groups on a leaf are kept
 * apart until the leaf is full.
 */
typedef struct SkxKeyTree
{
	SkxDiskKeyColumn column;
	SkxKey		keys[SKX_KEY_GROUP_DOCS];
	SkxDiskKeyGroup *groups;
	uint8	   *bodies;
	uint32		ngroups;		/* groups of the segment so far */
	uint64		nvalues;		/* keys that are not NULL */
	uint64		stride;			/* one of `stride` keys is a sample */
	uint64		next_sample;	/* number of the next sample's key */
	uint32		nsamples;
	uint64		samples[SKX_KEY_SAMPLES];
	uint64		least;
	uint64		most;
	SkxKeyPageWriter levels[SKX_KEY_LEVELS_MAX];
} SkxKeyTree;

struct SkxKeysWriter
{
	SkxPlaneWriter *plane;
	uint32		npages;
	uint32		ndocs;
	int			ncolumns;
	SkxKeyTree *trees;
};

SkxKeysWriter *
skx_writer_keys_begin(SkxPlaneWriter *plane, const SkxKeyColumns *columns)
{
	SkxKeysWriter *w = palloc0(sizeof(SkxKeysWriter));
	int			i;

	w->plane = plane;
	w->ncolumns = columns->n;
	w->trees = palloc0(sizeof(SkxKeyTree) * Max(columns->n, 1));
	for (i = 0; i < columns->n; i++)
	{
		SkxKeyTree *tree = &w->trees[i];

		tree->column.column = columns->columns[i].column;
		tree->column.kind = columns->columns[i].kind;
		tree->column.width = columns->columns[i].width;
		tree->least = PG_UINT64_MAX;
		tree->stride = 1;
		tree->groups = palloc(SKX_PAGE_CAPACITY);
		tree->bodies = palloc(SKX_PAGE_CAPACITY);
	}
	return w;
}

static void skx_keys_put_page(SkxKeysWriter *w, SkxKeyTree *tree, int level);

/*
 * Returns the page being filled of a level, prepared for an entry whose first
 * group is first_group.
 */
static SkxKeyPageWriter *
skx_keys_page(SkxKeyTree *tree, int level, uint32 first_group)
{
	SkxKeyPageWriter *p = &tree->levels[level];

	if (p->page == NULL)
		p->page = palloc0(BLCKSZ);
	if (p->n == 0)
	{
		p->first_group = first_group;
		p->nbody = 0;
		p->least = PG_UINT64_MAX;
		p->most = 0;
	}
	return p;
}

static void
skx_keys_widen_range(SkxKeyPageWriter *p, uint64 least, uint64 most)
{
	p->least = Min(p->least, least);
	p->most = Max(p->most, most);
	p->n++;
}

/* Adds a page of the level below. */
static void
skx_keys_add_child(SkxKeysWriter *w, SkxKeyTree *tree, int level,
				   const SkxDiskKeyChild *child)
{
	SkxKeyPageWriter *p = skx_keys_page(tree, level, child->first_group);
	SkxDiskKeyChild *children = (SkxDiskKeyChild *)
		(p->page + SKX_PAGE_START + sizeof(SkxDiskKeyPage));

	children[p->n] = *child;
	skx_keys_widen_range(p, child->least, child->most);
	if (p->n == SKX_KEY_CHILDREN_MAX)
		skx_keys_put_page(w, tree, level);
}

/*
 * Copies heads and bodies of a leaf behind the head of the page; returns their
 * bytes.
 */
static uint32
skx_keys_format_leaf(SkxKeyTree *tree, SkxKeyPageWriter *p)
{
	char	   *at = p->page + SKX_PAGE_START + sizeof(SkxDiskKeyPage);
	Size		heads = p->n * sizeof(SkxDiskKeyGroup);
	uint32		i;

	for (i = 0; i < p->n; i++)
		tree->groups[i].body += at + heads - p->page;
	memcpy(at, tree->groups, heads);
	memcpy(at + heads, tree->bodies, p->nbody);
	return heads + p->nbody;
}

/*
 * Puts the page being filled of a level into the plane, and adds it to the
 * next level.
 */
static void
skx_keys_put_page(SkxKeysWriter *w, SkxKeyTree *tree, int level)
{
	SkxKeyPageWriter *p = &tree->levels[level];
	SkxDiskKeyPage *head = (SkxDiskKeyPage *) (p->page + SKX_PAGE_START);
	SkxDiskKeyChild child = {p->least, p->most, w->npages, p->first_group};
	uint32		used = sizeof(SkxDiskKeyPage);

	Assert(level + 1 < SKX_KEY_LEVELS_MAX);
	head->first_group = p->first_group;
	head->n = (uint16) p->n;
	head->column = tree->column.column;
	head->level = (uint8) level;
	used += level == 0 ? skx_keys_format_leaf(tree, p) :
		p->n * sizeof(SkxDiskKeyChild);
	skx_writer_plane_put(w->plane, w->npages++, p->page, used);
	p->n = 0;
	skx_keys_add_child(w, tree, level + 1, &child);
}

/* Computes the least and the most key of a group, and how many are NULL. */
static void
skx_keys_group_ends(const SkxKey *keys, int n, SkxDiskKeyGroup *group)
{
	int			i;

	memset(group, 0, sizeof(*group));
	group->least = PG_UINT64_MAX;
	group->ndocs = (uint16) n;
	for (i = 0; i < n; i++)
	{
		if (keys[i].is_null)
		{
			group->nnull++;
			continue;
		}
		group->least = Min(group->least, keys[i].value);
		group->most = Max(group->most, keys[i].value);
	}
}

/*
 * Encodes the body of a group, and sets the widths in its head; returns the
 * bytes of the body.
 */
static uint32
skx_keys_pack(const SkxKey *keys, int n, SkxDiskKeyGroup *group, uint8 *body)
{
	uint32		low[SKX_KEY_GROUP_DOCS];
	uint32		high[SKX_KEY_GROUP_DOCS];
	uint64		spread = group->nnull < n ? group->most - group->least : 0;
	uint8	   *to = body;
	int			i;

	group->low_width = (uint8) (spread > PG_UINT32_MAX ? 32 :
								skx_codec_width((uint32) spread));
	group->high_width = (uint8) skx_codec_width((uint32) (spread >> 32));
	if (group->nnull > 0 && group->nnull < n)
	{
		memset(to, 0, SKX_KEY_GROUP_DOCS / 8);
		for (i = 0; i < n; i++)
			if (keys[i].is_null)
				skx_bitset_bytes_set(to, i);
		to += SKX_KEY_GROUP_DOCS / 8;
	}
	for (i = 0; i < n; i++)
	{
		uint64		delta = keys[i].is_null ? 0 :
			keys[i].value - group->least;

		low[i] = (uint32) delta;
		high[i] = (uint32) (delta >> 32);
	}
	to = skx_codec_bits_put(to, low, n, group->low_width);
	to = skx_codec_bits_put(to, high, n, group->high_width);
	return to - body;
}

/*
 * Keeps one key of each stride as a sample.  When there are too many samples,
 * it drops one of two and doubles the stride.
 *
 * Which key of a stride is kept is pseudo-random, but the same in each build.
 * Otherwise keys with a period of their own, as those of generated rows, could
 * all be taken from one point of the period.
 */
static void
skx_keys_add_sample(SkxKeyTree *tree, uint64 value)
{
	uint32		i;

	if (tree->nvalues++ != tree->next_sample)
		return;
	if (tree->nsamples == SKX_KEY_SAMPLES)
	{
		tree->nsamples /= 2;
		tree->stride *= 2;
		for (i = 0; i < tree->nsamples; i++)
			tree->samples[i] = tree->samples[2 * i +
											 murmurhash32(i + 1) % 2];
	}
	tree->samples[tree->nsamples++] = value;
	tree->next_sample = tree->nsamples * tree->stride +
		murmurhash32(tree->nsamples) % tree->stride;
}

static int
skx_keys_compare(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

static void
skx_keys_quantiles(SkxKeyTree *tree)
{
	uint64	   *quantiles = tree->column.quantiles;
	int			last = SKX_KEY_QUANTILES - 1;
	int			i;

	if (tree->nvalues == 0)
		return;
	qsort(tree->samples, tree->nsamples, sizeof(uint64), skx_keys_compare);
	for (i = 1; i < last; i++)
		quantiles[i] = tree->samples[i * (tree->nsamples - 1) / last];
	quantiles[0] = tree->least;
	quantiles[last] = tree->most;
}

/* Ends the group of n documents that has been collected. */
static void
skx_keys_end_group(SkxKeysWriter *w, SkxKeyTree *tree, int n)
{
	uint8		body[SKX_KEY_GROUP_DOCS / 8 + SKX_KEY_GROUP_DOCS *
					 sizeof(uint64)];
	SkxKeyPageWriter *p = &tree->levels[0];
	SkxDiskKeyGroup group;
	uint32		size;

	skx_keys_group_ends(tree->keys, n, &group);
	size = skx_keys_pack(tree->keys, n, &group, body);
	if (p->n > 0 && sizeof(SkxDiskKeyPage) +
		(p->n + 1) * sizeof(SkxDiskKeyGroup) + p->nbody + size >
		SKX_PAGE_CAPACITY)
		skx_keys_put_page(w, tree, 0);
	p = skx_keys_page(tree, 0, tree->ngroups++);
	group.body = (uint16) p->nbody;
	memcpy(tree->bodies + p->nbody, body, size);
	p->nbody += size;
	tree->groups[p->n] = group;
	skx_keys_widen_range(p, group.least, group.most);
	tree->column.nnull += group.nnull;
	tree->least = Min(tree->least, group.least);
	tree->most = Max(tree->most, group.most);
}

void
skx_writer_keys_add(SkxKeysWriter *w, const SkxKey *keys)
{
	uint32		at = w->ndocs++ % SKX_KEY_GROUP_DOCS;
	int			i;

	for (i = 0; i < w->ncolumns; i++)
	{
		w->trees[i].keys[at] = keys[i];
		if (!keys[i].is_null)
			skx_keys_add_sample(&w->trees[i], keys[i].value);
		if (at + 1 == SKX_KEY_GROUP_DOCS)
			skx_keys_end_group(w, &w->trees[i], SKX_KEY_GROUP_DOCS);
	}
}

/*
 * Puts all pages being filled into the plane.  The last one, which is alone on
 * its level, is the root.
 */
static void
skx_keys_end_tree(SkxKeysWriter *w, SkxKeyTree *tree)
{
	int			level;

	if (w->ndocs % SKX_KEY_GROUP_DOCS > 0)
		skx_keys_end_group(w, tree, w->ndocs % SKX_KEY_GROUP_DOCS);
	skx_keys_quantiles(tree);
	for (level = 0; level + 1 < SKX_KEY_LEVELS_MAX; level++)
	{
		SkxKeyPageWriter *p = &tree->levels[level];
		bool		alone = tree->levels[level + 1].page == NULL;

		if (p->n == 0)
			continue;
		skx_keys_put_page(w, tree, level);
		if (!alone)
			continue;
		tree->column.root = w->npages - 1;
		tree->column.level = (uint8) level;
		return;
	}
	elog(ERROR, "keys of a segment have too many levels");
}

void
skx_writer_keys_end(SkxKeysWriter *w)
{
	char	   *page;
	int			i;

	if (w->ncolumns == 0 || w->ndocs == 0)
		return;
	for (i = 0; i < w->ncolumns; i++)
		skx_keys_end_tree(w, &w->trees[i]);
	page = palloc0(BLCKSZ);
	for (i = 0; i < w->ncolumns; i++)
		memcpy(page + SKX_PAGE_START + i * sizeof(SkxDiskKeyColumn),
			   &w->trees[i].column, sizeof(SkxDiskKeyColumn));
	skx_writer_plane_put(w->plane, w->npages++, page,
						 w->ncolumns * sizeof(SkxDiskKeyColumn));
	pfree(page);
}
