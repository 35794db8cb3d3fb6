/*
 * facets_words.c
 *	  How many of the rows that match have a word, for many words one after the
 *	  other.
 *
 * The rows of segments are found once, as bits, and each word's lists are
 * intersected with them.  Of pending documents the words are counted as they
 * come.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"

struct SkxFacetWords
{
	MemoryContext context;		/* owns all that follows */
	SkxLexeme	prefix;
	SkxSnapshotReader *segments;	/* all of the view, open */
	SkxFacetInput *inputs;		/* one for each */
	int			current;		/* the segment that is counted */
	SkxFacetHash *pending;
	uint64		rows;
};

uint64
skx_facets_words_room(void)
{
	return skx_facets_max_bits();
}

/* Returns the input of a segment; they come in the order of the view. */
static SkxFacetInput *
skx_facets_words_input(SkxFacetWords *w, const SkxSegment *seg)
{
	while (w->inputs[w->current].seg->header.segment != seg->header.segment)
	{
		w->current++;
		Assert(w->current < w->segments->nsegments);
	}
	return &w->inputs[w->current];
}

static void
skx_facets_words_receive(SkxSegment *seg, const uint32 *docs, int n, void *arg)
{
	SkxFacetInput *input = skx_facets_words_input(arg, seg);
	int			i;

	for (i = 0; i < n; i++)
		skx_bitset_set(input->bits, docs[i]);
	input->n += n;
}

static void
skx_facets_words_undo(SkxSegment *seg, void *arg)
{
	SkxFacetInput *input = skx_facets_words_input(arg, seg);

	memset(input->bits, 0, sizeof(uint64) * SKX_BITSET_WORDS((Size) input->to));
	input->n = 0;
}

static void
skx_facets_words_receive_pending(TSVector document, const ItemPointerData *tid,
								 void *arg)
{
	SkxFacetWords *w = arg;
	int			i;

	for (i = 0; i < document->size; i++)
	{
		const WordEntry *entry = &ARRPTR(document)[i];
		SkxLexeme	word = {STRPTR(document) + entry->pos, entry->len};

		CHECK_FOR_INTERRUPTS();
		if (word.len >= w->prefix.len &&
			memcmp(word.bytes, w->prefix.bytes, w->prefix.len) == 0)
			skx_facets_hash_add(w->pending, word, 1, 0);
	}
}

static void
skx_facets_words_begin_inputs(SkxFacetWords *w)
{
	int			i;

	w->inputs = palloc0(sizeof(SkxFacetInput) * (w->segments->nsegments + 1));
	for (i = 0; i < w->segments->nsegments; i++)
	{
		SkxFacetInput *input = &w->inputs[i];

		input->seg = w->segments->segments[i];
		input->to = input->seg->header.ndocs;
		input->bits = palloc_extended(sizeof(uint64) *
									  SKX_BITSET_WORDS((Size) input->to),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		input->cursor = skx_cursor_create(input->seg, SKX_CURSOR_LEAD);
	}
}

SkxFacetWords *
skx_facets_words_begin(const SkxRequest *request, const SkxLexeme *prefix,
					   uint64 *room, SkxCountWork *work)
{
	SkxFacetWords *w = palloc0(sizeof(SkxFacetWords));
	SkxCountReceiver taker = {0};
	uint64		ndocs = 0;
	int			i;

	w->context = CurrentMemoryContext;
	w->prefix = *prefix;
	w->segments = skx_snapshot_open(request->index, request->view);
	(void) skx_snapshot_next_segments(w->segments, SKX_SNAPSHOT_ALL_SEGMENTS);
	for (i = 0; i < w->segments->nsegments; i++)
		ndocs += w->segments->segments[i]->header.ndocs;
	if (ndocs > *room)
	{
		skx_snapshot_close(w->segments);
		return NULL;
	}
	*room -= ndocs;
	skx_facets_words_begin_inputs(w);
	w->pending = skx_facets_hash_create();
	taker.max_undo_docs = PG_UINT32_MAX;
	taker.receive_documents = skx_facets_words_receive;
	taker.undo_segment = skx_facets_words_undo;
	taker.receive_pending = skx_facets_words_receive_pending;
	taker.arg = w;
	(void) skx_count_rows(request, &taker, NULL, work, &w->rows);
	return w;
}

uint64
skx_facets_words_rows(const SkxFacetWords *w)
{
	return w->rows;
}

uint64
skx_facets_words_count(SkxFacetWords *w, const SkxLexeme *word)
{
	MemoryContext old = MemoryContextSwitchTo(w->context);
	uint64		n = skx_facets_hash_count(w->pending, word);
	uint32		first;
	int			i;

	for (i = 0; i < w->segments->nsegments; i++)
	{
		SkxFacetInput *input = &w->inputs[i];

		if (input->n > 0 && skx_segment_find(input->seg, word->bytes,
											 word->len, &input->term))
			n += skx_facets_count_term(input, &first);
	}
	MemoryContextSwitchTo(old);
	return n;
}

void
skx_facets_words_end(SkxFacetWords *w)
{
	int			i;

	for (i = 0; i < w->segments->nsegments; i++)
		skx_cursor_close(w->inputs[i].cursor);
	skx_facets_hash_free(w->pending);
	skx_snapshot_close(w->segments);
}
