/*
 * merge_terms.c
 *	  Merges the terms of several segments, or a range of them, into one
 *	  writer.
 *
 * The dictionaries are walked together, and the postings of each term are
 * interleaved by new number.  The input that is ahead is used up to where the
 * next one begins.  So inputs that do not overlap cost one comparison each,
 * not one a posting.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "lib/binaryheap.h"
#include "support/throttle/throttle.h"
#include "tsearch/ts_utils.h"
#include "write/merge/merge_internal.h"

/* An input and its current term. */
typedef struct SkxMergeTermInput
{
	SkxSegment *seg;
	int			number;

	SkxTermWalk *walk;
	SkxTerm		term;
	const char *lexeme;
	int			len;
	uint64		prefix;			/* first bytes of the lexeme */

	/* postings of the term */
	SkxCursor  *list;
	int			i;				/* index of the current one in the sub-block */
	uint32		docs[SKX_SUBBLOCK]; /* new numbers of the sub-block */
	uint8		norms[SKX_SUBBLOCK];	/* set if basis.norms is NULL */
	uint32		result_doc;		/* new number of the current one; SKX_NO_DOC
								 * at the end */
} SkxMergeTermInput;

struct SkxMergeTerms
{
	SkxMergeTermSource source;
	SkxMergeTermInput *inputs;
	SkxTermWriter *writer;
	binaryheap *terms;			/* inputs by their current terms */

	/* the term */
	SkxMergeTermInput **term_inputs;	/* inputs that have it */
	int			nterm_inputs;
	binaryheap *postings;		/* inputs in `term_inputs` by their current
								 * documents */
	SkxPosting	posting_inputs;
	uint32		df;				/* postings announced and not yet written */
	uint64		npositions;
};

/*
 * Renumbers the sub-block that was just decoded.  Also reads its norms if they
 * are not in memory.
 */
static void
skx_merge_renumber_subblock(SkxMergeTerms *t, SkxMergeTermInput *in)
{
	const uint8 *norms = t->source.norms;
	SkxCursor  *list = in->list;
	int			i;

	skx_throttle_point();
	in->i = 0;
	(void) skx_cursor_tfs(list);
	skx_merge_maps_get(t->source.maps, in->number, list->docs, list->n,
					   in->docs);

	/* the writer reads these next, anywhere in the array */
	for (i = 0; norms != NULL && i < list->n; i++)
	{
		if (in->docs[i] != SKX_NO_DOC)
			__builtin_prefetch(&norms[in->docs[i]]);
	}
	if (norms == NULL)
	{
		for (i = 0; i < list->n; i++)
			in->norms[i] = skx_segment_norm(in->seg, list->docs[i]);
		if (skx_blkio_has_many_pins(in->seg->file))
			skx_segment_unpin_all(in->seg);
	}
}

/* Makes the next live posting of an input current. */
static void
skx_merge_next_posting(SkxMergeTerms *t, SkxMergeTermInput *in)
{
	SkxCursor  *list = in->list;

	do
	{
		in->result_doc = SKX_NO_DOC;
		if (++in->i == list->n)
		{
			if (!skx_cursor_next(list))
				return;
			skx_merge_renumber_subblock(t, in);
		}
		in->result_doc = in->docs[in->i];
	} while (in->result_doc == SKX_NO_DOC);
}

/* Makes the first live posting of the term current. */
static void
skx_merge_first_posting(SkxMergeTerms *t, SkxMergeTermInput *in)
{
	skx_cursor_begin_term(in->list, &in->term);
	(void) skx_cursor_next(in->list);
	skx_merge_renumber_subblock(t, in);
	in->result_doc = in->docs[0];
	if (in->result_doc == SKX_NO_DOC)
		skx_merge_next_posting(t, in);
}

static void
skx_merge_raise_miscount(SkxMergeTermInput *in)
{
	skx_segment_damaged(in->seg, SKX_SEGMENT_DICT, in->seg->header.dict_root,
						"a posting list is not what its dictionary entry says");
}

/* Writes the current posting of an input. */
static void
skx_merge_posting(SkxMergeTerms *t, SkxMergeTermInput *in)
{
	SkxPosting *posting = &t->posting_inputs;
	SkxPositionsRef place;
	uint32		labels = 0;
	int			i;

	posting->doc = in->result_doc;
	posting->norm = in->norms[in->i];
	skx_cursor_positions_ref(in->list, in->i, &place);
	posting->tf = skx_cursor_positions_at(in->list, &place,
										  posting->positions);
	if (in->term.flags & SKX_TERM_LABELS)
	{
		for (i = 0; i < posting->tf; i++)
			labels |= WEP_GETWEIGHT(posting->positions[i]);
	}
	posting->has_labels = labels != 0;

	/* the writer relies on these numbers */
	if (t->df == 0 || posting->tf > t->npositions)
		skx_merge_raise_miscount(in);
	t->df--;
	t->npositions -= posting->tf;
	skx_writer_term_posting(t->writer, posting);
}

/*
 * Orders inputs so that the heap's largest has the posting that comes first.
 */
static int
skx_merge_posting_order(Datum a, Datum b, void *arg)
{
	uint32		x = ((SkxMergeTermInput *) DatumGetPointer(a))->result_doc;
	uint32		y = ((SkxMergeTermInput *) DatumGetPointer(b))->result_doc;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Writes the postings of the inputs that have the term. */
static void
skx_merge_postings(SkxMergeTerms *t)
{
	binaryheap *heap = t->postings;
	int			i;

	binaryheap_reset(heap);
	for (i = 0; i < t->nterm_inputs; i++)
	{
		skx_merge_first_posting(t, t->term_inputs[i]);
		if (t->term_inputs[i]->result_doc != SKX_NO_DOC)
			binaryheap_add_unordered(heap, PointerGetDatum(t->term_inputs[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		SkxMergeTermInput *in = (SkxMergeTermInput *)
			DatumGetPointer(binaryheap_remove_first(heap));
		uint32		end = SKX_NO_DOC;

		if (!binaryheap_empty(heap))
			end = ((SkxMergeTermInput *)
				   DatumGetPointer(binaryheap_first(heap)))->result_doc;
		do
		{
			skx_merge_posting(t, in);
			skx_merge_next_posting(t, in);
		} while (in->result_doc < end);
		if (in->result_doc != SKX_NO_DOC)
			binaryheap_add(heap, PointerGetDatum(in));
	}
	if (t->df != 0 || t->npositions != 0)
		skx_merge_raise_miscount(t->term_inputs[0]);
}

/*
 * Makes the next term of an input current; returns false after the last one.
 */
static bool
skx_merge_next_term(SkxMergeTermInput *in)
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
skx_merge_compare(const SkxMergeTermInput *a, const SkxMergeTermInput *b)
{
	int			order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	order = memcmp(a->lexeme, b->lexeme, Min(a->len, b->len));
	return order != 0 ? order : a->len - b->len;
}

/*
 * Orders inputs so that the heap's largest has the term that comes first; of
 * inputs with the same term, it is the earliest.
 */
static int
skx_merge_term_order(Datum a, Datum b, void *arg)
{
	const SkxMergeTermInput *x = (const SkxMergeTermInput *) DatumGetPointer(a);
	const SkxMergeTermInput *y = (const SkxMergeTermInput *) DatumGetPointer(b);
	int			order = skx_merge_compare(x, y);

	return order != 0 ? -order : y->number - x->number;
}

/*
 * Writes the current term of the inputs in `same`, if it has a live posting.
 * Inputs that have no live posting of it are removed from `same`.
 */
static void
skx_merge_term(SkxMergeTerms *t)
{
	const char *lexeme = t->term_inputs[0]->lexeme;
	int			len = t->term_inputs[0]->len;
	uint8		flags = 0;
	int			nlive = 0;
	int			i;

	t->df = 0;
	t->npositions = 0;
	for (i = 0; i < t->nterm_inputs; i++)
	{
		SkxMergeTermInput *in = t->term_inputs[i];
		uint32		df = in->term.df;
		uint64		npositions = in->term.npositions;
		uint8		live = in->term.flags &
			(SKX_TERM_LABELS | SKX_TERM_NO_POSITIONS);
		SkxDeadTerm dead;

		pg_atomic_fetch_add_u64(t->source.merged_postings, df);
		if (skx_merge_dead_term(t->source.dead_terms, in->number,
								in->term.ordinal, &dead))
		{
			if (dead.df >= df || dead.npositions > npositions)
			{
				if (dead.df > df || dead.npositions > npositions)
					skx_merge_raise_miscount(in);
				continue;
			}
			df -= dead.df;
			npositions -= dead.npositions;
			live = dead.flags;
		}
		t->df += df;
		t->npositions += npositions;
		flags |= live;
		t->term_inputs[nlive++] = in;
	}
	t->nterm_inputs = nlive;
	if (nlive == 0)
		return;
	skx_writer_term_begin(t->writer, lexeme, len, t->df, t->npositions,
						  flags);
	skx_merge_postings(t);
	skx_writer_term_end(t->writer);
}

/* ---- the interface ---- */

SkxMergeTerms *
skx_merge_terms_open(const SkxMergeTermSource *basis)
{
	SkxMergeTerms *t = palloc0(sizeof(SkxMergeTerms));
	int			i;

	t->source = *basis;
	t->inputs = palloc_extended(basis->ninputs * sizeof(SkxMergeTermInput),
								MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	t->term_inputs = palloc(basis->ninputs * sizeof(SkxMergeTermInput *));
	t->terms = binaryheap_allocate(basis->ninputs, skx_merge_term_order, NULL);
	t->postings = binaryheap_allocate(basis->ninputs,
									  skx_merge_posting_order, NULL);
	for (i = 0; i < basis->ninputs; i++)
	{
		t->inputs[i].seg = basis->inputs[i];
		t->inputs[i].number = i;
		t->inputs[i].list = skx_cursor_create(basis->inputs[i],
											  SKX_CURSOR_MERGE);
	}
	return t;
}

/* Returns true if the current term of an input comes before the end. */
static bool
skx_merge_term_is_in_range(const SkxMergeTermInput *in, const SkxLexeme *end)
{
	return end == NULL ||
		tsCompareString(unconstify(char *, in->lexeme), in->len,
						unconstify(char *, end->bytes), end->len, false) < 0;
}

/*
 * Makes the first term of an input within the range current; returns false if
 * there is none.
 */
static bool
skx_merge_first_term(SkxMergeTerms *t, SkxMergeTermInput *in,
					 const SkxLexeme *range)
{
	in->walk = skx_segment_walk_begin(in->seg);
	if (range != NULL)
		skx_segment_walk_range(in->walk, range);
	if (!skx_merge_next_term(in) ||
		!skx_merge_term_is_in_range(in, range == NULL ? NULL : &range[1]))
		return false;
	if (range != NULL)
		skx_merge_dead_seek(t->source.dead_terms, in->number,
							in->term.ordinal);
	return true;
}

/* Moves the inputs with the first term from the heap to `term_inputs`. */
static void
skx_merge_take_term_inputs(SkxMergeTerms *t)
{
	binaryheap *heap = t->terms;

	t->nterm_inputs = 0;
	do
	{
		t->term_inputs[t->nterm_inputs++] = (SkxMergeTermInput *)
			DatumGetPointer(binaryheap_remove_first(heap));
	} while (!binaryheap_empty(heap) &&
			 skx_merge_compare(t->term_inputs[0], (SkxMergeTermInput *)
							   DatumGetPointer(binaryheap_first(heap))) == 0);
}

void
skx_merge_terms_write(SkxMergeTerms *t, SkxTermWriter *writer,
					  const SkxLexeme *range)
{
	const SkxMergeTermSource *basis = &t->source;
	SkxMergeTermInput **same = palloc(basis->ninputs * sizeof(SkxMergeTermInput *));
	int			i;

	t->writer = writer;
	binaryheap_reset(t->terms);
	for (i = 0; i < basis->ninputs; i++)
	{
		if (skx_merge_first_term(t, &t->inputs[i], range))
			binaryheap_add_unordered(t->terms,
									 PointerGetDatum(&t->inputs[i]));
	}
	binaryheap_build(t->terms);
	while (!binaryheap_empty(t->terms))
	{
		int			n;

		skx_merge_take_term_inputs(t);
		n = t->nterm_inputs;
		memcpy(same, t->term_inputs, n * sizeof(SkxMergeTermInput *));
		skx_merge_term(t);
		if (basis->progress != NULL)
			basis->progress(SKX_BUILD_MERGE,
							pg_atomic_read_u64(basis->merged_postings),
							basis->total_postings);
		for (i = 0; i < n; i++)
		{
			if (skx_merge_next_term(same[i]) &&
				skx_merge_term_is_in_range(same[i],
										   range == NULL ? NULL : &range[1]))
				binaryheap_add(t->terms, PointerGetDatum(same[i]));
		}
	}
	for (i = 0; i < basis->ninputs; i++)
		skx_segment_walk_end(t->inputs[i].walk);
	pfree(same);
}

void
skx_merge_terms_close(SkxMergeTerms *t)
{
	int			i;

	for (i = 0; i < t->source.ninputs; i++)
		skx_cursor_close(t->inputs[i].list);
	skx_merge_dead_free(t->source.dead_terms);
	binaryheap_free(t->postings);
	binaryheap_free(t->terms);
	pfree(t->inputs);
	pfree(t->term_inputs);
	pfree(t);
}
