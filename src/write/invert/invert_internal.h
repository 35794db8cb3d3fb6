/*
 * invert_internal.h
 *	  What writing, reading and merging runs share.
 */
#ifndef SKX_INVERT_INTERNAL_H
#define SKX_INVERT_INTERNAL_H

#include "write/invert/invert.h"

/* Runs merged at once, at least and at most. */
#define SKX_RUN_FAN_MIN		8
#define SKX_RUN_FAN_MAX		500

/* What decoding one posting reads at most, whatever the bytes are. */
#define SKX_RUN_POSTING_WORST	((2 + SKX_TF_MAX) * SKX_VARINT64_MAX)

struct SkxRunCursor
{
	int			source;
	int			number;			/* order among the runs of the source */
	SkxInverter *inv;			/* the run is this inverter's, or */
	SkxRunFile *file;			/* it is here: */
	SkxRun		run;
	uint64		at;				/* bytes of it read */
	const SkxRunProgress *progress;

	const char *high;			/* where to stop; NULL: at the end */
	int			high_len;

	uint8	   *buffer;			/* and SKX_RUN_POSTING_WORST bytes more */
	uint32		buffer_size;
	uint8	   *p;				/* bytes not yet used ... */
	uint8	   *end;			/* ... up to here */

	bool		begun;			/* the term below is in the range */
	SkxRunTerm	term;
	uint64		prefix;			/* first bytes of the lexeme, big-endian */
	char		lexeme[SKX_LEXEME_MAX];
	uint64		left;			/* bytes of its postings not yet used */
};

/*
 * invert_file.c
 */
extern void skx_invert_file_flush(SkxRunFile *f);
extern void skx_invert_file_write(SkxRunFile *f, const void *bytes, Size n);

/*
 * invert_runs.c : a run is begun, then written piece by piece
 */
extern void skx_invert_run_begin(SkxRuns *runs);
extern void skx_invert_run_term(SkxRuns *runs, const SkxRunTerm *term,
								const char *lexeme);
extern void skx_invert_run_write(SkxRuns *runs, const void *bytes, Size n);

/*
 * invert_cursor.c
 */

/* Moves to the next term, whose postings before have all been used. */
extern bool skx_invert_cursor_next(SkxRunCursor *c);

/* Fills the buffer behind what is left in it. */
extern void skx_invert_cursor_fill(SkxRunCursor *c);

/* Makes at least `n` bytes of postings available, or all there are. */
static inline void
skx_invert_cursor_need(SkxRunCursor *c, uint32 n)
{
	if (c->end - c->p < Min(n, c->left))
		skx_invert_cursor_fill(c);
}

/* Bytes of postings up to `p` have been used. */
static inline void
skx_invert_cursor_used(SkxRunCursor *c, uint8 *p)
{
	uint64		n = p - c->p;

	if (unlikely(p > c->end || n > c->left))
		skx_invert_file_damaged("postings of a term in a run end too soon");
	c->left -= n;
	c->p = p;
}

/* Reads SKX_VARINT64_MAX bytes at most. */
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

/*
 * invert_merge.c : merges runs [first, first + n) into the run that `to` is
 * writing
 */
extern void skx_invert_merge_group(SkxRuns *runs, int first, int n,
								   SkxRuns *to,
								   const SkxRunProgress *progress);

#endif							/* SKX_INVERT_INTERNAL_H */
