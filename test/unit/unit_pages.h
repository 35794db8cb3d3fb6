/*
 * unit_pages.h
 *	  Every kind of page with its validator, and golden pages to start from.
 */
#ifndef SKX_TEST_UNIT_PAGES_H
#define SKX_TEST_UNIT_PAGES_H

#include "unit_golden.h"

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"

/* Pages of the keys plane: more than golden pages point at. */
#define UNIT_KEY_PAGES		1000

static SkxDiskSegment unit_segment;
static SkxDiskMeta unit_meta;
static uint64 unit_sum;

static const char *
unit_header(const char *page)
{
	Size		size = ((const PageHeaderData *) page)->pd_lower -
		SKX_PAGE_START;

	return skx_disk_check_segment(page + SKX_PAGE_START, size, 9, 1600);
}

static const char *
unit_root(const char *page)
{
	const SkxDiskRootPage *root = (const SkxDiskRootPage *)
		(page + SKX_PAGE_START);
	const char *wrong = skx_disk_check_root(page);

	if (wrong != NULL)
		return wrong;
	return skx_disk_check_root_stream((const char *) (root + 1),
										root->nbytes, &unit_meta);
}

static const char *
unit_stripe(const char *page)
{
	return skx_disk_check_stripe(page, 16);
}

static const char *
unit_pending(const char *page)
{
	return skx_disk_check_pending(page, 16);
}

static const char *
unit_chain(const char *page)
{
	return skx_disk_check_chain(page, 16);
}

static const char *
unit_deletes(const char *page)
{
	return skx_disk_check_deletes(page, 0, &unit_segment);
}

static const char *
unit_tids(const char *page)
{
	return skx_disk_check_tids(page, 0, &unit_segment);
}

static const char *
unit_directory(const char *page)
{
	return skx_disk_check_tids(page, unit_segment.tid_pages, &unit_segment);
}

static const char *
unit_norms(const char *page)
{
	return skx_disk_check_norms(page, 2, &unit_segment);
}

/* What a reader goes through: heads of groups and their bodies. */
static const char *
unit_keys(const char *page)
{
	const SkxDiskKeyPage *head = (const SkxDiskKeyPage *)
		(page + SKX_PAGE_START);
	const SkxDiskKeyGroup *groups = (const SkxDiskKeyGroup *) (head + 1);
	const char *wrong = skx_disk_check_keys(page, UNIT_KEY_PAGES - 2,
											  &unit_segment);
	uint32		i;

	for (i = 0; wrong == NULL && head->level == 0 && i < head->n; i++)
		unit_sum += groups[i].least + (uint8) page[groups[i].body];
	return wrong;
}

static const char *
unit_key_columns(const char *page)
{
	return skx_disk_check_keys(page, UNIT_KEY_PAGES - 1, &unit_segment);
}

static const char *
unit_dict(const char *page)
{
	return skx_disk_check_dict(page, &unit_segment);
}

static const char *
unit_portion(const char *page, uint32 offset)
{
	const SkxDiskPortion *portion = (const SkxDiskPortion *) (page + offset);
	const char *wrong = skx_disk_check_portion(page, offset, &unit_segment);
	const uint16 *bodies;
	uint32		i;

	if (wrong != NULL)
		return wrong;
	/* a reader goes through the columns and hands the bodies to a codec */
	bodies = (const uint16 *) ((const char *) (portion + 1) +
							   portion->nsub * 12);
	for (i = 0; i < portion->nsub; i++)
		unit_sum += (uint8) page[bodies[i]] + bodies[portion->nsub + i] +
			bodies[2 * portion->nsub + i];
	return NULL;
}

static const char *
unit_node(const char *page)
{
	const SkxDiskNode *node = (const SkxDiskNode *) (page + 32);
	const char *wrong = skx_disk_check_node(page, 32, &unit_segment);
	const uint64 *impacts = (const uint64 *) (node + 1);
	uint32		slots;
	uint32		i;

	if (wrong != NULL)
		return wrong;
	slots = (uint32) node->page_slots + node->forward_slots +
		node->table_slots;
	for (i = 0; i < slots; i++)
		unit_sum += impacts[i] + ((const uint32 *) (impacts + slots))[i];
	return unit_portion(page, 32 + SKX_NODE_HEADER_SIZE(node->page_slots,
														node->forward_slots,
														node->table_slots));
}

static const char *
unit_next_portion(const char *page)
{
	return unit_portion(page, SKX_PAGE_START);
}

static const char *
unit_table(const char *page)
{
	return skx_disk_check_node_table(page, &unit_segment);
}

typedef struct UnitKind
{
	const char *name;
	const char *(*check) (const char *page);
	uint32		ndocs;
	int			must_refuse;	/* of 100 mutations, at least */
} UnitKind;

/*
 * Norms are any bytes, so are most of the bodies of postings; only damage to
 * counts and offsets can be told there.
 */
static const UnitKind unit_kinds[] = {
	{"meta", skx_disk_check_meta, 0, 20},
	{"root", unit_root, 0, 20},
	{"stripe", unit_stripe, 0, 10},
	{"pending", unit_pending, 0, 10},
	{"chain", unit_chain, 0, 5},
	{"deletes", unit_deletes, 1000, 90},
	{"header", unit_header, 0, 20},
	{"tids", unit_tids, 20000, 10},
	{"tid_directory", unit_directory, 20000, 20},
	{"norms", unit_norms, 20000, 0},
	{"keys_leaf", unit_keys, 20000, 5},
	{"keys_inner", unit_keys, 20000, 20},
	{"key_columns", unit_key_columns, 20000, 10},
	{"dict_leaf", unit_dict, 100000, 20},
	{"dict_inner", unit_dict, 100000, 30},
	{"postings_node", unit_node, 10000000, 4},
	{"postings_portion", unit_next_portion, 10000000, 4},
	{"node_table", unit_table, 1000000000, 10},
	{"positions", skx_disk_check_positions, 0, 2},
};

/* What validators of this kind of page are told about the index. */
static inline void
unit_setup(const UnitKind *kind, const char *page)
{
	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = kind->ndocs;
	unit_segment.block_size = 4 * BLCKSZ;
	unit_segment.nterms = 3000;
	unit_segment.nkeys = 2;
	unit_segment.planes[SKX_SEGMENT_KEYS].npages = UNIT_KEY_PAGES;
	unit_segment.planes[SKX_SEGMENT_DICT].npages = 100;
	unit_segment.planes[SKX_SEGMENT_POSTINGS].npages = 100;
	unit_segment.planes[SKX_SEGMENT_POSITIONS].npages = 100;
	unit_segment.tid_pages =
		(((const PageHeaderData *) page)->pd_lower - SKX_PAGE_START) / 4;
	if (strcmp(kind->name, "tids") == 0)
		unit_segment.tid_pages = 2;
	unit_meta.next_segment = 10;
	unit_meta.nblocks = 1600;
}

#endif							/* SKX_TEST_UNIT_PAGES_H */
