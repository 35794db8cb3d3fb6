/*
 * merge_run.c
 *	  One segment from several: documents first, then term after term.
 *
 * Documents are interleaved by TID, which gives the maps from old numbers to
 * new ones, and the norms.  Then the postings of deleted documents are
 * counted.  Then come the terms (merge_terms.c).  They are merged by this
 * process, or by several that have maps and norms in shared memory.
 *
 * A merge takes some 16 kB of memory an input.  It keeps deleted bits until
 * their documents and postings are counted.  Norms take a byte a document; if
 * that is more than a quarter of the memory, they are read again from the
 * inputs instead.  The maps have what is left, at least a page an input.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "lib/binaryheap.h"
#include "support/bitset/bitset.h"
#include "support/compat/compat.h"
#include "support/damage/damage.h"
#include "support/fault/fault.h"
#include "support/throttle/throttle.h"
#include "utils/memutils.h"
#include "write/merge/merge_internal.h"

/* Begin: the deleted bits */

static void
skx_merge_read_dead(SkxMergeInput *in)
{
	uint32		npages = in->seg->planes[SKX_SEGMENT_DELETES].npages;
	uint8		bits[SKX_DELETES_BYTES];
	uint32		page;

	if ((uint64) npages * SKX_DELETES_PER_PAGE < in->seg->header.ndocs)
		skx_damage_report(in->seg->rel, InvalidBlockNumber,
						  "a segment has too few pages of delete bits");
	in->page_ndeleted = palloc(npages * sizeof(uint32));
	for (page = 0; page < npages; page++)
	{
		uint32		n = skx_segment_read_deletes(in->seg, page, bits);

		in->page_ndeleted[page] = n;
		if (n == 0)
			continue;
		if (in->deleted == NULL)
			in->deleted = MemoryContextAllocExtended(CurrentMemoryContext,
													 (Size) npages *
													 SKX_DELETES_BYTES,
													 MCXT_ALLOC_HUGE |
													 MCXT_ALLOC_ZERO);
		memcpy(in->deleted + (Size) page * SKX_DELETES_BYTES, bits,
			   SKX_DELETES_BYTES);
		in->ndeleted += n;
	}
	skx_segment_unpin_all(in->seg);
}

/*
 * Opens the keys of the inputs.  The result has those that all inputs have.
 * Inputs may differ, because an operator family may have got ranges after an
 * index was built, or a numeric may have lost its scale.
 */
static const SkxSegmentBuildOptions *
skx_merge_open_keys(SkxMerge *m, const SkxSegmentBuildOptions *options)
{
	SkxSegmentBuildOptions *known = palloc(sizeof(SkxSegmentBuildOptions));
	int			c;
	int			i;

	*known = *options;
	known->keys.n = 0;
	for (i = 0; i < m->ninputs; i++)
	{
		m->inputs[i].readers = palloc(sizeof(SkxKeyReader *) *
									  (options->keys.n + 1));
		m->inputs[i].keys = palloc(sizeof(SkxKey) * SKX_TID_GROUP_DOCS *
								   (options->keys.n + 1));
	}
	for (c = 0; c < options->keys.n; c++)
	{
		int			n = known->keys.n;
		bool		all = true;

		for (i = 0; i < m->ninputs && all; i++)
		{
			m->inputs[i].readers[n] =
				skx_segment_keys_open_as(m->inputs[i].seg,
										 &options->keys.columns[c]);
			all = m->inputs[i].readers[n] != NULL;
		}
		if (all)
			known->keys.columns[known->keys.n++] = options->keys.columns[c];
	}
	return known;
}

SkxMerge *
skx_merge_begin(Relation index, const SkxSegmentBuildOptions *options,
				SkxSegment **inputs, int ninputs)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx segment merge",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxMerge   *m = palloc0(sizeof(SkxMerge));
	int			i;

	m->context = context;
	m->index = index;
	m->inputs = MemoryContextAllocExtended(context, ninputs *
										   sizeof(SkxMergeInput),
										   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	m->ninputs = ninputs;
	m->segments = inputs;
	for (i = 0; i < ninputs; i++)
	{
		SkxMergeInput *in = &m->inputs[i];

		in->seg = inputs[i];
		in->number = i;
		skx_merge_read_dead(in);
		m->ndocs += in->seg->header.ndocs;
		m->nlive += in->seg->header.ndocs - in->ndeleted;
		m->total += in->seg->header.npostings;
	}
	if (m->ndocs > SKX_DOC_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("segments of index \"%s\" have too many documents to be merged",
						RelationGetRelationName(index))));
	skx_writer_output_init(&m->out, skx_merge_open_keys(m, options));
	MemoryContextSwitchTo(old);
	return m;
}

static void
skx_merge_progress(const SkxMerge *m, int phase, uint64 done, uint64 total)
{
	if (m->out.options.progress != NULL)
		m->out.options.progress(phase, done, total);
}

/*
 * Documents
 */

/* Makes the next TID of an input current; returns false after the last one. */
static bool
skx_merge_next_tid(SkxMergeInput *in, int nkeys)
{
	uint32		ndocs = in->seg->header.ndocs;
	int			i;

	if (++in->tid < in->ntids)
		return true;
	in->ntids = Min(ndocs - in->next_doc, SKX_TID_GROUP_DOCS);
	in->tid = 0;
	if (in->ntids == 0)
		return false;
	skx_segment_read_tids(in->seg, in->next_doc, in->ntids, in->tids);
	for (i = 0; i < nkeys; i++)
		skx_segment_keys_read(in->readers[i], in->next_doc, in->ntids,
							  in->keys + i * SKX_TID_GROUP_DOCS);
	in->next_doc += in->ntids;
	return true;
}

/*
 * Makes the next live document of an input current, and gives the deleted ones
 * before it no new number.  Returns false after the last one.
 */
static bool
skx_merge_next_doc(SkxMerge *m, SkxMergeInput *in)
{
	while (skx_merge_next_tid(in, m->out.options.keys.n))
	{
		uint32		doc = in->next_doc - in->ntids + in->tid;

		if (in->deleted == NULL || !skx_bitset_bytes_test(in->deleted, doc))
			return true;
		skx_merge_maps_add(m->maps, in->number, SKX_NO_DOC);
	}
	if (skx_blkio_has_many_pins(in->seg->file))
		skx_segment_unpin_all(in->seg);
	return false;
}

/*
 * Orders inputs so that the heap's largest has the document that comes first.
 */
static int
skx_merge_tid_order(Datum a, Datum b, void *arg)
{
	SkxMergeInput *x = (SkxMergeInput *) DatumGetPointer(a);
	SkxMergeInput *y = (SkxMergeInput *) DatumGetPointer(b);

	return ItemPointerCompare(&y->tids[y->tid], &x->tids[x->tid]);
}

/* Adds the current document of an input. */
static void
skx_merge_document(SkxMerge *m, SkxMergeInput *in)
{
	ItemPointer tid = &in->tids[in->tid];
	uint32		doc = in->next_doc - in->ntids + in->tid;
	SkxKey		keys[INDEX_MAX_KEYS];
	int			i;

	if (ItemPointerIsValid(&m->last_tid) &&
		ItemPointerCompare(&m->last_tid, tid) >= 0)
		skx_damage_report_detail(m->index, InvalidBlockNumber,
								 "a row of the table, (%u,%u), is in the index twice",
								 ItemPointerGetBlockNumber(tid),
								 ItemPointerGetOffsetNumber(tid));
	m->last_tid = *tid;
	skx_merge_maps_add(m->maps, in->number, m->out.docs.ndocs);
	for (i = 0; i < m->out.options.keys.n; i++)
		keys[i] = in->keys[i * SKX_TID_GROUP_DOCS + in->tid];
	skx_writer_output_document(&m->out, tid,
							   skx_segment_norm(in->seg, doc), keys);
}

bool
skx_merge_keeps_norms(const SkxMerge *m)
{
	return m->nlive <= m->out.options.memory / 4;
}

void
skx_merge_documents(SkxMerge *m)
{
	binaryheap *heap = binaryheap_allocate(m->ninputs,
										   skx_merge_tid_order, NULL);
	int			i;

	ItemPointerSetInvalid(&m->last_tid);
	for (i = 0; i < m->ninputs; i++)
	{
		if (skx_merge_next_doc(m, &m->inputs[i]))
			binaryheap_add_unordered(heap, PointerGetDatum(&m->inputs[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		SkxMergeInput *in = (SkxMergeInput *)
			DatumGetPointer(binaryheap_remove_first(heap));
		SkxMergeInput *other = binaryheap_empty(heap) ? NULL :
			(SkxMergeInput *) DatumGetPointer(binaryheap_first(heap));
		bool		more;

		do
		{
			skx_merge_document(m, in);
			more = skx_merge_next_doc(m, in);
			if (in->tid == 0)
			{
				skx_merge_progress(m, SKX_BUILD_INVERT, m->out.docs.ndocs,
								   m->nlive);
				skx_throttle_point();
			}
		} while (more && (other == NULL ||
						  ItemPointerCompare(&in->tids[in->tid],
											 &other->tids[other->tid]) < 0));
		if (more)
			binaryheap_add(heap, PointerGetDatum(in));
		else
			skx_segment_unpin_all(in->seg);
	}
	binaryheap_free(heap);
	for (i = 0; i < m->ninputs * m->out.options.keys.n; i++)
		skx_segment_keys_close(m->inputs[i / m->out.options.keys.n].readers[i % m->out.options.keys.n]);
	skx_merge_maps_check_complete(m->maps);
	if (m->out.docs.ndocs != m->nlive)
		skx_damage_report(m->index, InvalidBlockNumber,
						  "delete bits are set for documents that do not exist");
}

/*
 * Returns true if the documents of an input stay next to each other in the
 * result.  They do if all are live, and no other input has a TID between their
 * first and last one.
 */
static bool
skx_merge_input_is_linear(SkxMerge *m, int which,
						  const ItemPointerData *ends)
{
	int			i;

	if (m->inputs[which].deleted != NULL)
		return false;
	for (i = 0; i < m->ninputs; i++)
	{
		if (i != which &&
			ItemPointerCompare(unconstify(ItemPointerData *, &ends[2 * i]),
							   unconstify(ItemPointerData *,
										  &ends[2 * which + 1])) < 0 &&
			ItemPointerCompare(unconstify(ItemPointerData *, &ends[2 * i + 1]),
							   unconstify(ItemPointerData *,
										  &ends[2 * which])) > 0)
			return false;
	}
	return true;
}

Size
skx_merge_map_memory(SkxMerge *m)
{
	Size		memory = m->out.options.memory;
	Size		taken = m->out.fixed_bytes + m->ndocs / 8 +
		m->ninputs * (sizeof(SkxMergeInput) + BLCKSZ + 2 * SKX_LEXEME_MAX);

	if (skx_merge_keeps_norms(m))
		taken += m->nlive;

	return memory - Min(taken, memory);
}

void
skx_merge_plan_maps(SkxMerge *m)
{
	ItemPointerData *ends = palloc(2 * m->ninputs * sizeof(ItemPointerData));
	int			i;

	m->input_docs = palloc(m->ninputs * sizeof(uint32));
	m->is_linear = palloc(m->ninputs * sizeof(bool));
	for (i = 0; i < m->ninputs; i++)
	{
		SkxSegment *seg = m->inputs[i].seg;

		m->input_docs[i] = seg->header.ndocs;
		skx_segment_read_tids(seg, 0, 1, &ends[2 * i]);
		skx_segment_read_tids(seg, seg->header.ndocs - 1, 1, &ends[2 * i + 1]);
	}
	for (i = 0; i < m->ninputs; i++)
		m->is_linear[i] = skx_merge_input_is_linear(m, i, ends);
	pfree(ends);
}

void
skx_merge_count(SkxMerge *m, FileSet *files)
{
	int			i;

	m->dead_terms = skx_merge_dead_create(m->ninputs, files);
	for (i = 0; i < m->ninputs; i++)
	{
		SkxMergeInput *in = &m->inputs[i];

		m->out.total_length += in->seg->header.total_length;
		if (in->deleted == NULL)
			continue;
		m->out.total_length -= skx_merge_dead_count(m->dead_terms, i,
													in->seg, in->deleted);
		pfree(in->deleted);
	}
}

/* The whole merge */

static void
skx_merge_write_all_terms(SkxMerge *m)
{
	pg_atomic_uint64 done;
	SkxMergeTermSource basis = {0};
	SkxMergeTerms *terms;

	pg_atomic_init_u64(&done, 0);
	basis.inputs = m->segments;
	basis.ninputs = m->ninputs;
	basis.maps = m->maps;
	basis.norms = m->out.docs.all_norms;
	basis.dead_terms = m->dead_terms;
	basis.merged_postings = &done;
	basis.total_postings = m->total;
	basis.progress = m->out.options.progress;
	terms = skx_merge_terms_open(&basis);
	skx_merge_terms_write(terms, skx_writer_output_terms(&m->out), NULL);
	skx_merge_terms_close(terms);
}

bool
skx_merge_run(SkxMerge *m, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(m->context);

	memset(ref, 0, sizeof(*ref));
	if (m->nlive > 0)
	{
		skx_merge_plan_maps(m);
		m->maps = skx_merge_maps_create(m->input_docs, m->ninputs,
										m->is_linear, skx_merge_map_memory(m));
		skx_writer_documents_announce(&m->out.docs, m->nlive,
									  skx_merge_keeps_norms(m));
		skx_merge_documents(m);
		SKX_FAULT(SKX_FAULT_MERGE_MAPPED);
		skx_merge_count(m, NULL);
		skx_merge_write_all_terms(m);
		skx_writer_output_finish(&m->out, ref);
	}
	MemoryContextSwitchTo(old);
	return m->nlive > 0;
}

/*
 * Calls visit for the deleted documents of a page of deleted bits that are in
 * the result.
 */
static void
skx_merge_visit_new_deletes_of_page(SkxMerge *m, int which, uint32 page,
									const uint8 *bits,
									void (*visit) (uint32 doc, void *arg),
									void *arg)
{
	uint32		first = page * SKX_DELETES_PER_PAGE;
	uint32		n = Min(m->inputs[which].seg->header.ndocs - first,
						SKX_DELETES_PER_PAGE);
	uint32		k;

	for (k = skx_bitset_bytes_next(bits, n, 0); k < n;
		 k = skx_bitset_bytes_next(bits, n, k + 1))
	{
		uint32		doc = first + k;
		uint32		now;

		skx_merge_maps_get(m->maps, which, &doc, 1, &now);
		if (now != SKX_NO_DOC)
			visit(now, arg);
	}
}

/*
 * Deleted bits are never cleared, so a page with as many bits as before is
 * unchanged.
 */
uint32
skx_merge_visit_new_deletes(SkxMerge *m,
							void (*visit) (uint32 doc, void *arg), void *arg)
{
	uint8		bits[SKX_DELETES_BYTES];
	uint32		differ = 0;
	int			i;

	if (m->nlive == 0)
		return 0;
	for (i = 0; i < m->ninputs; i++)
	{
		SkxMergeInput *in = &m->inputs[i];
		uint32		npages = in->seg->planes[SKX_SEGMENT_DELETES].npages;
		uint32		page;

		for (page = 0; page < npages; page++)
		{
			uint32		n = skx_segment_read_deletes(in->seg, page, bits);

			Assert(n >= in->page_ndeleted[page]);
			if (n == in->page_ndeleted[page])
				continue;
			skx_merge_visit_new_deletes_of_page(m, i, page, bits, visit, arg);
			in->page_ndeleted[page] = n;
			differ++;
		}
		skx_segment_unpin_all(in->seg);
	}
	return differ;
}

void
skx_merge_end(SkxMerge *m)
{
	if (m->maps != NULL)
		skx_merge_maps_free(m->maps);
	MemoryContextDelete(m->context);
}
