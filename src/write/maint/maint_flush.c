/*
 * maint_flush.c
 *	  Flush: pending documents become a segment.
 *
 * A flush reads the documents of the lists, oldest first, until it has a
 * portion, and sorts that by TID.  The segment holds this portion.  Values
 * stay in memory, or in a temporary file if they do not fit.
 *
 * Inserts, scans and VACUUM go on meanwhile.  Documents that VACUUM marks as
 * deleted after the flush has read them are found at the end, under the lock
 * that keeps VACUUM out.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "index/pending/pending.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "support/fault/fault.h"
#include "support/throttle/throttle.h"
#include "utils/memutils.h"
#include "write/maint/maint_internal.h"

/*
 * Most bytes that one flush takes, far fewer than a segment of the largest
 * size has.  Some of their pages may have to be read again under the lock that
 * publishing needs.
 */
#define SKX_FLUSH_MAX		(64 * 1024 * 1024)

/* Most bytes that a flush reserves at first if it can wait for more. */
#define SKX_FLUSH_RESERVE_MAX	(64 * 1024 * 1024)

/*
 * Bytes that are worth a flush when the disk is full.  Pages of lists are
 * freed 16 at a time, and a segment has some pages even if it has few
 * documents.
 */
#define SKX_FLUSH_FULL_DISK_BYTES		(128 * 1024)

/* How long an insert tries to get the lock for publishing, in ms. */
#define SKX_FLUSH_LOCK_WAIT_MS	10

/* A document between list and segment. */
typedef struct SkxFlushDoc
{
	ItemPointerData tid;
	bool		in_file;
	uint32		size;			/* of the value; 0: NULL */
	TSVector	value;			/* in memory; or in the file: */
	int			fileno;			/* place in the file */
	off_t		offset;
} SkxFlushDoc;

typedef struct SkxFlush
{
	Relation	index;
	SkxFlushDoc *docs;			/* sorted by TID after reading */
	uint32		ndocs;
	uint32		docs_size;
	uint32		max_docs;
	MemoryContext values;
	Size		nbytes;			/* of values in memory */
	Size		max_nbytes;
	uint64		nread;			/* bytes of all values */
	BufFile    *file;
	bool		disk_is_full;	/* the disk is full: the segment must take
								 * fewer pages than the lists free */
	SkxMaintDeletes deletes;
} SkxFlush;

/*
 * Reading
 */

static void
skx_maint_flush_begin(SkxFlush *f, Relation index,
					  const SkxMaintOptions *options)
{
	memset(f, 0, sizeof(*f));
	f->index = index;
	f->docs_size = 1024;
	f->docs = palloc(f->docs_size * sizeof(SkxFlushDoc));
	f->max_docs = (uint32) Min(options->memory / 8 / sizeof(SkxFlushDoc),
							   SKX_DOC_MAX);
	f->max_docs = Max(f->max_docs, f->docs_size);
	f->max_nbytes = options->memory / 8 * 3;
	f->values = GenerationContextCreate(CurrentMemoryContext,
										"skipidx flushed values",
										ALLOCSET_DEFAULT_SIZES);
}

static void
skx_maint_flush_keep_document(SkxFlush *f, const SkxPendingDoc *from)
{
	SkxFlushDoc *doc;

	if (f->ndocs == f->docs_size)
	{
		f->docs_size = Min(f->docs_size * 2, f->max_docs);
		f->docs = repalloc_huge(f->docs, f->docs_size * sizeof(SkxFlushDoc));
	}
	Assert(f->ndocs < f->docs_size && f->docs_size <= f->max_docs);
	doc = &f->docs[f->ndocs++];
	memset(doc, 0, sizeof(*doc));
	doc->tid = from->tid;
	doc->size = VARSIZE(from->value);
	f->nread += doc->size;
	doc->in_file = f->nbytes + doc->size > f->max_nbytes;
	if (!doc->in_file)
	{
		doc->value = MemoryContextAlloc(f->values, doc->size);
		memcpy(doc->value, from->value, doc->size);
		f->nbytes += doc->size;
		Assert(f->nbytes <= f->max_nbytes);
		return;
	}
	if (f->file == NULL)
		f->file = BufFileCreateTemp(false);
	BufFileTell(f->file, &doc->fileno, &doc->offset);
	BufFileWrite(f->file, from->value, doc->size);
}

static int
skx_maint_flush_compare(const void *a, const void *b)
{
	return ItemPointerCompare(unconstify(ItemPointerData *,
										 &((const SkxFlushDoc *) a)->tid),
							  unconstify(ItemPointerData *,
										 &((const SkxFlushDoc *) b)->tid));
}

/*
 * Sorts documents by TID.  A row cannot have two live entries, so these are
 * reported as damage.
 */
static void
skx_maint_flush_sort(SkxFlush *f)
{
	uint32		i;

	qsort(f->docs, f->ndocs, sizeof(SkxFlushDoc), skx_maint_flush_compare);
	for (i = 1; i < f->ndocs; i++)
	{
		const ItemPointerData *tid = &f->docs[i].tid;

		if (skx_maint_flush_compare(&f->docs[i - 1], &f->docs[i]) == 0)
			skx_damage_report_detail(f->index, InvalidBlockNumber,
									 "row (%u,%u) is in the pending list twice",
									 ItemPointerGetBlockNumber(tid),
									 ItemPointerGetOffsetNumber(tid));
	}
}

static void
skx_maint_flush_read(SkxFlush *f, SkxPendingFlush *pending)
{
	SkxPendingDoc doc;

	while (f->ndocs < f->max_docs && skx_pending_flush_next(pending, &doc))
		skx_maint_flush_keep_document(f, &doc);
	Assert(f->ndocs <= f->max_docs);
	skx_maint_flush_sort(f);
}

/*
 * Building
 */

static TSVector
skx_maint_flush_value(SkxFlush *f, const SkxFlushDoc *doc)
{
	TSVector	value;

	if (!doc->in_file)
		return doc->value;
	value = palloc(doc->size);
	if (BufFileSeek(f->file, doc->fileno, doc->offset, SEEK_SET) != 0 ||
		BufFileRead(f->file, value, doc->size) != doc->size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index flush: %m")));
	return value;
}

static bool
skx_maint_flush_build(SkxFlush *f, SkxOperation *op,
					  const SkxMaintOptions *options, SkxDiskSegmentRef *ref)
{
	SkxMaintOutput out;
	SkxSegmentBuilder *builder;
	bool		built;
	uint32		i;

	if (f->ndocs == 0)
		return false;
	skx_maint_output_begin(&out, op, options, 0);
	out.build.memory = options->memory / 2;
	/* an insert waits for a flush, and merges follow */
	out.build.prefixes_of = NULL;
	builder = skx_writer_build_begin(f->index, &out.build);
	for (i = 0; i < f->ndocs; i++)
	{
		SkxFlushDoc *doc = &f->docs[i];
		TSVector	value = skx_maint_flush_value(f, doc);

		Assert(i == 0 || skx_maint_flush_compare(doc - 1, doc) < 0);
		if (i % SKX_TID_GROUP_DOCS == 0)
		{
			skx_worker_record_progress(SKX_PHASE_DOCUMENTS, i, f->ndocs);
			skx_throttle_point();
		}
		skx_writer_build_add(builder, &doc->tid, value);
		if (doc->in_file)
			pfree(value);
	}
	if (f->file != NULL)
		BufFileClose(f->file);
	f->file = NULL;
	MemoryContextDelete(f->values);
	f->values = NULL;
	skx_worker_record_progress(SKX_PHASE_TERMS, 0, 0);
	built = skx_writer_build_finish(builder, ref);
	skx_maint_output_end(&out);
	Assert(built && ref->ndocs == f->ndocs && ref->segment == op->segment);
	return built;
}

/*
 * Publishing
 */

static void
skx_maint_flush_add_deleted(ItemPointer tid, void *arg)
{
	SkxFlush   *f = arg;
	SkxFlushDoc key;
	SkxFlushDoc *doc;

	key.tid = *tid;
	doc = bsearch(&key, f->docs, f->ndocs, sizeof(SkxFlushDoc),
				  skx_maint_flush_compare);
	if (doc == NULL)
		skx_damage_report(f->index, InvalidBlockNumber,
						  "the pending list changed under a flush");
	skx_maint_deletes_add(&f->deletes, doc - f->docs);
}

/*
 * Returns true if the disk is full, and the flush would take as many pages as
 * it frees.
 */
static bool
skx_maint_flush_gains_nothing(const SkxFlush *f, const SkxPublish *change)
{
	uint64		npages = 0;
	int			i;

	if (!f->disk_is_full || change->add == NULL)
		return false;
	for (i = 0; i < change->nfreed; i++)
		npages += change->freed[i].npages;
	ereport(DEBUG1,
			(errmsg_internal("flush of index \"%s\" on a full disk: " UINT64_FORMAT " pages for " UINT64_FORMAT,
							 RelationGetRelationName(f->index),
							 change->add->npages, npages)));
	return change->add->npages >= npages;
}

/*
 * Publishes the segment; ref NULL: no document was live.  The caller holds the
 * lock on the metapage.  Returns false, with nothing changed, if the flush
 * would be in vain.
 */
static bool
skx_maint_flush_publish(SkxFlush *f, SkxOperation *op,
						SkxPendingFlush *pending,
						const SkxDiskSegmentRef *ref)
{
	SkxPublish	change = {0};
	SkxDiskStripeRef *stripes;
	SkxFreedExtent *freed;
	uint32		late;

	Assert(skx_manifest_holds_lock(f->index, ExclusiveLock));
	Assert((ref == NULL) == (f->ndocs == 0));
	late = skx_pending_flush_visit_new_dead(pending,
											skx_maint_flush_add_deleted, f);
	ereport(DEBUG1,
			(errmsg_internal("flush of index \"%s\": %u pages read again under the lock",
							 RelationGetRelationName(f->index), late)));
	skx_pending_flush_finish(pending, &stripes, &freed, &change.nfreed);
	change.add = ref;
	change.stripes = stripes;
	change.freed = freed;
	if (skx_maint_flush_gains_nothing(f, &change))
		return false;
	if (ref != NULL)
		skx_maint_deletes_set(&f->deletes, op, ref);
	SKX_FAULT(SKX_FAULT_PUBLISH_CARRIED);
	skx_manifest_publish(op, &change);
	return true;
}

/*
 * Takes the lock on the metapage; returns false if it is not free in time.  A
 * merge that publishes holds it for a moment, VACUUM perhaps for long.  So an
 * insert waits a little, lest its work be lost.
 */
static bool
skx_maint_flush_lock(const SkxOperation *op)
{
	int			i;

	for (i = 0; i < SKX_FLUSH_LOCK_WAIT_MS; i++)
	{
		if (skx_manifest_lock(op->rel, op->waits_for_lock))
			return true;
		CHECK_FOR_INTERRUPTS();
		pg_usleep(1000);
	}
	return false;
}

/*
 * Returns how many blocks to reserve for a flush of nbytes bytes.  It is more
 * than the flush should need if more cannot be reserved later.  This is so for
 * an insert, which cannot wait for the lock, and if options->needs_all_space.
 * Other optional flushes reserve as much as they should need.  A flush without
 * live documents reserves nothing, so that dead documents can go when the disk
 * is full.
 */
static uint32
skx_maint_flush_blocks(uint64 nbytes, uint32 block_size,
					   const SkxMaintOptions *options, SkxManifestWait wait)
{
	if (nbytes == 0)
		return 0;
	if (wait == SKX_WAIT_NEVER || options->needs_all_space)
		nbytes += nbytes / 2;
	else if (wait == SKX_WAIT_ALL)
		nbytes = Min(nbytes, SKX_FLUSH_RESERVE_MAX);
	return skx_maint_blocks(nbytes, block_size);
}

/*
 * Reads, builds and publishes; the caller has begun the operation.  Returns
 * false if nothing was published.
 */
static bool
skx_maint_flush_work(Relation index, const SkxMaintOptions *options,
					 uint64 budget, bool tight, SkxManifestWait wait,
					 SkxOperation *op, uint64 *ndocs)
{
	SkxPendingFlush *pending;
	SkxFlush	f;
	SkxDiskSegmentRef ref;
	bool		built;
	bool		done;

	skx_maint_flush_begin(&f, index, options);
	f.disk_is_full = tight;
	pending = skx_pending_flush_begin(index, skx_maint_view(index, wait),
									  budget);
	skx_maint_flush_read(&f, pending);
	if (!skx_pending_flush_has_read(pending))
		return false;
	skx_worker_record_input(0, f.ndocs, f.nread);
	SKX_FAULT(SKX_FAULT_FLUSH_READ);
	built = skx_maint_flush_build(&f, op, options, &ref);
	SKX_FAULT(SKX_FAULT_FLUSH_BUILT);
	skx_worker_record_progress(SKX_PHASE_PUBLISH, 0, 0);
	/* reads most late marks before the lock is taken */
	(void) skx_pending_flush_visit_new_dead(pending,
											skx_maint_flush_add_deleted, &f);
	SKX_FAULT(SKX_FAULT_PUBLISH_NOTED);
	if (!skx_maint_flush_lock(op))
		return false;
	SKX_FAULT(SKX_FAULT_PUBLISH_LOCKED);
	done = skx_maint_flush_publish(&f, op, pending, built ? &ref : NULL);
	skx_manifest_unlock(index);
	Assert(op->is_published == done);
	if (done)
		*ndocs += f.ndocs;
	return done;
}

/* Does skx_maint_flush_work(), and records it for skipidx_merges. */
static bool
skx_maint_flush_with_record(Relation index, const SkxMaintOptions *options,
							uint64 budget, bool tight, SkxManifestWait wait,
							SkxOperation *op, uint64 *ndocs)
{
	volatile bool done = false;

	skx_worker_record_begin(index, SKX_OPERATION_FLUSH, options->requester);
	PG_TRY();
	{
		done = skx_maint_flush_work(index, options, budget, tight, wait, op,
									ndocs);
	}
	PG_CATCH();
	{
		skx_worker_record_end(index, SKX_RECORD_FAILED);
		PG_RE_THROW();
	}
	PG_END_TRY();
	skx_worker_record_end(index, done ? SKX_RECORD_DONE : SKX_RECORD_FAILED);
	return done;
}

/*
 * Begins a flush in a file that cannot grow.  It takes a portion that
 * certainly fits into the free pages, and sets *budget to the bytes of that.
 *
 * If there are too few free pages, a flush that can wait for a free lock
 * begins as usual, which raises the error.  Other flushes report the lack of
 * space, and NULL is returned.
 */
static SkxOperation *
skx_maint_flush_on_full_disk(Relation index, uint32 block_size,
							 const SkxMaintOptions *options,
							 SkxManifestWait wait,
							 int error, uint64 *budget)
{
	uint32		least = skx_maint_flush_blocks(SKX_FLUSH_FULL_DISK_BYTES,
											   block_size, options,
											   SKX_WAIT_NEVER);
	uint32		most = skx_maint_flush_blocks(*budget, block_size, options,
											  SKX_WAIT_NEVER);
	SkxOperation *op = skx_manifest_begin_reusing(index, SKX_OPERATION_FLUSH,
												  least, Max(least, most),
												  wait);
	uint64		nbytes;

	if (op == NULL)
	{
		if (wait == SKX_WAIT_ALL)
			return skx_manifest_begin(index, SKX_OPERATION_FLUSH,
									  skx_maint_flush_blocks(*budget,
															 block_size,
															 options, wait),
									  false, wait, NULL);
		skx_blkio_no_space(index, error,
						   options->needs_all_space ? WARNING : ERROR);
		return NULL;
	}
	nbytes = (uint64) (op->reserved_blocks - least) * block_size / 3 * 2;
	*budget = Min(*budget, SKX_FLUSH_FULL_DISK_BYTES + nbytes);
	return op;
}

bool
skx_maint_flush(Relation index, const SkxMaintOptions *options, uint64 budget,
				SkxManifestWait wait, uint64 *ndocs)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx flush",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxView    *view = skx_maint_view(index, wait);
	uint32		block_size = view->meta.block_size;
	SkxPendingTotals totals;
	uint64		nbytes;
	SkxOperation *op = NULL;
	int			error = 0;
	bool		done = false;

	Assert(!skx_manifest_holds_lock(index, AccessShareLock));
	budget = Min(budget, SKX_FLUSH_MAX);
	skx_pending_totals(index, view, &totals, NULL);
	nbytes = Min(totals.nbytes, budget);
	/* not if more cannot be reserved for a document that comes meanwhile */
	if (totals.ndead == totals.ndocs && wait != SKX_WAIT_NEVER &&
		!options->needs_all_space)
		nbytes = 0;
	if (totals.nbytes > 0)
		op = skx_manifest_begin(index, SKX_OPERATION_FLUSH,
								skx_maint_flush_blocks(nbytes, block_size,
													   options, wait),
								false, wait, &error);
	if (error != 0)
	{
		budget = nbytes;
		op = skx_maint_flush_on_full_disk(index, block_size, options, wait,
										  error, &budget);
	}
	if (op != NULL)
	{
		done = skx_maint_flush_with_record(index, options, budget, error != 0,
										   wait, op, ndocs);
		skx_manifest_end(op);
		if (!done && error != 0)
			skx_blkio_no_space(index, error,
							   options->needs_all_space ? WARNING : ERROR);
	}
	Assert(!skx_manifest_holds_lock(index, AccessShareLock));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return done;
}

uint64
skx_maint_pending_bytes(Relation index)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	uint64		nbytes = skx_pending_bytes(index, view);

	pfree(view);
	return nbytes;
}

/*
 * Returns true if, in any stripe, a document up to last[stripe] is still
 * pending.
 */
static bool
skx_maint_flush_has_unflushed(Relation index, const uint64 *last)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	bool		left = false;
	int			i;

	for (i = 0; i < view->nstripes; i++)
		left = left || view->stripes[i].flushed_through < last[i];
	pfree(view);
	return left;
}

uint64
skx_maint_flush_all(Relation index, const SkxMaintOptions *options,
					SkxManifestWait wait)
{
	SkxView    *view = skx_maint_view(index, SKX_WAIT_ALL);
	uint64	   *last = palloc(view->nstripes * sizeof(uint64));
	uint64		budget = Max(options->memory, options->pending_limit);
	uint64		ndocs = 0;
	SkxPendingTotals totals;

	/* few enough to stay in memory, as documents and as postings */
	if (options->needs_all_space)
		budget = options->memory / 4;
	skx_pending_totals(index, view, &totals, last);
	pfree(view);
	while (skx_maint_flush_has_unflushed(index, last))
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_maint_flush(index, options, budget, wait, &ndocs))
			break;
	}
	pfree(last);
	return ndocs;
}
