/*
 * test_disk_golden.c
 *	  The writers make, byte for byte, the pages that golden files hold, and
 *	  the validators accept them.
 *
 * A difference means that the format changed: then its number must rise,
 *	  or it gets a bit (disk_format.h).
 * The writers' sources are included; of the server they need palloc, which
 * libpgcommon has, and the few names below.
 *
 * Holds: disk 4; writer 2
 */
#include "unit_golden.h"

/* The readers of segments need a server, the writers do not need them. */
#define SKX_SEGMENT_H
typedef struct SkxSegment SkxSegment;
typedef struct SkxTerm SkxTerm;

#include "unit_error.h"
#include "../../src/index/skiplist/skiplist_writer.c"
#include "../../src/write/writer/writer_dict.c"
#include "../../src/write/writer/writer_documents.c"
#include "../../src/write/writer/writer_keys.c"
#include "../../src/write/writer/writer_positions.c"
#include "format/disk/disk_check.h"
#include "index/column/column_value.h"

#define MAX_PAGES	64

/* Stands in for that of writer_plane.c: keeps its pages. */
struct SkxPlaneWriter
{
	uint8		plane;
	uint32		npages;
	char	   *pages[MAX_PAGES];
};

MemoryContext CurrentMemoryContext;

static SkxDiskSegment unit_segment;

void *
repalloc_huge(void *pointer, Size size)
{
	return repalloc(pointer, size);
}

static char *
unit_page(uint32 ordinal, uint8 kind)
{
	SkxPageIdentity id = {UINT64CONST(0x1122334455667788), 0, 0, 0};
	char	   *page = malloc(BLCKSZ);

	id.segment = kind >= SKX_PLANE_DELETES ? 9 : 0;
	id.ordinal = ordinal;
	id.plane = kind;
	skx_disk_page_init(page, &id);
	return page;
}

/* Seals as writer_plane.c does. */
void
skx_writer_plane_put(void *arg, uint32 ordinal, char *from, uint32 used)
{
	SkxPlaneWriter *plane = arg;
	char	   *page = unit_page(ordinal, plane->plane);

	CHECK(ordinal < MAX_PAGES && plane->pages[ordinal] == NULL);
	memcpy(page + SKX_PAGE_START, from + SKX_PAGE_START, used);
	skx_disk_page_seal(page, used);
	plane->pages[ordinal] = page;
	plane->npages = Max(plane->npages, ordinal + 1);
}

static void
unit_start(SkxPlaneWriter *plane, uint8 kind)
{
	memset(plane, 0, sizeof(*plane));
	plane->plane = kind;
}

/* A page with the given content, as mutable pages are written. */
static char *
unit_mutable(uint8 plane, const void *content, Size size)
{
	char	   *page = unit_page(0, plane);

	memcpy(page + SKX_PAGE_START, content, size);
	((PageHeader) page)->pd_lower = SKX_PAGE_START + size;
	return page;
}

static void
test_meta(void)
{
	SkxDiskMeta meta = {0};
	char	   *page;

	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &meta.format);
	meta.incarnation = UINT64CONST(0x1122334455667788);
	meta.generation = 3;
	meta.block_size = 131072;
	meta.root = 1;
	meta.next_segment = 10;
	meta.nblocks = 1600;
	meta.freed_xid = 4100;
	meta.npool = 2;
	meta.pool[0] = (SkxDiskPoolExtent) {1232, 32};
	meta.pool[1] = (SkxDiskPoolExtent) {64, 16};
	page = unit_mutable(SKX_PLANE_META, &meta, sizeof(meta));
	CHECK(skx_disk_check_meta(page) == NULL);
	unit_golden("meta", page);
}

static void
test_root(void)
{
	struct
	{
		SkxDiskRootPage head;
		SkxDiskRoot root;
		SkxDiskSegmentRef segment;
		SkxDiskStripeRef stripes[2];
		SkxDiskExtent extents[3];
		SkxDiskOperation operation;
	}			content = {
		{InvalidBlockNumber, sizeof(content) - sizeof(SkxDiskRootPage)},
		{1, 2, 3, 1},
		{UINT64CONST(0xFEDCBA9876543210), 8, 1000, 1, 2, 300000,
			UINT64CONST(5000000000), 900},
		{{2, 40, 500, 7, 3, 20000, 90000, 32, 16},
			{3, InvalidBlockNumber, 0, 0, 0, 0, 0, InvalidBlockNumber, 0}},
		{{1200, 16, 0, 0, 0}, {1264, 8, 77, 0, 0}, {1280, 320, 0, 9, 0}},
		{9, SKX_OPERATION_MERGE},
	};
	SkxDiskMeta meta = {0};
	char	   *page = unit_mutable(SKX_PLANE_ROOT, &content, sizeof(content));

	StaticAssertStmt(sizeof(content) == 8 + 16 + 40 + 2 * 56 + 3 * 24 + 8,
					 "no padding");
	meta.next_segment = 10;
	meta.nblocks = 1600;
	CHECK(skx_disk_check_root(page) == NULL);
	CHECK(skx_disk_check_root_stream((char *) &content.root,
									   content.head.nbytes, &meta) == NULL);
	unit_golden("root", page);
}

static void
test_pending(void)
{
	SkxDiskStripe stripe = {6, 1, 1, 4000, 2000, 3, 4, 5, 16, 3, 2};
	SkxDiskChainPage chain = {InvalidBlockNumber, 0};
	SkxDiskPendingPage head = {1, InvalidBlockNumber, 3};
	SkxDiskPendingDoc docs[3];
	SkxDiskPendingChain far = {7, 20000};
	char		content[200] = {0};
	char	   *page;

	page = unit_mutable(SKX_PLANE_STRIPE, &stripe, sizeof(stripe));
	CHECK(skx_disk_check_stripe(page, 16) == NULL);
	unit_golden("stripe", page);

	memset(docs, 0, sizeof(docs));
	docs[0].nbytes = 24;
	ItemPointerSet(&docs[0].tid, 11, 1);
	docs[1].flags = SKX_PENDING_NULL | SKX_PENDING_DEAD;
	ItemPointerSet(&docs[1].tid, 11, 2);
	docs[2].nbytes = sizeof(far);
	docs[2].flags = SKX_PENDING_CHAIN;
	ItemPointerSet(&docs[2].tid, 65536, 3);
	memcpy(content, &head, 16);
	memcpy(content + 16, &docs[0], 12);
	memset(content + 28, 0x5A, 24);
	memcpy(content + 52, &docs[1], 12);
	memcpy(content + 64, &docs[2], 12);
	memcpy(content + 76, &far, 8);
	page = unit_mutable(SKX_PLANE_PENDING, content, 84);
	CHECK(skx_disk_check_pending(page, 16) == NULL);
	unit_golden("pending", page);

	chain.nbytes = 100;
	memcpy(content, &chain, sizeof(chain));
	memset(content + sizeof(chain), 0x33, 100);
	page = unit_mutable(SKX_PLANE_CHAIN, content, sizeof(chain) + 100);
	CHECK(skx_disk_check_chain(page, 16) == NULL);
	unit_golden("chain", page);
}

static void
test_deletes(void)
{
	char		content[8 + SKX_DELETES_PER_PAGE / 8] = {0};
	SkxDiskDeletes head = {3, 0};
	char	   *page;

	memcpy(content, &head, sizeof(head));
	content[8] = 0x05;
	content[8 + 100] = 0x40;
	unit_segment.ndocs = 1000;
	page = unit_mutable(SKX_PLANE_DELETES, content, sizeof(content));
	CHECK(skx_disk_check_deletes(page, 0, &unit_segment) == NULL);
	unit_golden("deletes", page);
}

static void
test_header(void)
{
	struct
	{
		SkxDiskSegment header;
		SkxDiskRun	runs[6];
	}			content;
	SkxDiskSegment *header = &content.header;
	char	   *page;

	memset(&content, 0, sizeof(content));
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &header->format);
	header->salt = UINT64CONST(0xFEDCBA9876543210);
	header->segment = 9;
	header->block_size = 131072;
	header->ndocs = 300000;
	header->nnull = 2;
	header->total_length = 30000000;
	header->npostings = 20000000;
	header->npositions = 30000000;
	header->nterms = 500000;
	header->dict_root = 999;
	header->tid_pages = 55;
	header->nruns = 6;
	header->weights[0] = header->weights[1] = header->weights[2] =
		header->weights[3] = 1.0;
	header->planes[SKX_SEGMENT_TIDS] = (SkxDiskPlane) {56, 0, 1};
	header->planes[SKX_SEGMENT_NORMS] = (SkxDiskPlane) {37, 1, 1};
	header->planes[SKX_SEGMENT_KEYS] = (SkxDiskPlane) {0, 2, 0};
	header->planes[SKX_SEGMENT_DICT] = (SkxDiskPlane) {1000, 2, 1};
	header->planes[SKX_SEGMENT_POSTINGS] = (SkxDiskPlane) {35, 3, 2};
	header->planes[SKX_SEGMENT_POSITIONS] = (SkxDiskPlane) {0, 5, 0};
	header->planes[SKX_SEGMENT_DELETES] = (SkxDiskPlane) {5, 5, 1};
	content.runs[0] = (SkxDiskRun) {0, 56, 16};
	content.runs[1] = (SkxDiskRun) {0, 37, 80};
	content.runs[2] = (SkxDiskRun) {0, 1000, 160};
	content.runs[3] = (SkxDiskRun) {0, 32, 1184};
	content.runs[4] = (SkxDiskRun) {32, 3, 1220};
	content.runs[5] = (SkxDiskRun) {0, 5, 1223};
	CHECK(skx_disk_check_segment((char *) &content, sizeof(content), 9,
								   1600) == NULL);
	page = unit_page(0, SKX_PLANE_HEADER);
	memcpy(page + SKX_PAGE_START, &content, sizeof(content));
	skx_disk_page_seal(page, sizeof(content));
	unit_golden("header", page);
}

/* TIDs in heap order with holes; then scattered. */
static void
test_documents(void)
{
	SkxDocumentsWriter docs;
	SkxPlaneWriter tids;
	SkxPlaneWriter norms;
	uint32		ndocs = 20000;
	uint32		i;

	unit_start(&tids, SKX_PLANE_TIDS);
	unit_start(&norms, SKX_PLANE_NORMS);
	skx_writer_documents_init(&docs, &tids, &norms);
	for (i = 0; i < ndocs; i++)
	{
		ItemPointerData tid;

		if (i < 15000)
			ItemPointerSet(&tid, i / 40 * 2, 1 + i % 40);
		else
			ItemPointerSet(&tid, i * 1000 + i % 7, 1 + i % 3 * 100);
		skx_writer_documents_add(&docs, &tid, i % 255);
	}
	skx_writer_documents_end(&docs);
	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = ndocs;
	unit_segment.tid_pages = docs.tid_pages;
	CHECK(docs.tid_pages > 1 && tids.npages == docs.tid_pages + 1);
	CHECK(norms.npages == ndocs / SKX_NORMS_PER_PAGE + 1);
	for (i = 0; i < tids.npages; i++)
		CHECK(skx_disk_check_tids(tids.pages[i], i, &unit_segment) == NULL);
	for (i = 0; i < norms.npages; i++)
		CHECK(skx_disk_check_norms(norms.pages[i], i,
									 &unit_segment) == NULL);
	unit_golden("tids", tids.pages[0]);
	unit_golden("tid_directory", tids.pages[docs.tid_pages]);
	unit_golden("norms", norms.pages[norms.npages - 1]);
}

/*
 * Keys that ascend, with NULLs between, and as many of two columns that leaves
 * become the children of a page.
 */
static void
test_keys(void)
{
	SkxKeyColumns columns = {2, {{2, SKX_KEY_BYTES, 8}, {5, SKX_KEY_DAY, 12}}};
	SkxPlaneWriter plane;
	SkxKeysWriter *w;
	uint32		ndocs = 20000;
	uint32		i;

	unit_start(&plane, SKX_PLANE_KEYS);
	w = skx_writer_keys_begin(&plane, &columns);
	for (i = 0; i < ndocs; i++)
	{
		SkxKey		keys[2] = {{UINT64CONST(0x8000000000000000) + i * 1000 +
		i % 77, 0}, {i % 5 == 3 ? 0 : i * UINT64CONST(2654435761), i % 5 == 3}};

		skx_writer_keys_add(w, keys);
	}
	skx_writer_keys_end(w);
	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = ndocs;
	unit_segment.nkeys = 2;
	unit_segment.planes[SKX_SEGMENT_KEYS].npages = plane.npages;
	for (i = 0; i < plane.npages; i++)
		CHECK(skx_disk_check_keys(plane.pages[i], i,
									&unit_segment) == NULL);
	CHECK(plane.npages > 10);
	unit_golden("keys_leaf", plane.pages[0]);
	unit_golden("keys_inner", plane.pages[plane.npages - 2]);
	unit_golden("key_columns", plane.pages[plane.npages - 1]);
}

/* Entries of all three forms, whose pages ascend as those of lists do. */
static void
unit_entry(SkxDictEntry *entry, uint32 i)
{
	memset(entry, 0, sizeof(*entry));
	entry->postings_page = i / 40;
	entry->positions_page = i / 50;
	entry->df = 1;
	entry->npositions = 1;
	entry->flags = SKX_TERM_INLINE | SKX_TERM_OWN_POSITIONS;
	entry->bytes = (const uint8 *) "\x04\x08\x05";
	entry->nbytes = 3;
	entry->list.page = (i + 3) / 40;
	entry->list.offset = 24 + i % 1000;
	entry->positions.page = (i + 5) / 50;
	entry->positions.offset = 24 + i % 2000;
	if (i % 3 == 1)
	{
		entry->df = 50;
		entry->npositions = 20;
		entry->flags = SKX_TERM_SHORT | SKX_TERM_NO_POSITIONS;
		entry->nbytes = 70;
	}
	else if (i % 3 == 2)
	{
		entry->df = 1000 + i;
		entry->npositions = 5000 + i;
		entry->flags = SKX_TERM_LONG | SKX_TERM_TABLE_PAGES | SKX_TERM_LABELS;
		entry->list.nnodes = 17;
		entry->list.impacts = UINT64CONST(0x1E021E0214010A00);
		entry->list.has_table = true;
		entry->list.table_page = (i + 30) / 40;
		entry->nkths = 3;
		entry->kths[0] = 0x021E;
		entry->kths[1] = 0x0114;
		entry->kths[2] = 0x000A;
	}
}

/* Those of values of two columns come first, that of texts that are NULL too. */
static int
unit_lexeme(char *lexeme, int size, uint32 i)
{
	if (i == 0)
	{
		memcpy(lexeme, SKX_VALUE_NULL_TEXT, SKX_VALUE_HEAD_BYTES);
		return SKX_VALUE_HEAD_BYTES;
	}
	if (i < 30)
	{
		lexeme[0] = '\0';
		lexeme[1] = i < 20 ? 2 : 3;
		lexeme[2] = SKX_VALUE_PRESENT;
		return SKX_VALUE_HEAD_BYTES + snprintf(lexeme + SKX_VALUE_HEAD_BYTES,
										 size - SKX_VALUE_HEAD_BYTES,
											 "value%02u", i);
	}
	return snprintf(lexeme, size, "lexeme%05u%s", i,
					i % 5 == 0 ? "abcdefghijklmnop" : "");
}

static void
test_dict(void)
{
	SkxDictWriter *dict;
	SkxDictLeaves leaves;
	SkxPlaneWriter plane;
	uint32		nterms = 3000;
	uint32		root;
	uint32		i;

	unit_start(&plane, SKX_PLANE_DICT);
	dict = skx_writer_dict_begin(skx_writer_plane_put, &plane);
	for (i = 0; i < nterms; i++)
	{
		SkxDictEntry entry;
		char		lexeme[40];
		int			len;

		unit_entry(&entry, i);
		len = unit_lexeme(lexeme, sizeof(lexeme), i);
		skx_writer_dict_add(dict, lexeme, len, &entry);
	}
	skx_writer_dict_leaves(dict, &leaves);
	CHECK(leaves.n == plane.npages && leaves.n > 1);
	root = skx_writer_dict_levels(skx_writer_plane_put, &plane, &leaves);
	CHECK(root == plane.npages - 1 && root == leaves.n);
	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = 100000;
	unit_segment.nterms = nterms;
	unit_segment.planes[SKX_SEGMENT_DICT].npages = plane.npages;
	unit_segment.planes[SKX_SEGMENT_POSTINGS].npages = 100;
	unit_segment.planes[SKX_SEGMENT_POSITIONS].npages = 100;
	for (i = 0; i < plane.npages; i++)
		CHECK(skx_disk_check_dict(plane.pages[i], &unit_segment) == NULL);
	unit_golden("dict_values", plane.pages[0]);
	unit_golden("dict_leaf", plane.pages[1]);
	unit_golden("dict_inner", plane.pages[root]);
}

/* A list of `df` with a few labels. */
static void
unit_list(SkxSkiplistWriter *w, uint32 df, SkxListAddress *address)
{
	SkxPositionAddress positions = {5, 24, 0};
	uint32		doc = SKX_NO_DOC;
	uint32		done = 0;

	skx_skiplist_writer_begin(w, 3, df);
	while (done < df)
	{
		SkxPostings p = {0};
		SkxImpactSet set;

		skx_rank_impacts_reset(&set);
		for (; done < df && p.n < SKX_SUBBLOCK; done++, p.n++)
		{
			doc += 1 + done * 7 % 13;
			p.docs[p.n] = doc;
			p.tf[p.n] = 1 + done % 3;
			p.labels[p.n] = 1;
			if (done % 1000 == 0)
			{
				p.labels[p.n] = 1 << 3;
				p.label_tf[2][p.n] = p.tf[p.n];
			}
			skx_rank_impacts_add(&set, p.tf[p.n], done % 200);
		}
		skx_skiplist_writer_add(w, &p, skx_rank_impacts_pack(&set, NULL),
								&positions);
		positions.offset = 24 + (positions.offset + 77) % 8000;
		positions.page++;
		positions.index = (positions.index + 1) % SKX_SUBBLOCK;
	}
	skx_skiplist_writer_end(w, address);
}

static void
test_postings(void)
{
	SkxSkiplistWriter *w;
	SkxPlaneWriter plane;
	SkxListAddress address;
	const SkxDiskNode *node;
	uint32		page;
	uint16		offset;

	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = 10000000;
	unit_segment.nterms = 10;
	unit_segment.block_size = 4 * BLCKSZ;
	unit_start(&plane, SKX_PLANE_POSTINGS);
	w = skx_skiplist_writer_create(4, skx_writer_plane_put, &plane);
	skx_skiplist_writer_short(w, (const uint8 *) "short", 5, &page, &offset);
	unit_list(w, 50000, &address);
	skx_skiplist_writer_finish(w);
	CHECK(address.page == 0 && address.offset == 32);
	node = (const SkxDiskNode *) (plane.pages[0] + 32);
	CHECK(node->nforward >= 1 && node->table_nodes == address.nnodes);
	CHECK(skx_disk_check_node(plane.pages[0], 32, &unit_segment) == NULL);
	CHECK(skx_disk_check_portion(plane.pages[0], 32 +
								   SKX_NODE_HEADER_SIZE(node->page_slots, 8,
														node->table_slots),
								   &unit_segment) == NULL);
	CHECK(skx_disk_check_portion(plane.pages[1], SKX_PAGE_START,
								   &unit_segment) == NULL);
	unit_golden("postings_node", plane.pages[0]);
	unit_golden("postings_portion", plane.pages[1]);
}

/* A list that was announced as short, so that its table needs a page. */
static void
test_node_table(void)
{
	SkxPositionAddress positions = {0, 24, 0};
	SkxSkiplistWriter *w;
	SkxPlaneWriter plane;
	SkxListAddress address;
	SkxPostings p;
	uint32		doc = 0;

	memset(&p, 0, sizeof(p));
	memset(&unit_segment, 0, sizeof(unit_segment));
	unit_segment.ndocs = 1000000000;
	unit_segment.nterms = 10;
	unit_start(&plane, SKX_PLANE_POSTINGS);
	w = skx_skiplist_writer_create(1, skx_writer_plane_put, &plane);
	skx_skiplist_writer_begin(w, 3, SKX_SUBBLOCK);
	w->remaining_postings = 0;
	while (plane.npages < 20)
	{
		for (p.n = 0; p.n < SKX_SUBBLOCK; p.n++)
		{
			doc += 1 + doc % 1000;
			p.docs[p.n] = doc;
			p.tf[p.n] = 1;
			p.labels[p.n] = 1;
		}
		skx_skiplist_writer_add(w, &p, 0, &positions);
	}
	skx_skiplist_writer_end(w, &address);
	skx_skiplist_writer_finish(w);
	CHECK(address.has_table);
	CHECK(skx_disk_check_node_table(plane.pages[address.table_page],
									  &unit_segment) == NULL);
	unit_golden("node_table", plane.pages[address.table_page]);
}

static void
test_positions(void)
{
	SkxPositionsWriter *w;
	SkxPlaneWriter plane;
	SkxPositionAddress marks[2];
	uint32		i;

	unit_start(&plane, SKX_PLANE_POSITIONS);
	w = skx_writer_positions_begin(skx_writer_plane_put, &plane);
	skx_writer_positions_next_address(w, &marks[0]);
	for (i = 0; i < 10000; i++)
	{
		uint16		positions[3];

		positions[0] = i * 31 % 5000;
		positions[1] = positions[0] + 1 + i % 300;
		positions[2] = (positions[1] + 7) | (i % 50 == 0 ? 0xC000 : 0);
		skx_writer_positions_add(w, positions, 1 + i % 3);
	}
	skx_writer_positions_end_block(w);
	skx_writer_positions_next_address(w, &marks[1]);
	skx_writer_positions_add(w, (const uint16 *) "a", 1);
	skx_writer_positions_end_block(w);
	CHECK(skx_writer_positions_end(w) == plane.npages);
	CHECK(marks[0].page == 0 && marks[0].offset == SKX_PAGE_START);
	CHECK(marks[1].page == plane.npages - 1 && marks[1].index == 0);
	for (i = 0; i < plane.npages; i++)
		CHECK(skx_disk_check_positions(plane.pages[i]) == NULL);
	unit_golden("positions", plane.pages[0]);
}

int
main(void)
{
	test_meta();
	test_root();
	test_pending();
	test_deletes();
	test_header();
	test_documents();
	test_keys();
	test_dict();
	test_postings();
	test_node_table();
	test_positions();
	return unit_done("disk_golden");
}
