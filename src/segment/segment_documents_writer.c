/*
 * segment_documents_writer.c
 *	  TIDs and length norms of a segment's documents, in document order.
 *
 * TIDs leave group by group: 128 documents are a heap block and an offset
 * number, each less the smallest of the group, bit-packed.  Norms are needed
 * for the impacts once all documents are known, so they stay in memory, one
 * byte each, and become pages at the end.
 */
#include "postgres.h"

#include "segment/segment_internal.h"

/* No group is smaller than its head, so a page has at most so many. */
#define SKX_TID_PAGE_GROUPS	(SKX_PAGE_CAPACITY / sizeof(SkxDiskTidGroup))

void
skx_segment_documents_init(SkxDocumentsWriter *docs, SkxPlaneWriter *tids,
						   SkxPlaneWriter *norms)
{
	memset(docs, 0, sizeof(*docs));
	docs->tids = tids;
	docs->norm_plane = norms;
	docs->context = CurrentMemoryContext;
	docs->norms_size = SKX_NORMS_PER_PAGE;
	docs->norms = palloc(docs->norms_size);
	docs->page = palloc0(BLCKSZ);
	docs->groups = palloc(SKX_TID_PAGE_GROUPS * sizeof(SkxDiskTidGroup));
	docs->body = palloc(BLCKSZ);
	docs->directory_size = 64;
	docs->directory = palloc(docs->directory_size * sizeof(uint32));
}

/* Writes the groups collected so far as the next data page. */
static void
skx_segment_tids_flush(SkxDocumentsWriter *docs)
{
	SkxDiskTidPage *head = (SkxDiskTidPage *) (docs->page + SKX_PAGE_START);
	uint32		body = SKX_PAGE_START + sizeof(SkxDiskTidPage) +
		docs->ngroups * sizeof(SkxDiskTidGroup);
	uint32		i;

	if (docs->ngroups == 0)
		return;
	memset(head, 0, sizeof(*head));
	head->first_group = docs->first_group;
	head->ngroups = (uint16) docs->ngroups;
	for (i = 0; i < docs->ngroups; i++)
		docs->groups[i].body += body;
	memcpy(head + 1, docs->groups, docs->ngroups * sizeof(SkxDiskTidGroup));
	memcpy(docs->page + body, docs->body, docs->nbody);
	if (docs->tid_pages == docs->directory_size)
	{
		docs->directory_size *= 2;
		docs->directory = repalloc(docs->directory,
								   docs->directory_size * sizeof(uint32));
	}
	docs->directory[docs->tid_pages] = docs->first_group;
	skx_segment_plane_put(docs->tids, docs->tid_pages++, docs->page,
						  body + docs->nbody - SKX_PAGE_START);
	docs->first_group += docs->ngroups;
	docs->ngroups = 0;
	docs->nbody = 0;
}

/* Encodes the first `n` TIDs in docs->group. */
static void
skx_segment_tids_group(SkxDocumentsWriter *docs, int n)
{
	SkxDiskTidGroup *group;
	uint32		blocks[SKX_TID_GROUP];
	uint32		offsets[SKX_TID_GROUP];
	uint32		all_blocks = 0;
	uint32		all_offsets = 0;
	uint32		least = PG_UINT16_MAX;
	uint32		size;
	uint8	   *to;
	int			i;

	for (i = 0; i < n; i++)
	{
		offsets[i] = ItemPointerGetOffsetNumberNoCheck(&docs->group[i]);
		least = Min(least, offsets[i]);
	}
	for (i = 0; i < n; i++)
	{
		/* TIDs ascend: the first has the smallest block */
		blocks[i] = ItemPointerGetBlockNumberNoCheck(&docs->group[i]) -
			ItemPointerGetBlockNumberNoCheck(&docs->group[0]);
		offsets[i] -= least;
		all_blocks |= blocks[i];
		all_offsets |= offsets[i];
	}
	size = (n * skx_codec_width(all_blocks) + 7) / 8 +
		(n * skx_codec_width(all_offsets) + 7) / 8;
	if (sizeof(SkxDiskTidPage) +
		(docs->ngroups + 1) * sizeof(SkxDiskTidGroup) +
		docs->nbody + size > SKX_PAGE_CAPACITY)
		skx_segment_tids_flush(docs);
	group = &docs->groups[docs->ngroups++];
	group->block = ItemPointerGetBlockNumberNoCheck(&docs->group[0]);
	group->offset = (uint16) least;
	group->body = (uint16) docs->nbody;
	group->block_width = (uint8) skx_codec_width(all_blocks);
	group->offset_width = (uint8) skx_codec_width(all_offsets);
	group->ndocs = (uint16) n;
	to = skx_codec_bits_put(docs->body + docs->nbody, blocks, n,
							group->block_width);
	to = skx_codec_bits_put(to, offsets, n, group->offset_width);
	docs->nbody = to - docs->body;
}

/* Adds the next document; its number is the count of those before. */
void
skx_segment_documents_add(SkxDocumentsWriter *docs, ItemPointer tid,
						  uint8 norm)
{
	uint32		at = docs->ndocs % SKX_TID_GROUP;

	if (docs->ndocs == docs->norms_size)
	{
		docs->norms_size *= 2;
		docs->norms = repalloc_huge(docs->norms, docs->norms_size);
	}
	docs->norms[docs->ndocs++] = norm;
	docs->group[at] = *tid;
	if (at + 1 == SKX_TID_GROUP)
		skx_segment_tids_group(docs, SKX_TID_GROUP);
}

/* Writes what is left, the directory of the TID pages, and the norms. */
void
skx_segment_documents_end(SkxDocumentsWriter *docs)
{
	uint32		ordinal;
	uint32		done;

	if (docs->ndocs % SKX_TID_GROUP != 0)
		skx_segment_tids_group(docs, docs->ndocs % SKX_TID_GROUP);
	skx_segment_tids_flush(docs);
	ordinal = docs->tid_pages;
	for (done = 0; done < docs->tid_pages; done += SKX_TID_DIRECTORY)
	{
		uint32		size = Min(docs->tid_pages - done, SKX_TID_DIRECTORY) *
			sizeof(uint32);

		memcpy(docs->page + SKX_PAGE_START, docs->directory + done, size);
		skx_segment_plane_put(docs->tids, ordinal++, docs->page, size);
	}
	ordinal = 0;
	for (done = 0; done < docs->ndocs; done += SKX_NORMS_PER_PAGE)
	{
		uint32		size = Min(docs->ndocs - done, SKX_NORMS_PER_PAGE);

		memcpy(docs->page + SKX_PAGE_START, docs->norms + done, size);
		skx_segment_plane_put(docs->norm_plane, ordinal++, docs->page, size);
	}
}
