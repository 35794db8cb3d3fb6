/*
 * inspect_check_nodes.c
 *	  Checks long posting lists: nodes, their portions, and skipping.
 *
 * A list is read from its first sub-block to its last.  A node header
 * describes later nodes, which is compared once these are read.  So a header
 * is kept until the SKX_NODE_FORWARD_SLOTS nodes after it are read, and the
 * first one, which can have the node table, until the end.  Bounds are
 * compared level by level: each must cover those of the level below, and those
 * of sub-blocks must cover their postings.
 *
 * To read a list in order does not show that skipping works.  So cursors like
 * those of a scan seek documents at both ends of sub-blocks.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"
#include "format/rank/rank.h"
#include "inspect/inspect_internal.h"
#include "utils/memutils.h"

/* Seeks test the first, the last and each so-many-th sub-block of a page. */
#define SKX_SEEK_CHECK_EVERY	16

#define SKX_CHECK_NODES_KEPT	(SKX_NODE_FORWARD_SLOTS + 1)

/* A copy of a node header, with its columns. */
typedef struct SkxCheckNode
{
	BlockNumber block;
	SkxDiskNode *head;			/* palloc'd, followed by its columns */
	const uint64 *page_impacts;
	const uint64 *forward_impacts;
	const uint64 *table_impacts;
	const uint32 *page_last;
	const uint32 *forward_last;
	const uint32 *table_last;
	const uint16 *page_nsub;
} SkxCheckNode;

/* A long list that is being read. */
typedef struct SkxCheckNodes
{
	SkxCheckList *list;
	uint32		unit;			/* pages in a block */
	uint32		number;			/* of the current node */
	uint32		page;			/* ordinal of its first page */
	uint32		header_size;
	uint32		offset;			/* offset of its header on that page */
	SkxCheckNode first;
	SkxCheckNode nodes[SKX_CHECK_NODES_KEPT];	/* node i at i modulo length */
	uint64	   *impacts;		/* of all nodes so far */
	uint32	   *last_docs;		/* last documents of these */
} SkxCheckNodes;

static SkxCheckNode *
skx_inspect_check_node(SkxCheckNodes *w, uint32 number)
{
	return &w->nodes[number % SKX_CHECK_NODES_KEPT];
}

/* Returns true if `upper` covers all postings that `lower` covers. */
static bool
skx_inspect_impacts_cover(SkxImpacts upper, SkxImpacts lower)
{
	int			i;

	for (i = 0; i < 4; i++)
	{
		uint32		tf = (lower >> (16 * i) & 0xFF) + 1;
		uint8		norm = lower >> (16 * i + 8) & 0xFF;

		if (!skx_rank_impacts_dominate(upper, tf, norm))
			return false;
	}
	return true;
}

/* Reports `what` as damage of the page that was read last; NULL: no damage. */
static void
skx_inspect_structure(SkxCheckList *l, const char *what)
{
	if (what != NULL)
		skx_damage_report(l->cs->check->index, l->block, what);
}

/* Returns true if the counts in a node header are possible. */
static bool
skx_inspect_node_counts(const SkxCheckNodes *w, const SkxDiskNode *head)
{
	const SkxTerm *term = w->list->term;
	uint32		later = term->long_list.nnodes - 1 - w->number;

	return head->npages >= 1 && head->npages <= head->page_slots &&
		head->page_slots <= w->unit - w->page % w->unit &&
		(head->forward_slots == 0 ||
		 head->forward_slots == SKX_NODE_FORWARD_SLOTS) &&
		head->nforward == Min(head->forward_slots, later) &&
		(w->number == 0 || (term->flags & SKX_TERM_TABLE_PAGES) != 0 ||
		 w->first.head->table_nodes > 0 || head->nforward == later) &&
		head->table_slots <= (w->number == 0 ? SKX_NODE_TABLE_SLOTS : 0) &&
		head->table_nodes <= head->table_slots &&
		(head->table_nodes == 0 ||
		 head->table_nodes == term->long_list.nnodes);
}

/* Copies a header whose counts were checked. */
static void
skx_inspect_node_copy(SkxCheckNodes *w, const SkxDiskNode *head)
{
	SkxCheckNode *node = skx_inspect_check_node(w, w->number);
	const char *columns;

	if (node->head != NULL && node->head != w->first.head)
		pfree(node->head);
	node->block = w->list->block;
	node->head = MemoryContextAlloc(w->list->cs->check->scratch,
									w->header_size);
	memcpy(node->head, head, w->header_size);
	columns = (const char *) (node->head + 1);
	node->page_impacts = (const uint64 *) columns;
	node->forward_impacts = node->page_impacts + head->page_slots;
	node->table_impacts = node->forward_impacts + head->forward_slots;
	node->page_last = (const uint32 *) (node->table_impacts +
										head->table_slots);
	node->forward_last = node->page_last + head->page_slots;
	node->table_last = node->forward_last + head->forward_slots;
	node->page_nsub = (const uint16 *) (node->table_last +
										head->table_slots);
	if (w->number == 0)
		w->first = *node;
}

/* Finds the header of the current node, checks and copies it. */
static void
skx_inspect_node_begin(SkxCheckNodes *w)
{
	SkxCheckList *l = w->list;
	SkxCheckSegment *cs = l->cs;
	const SkxListAddress *list = &l->term->long_list;
	const char *page;
	const SkxDiskNode *head;

	w->page = list->page;
	w->offset = list->offset;
	if (w->number > 0)
	{
		w->page = (list->page / w->unit + w->number) * w->unit;
		w->offset = SKX_PAGE_START;
	}
	page = skx_inspect_check_address(cs, w->page, w->offset, 8);
	l->block = cs->postings.page.block;
	skx_inspect_structure(l, skx_disk_check_node(page, w->offset,
												 &cs->seg->header));
	head = (const SkxDiskNode *) (page + w->offset);
	if (w->offset + sizeof(SkxDiskNode) > cs->postings.lower ||
		head->check != l->term->list_check || head->node != w->number)
		skx_inspect_list_damaged(l, "node %u of term %u is not here",
								 w->number, l->term->ordinal);
	w->header_size = SKX_NODE_HEADER_SIZE(head->page_slots,
										  head->forward_slots,
										  head->table_slots);
	if (!skx_inspect_node_counts(w, head) ||
		w->offset + w->header_size > cs->postings.lower)
		skx_inspect_list_damaged(l, "node %u of term %u has impossible counts",
								 w->number, l->term->ordinal);
	if (head->base != l->last ||
		(head->is_last != 0) != (w->number == list->nnodes - 1))
		skx_inspect_list_damaged(l,
								 "node %u of term %u does not continue the one before",
								 w->number, l->term->ordinal);
	cs->post_offset = w->offset + w->header_size;
	skx_inspect_node_copy(w, head);
}

/* A portion that is being read. */
typedef struct SkxCheckPortion
{
	uint32		number;			/* number in the node */
	uint32		offset;			/* offset on its page */
	const char *page;
	const SkxDiskPortion *head;
	const uint64 *impacts;
	const uint32 *lasts;
	const char *bodies;			/* columns that need not be aligned */
} SkxCheckPortion;

/* Finds the head of a portion of the current node, and checks it. */
static void
skx_inspect_portion_begin(SkxCheckNodes *w, SkxCheckPortion *portion)
{
	SkxCheckList *l = w->list;
	SkxCheckSegment *cs = l->cs;
	SkxCheckNode *node = skx_inspect_check_node(w, w->number);
	bool		end = node->head->is_last &&
		portion->number + 1 == node->head->npages;
	const SkxDiskPortion *head;

	portion->offset = portion->number == 0 ? w->offset + w->header_size :
		SKX_PAGE_START;
	portion->page = skx_inspect_check_address(cs, w->page + portion->number,
											  portion->offset, 8);
	l->block = cs->postings.page.block;
	skx_inspect_structure(l, skx_disk_check_portion(portion->page,
													portion->offset,
													&cs->seg->header));
	head = (const SkxDiskPortion *) (portion->page + portion->offset);
	if (portion->offset + sizeof(SkxDiskPortion) > cs->postings.lower ||
		head->check != l->term->list_check || head->base != l->last)
		skx_inspect_list_damaged(l,
								 "the portion of term %u does not continue its list",
								 l->term->ordinal);
	if (head->nsub == 0 ||
		head->nsub != node->page_nsub[portion->number] ||
		head->tail == 0 || head->tail > SKX_SUBBLOCK ||
		(head->tail < SKX_SUBBLOCK && !end) ||
		portion->offset + sizeof(SkxDiskPortion) +
		(uint32) head->nsub * SKX_PORTION_COLUMNS > cs->postings.lower)
		skx_inspect_list_damaged(l,
								 "the portion of term %u has impossible counts",
								 l->term->ordinal);
	portion->head = head;
	portion->impacts = (const uint64 *) (head + 1);
	portion->lasts = (const uint32 *) (portion->impacts + head->nsub);
	portion->bodies = (const char *) (portion->lasts + head->nsub);
	cs->post_offset = portion->offset + sizeof(SkxDiskPortion) +
		(uint32) head->nsub * SKX_PORTION_COLUMNS;
}

/*
 * Checks that a new cursor finds sub-block `sub` of a portion by `target`.  If
 * portion is NULL, the cursor must find that the list has no such document.
 */
static void
skx_inspect_check_seek(SkxCheckNodes *w, const SkxCheckPortion *portion,
					   int sub, uint32 base, uint32 target)
{
	SkxCheckList *l = w->list;
	SkxSegment *seg = l->cs->seg;
	SkxSkiplistCursor c;
	bool		found;

	skx_skiplist_open(&c, seg->file, seg->rel,
					  &seg->planes[SKX_SEGMENT_POSTINGS], l->term->list_check,
					  &l->term->long_list);
	found = skx_skiplist_seek(&c, target);
	if (portion == NULL)
		found = !found;
	else
		found = found && c.node == w->number &&
			c.portion == portion->number && c.subblock == sub &&
			c.base_doc == base && c.last_doc == portion->lasts[sub];
	if (!found)
		skx_inspect_list_damaged(l,
								 "a seek in term %u for document %u goes astray",
								 l->term->ordinal, target);
	skx_skiplist_close(&c);
}

/*
 * Checks the address of positions that the portion gives for sub-block `sub`,
 * if its postings p have any.
 */
static void
skx_inspect_subblock_address(SkxCheckNodes *w, const SkxCheckPortion *portion,
							 int sub, const SkxPostings *p)
{
	const uint16 *pages = (const uint16 *) portion->bodies +
		portion->head->nsub;
	const uint16 *offsets = pages + portion->head->nsub;
	const uint8 *indexes = (const uint8 *) (offsets + portion->head->nsub);
	SkxPositionAddress at;
	int			i;

	for (i = 0; i < p->n && p->tf[i] == 0; i++)
		 /* skip postings without positions */ ;
	if (i == p->n || w->list->cs->prefix_tfs != NULL)
		return;
	skx_inspect_positions_at(&w->list->cs->positions, &at);
	if (at.page - w->list->term->pos_page !=
		portion->head->pos_page + pages[sub] ||
		at.offset != offsets[sub] || at.index != indexes[sub])
		skx_inspect_list_damaged(w->list,
								 "sub-block %d of term %u says that its positions are elsewhere than at page %u, offset %u, position %u",
								 sub, w->list->term->ordinal, at.page,
								 at.offset, at.index);
}

/* Checks that the impacts of a sub-block cover its postings. */
static void
skx_inspect_subblock_bounds(SkxCheckNodes *w, SkxImpacts bound,
							const SkxPostings *p)
{
	const uint8 *norms = w->list->cs->norms;
	int			i;

	for (i = 0; i < p->n; i++)
		if (!skx_rank_impacts_dominate(bound, p->tf[i], norms[p->docs[i]]))
			skx_inspect_list_damaged(w->list,
									 "the impacts of a sub-block of term %u do not cover document %u",
									 w->list->term->ordinal, p->docs[i]);
}

/* Decodes sub-block `sub`, and checks it with all its postings. */
static void
skx_inspect_check_subblock(SkxCheckNodes *w, const SkxCheckPortion *portion,
						   int sub)
{
	SkxCheckList *l = w->list;
	SkxCheckSegment *cs = l->cs;
	int			nsub = portion->head->nsub;
	uint32		base = l->last;
	const uint8 *body = (const uint8 *) portion->page + cs->post_offset;
	const uint8 *end = (const uint8 *) portion->page + cs->postings.lower;
	const uint8 *src = NULL;
	SkxPostings p;

	p.n = sub + 1 < nsub ? SKX_SUBBLOCK : portion->head->tail;
	if (((const uint16 *) portion->bodies)[sub] == cs->post_offset)
		src = skx_codec_subblock_docs(body, end, p.n, base, p.docs);
	if (src != NULL)
		src = skx_codec_subblock_tfs(body, src, end, p.n, p.tf);
	if (src != NULL)
		src = skx_codec_subblock_labels(body, src, end, &p);
	if (src == NULL || p.docs[p.n - 1] != portion->lasts[sub])
		skx_inspect_list_damaged(l,
								 "sub-block %d of term %u does not decode",
								 sub, l->term->ordinal);
	cs->post_offset = (const char *) src - portion->page;
	skx_inspect_subblock_address(w, portion, sub, &p);
	skx_inspect_postings(l, &p, NULL, NULL);
	skx_inspect_subblock_bounds(w, portion->impacts[sub], &p);
	if (sub == 0 || sub == nsub - 1 || sub % SKX_SEEK_CHECK_EVERY == 0)
	{
		/* base + 1 wraps to document 0 in the first sub-block */
		skx_inspect_check_seek(w, portion, sub, base, base + 1);
		skx_inspect_check_seek(w, portion, sub, base, l->last);
	}
}

static void
skx_inspect_check_portion(SkxCheckNodes *w, uint32 number)
{
	SkxCheckList *l = w->list;
	SkxCheckNode *node = skx_inspect_check_node(w, w->number);
	SkxCheckPortion portion;
	int			sub;

	portion.number = number;
	skx_inspect_portion_begin(w, &portion);
	for (sub = 0; sub < portion.head->nsub; sub++)
	{
		skx_inspect_check_subblock(w, &portion, sub);
		if (!skx_inspect_impacts_cover(node->page_impacts[number],
									   portion.impacts[sub]))
			skx_inspect_list_damaged(l,
									 "the impacts of a page of term %u do not cover its sub-block %d",
									 l->term->ordinal, sub);
	}
	l->block = node->block;
	if (node->page_last[number] != l->last)
		skx_inspect_list_damaged(l,
								 "page %u of node %u of term %u ends with document %u, but the node says %u",
								 number, w->number, l->term->ordinal,
								 l->last, node->page_last[number]);
	if (!skx_inspect_impacts_cover(node->head->impacts,
								   node->page_impacts[number]))
		skx_inspect_list_damaged(l,
								 "the impacts of node %u of term %u do not cover its page %u",
								 w->number, l->term->ordinal, number);
}

/*
 * Checks the current node, once it is read, against its own header, the term,
 * and the headers of nodes before.
 */
static void
skx_inspect_node_end(SkxCheckNodes *w, uint64 npostings)
{
	SkxCheckList *l = w->list;
	SkxCheckNode *node = skx_inspect_check_node(w, w->number);
	uint32		i;

	l->block = node->block;
	if (node->head->last != l->last || node->head->npostings != npostings)
		skx_inspect_list_damaged(l,
								 "node %u of term %u ends elsewhere than it says",
								 w->number, l->term->ordinal);
	if (!skx_inspect_impacts_cover(l->term->long_list.impacts,
								   node->head->impacts))
		skx_inspect_list_damaged(l,
								 "the impacts of term %u do not cover its node %u",
								 l->term->ordinal, w->number);
	w->impacts[w->number] = node->head->impacts;
	w->last_docs[w->number] = node->head->last;
	for (i = 1; i <= Min(w->number, SKX_NODE_FORWARD_SLOTS); i++)
	{
		SkxCheckNode *before = skx_inspect_check_node(w, w->number - i);

		if (i > before->head->nforward ||
			(before->forward_last[i - 1] == node->head->last &&
			 before->forward_impacts[i - 1] == node->head->impacts))
			continue;
		l->block = before->block;
		skx_inspect_list_damaged(l,
								 "node %u of term %u describes node %u wrongly",
								 w->number - i, l->term->ordinal, w->number);
	}
}

/* Checks n entries of the node table, from that of node `first` on. */
static void
skx_inspect_table_entries(SkxCheckNodes *w, uint32 first, uint32 n,
						  const uint64 *impacts, const uint32 *lasts)
{
	uint32		i;

	for (i = 0; i < n; i++)
		if (impacts[i] != w->impacts[first + i] ||
			lasts[i] != w->last_docs[first + i])
			skx_inspect_list_damaged(w->list,
									 "the node table of term %u describes node %u wrongly",
									 w->list->term->ordinal, first + i);
}

/* Checks a node table that has pages of its own. */
static void
skx_inspect_table_pages(SkxCheckNodes *w)
{
	SkxCheckList *l = w->list;
	SkxCheckSegment *cs = l->cs;
	uint32		nnodes = l->term->long_list.nnodes;
	uint32		ordinal = l->term->long_list.table_page;
	uint32		done;
	uint32		n;

	for (done = 0; done < nnodes; done += n)
	{
		const char *page = skx_inspect_check_address(cs, ordinal++,
													 SKX_PAGE_START, 8);
		const SkxDiskNodeTable *table =
			(const SkxDiskNodeTable *) (page + SKX_PAGE_START);
		const uint64 *impacts = (const uint64 *) (table + 1);

		l->block = cs->postings.page.block;
		skx_inspect_structure(l, skx_disk_check_node_table(page,
														   &cs->seg->header));
		n = table->nnodes;
		if (table->check != l->term->list_check || table->first_node != done ||
			n == 0 || n > Min(nnodes - done, SKX_NODE_TABLE_MAX) ||
			(n < SKX_NODE_TABLE_MAX && done + n < nnodes))
			skx_inspect_list_damaged(l,
									 "the node table of term %u is not here",
									 l->term->ordinal);
		skx_inspect_table_entries(w, done, n, impacts,
								  (const uint32 *) (impacts + n));
		cs->post_offset = SKX_PAGE_START + sizeof(SkxDiskNodeTable) + n * 12;
	}
}

/* Checks the node table, once all nodes are read, and whether it is needed. */
static void
skx_inspect_check_table(SkxCheckNodes *w)
{
	SkxCheckList *l = w->list;
	const SkxDiskNode *head = w->first.head;
	bool		pages = (l->term->flags & SKX_TERM_TABLE_PAGES) != 0;

	l->block = w->first.block;
	if (head->table_nodes > 0)
		skx_inspect_table_entries(w, 0, head->table_nodes,
								  w->first.table_impacts,
								  w->first.table_last);
	if (pages ? head->table_nodes > 0 : head->table_nodes == 0 &&
		head->nforward < l->term->long_list.nnodes - 1)
		skx_inspect_list_damaged(l,
								 "the first node of term %u has a table too many or too few",
								 l->term->ordinal);
	if (pages)
		skx_inspect_table_pages(w);
}

void
skx_inspect_check_nodes(SkxCheckList *l)
{
	SkxCheckSegment *cs = l->cs;
	const SkxBlkPlane *plane = &cs->seg->planes[SKX_SEGMENT_POSTINGS];
	uint32		nnodes = l->term->long_list.nnodes;
	SkxCheckNodes w = {0};
	uint32		portion;

	if (nnodes > plane->npages)
		skx_inspect_list_damaged(l, "term %u has an impossible number of nodes",
								 l->term->ordinal);
	w.list = l;
	w.unit = plane->unit;
	w.impacts = MemoryContextAllocHuge(cs->check->scratch,
									   nnodes * sizeof(uint64));
	w.last_docs = MemoryContextAllocHuge(cs->check->scratch,
										 nnodes * sizeof(uint32));
	for (w.number = 0; w.number < nnodes; w.number++)
	{
		uint64		before = l->npostings;
		uint32		npages;

		skx_inspect_node_begin(&w);
		npages = skx_inspect_check_node(&w, w.number)->head->npages;
		for (portion = 0; portion < npages; portion++)
			skx_inspect_check_portion(&w, portion);
		skx_inspect_node_end(&w, l->npostings - before);
	}
	skx_inspect_check_table(&w);
	skx_inspect_check_seek(&w, NULL, 0, 0, l->last + 1);
	MemoryContextReset(cs->check->scratch);
}
