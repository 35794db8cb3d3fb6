/*
 * disk_check_segment.c
 *	  Validators of the header and the documents of a segment.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec.h"
#include "format/disk/disk_check.h"

/*
 * Checks that the runs of a plane cover its pages without gap or overlap, and
 * lie inside the file.  Does not check whether runs overlap in the file.
 */
static const char *
skx_disk_check_runs(const SkxDiskSegment *seg, const SkxDiskPlane *plane,
					const char *runs, BlockNumber nblocks, bool whole_blocks)
{
	uint32		block_pages = seg->block_size / BLCKSZ;
	uint64		next = 0;		/* least ordinal that is not covered yet */
	uint32		i;

	if ((uint32) plane->first_run + plane->nruns > seg->nruns)
		return "a plane has more runs than the header";
	runs += plane->first_run * sizeof(SkxDiskRun);
	for (i = 0; i < plane->nruns; i++)
	{
		SkxDiskRun	run;

		memcpy(&run, runs + i * sizeof(run), sizeof(run));
		if (run.first != next || run.npages == 0)
			return "the runs of a plane have a gap";
		if ((uint64) run.block + run.npages > nblocks)
			return "a run passes the end of the file";
		/* the partial last block may lie anywhere within one block */
		if (whole_blocks &&
			(run.first % block_pages != 0 ||
			 (run.block % block_pages != 0 &&
			  run.block % block_pages + run.npages > block_pages)))
			return "a run is not made of blocks";
		next += run.npages;
	}
	if (next != plane->npages)
		return "the runs of a plane do not add up";
	return NULL;
}

/* Checks the sizes of planes that follow from the number of documents. */
static const char *
skx_disk_check_plane_sizes(const SkxDiskSegment *seg)
{
	uint32		groups = ((uint64) seg->ndocs + SKX_TID_GROUP_DOCS - 1) /
		SKX_TID_GROUP_DOCS;
	uint32		directory = ((uint64) seg->tid_pages + SKX_TID_DIRECTORY - 1) /
		SKX_TID_DIRECTORY;

	if (seg->tid_pages == 0 || seg->tid_pages > groups ||
		seg->planes[SKX_SEGMENT_TIDS].npages != seg->tid_pages + directory)
		return "the TID plane has an impossible size";
	if (seg->planes[SKX_SEGMENT_NORMS].npages !=
		((uint64) seg->ndocs + SKX_NORMS_PER_PAGE - 1) / SKX_NORMS_PER_PAGE)
		return "the norm plane has an impossible size";
	if (seg->nkeys == 0 ? seg->planes[SKX_SEGMENT_KEYS].npages != 0 :
		seg->planes[SKX_SEGMENT_KEYS].npages <= seg->nkeys)
		return "the keys plane has an impossible size";
	if (seg->planes[SKX_SEGMENT_DELETES].npages !=
		((uint64) seg->ndocs + SKX_DELETES_PER_PAGE - 1) /
		SKX_DELETES_PER_PAGE)
		return "the deletes plane has an impossible size";
	if (seg->nterms == 0 ? seg->planes[SKX_SEGMENT_DICT].npages != 0 :
		seg->dict_root >= seg->planes[SKX_SEGMENT_DICT].npages)
		return "the dictionary has an impossible root";
	return NULL;
}

/* Checks what the header tells of the lists of prefixes. */
static const char *
skx_disk_check_prefixes(const SkxDiskSegment *seg)
{
	uint32		npages = seg->planes[SKX_SEGMENT_PREFIXES].npages;

	if (seg->nprefixes == 0 ?
		npages != 0 || seg->prefix_root != 0 || seg->nprefix_postings != 0 ||
		seg->planes[SKX_SEGMENT_PREFIX_POSTINGS].npages != 0 :
		seg->prefix_root >= npages ||
		(seg->format.may_ignore & SKX_FEATURE_PREFIXES) == 0)
		return "the lists of prefixes have an impossible root";
	return NULL;
}

const char *
skx_disk_check_segment(const char *stream, Size nbytes, uint32 segment,
					   BlockNumber nblocks)
{
	const SkxDiskSegment *seg = (const SkxDiskSegment *) stream;
	const char *wrong;
	int			i;

	if (nbytes < sizeof(SkxDiskSegment))
		return "the segment header is too short";
	if (seg->format.magic != SKX_MAGIC)
		return "the segment header has a wrong magic number";
	wrong = skx_disk_check_format(&seg->format, seg->reserved,
								  lengthof(seg->reserved));
	if (wrong != NULL)
		return wrong;
	if (seg->segment != segment)
		return "the segment header is that of another segment";
	if (seg->salt == 0)
		return "the segment header has no salt";
	if (seg->block_size < SKX_BLOCK_SIZE_MIN ||
		seg->block_size > SKX_BLOCK_SIZE_MAX ||
		(seg->block_size & (seg->block_size - 1)) != 0)
		return "the segment has an impossible block size";
	if (seg->ndocs == 0 || seg->ndocs - 1 > SKX_DOC_MAX ||
		seg->nnull > seg->ndocs || seg->nkeys > SKX_KEY_COLUMNS_MAX)
		return "the segment has impossible documents";
	if (nbytes != sizeof(SkxDiskSegment) + seg->nruns * sizeof(SkxDiskRun))
		return "the segment header has an impossible length";
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		wrong = skx_disk_check_runs(seg, &seg->planes[i],
									stream + sizeof(SkxDiskSegment),
									nblocks, SkxPlaneHasBlocks(i));
		if (wrong != NULL)
			return wrong;
	}
	wrong = skx_disk_check_plane_sizes(seg);
	return wrong != NULL ? wrong : skx_disk_check_prefixes(seg);
}

static const char *
skx_disk_check_tid_group(const SkxDiskTidGroup *group, bool last,
						 const SkxDiskSegment *seg, Size bodies, Size lower)
{
	uint32		ndocs = last && seg->ndocs % SKX_TID_GROUP_DOCS != 0 ?
		seg->ndocs % SKX_TID_GROUP_DOCS : SKX_TID_GROUP_DOCS;

	if (group->ndocs != ndocs)
		return "a group of TIDs has an impossible number of documents";
	if (group->block_width > 32 || group->offset_width > 16)
		return "a group of TIDs has an impossible width";
	if (group->offset == 0)
		return "a group of TIDs has an impossible offset";
	if (group->body < bodies ||
		group->body + (ndocs * group->block_width + 7) / 8 +
		(ndocs * group->offset_width + 7) / 8 > lower)
		return "a group of TIDs passes the end of its page";
	return NULL;
}

static const char *
skx_disk_check_tid_directory(const char *page, uint32 number,
							 const SkxDiskSegment *seg)
{
	Size		size = ((const PageHeaderData *) page)->pd_lower -
		SKX_PAGE_START;
	uint64		done = (uint64) number * SKX_TID_DIRECTORY;
	const uint32 *first = (const uint32 *) (page + SKX_PAGE_START);
	uint32		ngroups = ((uint64) seg->ndocs + SKX_TID_GROUP_DOCS - 1) /
		SKX_TID_GROUP_DOCS;
	uint32		n;
	uint32		i;

	if (done >= seg->tid_pages)
		return "the TID directory is too long";
	n = Min(seg->tid_pages - done, SKX_TID_DIRECTORY);
	if (size != n * sizeof(uint32))
		return "the TID directory has an impossible length";
	for (i = 0; i < n; i++)
	{
		if (first[i] >= ngroups || (done + i == 0 && first[i] != 0) ||
			(i > 0 && first[i] <= first[i - 1]))
			return "the TID directory is not in order";
	}
	return NULL;
}

const char *
skx_disk_check_tids(const char *page, uint32 ordinal,
					const SkxDiskSegment *seg)
{
	Size		lower = ((const PageHeaderData *) page)->pd_lower;
	Size		at = SKX_PAGE_START + sizeof(SkxDiskTidPage);
	const SkxDiskTidPage *head;
	const SkxDiskTidGroup *groups;
	uint32		ngroups = ((uint64) seg->ndocs + SKX_TID_GROUP_DOCS - 1) /
		SKX_TID_GROUP_DOCS;
	uint32		i;

	if (ordinal >= seg->tid_pages)
		return skx_disk_check_tid_directory(page, ordinal - seg->tid_pages,
											seg);
	if (lower < at)
		return "the TID page is too short";
	head = (const SkxDiskTidPage *) (page + SKX_PAGE_START);
	if (head->ngroups == 0 ||
		(uint64) head->first_group + head->ngroups > ngroups)
		return "the TID page has impossible groups";
	groups = (const SkxDiskTidGroup *) (head + 1);
	at += head->ngroups * sizeof(SkxDiskTidGroup);
	if (at > lower)
		return "the TID page is shorter than its groups";
	for (i = 0; i < head->ngroups; i++)
	{
		const char *wrong = skx_disk_check_tid_group(&groups[i],
													 head->first_group + i ==
													 ngroups - 1,
													 seg, at, lower);

		if (wrong != NULL)
			return wrong;
	}
	return NULL;
}

const char *
skx_disk_check_norms(const char *page, uint32 ordinal,
					 const SkxDiskSegment *seg)
{
	uint64		first = (uint64) ordinal * SKX_NORMS_PER_PAGE;
	Size		size = ((const PageHeaderData *) page)->pd_lower -
		SKX_PAGE_START;

	if (first >= seg->ndocs)
		return "the norm page lies past the last document";
	if (size != Min(seg->ndocs - first, SKX_NORMS_PER_PAGE))
		return "the norm page has an impossible length";
	return NULL;
}

/* Checks the last page of the keys plane, which has the key columns. */
static const char *
skx_disk_check_key_columns(const char *page, const SkxDiskSegment *seg)
{
	Size		size = ((const PageHeaderData *) page)->pd_lower -
		SKX_PAGE_START;
	const SkxDiskKeyColumn *columns =
		(const SkxDiskKeyColumn *) (page + SKX_PAGE_START);
	uint32		i;
	int			k;

	if (size != seg->nkeys * sizeof(SkxDiskKeyColumn))
		return "the page of key columns has an impossible length";
	for (i = 0; i < seg->nkeys; i++)
	{
		if (i > 0 && columns[i].column <= columns[i - 1].column)
			return "key columns are not in order";
		if (columns[i].root >= seg->planes[SKX_SEGMENT_KEYS].npages - 1 ||
			columns[i].level >= SKX_KEY_LEVELS_MAX ||
			!skx_disk_key_column_is_valid(&columns[i]) ||
			columns[i].nnull > seg->ndocs || columns[i].reserved != 0)
			return "a key column is out of range";
		for (k = 1; k < SKX_KEY_QUANTILES; k++)
			if (columns[i].quantiles[k] < columns[i].quantiles[k - 1])
				return "the quantiles of a key column do not ascend";
	}
	return NULL;
}

static const char *
skx_disk_check_key_group(const SkxDiskKeyGroup *group, uint32 number,
						 const SkxDiskSegment *seg, Size bodies, Size lower)
{
	uint64		first = (uint64) number * SKX_KEY_GROUP_DOCS;
	Size		size;

	if (first >= seg->ndocs ||
		group->ndocs != Min(seg->ndocs - first, SKX_KEY_GROUP_DOCS) ||
		group->nnull > group->ndocs)
		return "a group of keys has an impossible number of documents";
	if (group->low_width > 32 || group->high_width > 32 ||
		(group->high_width > 0 && group->low_width != 32) ||
		(group->nnull == group->ndocs) != (group->least > group->most))
		return "a group of keys has an impossible width";
	size = ((Size) group->ndocs * group->low_width + 7) / 8 +
		((Size) group->ndocs * group->high_width + 7) / 8;
	if (group->nnull > 0 && group->nnull < group->ndocs)
		size += SKX_KEY_GROUP_DOCS / 8;
	if (group->body < bodies || group->body + size > lower)
		return "a group of keys passes the end of its page";
	return NULL;
}

static const char *
skx_disk_check_key_child(const SkxDiskKeyChild *child, uint32 i,
						 const SkxDiskKeyPage *head, uint32 ordinal)
{
	if (child->page >= ordinal)
		return "a key page has a child behind it";
	if (i == 0 ? child->first_group != head->first_group :
		child->first_group <= child[-1].first_group)
		return "the children of a key page do not ascend";
	return NULL;
}

const char *
skx_disk_check_keys(const char *page, uint32 ordinal,
					const SkxDiskSegment *seg)
{
	Size		lower = ((const PageHeaderData *) page)->pd_lower;
	const SkxDiskKeyPage *head = (const SkxDiskKeyPage *)
		(page + SKX_PAGE_START);
	const SkxDiskKeyGroup *groups = (const SkxDiskKeyGroup *) (head + 1);
	const SkxDiskKeyChild *children = (const SkxDiskKeyChild *) (head + 1);
	const char *wrong = NULL;
	Size		end;
	uint32		i;

	if (ordinal + 1 == seg->planes[SKX_SEGMENT_KEYS].npages)
		return skx_disk_check_key_columns(page, seg);
	end = SKX_PAGE_START + sizeof(SkxDiskKeyPage);
	if (lower < end)
		return "the key page is too short";
	end += head->n * (head->level == 0 ? sizeof(SkxDiskKeyGroup) :
					  sizeof(SkxDiskKeyChild));
	if (head->n == 0 || head->level >= SKX_KEY_LEVELS_MAX || end > lower)
		return "the key page has an impossible head";
	for (i = 0; i < head->n && wrong == NULL; i++)
		wrong = head->level == 0 ?
			skx_disk_check_key_group(&groups[i], head->first_group + i, seg,
									 end, lower) :
			skx_disk_check_key_child(&children[i], i, head, ordinal);
	return wrong;
}
