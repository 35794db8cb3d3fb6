/*
 * disk_check_lists.c
 *	  Validators of the pages of posting lists and positions.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"

static Size
skx_disk_page_end(const char *page)
{
	return ((const PageHeaderData *) page)->pd_lower;
}

/*
 * Returns true if n documents ascend, follow `base` (SKX_NO_DOC: none) and are
 * below ndocs.
 */
static bool
skx_disk_docs_ascend(uint32 base, const uint32 *docs, uint32 n, uint32 ndocs)
{
	uint64		least = base == SKX_NO_DOC ? 0 : (uint64) base + 1;
	uint32		i;

	for (i = 0; i < n; i++)
	{
		if (docs[i] < least || docs[i] >= ndocs)
			return false;
		least = (uint64) docs[i] + 1;
	}
	return true;
}

/*
 * Checks the columns of a node.  The last documents ascend strictly, since
 * each page, forward pointer and table entry covers at least one document.
 */
static const char *
skx_disk_check_node_columns(const SkxDiskNode *node,
							const SkxDiskSegment *seg)
{
	uint32		slots = (uint32) node->page_slots + node->forward_slots +
		node->table_slots;
	const uint32 *lasts = (const uint32 *) ((const uint64 *) (node + 1) +
											slots);
	const uint16 *nsubs = (const uint16 *) (lasts + slots);
	uint32		i;

	if (!skx_disk_docs_ascend(node->base, lasts, node->npages, seg->ndocs) ||
		lasts[node->npages - 1] != node->last)
		return "the pages of a node are not in order";
	for (i = 0; i < node->npages; i++)
	{
		if (nsubs[i] == 0)
			return "a page of a node is empty";
	}
	lasts += node->page_slots;
	if (!skx_disk_docs_ascend(node->last, lasts, node->nforward, seg->ndocs))
		return "the forward pointers of a node are not in order";
	lasts += node->forward_slots;
	if (!skx_disk_docs_ascend(SKX_NO_DOC, lasts, node->table_nodes,
							  seg->ndocs) ||
		(node->table_nodes > 0 && lasts[0] != node->last))
		return "the node table is not in order";
	return NULL;
}

const char *
skx_disk_check_node(const char *page, uint32 offset,
					const SkxDiskSegment *seg)
{
	const SkxDiskNode *node = (const SkxDiskNode *) (page + offset);
	uint32		block_pages = seg->block_size / BLCKSZ;

	if (offset < SKX_PAGE_START || offset % 8 != 0 ||
		offset + sizeof(SkxDiskNode) > skx_disk_page_end(page))
		return "a node starts at an impossible offset";
	if (node->page_slots == 0 || node->page_slots > block_pages ||
		node->npages == 0 || node->npages > node->page_slots ||
		(node->forward_slots != 0 &&
		 node->forward_slots != SKX_NODE_FORWARD_SLOTS) ||
		node->nforward > node->forward_slots ||
		node->table_slots > SKX_NODE_TABLE_SLOTS ||
		node->table_nodes > node->table_slots ||
		node->is_last > 1)
		return "a node has impossible counts";
	if (offset + SKX_NODE_HEADER_SIZE(node->page_slots, node->forward_slots,
									  node->table_slots) >
		skx_disk_page_end(page))
		return "a node header passes the end of its page";
	if ((node->node == 0) != (node->base == SKX_NO_DOC) ||
		(node->node > 0 && node->table_slots > 0) ||
		(node->is_last && node->nforward > 0))
		return "a node has an impossible number";
	if (node->npostings == 0 ||
		node->npostings > (uint32) (node->last - node->base) ||
		(!node->is_last && node->npostings % SKX_SUBBLOCK != 0))
		return "a node has an impossible number of postings";
	return skx_disk_check_node_columns(node, seg);
}

const char *
skx_disk_check_portion(const char *page, uint32 offset,
					   const SkxDiskSegment *seg)
{
	const SkxDiskPortion *portion = (const SkxDiskPortion *) (page + offset);
	Size		lower = skx_disk_page_end(page);
	const uint32 *lasts;
	const uint16 *bodies;
	const uint8 *indexes;
	Size		least;
	uint32		n;
	uint32		i;

	if (offset < SKX_PAGE_START || offset % 8 != 0 ||
		offset + sizeof(SkxDiskPortion) > lower)
		return "a portion starts at an impossible offset";
	n = portion->nsub;
	if (n == 0 || portion->tail == 0 || portion->tail > SKX_SUBBLOCK)
		return "a portion has impossible counts";
	least = offset + sizeof(SkxDiskPortion) + n * SKX_PORTION_COLUMNS;
	if (least > lower)
		return "a portion passes the end of its page";
	lasts = (const uint32 *) ((const uint64 *) (portion + 1) + n);
	bodies = (const uint16 *) (lasts + n);
	indexes = (const uint8 *) (bodies + 3 * n);
	if (!skx_disk_docs_ascend(portion->base, lasts, n, seg->ndocs))
		return "the sub-blocks of a portion are not in order";
	for (i = 0; i < n; i++)
	{
		/* a body has three bytes or more */
		if (bodies[i] < least || bodies[i] + 3 > lower)
			return "a sub-block lies outside its portion";
		if (indexes[i] >= SKX_SUBBLOCK)
			return "a sub-block has an impossible position";
		least = bodies[i] + 3;
	}
	return NULL;
}

const char *
skx_disk_check_node_table(const char *page, const SkxDiskSegment *seg)
{
	const SkxDiskNodeTable *table;
	Size		size = skx_disk_page_end(page) - SKX_PAGE_START;
	const uint32 *lasts;

	if (size < sizeof(SkxDiskNodeTable))
		return "the node table is too short";
	table = (const SkxDiskNodeTable *) (page + SKX_PAGE_START);
	if (table->nnodes == 0 || table->nnodes > SKX_NODE_TABLE_MAX ||
		size != sizeof(SkxDiskNodeTable) + table->nnodes * 12)
		return "the node table has an impossible length";
	lasts = (const uint32 *) ((const uint64 *) (table + 1) + table->nnodes);
	if (!skx_disk_docs_ascend(SKX_NO_DOC, lasts, table->nnodes, seg->ndocs))
		return "the node table is not in order";
	return NULL;
}

const char *
skx_disk_check_positions(const char *page)
{
	const uint8 *p = (const uint8 *) page + SKX_PAGE_START;
	const uint8 *end = (const uint8 *) page + skx_disk_page_end(page);
	uint32		deltas[SKX_SUBBLOCK];

	while (p < end)
	{
		int			n;

		p = skx_codec_positions_get(p, end, deltas, &n);
		if (p == NULL)
			return "a position block does not decode";
	}
	return NULL;
}
