/*
 * merge_run.c
 *	  One segment from several: documents first, then term after term.
 *
 * Documents are interleaved by TID; that gives the maps from old numbers to
 * new ones, and the norms.  Then the dictionaries are walked together, and the
 * postings of each term interleaved by new number.  Whichever input is ahead
 * is used up to where the next one begins: inputs that do not overlap cost a
 * comparison each, not one a posting.
 *
 * In memory are some 16 kB an input, delete bits until documents and dead
 * postings were counted, and norms, a byte a document, if they take no more
 * than a quarter; else they are read again from the inputs.  The maps have what
 * is left, at least a page an input.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "fault/fault.h"
#include "format/format.h"
#include "lib/binaryheap.h"
#include "merge/merge_internal.h"
#include "pace/pace.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

/* An input, and where the merge is in it. */
typedef struct SkxMergeInput
{
	SkxSegment *seg;
	int			number;
	uint8	   *dead;			/* delete bits as of begin; NULL: none */
	uint32	   *npage_dead;		/* how many on each page of them */
	uint32		ndead;

	/* documents */
	uint32		next;			/* the one after those in tids */
	ItemPointerData tids[SKX_TID_GROUP];
	int			ntids;
	int			tid;			/* current one */
	SkxKeyReader **readers;		/* of columns with keys, */
	SkxKey	   *keys;			/* SKX_TID_GROUP of each, those of tids */

	/* terms */
	SkxTermWalk *walk;
	SkxTerm		term;
	const char *lexeme;
	int			len;
	uint64		prefix;			/* its first bytes, to compare by */

	/* postings of the term */
	SkxCursor  *list;
	int			i;				/* current one of the sub-block */
	uint32		docs[SKX_SUBBLOCK]; /* new numbers of the sub-block's */
	uint8		norms[SKX_SUBBLOCK];	/* unless all are in memory */
	uint32		doc;			/* current one; SKX_NO_DOC at the end */
} SkxMergeInput;

struct SkxMerge
{
	MemoryContext context;
	Relation	index;
	SkxSegmentOutput out;
	SkxMergeInput *inputs;
	int			ninputs;
	uint64		ndocs;			/* of all inputs */
	uint64		nlive;
	SkxMergeMaps *maps;
	SkxDeadTerms *dead_terms;
	ItemPointerData last_tid;

	/* the term */
	SkxMergeInput **same;		/* inputs that have it */
	int			nsame;
	binaryheap *postings;		/* of them, by document */
	SkxPosting	posting;
	uint32		df;				/* announced and not yet written */
	uint64		npositions;
	uint64		done;			/* postings of all terms */
	uint64		total;
};

/*
 * Begin: the delete bits
 */

static void
skx_merge_read_dead(SkxMergeInput *in)
{
	uint32		npages = in->seg->planes[SKX_SEGMENT_DELETES].npages;
	uint8		bits[SKX_DELETES_BYTES];
	uint32		page;

	if ((uint64) npages * SKX_DELETES_PER_PAGE < in->seg->header.ndocs)
		skx_format_report(in->seg->rel, InvalidBlockNumber,
						  "a segment has too few pages of delete bits");
	in->npage_dead = palloc(npages * sizeof(uint32));
	for (page = 0; page < npages; page++)
	{
		uint32		n = skx_segment_read_deletes(in->seg, page, bits);

		in->npage_dead[page] = n;
		if (n == 0)
			continue;
		if (in->dead == NULL)
			in->dead = MemoryContextAllocExtended(CurrentMemoryContext,
												  (Size) npages *
												  SKX_DELETES_BYTES,
												  MCXT_ALLOC_HUGE |
												  MCXT_ALLOC_ZERO);
		memcpy(in->dead + (Size) page * SKX_DELETES_BYTES, bits,
			   SKX_DELETES_BYTES);
		in->ndead += n;
	}
	skx_segment_relax(in->seg);
}

/*
 * Opens the keys of the inputs.  The result has those that all of them have: an
 * operator family may have got ranges after an index was built.
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
		m->inputs[i].keys = palloc(sizeof(SkxKey) * SKX_TID_GROUP *
								   (options->keys.n + 1));
	}
	for (c = 0; c < options->keys.n; c++)
	{
		int			n = known->keys.n;
		bool		all = true;

		for (i = 0; i < m->ninputs && all; i++)
		{
			m->inputs[i].readers[n] =
				skx_segment_keys_open(m->inputs[i].seg,
									  options->keys.columns[c].column);
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
	m->same = palloc(ninputs * sizeof(SkxMergeInput *));
	for (i = 0; i < ninputs; i++)
	{
		SkxMergeInput *in = &m->inputs[i];

		in->seg = inputs[i];
		in->number = i;
		skx_merge_read_dead(in);
		m->ndocs += in->seg->header.ndocs;
		m->nlive += in->seg->header.ndocs - in->ndead;
		m->total += in->seg->header.npostings;
	}
	if (m->ndocs > SKX_DOC_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("segments of index \"%s\" have too many documents to be merged",
						RelationGetRelationName(index))));
	skx_segment_output_init(&m->out, skx_merge_open_keys(m, options));
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

/* Makes the next TID current; false after the last one. */
static bool
skx_merge_next_tid(SkxMergeInput *in, int nkeys)
{
	uint32		ndocs = in->seg->header.ndocs;
	int			i;

	if (++in->tid < in->ntids)
		return true;
	in->ntids = Min(ndocs - in->next, SKX_TID_GROUP);
	in->tid = 0;
	if (in->ntids == 0)
		return false;
	skx_segment_tids(in->seg, in->next, in->ntids, in->tids);
	for (i = 0; i < nkeys; i++)
		skx_segment_keys_read(in->readers[i], in->next, in->ntids,
							  in->keys + i * SKX_TID_GROUP);
	in->next += in->ntids;
	return true;
}

/* Makes the next live document current; the dead before it are left out. */
static bool
skx_merge_next_doc(SkxMerge *m, SkxMergeInput *in)
{
	while (skx_merge_next_tid(in, m->out.options.keys.n))
	{
		uint32		doc = in->next - in->ntids + in->tid;

		if (in->dead == NULL || (in->dead[doc / 8] >> (doc % 8) & 1) == 0)
			return true;
		skx_merge_maps_put(m->maps, in->number, SKX_NO_DOC);
	}
	if (skx_blkio_crowded(in->seg->file))
		skx_segment_relax(in->seg);
	return false;
}

/* The heap's largest is the document that comes first. */
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
	uint32		doc = in->next - in->ntids + in->tid;
	SkxKey		keys[INDEX_MAX_KEYS];
	int			i;

	if (ItemPointerIsValid(&m->last_tid) &&
		ItemPointerCompare(&m->last_tid, tid) >= 0)
		skx_format_report_detail(m->index, InvalidBlockNumber,
								 "a row of the table, (%u,%u), is in the index twice",
								 ItemPointerGetBlockNumber(tid),
								 ItemPointerGetOffsetNumber(tid));
	m->last_tid = *tid;
	skx_merge_maps_put(m->maps, in->number, m->out.docs.ndocs);
	for (i = 0; i < m->out.options.keys.n; i++)
		keys[i] = in->keys[i * SKX_TID_GROUP + in->tid];
	skx_segment_output_document(&m->out, tid,
								skx_segment_norm(in->seg, doc), keys);
}

static bool
skx_merge_keeps_norms(const SkxMerge *m)
{
	return m->nlive <= m->out.options.memory / 4;
}

static void
skx_merge_documents(SkxMerge *m)
{
	binaryheap *heap = binaryheap_allocate(m->ninputs,
										   skx_merge_tid_order, NULL);
	int			i;

	skx_segment_documents_reserve(&m->out.docs, m->nlive,
								  skx_merge_keeps_norms(m));
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
				skx_pace_point();
			}
		} while (more && (other == NULL ||
						  ItemPointerCompare(&in->tids[in->tid],
											 &other->tids[other->tid]) < 0));
		if (more)
			binaryheap_add(heap, PointerGetDatum(in));
		else
			skx_segment_relax(in->seg);
	}
	binaryheap_free(heap);
	for (i = 0; i < m->ninputs * m->out.options.keys.n; i++)
		skx_segment_keys_close(m->inputs[i / m->out.options.keys.n].readers[i % m->out.options.keys.n]);
	skx_merge_maps_filled(m->maps);
	if (m->out.docs.ndocs != m->nlive)
		skx_format_report(m->index, InvalidBlockNumber,
						  "delete bits are set for documents that do not exist");
}

/*
 * Do the documents of an input stay next to each other?  So they do when all
 * live and no other input has a TID between its first and its last.
 */
static bool
skx_merge_linear(SkxMerge *m, int which,
				 const ItemPointerData *ends)
{
	int			i;

	if (m->inputs[which].dead != NULL)
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

/* Memory that is left for the maps. */
static Size
skx_merge_map_memory(SkxMerge *m)
{
	Size		memory = m->out.options.memory;
	Size		taken = m->out.fixed + m->ndocs / 8 +
		m->ninputs * (sizeof(SkxMergeInput) + BLCKSZ + 2 * SKX_LEXEME_MAX);

	if (skx_merge_keeps_norms(m))
		taken += m->nlive;

	return memory - Min(taken, memory);
}

static void
skx_merge_create_maps(SkxMerge *m)
{
	uint32	   *ndocs = palloc(m->ninputs * sizeof(uint32));
	bool	   *linear = palloc(m->ninputs * sizeof(bool));
	ItemPointerData *ends = palloc(2 * m->ninputs * sizeof(ItemPointerData));
	int			i;

	for (i = 0; i < m->ninputs; i++)
	{
		SkxSegment *seg = m->inputs[i].seg;

		ndocs[i] = seg->header.ndocs;
		skx_segment_tids(seg, 0, 1, &ends[2 * i]);
		skx_segment_tids(seg, ndocs[i] - 1, 1, &ends[2 * i + 1]);
	}
	for (i = 0; i < m->ninputs; i++)
		linear[i] = skx_merge_linear(m, i, ends);
	m->maps = skx_merge_maps_create(ndocs, m->ninputs, linear,
									skx_merge_map_memory(m));
	pfree(ndocs);
	pfree(linear);
	pfree(ends);
}

/*
 * Adds up the lengths of the live documents, and notes what terms lose.
 */
static void
skx_merge_count(SkxMerge *m)
{
	int			i;

	m->dead_terms = skx_merge_dead_create(m->ninputs);
	for (i = 0; i < m->ninputs; i++)
	{
		SkxMergeInput *in = &m->inputs[i];

		m->out.total_length += in->seg->header.total_length;
		if (in->dead == NULL)
			continue;
		m->out.total_length -= skx_merge_dead_count(m->dead_terms, i,
													in->seg, in->dead);
		pfree(in->dead);
	}
}

/*
 * Postings
 */

/* The decoded sub-block is new: renumbers it. */
static void
skx_merge_renumber(SkxMerge *m, SkxMergeInput *in)
{
	const uint8 *norms = m->out.docs.norms;
	SkxCursor  *list = in->list;
	int			i;

	skx_pace_point();
	in->i = 0;
	(void) skx_cursor_tfs(list);
	skx_merge_maps_get(m->maps, in->number, list->docs, list->n, in->docs);

	/* the writer will want these, all over the array */
	for (i = 0; norms != NULL && i < list->n; i++)
	{
		if (in->docs[i] != SKX_NO_DOC)
			__builtin_prefetch(&norms[in->docs[i]]);
	}
	if (norms == NULL)
	{
		for (i = 0; i < list->n; i++)
			in->norms[i] = skx_segment_norm(in->seg, list->docs[i]);
		if (skx_blkio_crowded(in->seg->file))
			skx_segment_relax(in->seg);
	}
}

/* Makes the next live posting current. */
static void
skx_merge_step(SkxMerge *m, SkxMergeInput *in)
{
	SkxCursor  *list = in->list;

	do
	{
		in->doc = SKX_NO_DOC;
		if (++in->i == list->n)
		{
			if (!skx_cursor_next(list))
				return;
			skx_merge_renumber(m, in);
		}
		in->doc = in->docs[in->i];
	} while (in->doc == SKX_NO_DOC);
}

/* Stands on the first live posting of the term. */
static void
skx_merge_first(SkxMerge *m, SkxMergeInput *in)
{
	skx_cursor_begin(in->list, &in->term);
	(void) skx_cursor_next(in->list);
	skx_merge_renumber(m, in);
	in->doc = in->docs[0];
	if (in->doc == SKX_NO_DOC)
		skx_merge_step(m, in);
}

static void
skx_merge_miscounted(SkxMergeInput *in)
{
	skx_segment_damaged(in->seg, SKX_SEGMENT_DICT, in->seg->header.dict_root,
						"a posting list is not what its dictionary entry says");
}

/* Writes the current posting of an input. */
static void
skx_merge_posting(SkxMerge *m, SkxMergeInput *in)
{
	SkxPosting *posting = &m->posting;
	SkxPositionPlace place;
	uint32		labels = 0;
	int			i;

	posting->doc = in->doc;
	posting->norm = in->norms[in->i];
	skx_cursor_place(in->list, in->i, &place);
	posting->tf = skx_cursor_positions_at(in->list, &place,
										  posting->positions);
	if (in->term.flags & SKX_TERM_LABELS)
	{
		for (i = 0; i < posting->tf; i++)
			labels |= WEP_GETWEIGHT(posting->positions[i]);
	}
	posting->labelled = labels != 0;

	/* the writer relies on these */
	if (m->df == 0 || posting->tf > m->npositions)
		skx_merge_miscounted(in);
	m->df--;
	m->npositions -= posting->tf;
	skx_segment_term_posting(m->out.terms, posting);
}

/* The heap's largest is the posting that comes first. */
static int
skx_merge_posting_order(Datum a, Datum b, void *arg)
{
	uint32		x = ((SkxMergeInput *) DatumGetPointer(a))->doc;
	uint32		y = ((SkxMergeInput *) DatumGetPointer(b))->doc;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Writes the postings of the inputs that have the term. */
static void
skx_merge_postings(SkxMerge *m)
{
	binaryheap *heap = m->postings;
	int			i;

	binaryheap_reset(heap);
	for (i = 0; i < m->nsame; i++)
	{
		skx_merge_first(m, m->same[i]);
		if (m->same[i]->doc != SKX_NO_DOC)
			binaryheap_add_unordered(heap, PointerGetDatum(m->same[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		SkxMergeInput *in = (SkxMergeInput *)
			DatumGetPointer(binaryheap_remove_first(heap));
		uint32		end = SKX_NO_DOC;

		if (!binaryheap_empty(heap))
			end = ((SkxMergeInput *)
				   DatumGetPointer(binaryheap_first(heap)))->doc;
		do
		{
			skx_merge_posting(m, in);
			skx_merge_step(m, in);
		} while (in->doc < end);
		if (in->doc != SKX_NO_DOC)
			binaryheap_add(heap, PointerGetDatum(in));
	}
	if (m->df != 0 || m->npositions != 0)
		skx_merge_miscounted(m->same[0]);
}

/*
 * Terms
 */

/* Makes the next term of an input current; false after the last one. */
static bool
skx_merge_next_term(SkxMergeInput *in)
{
	int			i;

	if (!skx_segment_walk_next(in->walk, &in->term, &in->lexeme, &in->len))
		return false;
	in->prefix = 0;
	for (i = 0; i < (int) sizeof(in->prefix); i++)
		in->prefix = in->prefix << 8 |
			(i < in->len ? (uint8) in->lexeme[i] : 0);
	return true;
}

static int
skx_merge_compare(const SkxMergeInput *a, const SkxMergeInput *b)
{
	int			order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	order = memcmp(a->lexeme, b->lexeme, Min(a->len, b->len));
	return order != 0 ? order : a->len - b->len;
}

/* The heap's largest is the term that comes first, of the earliest input. */
static int
skx_merge_term_order(Datum a, Datum b, void *arg)
{
	const SkxMergeInput *x = (const SkxMergeInput *) DatumGetPointer(a);
	const SkxMergeInput *y = (const SkxMergeInput *) DatumGetPointer(b);
	int			order = skx_merge_compare(x, y);

	return order != 0 ? -order : y->number - x->number;
}

/*
 * Writes the term that the inputs in `same` stand on, if it has a live
 * posting; those that have none of it leave.
 */
static void
skx_merge_term(SkxMerge *m)
{
	const char *lexeme = m->same[0]->lexeme;
	int			len = m->same[0]->len;
	uint8		flags = 0;
	int			nlive = 0;
	int			i;

	m->df = 0;
	m->npositions = 0;
	for (i = 0; i < m->nsame; i++)
	{
		SkxMergeInput *in = m->same[i];
		uint32		df = in->term.df;
		uint64		npositions = in->term.npositions;
		uint8		live = in->term.flags & (SKX_TERM_LABELS | SKX_TERM_BARE);
		SkxDeadTerm dead;

		m->done += df;
		if (skx_merge_dead_term(m->dead_terms, in->number,
								in->term.ordinal, &dead))
		{
			if (dead.df >= df || dead.npositions > npositions)
			{
				if (dead.df > df || dead.npositions > npositions)
					skx_merge_miscounted(in);
				continue;
			}
			df -= dead.df;
			npositions -= dead.npositions;
			live = dead.flags;
		}
		m->df += df;
		m->npositions += npositions;
		flags |= live;
		m->same[nlive++] = in;
	}
	m->nsame = nlive;
	if (nlive == 0)
		return;
	skx_segment_term_begin(m->out.terms, lexeme, len, m->df, m->npositions,
						   flags);
	skx_merge_postings(m);
	skx_segment_term_end(m->out.terms);
}

/* Goes through the dictionaries of all inputs together. */
static void
skx_merge_terms(SkxMerge *m)
{
	binaryheap *heap = binaryheap_allocate(m->ninputs,
										   skx_merge_term_order, NULL);
	SkxMergeInput **same = palloc(m->ninputs * sizeof(SkxMergeInput *));
	int			i;

	m->postings = binaryheap_allocate(m->ninputs,
									  skx_merge_posting_order, NULL);
	for (i = 0; i < m->ninputs; i++)
	{
		m->inputs[i].walk = skx_segment_walk_begin(m->inputs[i].seg);
		m->inputs[i].list = skx_cursor_create(m->inputs[i].seg,
											  SKX_CURSOR_MERGE);
		if (skx_merge_next_term(&m->inputs[i]))
			binaryheap_add_unordered(heap, PointerGetDatum(&m->inputs[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		int			n = 0;

		do
		{
			same[n++] = (SkxMergeInput *)
				DatumGetPointer(binaryheap_remove_first(heap));
		} while (!binaryheap_empty(heap) &&
				 skx_merge_compare(same[0], (SkxMergeInput *)
								   DatumGetPointer(binaryheap_first(heap))) == 0);
		memcpy(m->same, same, n * sizeof(SkxMergeInput *));
		m->nsame = n;
		skx_merge_term(m);
		skx_merge_progress(m, SKX_BUILD_MERGE, m->done, m->total);
		for (i = 0; i < n; i++)
		{
			if (skx_merge_next_term(same[i]))
				binaryheap_add(heap, PointerGetDatum(same[i]));
		}
	}
	for (i = 0; i < m->ninputs; i++)
	{
		skx_cursor_close(m->inputs[i].list);
		skx_segment_walk_end(m->inputs[i].walk);
	}
	binaryheap_free(m->postings);
	binaryheap_free(heap);
	pfree(same);
}

/*
 * The whole
 */

bool
skx_merge_run(SkxMerge *m, SkxDiskSegmentRef *ref)
{
	MemoryContext old = MemoryContextSwitchTo(m->context);

	memset(ref, 0, sizeof(*ref));
	if (m->nlive > 0)
	{
		skx_merge_create_maps(m);
		skx_merge_documents(m);
		SKX_FAULT(SKX_FAULT_MERGE_MAPPED);
		skx_merge_count(m);
		(void) skx_segment_output_terms(&m->out);
		skx_merge_terms(m);
		skx_segment_output_finish(&m->out, ref);
		skx_merge_dead_free(m->dead_terms);
	}
	MemoryContextSwitchTo(old);
	return m->nlive > 0;
}

/* The deleted documents of a page of delete bits that are in the result. */
static void
skx_merge_late_page(SkxMerge *m, int which, uint32 page, const uint8 *bits,
					void (*visit) (uint32 doc, void *arg), void *arg)
{
	uint32		first = page * SKX_DELETES_PER_PAGE;
	uint32		n = Min(m->inputs[which].seg->header.ndocs - first,
						SKX_DELETES_PER_PAGE);
	uint32		k;

	for (k = 0; k < n; k++)
	{
		uint32		doc = first + k;
		uint32		now;

		if ((bits[k / 8] >> (k % 8) & 1) == 0)
			continue;
		skx_merge_maps_get(m->maps, which, &doc, 1, &now);
		if (now != SKX_NO_DOC)
			visit(now, arg);
	}
}

/* Bits are only ever set: a page that has as many is the same page. */
uint32
skx_merge_late(SkxMerge *m,
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

			Assert(n >= in->npage_dead[page]);
			if (n == in->npage_dead[page])
				continue;
			skx_merge_late_page(m, i, page, bits, visit, arg);
			in->npage_dead[page] = n;
			differ++;
		}
		skx_segment_relax(in->seg);
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
