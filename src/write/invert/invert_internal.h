/*
 * invert_internal.h
 *	  What writing, reading and merging runs share.
 */
#ifndef SKX_INVERT_INTERNAL_H
#define SKX_INVERT_INTERNAL_H

#include "write/invert/invert.h"

/* Runs merged at once, at least and at most. */
#define SKX_RUN_FANIN_MIN		8
#define SKX_RUN_FANIN_MAX		500

/* Most bytes that the decoding of one posting reads, whatever they are. */
#define SKX_RUN_POSTING_READ_MAX	((2 + SKX_TF_MAX) * SKX_VARINT64_MAX)

/* A cursor on a run; inv is NULL if the run is in a file. */
struct SkxRunCursor
{
	int			source;
	int			number;			/* order among the runs of the source */
	SkxInverter *inverter;
	SkxRunFile *file;
	SkxRun		run;			/* in file */
	uint64		bytes_read;		/* bytes of run read */
	const SkxRunProgress *progress;

	const char *end_lexeme;		/* lexeme to stop at; NULL for none */
	int			end_lexeme_len;

	uint8	   *buffer;			/* SKX_RUN_POSTING_READ_MAX bytes follow it */
	uint32		buffer_size;
	uint8	   *next_byte;		/* first byte not yet used */
	uint8	   *end;			/* end of the bytes read */

	bool		has_term;		/* term and lexeme are set, and in the range */
	SkxRunTerm	term;
	uint64		prefix;			/* first bytes of the lexeme, big-endian */
	char		lexeme[SKX_LEXEME_MAX];
	uint64		postings_left;	/* bytes of its postings not yet used */
};

/* invert_file.c : a file being written */

/* Writes the buffer to the file; errors of the disk are raised. */
extern void skx_invert_file_flush(SkxRunFile *f);

/* Appends n bytes. */
extern void skx_invert_file_write(SkxRunFile *f, const void *bytes, Size n);

/* invert_run.c : a run being written */

/* Begins the next run. */
extern void skx_invert_run_begin(SkxRuns *runs);

/* Writes the head of a term and its lexeme, and makes a mark if one is due. */
extern void skx_invert_run_term(SkxRuns *runs, const SkxRunTerm *term,
								const char *lexeme);

/* Appends n bytes of postings. */
extern void skx_invert_run_write(SkxRuns *runs, const void *bytes, Size n);

/* invert_cursor.c : the bytes under a cursor */

/*
 * Moves to the next term; returns false after the last one of the range.  All
 * postings of the term before must have been used.
 */
extern bool skx_invert_cursor_next(SkxRunCursor *c);

/* Reads more bytes behind those that are left in the buffer. */
extern void skx_invert_cursor_fill(SkxRunCursor *c);

/* Makes at least n bytes of postings available, or all that are left. */
static inline void
skx_invert_cursor_fill_postings(SkxRunCursor *c, uint32 n)
{
	if (c->end - c->next_byte < Min(n, c->postings_left))
		skx_invert_cursor_fill(c);
}

/* Marks the bytes of postings up to p as used. */
static inline void
skx_invert_cursor_consume(SkxRunCursor *c, uint8 *p)
{
	uint64		n = p - c->next_byte;

	if (unlikely(p > c->end || n > c->postings_left))
		skx_invert_file_damaged("postings of a term in a run end too soon");
	c->postings_left -= n;
	c->next_byte = p;
}

/*
 * Decodes a varint64 at p into *v, and returns the byte behind it.  Reads at
 * most SKX_VARINT64_MAX bytes, whatever they are.
 */
static inline uint8 *
skx_invert_varint_get(uint8 *p, uint64 *v)
{
	uint64		value = *p++;
	int			shift = 7;

	if (value >= 0x80)
	{
		value &= 0x7F;
		for (;;)
		{
			value |= (uint64) (*p & 0x7F) << shift;
			if (*p++ < 0x80 || shift == 63)
				break;
			shift += 7;
		}
	}
	*v = value;
	return p;
}

/* invert_merge.c : merges n runs from `first` on into the run `to` writes */
extern void skx_invert_merge_runs_into(SkxRuns *runs, int first, int n,
									   SkxRuns *to,
									   const SkxRunProgress *progress);

#endif							/* SKX_INVERT_INTERNAL_H */
