/*
 * inspect_check_documents.c
 *	  Checks the TIDs, norms and deleted bits of a segment.
 *
 * The TID plane is decoded here from its own pages.  Then the reader that
 * scans use must find the same first TID of each group.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "format/rank/rank.h"
#include "inspect/inspect_internal.h"
#include "utils/memutils.h"

/* State of a walk over the TID plane. */
typedef struct SkxCheckTids
{
	SkxCheckSegment *cs;
	SkxCheckReader reader;
	uint32		group;			/* number of the next group */
	uint32	   *firsts;			/* first group of each page */
	ItemPointerData last;		/* TID that was read last */
	bool		has_tid;		/* last is set */
} SkxCheckTids;

/* Checks the next group, which is on the current page. */
static void
skx_inspect_tid_group(SkxCheckTids *t, const SkxDiskTidGroup *group,
					  uint32 first_body)
{
	SkxCheckSegment *cs = t->cs;
	const char *page = t->reader.page.data;
	const uint8 *end = (const uint8 *) page + t->reader.lower;
	const uint8 *blocks = (const uint8 *) page + group->body;
	const uint8 *offsets;
	uint32		want = Min(cs->ndocs - t->group * SKX_TID_GROUP_DOCS,
						   SKX_TID_GROUP_DOCS);
	uint32		i;

	if (group->ndocs != want || group->body < first_body ||
		group->body > t->reader.lower || group->block_width > 32 ||
		group->offset_width > 16)
		skx_inspect_damaged(&t->reader,
							"TID group %u has an impossible head", t->group);
	offsets = blocks + ((uint32) group->ndocs * group->block_width + 7) / 8;
	for (i = 0; i < group->ndocs; i++)
	{
		ItemPointerData tid;
		uint32		block = 0;
		uint32		offset = 0;

		if (offsets > end ||
			!skx_codec_bits_get(blocks, end, i, group->block_width, &block) ||
			!skx_codec_bits_get(offsets, end, i, group->offset_width,
								&offset))
			skx_inspect_damaged(&t->reader, "TID group %u does not decode",
								t->group);
		offset += group->offset;
		if (offset == 0 || offset > MaxOffsetNumber ||
			block > MaxBlockNumber - group->block)
			skx_inspect_damaged(&t->reader,
								"document %u has an impossible TID",
								t->group * SKX_TID_GROUP_DOCS + i);
		ItemPointerSet(&tid, group->block + block, offset);
		if (t->has_tid && ItemPointerCompare(&t->last, &tid) >= 0)
			skx_inspect_damaged(&t->reader,
								"the TIDs of documents %u and %u do not ascend",
								t->group * SKX_TID_GROUP_DOCS + i - 1,
								t->group * SKX_TID_GROUP_DOCS + i);
		if (i == 0)
			cs->groups[t->group] = tid;
		t->last = tid;
		t->has_tid = true;
	}
	t->group++;
}

static void
skx_inspect_tid_pages(SkxCheckTids *t)
{
	SkxCheckSegment *cs = t->cs;
	uint32		npages = cs->seg->header.tid_pages;
	uint32		ordinal;
	uint32		i;

	for (ordinal = 0; ordinal < npages; ordinal++)
	{
		const char *page = skx_inspect_reader_page(&t->reader, ordinal);
		const SkxDiskTidPage *head =
			(const SkxDiskTidPage *) (page + SKX_PAGE_START);
		const SkxDiskTidGroup *groups = (const SkxDiskTidGroup *) (head + 1);
		uint32		first_body;

		first_body = SKX_PAGE_START + sizeof(SkxDiskTidPage) +
			head->ngroups * sizeof(SkxDiskTidGroup);
		if (head->first_group != t->group || head->ngroups == 0 ||
			first_body > t->reader.lower ||
			head->ngroups > cs->ngroups - t->group)
			skx_inspect_damaged(&t->reader,
								"the TID page does not go on with group %u",
								t->group);
		t->firsts[ordinal] = t->group;
		for (i = 0; i < head->ngroups; i++)
			skx_inspect_tid_group(t, &groups[i], first_body);
	}
	if (t->group != cs->ngroups)
		skx_inspect_damaged(&t->reader,
							"the TIDs end with group %u of %u", t->group,
							cs->ngroups);
}

/* Checks that the directory has the first group of each page. */
static void
skx_inspect_tid_directory(SkxCheckTids *t)
{
	SkxCheckSegment *cs = t->cs;
	uint32		n = cs->seg->header.tid_pages;
	uint32		npages = cs->seg->planes[SKX_SEGMENT_TIDS].npages;
	uint32		i;

	if (n > npages || npages - n != (n + SKX_TID_DIRECTORY - 1) /
		SKX_TID_DIRECTORY)
		skx_inspect_damaged(&t->reader,
							"the TID plane has %u pages for %u of data",
							npages, n);
	for (i = 0; i < n; i++)
	{
		const char *page = skx_inspect_reader_page(&t->reader, n + i /
												   SKX_TID_DIRECTORY);
		const uint32 *entry = (const uint32 *) (page + SKX_PAGE_START) +
			i % SKX_TID_DIRECTORY;

		if ((const char *) (entry + 1) > page + t->reader.lower ||
			*entry != t->firsts[i])
			skx_inspect_damaged(&t->reader,
								"the TID directory does not lead to page %u",
								i);
	}
}

/* Checks that the reader that scans use finds the first TID of each group. */
static void
skx_inspect_tid_reader(SkxCheckTids *t)
{
	SkxCheckSegment *cs = t->cs;
	uint32		i;
	ItemPointerData tid;

	for (i = 0; i < cs->ngroups; i++)
	{
		skx_segment_read_tids(cs->seg, i * SKX_TID_GROUP_DOCS, 1, &tid);
		if (!ItemPointerEquals(&tid, &cs->groups[i]))
			skx_inspect_damaged(&t->reader,
								"a look-up of TID group %u goes astray", i);
	}
}

static void
skx_inspect_check_tids(SkxCheckSegment *cs)
{
	SkxCheckTids t = {0};

	t.cs = cs;
	skx_inspect_reader_init(&t.reader, cs->check, cs->seg, SKX_SEGMENT_TIDS);
	cs->ngroups = (cs->ndocs + SKX_TID_GROUP_DOCS - 1) / SKX_TID_GROUP_DOCS;
	cs->groups = palloc_extended((cs->ngroups + 1) * sizeof(ItemPointerData),
								 MCXT_ALLOC_HUGE);
	t.firsts = palloc_extended((cs->seg->header.tid_pages + 1) *
							   sizeof(uint32), MCXT_ALLOC_HUGE);
	skx_inspect_tid_pages(&t);
	skx_inspect_tid_directory(&t);
	skx_inspect_tid_reader(&t);
	pfree(t.firsts);
	skx_inspect_reader_free(&t.reader);
}

static void
skx_inspect_check_norms(SkxCheckSegment *cs)
{
	SkxCheckReader r;
	uint32		npages = cs->seg->planes[SKX_SEGMENT_NORMS].npages;
	uint32		nnull = 0;
	uint32		done = 0;
	uint32		doc;

	skx_inspect_reader_init(&r, cs->check, cs->seg, SKX_SEGMENT_NORMS);
	cs->norms = palloc_extended(cs->ndocs + 1, MCXT_ALLOC_HUGE);
	while (done < cs->ndocs)
	{
		uint32		n = Min(cs->ndocs - done, SKX_NORMS_PER_PAGE);
		const char *page = skx_inspect_reader_page(&r, done /
												   SKX_NORMS_PER_PAGE);

		if (r.lower != SKX_PAGE_START + n)
			skx_inspect_damaged(&r, "the page has %u norms, but should have %u",
								(unsigned) (r.lower - SKX_PAGE_START), n);
		memcpy(cs->norms + done, page + SKX_PAGE_START, n);
		done += n;
	}
	if (npages != (cs->ndocs + SKX_NORMS_PER_PAGE - 1) / SKX_NORMS_PER_PAGE)
		skx_inspect_damaged(&r, "the norms take %u pages", npages);
	for (doc = 0; doc < cs->ndocs; doc++)
		nnull += cs->norms[doc] == SKX_NORM_NULL;
	if (nnull != cs->seg->header.nnull)
		skx_inspect_damaged(&r,
							"%u documents are NULL, but the segment counts %u",
							nnull, cs->seg->header.nnull);
}

/*
 * Checks a page of deleted bits and adds them to cs->deleted.  Returns how
 * many are set.
 */
static uint32
skx_inspect_delete_page(SkxCheckSegment *cs, SkxCheckReader *r,
						uint32 ordinal)
{
	const char *page = skx_inspect_reader_page(r, ordinal);
	const SkxDiskDeletes *head =
		(const SkxDiskDeletes *) (page + SKX_PAGE_START);
	const uint8 *bits = (const uint8 *) (head + 1);
	uint32		first = ordinal * SKX_DELETES_PER_PAGE;
	uint32		n = Min(cs->ndocs - first, SKX_DELETES_PER_PAGE);
	uint32		ndeleted = 0;
	uint32		i;

	if (r->lower == SKX_PAGE_START)
		return 0;
	if (r->lower < SKX_PAGE_START + sizeof(SkxDiskDeletes) +
		SKX_DELETES_BYTES)
		skx_inspect_damaged(r, "the page of delete bits is too short");
	for (i = skx_bitset_bytes_next(bits, SKX_DELETES_PER_PAGE, 0);
		 i < SKX_DELETES_PER_PAGE;
		 i = skx_bitset_bytes_next(bits, SKX_DELETES_PER_PAGE, i + 1))
	{
		ndeleted++;
		if (i >= n)
			skx_inspect_damaged(r,
								"a delete bit belongs to no document: %u",
								first + i);
		skx_bitset_set(cs->deleted, first + i);
	}
	if (ndeleted != head->ndeleted)
		skx_inspect_damaged(r,
							"%u delete bits are set, but the page counts %u",
							ndeleted, head->ndeleted);
	return ndeleted;
}

static void
skx_inspect_check_deletes(SkxCheckSegment *cs)
{
	SkxCheckReader r;
	uint32		npages = cs->seg->planes[SKX_SEGMENT_DELETES].npages;
	const SkxDiskDeletes *first;
	uint32		groups = 0;
	uint32		i;

	skx_inspect_reader_init(&r, cs->check, cs->seg, SKX_SEGMENT_DELETES);
	cs->deleted = palloc_extended(sizeof(uint64) *
								  SKX_BITSET_WORDS((Size) cs->ndocs),
								  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (npages != (cs->ndocs + SKX_DELETES_PER_PAGE - 1) /
		SKX_DELETES_PER_PAGE)
		skx_damage_report_detail(cs->check->index,
								 cs->check->view->meta.root,
								 "the delete bits of %u documents take %u pages",
								 cs->ndocs, npages);

	/*
	 * Read the first page last: VACUUM may set bits meanwhile, and changes it
	 * together with another page.
	 */
	for (i = npages; i-- > 0;)
		if (skx_inspect_delete_page(cs, &r, i) > 0)
			groups |= SkxDeletesGroup(i, npages);
	first = (const SkxDiskDeletes *) (r.page.data + SKX_PAGE_START);
	if (npages > 0 && r.lower > SKX_PAGE_START && first->groups != 0 &&
		(groups & ~first->groups) != 0)
		skx_inspect_damaged(&r,
							"documents are marked in pages of delete bits of which the first says that they have none");
}

void
skx_inspect_check_documents(SkxCheckSegment *cs)
{
	skx_inspect_check_tids(cs);
	skx_inspect_check_norms(cs);
	skx_inspect_check_deletes(cs);
}

void
skx_inspect_check_lengths(SkxCheckSegment *cs)
{
	const SkxDiskSegment *header = &cs->seg->header;
	uint64		total = 0;
	uint32		doc;

	for (doc = 0; doc < cs->ndocs; doc++)
	{
		uint32		length = cs->lengths[doc];
		uint8		norm = cs->norms[doc];

		total += length;
		if (norm == SKX_NORM_NULL ? length == 0 :
			norm == skx_rank_norm_encode(length))
			continue;
		skx_damage_report_detail(cs->check->index,
								 skx_segment_block(cs->seg, SKX_SEGMENT_NORMS,
												   doc / SKX_NORMS_PER_PAGE),
								 "document %u has norm %u, but length %u",
								 doc, norm, length);
	}
	if (cs->nnull_term != header->nnull)
		skx_damage_report_detail(cs->check->index,
								 skx_segment_block(cs->seg, SKX_SEGMENT_NORMS,
												   0),
								 "the term of texts that are NULL has %u postings, but the segment counts %u",
								 cs->nnull_term, header->nnull);
	if (total != header->total_length)
		skx_damage_report_detail(cs->check->index,
								 skx_segment_block(cs->seg, SKX_SEGMENT_NORMS,
												   0),
								 "the lengths of the documents add up to " UINT64_FORMAT ", but the segment counts " UINT64_FORMAT,
								 total, header->total_length);
}
