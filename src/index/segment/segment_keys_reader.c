/*
 * segment_keys_reader.c
 *	  Reads the keys of a column by document (disk_keys.h).
 *
 * A reader descends from the root to the leaf of a document, and stays on it
 * until a document of another leaf is looked up.
 */
#include "postgres.h"

#include "format/disk/disk_check.h"
#include "index/segment/segment_keys_internal.h"

StaticAssertDecl(SKX_KEY_CHILDREN_MAX <= SKX_KEY_NODE_CHILDREN,
				 "children of a page");

void
skx_segment_keys_damaged(const SkxKeyReader *reader, uint32 page, const char *what)
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
	if (seg->header.nkeys > SKX_KEY_COLUMNS_MAX || npages <= seg->header.nkeys)
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
		reader->ngroups = (seg->header.ndocs + SKX_KEY_GROUP_DOCS - 1) /
			SKX_KEY_GROUP_DOCS;
		reader->reads = PG_UINT64_MAX;
		if (columns[i].level >= SKX_KEY_LEVELS_MAX ||
			!skx_disk_key_column_is_valid(&columns[i]))
			skx_segment_keys_damaged(reader, npages - 1,
									 "keys of a column are of no kind");
	}
	skx_blkio_unpin(seg->file, &ref);
	return reader;
}

SkxKeyReader *
skx_segment_keys_open_as(SkxSegment *seg, const SkxKeyColumn *column)
{
	SkxKeyReader *reader = skx_segment_keys_open(seg, column->column);

	if (reader == NULL || (reader->key.kind == column->kind &&
						   reader->key.width == column->width))
		return reader;
	skx_segment_keys_close(reader);
	return NULL;
}

void
skx_segment_keys_unpin(SkxKeyReader *reader)
{
	int			i;

	for (i = 0; i < SKX_KEY_LEVELS_MAX; i++)
		skx_blkio_unpin(reader->seg->file, &reader->refs[i]);
	reader->leaf = NULL;
}

void
skx_segment_keys_raise_missing(Relation index, int column)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" has no sort keys of column \"%s\"",
					RelationGetRelationName(index),
					NameStr(TupleDescAttr(RelationGetDescr(index),
										  column)->attname)),
			 errdetail("The column's operator class had no operators for ranges when the index was built, or its type had another modifier."),
			 errhint("REINDEX the index.")));
}

SkxKeyReader *
skx_segment_keys_require(Relation index, SkxSegment *seg,
						 const SkxKeyColumn *column)
{
	SkxKeyReader *keys = skx_segment_keys_open_as(seg, column);

	if (keys == NULL)
		skx_segment_keys_raise_missing(index, column->column);
	return keys;
}

void
skx_segment_keys_close(SkxKeyReader *reader)
{
	skx_segment_keys_unpin(reader);
	pfree(reader);
}

const SkxKeyColumn *
skx_segment_keys_column(const SkxKeyReader *reader)
{
	return &reader->key;
}

bool
skx_segment_keys_are_narrow(const SkxKeyReader *reader)
{
	const uint64 *quantiles = reader->column.quantiles;
	uint64		span = quantiles[SKX_KEY_QUANTILES - 1] - quantiles[0];

	/* the low 32 bits of wide keys are rarely tested */
	if (span > PG_UINT32_MAX)
		span >>= 32;
	return span >> SKX_BETWEEN_WIDTH_MAX == 0;
}

const SkxDiskKeyPage *
skx_segment_keys_page(SkxKeyReader *reader, uint32 ordinal, int level)
{
	const SkxDiskKeyPage *page = (const SkxDiskKeyPage *)
		(skx_segment_pin(reader->seg, SKX_SEGMENT_KEYS, ordinal,
						 &reader->refs[level]) + SKX_PAGE_START);

	if (page->level != level || page->column != reader->column.column ||
		page->n == 0 || page->n > SKX_KEY_CHILDREN_MAX ||
		page->first_group >= reader->ngroups)
		skx_segment_keys_damaged(reader, ordinal, "key page of another place");
	return page;
}

int
skx_segment_keys_child(const SkxDiskKeyPage *page, uint32 group)
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

void
skx_segment_keys_pin_leaf(SkxKeyReader *reader, uint32 ordinal, uint32 group)
{
	reader->leaf = skx_segment_keys_page(reader, ordinal, 0);
	reader->leaf_page = ordinal;
	if (!skx_keys_on_leaf(reader, group))
		skx_segment_keys_damaged(reader, ordinal, "keys of other documents");
}

const SkxDiskKeyGroup *
skx_segment_keys_group(SkxKeyReader *reader, uint32 group)
{
	if (!skx_keys_on_leaf(reader, group))
	{
		uint32		ordinal = reader->column.root;
		int			level;

		for (level = reader->column.level; level > 0; level--)
		{
			const SkxDiskKeyPage *page = skx_segment_keys_page(reader, ordinal, level);

			ordinal = skx_keys_children(page)[skx_segment_keys_child(page,
																	 group)].page;
		}
		skx_segment_keys_pin_leaf(reader, ordinal, group);
	}
	return &skx_keys_groups(reader->leaf)[group - reader->leaf->first_group];
}

void
skx_segment_keys_body(SkxKeyReader *reader, const SkxDiskKeyGroup *group,
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
		at += SKX_KEY_GROUP_DOCS / 8;
	}
	body->low_bits = at;
	body->high_bits = at + ((uint32) group->ndocs * group->low_width + 7) / 8;
	if (group->ndocs > SKX_KEY_GROUP_DOCS || group->low_width > 32 ||
		group->high_width > 32 ||
		body->high_bits + ((uint32) group->ndocs * group->high_width + 7) / 8 >
		body->end)
		skx_segment_keys_damaged(reader, reader->leaf_page,
								 "group of keys passes the end of its page");
}

void
skx_segment_keys_prefetch(SkxKeyReader *reader, const uint32 *docs, int n)
{
	uint32		pages[SKX_PREFETCH_UNITS_MAX];
	uint32		end = 0;		/* groups below it are on the pages so far */
	int			k = 0;
	int			i;

	if (reader->seg->prefetch_units == 0 || reader->column.level == 0 ||
		!skx_segment_has_read(&reader->reads))
		return;
	for (i = 0; i < n && k < SKX_PREFETCH_UNITS_MAX; i++)
	{
		uint32		group = docs[i] / SKX_KEY_GROUP_DOCS;
		uint32		ordinal = reader->column.root;
		int			level;

		if (group < end)
			continue;
		end = reader->ngroups;
		for (level = reader->column.level; level > 0; level--)
		{
			const SkxDiskKeyPage *page = skx_segment_keys_page(reader, ordinal, level);
			int			child = skx_segment_keys_child(page, group);

			if (child + 1 < page->n)
				end = skx_keys_children(page)[child + 1].first_group;
			ordinal = skx_keys_children(page)[child].page;
		}
		pages[k++] = ordinal;
	}
	skx_segment_prefetch_pages(reader->seg, SKX_SEGMENT_KEYS, pages, k, 2);
}

/*
 * Reads the keys of n ascending documents: docs, or if that is NULL, `first`
 * and those after it.
 */
static void
skx_keys_read_docs(SkxKeyReader *reader, const uint32 *docs, uint32 first,
				   int n, SkxKey *keys)
{
	SkxKeyBody	body;
	uint32		current = PG_UINT32_MAX;
	int			k;

	for (k = 0; k < n; k++, keys++)
	{
		uint32		doc = docs != NULL ? docs[k] : first + k;
		uint32		i = doc % SKX_KEY_GROUP_DOCS;

		if (doc / SKX_KEY_GROUP_DOCS != current)
		{
			current = doc / SKX_KEY_GROUP_DOCS;
			skx_segment_keys_body(reader, skx_segment_keys_group(reader, current), &body);
		}
		if (i >= body.group->ndocs)
			skx_segment_keys_damaged(reader, reader->leaf_page,
									 "group of keys is too short");
		keys->is_null = skx_keys_is_null(&body, i);
		keys->value = keys->is_null ? 0 :
			body.group->least + skx_keys_delta(&body, i);
	}
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
}

void
skx_segment_keys_read(SkxKeyReader *reader, uint32 first, int n, SkxKey *keys)
{
	skx_keys_read_docs(reader, NULL, first, n, keys);
}

void
skx_segment_keys_read_docs(SkxKeyReader *reader, const uint32 *docs, int n,
						   SkxKey *keys)
{
	if (n > 1)
		skx_segment_keys_prefetch(reader, docs, n);
	skx_keys_read_docs(reader, docs, 0, n, keys);
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
	node->first = child->first_group * SKX_KEY_GROUP_DOCS;
	node->page = child->page;
}

static void
skx_keys_group_node(const SkxDiskKeyPage *leaf, int i, uint32 page,
					SkxKeyNode *node)
{
	node->least = skx_keys_groups(leaf)[i].least;
	node->most = skx_keys_groups(leaf)[i].most;
	node->first = (leaf->first_group + i) * SKX_KEY_GROUP_DOCS;
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
	page = skx_segment_keys_page(reader, node->page, node->level);
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
	/* the page may have replaced the pinned leaf */
	reader->leaf = NULL;
	if (skx_blkio_has_many_pins(reader->seg->file))
		skx_segment_keys_unpin(reader);
	return n;
}
