/*
 * test_disk_limits.c
 *	  Numbers of a segment near the ends of 31 and of 32 bits: what can be is
 *	  taken, and a sum that passes 32 bits is not taken for a small one.
 *
 * Holds: disk 3
 */
#include "unit.h"

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"

#define BLOCK_PAGES	4

/* Documents of the largest segment. */
#define MOST_DOCS	((uint32) SKX_DOC_MAX + 1)

/* Its TID groups, norms and deletes, in pages; each group on its own page. */
#define GROUPS		(MOST_DOCS / SKX_TID_GROUP_DOCS)
#define TIDS		(GROUPS + (GROUPS + SKX_TID_DIRECTORY - 1) / SKX_TID_DIRECTORY)
#define NORMS		((MOST_DOCS + SKX_NORMS_PER_PAGE - 1) / SKX_NORMS_PER_PAGE)
#define DELETES		((MOST_DOCS + SKX_DELETES_PER_PAGE - 1) / SKX_DELETES_PER_PAGE)

/* Pages of the plane of postings: all but the last block of a file. */
#define POSTINGS	(MaxBlockNumber - MaxBlockNumber % BLOCK_PAGES - BLOCK_PAGES)

/* A header with its runs. */
typedef struct Header
{
	SkxDiskSegment seg;
	SkxDiskRun	runs[12];
} Header;

static void
add_run(Header *h, int plane, uint32 first, uint32 npages, BlockNumber block)
{
	SkxDiskPlane *p = &h->seg.planes[plane];

	if (p->nruns++ == 0)
		p->first_run = h->seg.nruns;
	p->npages = first + npages;
	h->runs[h->seg.nruns++] = (SkxDiskRun) {first, npages, block};
}

/*
 * The largest segment by documents.  Its planes overlap in the file, which is
 * for skipidx_check() to find.
 */
static Header
largest(void)
{
	Header		h;

	memset(&h, 0, sizeof(h));
	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &h.seg.format);
	h.seg.salt = 1;
	h.seg.segment = 9;
	h.seg.block_size = BLOCK_PAGES * BLCKSZ;
	h.seg.ndocs = MOST_DOCS;
	h.seg.nnull = MOST_DOCS;
	h.seg.total_length = PG_UINT64_MAX;
	h.seg.npostings = UINT64CONST(1) << 33;
	h.seg.npositions = UINT64CONST(1) << 40;
	h.seg.nterms = PG_UINT32_MAX;
	h.seg.tid_pages = GROUPS;
	add_run(&h, SKX_SEGMENT_TIDS, 0, TIDS, MaxBlockNumber - TIDS);
	add_run(&h, SKX_SEGMENT_NORMS, 0, NORMS, MaxBlockNumber - NORMS);
	add_run(&h, SKX_SEGMENT_DICT, 0, 0x7FFFFFFF, 1);
	add_run(&h, SKX_SEGMENT_DICT, 0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF);
	h.seg.dict_root = 0xFFFFFFFD;
	add_run(&h, SKX_SEGMENT_POSTINGS, 0, POSTINGS, BLOCK_PAGES);
	add_run(&h, SKX_SEGMENT_POSTINGS, POSTINGS, 2, MaxBlockNumber - 2);
	add_run(&h, SKX_SEGMENT_POSITIONS, 0, MaxBlockNumber - 1, 1);
	add_run(&h, SKX_SEGMENT_DELETES, 0, DELETES, MaxBlockNumber - DELETES);
	return h;
}

static const char *
check(const Header *h)
{
	return skx_disk_check_segment((const char *) h, sizeof(h->seg) +
									h->seg.nruns * sizeof(SkxDiskRun), 9,
									MaxBlockNumber);
}

/* The header, changed; "" : it passes. */
#define REFUSED(change, reason) \
	do { \
		Header		h = largest(); \
		const char *said; \
		change; \
		said = check(&h); \
		unit_checks++; \
		if (strcmp(said == NULL ? "" : said, reason) != 0) \
		{ \
			unit_fail(__FILE__, __LINE__, #change); \
			fprintf(stderr, "  got:    %s\n  wanted: %s\n", \
					said == NULL ? "nothing" : said, reason); \
		} \
	} while (0)

static void
test_header(void)
{
	const char *end = "a run passes the end of the file";
	const char *gap = "the runs of a plane have a gap";
	const char *sum = "the runs of a plane do not add up";
	const char *docs = "the segment has impossible documents";

	REFUSED(, "");
	REFUSED(h.seg.ndocs++, docs);
	REFUSED(h.seg.ndocs = 0, docs);
	REFUSED(h.seg.ndocs = PG_UINT32_MAX, docs);
	REFUSED(h.seg.tid_pages++, "the TID plane has an impossible size");
	REFUSED((h.seg.ndocs--, h.seg.nnull--), "");
	REFUSED(h.seg.ndocs--, docs);
	REFUSED(h.seg.nnull = h.seg.ndocs = MOST_DOCS - SKX_TID_GROUP_DOCS,
			"the TID plane has an impossible size");
	REFUSED((h.seg.planes[SKX_SEGMENT_NORMS].npages--, h.runs[1].npages--),
			"the norm plane has an impossible size");
	REFUSED((h.seg.planes[SKX_SEGMENT_DELETES].npages--, h.runs[7].npages--),
			"the deletes plane has an impossible size");
	REFUSED(h.seg.dict_root++, "the dictionary has an impossible root");
	REFUSED(h.runs[0].block++, end);
	REFUSED(h.runs[3].block = PG_UINT32_MAX, end);
	REFUSED(h.runs[5].block += 2, end);
	REFUSED(h.runs[5].block = PG_UINT32_MAX, end);
	REFUSED(h.runs[3].first--, gap);
	REFUSED(h.seg.planes[SKX_SEGMENT_DICT].npages++, sum);
}

/* The same with keys, whose runs come last. */
static Header
keyed(void)
{
	Header		h = largest();

	h.seg.nkeys = 1;
	add_run(&h, SKX_SEGMENT_KEYS, 0, 0x80000000, 1);
	return h;
}

/* 2^31 + 2^31 + 7 pages are not 7. */
static void
test_wrapped(void)
{
	Header		h = keyed();

	CHECK(check(&h) == NULL);
	add_run(&h, SKX_SEGMENT_KEYS, 0x80000000, 0x7FFFFFFF, 1);
	CHECK(check(&h) == NULL);

	h = keyed();
	add_run(&h, SKX_SEGMENT_KEYS, 0x80000000, 0x80000000, 1);
	h.seg.nkeys = 0;
	CHECK(h.seg.planes[SKX_SEGMENT_KEYS].npages == 0);
	CHECK(check(&h) != NULL);
	h.seg.nkeys = 1;
	add_run(&h, SKX_SEGMENT_KEYS, 0, 7, 1);
	CHECK(h.seg.planes[SKX_SEGMENT_KEYS].npages == 7);
	CHECK(check(&h) != NULL);
}

/* ---- pages ---- */

static char *
page(uint32 used)
{
	static char bytes[BLCKSZ];
	SkxPageIdentity id = {1, 9, 0, SKX_PLANE_DELETES};

	memset(bytes, 0, sizeof(bytes));
	skx_disk_page_init(bytes, &id);
	((PageHeader) bytes)->pd_lower = SKX_PAGE_START + used;
	return bytes;
}

/* The last pages of what has so many entries a document. */
static void
test_documents(void)
{
	SkxDiskSegment seg = largest().seg;
	uint32		last = MOST_DOCS - 1;
	uint32		norms = last % SKX_NORMS_PER_PAGE + 1;
	SkxDiskTidPage *tids;
	SkxDiskTidGroup *group;
	uint8	   *bits;
	uint32	   *first;
	char	   *p;

	CHECK(skx_disk_check_norms(page(norms), NORMS - 1, &seg) == NULL);
	CHECK(skx_disk_check_norms(page(norms), NORMS, &seg) != NULL);
	CHECK(skx_disk_check_norms(page(norms - 1), NORMS - 1, &seg) != NULL);
	/* ordinals whose first document, in 32 bits, would be a small one */
	CHECK(skx_disk_check_norms(page(SKX_NORMS_PER_PAGE),
								 PG_UINT32_MAX / SKX_NORMS_PER_PAGE + 1,
								 &seg) != NULL);

	p = page(sizeof(SkxDiskDeletes) + SKX_DELETES_BYTES);
	bits = (uint8 *) p + SKX_PAGE_START + sizeof(SkxDiskDeletes);
	bits[last % SKX_DELETES_PER_PAGE / 8] = 1 << (last % 8);
	((SkxDiskDeletes *) (p + SKX_PAGE_START))->ndeleted = 1;
	CHECK(skx_disk_check_deletes(p, DELETES - 1, &seg) == NULL);
	/* groups are the first page's, and know of its own bits */
	CHECK(SkxDeletesGroup(0, DELETES) == 1 && SkxDeletesGroup(0, 1) == 1);
	CHECK(SkxDeletesGroup(DELETES - 1,
						  DELETES) << 1 == SKX_DELETES_GROUPS_VALID);
	((SkxDiskDeletes *) (p + SKX_PAGE_START))->groups =
		SKX_DELETES_GROUPS_VALID | 1;
	CHECK(skx_disk_check_deletes(p, DELETES - 1, &seg) != NULL);
	CHECK(skx_disk_check_deletes(p, 0, &seg) == NULL);
	((SkxDiskDeletes *) (p + SKX_PAGE_START))->groups =
		SKX_DELETES_GROUPS_VALID | 2;
	CHECK(skx_disk_check_deletes(p, 0, &seg) != NULL);
	((SkxDiskDeletes *) (p + SKX_PAGE_START))->groups = 1;
	CHECK(skx_disk_check_deletes(p, 0, &seg) != NULL);
	((SkxDiskDeletes *) (p + SKX_PAGE_START))->groups = 0;
	CHECK(skx_disk_check_deletes(p, PG_UINT32_MAX / SKX_DELETES_PER_PAGE + 1,
								   &seg) != NULL);
	seg.ndocs--;
	CHECK(skx_disk_check_deletes(p, DELETES - 1, &seg) != NULL);
	seg.ndocs++;

	p = page(sizeof(SkxDiskTidPage) + sizeof(SkxDiskTidGroup) +
			 SKX_TID_GROUP_DOCS * (32 + 16) / 8);
	tids = (SkxDiskTidPage *) (p + SKX_PAGE_START);
	group = (SkxDiskTidGroup *) (tids + 1);
	tids->first_group = GROUPS - 1;
	tids->ngroups = 1;
	*group = (SkxDiskTidGroup) {0xFFFFFFFE, 1, (char *) (group + 1) - p, 32,
		16, SKX_TID_GROUP_DOCS};
	CHECK(skx_disk_check_tids(p, GROUPS - 1, &seg) == NULL);
	tids->first_group = PG_UINT32_MAX;
	CHECK(skx_disk_check_tids(p, GROUPS - 1, &seg) != NULL);

	p = page((GROUPS % SKX_TID_DIRECTORY) * sizeof(uint32));
	first = (uint32 *) (p + SKX_PAGE_START);
	for (uint32 i = 0; i < GROUPS % SKX_TID_DIRECTORY; i++)
		first[i] = GROUPS - GROUPS % SKX_TID_DIRECTORY + i;
	CHECK(skx_disk_check_tids(p, TIDS - 1, &seg) == NULL);
	first[GROUPS % SKX_TID_DIRECTORY - 1]++;
	CHECK(skx_disk_check_tids(p, TIDS - 1, &seg) != NULL);
	CHECK(skx_disk_check_tids(p, PG_UINT32_MAX, &seg) != NULL);
}

/* The last group of keys; a number of a group whose document would wrap. */
static void
test_keys(void)
{
	SkxDiskSegment seg = largest().seg;
	char	   *p = page(sizeof(SkxDiskKeyPage) + sizeof(SkxDiskKeyGroup));
	SkxDiskKeyPage *head = (SkxDiskKeyPage *) (p + SKX_PAGE_START);
	SkxDiskKeyGroup *group = (SkxDiskKeyGroup *) (head + 1);

	seg.nkeys = 1;
	seg.planes[SKX_SEGMENT_KEYS].npages = PG_UINT32_MAX;
	head->first_group = MOST_DOCS / SKX_KEY_GROUP_DOCS - 1;
	head->n = 1;
	group->body = (char *) (group + 1) - p;
	group->ndocs = SKX_KEY_GROUP_DOCS;
	CHECK(skx_disk_check_keys(p, PG_UINT32_MAX - 2, &seg) == NULL);
	head->first_group++;
	CHECK(skx_disk_check_keys(p, PG_UINT32_MAX - 2, &seg) != NULL);
	head->first_group = PG_UINT32_MAX / SKX_KEY_GROUP_DOCS + 1;
	CHECK(skx_disk_check_keys(p, PG_UINT32_MAX - 2, &seg) != NULL);
}

/* The end of a file of 2^32 - 2 blocks. */
static void
test_metapage(void)
{
	char	   *p = page(sizeof(SkxDiskMeta));
	SkxDiskMeta *meta = (SkxDiskMeta *) (p + SKX_PAGE_START);

	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &meta->format);
	meta->block_size = BLCKSZ;
	meta->next_segment = 1;
	meta->nblocks = MaxBlockNumber;
	meta->root = MaxBlockNumber - 1;
	meta->npool = 2;
	meta->pool[0] = (SkxDiskPoolExtent) {1, 0xFFFFFF00};
	meta->pool[1] = (SkxDiskPoolExtent) {0xFFFFFF01, 0xFD};
	CHECK(skx_disk_check_meta(p) == NULL);
	meta->pool[1].npages++;
	CHECK(skx_disk_check_meta(p) != NULL);
	meta->pool[1] = (SkxDiskPoolExtent) {0xFFFFFF01, 0x100};
	CHECK(skx_disk_check_meta(p) != NULL);
	meta->pool[1] = (SkxDiskPoolExtent) {0xFFFFFF00, 0xFD};
	CHECK(skx_disk_check_meta(p) != NULL);
	meta->npool = 0;
	meta->root = MaxBlockNumber;
	CHECK(skx_disk_check_meta(p) != NULL);
}

int
main(void)
{
	unit_seed(7);
	test_header();
	test_wrapped();
	test_documents();
	test_keys();
	test_metapage();
	return unit_done("disk_limits");
}
