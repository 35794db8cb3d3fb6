/*
 * segment_open.c
 *	  Opens a segment: reads its header and lays out its planes.
 *
 * The header of a segment is immutable, so a session reads it once and keeps
 * it (sessioncache.h).
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "format/disk/disk_page.h"
#include "index/segment/segment_maint.h"
#include "utils/memutils.h"

/*
 * Header and layout of a segment, which a session keeps, since a layout may
 * have many runs.
 */
typedef struct SkxSegmentLayout
{
	SkxSegmentSession nreaders;
	uint64		salt;
	SkxDiskSegment header;
	SkxBlkPlane planes[SKX_SEGMENT_NPLANES];
	SkxBlkRun  *runs;			/* in the same allocation */
} SkxSegmentLayout;

static void
skx_segment_free_layout(SkxSessionEntry *entry)
{
	SkxSegmentLayout *kept = (SkxSegmentLayout *) entry;

	if (kept->nreaders.tid_directory != NULL)
		pfree(kept->nreaders.tid_directory);
	if (kept->nreaders.known_terms != NULL)
		pfree(kept->nreaders.known_terms);
	pfree(kept);
}

static SkxSessionKind skx_segment_kind = {
	.max_entries = 64,
	.max_bytes = 3 * 1024 * 1024,
	.free_entry = skx_segment_free_layout
};

static SkxSegmentLayout *
skx_segment_find_layout(Relation rel, uint64 incarnation,
						const SkxDiskSegmentRef *ref)
{
	SkxSessionKey key = skx_sessioncache_key(rel, incarnation, ref->segment);
	SkxSegmentLayout *kept = skx_sessioncache_find(&skx_segment_kind, &key);

	return kept != NULL && kept->salt == ref->salt ? kept : NULL;
}

static bool
skx_segment_verify(Relation rel, const SkxBlkKey *key, BlockNumber block,
				   const char *page, bool report)
{
	SkxPageIdentity id;
	const char *what;

	id.incarnation = key->incarnation;
	id.segment = key->segment;
	id.ordinal = key->ordinal;
	id.plane = key->plane;
	what = skx_disk_page_check(page, &id);
	if (what != NULL && report)
		skx_damage_report(rel, block, what);
	return what == NULL;
}

SkxBlkFile *
skx_segment_file(Relation rel, uint64 incarnation)
{
	return skx_blkio_open(rel, incarnation, skx_segment_verify);
}

/* Describes the pages of a segment's header as a plane with a single run. */
static void
skx_segment_header_plane(const SkxDiskSegmentRef *ref, SkxBlkPlane *plane,
						 SkxBlkRun *run)
{
	run->first = 0;
	run->npages = ref->header_pages;
	run->block = ref->header;
	memset(plane, 0, sizeof(*plane));
	plane->salt = ref->salt;
	plane->segment = ref->segment;
	plane->plane = SKX_PLANE_HEADER;
	plane->unit = 1;
	plane->npages = ref->header_pages;
	plane->nruns = 1;
	plane->runs = run;
}

/* The planes are not freed, since pages may be in flight. */
void
skx_segment_prefetch_headers(SkxBlkFile *file, Relation rel,
							 const SkxView *view, int first, int n)
{
	SkxBlkPlane *planes;
	SkxBlkRun  *runs;
	int			i;

	if (skx_blkio_prefetch_depth(file) == 0 || n < 2)
		return;
	planes = palloc(sizeof(SkxBlkPlane) * n);
	runs = palloc(sizeof(SkxBlkRun) * n);
	for (i = 0; i < n; i++)
	{
		uint32		page = 0;

		if (skx_segment_find_layout(rel, view->meta.incarnation,
									&view->segments[first + i]) != NULL)
			continue;
		skx_segment_header_plane(&view->segments[first + i], &planes[i],
								 &runs[i]);
		skx_segment_prefetch(file, &planes[i], &page, 1);
	}
}

/*
 * Prefetches the pages of a header from `page` on, SKX_PREFETCH_UNITS_MAX at
 * most. Returns the page after the last of them.
 */
static uint32
skx_segment_prefetch_header(SkxBlkFile *file, const SkxBlkPlane *plane,
							uint32 page)
{
	uint32		pages[SKX_PREFETCH_UNITS_MAX];
	int			n = 0;

	for (; page < plane->npages && n < SKX_PREFETCH_UNITS_MAX; page++)
		pages[n++] = page;
	if (skx_blkio_prefetch_depth(file) > 0)
		skx_segment_prefetch(file, plane, pages, n);
	return page;
}

/*
 * Returns the bytes of all pages of a header as one palloc'd string.  The
 * plane is not freed, since pages may be in flight.
 */
static char *
skx_segment_read_header(SkxBlkFile *file, const SkxDiskSegmentRef *ref)
{
	SkxBlkRun  *run = palloc(sizeof(SkxBlkRun));
	SkxBlkPlane *plane = palloc(sizeof(SkxBlkPlane));
	SkxBlkRef	pin = {0};
	char	   *bytes = palloc(ref->header_pages * SKX_PAGE_CAPACITY);
	uint32		asked = 0;
	uint32		i;

	skx_segment_header_plane(ref, plane, run);
	for (i = 0; i < ref->header_pages; i++)
	{
		const char *page;

		if (i >= asked && ref->header_pages > 1)
			asked = skx_segment_prefetch_header(file, plane, i);
		page = skx_blkio_pin(file, plane, i, &pin);

		memcpy(bytes + i * SKX_PAGE_CAPACITY, page + SKX_PAGE_START,
			   SKX_PAGE_CAPACITY);
	}
	skx_blkio_unpin(file, &pin);
	return bytes;
}

/*
 * Lays out plane `which` from the header's runs.  Returns false if these do
 * not cover its pages without holes.
 */
static bool
skx_segment_lay_out_plane(SkxSegment *seg, int which)
{
	const SkxDiskPlane *disk = &seg->header.planes[which];
	SkxBlkPlane *plane = &seg->planes[which];
	uint64		covered = 0;
	int			i;

	plane->salt = seg->header.salt;
	plane->segment = seg->header.segment;
	plane->plane = skx_disk_plane_ids[which];
	plane->unit = SkxPlaneHasBlocks(which) ?
		seg->header.block_size / BLCKSZ : 1;
	plane->npages = disk->npages;
	plane->nruns = disk->nruns;
	plane->runs = seg->runs + disk->first_run;
	if ((uint32) disk->first_run + disk->nruns > seg->header.nruns)
		return false;
	for (i = 0; i < plane->nruns; i++)
	{
		if (plane->runs[i].first != covered ||
			(uint64) plane->runs[i].block + plane->runs[i].npages >
			MaxBlockNumber)
			return false;
		covered += plane->runs[i].npages;
	}
	return covered >= plane->npages;
}

/* Sets seg->runs to the runs of a header, palloc'd. */
static void
skx_segment_runs(SkxSegment *seg, const SkxDiskRun *disk)
{
	int			i;

	seg->runs = palloc_extended(sizeof(SkxBlkRun) *
								((Size) seg->header.nruns + 1),
								MCXT_ALLOC_HUGE);
	for (i = 0; i < seg->header.nruns; i++)
	{
		seg->runs[i].first = disk[i].first;
		seg->runs[i].npages = disk[i].npages;
		seg->runs[i].block = disk[i].block;
	}
}

/* Raises an error if the header is not that of the segment *ref. */
static void
skx_segment_check_header(const SkxSegment *seg, const SkxDiskSegmentRef *ref,
						 uint32 block_size)
{
	const SkxDiskSegment *header = &seg->header;

	skx_manifest_check_format(seg->rel, ref->header, &header->format);
	if (header->salt != ref->salt ||
		header->segment != ref->segment ||
		header->ndocs != ref->ndocs ||
		header->block_size != block_size ||
		sizeof(SkxDiskSegment) + header->nruns * sizeof(SkxDiskRun) >
		ref->header_pages * SKX_PAGE_CAPACITY)
		skx_damage_report(seg->rel, ref->header,
						  "segment header does not fit the segment directory");
}

/*
 * Reads the header of a segment and lays out its planes.  The session keeps
 * both.
 */
static SkxSegmentLayout *
skx_segment_keep_layout(SkxBlkFile *file, SkxSegment *seg, uint32 block_size,
						const SkxDiskSegmentRef *ref)
{
	SkxSessionKey key = skx_sessioncache_key(seg->rel, seg->incarnation,
											 ref->segment);
	char	   *bytes = skx_segment_read_header(file, ref);
	SkxSegmentLayout *kept;
	Size		size;
	int			i;

	memcpy(&seg->header, bytes, sizeof(SkxDiskSegment));
	skx_segment_check_header(seg, ref, block_size);
	skx_segment_runs(seg, (const SkxDiskRun *)
					 (bytes + sizeof(SkxDiskSegment)));
	pfree(bytes);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
		if (!skx_segment_lay_out_plane(seg, i))
			skx_damage_report(seg->rel, ref->header,
							  "segment planes do not cover their pages");
	size = MAXALIGN(sizeof(SkxSegmentLayout)) +
		sizeof(SkxBlkRun) * (seg->header.nruns + 1);
	kept = MemoryContextAllocHuge(skx_sessioncache_context(), size);
	memset(kept, 0, sizeof(SkxSegmentLayout));
	kept->salt = ref->salt;
	kept->nreaders.warm_reads = PG_UINT64_MAX;
	kept->header = seg->header;
	kept->runs =
		(SkxBlkRun *) ((char *) kept + MAXALIGN(sizeof(SkxSegmentLayout)));
	memcpy(kept->runs, seg->runs, sizeof(SkxBlkRun) * seg->header.nruns);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
	{
		kept->planes[i] = seg->planes[i];
		kept->planes[i].runs = kept->runs +
			seg->header.planes[i].first_run;
	}
	pfree(seg->runs);
	skx_sessioncache_put(&skx_segment_kind, &key, &kept->nreaders.entry, size);
	return kept;
}

/*
 * Gives an open segment a kept layout.  The kept one cannot be freed until
 * the current memory context is reset or deleted.
 */
static void
skx_segment_use_layout(SkxSegment *seg, SkxSegmentLayout *kept)
{
	skx_sessioncache_hold(&kept->nreaders.entry);
	seg->session = &kept->nreaders;
	seg->tid_reads = kept->nreaders.warm_reads;
	seg->header = kept->header;
	seg->runs = kept->runs;
	memcpy(seg->planes, kept->planes, sizeof(seg->planes));
}

/* Returns a segment of which neither header nor planes are known. */
static SkxSegment *
skx_segment_alloc(SkxBlkFile *file, Relation rel, uint64 incarnation)
{
	SkxSegment *seg = palloc0(sizeof(SkxSegment));

	seg->rel = rel;
	seg->file = file;
	seg->incarnation = incarnation;
	seg->deletes = InvalidBuffer;
	seg->prefetch_units = Min(skx_blkio_prefetch_depth(file),
							  SKX_PREFETCH_UNITS_MAX);
	seg->reads_at_open = skx_segment_nloads();
	return seg;
}

SkxSegment *
skx_segment_open_ref(SkxBlkFile *file, Relation rel, uint64 incarnation,
					 uint32 block_size, const SkxDiskSegmentRef *ref)
{
	SkxSegment *seg = skx_segment_alloc(file, rel, incarnation);
	SkxSegmentLayout *kept = skx_segment_find_layout(rel, incarnation, ref);

	if (kept == NULL)
		kept = skx_segment_keep_layout(file, seg, block_size, ref);
	skx_segment_use_layout(seg, kept);
	return seg;
}

SkxSegment *
skx_segment_open_made(SkxBlkFile *file, Relation rel, uint64 incarnation,
					  const SkxDiskSegment *header, const SkxDiskRun *runs)
{
	SkxSegment *seg = skx_segment_alloc(file, rel, incarnation);
	int			i;

	seg->session = palloc0(sizeof(SkxSegmentSession));
	seg->session->warm_reads = PG_UINT64_MAX;
	seg->header = *header;
	skx_segment_runs(seg, runs);
	for (i = 0; i < SKX_SEGMENT_NPLANES; i++)
		if (!skx_segment_lay_out_plane(seg, i))
			elog(ERROR, "planes of a new segment do not cover their pages");
	return seg;
}

SkxSegment *
skx_segment_prefixes(SkxSegment *seg)
{
	SkxSegment *p = seg->prefixes;

	if (p != NULL || seg->header.nprefixes == 0 ||
		(seg->header.format.may_ignore & SKX_FEATURE_PREFIXES) == 0)
		return p;
	p = MemoryContextAllocZero(GetMemoryChunkContext(seg), sizeof(SkxSegment));
	p->rel = seg->rel;
	p->file = seg->file;
	p->incarnation = seg->incarnation;
	p->deletes = InvalidBuffer;
	p->prefetch_units = seg->prefetch_units;
	p->reads_at_open = seg->reads_at_open;
	p->session = seg->session;
	p->header = seg->header;
	p->header.dict_root = seg->header.prefix_root;
	p->header.nterms = seg->header.nprefixes;
	p->header.npostings = seg->header.nprefix_postings;
	p->header.npositions = 0;
	p->header.planes[SKX_SEGMENT_DICT] =
		seg->header.planes[SKX_SEGMENT_PREFIXES];
	p->header.planes[SKX_SEGMENT_POSTINGS] =
		seg->header.planes[SKX_SEGMENT_PREFIX_POSTINGS];
	memset(&p->header.planes[SKX_SEGMENT_POSITIONS], 0, sizeof(SkxDiskPlane));
	p->runs = seg->runs;
	memcpy(p->planes, seg->planes, sizeof(p->planes));
	p->planes[SKX_SEGMENT_DICT] = seg->planes[SKX_SEGMENT_PREFIXES];
	p->planes[SKX_SEGMENT_POSTINGS] =
		seg->planes[SKX_SEGMENT_PREFIX_POSTINGS];
	p->planes[SKX_SEGMENT_POSITIONS].npages = 0;
	seg->prefixes = p;
	return p;
}

SkxSegment *
skx_segment_open(SkxBlkFile *file, Relation rel, const SkxView *view,
				 int which)
{
	return skx_segment_open_ref(file, rel, view->meta.incarnation,
								view->meta.block_size,
								&view->segments[which]);
}

static int
skx_segment_extent_order(const void *a, const void *b)
{
	BlockNumber x = ((const SkxDiskExtent *) a)->block;
	BlockNumber y = ((const SkxDiskExtent *) b)->block;

	return (x > y) - (x < y);
}

SkxDiskExtent *
skx_segment_extents(const SkxSegment *seg, const SkxDiskSegmentRef *ref,
					int *n)
{
	int			nruns = seg->header.nruns;
	SkxDiskExtent *extents = palloc0((nruns + 1) * sizeof(SkxDiskExtent));
	int			last = 0;
	int			i;

	for (i = 0; i < nruns; i++)
	{
		extents[i].block = seg->runs[i].block;
		extents[i].npages = seg->runs[i].npages;
	}
	extents[nruns].block = ref->header;
	extents[nruns].npages = ref->header_pages;
	qsort(extents, nruns + 1, sizeof(SkxDiskExtent), skx_segment_extent_order);
	for (i = 1; i <= nruns; i++)
	{
		BlockNumber end = extents[last].block + extents[last].npages;

		if (extents[i].block < end)
			skx_damage_report(seg->rel, extents[i].block,
							  "a page belongs to a segment twice");
		if (extents[i].block == end)
			extents[last].npages += extents[i].npages;
		else
			extents[++last] = extents[i];
	}
	*n = last + 1;
	return extents;
}

void
skx_segment_unpin_all(SkxSegment *seg)
{
	skx_blkio_unpin(seg->file, &seg->dict_ref);
	skx_blkio_unpin(seg->file, &seg->tid_ref);
	skx_blkio_unpin(seg->file, &seg->norm_ref);
	if (BufferIsValid(seg->deletes))
		ReleaseBuffer(seg->deletes);
	seg->deletes = InvalidBuffer;
	if (seg->prefixes != NULL)
		skx_segment_unpin_all(seg->prefixes);
}

void
skx_segment_close(SkxSegment *seg)
{
	skx_segment_unpin_all(seg);

	/* pages may be in flight, which need the planes */
	if (seg->prefetch_units > 0)
		return;
	if (seg->prefixes != NULL)
		pfree(seg->prefixes);
	pfree(seg);
}

void
skx_segment_record_warmth(SkxSegment *seg)
{
	bool		warm = skx_segment_nloads() == seg->reads_at_open &&
		!seg->norms_refused;

	seg->session->warm_reads = warm ? seg->reads_at_open : PG_UINT64_MAX;
}

bool
skx_segment_is_warm(const SkxSegment *seg)
{
	return seg->session->warm_reads == skx_segment_nloads();
}

BlockNumber
skx_segment_block(const SkxSegment *seg, SkxSegmentPlane plane,
				  uint32 ordinal)
{
	return skx_blkio_block(seg->rel, &seg->planes[plane], ordinal);
}

void
skx_segment_damaged(const SkxSegment *seg, SkxSegmentPlane plane,
					uint32 ordinal, const char *what)
{
	skx_damage_report(seg->rel, skx_segment_block(seg, plane, ordinal), what);
}

const char *
skx_segment_pin(SkxSegment *seg, SkxSegmentPlane plane, uint32 ordinal,
				SkxBlkRef *ref)
{
	if (ordinal >= seg->planes[plane].npages)
		skx_damage_report(seg->rel, InvalidBlockNumber,
						  "address past the end of a segment's plane");
	return skx_blkio_pin(seg->file, &seg->planes[plane], ordinal, ref);
}
