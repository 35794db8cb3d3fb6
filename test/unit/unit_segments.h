/*
 * unit_segments.h
 *	  Stands in for what is in segments and pending documents: a segment is a
 *	  number of documents and pages, which take their places as real ones do.
 *
 * Included once, after unit_process.h.  The test defines the functions of
 * "told to the test".
 */
#ifndef SKX_TEST_UNIT_SEGMENTS_H
#define SKX_TEST_UNIT_SEGMENTS_H

#include "index/manifest/manifest_internal.h"
#include "index/pending/pending_internal.h"
#include "index/segment/segment_keys.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "port/pg_bitutils.h"
#include "write/maint/maint_internal.h"
#include "write/merge/merge.h"

/* ---- told to the test ---- */

/* A merge reads the segment. */
static void unit_segment_is_read(uint32 id);

/* Returns the generation of the present root. */
static uint64 unit_segment_generation(void);

/* Returns how many pages a segment of documents of so many bytes gets. */
static uint32 unit_segment_pages(uint64 nbytes);

/* ---- segments ---- */

#define UNIT_SEGMENTS	4096	/* ids of a seed, at most */
#define UNIT_RUNS		65536	/* runs of pages of all segments of a seed */

/* Consecutive pages of a segment. */
typedef struct UnitRun
{
	BlockNumber block;
	uint32		npages;
} UnitRun;

typedef struct UnitSegment
{
	bool		written;		/* a page of it was written */
	bool		flushed;		/* it was made of pending documents */
	uint64		emptied;		/* generation of the root when a merge found
								 * no live document in it; 0: none did */
	int			first;			/* of its runs */
	int			nruns;
	uint32		npages;
	uint32		ndocs;
	uint32		ndeleted;
	uint64		nbytes;			/* of its documents */
	uint64		total;			/* documents that it has or has left out */
	uint64		least;			/* keys of a column */
	uint64		most;
} UnitSegment;

static UnitSegment unit_segments[UNIT_SEGMENTS];	/* by id; 0: no segment */
static uint32 unit_last_segment;	/* largest id in use so far */
static UnitRun unit_runs[UNIT_RUNS];
static int	unit_nruns;
static int	unit_key_columns;	/* 0 or 1 */
static uint32 unit_writing;		/* segment whose page is written */

static int
unit_run_compare(const void *a, const void *b)
{
	BlockNumber x = ((const UnitRun *) a)->block;
	BlockNumber y = ((const UnitRun *) b)->block;

	return (x > y) - (x < y);
}

/* A segment in the making, beside others perhaps. */
typedef struct UnitMaking
{
	UnitSegment *segment;
	const SkxSegmentStore *store;
	UnitRun    *runs;
	int			nruns;
} UnitMaking;

static void
unit_run_add(UnitSegment *s, BlockNumber block, uint32 npages)
{
	if (unit_nruns == UNIT_RUNS)
		unit_wrong("segments have too many runs: %u", s->first);
	unit_runs[unit_nruns].block = block;
	unit_runs[unit_nruns++].npages = npages;
	s->nruns++;
}

/* Sorts the runs of a segment, and joins neighbours. */
static void
unit_runs_join(UnitMaking *m)
{
	UnitSegment *s = m->segment;
	UnitRun    *last = NULL;
	int			i;

	qsort(m->runs, m->nruns, sizeof(UnitRun), unit_run_compare);
	s->first = unit_nruns;
	s->nruns = 0;
	for (i = 0; i < m->nruns; i++)
	{
		if (last != NULL && last->block + last->npages == m->runs[i].block)
			last->npages += m->runs[i].npages;
		else
			unit_run_add(s, m->runs[i].block, m->runs[i].npages);
		last = &unit_runs[unit_nruns - 1];
	}
}

/*
 * Writes pages of a segment from `block` on, and gives back those of the
 * blocks that are left.
 */
static void
unit_segment_put(UnitMaking *m, BlockNumber block, uint32 npages,
				 uint32 allocated)
{
	static char *pages[1];
	uint32		i;

	m->runs = repalloc(m->runs, (m->nruns + 1) * sizeof(UnitRun));
	m->runs[m->nruns].block = block;
	m->runs[m->nruns++].npages = npages;
	for (i = 0; i < npages; i++)
	{
		m->segment->written = true;
		unit_writing = (uint32) (m->segment - unit_segments);
		m->store->write(m->store->arg, block + i, pages, 1);
	}
	if (npages < allocated)
		m->store->give_back(m->store->arg, block + npages,
							allocated - npages);
}

/*
 * A process that helps with a merge.  It may go on for a while when the
 * process that it helps has ended: then it has `op` by itself.
 */
static SkxOperation *unit_helper_op;
static UnitProcess *unit_helper_of; /* NULL: there is none, or it is alone */
static bool unit_helper_left;	/* a process that it helps may fail */

/* Ends the helper. */
static inline void
unit_helper_end(void)
{
	UnitProcess *before = unit_play(&unit_processes[UNIT_HELPER]);

	unit_end(true);
	unit_helper_op = NULL;
	unit_helper_of = NULL;
	unit_play(before);
}

/* A helper that is alone writes a block, or ends. */
static inline void
unit_helper_goes_on(void)
{
	UnitProcess *before = unit_play(&unit_processes[UNIT_HELPER]);
	SkxOperation *op = unit_helper_op;

	if (op->nreserved_extents > 0 && unit_below(3) > 0 &&
		op->reserved[0].npages > 0)
	{
		unit_writing = op->segment;
		unit_file_write(skx_manifest_allocate(op, 1));
	}
	else
	{
		skx_manifest_leave_operation(op);
		unit_helper_end();
	}
	unit_play(before);
}

/*
 * The helper writes some blocks of a segment.  Returns how many pages it has
 * written.  If the process that it helps fails, it stays.
 */
static uint32
unit_segment_help(UnitMaking *m, uint32 npages)
{
	SkxMaintOutput *out = m->store->arg;
	SkxDiskExtent extents[4];
	SkxOperation *op = out->op;
	UnitProcess *process = unit_current;
	MemoryContext context = CurrentMemoryContext;
	uint32		done = 0;
	int			n;
	int			i;

	if (unit_helper_op != NULL || unit_helper_of != NULL)
		return 0;
	n = skx_manifest_share_extents(op, npages, extents, 4);
	unit_helper_of = process;
	unit_play(&unit_processes[UNIT_HELPER]);
	unit_begin();
	CurrentMemoryContext = unit_current->context;
	unit_helper_op = skx_manifest_join(op->rel, op, extents, n);
	if (unit_helper_op == NULL)
		unit_wrong("an operation under way cannot be joined: %u", op->segment);
	if (unit_helper_left && unit_below(8) == 0)
	{
		unit_helper_of = NULL;
		unit_play(process);
		ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED), errmsg("cancel")));
	}
	out->op = unit_helper_op;
	while (done < npages && unit_below(3) > 0)
	{
		uint32		part = Min(npages - done, op->block_pages);

		unit_segment_put(m, skx_manifest_allocate(out->op, 1), part,
						 op->block_pages);
		done += part;
	}
	unit_play(process);
	CurrentMemoryContext = context;
	out->op = op;
	for (i = 0; i < unit_helper_op->nreserved_extents; i++)
		if (unit_helper_op->reserved[i].npages > 0)
			skx_manifest_give_back(op, unit_helper_op->reserved[i].block,
								   unit_helper_op->reserved[i].npages);
	unit_helper_end();
	return done;
}

/* Makes a segment, in allocations that grow, and fills in *ref. */
static void
unit_segment_make(const SkxSegmentBuildOptions *build, const UnitSegment *like,
				  bool helped, SkxDiskSegmentRef *ref)
{
	UnitSegment *s = &unit_segments[build->segment];
	UnitMaking	m = {s, build->store, palloc(sizeof(UnitRun)), 0};
	uint32		block_pages = build->block_size / BLCKSZ;
	uint32		done = 0;

	if (build->segment >= UNIT_SEGMENTS || s->written)
		unit_wrong("a segment's id is used twice: %u", build->segment);
	*s = *like;
	unit_last_segment = Max(unit_last_segment, build->segment);
	if (helped)
		done = unit_segment_help(&m, s->npages / 2);
	while (done < s->npages)
	{
		uint32		most = Min(8, 1 + done / block_pages);
		uint32		n = 1 + (uint32) unit_below(most);
		BlockNumber block = build->store->allocate(build->store->arg, n);
		uint32		part = Min(s->npages - done, n * block_pages);

		unit_segment_put(&m, block, part, n * block_pages);
		done += part;
	}
	unit_runs_join(&m);
	memset(ref, 0, sizeof(*ref));
	ref->segment = build->segment;
	ref->salt = build->salt;
	ref->header = unit_runs[s->first].block;
	ref->header_pages = 1;
	ref->ndocs = s->ndocs;
	ref->npages = s->npages;
}

/* ---- readers of segments ---- */

void
skx_column_key_columns(Relation rel, SkxKeyColumns *columns)
{
	columns->n = unit_key_columns;
	columns->columns[0].column = 1;
}

SkxSnapshotReader *
skx_snapshot_open(Relation rel, const SkxView *view)
{
	SkxSnapshotReader  *source = palloc0(sizeof(SkxSnapshotReader));

	source->rel = rel;
	source->view = view;
	source->segments = palloc0((view->nsegments + 1) * sizeof(SkxSegment *));
	return source;
}

void
skx_snapshot_read_once(SkxSnapshotReader *source)
{
}

void
skx_snapshot_bypass_page_cache(SkxSnapshotReader *source)
{
}

int
skx_snapshot_next_segments(SkxSnapshotReader *source, int most)
{
	source->nsegments = 0;
	while (source->next < source->view->nsegments && source->nsegments < most)
		source->segments[source->nsegments++] = (SkxSegment *)
			&unit_segments[source->view->segments[source->next++].segment];
	return source->nsegments;
}

void
skx_snapshot_close(SkxSnapshotReader *source)
{
	pfree(source->segments);
	pfree(source);
}

uint64
skx_segment_ndeleted(SkxSegment *seg)
{
	return ((const UnitSegment *) seg)->ndeleted;
}

SkxDiskExtent *
skx_segment_extents(const SkxSegment *seg, const SkxDiskSegmentRef *ref,
					int *n)
{
	const UnitSegment *s = (const UnitSegment *) seg;
	SkxDiskExtent *extents = palloc0(s->nruns * sizeof(SkxDiskExtent));

	for (*n = 0; *n < s->nruns; ++*n)
	{
		extents[*n].block = unit_runs[s->first + *n].block;
		extents[*n].npages = unit_runs[s->first + *n].npages;
	}
	return extents;
}

SkxKeyReader *
skx_segment_keys_open(SkxSegment *seg, int column)
{
	return (SkxKeyReader *) seg;
}

int
skx_segment_keys_quantiles(const SkxKeyReader *reader, uint64 *quantiles)
{
	const UnitSegment *s = (const UnitSegment *) reader;

	quantiles[0] = s->least;
	quantiles[1] = s->most;
	return 2;
}

void
skx_segment_keys_close(SkxKeyReader *reader)
{
}

SkxBlkFile *
skx_segment_file(Relation rel, uint64 incarnation)
{
	return NULL;
}

void
skx_blkio_close(SkxBlkFile *file)
{
}

SkxSegment *
skx_segment_open_ref(SkxBlkFile *file, Relation rel, uint64 incarnation,
					 uint32 block_size, const SkxDiskSegmentRef *ref)
{
	return (SkxSegment *) &unit_segments[ref->segment];
}

void
skx_segment_close(SkxSegment *seg)
{
}

void
skx_segment_add_deletes(SkxSegment *seg, uint32 ordinal, const uint8 *bits)
{
	UnitSegment *s = (UnitSegment *) seg;
	uint32		n = 0;
	int			i;

	for (i = 0; i < SKX_DELETES_BYTES; i++)
		n += pg_number_of_ones[bits[i]];
	s->ndeleted += n;
	/* those that died in a pending list are counted there */
	if (s->flushed)
		s->total -= n;
}

/* ---- writers of segments ---- */

SkxBlkWriter *
skx_blkio_writer_begin(Relation rel, uint64 incarnation, uint64 bytes)
{
	return (SkxBlkWriter *) rel;
}

void
skx_blkio_writer_put(SkxBlkWriter *w, BlockNumber block, const char *page)
{
	if (unit_writes_new(w))
		unit_write_new(block, page);
	else
		unit_file_write(block);
}

void
skx_blkio_writer_flush(SkxBlkWriter *w)
{
}

void
skx_blkio_writer_end(SkxBlkWriter *w)
{
}

struct SkxSegmentBuilder
{
	const SkxSegmentBuildOptions *options;
	uint32		ndocs;
	uint64		nbytes;
};

SkxSegmentBuilder *
skx_writer_build_begin(Relation index, const SkxSegmentBuildOptions *options)
{
	SkxSegmentBuilder *b = palloc0(sizeof(SkxSegmentBuilder));

	b->options = options;
	return b;
}

void
skx_writer_build_add(SkxSegmentBuilder *b, ItemPointer tid, TSVector value)
{
	b->ndocs++;
	b->nbytes += VARSIZE(value);
}

bool
skx_writer_build_finish(SkxSegmentBuilder *b, SkxDiskSegmentRef *ref)
{
	UnitSegment s = {0};

	s.ndocs = b->ndocs;
	s.flushed = true;
	s.total = b->ndocs;
	s.nbytes = b->nbytes;
	s.npages = unit_segment_pages(b->nbytes);
	s.least = unit_below(1000);
	s.most = s.least + unit_below(200);
	unit_segment_make(b->options, &s, false, ref);
	return true;
}

/* ---- merges ---- */

struct SkxMerge
{
	const SkxSegmentBuildOptions *options;
	UnitSegment **inputs;
	int			n;
	uint32		ndocs;
	uint32		ndeleted;		/* as last read */
	uint32		late;			/* documents told late */
};

static uint32
unit_merge_deleted(const SkxMerge *m)
{
	uint32		n = 0;
	int			i;

	for (i = 0; i < m->n; i++)
		n += m->inputs[i]->ndeleted;
	return n;
}

SkxMerge *
skx_merge_begin(Relation index, const SkxSegmentBuildOptions *options,
				SkxSegment **inputs, int ninputs)
{
	SkxMerge   *m = palloc0(sizeof(SkxMerge));
	int			i;

	m->options = options;
	m->inputs = (UnitSegment **) inputs;
	m->n = ninputs;
	for (i = 0; i < ninputs; i++)
		m->ndocs += m->inputs[i]->ndocs;
	m->ndeleted = unit_merge_deleted(m);
	m->ndocs -= m->ndeleted;
	return m;
}

static void
unit_merge_reads(const SkxMerge *m)
{
	int			i;

	for (i = 0; i < m->n; i++)
		unit_segment_is_read((uint32) (m->inputs[i] - unit_segments));
}

bool
skx_merge_run(SkxMerge *m, SkxDiskSegmentRef *ref)
{
	UnitSegment s = {0};
	int			i;

	unit_merge_reads(m);
	s.least = PG_UINT64_MAX;
	for (i = 0; i < m->n; i++)
	{
		const UnitSegment *input = m->inputs[i];

		s.total += input->total;
		s.nbytes += input->nbytes * (input->ndocs - input->ndeleted) /
			input->ndocs;
		s.least = Min(s.least, input->least);
		s.most = Max(s.most, input->most);
	}
	s.ndocs = m->ndocs;
	for (i = 0; i < m->n; i++)
		m->inputs[i]->emptied = s.ndocs == 0 ? unit_segment_generation() : 0;
	if (s.ndocs == 0)
		return false;
	s.npages = unit_segment_pages(s.nbytes);
	unit_segment_make(m->options, &s, unit_below(4) == 0, ref);
	unit_merge_reads(m);
	return true;
}

uint32
skx_merge_visit_new_deletes(SkxMerge *m, void (*visit) (uint32 doc, void *arg),
							void *arg)
{
	uint32		now = unit_merge_deleted(m);

	for (; m->ndeleted < now; m->ndeleted++)
		visit(m->late++, arg);
	return 0;
}

void
skx_merge_end(SkxMerge *m)
{
}

/* ---- pending documents ---- */

/* Their values are the same bytes, as long as a document is. */
static union
{
	TSVectorData head;
	char		bytes[64 * BLCKSZ];
}			unit_value;

TSVector
skx_pending_value(SkxPendingValue *memory, SkxPendingWalk *walk,
				  SkxDiskPendingDoc *doc)
{
	SkxDiskPendingChain chain;

	if (!(doc->flags & SKX_PENDING_CHAIN))
		return (TSVector) (doc + 1);
	memcpy(&chain, doc + 1, sizeof(chain));
	skx_pending_chain_read(walk->rel, &walk->meta, &chain, walk->block,
						   unit_value.bytes);
	return &unit_value.head;
}

#endif							/* SKX_TEST_UNIT_SEGMENTS_H */
