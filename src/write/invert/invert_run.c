/*
 * invert_run.c
 *	  Writes one run, term after term, and marks terms in it.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "write/invert/invert_internal.h"

void
skx_invert_runs_name(char to[MAXPGPATH], const char *name, uint32 number)
{
	snprintf(to, MAXPGPATH, "%s.%u", name, number);
}

/* Creates the next file, which is written to from then on. */
static void
skx_invert_runs_file(SkxRuns *runs)
{
	MemoryContext old = MemoryContextSwitchTo(runs->context);
	char		name[MAXPGPATH] = "";

	if (runs->set != NULL)
		skx_invert_runs_name(name, runs->name, runs->nfiles);
	runs->file = skx_invert_file_create(runs->set, name);
	runs->nfiles++;
	MemoryContextSwitchTo(old);
}

void
skx_invert_run_write(SkxRuns *runs, const void *bytes, Size n)
{
	skx_invert_file_write(runs->file, bytes, n);
	runs->runs[runs->nruns - 1].nbytes += n;
	runs->nbytes += n;
}

void
skx_invert_run_begin(SkxRuns *runs)
{
	SkxRun	   *run;

	if (runs->file == NULL)
		skx_invert_runs_file(runs);
	if (runs->nruns == runs->runs_size)
	{
		runs->runs_size *= 2;
		runs->runs = repalloc(runs->runs, runs->runs_size * sizeof(SkxRun));
	}
	run = &runs->runs[runs->nruns++];
	run->offset = runs->file->size + runs->file->used;
	run->nbytes = 0;
	runs->last_mark = 0;
}

/* Makes a mark for the next term if one is due. */
static void
skx_invert_run_add_mark(SkxRuns *runs, const SkxRunTerm *term,
						const char *lexeme)
{
	uint64		at = runs->runs[runs->nruns - 1].nbytes;
	SkxRunMark	mark = {0};

	if (at - runs->last_mark < SKX_RUN_MARK_STEP ||
		term->len > SKX_RUN_MARK_LEXEME_MAX)
		return;
	mark.run_offset = at;
	mark.run = runs->nruns - 1;
	mark.len = term->len;
	appendBinaryStringInfo(runs->marks, (const char *) &mark, sizeof(mark));
	appendBinaryStringInfo(runs->marks, lexeme, term->len);
	runs->nmarks++;
	runs->last_mark = at;
}

void
skx_invert_run_term(SkxRuns *runs, const SkxRunTerm *term, const char *lexeme)
{
	if (runs->marks != NULL)
		skx_invert_run_add_mark(runs, term, lexeme);
	skx_invert_run_write(runs, term, sizeof(*term));
	skx_invert_run_write(runs, lexeme, term->len);
}
