/*
 * lexicon_read.c
 *	  Reads the terms of several dictionaries, and of pending documents,
 *	  together.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "index/column/column.h"
#include "index/cursor/cursor.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "read/lexicon/lexicon_internal.h"
#include "utils/memutils.h"

static bool
skx_lexicon_has_prefix(const SkxLexicon *lexicon, const SkxLexeme *lexeme)
{
	return !skx_column_is_value(lexeme->bytes, lexeme->len) &&
		(lexicon->prefix.len == 0 ||
		 (lexeme->len >= lexicon->prefix.len &&
		  memcmp(lexeme->bytes, lexicon->prefix.bytes,
				 lexicon->prefix.len) == 0));
}

/* ---- pending documents ---- */

static SkxLexiconTerm *
skx_lexicon_add_pending(SkxLexicon *lexicon, const SkxLexeme *lexeme)
{
	char	   *copy = MemoryContextAlloc(lexicon->context, lexeme->len + 1);
	SkxLexeme	key = {copy, lexeme->len};
	SkxLexiconTerm *term;
	bool		found;

	memcpy(copy, lexeme->bytes, lexeme->len);
	term = hash_search(lexicon->pending, &key, HASH_ENTER, &found);
	term->df = term->tf = 0;
	term->has_no_positions = false;
	return term;
}

static bool
skx_lexicon_count_pending(const SkxPendingDoc *doc, void *arg)
{
	SkxLexicon *lexicon = arg;
	TSVector	value = doc->value;
	const WordEntry *entries = ARRPTR(value);
	int			i;

	for (i = 0; i < value->size; i++)
	{
		const WordEntry *entry = &entries[i];
		SkxLexeme	lexeme = {STRPTR(value) + entry->pos, entry->len};
		SkxLexiconTerm *term;

		CHECK_FOR_INTERRUPTS();
		if (!skx_lexicon_has_prefix(lexicon, &lexeme))
			continue;
		term = hash_search(lexicon->pending, &lexeme, HASH_FIND, NULL);
		if (term == NULL)
			term = skx_lexicon_add_pending(lexicon, &lexeme);
		term->df++;
		term->tf += entry->haspos ? POSDATALEN(value, entry) : 1;
	}
	return true;
}

static int
skx_lexicon_compare(const void *a, const void *b)
{
	const SkxLexiconTerm *x = a;
	const SkxLexiconTerm *y = b;

	CHECK_FOR_INTERRUPTS();
	return skx_column_compare_lexeme(&x->lexeme, &y->lexeme);
}

/* Fills in the input with the terms of pending documents, sorted. */
static void
skx_lexicon_sort_pending(SkxLexicon *lexicon, SkxLexiconInput *in)
{
	HASH_SEQ_STATUS status;
	SkxLexiconTerm *term;

	in->pending = palloc_extended(sizeof(SkxLexiconTerm) *
								  (Size) (hash_get_num_entries(lexicon->pending) + 1),
								  MCXT_ALLOC_HUGE);
	hash_seq_init(&status, lexicon->pending);
	while ((term = hash_seq_search(&status)) != NULL)
		in->pending[in->n++] = *term;
	hash_destroy(lexicon->pending);
	qsort(in->pending, in->n, sizeof(SkxLexiconTerm), skx_lexicon_compare);
}

/* ---- one input ---- */

/*
 * Moves an input to its next term with the prefix.  Returns false if there is
 * none.
 */
static bool
skx_lexicon_next_of(const SkxLexicon *lexicon, SkxLexiconInput *in)
{
	/* The words, behind the values of other columns */
	static const SkxLexeme words[2] = {{"\001", 1}, {"\377", 1}};
	SkxLexeme  *lexeme = &in->lexeme;

	if (in->walk == NULL)
	{
		if (in->i == in->n)
			return false;
		*lexeme = in->pending[in->i++].lexeme;
		return true;
	}
	if (!skx_segment_walk_lexeme(in->walk, &lexeme->bytes, &lexeme->len))
		return false;
	if (skx_column_is_value(lexeme->bytes, lexeme->len))
	{
		/* Values are next to each other, and are skipped. */
		if (lexicon->seeks)
			skx_segment_walk_seek(in->walk, &words[0]);
		else
			skx_segment_walk_range(in->walk, words);
		if (!skx_segment_walk_lexeme(in->walk, &lexeme->bytes, &lexeme->len))
			return false;
	}
	return skx_lexicon_has_prefix(lexicon, lexeme);
}

/* Adds the counts of an input's current term. */
static void
skx_lexicon_add_counts(SkxLexiconInput *in, SkxLexiconTerm *sum)
{
	SkxTerm		term;

	if (in->walk == NULL)
	{
		const SkxLexiconTerm *pending = &in->pending[in->i - 1];

		sum->df += pending->df;
		sum->tf += pending->tf;
		return;
	}
	skx_segment_walk_counts(in->walk, &term);
	sum->df += term.df;
	sum->tf += term.npositions;
	sum->has_no_positions |= (term.flags & SKX_TERM_NO_POSITIONS) != 0;
}

static bool
skx_lexicon_is_below(const SkxLexiconInput *in, const SkxLexeme *from)
{
	return skx_column_compare_lexeme(&in->lexeme, from) < 0;
}

/* Returns the first of the pending terms from in->i on not below `from`. */
static int
skx_lexicon_find_pending(const SkxLexiconInput *in, const SkxLexeme *from)
{
	int			low = in->i;
	int			high = in->n;

	while (low < high)
	{
		int			mid = low + (high - low) / 2;

		if (skx_column_compare_lexeme(&in->pending[mid].lexeme, from) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Moves an input, whose current term is below `from`, to its first term that
 * is not.  Returns false if there is none with the prefix.
 */
static bool
skx_lexicon_seek_in(const SkxLexicon *lexicon, SkxLexiconInput *in,
					const SkxLexeme *from)
{
	if (in->walk == NULL)
		in->i = skx_lexicon_find_pending(in, from);
	else
		skx_segment_walk_seek(in->walk, from);
	return skx_lexicon_next_of(lexicon, in);
}

/* ---- all inputs ---- */

/* Orders the heap so that the input with the lowest lexeme is first. */
static int
skx_lexicon_compare_inputs(Datum a, Datum b, void *arg)
{
	const SkxLexiconInput *x = (const SkxLexiconInput *) DatumGetPointer(a);
	const SkxLexiconInput *y = (const SkxLexiconInput *) DatumGetPointer(b);

	return skx_column_compare_lexeme(&y->lexeme, &x->lexeme);
}

void
skx_lexicon_read_views(SkxLexicon *lexicon)
{
	MemoryContext old = MemoryContextSwitchTo(lexicon->context);
	int			i;

	for (i = 0; i < lexicon->nsources && !lexicon->is_read; i++)
	{
		SkxLexiconSource *source = &lexicon->sources[i];
		SkxPendingTotals totals;

		source->view = skx_manifest_view(source->index);
		source->last = palloc0(sizeof(uint64) * (source->view->nstripes + 1));
		skx_pending_totals(source->index, source->view, &totals,
						   source->last);
	}
	lexicon->is_read = true;
	MemoryContextSwitchTo(old);
}

/*
 * Opens all segments of an index, and counts the terms of its pending
 * documents.
 */
static void
skx_lexicon_open_source(SkxLexicon *lexicon, SkxLexiconSource *source)
{
	source->reader = skx_snapshot_open(source->index, source->view);
	(void) skx_snapshot_next_segments(source->reader,
									  SKX_SNAPSHOT_ALL_SEGMENTS);
	skx_snapshot_visit_pending(source->reader, source->last,
							   skx_lexicon_count_pending, lexicon);
}

static void
skx_lexicon_open_inputs(SkxLexicon *lexicon)
{
	MemoryContext old = MemoryContextSwitchTo(lexicon->context);
	int			n = 1;
	int			i;
	int			k;

	skx_lexicon_read_views(lexicon);
	lexicon->pending = skx_column_create_table("skipidx pending terms",
											   sizeof(SkxLexiconTerm),
											   lexicon->context);
	for (i = 0; i < lexicon->nsources; i++)
	{
		skx_lexicon_open_source(lexicon, &lexicon->sources[i]);
		n += lexicon->sources[i].reader->nsegments;
	}
	lexicon->inputs = palloc0(sizeof(SkxLexiconInput) * n);
	lexicon->ninputs = 1;
	skx_lexicon_sort_pending(lexicon, &lexicon->inputs[0]);
	for (i = 0; i < lexicon->nsources; i++)
	{
		SkxSnapshotReader *reader = lexicon->sources[i].reader;

		for (k = 0; k < reader->nsegments; k++)
			lexicon->inputs[lexicon->ninputs++].walk =
				skx_segment_walk_begin(reader->segments[k]);
	}
	lexicon->heap = binaryheap_allocate(n, skx_lexicon_compare_inputs, NULL);
	lexicon->is_open = true;
	MemoryContextSwitchTo(old);
}

static void
skx_lexicon_set_first(SkxLexicon *lexicon)
{
	lexicon->first = binaryheap_empty(lexicon->heap) ? NULL :
		(SkxLexiconInput *) DatumGetPointer(binaryheap_first(lexicon->heap));
}

/* Goes before the first term of a range. */
static void
skx_lexicon_go(SkxLexicon *lexicon, const SkxLexeme ends[2], bool seeks)
{
	int			i;

	if (!lexicon->is_open)
		skx_lexicon_open_inputs(lexicon);
	lexicon->has_begun = true;
	lexicon->seeks = seeks;
	binaryheap_reset(lexicon->heap);
	for (i = 0; i < lexicon->ninputs; i++)
	{
		SkxLexiconInput *in = &lexicon->inputs[i];

		in->i = 0;
		if (in->walk == NULL)
			in->i = skx_lexicon_find_pending(in, &ends[0]);
		else if (seeks)
			skx_segment_walk_sparse(in->walk, ends);
		else
			skx_segment_walk_range(in->walk, ends);
		if (skx_lexicon_next_of(lexicon, in))
			binaryheap_add(lexicon->heap, PointerGetDatum(in));
	}
	skx_lexicon_set_first(lexicon);
}

void
skx_lexicon_begin_sparse(SkxLexicon *lexicon, const SkxLexeme ends[2])
{
	Assert(lexicon->prefix.len == 0);
	skx_lexicon_go(lexicon, ends, true);
}

SkxLexicon *
skx_lexicon_open(Relation *indexes, int n, const SkxLexeme *prefix)
{
	SkxLexicon *lexicon = palloc0(sizeof(SkxLexicon));
	int			i;

	lexicon->context = CurrentMemoryContext;
	lexicon->prefix = *prefix;
	memcpy(lexicon->above, prefix->bytes, prefix->len);
	lexicon->above[prefix->len] = (char) 0xFF;
	lexicon->end.bytes = lexicon->above;
	lexicon->end.len = prefix->len + 1;
	lexicon->nsources = n;
	lexicon->sources = palloc0(sizeof(SkxLexiconSource) * (n + 1));
	for (i = 0; i < n; i++)
		lexicon->sources[i].index = indexes[i];
	return lexicon;
}

/*
 * Puts the first input in its place after a move; `more`: it has a term.  An
 * input that is alone stays in it.
 */
static void
skx_lexicon_replace_first(SkxLexicon *lexicon, bool more)
{
	if (more && lexicon->heap->bh_size == 1)
		return;
	if (more)
		binaryheap_replace_first(lexicon->heap,
								 binaryheap_first(lexicon->heap));
	else
		binaryheap_remove_first(lexicon->heap);
	skx_lexicon_set_first(lexicon);
}

void
skx_lexicon_seek(SkxLexicon *lexicon, const SkxLexeme *from)
{
	SkxLexiconInput *in;

	while ((in = lexicon->first) != NULL && skx_lexicon_is_below(in, from))
	{
		CHECK_FOR_INTERRUPTS();
		skx_lexicon_replace_first(lexicon,
								  skx_lexicon_seek_in(lexicon, in, from));
		if (lexicon->first == in && lexicon->heap->bh_size == 1)
			return;
	}
}

const SkxLexeme *
skx_lexicon_peek(SkxLexicon *lexicon)
{
	const SkxLexeme ends[2] = {lexicon->prefix, lexicon->end};

	if (!lexicon->has_begun)
		skx_lexicon_go(lexicon, ends, false);
	return lexicon->first == NULL ? NULL : &lexicon->first->lexeme;
}

bool
skx_lexicon_next(SkxLexicon *lexicon, SkxLexiconTerm *term)
{
	const SkxLexeme *next = skx_lexicon_peek(lexicon);
	SkxLexeme	lexeme = {lexicon->bytes, 0};

	if (next == NULL)
		return false;
	lexeme.len = next->len;
	memcpy(lexicon->bytes, next->bytes, next->len);
	if (term != NULL)
	{
		memset(term, 0, sizeof(*term));
		term->lexeme = lexeme;
	}
	do
	{
		SkxLexiconInput *in = lexicon->first;

		if (term != NULL)
			skx_lexicon_add_counts(in, term);
		skx_lexicon_replace_first(lexicon, skx_lexicon_next_of(lexicon, in));
	} while (lexicon->first != NULL &&
			 skx_column_compare_lexeme(&lexicon->first->lexeme, &lexeme) == 0);
	return true;
}

/* Returns how many postings of a term in the segment have no positions. */
static uint64
skx_lexicon_segment_no_positions(SkxSegment *seg, const SkxLexeme *lexeme)
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

uint64
skx_lexicon_count_no_positions(const SkxLexicon *lexicon,
							   const SkxLexeme *lexeme)
{
	uint64		n = 0;
	int			i;
	int			k;

	for (i = 0; i < lexicon->nsources && lexicon->is_open; i++)
	{
		SkxSnapshotReader *reader = lexicon->sources[i].reader;

		for (k = 0; k < reader->nsegments; k++)
			n += skx_lexicon_segment_no_positions(reader->segments[k], lexeme);
	}
	return n;
}

void
skx_lexicon_close(SkxLexicon *lexicon)
{
	int			i;

	for (i = 1; i < lexicon->ninputs; i++)
		skx_segment_walk_end(lexicon->inputs[i].walk);
	for (i = 0; i < lexicon->nsources && lexicon->is_open; i++)
		skx_snapshot_close(lexicon->sources[i].reader);
}
