/*
 * functions_terms.c
 *	  skipidx_terms(): returns the commonest terms of an index.
 *
 * The dictionaries of all segments and the lexemes of pending documents are
 * read together, in the order of lexemes.  So all counts of a term are known
 * before it is compared with the commonest terms so far.
 */
#include "postgres.h"

#include "access/relation.h"
#include "fmgr.h"
#include "format/disk/disk_dict.h"
#include "funcapi.h"
#include "index/column/column.h"
#include "index/cursor/cursor.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "parse/parse.h"
#include "sql/functions/functions_internal.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "write/maint/maint.h"

PG_FUNCTION_INFO_V1(skipidx_terms);

/* A term with its counts, in one input or in all of them. */
typedef struct SkxTermCount
{
	SkxLexeme	lexeme;			/* key of the hash table, so it is first */
	uint64		df;
	uint64		tf;				/* without those of `has_no_positions` */
	bool		has_no_positions;	/* some posting of a segment may have no
									 * positions, which counts as one
									 * occurrence */
} SkxTermCount;

/*
 * An input, which is a segment or all pending documents, and the position that
 * has been reached in its terms.
 */
typedef struct SkxTermInput
{
	SkxTermWalk *walk;			/* NULL: the input is pending documents */
	SkxTermCount *counts;		/* of pending documents, ascending */
	int			n;
	int			i;
	SkxTermCount current;
} SkxTermInput;

/* The state of a call, with the commonest terms so far. */
typedef struct SkxTermSearch
{
	SkxLexeme	prefix;
	int			nsources;		/* one for each part */
	SkxSnapshotReader **sources;
	HTAB	   *pending;
	MemoryContext context;		/* of terms that are kept */
	SkxTermInput *inputs;		/* pending documents, then segments */
	int			ninputs;
	binaryheap *heap;			/* of the inputs, by lexeme */
	int			max_terms;
	int			n;
	int			best_size;
	SkxTermCount *best;			/* a heap with the least common term first */
} SkxTermSearch;

static bool
skx_functions_has_prefix(const SkxTermSearch *s, const char *bytes, int len)
{
	return len >= s->prefix.len &&
		memcmp(bytes, s->prefix.bytes, s->prefix.len) == 0 &&
		!skx_column_is_value(bytes, len);
}

static SkxLexeme
skx_functions_copy_lexeme(MemoryContext context, const char *bytes, int len)
{
	char	   *copy = MemoryContextAlloc(context, len + 1);

	memcpy(copy, bytes, len);
	return (SkxLexeme)
	{
		copy, len
	};
}

/* ---- pending documents ---- */

static bool
skx_functions_count_pending(const SkxPendingDoc *doc, void *arg)
{
	SkxTermSearch *s = arg;
	TSVector	value = doc->value;
	const WordEntry *entries = ARRPTR(value);
	int			i;

	for (i = 0; i < value->size; i++)
	{
		const WordEntry *entry = &entries[i];
		SkxLexeme	lexeme = {STRPTR(value) + entry->pos, entry->len};
		SkxTermCount *count;
		bool		found;

		CHECK_FOR_INTERRUPTS();
		if (!skx_functions_has_prefix(s, lexeme.bytes, lexeme.len))
			continue;
		count = hash_search(s->pending, &lexeme, HASH_FIND, NULL);
		if (count == NULL)
		{
			lexeme = skx_functions_copy_lexeme(s->context, lexeme.bytes,
											   lexeme.len);
			count = hash_search(s->pending, &lexeme, HASH_ENTER, &found);
			count->df = count->tf = 0;
			count->has_no_positions = false;
		}
		count->df++;
		count->tf += entry->haspos ? POSDATALEN(value, entry) : 1;
	}
	return true;
}

static int
skx_functions_compare_counts(const void *a, const void *b)
{
	const SkxTermCount *x = a;
	const SkxTermCount *y = b;

	CHECK_FOR_INTERRUPTS();
	return skx_column_compare_lexeme(&x->lexeme, &y->lexeme);
}

static void
skx_functions_begin_pending(SkxTermSearch *s)
{
	s->pending = skx_column_create_table("skipidx pending terms",
										 sizeof(SkxTermCount), s->context);
}

/* Fills in the input with the terms of pending documents, sorted. */
static void
skx_functions_sort_pending(SkxTermSearch *s, SkxTermInput *in)
{
	HASH_SEQ_STATUS status;
	SkxTermCount *count;

	in->counts = palloc_extended(sizeof(SkxTermCount) *
								 (Size) (hash_get_num_entries(s->pending) + 1),
								 MCXT_ALLOC_HUGE);
	hash_seq_init(&status, s->pending);
	while ((count = hash_seq_search(&status)) != NULL)
		in->counts[in->n++] = *count;
	hash_destroy(s->pending);
	qsort(in->counts, in->n, sizeof(SkxTermCount),
		  skx_functions_compare_counts);
}

/* ---- all terms, in the order of lexemes ---- */

/*
 * Moves an input to its next term with the prefix.  Returns false if there is
 * none.
 */
static bool
skx_functions_next_term(const SkxTermSearch *s, SkxTermInput *in)
{
	static const SkxLexeme words[2] = {{"\001", 1}, {"\377", 1}};
	SkxTerm		term;

	if (in->walk == NULL)
	{
		if (in->i == in->n)
			return false;
		in->current = in->counts[in->i++];
		return true;
	}
	if (!skx_segment_walk_next(in->walk, &term, &in->current.lexeme.bytes,
							   &in->current.lexeme.len))
		return false;
	if (skx_column_is_value(in->current.lexeme.bytes, in->current.lexeme.len))
	{
		/* Values of other columns are next to each other, and are skipped. */
		skx_segment_walk_range(in->walk, words);
		if (!skx_segment_walk_next(in->walk, &term, &in->current.lexeme.bytes,
								   &in->current.lexeme.len))
			return false;
	}
	in->current.df = term.df;
	in->current.tf = term.npositions;
	in->current.has_no_positions = (term.flags & SKX_TERM_NO_POSITIONS) != 0;
	return skx_functions_has_prefix(s, in->current.lexeme.bytes,
									in->current.lexeme.len);
}

/* Orders the heap so that the input with the lowest lexeme is first. */
static int
skx_functions_compare_inputs(Datum a, Datum b, void *arg)
{
	const SkxTermInput *x = (const SkxTermInput *) DatumGetPointer(a);
	const SkxTermInput *y = (const SkxTermInput *) DatumGetPointer(b);

	return skx_column_compare_lexeme(&y->current.lexeme,
									 &x->current.lexeme);
}

/*
 * Opens all segments of the index, and counts the terms of its pending
 * documents.  Deleted documents count as well, as they do in statistics.
 */
static SkxSnapshotReader *
skx_functions_open_source(SkxTermSearch *s, Relation index)
{
	const SkxView *view = skx_manifest_view(index);
	uint64	   *last = palloc(sizeof(uint64) * (view->nstripes + 1));
	SkxPendingTotals totals;
	SkxSnapshotReader *source;

	skx_pending_totals(index, view, &totals, last);
	source = skx_snapshot_open(index, view);
	(void) skx_snapshot_next_segments(source, SKX_SNAPSHOT_ALL_SEGMENTS);
	skx_snapshot_visit_pending(source, last, skx_functions_count_pending, s);
	pfree(last);
	return source;
}

static void
skx_functions_walk_segments(SkxTermSearch *s, const SkxSnapshotReader *source)
{
	char		above[SKX_LEXEME_MAX + 1];
	SkxLexeme	ends[2] = {s->prefix, {above, s->prefix.len + 1}};
	int			i;

	memcpy(above, s->prefix.bytes, s->prefix.len);
	above[s->prefix.len] = (char) 0xFF;
	for (i = 0; i < source->nsegments; i++)
	{
		SkxTermInput *in = &s->inputs[s->ninputs++];

		in->walk = skx_segment_walk_begin(source->segments[i]);
		skx_segment_walk_range(in->walk, ends);
	}
}

static void
skx_functions_begin_terms(SkxTermSearch *s, const SkxPartitions *parts)
{
	int			n = 1;
	int			i;

	skx_functions_begin_pending(s);
	s->sources = palloc(sizeof(SkxSnapshotReader *) * (parts->n + 1));
	for (i = 0; i < parts->n; i++)
	{
		s->sources[i] = skx_functions_open_source(s,
												  parts->partitions[i].index);
		n += s->sources[i]->nsegments;
	}
	s->nsources = parts->n;
	s->inputs = palloc0(sizeof(SkxTermInput) * n);
	s->ninputs = 1;
	skx_functions_sort_pending(s, &s->inputs[0]);
	for (i = 0; i < s->nsources; i++)
		skx_functions_walk_segments(s, s->sources[i]);
	s->heap = binaryheap_allocate(n, skx_functions_compare_inputs, NULL);
	for (i = 0; i < n; i++)
		if (skx_functions_next_term(s, &s->inputs[i]))
			binaryheap_add(s->heap, PointerGetDatum(&s->inputs[i]));
}

/*
 * Sets *sum to the next term, with its counts in all inputs, and moves these
 * on.  `bytes` is memory for its lexeme, which is valid until the next call.
 * Returns false at the end.
 */
static bool
skx_functions_gather_term(SkxTermSearch *s, SkxTermCount *sum, char *bytes)
{
	if (binaryheap_empty(s->heap))
		return false;
	memset(sum, 0, sizeof(*sum));
	sum->lexeme.bytes = bytes;
	sum->lexeme.len = -1;
	while (!binaryheap_empty(s->heap))
	{
		SkxTermInput *in = (SkxTermInput *)
			DatumGetPointer(binaryheap_first(s->heap));

		if (sum->lexeme.len < 0)
		{
			sum->lexeme.len = in->current.lexeme.len;
			memcpy(bytes, in->current.lexeme.bytes, in->current.lexeme.len);
		}
		else if (skx_column_compare_lexeme(&in->current.lexeme,
										   &sum->lexeme) != 0)
			break;
		sum->df += in->current.df;
		sum->tf += in->current.tf;
		sum->has_no_positions |= in->current.has_no_positions;
		if (skx_functions_next_term(s, in))
			binaryheap_replace_first(s->heap, PointerGetDatum(in));
		else
			binaryheap_remove_first(s->heap);
	}
	return true;
}

/* ---- the commonest terms ---- */

/* Returns true if the first term comes before the second in the result. */
static bool
skx_functions_is_before(const SkxTermCount *a, const SkxTermCount *b)
{
	if (a->df != b->df)
		return a->df > b->df;
	return skx_column_compare_lexeme(&a->lexeme, &b->lexeme) < 0;
}

static void
skx_functions_sift_up(SkxTermCount *best, int i)
{
	while (i > 0 && skx_functions_is_before(&best[(i - 1) / 2], &best[i]))
	{
		SkxTermCount swap = best[i];

		best[i] = best[(i - 1) / 2];
		best[(i - 1) / 2] = swap;
		i = (i - 1) / 2;
	}
}

/*
 * Moves the first element down the heap, below all that come after it in the
 * result.
 */
static void
skx_functions_sift_down(SkxTermCount *best, int n)
{
	int			i = 0;

	for (;;)
	{
		int			last = i;
		int			k;
		SkxTermCount swap = best[i];

		for (k = 2 * i + 1; k <= 2 * i + 2 && k < n; k++)
			if (skx_functions_is_before(&best[last], &best[k]))
				last = k;
		if (last == i)
			return;
		best[i] = best[last];
		best[last] = swap;
		i = last;
	}
}

static void
skx_functions_keep_term(SkxTermSearch *s, const SkxTermCount *term)
{
	SkxTermCount copy = *term;

	if (s->n == s->max_terms && (s->n == 0 ||
								 !skx_functions_is_before(term, &s->best[0])))
		return;
	if (s->n == s->max_terms)
		pfree(unconstify(char *, s->best[0].lexeme.bytes));
	else if (s->n == s->best_size)
	{
		s->best_size = Max(64, s->best_size > s->max_terms / 2 ? s->max_terms :
						   s->best_size * 2);
		s->best = s->best == NULL ?
			palloc(sizeof(SkxTermCount) * s->best_size) :
			repalloc_huge(s->best, sizeof(SkxTermCount) * (Size) s->best_size);
	}
	copy.lexeme = skx_functions_copy_lexeme(s->context, term->lexeme.bytes,
											term->lexeme.len);
	if (s->n == s->max_terms)
	{
		s->best[0] = copy;
		skx_functions_sift_down(s->best, s->n);
		return;
	}
	s->best[s->n] = copy;
	skx_functions_sift_up(s->best, s->n++);
}

static int
skx_functions_compare_answer(const void *a, const void *b)
{
	CHECK_FOR_INTERRUPTS();
	return skx_functions_is_before(a, b) ? -1 : 1;
}

/* Returns how many postings of a term in the segment have no positions. */
static uint64
skx_functions_segment_no_positions(SkxSegment *seg, const SkxLexeme *lexeme)
{
	SkxTerm		term;
	SkxCursor  *c;
	uint64		n = 0;

	if (!skx_segment_find(seg, lexeme->bytes, lexeme->len, &term) ||
		(term.flags & SKX_TERM_NO_POSITIONS) == 0)
		return 0;
	if (term.npositions == 0)
		return term.df;
	c = skx_cursor_open(seg, &term, SKX_CURSOR_LEAD);
	while (skx_cursor_next(c))
	{
		const uint16 *tfs = skx_cursor_tfs(c);
		int			i;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < c->n; i++)
			n += tfs[i] == 0;
	}
	skx_cursor_close(c);
	return n;
}

static uint64
skx_functions_count_no_positions(const SkxTermSearch *s,
								 const SkxLexeme *lexeme)
{
	uint64		n = 0;
	int			i;
	int			k;

	for (i = 0; i < s->nsources; i++)
		for (k = 0; k < s->sources[i]->nsegments; k++)
			n += skx_functions_segment_no_positions(s->sources[i]->segments[k],
													lexeme);
	return n;
}

static void
skx_functions_put_terms(ReturnSetInfo *result, const SkxTermSearch *s)
{
	int			i;

	for (i = 0; i < s->n; i++)
	{
		const SkxTermCount *term = &s->best[i];
		uint64		tf = term->tf;
		bool		nulls[3] = {false, false, false};
		Datum		values[3];

		CHECK_FOR_INTERRUPTS();
		if (term->has_no_positions)
			tf += skx_functions_count_no_positions(s, &term->lexeme);
		values[0] = PointerGetDatum(cstring_to_text_with_len(term->lexeme.bytes,
															 term->lexeme.len));
		values[1] = Int64GetDatum((int64) term->df);
		values[2] = Int64GetDatum((int64) tf);
		tuplestore_putvalues(result->setResult, result->setDesc, values,
							 nulls);
		pfree(DatumGetPointer(values[0]));
	}
}

static void
skx_functions_terms(ReturnSetInfo *result, const SkxPartitions *parts,
					SkxTermSearch *s)
{
	char		bytes[SKX_LEXEME_MAX];
	SkxTermCount term;
	int			i;

	skx_functions_begin_terms(s, parts);
	while (skx_functions_gather_term(s, &term, bytes))
	{
		CHECK_FOR_INTERRUPTS();
		if (!skx_parse_is_cut_mark(term.lexeme.bytes, term.lexeme.len))
			skx_functions_keep_term(s, &term);
	}
	for (i = 1; i < s->ninputs; i++)
		skx_segment_walk_end(s->inputs[i].walk);
	qsort(s->best, s->n, sizeof(SkxTermCount), skx_functions_compare_answer);
	skx_functions_put_terms(result, s);
	for (i = 0; i < s->nsources; i++)
		skx_snapshot_close(s->sources[i]);
}

Datum
skipidx_terms(PG_FUNCTION_ARGS)
{
	SkxTermSearch s = {0};
	SkxPartitions parts;
	text	   *prefix;

	InitMaterializedSRF(fcinfo, 0);
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		return (Datum) 0;
	prefix = PG_GETARG_TEXT_PP(1);
	s.prefix.bytes = VARDATA_ANY(prefix);
	s.prefix.len = VARSIZE_ANY_EXHDR(prefix);
	/* An int4 argument can ask for no more terms than this. */
	s.max_terms = (int) Min(skx_functions_limit_arg(fcinfo, 2, "max_rows"),
							PG_INT32_MAX);
	skx_functions_open_partitions(PG_GETARG_OID(0), &parts);
	s.context = CurrentMemoryContext;
	if (s.max_terms > 0 && s.prefix.len <= SKX_LEXEME_MAX)
		skx_functions_terms((ReturnSetInfo *) fcinfo->resultinfo, &parts, &s);
	skx_functions_close_partitions(&parts);
	return (Datum) 0;
}
