/*
 * skiplist_cursor.c
 *	  Reads one long posting list, with skips.
 *
 * A seek goes down three levels.  It compares the target with the last
 * documents of nodes, then of the pages of a node, then of the sub-blocks of a
 * page.  Those of nodes are in the node table, which is in node 0 or on pages
 * of its own, and in forward pointers.  The cursor lands on the first node
 * that can contain the target.  A node or page whose documents all precede the
 * target is not read.  Exceptions are the page of a node's header, and node 0
 * in the first seek.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "format/disk/disk_page.h"
#include "format/disk/disk_postings.h"
#include "index/skiplist/skiplist.h"

SkxSkiplistWork skx_skiplist_work;

#define SKX_CACHE_LINE		64

/* Bytes of a sub-block's body that documents and frequencies mostly take. */
#define SKX_BODY_PREFETCH_BYTES	(3 * SKX_CACHE_LINE)

/*
 * Reports damage in a page of the list.
 */
static void
skx_skiplist_damaged(SkxSkiplistCursor *c, uint32 ordinal, const char *what)
{
	skx_damage_report(c->rel, skx_blkio_block(c->rel, c->plane, ordinal), what);
}

/* Allocates the table of impacts and last documents of all nodes. */
static void
skx_skiplist_make_table(SkxSkiplistCursor *c)
{
	Size		n = c->list.nnodes;

	c->table_impacts = palloc_extended((sizeof(SkxImpacts) + sizeof(uint32)) *
									   n, MCXT_ALLOC_HUGE);
	c->table_last = (uint32 *) (c->table_impacts + n);
}

/*
 * Copies from a node's header what later moves need, so that the header's page
 * need not stay pinned while the cursor is on another page of the node.
 */
static void
skx_skiplist_copy_header(SkxSkiplistCursor *c, const SkxDiskNode *disk,
						 uint32 ordinal)
{
	const char *columns = (const char *) (disk + 1);
	const uint64 *impacts = (const uint64 *) columns;
	const uint32 *lasts;

	lasts = (const uint32 *) (impacts + disk->page_slots + disk->forward_slots +
							  disk->table_slots);
	if (c->page_slots < disk->npages)
	{
		if (c->page_impacts != NULL)
			pfree(c->page_impacts);
		c->page_impacts = palloc((sizeof(SkxImpacts) + sizeof(uint32)) *
								 disk->npages);
		c->page_last = (uint32 *) (c->page_impacts + disk->npages);
		c->page_slots = disk->npages;
	}
	c->node_impacts = disk->impacts;
	memcpy(c->page_impacts, impacts, sizeof(SkxImpacts) * disk->npages);
	memcpy(c->page_last, lasts, sizeof(uint32) * disk->npages);
	impacts += disk->page_slots;
	lasts += disk->page_slots;
	memcpy(c->forward_impacts, impacts, sizeof(SkxImpacts) * disk->nforward);
	memcpy(c->forward_last, lasts, sizeof(uint32) * disk->nforward);
	impacts += disk->forward_slots;
	lasts += disk->forward_slots;
	if (disk->table_nodes > 0 && c->table_last == NULL)
	{
		if (disk->table_nodes != c->list.nnodes ||
			disk->table_nodes > disk->table_slots)
			skx_skiplist_damaged(c, ordinal,
								 "node table does not cover its list");
		skx_skiplist_make_table(c);
		memcpy(c->table_last, lasts, sizeof(uint32) * disk->table_nodes);
		memcpy(c->table_impacts, impacts,
			   sizeof(SkxImpacts) * disk->table_nodes);
	}
}

/*
 * Enters a node: pins its first page and reads the header.
 */
static void
skx_skiplist_enter_node(SkxSkiplistCursor *c, uint32 node)
{
	uint32		ordinal = skx_skiplist_node_page(c, node);
	uint16		offset = node == 0 ? c->list.offset : SKX_PAGE_START;
	const char *page = skx_blkio_pin(c->file, c->plane, ordinal, &c->ref);
	const SkxDiskNode *disk;
	int64		step = c->node_npages > 0 ? (int64) node - c->node : 0;
	int64		passed = c->node_npages > 0 ? step - 1 : node;

	if (offset % 8 != 0 || offset < SKX_PAGE_START ||
		offset + sizeof(SkxDiskNode) > SKX_PAGE_END)
		skx_skiplist_damaged(c, ordinal, "node header out of its page");
	disk = (const SkxDiskNode *) (page + offset);
	if (disk->check != c->list_check || disk->node != node)
		skx_skiplist_damaged(c, ordinal, "node of another list");
	if (disk->npages == 0 || disk->npages > disk->page_slots ||
		disk->npages > c->plane->unit ||
		disk->nforward > disk->forward_slots ||
		disk->forward_slots > SKX_NODE_FORWARD_SLOTS ||
		offset + SKX_NODE_HEADER_SIZE(disk->page_slots, disk->forward_slots,
									  disk->table_slots) > SKX_PAGE_END)
		skx_skiplist_damaged(c, ordinal, "node header counts out of range");

	c->node = node;
	c->node_page = ordinal;
	c->node_offset = offset;
	c->node_npages = disk->npages;
	c->node_last = disk->last;
	c->header_size = SKX_NODE_HEADER_SIZE(disk->page_slots,
										  disk->forward_slots,
										  disk->table_slots);
	c->nforward = disk->nforward;
	c->is_last = disk->is_last != 0;
	skx_skiplist_copy_header(c, disk, ordinal);
	c->last_docs = NULL;
	c->subblock = -1;
	skx_skiplist_work.read_nodes++;
	skx_skiplist_work.skipped_nodes += Max(passed, 0);
	if (c->on_enter != NULL)
		c->on_enter(c, step);
}

/* Prefetches bytes into the processor's cache. */
static inline void
skx_skiplist_prefetch_memory(const void *bytes, int n)
{
	int			i;

	for (i = 0; i < n; i += SKX_CACHE_LINE)
		__builtin_prefetch((const char *) bytes + i);
}

/*
 * Moves to sub-block `sub` of the current portion.
 */
static void
skx_skiplist_enter_subblock(SkxSkiplistCursor *c, int sub)
{
	uint16		body = ((const uint16 *) c->body_offsets)[sub];
	uint16		next = SKX_PAGE_END;
	bool		in_row = sub == c->subblock + 1;

	if (sub + 1 < c->nsub)
		next = ((const uint16 *) c->body_offsets)[sub + 1];
	if (body < SKX_PAGE_START || body >= next || next > SKX_PAGE_END)
		skx_skiplist_damaged(c, c->node_page + c->portion,
							 "sub-block out of its page");
	c->subblock = sub;
	c->n = sub + 1 < c->nsub ? SKX_SUBBLOCK : c->last_npostings;
	c->base_doc = sub > 0 ? c->last_docs[sub - 1] : c->portion_base;
	c->last_doc = c->last_docs[sub];
	c->body = (const uint8 *) c->ref.page + body;
	c->end = (const uint8 *) c->ref.page + next;
	/* most sub-blocks that are entered are decoded a little later */
	skx_skiplist_prefetch_memory(c->body, SKX_BODY_PREFETCH_BYTES);
	if (in_row)
		skx_skiplist_prefetch_memory(c->end, SKX_BODY_PREFETCH_BYTES);
}

void
skx_skiplist_pin_page(SkxSkiplistCursor *c)
{
	uint32		ordinal = c->node_page + c->portion;
	const char *page;
	const SkxDiskPortion *disk;
	uint32		offset = SKX_PAGE_START;

	page = skx_blkio_pin(c->file, c->plane, ordinal, &c->ref);
	if (c->portion == 0)
		offset = c->node_offset + c->header_size;
	if (offset + sizeof(SkxDiskPortion) > SKX_PAGE_END)
		skx_skiplist_damaged(c, ordinal, "portion out of its page");
	disk = (const SkxDiskPortion *) (page + offset);
	if (disk->check != c->list_check)
		skx_skiplist_damaged(c, ordinal, "portion of another list");
	if (disk->nsub == 0 || disk->tail == 0 || disk->tail > SKX_SUBBLOCK ||
		offset + sizeof(SkxDiskPortion) +
		(uint32) disk->nsub * SKX_PORTION_COLUMNS > SKX_PAGE_END)
		skx_skiplist_damaged(c, ordinal, "portion counts out of range");
	c->nsub = disk->nsub;
	c->last_npostings = disk->tail;
	c->portion_base = disk->base;
	c->pos_page = disk->pos_page;
	c->impacts = (const uint64 *) (disk + 1);
	c->last_docs = (const uint32 *) (c->impacts + disk->nsub);
	c->body_offsets = (const char *) (c->last_docs + disk->nsub);
	if (c->subblock >= 0)
		skx_skiplist_enter_subblock(c, c->subblock);
	else
		skx_skiplist_prefetch_memory(c->last_docs, disk->nsub *
									 (sizeof(uint32) + sizeof(uint16)));
}

void
skx_skiplist_unpin_if_crowded(SkxSkiplistCursor *c)
{
	if (c->ref.page != NULL && skx_blkio_has_many_pins(c->file))
	{
		skx_blkio_unpin(c->file, &c->ref);
		c->last_docs = NULL;
	}
}

static void
skx_skiplist_enter_portion(SkxSkiplistCursor *c, uint32 portion)
{
	c->portion = portion;
	c->last_docs = NULL;
	c->subblock = -1;
	skx_skiplist_pin(c);
	skx_skiplist_work.entered_portions++;
}

void
skx_skiplist_open(SkxSkiplistCursor *c, SkxBlkFile *file, Relation rel,
				  const SkxBlkPlane *plane, uint32 check,
				  const SkxListAddress *list)
{
	memset(c, 0, sizeof(*c));
	c->file = file;
	c->rel = rel;
	c->plane = plane;
	c->list_check = check;
	c->list = *list;
	c->subblock = -1;
	c->node_npages = 0;			/* no node entered yet */
}

void
skx_skiplist_close(SkxSkiplistCursor *c)
{
	if (c->ref.page != NULL)
		skx_blkio_unpin(c->file, &c->ref);
	if (c->page_impacts != NULL)
		pfree(c->page_impacts);
	if (c->table_impacts != NULL)
		pfree(c->table_impacts);
	memset(c, 0, sizeof(*c));
}

static void
skx_skiplist_load_table(SkxSkiplistCursor *c)
{
	uint32		done = 0;
	uint32		ordinal = c->list.table_page;
	SkxBlkRef	ref = {0};

	skx_skiplist_make_table(c);
	while (done < c->list.nnodes)
	{
		const char *page = skx_blkio_pin(c->file, c->plane, ordinal, &ref);
		const SkxDiskNodeTable *disk;
		const uint64 *impacts;

		disk = (const SkxDiskNodeTable *) (page + SKX_PAGE_START);
		if (disk->check != c->list_check || disk->first_node != done ||
			disk->nnodes == 0 || disk->nnodes > c->list.nnodes - done ||
			disk->nnodes > SKX_NODE_TABLE_MAX)
			skx_skiplist_damaged(c, ordinal, "node table of another list");
		impacts = (const uint64 *) (disk + 1);
		memcpy(c->table_impacts + done, impacts,
			   sizeof(uint64) * disk->nnodes);
		memcpy(c->table_last + done, impacts + disk->nnodes,
			   sizeof(uint32) * disk->nnodes);
		done += disk->nnodes;
		ordinal++;
		skx_skiplist_work.read_table_pages++;
	}
	skx_blkio_unpin(c->file, &ref);
}

/*
 * A list without a table is so short that the forward pointers of each of its
 * nodes reach its end.
 */
void
skx_skiplist_fill_tables_from(SkxSkiplistCursor *c)
{
	if (c->table_last != NULL)
		return;
	if (c->list.has_table)
	{
		skx_skiplist_load_table(c);
		return;
	}
	if (c->node + 1 + c->nforward != c->list.nnodes)
		skx_skiplist_damaged(c, c->node_page,
							 "forward pointers end before their list");
	skx_skiplist_make_table(c);
	c->table_first_valid = c->node;
	c->table_last[c->node] = c->node_last;
	c->table_impacts[c->node] = c->node_impacts;
	memcpy(c->table_last + c->node + 1, c->forward_last,
		   sizeof(uint32) * c->nforward);
	memcpy(c->table_impacts + c->node + 1, c->forward_impacts,
		   sizeof(SkxImpacts) * c->nforward);
}

/*
 * Returns the first node after the current one that can contain `target`, or
 * nnodes if none can.  Without a table that node may lie beyond the forward
 * pointers.  Then the result is the first node beyond them, and the caller
 * goes on from there.
 */
static uint32
skx_skiplist_next_candidate_node(SkxSkiplistCursor *c, uint32 target)
{
	int			i;

	if (c->is_last)
		return c->list.nnodes;
	if (c->table_last == NULL)
	{
		for (i = 0; i < c->nforward; i++)
			if (c->forward_last[i] >= target)
				return c->node + 1 + i;
		if (!c->list.has_table)
			return c->node + 1 + c->nforward;
		skx_skiplist_load_table(c);
	}
	return skx_skiplist_lower_bound(c->table_last, c->node + 1,
									c->list.nnodes, target);
}

/*
 * Moves to the node that can contain the target, then to its page.
 */
static bool
skx_skiplist_seek_page(SkxSkiplistCursor *c, uint32 target)
{
	int			from = c->portion + 1;
	int			page;

	if (c->node_npages == 0)
	{
		skx_skiplist_enter_node(c, 0);
		from = 0;
	}
	while (c->node_last < target)
	{
		uint32		node = skx_skiplist_next_candidate_node(c, target);

		if (node >= c->list.nnodes)
		{
			skx_skiplist_work.skipped_nodes += c->list.nnodes - 1 - c->node;

			/*
			 * skx_skiplist_unpin_if_crowded() is not called after the end of
			 * a list
			 */
			skx_blkio_unpin(c->file, &c->ref);
			c->last_docs = NULL;
			return false;
		}
		skx_skiplist_enter_node(c, node);
		from = 0;
	}
	page = skx_skiplist_lower_bound(c->page_last, from, c->node_npages,
									target);
	if (page >= c->node_npages)
		skx_skiplist_damaged(c, c->node_page,
							 "node ends before its last document");
	skx_skiplist_enter_portion(c, page);
	return true;
}

bool
skx_skiplist_seek(SkxSkiplistCursor *c, uint32 target)
{
	int			sub;

	if (c->node_npages != 0 && c->subblock >= 0)
	{
		if (c->last_doc >= target)
			return true;
		skx_skiplist_pin(c);
		if (c->last_docs[c->nsub - 1] >= target)
		{
			sub = skx_skiplist_lower_bound(c->last_docs, c->subblock + 1,
										   c->nsub, target);
			skx_skiplist_enter_subblock(c, sub);
			return true;
		}
	}
	if (!skx_skiplist_seek_page(c, target))
		return false;
	sub = skx_skiplist_lower_bound(c->last_docs, 0, c->nsub, target);
	if (sub >= c->nsub)
		skx_skiplist_damaged(c, c->node_page + c->portion,
							 "page ends before its last document");
	skx_skiplist_enter_subblock(c, sub);
	return true;
}

/* Fills table_last and table_impacts for all nodes of the list. */
static void
skx_skiplist_fill_tables(SkxSkiplistCursor *c)
{
	if (c->table_last != NULL && c->table_first_valid == 0)
		return;
	if (c->table_impacts != NULL)
		pfree(c->table_impacts);
	c->table_impacts = NULL;
	c->table_last = NULL;
	if (!c->list.has_table && (c->node_npages == 0 || c->node != 0))
		skx_skiplist_enter_node(c, 0);
	c->table_first_valid = 0;
	skx_skiplist_fill_tables_from(c);
}

void
skx_skiplist_seek_back(SkxSkiplistCursor *c, uint32 target)
{
	uint32		node = 0;
	int			page;
	int			sub;

	if (c->list.nnodes > 1)
	{
		skx_skiplist_fill_tables(c);
		node = skx_skiplist_lower_bound(c->table_last, 0, c->list.nnodes,
										target);
		node = Min(node, c->list.nnodes - 1);
	}
	if (c->node_npages == 0 || c->node != node)
		skx_skiplist_enter_node(c, node);
	page = skx_skiplist_lower_bound(c->page_last, 0, c->node_npages, target);
	page = Min(page, c->node_npages - 1);
	if (c->subblock < 0 || c->portion != page)
		skx_skiplist_enter_portion(c, page);
	else
		skx_skiplist_pin(c);
	sub = skx_skiplist_lower_bound(c->last_docs, 0, c->nsub, target);
	skx_skiplist_enter_subblock(c, Min(sub, c->nsub - 1));
}

bool
skx_skiplist_find_node(SkxSkiplistCursor *c, uint32 target, uint32 *node)
{
	uint32		reach = c->node + c->nforward;

	/* a later seek reads the table as well, or skips enough to be worth it */
	if (c->table_last == NULL && c->list.has_table &&
		(c->nforward == 0 || c->forward_last[c->nforward - 1] < target))
		skx_skiplist_load_table(c);
	if (c->table_last != NULL)
	{
		*node = skx_skiplist_lower_bound(c->table_last, *node + 1,
										 c->list.nnodes, target);
		return true;
	}
	while (*node < reach)
	{
		(*node)++;
		if (c->forward_last[*node - c->node - 1] >= target)
			return true;
	}
	*node = reach + 1;
	return *node >= c->list.nnodes;
}

void
skx_skiplist_prefetch_target(const SkxSkiplistCursor *c, uint32 target)
{
	int			sub;

	if (c->last_docs == NULL || c->last_docs[c->nsub - 1] < target)
		return;
	sub = skx_skiplist_lower_bound(c->last_docs, c->subblock + 1, c->nsub,
								   target);
	skx_skiplist_prefetch_memory(c->ref.page +
								 ((const uint16 *) c->body_offsets)[sub],
								 SKX_BODY_PREFETCH_BYTES);
}

void
skx_skiplist_positions(SkxSkiplistCursor *c, SkxPositionAddress *address)
{
	const uint16 *pages;

	skx_skiplist_pin(c);
	pages = (const uint16 *) c->body_offsets + c->nsub;
	address->page = c->pos_page + pages[c->subblock];
	address->offset = pages[c->nsub + c->subblock];
	address->index = ((const uint8 *) (pages + 2 * c->nsub))[c->subblock];
}
