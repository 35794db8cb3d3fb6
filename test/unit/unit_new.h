/*
 * unit_new.h
 *	  A new index, with segments of a build and pages that are left free.
 *
 * Included once, after unit_model.h.
 */
#ifndef SKX_TEST_UNIT_NEW_H
#define SKX_TEST_UNIT_NEW_H

#define UNIT_SIEVE		400		/* pages of each segment of a sieve, at most */

/* A new index, as skx_manifest_create() is told of it. */
typedef struct UnitNew
{
	SkxManifestNew m;
	uint32		block_pages;
	uint32		most;			/* most pages of a segment */
	SkxDiskSegmentRef refs[UNIT_BUILT];
	SkxDiskExtent extents[UNIT_SIEVE];
	SkxDiskPoolExtent pool[UNIT_BUILT + 1];
} UnitNew;

/* Free pages, some of which are in the pool. */
static void
unit_new_free(UnitNew *new, BlockNumber from, BlockNumber end)
{
	SkxManifestNew *m = &new->m;

	if (from == end)
		return;
	if (unit_chance(30))
	{
		new->pool[m->npool].block = from;
		new->pool[m->npool++].npages = end - from;
		return;
	}
	new->extents[m->nextents].block = from;
	new->extents[m->nextents++].npages = end - from;
}

/* A segment, whose pages are `step` pages apart. */
static void
unit_new_segment(UnitNew *new, BlockNumber block, uint32 npages, uint32 step)
{
	uint32		id = ++unit_last_segment;
	UnitSegment *s = &unit_segments[id];
	SkxDiskSegmentRef *ref = &new->refs[new->m.nsegments++];
	uint32		i;

	s->first = unit_nruns;
	s->npages = npages;
	if (step == 1)
		unit_run_add(s, block, npages);
	for (i = 0; i < npages && step > 1; i++)
		unit_run_add(s, block + i * step, 1);
	s->written = true;
	s->ndocs = 1 + unit_below(1000);
	s->total = s->ndocs;
	s->nbytes = (uint64) npages * BLCKSZ;
	s->least = unit_below(1000);
	s->most = s->least + unit_below(200);
	unit_segments[0].total += s->total;
	ref->segment = id;
	ref->salt = unit_random();
	ref->header = block;
	ref->header_pages = 1;
	ref->ndocs = s->ndocs;
	ref->npages = npages;
}

/*
 * Two segments whose pages alternate, perhaps with free ones between, so that
 * there are very many extents when they are gone.
 */
static void
unit_new_sieve(UnitNew *new)
{
	uint32		npages = 50 + (uint32) unit_below(UNIT_SIEVE - 50);
	uint32		step = 2 + (uint32) unit_below(2);
	BlockNumber at;
	uint32		i;

	new->m.nextents = step == 3 ? npages : 0;
	new->m.nsegments = 2;
	at = skx_manifest_new_pages(&new->m);
	new->m.nsegments = 0;
	unit_new_segment(new, at, npages, step);
	unit_new_segment(new, at + 1, npages, step);
	/* so that they go one after the other */
	unit_segments[1].ndeleted = unit_segments[1].ndocs * 3 / 4;
	for (i = 0; i < new->m.nextents; i++)
	{
		new->extents[i].block = at + 3 * i + 2;
		new->extents[i].npages = 1;
	}
	new->m.nblocks = at + npages * step;
}

static void
unit_new_segments(UnitNew *new)
{
	uint32		block_pages = new->block_pages;
	BlockNumber at = TYPEALIGN(block_pages, skx_manifest_new_pages(&new->m));
	int			n = (int) unit_below(UNIT_BUILT + 1);

	while (n-- > 0)
	{
		BlockNumber from = at;

		at = TYPEALIGN(block_pages, at) + block_pages * unit_below(4);
		unit_new_free(new, from, at);
		from = 1 + unit_below(1 + unit_below(new->most));
		unit_new_segment(new, at, from, 1);
		at += from;
	}
	new->m.nblocks = TYPEALIGN(block_pages, at);
	unit_new_free(new, at, new->m.nblocks);
}

/*
 * Makes the index, with segments of up to `most` pages.  `sieve`: it has very
 * many extents soon.
 */
static void
unit_new_index(uint32 block_pages, uint32 most, bool sieve)
{
	static UnitNew new;
	SkxManifestNew *m = &new.m;

	memset(&new, 0, sizeof(new));
	m->incarnation = unit_random() | 1;
	m->block_size = block_pages * BLCKSZ;
	new.block_pages = block_pages;
	new.most = most;
	unit_last_segment = 0;
	if (sieve)
		unit_new_sieve(&new);
	else
		unit_new_segments(&new);
	m->next_segment = unit_last_segment + 1;
	qsort(new.refs, m->nsegments, sizeof(SkxDiskSegmentRef),
		  skx_manifest_compare_segments);
	m->segments = new.refs;
	m->extents = new.extents;
	m->pool = new.pool;
	skx_manifest_new_format(&unit_index, &m->format);
	skx_manifest_create(&unit_index, m);
}

#endif							/* SKX_TEST_UNIT_NEW_H */
