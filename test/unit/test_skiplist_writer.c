/*
 * test_skiplist_writer.c
 *	  Lays lists of all shapes down and reads every byte of them back.
 *
 * The writer is part of the server module, but needs nothing of a server
 * beyond palloc, which libpgcommon has; its source is included here.
 *
 * Holds: skiplist 1, 2, 3, 4, 5, 6
 */
#include "unit.h"

#include "unit_error.h"
#include "../../src/index/skiplist/skiplist_writer.c"
#include "format/disk/disk_check.h"

#define MAX_PAGES		60000
#define MAX_SUBBLOCKS	30000

static char *unit_pages[MAX_PAGES];
static uint32 unit_npages;
static SkxDiskSegment unit_segment;
static uint32 unit_block_pages;

/* What was put in: one entry for each sub-block of the list being tested. */
typedef struct UnitSubblock
{
	SkxPostings p;
	SkxImpacts	impacts;
	SkxPositionAddress positions;
} UnitSubblock;

static UnitSubblock *unit_subblocks;
static uint32 unit_nsubblocks;

/* What a list is like. */
typedef struct UnitShape
{
	uint32		df;
	uint32		gap;			/* of documents, at most */
	uint32		tf;				/* at most */
	bool		labels;
} UnitShape;

static void
unit_sink(void *arg, uint32 ordinal, char *page, uint32 used)
{
	SkxPageIdentity id = {1, 2, ordinal, SKX_PLANE_POSTINGS};

	CHECK(ordinal < MAX_PAGES && unit_pages[ordinal] == NULL);
	CHECK(used <= SKX_PAGE_CAPACITY);
	unit_pages[ordinal] = malloc(BLCKSZ);
	skx_disk_page_init(unit_pages[ordinal], &id);
	memcpy(unit_pages[ordinal] + SKX_PAGE_START, page + SKX_PAGE_START, used);
	skx_disk_page_seal(unit_pages[ordinal], used);
	CHECK(skx_disk_page_check(unit_pages[ordinal], &id) == NULL);
	unit_npages = Max(unit_npages, ordinal + 1);
}

static void
unit_start(uint32 block_pages)
{
	uint32		i;

	for (i = 0; i < unit_npages; i++)
	{
		free(unit_pages[i]);
		unit_pages[i] = NULL;
	}
	unit_npages = 0;
	unit_block_pages = block_pages;
	unit_segment.block_size = block_pages * BLCKSZ;
	unit_segment.ndocs = (uint32) SKX_DOC_MAX + 1;
	unit_segment.nterms = 1000000;
}

/* Fills in one posting. */
static void
unit_posting(SkxPostings *p, const UnitShape *shape, uint32 doc,
			 SkxImpactSet *set)
{
	int			i = p->n++;
	int			left;
	int			label;

	p->docs[i] = doc;
	p->tf[i] = 1 + unit_below(shape->tf);
	p->labels[i] = 1 << SKX_LABEL_D;
	if (shape->labels)
	{
		left = p->tf[i];
		p->labels[i] = 0;
		for (label = 0; label < 3; label++)
		{
			p->label_tf[label][i] = unit_below(left + 1);
			left -= p->label_tf[label][i];
			p->labels[i] |= p->label_tf[label][i] > 0 ? 2 << label : 0;
		}
		p->labels[i] |= left > 0 ? 1 : 0;
	}
	skx_rank_impacts_add(set, p->tf[i], unit_below(SKX_NORM_MAX));
}

/* Sends a list to the writer. */
static void
unit_write(SkxSkiplistWriter *w, uint32 term, const UnitShape *shape,
		   SkxListAddress *address)
{
	uint32		doc = SKX_NO_DOC;
	uint32		position_page = unit_below(100000);
	uint32		done = 0;

	unit_nsubblocks = 0;
	skx_skiplist_writer_begin(w, term, shape->df);
	while (done < shape->df)
	{
		UnitSubblock *s = &unit_subblocks[unit_nsubblocks++];
		SkxImpactSet set;

		CHECK(unit_nsubblocks <= MAX_SUBBLOCKS);
		memset(s, 0, sizeof(*s));
		skx_rank_impacts_reset(&set);
		while (done < shape->df && s->p.n < SKX_SUBBLOCK)
		{
			doc += 1 + unit_below(shape->gap);
			unit_posting(&s->p, shape, doc, &set);
			done++;
		}
		s->impacts = skx_rank_impacts_pack(&set, NULL);
		position_page += unit_below(3);
		s->positions.page = position_page;
		s->positions.offset = 24 + unit_below(8000);
		s->positions.index = unit_below(128);
		skx_skiplist_writer_add(w, &s->p, s->impacts, &s->positions);
	}
	skx_skiplist_writer_end(w, address);
}

/* Does the packed set cover all pairs of another? */
static bool
unit_covers(SkxImpacts outer, SkxImpacts inner)
{
	int			i;

	for (i = 0; i < 4; i++)
	{
		if (!skx_rank_impacts_dominate(outer, ((inner >> (16 * i)) & 0xFF) + 1,
									(inner >> (16 * i + 8)) & 0xFF))
			return false;
	}
	return true;
}

/* Compares one sub-block's body with what was put in. */
static void
unit_body(const char *page, uint32 at, uint32 base, const SkxPostings *want)
{
	const uint8 *body = (const uint8 *) page + at;
	const uint8 *end = (const uint8 *) page + SKX_PAGE_END;
	const uint8 *src;
	SkxPostings got;

	memset(&got, 0, sizeof(got));
	got.n = want->n;
	src = skx_codec_subblock_docs(body, end, got.n, base, got.docs);
	CHECK(src != NULL);
	src = skx_codec_subblock_tfs(body, src, end, got.n, got.tf);
	CHECK(src != NULL);
	src = skx_codec_subblock_labels(body, src, end, &got);
	CHECK(src != NULL);
	CHECK(memcmp(got.docs, want->docs, want->n * sizeof(uint32)) == 0);
	CHECK(memcmp(got.tf, want->tf, want->n * sizeof(uint16)) == 0);
	CHECK(memcmp(got.labels, want->labels, want->n) == 0);
}

/* Checks a portion, whose first sub-block is number *next; returns its nsub. */
static uint32
unit_portion(uint32 ordinal, uint32 offset, uint32 term, uint32 *base,
			 uint32 *next, SkxImpacts bound)
{
	const char *page = unit_pages[ordinal];
	const SkxDiskPortion *portion = (const SkxDiskPortion *) (page + offset);
	uint32		n = portion->nsub;
	const uint64 *impacts = (const uint64 *) (portion + 1);
	const uint32 *lasts = (const uint32 *) (impacts + n);
	const uint16 *bodies = (const uint16 *) (lasts + n);
	const uint16 *pos_pages = bodies + n;
	const uint16 *pos_offsets = pos_pages + n;
	const uint8 *pos_indexes = (const uint8 *) (pos_offsets + n);
	uint32		i;

	CHECK(skx_disk_check_portion(page, offset, &unit_segment) == NULL);
	CHECK(portion->check == term);
	CHECK(portion->base == *base);
	for (i = 0; i < n; i++)
	{
		const UnitSubblock *s = &unit_subblocks[*next + i];

		CHECK(*next + i < unit_nsubblocks);
		CHECK(impacts[i] == s->impacts);
		CHECK(unit_covers(bound, impacts[i]));
		CHECK(lasts[i] == s->p.docs[s->p.n - 1]);
		CHECK(portion->pos_page + pos_pages[i] == s->positions.page);
		CHECK(pos_offsets[i] == s->positions.offset);
		CHECK(pos_indexes[i] == s->positions.index);
		unit_body(page, bodies[i], *base, &s->p);
		*base = lasts[i];
	}
	CHECK(portion->tail == unit_subblocks[*next + n - 1].p.n);
	*next += n;
	return n;
}

/* Where the header of node `i` of a list must be. */
static const SkxDiskNode *
unit_node(const SkxListAddress *address, uint32 i, uint32 *ordinal)
{
	uint32		block = address->page / unit_block_pages + i;

	*ordinal = i == 0 ? address->page : block * unit_block_pages;
	if (*ordinal >= unit_npages || unit_pages[*ordinal] == NULL)
		return NULL;
	return (const SkxDiskNode *) (unit_pages[*ordinal] +
								  (i == 0 ? address->offset : SKX_PAGE_START));
}

/* Forward pointers of node `i` say what the later nodes say. */
static void
unit_forward(const SkxListAddress *address, uint32 i, const SkxDiskNode *node)
{
	uint32		slots = (uint32) node->page_slots + node->forward_slots +
		node->table_slots;
	const uint64 *impacts = (const uint64 *) (node + 1);
	const uint32 *lasts = (const uint32 *) (impacts + slots);
	uint32		ordinal;
	uint32		j;

	CHECK(node->nforward == Min((uint32) node->forward_slots,
								address->nnodes - 1 - i));
	for (j = 0; j < node->nforward; j++)
	{
		const SkxDiskNode *to = unit_node(address, i + 1 + j, &ordinal);

		CHECK(impacts[node->page_slots + j] == to->impacts);
		CHECK(lasts[node->page_slots + j] == to->last);
	}
	if (node->table_nodes == 0)
		return;
	CHECK(i == 0 && node->table_nodes == address->nnodes);
	for (j = 0; j < node->table_nodes; j++)
	{
		const SkxDiskNode *to = unit_node(address, j, &ordinal);
		uint32		at = node->page_slots + node->forward_slots + j;

		CHECK(impacts[at] == to->impacts);
		CHECK(lasts[at] == to->last);
	}
}

/* Checks node `i`, whose first sub-block is number *next. */
static void
unit_check_node(const SkxListAddress *address, uint32 i, uint32 term,
				uint32 *base, uint32 *next)
{
	uint32		ordinal;
	const SkxDiskNode *node = unit_node(address, i, &ordinal);
	const char *page = unit_pages[ordinal];
	uint32		slots;
	const uint64 *impacts;
	const uint16 *nsubs;
	uint32		first = *next;
	uint32		npostings = 0;
	uint32		p;

	CHECK(node != NULL);
	CHECK(skx_disk_check_node(page, (const char *) node - page,
								&unit_segment) == NULL);
	CHECK(node->check == term && node->node == i && node->base == *base);
	CHECK(node->is_last == (i + 1 == address->nnodes));
	CHECK(ordinal / unit_block_pages ==
		  (ordinal + node->npages - 1) / unit_block_pages);
	CHECK(unit_covers(address->impacts, node->impacts));
	slots = (uint32) node->page_slots + node->forward_slots +
		node->table_slots;
	impacts = (const uint64 *) (node + 1);
	nsubs = (const uint16 *) ((const uint32 *) (impacts + slots) + slots);
	for (p = 0; p < node->npages; p++)
	{
		uint32		at = p > 0 ? SKX_PAGE_START :
			(const char *) node - page +
			SKX_NODE_HEADER_SIZE(node->page_slots, node->forward_slots,
								 node->table_slots);

		CHECK(unit_covers(node->impacts, impacts[p]));
		CHECK(unit_portion(ordinal + p, at, term, base, next,
						   impacts[p]) == nsubs[p]);
	}
	for (p = first; p < *next; p++)
		npostings += unit_subblocks[p].p.n;
	CHECK(node->npostings == npostings);
	CHECK(node->last == *base);
	unit_forward(address, i, node);
}

static void
unit_check_table(const SkxListAddress *address, uint32 term)
{
	uint32		ordinal = address->table_page;
	uint32		node;

	for (node = 0; node < address->nnodes; ordinal++)
	{
		const SkxDiskNodeTable *table = (const SkxDiskNodeTable *)
			(unit_pages[ordinal] + SKX_PAGE_START);
		const uint64 *impacts = (const uint64 *) (table + 1);
		const uint32 *lasts = (const uint32 *) (impacts + table->nnodes);
		uint32		i;

		CHECK(skx_disk_check_node_table(unit_pages[ordinal],
										  &unit_segment) == NULL);
		CHECK(table->check == term && table->first_node == node);
		for (i = 0; i < table->nnodes; i++, node++)
		{
			uint32		at;
			const SkxDiskNode *to = unit_node(address, node, &at);

			CHECK(impacts[i] == to->impacts && lasts[i] == to->last);
		}
	}
}

/* Reads a list back. */
static void
unit_check(const SkxListAddress *address, uint32 term)
{
	uint32		base = SKX_NO_DOC;
	uint32		next = 0;
	uint32		ordinal;
	uint32		i;
	const SkxDiskNode *first = unit_node(address, 0, &ordinal);
	bool		known;

	for (i = 0; i < address->nnodes; i++)
		unit_check_node(address, i, term, &base, &next);
	CHECK(next == unit_nsubblocks);
	known = first->table_nodes > 0 ||
		address->nnodes - 1 <= first->forward_slots;
	CHECK(known == !address->has_table);
	/* without any table each node reaches the end of the list */
	for (i = 1; known && first->table_nodes == 0 && i < address->nnodes; i++)
		CHECK(unit_node(address, i, &ordinal)->nforward ==
			  address->nnodes - 1 - i);
	if (address->has_table)
		unit_check_table(address, term);
}

/* One list between short ones, in a plane of its own. */
static void
unit_one(uint32 block_pages, const UnitShape *shape, uint32 before,
		 SkxListAddress *address)
{
	SkxSkiplistWriter *w;
	uint8		bytes[SKX_PAGE_CAPACITY];
	uint32		page[2];
	uint16		offset[2];
	uint32		npages;
	uint32		i;

	memset(bytes, 0xA5, sizeof(bytes));
	unit_start(block_pages);
	w = skx_skiplist_writer_create(block_pages, unit_sink, NULL);
	skx_skiplist_writer_short(w, bytes, before % SKX_PAGE_CAPACITY + 1,
							  &page[0], &offset[0]);
	unit_write(w, 77, shape, address);
	skx_skiplist_writer_short(w, bytes, 100, &page[1], &offset[1]);
	npages = skx_skiplist_writer_finish(w);
	CHECK(npages == unit_npages);
	for (i = 0; i < npages; i++)
		CHECK(unit_pages[i] != NULL);
	CHECK(w->nfree_pages == SKX_WRITER_PAGES_MAX);
	CHECK(memcmp(unit_pages[page[0]] + offset[0], bytes,
				 before % SKX_PAGE_CAPACITY + 1) == 0);
	CHECK(memcmp(unit_pages[page[1]] + offset[1], bytes, 100) == 0);
	unit_check(address, 77);
}

static void
test_shapes(void)
{
	static const uint32 blocks[] = {1, 2, 16, 128};
	static const UnitShape shapes[] = {
		{128, 1, 1, false}, {129, 10, 3, false}, {1000, 1000, 20, false},
		{6000, 30, 2, false}, {60000, 10, 4, true}, {300000, 3, 2, false},
		{20000, 100000, 256, true},
	};
	SkxListAddress address;
	int			b;
	int			s;

	for (b = 0; b < lengthof(blocks); b++)
	{
		for (s = 0; s < lengthof(shapes); s++)
		{
			unit_one(blocks[b], &shapes[s], unit_below(SKX_PAGE_CAPACITY),
					 &address);
			unit_one(blocks[b], &shapes[s], SKX_PAGE_CAPACITY - 1, &address);
			unit_one(blocks[b], &shapes[s], SKX_PAGE_CAPACITY - 100,
					 &address);
		}
	}
}

/* Each way of describing the nodes of a list is taken, and when it should. */
static void
test_tables(void)
{
	static const UnitShape one = {500, 50, 3, false};
	static const UnitShape some = {12000, 50, 3, false};
	static const UnitShape many = {200000, 50, 3, false};
	static const UnitShape more = {1000000, 3, 3, false};
	static const UnitShape fat = {5000, 400000, 256, true};
	SkxListAddress address;
	const SkxDiskNode *node;
	uint32		ordinal;

	unit_one(1, &one, 0, &address);
	node = unit_node(&address, 0, &ordinal);
	CHECK(address.nnodes == 1 && node->table_slots == 0 &&
		  node->forward_slots == 0);
	unit_one(1, &some, 0, &address);
	node = unit_node(&address, 0, &ordinal);
	CHECK(address.nnodes > 1 && node->nforward == address.nnodes - 1 &&
		  node->table_nodes == address.nnodes);
	unit_one(1, &many, 0, &address);
	node = unit_node(&address, 0, &ordinal);
	CHECK(address.nnodes > SKX_NODE_FORWARD_SLOTS + 1 &&
		  node->table_nodes == address.nnodes && !address.has_table);
	unit_one(1, &more, 0, &address);
	node = unit_node(&address, 0, &ordinal);
	CHECK(address.nnodes > SKX_NODE_TABLE_SLOTS && node->table_nodes == 0 &&
		  address.has_table);
	/* more bytes than estimated: a node ends early, the table moves */
	unit_one(16, &fat, 0, &address);
	node = unit_node(&address, 0, &ordinal);
	CHECK(address.nnodes > 1 && node->forward_slots == 0 &&
		  node->npages < 16 && address.has_table);
}

/* Sub-blocks that take more than estimated: a node is not the last after all. */
static void
test_estimates(void)
{
	SkxListAddress address;
	uint32		df;
	int			nmiddle = 0;

	for (df = 14000; df < 20000; df += SKX_SUBBLOCK)
	{
		UnitShape	shape = {df, 1, 256, true};

		unit_one(4, &shape, 0, &address);
		nmiddle += address.nnodes == 3 && !address.has_table;
	}
	CHECK(nmiddle > 0);
}

/* Many lists, so that nodes of one share pages with those of another. */
static void
test_neighbours(void)
{
	static const uint32 blocks[] = {1, 4, 16};
	SkxListAddress address;
	int			b;

	for (b = 0; b < lengthof(blocks); b++)
	{
		SkxSkiplistWriter *w = skx_skiplist_writer_create(blocks[b], unit_sink,
														  NULL);
		uint32		term;

		unit_start(blocks[b]);
		for (term = 0; term < 200; term++)
		{
			UnitShape	shape;
			uint64		state;
			uint8		bytes[600];
			uint32		page;
			uint16		offset;

			shape.df = SKX_SUBBLOCK + (uint32) unit_below(1 << unit_below(15));
			shape.gap = 1 + unit_below(1 << unit_below(14));
			shape.tf = 1 + unit_below(1 << unit_below(8));
			shape.labels = unit_below(4) == 0;
			state = unit_state;
			unit_write(w, term, &shape, &address);
			/* its last page may still be open: end it to look at it */
			if (term % 3 == 0)
			{
				skx_skiplist_page_end(w);
				unit_check(&address, term);
			}
			CHECK(w->nfree_pages >= SKX_WRITER_PAGES_MAX - 1);
			CHECK(state != unit_state);
			skx_skiplist_writer_short(w, bytes, 1 + unit_below(600), &page,
									  &offset);
		}
		CHECK(skx_skiplist_writer_finish(w) == unit_npages);
	}
}

int
main(void)
{
	unit_seed(7);
	unit_subblocks = malloc(MAX_SUBBLOCKS * sizeof(UnitSubblock));
	test_shapes();
	test_tables();
	test_estimates();
	test_neighbours();
	return unit_done("skiplist_writer");
}
