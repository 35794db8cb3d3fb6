/*
 * writer_documents.c
 *	  TIDs and norms of a segment's documents, in document order.
 *
 * TIDs are written group by group.  Each of the 128 documents of a group has a
 * heap block and an offset number, each less the smallest one of the group,
 * bit-packed.
 *
 * Norms are needed for impacts when all documents are known.  So they stay in
 * memory, one byte each, and become pages at the end.  A merge, which can read
 * them again, may write them page by page instead.
 */
#include "postgres.h"

#include "write/writer/writer.h"

/* Most groups on a page, since each takes at least its head. */
#define SKX_TID_PAGE_GROUPS	(SKX_PAGE_CAPACITY / sizeof(SkxDiskTidGroup))

/* The TIDs. */
typedef struct SkxTidWriter
{
	SkxPlaneWriter *plane;
	ItemPointerData group[SKX_TID_GROUP_DOCS];
	char	   *page;			/* page being filled */
	uint32		ngroups;		/* groups on the page */
	uint32		nbody;			/* bytes of bodies on the page */
	SkxDiskTidGroup *groups;
	uint8	   *body;
	uint32		npages;
	uint32		first_group;	/* of the page */
	uint32	   *directory;		/* first group of each page */
	uint32		directory_size;
} SkxTidWriter;

static SkxTidWriter *
skx_writer_tids_begin(SkxPlaneWriter *plane)
{
	SkxTidWriter *w = palloc0(sizeof(SkxTidWriter));

	w->plane = plane;
	w->page = palloc0(BLCKSZ);
	w->groups = palloc(SKX_TID_PAGE_GROUPS * sizeof(SkxDiskTidGroup));
	w->body = palloc(BLCKSZ);
	w->directory_size = 64;
	w->directory = palloc(w->directory_size * sizeof(uint32));
	return w;
}

void
skx_writer_documents_init(SkxDocumentsWriter *docs, SkxPlaneWriter *tids,
						  SkxPlaneWriter *norms)
{
	memset(docs, 0, sizeof(*docs));
	docs->tids = skx_writer_tids_begin(tids);
	docs->norm_plane = norms;
	docs->norms_size = SKX_NORMS_PER_PAGE;
	docs->all_norms = palloc(docs->norms_size);
}

/* Writes the groups collected so far as the next data page. */
static void
skx_writer_tids_flush(SkxTidWriter *w)
{
	SkxDiskTidPage *head = (SkxDiskTidPage *) (w->page + SKX_PAGE_START);
	uint32		body = SKX_PAGE_START + sizeof(SkxDiskTidPage) +
		w->ngroups * sizeof(SkxDiskTidGroup);
	uint32		i;

	if (w->ngroups == 0)
		return;
	memset(head, 0, sizeof(*head));
	head->first_group = w->first_group;
	head->ngroups = (uint16) w->ngroups;
	for (i = 0; i < w->ngroups; i++)
		w->groups[i].body += body;
	memcpy(head + 1, w->groups, w->ngroups * sizeof(SkxDiskTidGroup));
	memcpy(w->page + body, w->body, w->nbody);
	if (w->npages == w->directory_size)
	{
		w->directory_size *= 2;
		w->directory = repalloc(w->directory,
								w->directory_size * sizeof(uint32));
	}
	w->directory[w->npages] = w->first_group;
	skx_writer_plane_put(w->plane, w->npages++, w->page,
						 body + w->nbody - SKX_PAGE_START);
	w->first_group += w->ngroups;
	w->ngroups = 0;
	w->nbody = 0;
}

/* Encodes the first `n` TIDs in w->group. */
static void
skx_writer_tids_group(SkxTidWriter *w, int n)
{
	SkxDiskTidGroup *group;
	uint32		blocks[SKX_TID_GROUP_DOCS];
	uint32		offsets[SKX_TID_GROUP_DOCS];
	uint32		all_blocks = 0;
	uint32		all_offsets = 0;
	uint32		least = PG_UINT16_MAX;
	uint32		size;
	uint8	   *to;
	int			i;

	for (i = 0; i < n; i++)
	{
		offsets[i] = ItemPointerGetOffsetNumberNoCheck(&w->group[i]);
		least = Min(least, offsets[i]);
	}
	for (i = 0; i < n; i++)
	{
		/* TIDs ascend, so the first one has the smallest block */
		blocks[i] = ItemPointerGetBlockNumberNoCheck(&w->group[i]) -
			ItemPointerGetBlockNumberNoCheck(&w->group[0]);
		offsets[i] -= least;
		all_blocks |= blocks[i];
		all_offsets |= offsets[i];
	}
	size = (n * skx_codec_width(all_blocks) + 7) / 8 +
		(n * skx_codec_width(all_offsets) + 7) / 8;
	if (sizeof(SkxDiskTidPage) +
		(w->ngroups + 1) * sizeof(SkxDiskTidGroup) +
		w->nbody + size > SKX_PAGE_CAPACITY)
		skx_writer_tids_flush(w);
	group = &w->groups[w->ngroups++];
	group->block = ItemPointerGetBlockNumberNoCheck(&w->group[0]);
	group->offset = (uint16) least;
	group->body = (uint16) w->nbody;
	group->block_width = (uint8) skx_codec_width(all_blocks);
	group->offset_width = (uint8) skx_codec_width(all_offsets);
	group->ndocs = (uint16) n;
	to = skx_codec_bits_put(w->body + w->nbody, blocks, n,
							group->block_width);
	to = skx_codec_bits_put(to, offsets, n, group->offset_width);
	w->nbody = to - w->body;
}

void
skx_writer_documents_announce(SkxDocumentsWriter *docs, uint32 ndocs,
							  bool keep_norms)
{
	Assert(docs->ndocs == 0);
	if (!keep_norms)
	{
		pfree(docs->all_norms);
		docs->all_norms = NULL;
		docs->norm_page = palloc0(BLCKSZ);
	}
	else if (ndocs > docs->norms_size)
	{
		docs->norms_size = ndocs;
		docs->all_norms = repalloc_huge(docs->all_norms, docs->norms_size);
	}
}

void
skx_writer_documents_keep_norms(SkxDocumentsWriter *docs, uint8 *norms,
								uint32 ndocs)
{
	Assert(docs->ndocs == 0);
	pfree(docs->all_norms);
	docs->all_norms = norms;
	docs->norms_size = ndocs;
}

/* Writes the page of norms that ends with the last document. */
static void
skx_writer_norms_flush(SkxDocumentsWriter *docs)
{
	uint32		page = (docs->ndocs - 1) / SKX_NORMS_PER_PAGE;

	skx_writer_plane_put(docs->norm_plane, page, docs->norm_page,
						 docs->ndocs - page * SKX_NORMS_PER_PAGE);
}

/* Adds the norm of document docs->ndocs. */
static void
skx_writer_norms_add(SkxDocumentsWriter *docs, uint8 norm)
{
	if (docs->all_norms == NULL)
	{
		uint32		at = docs->ndocs % SKX_NORMS_PER_PAGE;

		if (at == 0 && docs->ndocs > 0)
			skx_writer_norms_flush(docs);
		docs->norm_page[SKX_PAGE_START + at] = (char) norm;
		return;
	}
	if (docs->ndocs == docs->norms_size)
	{
		docs->norms_size *= 2;
		docs->all_norms = repalloc_huge(docs->all_norms, docs->norms_size);
	}
	docs->all_norms[docs->ndocs] = norm;
}

void
skx_writer_documents_add(SkxDocumentsWriter *docs, ItemPointer tid,
						 uint8 norm)
{
	uint32		at = docs->ndocs % SKX_TID_GROUP_DOCS;

	skx_writer_norms_add(docs, norm);
	docs->ndocs++;
	docs->tids->group[at] = *tid;
	if (at + 1 == SKX_TID_GROUP_DOCS)
		skx_writer_tids_group(docs->tids, SKX_TID_GROUP_DOCS);
}

/*
 * Writes what is left of the TIDs, and the directory; returns the number of
 * pages before the directory.
 */
static uint32
skx_writer_tids_end(SkxTidWriter *w, uint32 in_group)
{
	uint32		ordinal;
	uint32		done;

	if (in_group > 0)
		skx_writer_tids_group(w, in_group);
	skx_writer_tids_flush(w);
	ordinal = w->npages;
	for (done = 0; done < w->npages; done += SKX_TID_DIRECTORY)
	{
		uint32		size = Min(w->npages - done, SKX_TID_DIRECTORY) *
			sizeof(uint32);

		memcpy(w->page + SKX_PAGE_START, w->directory + done, size);
		skx_writer_plane_put(w->plane, ordinal++, w->page, size);
	}
	return w->npages;
}

void
skx_writer_documents_end(SkxDocumentsWriter *docs)
{
	char	   *page = docs->tids->page;
	uint32		ordinal = 0;
	uint32		done;

	docs->tid_pages = skx_writer_tids_end(docs->tids,
										  docs->ndocs % SKX_TID_GROUP_DOCS);
	if (docs->all_norms == NULL)
	{
		skx_writer_norms_flush(docs);
		return;
	}
	for (done = 0; done < docs->ndocs; done += SKX_NORMS_PER_PAGE)
	{
		uint32		size = Min(docs->ndocs - done, SKX_NORMS_PER_PAGE);

		memcpy(page + SKX_PAGE_START, docs->all_norms + done, size);
		skx_writer_plane_put(docs->norm_plane, ordinal++, page, size);
	}
}
