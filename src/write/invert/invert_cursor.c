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
	c->buffer = palloc(buffer_size + SKX_RUN_POSTING_READ_MAX);
	c->next_byte = c->end = c->buffer;
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

	c->inverter = inv;
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
	uint32		kept = c->end - c->next_byte;
	uint32		n;

	memmove(c->buffer, c->next_byte, kept);
	c->next_byte = c->buffer;
	c->end = c->buffer + kept;
	n = c->buffer_size - kept;
	if (c->inverter != NULL)
	{
		c->end += skx_invert_memory_read(c->inverter, c->end, n);
		return;
	}
	n = Min(n, c->run.nbytes - c->bytes_read);
	if (n == 0)
		return;
	skx_invert_file_read(c->file, c->run.offset + c->bytes_read, c->end, n);
	c->end += n;
	c->bytes_read += n;
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

	if (c->end - c->next_byte < sizeof(SkxRunTerm) + SKX_LEXEME_MAX)
		skx_invert_cursor_fill(c);
	if (c->next_byte == c->end)
		return false;
	memcpy(&term, c->next_byte, sizeof(SkxRunTerm));
	if (c->end - c->next_byte < sizeof(SkxRunTerm) ||
		term.len > SKX_LEXEME_MAX ||
		c->end - c->next_byte < sizeof(SkxRunTerm) + term.len)
		skx_invert_file_damaged("a lexeme in a run is too long");
	c->next_byte += sizeof(SkxRunTerm);
	lexeme = (const char *) c->next_byte;
	c->next_byte += term.len;
	if (term.df == 0 || term.nbytes == 0 ||
		(term.flags & ~(SKX_TERM_LABELS | SKX_TERM_NO_POSITIONS)) != 0 ||
		term.nbytes > (c->end - c->next_byte) +
		(c->run.nbytes - c->bytes_read))
		skx_invert_file_damaged("numbers of a term in a run are out of range");
	order = c->has_term ? skx_invert_cursor_compare(c, lexeme, term.len) : -1;
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
	if (c->inverter != NULL)
	{
		const char *lexeme;

		c->next_byte = c->end = c->buffer;
		if (!skx_invert_memory_next(c->inverter, &c->term, &lexeme))
			return false;
		memcpy(c->lexeme, lexeme, c->term.len);
	}
	else if (!skx_invert_cursor_read_file(c))
		return false;
	c->has_term = true;
	c->postings_left = c->term.nbytes;
	return true;
}

bool
skx_invert_cursor_next(SkxRunCursor *c)
{
	uint64		prefix = 0;

	Assert(c->postings_left == 0);
	if (!skx_invert_cursor_read(c))
		return false;
	if (c->end_lexeme != NULL &&
		skx_invert_cursor_compare(c, c->end_lexeme, c->end_lexeme_len) >= 0)
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
	uint32		here = Min(c->postings_left, c->end - c->next_byte);

	c->next_byte += here;
	c->bytes_read += c->postings_left - here;
	c->postings_left = 0;
}

void
skx_invert_cursor_set_range(SkxRunCursor *c, uint64 at, const char *low,
							int low_len, const char *high, int high_len)
{
	uint64		term;

	if (at > c->run.nbytes)
		skx_invert_file_damaged("a task begins after the end of a run");
	c->has_term = false;
	c->bytes_read = at;
	c->postings_left = 0;
	c->next_byte = c->end = c->buffer;
	c->end_lexeme = NULL;
	for (;;)
	{
		term = c->bytes_read - (c->end - c->next_byte);
		if (!skx_invert_cursor_read(c))
			break;
		if (skx_invert_cursor_compare(c, low, low_len) >= 0)
			break;
		skx_invert_cursor_skip(c);
	}

	/* goes back to the head of the term, which is still in the buffer */
	Assert(c->bytes_read - term <= c->end - c->buffer);
	c->next_byte = c->end - (c->bytes_read - term);
	c->has_term = false;
	c->postings_left = 0;
	c->end_lexeme = high;
	c->end_lexeme_len = high_len;
}
