/*
 * bigram_internal.h
 *	  A text search parser for text without spaces between words.
 */
#ifndef SKX_BIGRAM_INTERNAL_H
#define SKX_BIGRAM_INTERNAL_H

/*
 * Token types of the parser, beside those of the server's default one, which
 * are below.  Configurations have these numbers.
 */
#define SKX_BIGRAM_SINGLE	24
#define SKX_BIGRAM_PAIR		25
#define SKX_BIGRAM_RUN_END	26

/*
 * bigram_runs.c : returns how many bytes the character at `at` has in UTF8, if
 * it belongs to a run.  Returns 0 if it does not, at the end of the text, and
 * for what is no whole character.  Reads nothing from `end` on.
 */
extern int	skx_bigram_char(const char *at, const char *end);

/* Returns the first character from `at` on that belongs to a run, or `end`. */
extern const char *skx_bigram_find(const char *at, const char *end);

#endif							/* SKX_BIGRAM_INTERNAL_H */
