/*
 * invert_runs.c
 *	  Sorted runs of inverted documents, one after the other in a file.
 *
 * A run holds the terms of consecutive documents in lexeme order: for each an
 * SkxRunTerm, the lexeme and the bytes of its postings.  Documents ascend from
 * run to run, so the postings of a term are those of its runs one after the
 * other.
 *
 * If several processes merge ranges of the runs, marks tell where terms begin
 * in them.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "write/invert/invert_internal.h"

SkxRuns *
skx_invert_runs_create(Size memory, FileSet *set, const char *name)
{
	SkxRuns    *runs = palloc0(sizeof(SkxRuns));

	runs->memory = memory;
	runs->context = CurrentMemoryContext;
	runs->set = set;
	runs->name = name;
	runs->runs_size = 16;
	runs->runs = palloc(runs->runs_size * sizeof(SkxRun));
	if (set != NULL)
		runs->marks = makeStringInfo();
	return runs;
}

/* Copies the postings of a term directly into the file's buffer. */
static void
skx_invert_runs_postings(SkxRuns *runs, SkxInverter *inv, uint64 nbytes)
{
	SkxRunFile *f = runs->file;
	uint64		left = nbytes;

	while (left > 0)
	{
		uint32		n;

		if (f->used == SKX_RUN_FILE_BUFFER)
			skx_invert_file_flush(f);
		n = skx_invert_memory_read(inv, (uint8 *) f->buffer + f->used,
								   SKX_RUN_FILE_BUFFER - f->used);
		f->used += n;
		left -= n;
	}
	runs->runs[runs->nruns - 1].nbytes += nbytes;
	runs->nbytes += nbytes;
}

void
skx_invert_runs_spill(SkxRuns *runs, SkxInverter *inv)
{
	SkxRunTerm	term;
	const char *lexeme;

	skx_invert_run_begin(runs);
	while (skx_invert_memory_next(inv, &term, &lexeme))
	{
		CHECK_FOR_INTERRUPTS();
		skx_invert_run_term(runs, &term, lexeme);
		skx_invert_runs_postings(runs, inv, term.nbytes);
	}
}

/* Turns groups of `fan` neighbouring runs into one run each. */
static void
skx_invert_runs_merge_pass(SkxRuns *runs, int fan,
						   const SkxRunProgress *progress)
{
	SkxRuns		before = *runs;
	char		name[MAXPGPATH];
	int			first;

	skx_invert_file_complete(before.file);
	runs->file = NULL;
	runs->runs = palloc(runs->runs_size * sizeof(SkxRun));
	runs->nruns = 0;
	runs->nbytes = 0;
	runs->nmarks = 0;
	if (runs->marks != NULL)
		resetStringInfo(runs->marks);
	for (first = 0; first < before.nruns; first += fan)
	{
		skx_invert_run_begin(runs);
		skx_invert_merge_runs_into(&before, first,
								   Min(fan, before.nruns - first), runs,
								   progress);
	}
	skx_invert_file_close(before.file);
	if (before.set != NULL)
	{
		skx_invert_runs_name(name, before.name, before.nfiles - 1);
		FileSetDelete(before.set, name, true);
	}
	pfree(before.runs);
}

void
skx_invert_runs_reduce(SkxRuns *runs, int most,
					   const SkxRunProgress *progress)
{
	int			fan = skx_invert_merge_fanin(runs->memory);

	while (runs->nruns > most)
		skx_invert_runs_merge_pass(runs, fan, progress);
	if (runs->file != NULL)
		skx_invert_file_complete(runs->file);
}

void
skx_invert_runs_close(SkxRuns *runs)
{
	if (runs->file != NULL)
		skx_invert_file_close(runs->file);
	runs->file = NULL;
}
