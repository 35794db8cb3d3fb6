/*
 * merge_dead.c
 *	  What the documents that a merge leaves out take from each term.
 *
 * Goes through all terms of a segment and looks up its dead documents in each
 * posting list: where these are few, most of a long list is skipped.  Terms
 * that lose postings are noted in a temporary file, in the order in which the
 * merge will come to them.
 */
#include "postgres.h"

#include "compat/compat.h"
#include "intake/intake_value.h"
#include "merge/merge_internal.h"
#include "pace/pace.h"
#include "storage/buffile.h"

/* Records of a segment that are read at once. */
#define SKX_DEAD_BATCH		64

/* The part of the file with the terms of one segment. */
typedef struct SkxDeadRun
{
	int			fileno;			/* where to read on */
	off_t		offset;
	uint64		left;			/* records not yet read */
	SkxDeadTerm *batch;
	int			n;
	int			i;
} SkxDeadRun;

struct SkxDeadTerms
{
	MemoryContext context;
	BufFile    *file;
	SkxDeadRun *runs;
};

/* One segment being counted. */
typedef struct SkxDeadScan
{
	SkxSegment *seg;
	const uint8 *dead;
	SkxCursor  *list;			/* of one term after the other */
	uint64		length;
} SkxDeadScan;

SkxDeadTerms *
skx_merge_dead_create(int nsegments)
{
	SkxDeadTerms *d = palloc0(sizeof(SkxDeadTerms));

	d->context = CurrentMemoryContext;
	d->runs = palloc0(nsegments * sizeof(SkxDeadRun));
	return d;
}

/* The first dead document >= doc, SKX_NO_DOC when there is none. */
static uint32
skx_merge_dead_next(const SkxDeadScan *s, uint32 doc)
{
	uint32		ndocs = s->seg->header.ndocs;

	while (doc < ndocs)
	{
		uint32		rest = s->dead[doc / 8] >> (doc % 8);

		if (rest & 1)
			return doc;
		doc += rest != 0 ? 1 : 8 - doc % 8;
	}
	return SKX_NO_DOC;
}

/* Adds up the dead postings of the list; values are no part of the length. */
static void
skx_merge_dead_postings(SkxDeadScan *s, SkxDeadTerm *t, bool is_value)
{
	SkxCursor  *list = s->list;
	uint32		doc = skx_merge_dead_next(s, 0);

	while (doc != SKX_NO_DOC)
	{
		uint32		at = skx_cursor_seek(list, doc);

		if (at == SKX_NO_DOC)
			break;
		if (at == doc)
		{
			uint32		tf;

			tf = skx_cursor_tfs(list)[list->i];
			t->df++;
			t->npositions += tf;
			if (!is_value)
				s->length += Max(tf, 1);
			at++;
		}
		doc = skx_merge_dead_next(s, at);
	}
}

/* Which of `flags`, that some postings of the term have, live ones have. */
static uint8
skx_merge_dead_flags(SkxDeadScan *s, const SkxTerm *term, uint8 flags)
{
	SkxCursor  *list = s->list;
	uint8		found = 0;

	skx_cursor_begin(list, term);
	while (found != flags && skx_cursor_next(list))
	{
		const SkxPostings *p = skx_cursor_labels(list);
		int			i;

		for (i = 0; i < p->n; i++)
		{
			if (s->dead[p->docs[i] / 8] >> (p->docs[i] % 8) & 1)
				continue;
			if (p->tf[i] == 0)
				found |= SKX_TERM_BARE;
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
	SkxDeadRun *run = &d->runs[which];
	SkxTermWalk *walk = skx_segment_walk_begin(seg);
	MemoryContext old = MemoryContextSwitchTo(d->context);
	SkxTerm		term;
	const char *lexeme;
	int			len;
	uint64		length;

	if (d->file == NULL)
		d->file = BufFileCreateTemp(false);
	MemoryContextSwitchTo(old);
	BufFileTell(d->file, &run->fileno, &run->offset);
	s->seg = seg;
	s->dead = dead;
	s->list = skx_cursor_create(seg, SKX_CURSOR_PROBE);
	while (skx_segment_walk_next(walk, &term, &lexeme, &len))
	{
		SkxDeadTerm t = {0};

		skx_pace_point();
		skx_cursor_begin(s->list, &term);
		skx_merge_dead_postings(s, &t, skx_intake_is_value(lexeme, len));
		if (t.df == 0)
			continue;
		t.ordinal = term.ordinal;
		t.flags = term.flags & (SKX_TERM_LABELS | SKX_TERM_BARE);
		if (t.flags != 0 && t.df < term.df)
			t.flags = skx_merge_dead_flags(s, &term, t.flags);
		BufFileWrite(d->file, &t, sizeof(t));
		run->left++;
	}
	skx_cursor_close(s->list);
	skx_segment_walk_end(walk);
	length = s->length;
	pfree(s);
	return length;
}

/* Reads the next records of a segment; false after the last one. */
static bool
skx_merge_dead_read(SkxDeadTerms *d, SkxDeadRun *run)
{
	Size		size;

	if (run->left == 0)
		return false;
	if (run->batch == NULL)
		run->batch = MemoryContextAlloc(d->context, SKX_DEAD_BATCH *
										sizeof(SkxDeadTerm));
	run->i = 0;
	run->n = Min(run->left, SKX_DEAD_BATCH);
	size = run->n * sizeof(SkxDeadTerm);
	if (BufFileSeek(d->file, run->fileno, run->offset, SEEK_SET) != 0 ||
		BufFileRead(d->file, run->batch, size) != size)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index merge: %m")));
	BufFileTell(d->file, &run->fileno, &run->offset);
	run->left -= run->n;
	return true;
}

bool
skx_merge_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
					SkxDeadTerm *term)
{
	SkxDeadRun *run = &d->runs[which];

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
