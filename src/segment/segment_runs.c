/*
 * segment_runs.c
 *	  Sorted runs of inverted documents, and their merge.
 *
 * A run holds the terms of consecutive documents in lexeme order, each as an
 * SkxRunTerm, the lexeme and the bytes of its postings.  Runs lie one after
 * the other in a temporary file; when all documents fit into memory there is
 * none, and the inverter itself is the only run.
 *
 * Documents ascend from run to run, so the postings of a term are those of its
 * runs one after the other.  When there are more runs than the memory has
 * buffers for, groups of neighbours become longer runs first.
 */
#include "postgres.h"

#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "segment/segment_internal.h"

/* Buffer of a cursor: the smallest, and the largest that still pays. */
#define SKX_RUN_BUFFER_MIN	(32 * 1024)
#define SKX_RUN_BUFFER_MAX	(512 * 1024)

/* Runs merged at once, at least and at most. */
#define SKX_RUN_FAN_MIN		8
#define SKX_RUN_FAN_MAX		500

typedef struct SkxRun
{
	int			fileno;			/* where it starts */
	off_t		offset;
	uint64		nbytes;
} SkxRun;

struct SkxRuns
{
	Size		memory;
	MemoryContext context;
	BufFile    *file;
	SkxRun	   *runs;
	int			nruns;
	int			runs_size;
	uint64		nbytes;			/* of all runs */
	uint64		total;			/* to be read by the merges, as far as known */
	uint64		done;
	void		(*progress) (int phase, uint64 done, uint64 total);
};

/* Reads one run. */
typedef struct SkxRunCursor
{
	SkxRuns    *owner;
	int			number;			/* order among the runs */
	SkxInverter *inv;			/* the run is this inverter's, or */
	int			fileno;			/* where to read on in the file */
	off_t		offset;
	uint64		file_left;		/* bytes of the run not yet read */

	uint8	   *buffer;
	uint32		buffer_size;
	uint8	   *p;				/* bytes not yet used ... */
	uint8	   *end;			/* ... up to here */

	SkxRunTerm	term;
	char		lexeme[SKX_LEXEME_MAX];
	uint64		left;			/* bytes of its postings not yet in the buffer,
								 * or behind p in it */
} SkxRunCursor;

SkxRuns *
skx_segment_runs_create(Size memory)
{
	SkxRuns    *runs = palloc0(sizeof(SkxRuns));

	runs->memory = memory;
	runs->context = CurrentMemoryContext;
	runs->runs_size = 16;
	runs->runs = palloc(runs->runs_size * sizeof(SkxRun));
	return runs;
}

uint64
skx_segment_runs_bytes(const SkxRuns *runs)
{
	return runs->nbytes;
}

/*
 * Writing
 */

static void
skx_segment_run_write(SkxRuns *runs, const void *bytes, Size n)
{
	BufFileWrite(runs->file, unconstify(void *, bytes), n);
	runs->runs[runs->nruns - 1].nbytes += n;
	runs->nbytes += n;
}

/* Begins a run at the end of `file`. */
static void
skx_segment_run_begin(SkxRuns *runs)
{
	SkxRun	   *run;

	if (runs->nruns == runs->runs_size)
	{
		runs->runs_size *= 2;
		runs->runs = repalloc(runs->runs, runs->runs_size * sizeof(SkxRun));
	}
	run = &runs->runs[runs->nruns++];
	run->nbytes = 0;
	BufFileTell(runs->file, &run->fileno, &run->offset);
}

void
skx_segment_runs_spill(SkxRuns *runs, SkxInverter *inv)
{
	SkxRunTerm	term;
	const char *lexeme;
	uint8		bytes[BLCKSZ];
	uint32		n;

	if (runs->file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(runs->context);

		runs->file = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	skx_segment_run_begin(runs);
	while (skx_segment_invert_next(inv, &term, &lexeme))
	{
		CHECK_FOR_INTERRUPTS();
		skx_segment_run_write(runs, &term, sizeof(term));
		skx_segment_run_write(runs, lexeme, term.len);
		while ((n = skx_segment_invert_read(inv, bytes, sizeof(bytes))) > 0)
			skx_segment_run_write(runs, bytes, n);
	}
}

/*
 * Reading
 */

/* Fills the buffer behind what is left in it. */
static void
skx_segment_cursor_fill(SkxRunCursor *c)
{
	uint32		kept = c->end - c->p;
	uint32		room;
	uint32		n;

	memmove(c->buffer, c->p, kept);
	c->p = c->buffer;
	c->end = c->buffer + kept;
	room = c->buffer_size - kept;
	if (c->inv != NULL)
	{
		c->end += skx_segment_invert_read(c->inv, c->end, room);
		return;
	}
	n = Min(room, c->file_left);
	if (n == 0)
		return;
	if (BufFileSeek(c->owner->file, c->fileno, c->offset, SEEK_SET) != 0 ||
		BufFileRead(c->owner->file, c->end, n) != n)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index build: %m")));
	BufFileTell(c->owner->file, &c->fileno, &c->offset);
	c->end += n;
	c->file_left -= n;
	c->owner->done += n;
	if (c->owner->progress)
		c->owner->progress(SKX_BUILD_MERGE, c->owner->done, c->owner->total);
}

/* Moves to the next term, whose postings before have all been used. */
static bool
skx_segment_cursor_next(SkxRunCursor *c)
{
	const char *lexeme;

	Assert(c->left == 0);
	if (c->inv != NULL)
	{
		c->p = c->end = c->buffer;
		if (!skx_segment_invert_next(c->inv, &c->term, &lexeme))
			return false;
		memcpy(c->lexeme, lexeme, c->term.len);
	}
	else
	{
		if (c->end - c->p < sizeof(SkxRunTerm) + SKX_LEXEME_MAX)
			skx_segment_cursor_fill(c);
		if (c->p == c->end)
			return false;
		memcpy(&c->term, c->p, sizeof(SkxRunTerm));
		c->p += sizeof(SkxRunTerm);
		memcpy(c->lexeme, c->p, c->term.len);
		c->p += c->term.len;
	}
	c->left = c->term.nbytes;
	return true;
}

/* Makes at least `n` bytes of postings available, or all there are. */
static inline void
skx_segment_cursor_need(SkxRunCursor *c, uint32 n)
{
	if (c->end - c->p < Min(n, c->left))
		skx_segment_cursor_fill(c);
}

static inline uint8 *
skx_segment_run_varint(uint8 *p, uint64 *v)
{
	uint64		value = *p++;
	int			shift = 7;

	if (value >= 0x80)
	{
		value &= 0x7F;
		for (;;)
		{
			value |= (uint64) (*p & 0x7F) << shift;
			if (*p++ < 0x80)
				break;
			shift += 7;
		}
	}
	*v = value;
	return p;
}

/* Decodes the next posting; the one before had document posting->doc. */
static inline void
skx_segment_cursor_posting(SkxRunCursor *c, SkxPosting *posting)
{
	uint8	   *p;
	uint64		v;
	uint32		form;
	uint32		position = 0;
	uint32		i;

	skx_segment_cursor_need(c, SKX_RUN_POSTING_MAX);
	p = skx_segment_run_varint(c->p, &v);
	form = v & 3;
	posting->doc += (uint32) (v >> 2) + 1;
	posting->labelled = form == 3;
	v = form != 1;
	if (form >= 2)
		p = skx_segment_run_varint(p, &v);
	posting->tf = (uint16) v;
	for (i = 0; i < posting->tf; i++)
	{
		p = skx_segment_run_varint(p, &v);
		if (form == 3)
		{
			position = (position + (uint32) (v >> 2) + 1) & 0x3FFF;
			posting->positions[i] = position | (v & 3) << 14;
		}
		else
		{
			position = (position + (uint32) v + 1) & 0x3FFF;
			posting->positions[i] = position;
		}
	}
	c->left -= p - c->p;
	c->p = p;
}

/*
 * Merging
 */

static int
skx_segment_cursor_compare(const SkxRunCursor *a, const SkxRunCursor *b)
{
	int			order = memcmp(a->lexeme, b->lexeme,
							   Min(a->term.len, b->term.len));

	return order != 0 ? order : (int) a->term.len - (int) b->term.len;
}

/* The heap's largest is the term that comes first, of the earliest run. */
static int
skx_segment_cursor_order(Datum a, Datum b, void *arg)
{
	const SkxRunCursor *x = (const SkxRunCursor *) DatumGetPointer(a);
	const SkxRunCursor *y = (const SkxRunCursor *) DatumGetPointer(b);
	int			order = skx_segment_cursor_compare(x, y);

	return order != 0 ? -order : y->number - x->number;
}

static SkxRunCursor *
skx_segment_cursor_open(SkxRuns *runs, int number, uint32 buffer_size)
{
	SkxRunCursor *c = palloc0(sizeof(SkxRunCursor));

	c->owner = runs;
	c->number = number;
	c->fileno = runs->runs[number].fileno;
	c->offset = runs->runs[number].offset;
	c->file_left = runs->runs[number].nbytes;
	c->buffer_size = buffer_size;
	c->buffer = palloc(buffer_size);
	c->p = c->end = c->buffer;
	return c;
}

static void
skx_segment_cursor_close(SkxRunCursor *c)
{
	pfree(c->buffer);
	pfree(c);
}

/* What the cursors that stand on one term know of it together. */
static void
skx_segment_merge_sum(SkxRunCursor **same, int n, SkxRunTerm *sum)
{
	int			i;

	*sum = same[0]->term;
	for (i = 1; i < n; i++)
	{
		sum->nbytes += same[i]->term.nbytes;
		sum->npositions += same[i]->term.npositions;
		sum->df += same[i]->term.df;
		sum->last = same[i]->term.last;
		sum->flags |= same[i]->term.flags;
	}
}

/* Sends a term on to the writer. */
static void
skx_segment_merge_encode(SkxRunCursor **same, int n, SkxTermWriter *w)
{
	SkxPosting	posting;
	SkxRunTerm	sum;
	int			i;

	skx_segment_merge_sum(same, n, &sum);
	skx_segment_term_begin(w, same[0]->lexeme, sum.len, sum.df,
						   sum.npositions, sum.flags);
	for (i = 0; i < n; i++)
	{
		posting.doc = SKX_NO_DOC;
		while (same[i]->left > 0)
		{
			skx_segment_cursor_posting(same[i], &posting);
			skx_segment_term_posting(w, &posting);
		}
	}
	skx_segment_term_end(w);
}

/*
 * Sends a term on to the run being written: the first gap of each part but
 * the first counts from the part before.
 */
static void
skx_segment_merge_copy(SkxRunCursor **same, int n, SkxRuns *runs)
{
	uint8		gaps[SKX_RUN_FAN_MAX][SKX_VARINT64_MAX];
	uint8		sizes[SKX_RUN_FAN_MAX];
	SkxRunTerm	sum;
	int			i;

	skx_segment_merge_sum(same, n, &sum);
	for (i = 0; i < n; i++)
	{
		SkxRunCursor *c = same[i];
		uint8	   *p;
		uint64		v;

		skx_segment_cursor_need(c, SKX_VARINT64_MAX);
		p = skx_segment_run_varint(c->p, &v);
		if (i > 0)
			v -= ((uint64) same[i - 1]->term.last + 1) << 2;
		sizes[i] = skx_codec_varint64_put(gaps[i], v) - gaps[i];
		sum.nbytes -= (p - c->p) - sizes[i];
		c->left -= p - c->p;
		c->p = p;
	}
	skx_segment_run_write(runs, &sum, sizeof(sum));
	skx_segment_run_write(runs, same[0]->lexeme, sum.len);
	for (i = 0; i < n; i++)
	{
		SkxRunCursor *c = same[i];

		skx_segment_run_write(runs, gaps[i], sizes[i]);
		while (c->left > 0)
		{
			uint32		size;

			skx_segment_cursor_need(c, 1);
			size = Min(c->left, c->end - c->p);
			skx_segment_run_write(runs, c->p, size);
			c->p += size;
			c->left -= size;
		}
	}
}

/* Merges cursors into the writer, or into the run being written. */
static void
skx_segment_merge(SkxRunCursor **cursors, int n, SkxTermWriter *w,
				  SkxRuns *out)
{
	binaryheap *heap = binaryheap_allocate(n, skx_segment_cursor_order, NULL);
	SkxRunCursor **same = palloc(n * sizeof(SkxRunCursor *));
	int			i;

	for (i = 0; i < n; i++)
	{
		if (skx_segment_cursor_next(cursors[i]))
			binaryheap_add_unordered(heap, PointerGetDatum(cursors[i]));
	}
	binaryheap_build(heap);
	while (!binaryheap_empty(heap))
	{
		int			nsame = 0;

		CHECK_FOR_INTERRUPTS();
		do
		{
			same[nsame++] = (SkxRunCursor *)
				DatumGetPointer(binaryheap_remove_first(heap));
		} while (!binaryheap_empty(heap) &&
				 skx_segment_cursor_compare(same[0], (SkxRunCursor *)
											DatumGetPointer(binaryheap_first(heap))) == 0);
		if (w != NULL)
			skx_segment_merge_encode(same, nsame, w);
		else
			skx_segment_merge_copy(same, nsame, out);
		for (i = 0; i < nsame; i++)
		{
			if (skx_segment_cursor_next(same[i]))
				binaryheap_add(heap, PointerGetDatum(same[i]));
		}
	}
	pfree(same);
	binaryheap_free(heap);
}

/* Merges runs [first, first + n) of `runs` into the writer or into a run. */
static void
skx_segment_merge_runs(SkxRuns *runs, int first, int n, SkxTermWriter *w,
					   SkxRuns *out)
{
	SkxRunCursor **cursors = palloc(n * sizeof(SkxRunCursor *));
	Size		buffer = runs->memory / n;
	int			i;

	buffer = Min(Max(buffer, SKX_RUN_BUFFER_MIN), SKX_RUN_BUFFER_MAX);
	for (i = 0; i < n; i++)
		cursors[i] = skx_segment_cursor_open(runs, first + i, buffer);
	skx_segment_merge(cursors, n, w, out);
	for (i = 0; i < n; i++)
		skx_segment_cursor_close(cursors[i]);
	pfree(cursors);
}

/* Turns groups of `fan` neighbouring runs into one run each. */
static void
skx_segment_runs_reduce(SkxRuns *runs, int fan)
{
	SkxRuns    *longer = skx_segment_runs_create(runs->memory);
	BufFile    *file = runs->file;
	int			first;

	longer->file = BufFileCreateTemp(false);
	for (first = 0; first < runs->nruns; first += fan)
	{
		skx_segment_run_begin(longer);
		skx_segment_merge_runs(runs, first, Min(fan, runs->nruns - first),
							   NULL, longer);
	}
	BufFileClose(file);
	pfree(runs->runs);
	runs->file = longer->file;
	runs->runs = longer->runs;
	runs->nruns = longer->nruns;
	runs->runs_size = longer->runs_size;
	runs->nbytes = longer->nbytes;
	pfree(longer);
}

void
skx_segment_runs_merge(SkxRuns *runs, SkxInverter *inv, SkxTermWriter *w,
					   void (*progress) (int phase, uint64 done,
										 uint64 total))
{
	int			fan = runs->memory / SKX_RUN_BUFFER_MIN;
	int			left;

	fan = Min(Max(fan, SKX_RUN_FAN_MIN), SKX_RUN_FAN_MAX);
	if (runs->nruns == 0)
	{
		SkxRunCursor *c = palloc0(sizeof(SkxRunCursor));

		c->owner = runs;
		c->inv = inv;
		c->buffer_size = SKX_RUN_BUFFER_MIN;
		c->buffer = palloc(c->buffer_size);
		skx_segment_merge(&c, 1, w, NULL);
		skx_segment_cursor_close(c);
		return;
	}
	runs->progress = progress;
	for (left = runs->nruns; left > fan; left = (left + fan - 1) / fan)
		runs->total += runs->nbytes;
	runs->total += runs->nbytes;
	while (runs->nruns > fan)
		skx_segment_runs_reduce(runs, fan);
	skx_segment_merge_runs(runs, 0, runs->nruns, w, NULL);
	BufFileClose(runs->file);
	runs->file = NULL;
}
