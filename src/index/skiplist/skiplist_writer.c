/*
 * skiplist_writer.c
 *	  Writes the postings plane: short lists as they are, longer ones as nodes.
 *
 * Lists are written one after the other, page after page, in one pass.  The
 * sub-blocks of a page are collected until the page is full, because their
 * columns come before their bodies.  A node header tells about later nodes,
 * which are not known when the node is written.  So the page with the header
 * is kept until SKX_NODE_FORWARD_SLOTS more nodes are complete.  If node 0
 * has a node table, its page is kept until the list ends or outgrows the
 * table.  Other pages go to the sink at once.  So SKX_WRITER_PAGES_MAX pages
 * are enough, whatever the block size.
 *
 * Lists and nodes start at these places:
 * - A short list starts at any byte of the page where it fits.
 * - Node 0 starts at the next multiple of 8 of the current page if its header,
 *   the portion's and the first sub-block fit there, else on the next page.
 *   The numbers of slots are computed anew for the next page, which may be in
 *   the next block.
 * - Later nodes start with the next block.  Table pages, and the list after
 *   them, start with the next page.
 *
 * Numbers of slots are estimated from the postings that are still to come, at
 * SKX_SUBBLOCK_BYTES_ESTIMATE bytes a sub-block, which few lists exceed.  A
 * list that exceeds it is correct all the same.  A node ends early if its page
 * columns are full, nodes may lack forward pointers, and the table may get
 * pages of its own.
 */
#include "postgres.h"

#include "format/disk/disk_postings.h"
#include "index/skiplist/skiplist.h"

/* Bytes that a sub-block, with its columns, rarely exceeds. */
#define SKX_SUBBLOCK_BYTES_ESTIMATE	448

/*
 * Most pages that are kept: those of SKX_NODE_FORWARD_SLOTS nodes that wait
 * for forward pointers, of node 0 that waits for its table, of the current
 * node, and the current one.
 */
#define SKX_WRITER_PAGES_MAX	(SKX_NODE_FORWARD_SLOTS + 3)

/* Sub-blocks that fit on one page at most (a body has 3 bytes or more). */
#define SKX_PORTION_SUBBLOCKS_MAX \
	(SKX_PAGE_CAPACITY / (SKX_PORTION_COLUMNS + 3) + 1)

typedef struct SkxWriterPage
{
	uint32		ordinal;
	uint32		used_bytes;		/* page offset where the content ends */
	bool		is_held;		/* a header on it is not complete */
	bool		is_full;		/* nothing more will be appended */
	char	   *data;
} SkxWriterPage;

/* A node whose header may still change. */
typedef struct SkxOpenNode
{
	SkxWriterPage *page;
	SkxDiskNode *header;
} SkxOpenNode;

typedef struct SkxNodeSummary
{
	SkxImpacts	impacts;
	uint32		last;
} SkxNodeSummary;

struct SkxSkiplistWriter
{
	uint32		block_pages;
	SkxPageSink sink;
	void	   *arg;
	const float *saturation;	/* see skx_rank_impacts_pack; or NULL */
	SkxWriterPage *page;		/* the page that is being filled, or NULL */
	uint32		npages;			/* number of pages begun */
	SkxWriterPage *free_pages[SKX_WRITER_PAGES_MAX];	/* pages not in use */
	int			nfree_pages;

	/* the list */
	uint32		list_check;
	uint32		remaining_postings; /* postings to come, as expected */
	uint32		last;			/* last document so far */
	uint32		nnodes;			/* nodes begun */
	uint32		first_forward;	/* forward slots of node 0 */
	SkxListAddress address;
	SkxImpactSet list_set;
	SkxNodeSummary *summaries;	/* of complete nodes */
	uint32		summaries_size;
	SkxOpenNode first;			/* node 0 while its table is open */
	SkxOpenNode open[SKX_NODE_FORWARD_SLOTS + 1];	/* node i in i % length */
	uint32		oldest;			/* first node in `open` */

	/* the node */
	SkxDiskNode *node;			/* NULL: none is begun */
	SkxImpactSet node_set;

	/* the portion */
	uint32		start;			/* its page offset */
	SkxDiskPortion portion;
	SkxImpactSet page_set;
	uint64		impacts[SKX_PORTION_SUBBLOCKS_MAX];
	uint32		last_docs[SKX_PORTION_SUBBLOCKS_MAX];
	uint16		body_offsets[SKX_PORTION_SUBBLOCKS_MAX];	/* offset in `body` */
	SkxPositionAddress positions[SKX_PORTION_SUBBLOCKS_MAX];
	uint32		nbody;
	uint8		body[BLCKSZ];
};

SkxSkiplistWriter *
skx_skiplist_writer_create(uint32 block_pages, SkxPageSink sink, void *arg)
{
	SkxSkiplistWriter *w = palloc0(sizeof(SkxSkiplistWriter));
	SkxWriterPage *pages =
		palloc0(SKX_WRITER_PAGES_MAX * sizeof(SkxWriterPage));
	char	   *data = palloc(SKX_WRITER_PAGES_MAX * BLCKSZ);

	Assert(block_pages >= 1);
	Assert(block_pages <= SKX_BLOCK_SIZE_MAX / BLCKSZ);
	w->block_pages = block_pages;
	w->sink = sink;
	w->arg = arg;
	w->summaries_size = 64;
	w->summaries = palloc(w->summaries_size * sizeof(SkxNodeSummary));
	for (w->nfree_pages = 0; w->nfree_pages <
		 SKX_WRITER_PAGES_MAX; w->nfree_pages++)
	{
		pages[w->nfree_pages].data = data + w->nfree_pages * BLCKSZ;
		w->free_pages[w->nfree_pages] = &pages[w->nfree_pages];
	}
	return w;
}

void
skx_skiplist_writer_set_saturation(SkxSkiplistWriter *w,
								   const float *saturation)
{
	w->saturation = saturation;
}

static inline SkxImpacts
skx_skiplist_pack_impacts(const SkxSkiplistWriter *w, const SkxImpactSet *set)
{
	return skx_rank_impacts_pack(set, w->saturation);
}

/*
 * Pages
 */

static void
skx_skiplist_page_release(SkxSkiplistWriter *w, SkxWriterPage *page)
{
	if (page->is_held || !page->is_full)
		return;
	w->sink(w->arg, page->ordinal, page->data,
			page->used_bytes - SKX_PAGE_START);
	w->free_pages[w->nfree_pages++] = page;
}

static void
skx_skiplist_page_end(SkxSkiplistWriter *w)
{
	SkxWriterPage *page = w->page;

	if (page == NULL)
		return;
	page->is_full = true;
	w->page = NULL;
	skx_skiplist_page_release(w, page);
}

/* Returns the current page; begins one if there is none. */
static SkxWriterPage *
skx_skiplist_page_get(SkxSkiplistWriter *w)
{
	SkxWriterPage *page = w->page;

	if (page != NULL)
		return page;
	Assert(w->nfree_pages > 0);
	page = w->free_pages[--w->nfree_pages];
	memset(page->data, 0, BLCKSZ);
	page->ordinal = w->npages++;
	page->used_bytes = SKX_PAGE_START;
	page->is_held = false;
	page->is_full = false;
	w->page = page;
	return page;
}

uint32
skx_skiplist_writer_page(const SkxSkiplistWriter *w)
{
	return w->page != NULL ? w->page->ordinal : w->npages;
}

void
skx_skiplist_writer_short(SkxSkiplistWriter *w, const uint8 *bytes,
						  uint32 nbytes, uint32 *page, uint16 *offset)
{
	SkxWriterPage *p = skx_skiplist_page_get(w);

	if (nbytes > SKX_PAGE_CAPACITY)
		elog(ERROR, "a list of %u bytes is too long to be a short one", nbytes);
	if (p->used_bytes + nbytes > SKX_PAGE_END)
	{
		skx_skiplist_page_end(w);
		p = skx_skiplist_page_get(w);
	}
	memcpy(p->data + p->used_bytes, bytes, nbytes);
	*page = p->ordinal;
	*offset = (uint16) p->used_bytes;
	p->used_bytes += nbytes;
}

/*
 * Adds packed impacts to a set.  Impacts of a page, node or list are made from
 * those of the level below, so that they bound these, whatever packing has
 * joined there.
 */
static void
skx_skiplist_add_impacts(SkxImpactSet *set, SkxImpacts impacts)
{
	int			i;

	if (impacts == SKX_IMPACTS_NONE)
		return;
	for (i = 0; i < 4; i++)
	{
		uint32		tf_code = (impacts >> (16 * i)) & 0xFF;
		uint8		norm = (impacts >> (16 * i + 8)) & 0xFF;

		skx_rank_impacts_add(set, tf_code + 1, norm);
	}
}

/*
 * Columns of a node header, each after the one before.
 */

static uint64 *
skx_skiplist_impacts(SkxDiskNode *node)
{
	return (uint64 *) (node + 1);
}

static uint32 *
skx_skiplist_lasts(SkxDiskNode *node)
{
	return (uint32 *) (skx_skiplist_impacts(node) + node->page_slots +
					   node->forward_slots + node->table_slots);
}

static void
skx_skiplist_set_page_slot(SkxDiskNode *node, uint32 slot, SkxImpacts impacts,
						   uint32 last, uint16 nsub)
{
	uint32	   *lasts = skx_skiplist_lasts(node);
	uint16	   *nsubs = (uint16 *) (lasts + node->page_slots +
									node->forward_slots + node->table_slots);

	Assert(slot < node->page_slots);
	skx_skiplist_impacts(node)[slot] = impacts;
	lasts[slot] = last;
	nsubs[slot] = nsub;
}

/* Appends one forward pointer. */
static void
skx_skiplist_add_forward(SkxDiskNode *node, const SkxNodeSummary *to)
{
	uint32		slot = node->page_slots + node->nforward;

	if (node->nforward == node->forward_slots)
		return;
	skx_skiplist_impacts(node)[slot] = to->impacts;
	skx_skiplist_lasts(node)[slot] = to->last;
	node->nforward++;
}

/*
 * Nodes
 */

/* Releases the page of a node whose header is complete. */
static void
skx_skiplist_node_release(SkxSkiplistWriter *w, SkxOpenNode *open)
{
	if (open->page != NULL && open->page != w->first.page)
	{
		open->page->is_held = false;
		skx_skiplist_page_release(w, open->page);
	}
	open->page = NULL;
}

/*
 * Writes the table of nnodes nodes in node 0, which waits for no table from
 * then on.  nnodes is 0 if the list has outgrown that table.
 */
static void
skx_skiplist_table_close(SkxSkiplistWriter *w, uint32 nnodes)
{
	SkxDiskNode *node = w->first.header;
	SkxWriterPage *page = w->first.page;
	uint32		slot;
	uint32		i;

	if (page == NULL)
		return;
	slot = node->page_slots + node->forward_slots;
	for (i = 0; i < nnodes; i++)
	{
		skx_skiplist_impacts(node)[slot + i] = w->summaries[i].impacts;
		skx_skiplist_lasts(node)[slot + i] = w->summaries[i].last;
	}
	node->table_nodes = nnodes;
	w->first.page = NULL;
	/* node 0 can be waiting for forward pointers as well */
	if (w->oldest > 0)
	{
		page->is_held = false;
		skx_skiplist_page_release(w, page);
	}
}

/*
 * Adds forward pointers to node `number`, which is complete, and releases
 * nodes that have all of theirs.
 */
static void
skx_skiplist_add_forward_to(SkxSkiplistWriter *w, uint32 number)
{
	uint32		i;

	for (i = w->oldest; i < number; i++)
		skx_skiplist_add_forward(w->open[i % lengthof(w->open)].header,
								 &w->summaries[number]);
	while (w->oldest + SKX_NODE_FORWARD_SLOTS <= number)
	{
		skx_skiplist_node_release(w, &w->open[w->oldest % lengthof(w->open)]);
		w->oldest++;
	}
}

/*
 * Returns true if a node with `here` bytes on its first page and `slots` page
 * slots is the last one, however large its sub-blocks are.  Any other node
 * needs forward slots, since a reader may know later nodes only by these.
 */
static bool
skx_skiplist_is_last(const SkxSkiplistWriter *w, uint64 here, uint32 slots)
{
	uint64		each = SKX_SUBBLOCK_BODY_MAX + SKX_PORTION_COLUMNS;
	uint64		head = SKX_NODE_HEADER_SIZE(slots, 0, 0) +
		sizeof(SkxDiskPortion);
	uint64		first = here > head ? (here - head) / each : 0;
	uint64		other = (SKX_PAGE_CAPACITY - sizeof(SkxDiskPortion)) / each;

	return ((uint64) w->remaining_postings + SKX_SUBBLOCK - 1) /
		SKX_SUBBLOCK <=
		first + (slots - 1) * other;
}

/*
 * Sizes the header of the next node for the list's remaining postings, given
 * that it starts at page offset `start` of page `ordinal`.
 */
static uint32
skx_skiplist_node_size(const SkxSkiplistWriter *w, uint32 ordinal,
					   uint32 start, SkxDiskNode *sizes)
{
	uint32		in_block = w->block_pages - ordinal % w->block_pages;
	uint64		bytes;
	uint64		here = SKX_PAGE_END - start;
	uint64		pages = 1;
	uint64		nodes = 1;

	bytes = ((uint64) w->remaining_postings + SKX_SUBBLOCK - 1) /
		SKX_SUBBLOCK *
		SKX_SUBBLOCK_BYTES_ESTIMATE + sizeof(SkxDiskNode) + 128;
	if (bytes > here)
		pages += (bytes - here + SKX_PAGE_CAPACITY - 1) / SKX_PAGE_CAPACITY;
	if (pages > in_block)
		nodes += (pages - in_block + w->block_pages - 1) / w->block_pages;
	sizes->page_slots = Min(pages, in_block);
	sizes->forward_slots = nodes > 1 ||
		(w->nnodes > 0 && !skx_skiplist_is_last(w, here, sizes->page_slots)) ?
		SKX_NODE_FORWARD_SLOTS : 0;
	sizes->table_slots = w->nnodes == 0 && nodes > 1 ?
		Min(nodes, SKX_NODE_TABLE_SLOTS) : 0;
	return SKX_NODE_HEADER_SIZE(sizes->page_slots, sizes->forward_slots,
								sizes->table_slots);
}

/* Begins the next node, whose first sub-block body has `nbody` bytes. */
static void
skx_skiplist_node_begin(SkxSkiplistWriter *w, uint32 nbody)
{
	SkxWriterPage *page = skx_skiplist_page_get(w);
	SkxDiskNode sizes = {0};
	SkxDiskNode *node;
	SkxOpenNode *open;
	uint32		at;
	uint32		size;
	uint32		need = sizeof(SkxDiskPortion) + SKX_PORTION_COLUMNS + nbody;

	at = SKX_ALIGN(page->used_bytes);
	size = skx_skiplist_node_size(w, page->ordinal, at, &sizes);
	if (at + size + need > SKX_PAGE_END)
	{
		skx_skiplist_page_end(w);
		page = skx_skiplist_page_get(w);
		at = SKX_ALIGN(page->used_bytes);
		size = skx_skiplist_node_size(w, page->ordinal, at, &sizes);
	}
	Assert(at + size + need <= SKX_PAGE_END);
	node = (SkxDiskNode *) (page->data + at);
	*node = sizes;
	node->check = w->list_check;
	node->node = w->nnodes;
	node->base = w->last;
	page->used_bytes = at + size;
	page->is_held = true;
	open = &w->open[w->nnodes % lengthof(w->open)];
	open->page = page;
	open->header = node;
	if (w->nnodes == 0)
	{
		w->first_forward = node->forward_slots;
		w->address.page = page->ordinal;
		w->address.offset = (uint16) at;
		if (node->table_slots > 0)
			w->first = *open;
	}
	w->nnodes++;
	w->node = node;
	skx_rank_impacts_reset(&w->node_set);
}

/* Completes the node, except for forward pointers and node table. */
static void
skx_skiplist_node_end(SkxSkiplistWriter *w)
{
	SkxDiskNode *node = w->node;
	uint32		number = w->nnodes - 1;
	SkxNodeSummary *summary;

	node->last = w->last;
	node->impacts = skx_skiplist_pack_impacts(w, &w->node_set);
	skx_skiplist_add_impacts(&w->list_set, node->impacts);
	if (number == w->summaries_size)
	{
		w->summaries_size *= 2;
		w->summaries = repalloc(w->summaries,
								w->summaries_size * sizeof(SkxNodeSummary));
	}
	summary = &w->summaries[number];
	summary->impacts = node->impacts;
	summary->last = node->last;
	if (w->first.page != NULL && w->nnodes > w->first.header->table_slots)
		skx_skiplist_table_close(w, 0);
	skx_skiplist_add_forward_to(w, number);
	w->node = NULL;
}

/*
 * Portions
 */

/* Begins a portion of the current node on the current page. */
static void
skx_skiplist_portion_begin(SkxSkiplistWriter *w,
						   const SkxPositionAddress *positions)
{
	SkxWriterPage *page = skx_skiplist_page_get(w);

	w->start = SKX_ALIGN(page->used_bytes);
	memset(&w->portion, 0, sizeof(w->portion));
	w->portion.check = w->list_check;
	w->portion.base = w->last;
	w->portion.pos_page = positions->page;
	w->nbody = 0;
	w->node->npages++;
	skx_rank_impacts_reset(&w->page_set);
}

static bool
skx_skiplist_portion_fits(const SkxSkiplistWriter *w, uint32 nbody)
{
	return w->start + sizeof(SkxDiskPortion) +
		(w->portion.nsub + 1) * SKX_PORTION_COLUMNS +
		w->nbody + nbody <= SKX_PAGE_END;
}

/* Writes the collected sub-blocks to the page. */
static void
skx_skiplist_portion_end(SkxSkiplistWriter *w)
{
	SkxWriterPage *page = w->page;
	uint32		n = w->portion.nsub;
	char	   *to = page->data + w->start;
	uint64	   *impacts = (uint64 *) (to + sizeof(SkxDiskPortion));
	uint32	   *lasts = (uint32 *) (impacts + n);
	uint16	   *bodies = (uint16 *) (lasts + n);
	uint16	   *pos_pages = bodies + n;
	uint16	   *pos_offsets = pos_pages + n;
	uint8	   *pos_indexes = (uint8 *) (pos_offsets + n);
	uint32		body_at = (char *) (pos_indexes + n) - page->data;
	SkxImpacts	page_impacts = skx_skiplist_pack_impacts(w, &w->page_set);
	uint32		i;

	Assert(n > 0);
	memcpy(to, &w->portion, sizeof(SkxDiskPortion));
	memcpy(impacts, w->impacts, n * sizeof(uint64));
	memcpy(lasts, w->last_docs, n * sizeof(uint32));
	for (i = 0; i < n; i++)
	{
		bodies[i] = (uint16) (body_at + w->body_offsets[i]);
		pos_pages[i] = (uint16) (w->positions[i].page - w->portion.pos_page);
		pos_offsets[i] = w->positions[i].offset;
		pos_indexes[i] = w->positions[i].index;
	}
	memcpy(page->data + body_at, w->body, w->nbody);
	page->used_bytes = body_at + w->nbody;
	Assert(page->used_bytes <= SKX_PAGE_END);
	skx_skiplist_set_page_slot(w->node, w->node->npages - 1, page_impacts,
							   w->last, (uint16) n);
	skx_skiplist_add_impacts(&w->node_set, page_impacts);
	w->portion.nsub = 0;
}

/*
 * Makes sure that a body of nbody bytes fits in the current portion.  Begins a
 * new portion or node if it must.
 */
static void
skx_skiplist_make_room(SkxSkiplistWriter *w, uint32 nbody,
					   const SkxPositionAddress *positions)
{
	bool		same_node;

	if (w->node == NULL)
	{
		skx_skiplist_node_begin(w, nbody);
		skx_skiplist_portion_begin(w, positions);
		return;
	}
	if (skx_skiplist_portion_fits(w, nbody))
		return;
	skx_skiplist_portion_end(w);
	skx_skiplist_page_end(w);
	same_node = w->npages % w->block_pages != 0 &&
		w->node->npages < w->node->page_slots;
	if (!same_node)
	{
		skx_skiplist_node_end(w);
		/* if a node ends early, the other pages of its block stay empty */
		while (w->npages % w->block_pages != 0)
		{
			skx_skiplist_page_get(w);
			skx_skiplist_page_end(w);
		}
		skx_skiplist_node_begin(w, nbody);
	}
	skx_skiplist_portion_begin(w, positions);
}

/*
 * Lists
 */

void
skx_skiplist_writer_begin(SkxSkiplistWriter *w, uint32 check, uint32 df)
{
	Assert(w->node == NULL && w->portion.nsub == 0);
	w->list_check = check;
	w->remaining_postings = df;
	w->last = SKX_NO_DOC;
	w->nnodes = 0;
	w->oldest = 0;
	w->first.page = NULL;
	memset(&w->address, 0, sizeof(w->address));
	skx_rank_impacts_reset(&w->list_set);
}

void
skx_skiplist_writer_add(SkxSkiplistWriter *w, const SkxPostings *postings,
						SkxImpacts impacts,
						const SkxPositionAddress *positions)
{
	uint8		body[SKX_SUBBLOCK_BODY_MAX];
	const uint8 *end = skx_codec_subblock_put(body, postings, w->last);
	uint32		nbody;
	uint32		at;

	if (end == NULL)
		elog(ERROR, "postings of a list do not ascend");
	nbody = end - body;
	skx_skiplist_make_room(w, nbody, positions);
	at = w->portion.nsub++;
	w->last = postings->docs[postings->n - 1];
	w->impacts[at] = impacts;
	w->last_docs[at] = w->last;
	w->body_offsets[at] = (uint16) w->nbody;
	w->positions[at] = *positions;
	w->portion.tail = (uint16) postings->n;
	memcpy(w->body + w->nbody, body, nbody);
	w->nbody += nbody;
	w->node->npostings += postings->n;
	w->remaining_postings -= Min(w->remaining_postings, (uint32) postings->n);
	skx_skiplist_add_impacts(&w->page_set, impacts);
}

/* Writes the node table of the list, on pages of its own. */
static void
skx_skiplist_table_write(SkxSkiplistWriter *w)
{
	uint32		done;

	skx_skiplist_page_end(w);
	w->address.has_table = true;
	w->address.table_page = w->npages;
	for (done = 0; done < w->nnodes;)
	{
		SkxWriterPage *page = skx_skiplist_page_get(w);
		SkxDiskNodeTable *table = (SkxDiskNodeTable *) (page->data +
														page->used_bytes);
		uint32		n = Min(w->nnodes - done, SKX_NODE_TABLE_MAX);
		uint64	   *impacts = (uint64 *) (table + 1);
		uint32	   *lasts = (uint32 *) (impacts + n);
		uint32		i;

		table->check = w->list_check;
		table->first_node = done;
		table->nnodes = n;
		for (i = 0; i < n; i++)
		{
			impacts[i] = w->summaries[done + i].impacts;
			lasts[i] = w->summaries[done + i].last;
		}
		page->used_bytes = (char *) (lasts + n) - page->data;
		skx_skiplist_page_end(w);
		done += n;
	}
}

void
skx_skiplist_writer_end(SkxSkiplistWriter *w, SkxListAddress *address)
{
	bool		in_node;

	Assert(w->node != NULL);
	skx_skiplist_portion_end(w);
	w->node->is_last = 1;
	skx_skiplist_node_end(w);
	in_node = w->first.page != NULL;
	skx_skiplist_table_close(w, w->nnodes);
	if (!in_node && w->nnodes - 1 > w->first_forward)
		skx_skiplist_table_write(w);
	while (w->oldest < w->nnodes)
	{
		skx_skiplist_node_release(w, &w->open[w->oldest % lengthof(w->open)]);
		w->oldest++;
	}
	w->address.nnodes = w->nnodes;
	w->address.impacts = skx_skiplist_pack_impacts(w, &w->list_set);
	*address = w->address;
}

uint32
skx_skiplist_writer_finish(SkxSkiplistWriter *w)
{
	skx_skiplist_page_end(w);
	return w->npages;
}
