/*
 * test_invert_limits.c
 *	  Runs far behind in a temporary file, with the last documents that there
 *	  can be, and a term whose positions are more than 2^32 over all runs.
 *
 * Holds: none
 */
#include "unit.h"
#include "server.h"
#include "unit_raise.h"

#include "write/invert/invert_internal.h"
#include "miscadmin.h"
#include "storage/fd.h"

#define RUNS		3

/* Where the first run begins, and how far they are apart. */
#define BEGIN		(UINT64CONST(5) << 30)
#define STEP		(UINT64CONST(3) << 30)

/* As many positions as a run says; a reader of postings does not add them up. */
#define POSITIONS	UINT64CONST(3000000000)

/* ---- the server, and the file ---- */

volatile sig_atomic_t InterruptPending = false;

static uint8 bytes[RUNS][200];
static uint32 nbytes[RUNS];

void
ProcessInterrupts(void)
{
}

int
errcode_for_file_access(void)
{
	return errcode(ERRCODE_IO_ERROR);
}

char *
FilePathName(File file)
{
	abort();
}

static int
read_file(void *to, size_t amount, uint64 offset)
{
	uint64		run = (offset - BEGIN) / STEP;
	uint64		at = (offset - BEGIN) % STEP;

	CHECK(offset >= BEGIN && run < RUNS && at + amount <= nbytes[run]);
	memcpy(to, bytes[run] + at, amount);
	return (int) amount;
}

#if PG_VERSION_NUM >= 170000
ssize_t
FileReadV(File file, const struct iovec *iov, int n, off_t offset, uint32 wait)
{
	CHECK(n == 1);
	return read_file(iov->iov_base, iov->iov_len, offset);
}
#elif PG_VERSION_NUM >= 160000
int
FileRead(File file, void *to, size_t amount, off_t offset, uint32 wait)
{
	return read_file(to, amount, offset);
}
#else
int
FileRead(File file, char *to, int amount, off_t offset, uint32 wait)
{
	return read_file(to, amount, offset);
}
#endif

/* ---- tests ---- */

/* A run of one term, which one document has, without positions. */
static SkxRun
make_run(int which, uint32 doc)
{
	SkxRun		run = {BEGIN + which * STEP, 0};
	SkxRunTerm	term = {0};
	uint8	   *p = bytes[which] + sizeof(term);

	*p++ = 'a';
	term.nbytes = skx_codec_varint64_put(p, (uint64) doc << 2 | 1) - p;
	term.npositions = POSITIONS;
	term.df = 1;
	term.last_doc = doc;
	term.len = 1;
	term.flags = SKX_TERM_NO_POSITIONS;
	memcpy(bytes[which], &term, sizeof(term));
	nbytes[which] = p + term.nbytes - bytes[which];
	run.nbytes = nbytes[which];
	return run;
}

int
main(void)
{
	static const uint32 docs[RUNS] = {0, SKX_DOC_MAX - 1, SKX_DOC_MAX};
	static SkxPostingBatch batch;
	SkxRunFile	file = {0};
	SkxRunCursor *cursors[RUNS];
	SkxRunMerge *m;
	SkxRunTerm	term;
	const char *lexeme;
	int			i;

	unit_seed(12);
	for (i = 0; i < RUNS; i++)
	{
		SkxRun		run = make_run(i, docs[i]);

		cursors[i] = skx_invert_cursor_open(&file, &run, 0, i,
											SKX_RUN_BUFFER_MIN, NULL);
	}
	m = skx_invert_merge_begin(cursors, RUNS, NULL, (uint32) SKX_DOC_MAX + 1);
	CHECK(skx_invert_merge_next(m, &term, &lexeme));
	CHECK(term.len == 1 && lexeme[0] == 'a');
	CHECK(term.df == RUNS && term.npositions == RUNS * POSITIONS);
	CHECK(skx_invert_merge_postings(m, &batch));
	CHECK(batch.n == RUNS && memcmp(batch.docs, docs, sizeof(docs)) == 0);
	CHECK(!skx_invert_merge_postings(m, &batch));
	CHECK(!skx_invert_merge_next(m, &term, &lexeme));

	/* one document more than there are numbers */
	for (i = 0; i < RUNS; i++)
	{
		SkxRun		run = make_run(i, docs[i] + (i == RUNS - 1));

		cursors[i] = skx_invert_cursor_open(&file, &run, 0, i,
											SKX_RUN_BUFFER_MIN, NULL);
	}
	m = skx_invert_merge_begin(cursors, RUNS, NULL, (uint32) SKX_DOC_MAX + 1);
	CHECK(skx_invert_merge_next(m, &term, &lexeme));
	CHECK(RAISED(skx_invert_merge_postings(m, &batch)) ==
		  ERRCODE_DATA_CORRUPTED);
	return unit_done("invert_limits");
}
