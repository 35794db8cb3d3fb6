/*
 * invert_cursor.c
 *	  Reads one run, term after term.
 *
 * The run is read in large pieces, because several runs share a file.
 */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "write/invert/invert_internal.h"

static SkxRunCursor *
skx_invert_cursor_create(uint32 buffer_size)
{
	SkxRunCursor *c = palloc0(sizeof(SkxRunCursor));

	c->buffer_size = buffer_size;
	c->buffer = palloc(buffer_size + SKX_RUN_POSTING_WORST);
	c->p = c->end = c->buffer;
	return c;
}

SkxRunCursor *
skx_invert_cursor_open(SkxRunFile *file, const SkxRun *run, int source,
					   int number, uint32 buffer_size,
					   const SkxRunProgress *progress)
{
	SkxRunCursor *c = skx_invert_cursor_create(buffer_size);

	c->source = source;
	c->number = number;
	c->file = file;
	c->run = *run;
	c->progress = progress;
	return c;
}

SkxRunCursor *
skx_invert_cursor_memory(SkxInverter *inv)
{
	SkxRunCursor *c = skx_invert_cursor_create(SKX_RUN_BUFFER_MIN);

	c->inv = inv;
	return c;
}

void
skx_invert_cursor_close(SkxRunCursor *c)
{
	pfree(c->buffer);
	pfree(c);
}

void
skx_invert_cursor_fill(SkxRunCursor *c)
{
	uint32		kept = c->end - c->p;
	uint32		n;

	memmove(c->buffer, c->p, kept);
	c->p = c->buffer;
	c->end = c->buffer + kept;
	n = c->buffer_size - kept;
	if (c->inv != NULL)
	{
		c->end += skx_invert_memory_read(c->inv, c->end, n);
		return;
	}
	n = Min(n, c->run.nbytes - c->at);
	if (n == 0)
		return;
	skx_invert_file_read(c->file, c->run.offset + c->at, c->end, n);
	c->end += n;
	c->at += n;
	if (c->progress != NULL)
		c->progress->read(c->progress->arg, n);
}

static int
skx_invert_cursor_compare(const SkxRunCursor *c, const char *lexeme, int len)
{
	int			order = memcmp(c->lexeme, lexeme, Min(c->term.len, len));

	return order != 0 ? order : (int) c->term.len - len;
}

/*
 * Reads the next term of a run in a file; returns false at the end of the run.
 */
static bool
skx_invert_cursor_read_file(SkxRunCursor *c)
{
	SkxRunTerm	term;
	const char *lexeme;
	int			order;

	if (c->end - c->p < sizeof(SkxRunTerm) + SKX_LEXEME_MAX)
		skx_invert_cursor_fill(c);
	if (c->p == c->end)
		return false;
	memcpy(&term, c->p, sizeof(SkxRunTerm));
	if (c->end - c->p < sizeof(SkxRunTerm) ||
		term.len > SKX_LEXEME_MAX ||
		c->end - c->p < sizeof(SkxRunTerm) + term.len)
		skx_invert_file_damaged("a lexeme in a run is too long");
	c->p += sizeof(SkxRunTerm);
	lexeme = (const char *) c->p;
	c->p += term.len;
	if (term.df == 0 || term.nbytes == 0 ||
		(term.flags & ~(SKX_TERM_LABELS | SKX_TERM_BARE)) != 0 ||
		term.nbytes > (c->end - c->p) + (c->run.nbytes - c->at))
		skx_invert_file_damaged("numbers of a term in a run are out of range");
	order = c->begun ? skx_invert_cursor_compare(c, lexeme, term.len) : -1;
	if (order >= 0)
		skx_invert_file_damaged("terms of a run do not ascend");
	c->term = term;
	memcpy(c->lexeme, lexeme, term.len);
	return true;
}

/* Reads the next term; returns false at the end of the run. */
static bool
skx_invert_cursor_read(SkxRunCursor *c)
{
	if (c->inv != NULL)
	{
		const char *lexeme;

		c->p = c->end = c->buffer;
		if (!skx_invert_memory_next(c->inv, &c->term, &lexeme))
			return false;
		memcpy(c->lexeme, lexeme, c->term.len);
	}
	else if (!skx_invert_cursor_read_file(c))
		return false;
	c->begun = true;
	c->left = c->term.nbytes;
	return true;
}

bool
skx_invert_cursor_next(SkxRunCursor *c)
{
	uint64		prefix = 0;

	Assert(c->left == 0);
	if (!skx_invert_cursor_read(c))
		return false;
	if (c->high != NULL &&
		skx_invert_cursor_compare(c, c->high, c->high_len) >= 0)
		return false;
	memcpy(&prefix, c->lexeme, Min(c->term.len, sizeof(prefix)));
#ifdef WORDS_BIGENDIAN
	c->prefix = prefix;
#else
	c->prefix = pg_bswap64(prefix);
#endif
	return true;
}

/* Skips the postings of the current term. */
static void
skx_invert_cursor_skip(SkxRunCursor *c)
{
	uint32		here = Min(c->left, c->end - c->p);

	c->p += here;
	c->at += c->left - here;
	c->left = 0;
}

void
skx_invert_cursor_range(SkxRunCursor *c, uint64 at, const char *low,
						int low_len, const char *high, int high_len)
{
	uint64		term;

	if (at > c->run.nbytes)
		skx_invert_file_damaged("a task begins after the end of a run");
	c->begun = false;
	c->at = at;
	c->left = 0;
	c->p = c->end = c->buffer;
	c->high = NULL;
	for (;;)
	{
		term = c->at - (c->end - c->p);
		if (!skx_invert_cursor_read(c))
			break;
		if (skx_invert_cursor_compare(c, low, low_len) >= 0)
			break;
		skx_invert_cursor_skip(c);
	}

	/* goes back to the head of the term, which is still in the buffer */
	Assert(c->at - term <= c->end - c->buffer);
	c->p = c->end - (c->at - term);
	c->begun = false;
	c->left = 0;
	c->high = high;
	c->high_len = high_len;
}
