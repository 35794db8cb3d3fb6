/*
 * invert_merge.c
 *	  Merges runs, term by term.
 *
 * Terms come out of a heap of cursors.  Within a term, the runs of one source
 * follow one another.  Sources alternate by stretches of documents: the source
 * that is ahead goes on to the end of its stretch, because no document of
 * another source lies inside.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "write/invert/invert_internal.h"

/* The current term in the runs of one source. */
typedef struct SkxRunStream
{
	SkxRunCursor **cursors;		/* in the order of their documents */
	int			n;				/* number of cursors that are left */
	const SkxDocNumberMap *map;
	const SkxDocNumberRange *doc_range; /* of the next posting */
	uint32		range_end;		/* first local number after the stretch */
	uint32		last_doc;		/* local number of the posting before */
	uint32		next_doc;		/* final number of the next posting */
} SkxRunStream;

struct SkxRunMerge
{
	const SkxDocNumberMap *maps;
	SkxDocNumberMap identity;	/* used if there are no maps */
	SkxRunCursor **heap;		/* heap with the first term on top */
	int			nheap;
	SkxRunCursor **term_cursors;	/* cursors on the current term */
	int			nterm_cursors;
	SkxRunStream *streams;
	int			nstreams;		/* streams with postings left */
};

static const SkxDocNumberRange skx_invert_identity = {0, 0};
static const uint32 skx_invert_identity_index = 0;

static inline int
skx_invert_merge_compare(const SkxRunCursor *a, const SkxRunCursor *b)
{
	int			order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix ? -1 : 1;
	order = memcmp(a->lexeme, b->lexeme, Min(a->term.len, b->term.len));
	return order != 0 ? order : (int) a->term.len - (int) b->term.len;
}

/*
 * Returns true if `a` leaves the heap before `b`.  If both have the same term,
 * the earlier run of the earlier source does.
 */
static inline bool
skx_invert_merge_before(const SkxRunCursor *a, const SkxRunCursor *b)
{
	int			order = skx_invert_merge_compare(a, b);

	if (order == 0)
		order = a->source - b->source;
	if (order == 0)
		order = a->number - b->number;
	return order < 0;
}

static void
skx_invert_heap_add(SkxRunMerge *m, SkxRunCursor *c)
{
	int			at = m->nheap++;

	while (at > 0)
	{
		int			parent = (at - 1) / 2;

		if (!skx_invert_merge_before(c, m->heap[parent]))
			break;
		m->heap[at] = m->heap[parent];
		at = parent;
	}
	m->heap[at] = c;
}

static SkxRunCursor *
skx_invert_heap_remove(SkxRunMerge *m)
{
	SkxRunCursor *first = m->heap[0];
	SkxRunCursor *c = m->heap[--m->nheap];
	int			at = 0;

	for (;;)
	{
		int			child = 2 * at + 1;

		if (child >= m->nheap)
			break;
		if (child + 1 < m->nheap &&
			skx_invert_merge_before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!skx_invert_merge_before(m->heap[child], c))
			break;
		m->heap[at] = m->heap[child];
		at = child;
	}
	m->heap[at] = c;
	return first;
}

int
skx_invert_merge_fanin(Size memory)
{
	Size		fan = memory / SKX_RUN_BUFFER_MIN;

	return Min(Max(fan, SKX_RUN_FANIN_MIN), SKX_RUN_FANIN_MAX);
}

uint32
skx_invert_merge_buffer(Size memory, int n)
{
	Size		buffer = memory / n;

	return Min(Max(buffer, SKX_RUN_BUFFER_MIN), SKX_RUN_BUFFER_MAX);
}

SkxRunMerge *
skx_invert_merge_begin(SkxRunCursor **cursors, int n,
					   const SkxDocNumberMap *maps, uint32 ndocs)
{
	SkxRunMerge *m = palloc0(sizeof(SkxRunMerge));
	int			i;

	m->maps = maps;
	m->identity.ranges = &skx_invert_identity;
	m->identity.nranges = 1;
	m->identity.index = &skx_invert_identity_index;
	m->identity.shift = 31;
	m->identity.ndocs = ndocs;
	m->heap = palloc(n * sizeof(SkxRunCursor *));
	m->term_cursors = palloc(n * sizeof(SkxRunCursor *));
	m->streams = palloc(n * sizeof(SkxRunStream));
	for (i = 0; i < n; i++)
	{
		if (skx_invert_cursor_next(cursors[i]))
			skx_invert_heap_add(m, cursors[i]);
	}
	return m;
}

void
skx_invert_merge_end(SkxRunMerge *m)
{
	pfree(m->heap);
	pfree(m->term_cursors);
	pfree(m->streams);
	pfree(m);
}

/*
 * Streams
 */

void
skx_invert_map_index(SkxDocNumberMap *map, uint32 ndocs)
{
	uint32		most = Max(map->nranges, 1);
	uint32	   *index;
	uint32		at = 0;
	uint32		i;

	map->ndocs = ndocs;
	/* about two to four entries for a stretch */
	map->shift = 0;
	while (ndocs >> map->shift >= 4 * most)
		map->shift++;
	index = palloc(((ndocs >> map->shift) + 1) * sizeof(uint32));
	for (i = 0; i <= ndocs >> map->shift; i++)
	{
		while (at + 1 < map->nranges &&
			   map->ranges[at + 1].source_doc <= i << map->shift)
			at++;
		index[i] = at;
	}
	map->index = index;
}

/* Finds the stretch of local document `doc`. */
static inline void
skx_invert_stream_find_range(SkxRunStream *s, uint32 doc)
{
	const SkxDocNumberMap *map = s->map;
	uint32		at;

	if (unlikely(doc >= map->ndocs))
		skx_invert_file_damaged("a run has a document that is not there");
	at = map->index[doc >> map->shift];
	while (at + 1 < map->nranges && map->ranges[at + 1].source_doc <= doc)
		at++;
	s->doc_range = &map->ranges[at];
	s->range_end = at + 1 < map->nranges ? s->doc_range[1].source_doc :
		map->ndocs;
}

/* Reads the document of the next posting, without using the posting up. */
static void
skx_invert_stream_peek_doc(SkxRunStream *s)
{
	SkxRunCursor *c = s->cursors[0];
	uint64		v;
	uint32		doc;

	skx_invert_cursor_fill_postings(c, SKX_VARINT64_MAX);
	skx_invert_varint_get(c->next_byte, &v);
	doc = s->last_doc + (uint32) (v >> 2) + 1;
	if (doc >= s->range_end)
		skx_invert_stream_find_range(s, doc);
	s->next_doc = doc - s->doc_range->source_doc + s->doc_range->result_doc;
}

static void
skx_invert_stream_begin(SkxRunStream *s, SkxRunCursor **cursors, int n,
						const SkxDocNumberMap *map)
{
	s->cursors = cursors;
	s->n = n;
	s->map = map;
	s->doc_range = map->ranges;
	s->range_end = 0;
	s->last_doc = SKX_NO_DOC;
	skx_invert_stream_peek_doc(s);
}

/*
 * Decodes the positions of a posting, and appends them to those of the batch.
 */
static inline uint8 *
skx_invert_positions(SkxPostingBatch *batch, uint8 *p, uint32 tf,
					 bool labelled)
{
	uint16	   *to = batch->positions + batch->npositions;
	uint32		position = 0;
	uint64		v;
	uint32		i;

	for (i = 0; i < tf; i++)
	{
		p = skx_invert_varint_get(p, &v);
		if (labelled)
		{
			position = (position + (uint32) (v >> 2) + 1) & 0x3FFF;
			to[i] = position | (v & 3) << 14;
		}
		else
		{
			position = (position + (uint32) v + 1) & 0x3FFF;
			to[i] = position;
		}
	}
	batch->npositions += tf;
	batch->has_labels |= labelled;
	return p;
}

/*
 * Adds postings to the batch, up to the end of the stretch, the run or the
 * batch.
 */
static void
skx_invert_stream_add_postings(SkxRunStream *s, SkxPostingBatch *batch)
{
	SkxRunCursor *c = s->cursors[0];
	uint32		final = s->doc_range->result_doc - s->doc_range->source_doc;

	while (batch->n < SKX_SUBBLOCK && c->postings_left > 0)
	{
		uint8	   *p;
		uint64		v;
		uint64		tf;
		uint32		form;
		uint32		doc;

		skx_invert_cursor_fill_postings(c, SKX_RUN_POSTING_BYTES_MAX);
		p = skx_invert_varint_get(c->next_byte, &v);
		doc = s->last_doc + (uint32) (v >> 2) + 1;
		if (doc >= s->range_end)
			break;
		form = v & 3;
		tf = form != 1;
		if (form >= 2)
			p = skx_invert_varint_get(p, &tf);
		if (unlikely(tf > SKX_TF_MAX))
			skx_invert_file_damaged("a posting in a run has too many positions");
		p = skx_invert_positions(batch, p, (uint32) tf, form == 3);
		batch->docs[batch->n] = doc + final;
		batch->tf[batch->n++] = (uint16) tf;
		s->last_doc = doc;
		skx_invert_cursor_consume(c, p);
	}
}

/*
 * Does skx_invert_stream_add_postings(), and moves to the next run at the end
 * of one. Returns false if the source has no more postings.
 */
static bool
skx_invert_stream_next_postings(SkxRunStream *s, SkxPostingBatch *batch)
{
	skx_invert_stream_add_postings(s, batch);
	if (s->cursors[0]->postings_left == 0)
	{
		s->cursors++;
		s->last_doc = SKX_NO_DOC;
		if (--s->n == 0)
			return false;
	}
	skx_invert_stream_peek_doc(s);
	return true;
}

/*
 * Terms
 */

/* Adds up the term's totals over all cursors on it. */
static void
skx_invert_merge_sum_totals(SkxRunMerge *m, SkxRunTerm *sum)
{
	int			i;

	*sum = m->term_cursors[0]->term;
	for (i = 1; i < m->nterm_cursors; i++)
	{
		const SkxRunTerm *term = &m->term_cursors[i]->term;

		sum->nbytes += term->nbytes;
		sum->npositions += term->npositions;
		sum->df += term->df;
		sum->last_doc = term->last_doc;
		sum->flags |= term->flags;
	}
}

/* Makes a stream of the runs of each source. */
static void
skx_invert_merge_streams(SkxRunMerge *m)
{
	int			first;
	int			end;

	m->nstreams = 0;
	for (first = 0; first < m->nterm_cursors; first = end)
	{
		int			source = m->term_cursors[first]->source;

		for (end = first + 1; end < m->nterm_cursors &&
			 m->term_cursors[end]->source == source; end++)
			 /* all of the source */ ;
		skx_invert_stream_begin(&m->streams[m->nstreams++],
								m->term_cursors + first, end - first,
								m->maps != NULL ?
								&m->maps[source] : &m->identity);
	}
}

bool
skx_invert_merge_next(SkxRunMerge *m, SkxRunTerm *term, const char **lexeme)
{
	int			i;

	for (i = 0; i < m->nterm_cursors; i++)
	{
		if (skx_invert_cursor_next(m->term_cursors[i]))
			skx_invert_heap_add(m, m->term_cursors[i]);
	}
	m->nterm_cursors = 0;
	if (m->nheap == 0)
		return false;
	CHECK_FOR_INTERRUPTS();
	do
	{
		m->term_cursors[m->nterm_cursors++] = skx_invert_heap_remove(m);
	} while (m->nheap > 0 &&
			 skx_invert_merge_compare(m->term_cursors[0], m->heap[0]) == 0);
	skx_invert_merge_sum_totals(m, term);
	skx_invert_merge_streams(m);
	*lexeme = m->term_cursors[0]->lexeme;
	return true;
}

bool
skx_invert_merge_postings(SkxRunMerge *m, SkxPostingBatch *batch)
{
	batch->n = 0;
	batch->npositions = 0;
	batch->has_labels = false;
	while (batch->n < SKX_SUBBLOCK && m->nstreams > 0)
	{
		int			first = 0;
		int			i;

		for (i = 1; i < m->nstreams; i++)
		{
			if (m->streams[i].next_doc < m->streams[first].next_doc)
				first = i;
		}
		if (!skx_invert_stream_next_postings(&m->streams[first], batch))
			m->streams[first] = m->streams[--m->nstreams];
	}
	return batch->n > 0;
}

/*
 * Postings are copied as they are, except for the first gap of each run but
 * the first: it has to count from the last document of the run before.
 */
void
skx_invert_merge_copy_postings(SkxRunMerge *m, const SkxRunTerm *term,
							   const char *lexeme, SkxRuns *to)
{
	uint8		gaps[SKX_RUN_FANIN_MAX][SKX_VARINT64_MAX];
	uint8		sizes[SKX_RUN_FANIN_MAX];
	SkxRunTerm	sum = *term;
	int			i;

	Assert(m->nstreams == 1);
	for (i = 0; i < m->nterm_cursors; i++)
	{
		SkxRunCursor *c = m->term_cursors[i];
		uint8	   *p;
		uint64		v;

		skx_invert_cursor_fill_postings(c, SKX_VARINT64_MAX);
		p = skx_invert_varint_get(c->next_byte, &v);
		if (i > 0)
		{
			uint64		before;

			before = ((uint64) m->term_cursors[i - 1]->term.last_doc + 1) << 2;
			if (v < before)
				skx_invert_file_damaged("documents of runs do not ascend");
			v -= before;
		}
		sizes[i] = skx_codec_varint64_put(gaps[i], v) - gaps[i];
		sum.nbytes -= (p - c->next_byte) - sizes[i];
		skx_invert_cursor_consume(c, p);
	}
	skx_invert_run_term(to, &sum, lexeme);
	for (i = 0; i < m->nterm_cursors; i++)
	{
		SkxRunCursor *c = m->term_cursors[i];

		skx_invert_run_write(to, gaps[i], sizes[i]);
		while (c->postings_left > 0)
		{
			uint32		size;

			skx_invert_cursor_fill_postings(c, 1);
			size = Min(c->postings_left, c->end - c->next_byte);
			skx_invert_run_write(to, c->next_byte, size);
			c->next_byte += size;
			c->postings_left -= size;
		}
	}
	m->nstreams = 0;
}

void
skx_invert_merge_runs_into(SkxRuns *runs, int first, int n, SkxRuns *to,
						   const SkxRunProgress *progress)
{
	SkxRunCursor **cursors = palloc(n * sizeof(SkxRunCursor *));
	uint32		buffer = skx_invert_merge_buffer(runs->memory, n);
	SkxRunMerge *m;
	SkxRunTerm	term;
	const char *lexeme;
	int			i;

	for (i = 0; i < n; i++)
		cursors[i] = skx_invert_cursor_open(runs->file,
											&runs->runs[first + i], 0, i,
											buffer, progress);
	m = skx_invert_merge_begin(cursors, n, NULL, SKX_DOC_MAX + 1);
	while (skx_invert_merge_next(m, &term, &lexeme))
		skx_invert_merge_copy_postings(m, &term, lexeme, to);
	skx_invert_merge_end(m);
	for (i = 0; i < n; i++)
		skx_invert_cursor_close(cursors[i]);
	pfree(cursors);
}
