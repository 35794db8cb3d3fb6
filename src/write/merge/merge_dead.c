/*
 * merge_dead.c
 *	  What the documents that a merge leaves out take from each term.
 *
 * Goes through all terms of a segment, and looks up its deleted documents in
 * each posting list.  If they are few, most of a long list is skipped.  Terms
 * that lose postings are noted in a temporary file, in the order in which the
 * merge comes to them.
 */
#include "postgres.h"

#include "index/column/column_value.h"
#include "index/cursor/cursor_sum.h"
#include "index/segment/segment_maint.h"
#include "storage/buffile.h"
#include "support/bitset/bitset.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"
#include "write/merge/merge_internal.h"

/* Records of a segment that are read at once. */
#define SKX_DEAD_BATCH_RECORDS		64

/* Name of the file in a file set. */
#define SKX_DEAD_FILE		"dead"

/* The part of the file with the terms of one segment. */
typedef struct SkxDeadFileRange
{
	uint64		first;			/* records before it */
	uint64		n;
} SkxDeadFileRange;

typedef struct SkxDeadReader
{
	SkxDeadFileRange file_range;
	uint64		next;			/* number of the next record to read */
	SkxDeadTerm *batch;
	int			n;
	int			i;
} SkxDeadReader;

struct SkxDeadTerms
{
	MemoryContext context;
	FileSet    *files;			/* NULL: the file is only of this process */
	BufFile    *file;
	uint64		nrecords;		/* in the file */
	int			nruns;
	SkxDeadReader *runs;
};

/* One segment being counted. */
typedef struct SkxDeadScan
{
	SkxSegment *seg;
	const uint8 *deleted_bits;
	SkxCursor  *list;			/* for one term after the other */
	uint64		total_length;
} SkxDeadScan;

SkxDeadTerms *
skx_merge_dead_create(int nsegments, FileSet *files)
{
	SkxDeadTerms *d = palloc0(sizeof(SkxDeadTerms));

	d->context = CurrentMemoryContext;
	d->files = files;
	d->nruns = nsegments;
	d->runs = palloc0(nsegments * sizeof(SkxDeadReader));
	return d;
}

Size
skx_merge_dead_size(int nsegments)
{
	return nsegments * sizeof(SkxDeadFileRange);
}

void
skx_merge_dead_share(SkxDeadTerms *d, void *shared)
{
	SkxDeadFileRange *places = shared;
	int			i;

	for (i = 0; i < d->nruns; i++)
		places[i] = d->runs[i].file_range;
	if (d->file == NULL)
		return;
	BufFileExportFileSet(d->file);
	BufFileClose(d->file);
	d->file = NULL;
}

SkxDeadTerms *
skx_merge_dead_attach(int nsegments, FileSet *files, const void *shared)
{
	SkxDeadTerms *d = skx_merge_dead_create(nsegments, files);
	const SkxDeadFileRange *places = shared;
	bool		any = false;
	int			i;

	for (i = 0; i < nsegments; i++)
	{
		d->runs[i].file_range = places[i];
		any |= places[i].n > 0;
	}
	if (any)
		d->file = BufFileOpenFileSet(files, SKX_DEAD_FILE, O_RDONLY, false);
	return d;
}

/* Returns those of `flags` that live postings of the term have. */
static uint8
skx_merge_dead_flags(SkxDeadScan *s, const SkxTerm *term, uint8 flags)
{
	SkxCursor  *list = s->list;
	uint8		found = 0;

	skx_cursor_begin_term(list, term);
	while (found != flags && skx_cursor_next(list))
	{
		const SkxPostings *p = skx_cursor_labels(list);
		int			i;

		for (i = 0; i < p->n; i++)
		{
			if (skx_bitset_bytes_test(s->deleted_bits, p->docs[i]))
				continue;
			if (p->tf[i] == 0)
				found |= SKX_TERM_NO_POSITIONS;
			if ((p->labels[i] & ~(1 << SKX_LABEL_D)) != 0)
				found |= SKX_TERM_LABELS;
		}
	}
	return found;
}

uint64
skx_merge_dead_count(SkxDeadTerms *d, int which, SkxSegment *seg,
					 const uint8 *dead)
{
	SkxDeadScan *s = palloc0(sizeof(SkxDeadScan));
	SkxDeadReader *run = &d->runs[which];
	SkxTermWalk *walk = skx_segment_walk_begin(seg);
	MemoryContext old = MemoryContextSwitchTo(d->context);
	SkxTerm		term;
	const char *lexeme;
	int			len;
	uint64		length;

	if (d->file == NULL)
		d->file = d->files == NULL ? BufFileCreateTemp(false) :
			BufFileCreateFileSet(d->files, SKX_DEAD_FILE);
	MemoryContextSwitchTo(old);
	run->file_range.first = d->nrecords;
	s->seg = seg;
	s->deleted_bits = dead;
	s->list = skx_cursor_create(seg, SKX_CURSOR_PROBE);
	while (skx_segment_walk_next(walk, &term, &lexeme, &len))
	{
		SkxDeadTerm t = {0};
		SkxCursorSum sum = {0};

		skx_throttle_point();
		skx_cursor_begin_term(s->list, &term);
		t.df = skx_cursor_sum(s->list, s->deleted_bits, seg->header.ndocs,
							  &sum);
		if (t.df == 0)
			continue;
		t.npositions = sum.npositions;
		/* a value of a column does not count towards lengths */
		if (!skx_column_is_value(lexeme, len))
			s->total_length += sum.length;
		t.ordinal = term.ordinal;
		t.flags = term.flags & (SKX_TERM_LABELS | SKX_TERM_NO_POSITIONS);
		if (t.flags != 0 && t.df < term.df)
			t.flags = skx_merge_dead_flags(s, &term, t.flags);
		BufFileWrite(d->file, &t, sizeof(t));
		run->file_range.n++;
		d->nrecords++;
	}
	skx_cursor_close(s->list);
	skx_segment_walk_end(walk);
	length = s->total_length;
	pfree(s);
	return length;
}

/* Reads n records of a segment, from number `first` on. */
static void
skx_merge_dead_fetch(SkxDeadTerms *d, const SkxDeadReader *run, uint64 first,
					 SkxDeadTerm *to, int n)
{
	Size		size = n * sizeof(SkxDeadTerm);

	Assert(first + n <= run->file_range.n);
	if (BufFileSeek(d->file, 0, (run->file_range.first + first) *
					sizeof(SkxDeadTerm), SEEK_SET) != 0 ||
		BufFileRead(d->file, to, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index merge: %m")));
}

/* Reads the next records of a segment; returns false after the last one. */
static bool
skx_merge_dead_read(SkxDeadTerms *d, SkxDeadReader *run)
{
	if (run->next == run->file_range.n)
		return false;
	if (run->batch == NULL)
		run->batch = MemoryContextAlloc(d->context, SKX_DEAD_BATCH_RECORDS *
										sizeof(SkxDeadTerm));
	run->i = 0;
	run->n = Min(run->file_range.n - run->next, SKX_DEAD_BATCH_RECORDS);
	skx_merge_dead_fetch(d, run, run->next, run->batch, run->n);
	run->next += run->n;
	return true;
}

void
skx_merge_dead_seek(SkxDeadTerms *d, int which, uint32 ordinal)
{
	SkxDeadReader *run = &d->runs[which];
	uint64		low = 0;
	uint64		high = run->file_range.n;

	while (low < high)
	{
		uint64		middle = low + (high - low) / 2;
		SkxDeadTerm term;

		skx_merge_dead_fetch(d, run, middle, &term, 1);
		if (term.ordinal < ordinal)
			low = middle + 1;
		else
			high = middle;
	}
	run->next = low;
	run->n = run->i = 0;
}

bool
skx_merge_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
					SkxDeadTerm *term)
{
	SkxDeadReader *run = &d->runs[which];

	if (run->i == run->n && !skx_merge_dead_read(d, run))
		return false;
	if (run->batch[run->i].ordinal != ordinal)
		return false;
	*term = run->batch[run->i++];
	return true;
}

void
skx_merge_dead_free(SkxDeadTerms *d)
{
	if (d->file != NULL)
		BufFileClose(d->file);
	d->file = NULL;
}
