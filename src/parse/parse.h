/*
 * parse.h
 *	  A text as tokens, as lexemes, and as a tsvector that always fits.
 */
#ifndef SKX_PARSE_H
#define SKX_PARSE_H

#include "tsearch/ts_cache.h"
#include "tsearch/ts_public.h"
#include "tsearch/ts_type.h"

/* Token types of the server's default parser. */
#define SKX_PARSE_ASCIIWORD		1
#define SKX_PARSE_BLANK			12
#define SKX_PARSE_TAG			13
#define SKX_PARSE_UINT			22

/* Characters of a tag that the default parser finds, besides letters and
 * digits, blanks, and what is quoted. */
#define SKX_PARSE_IN_TAG	"=-_#/:.&?%~"

/*
 * The lexeme that marks the tsvector of a cut document.  No parser makes a
 * token of a blank and letters.
 */
#define SKX_PARSE_CUT_MARK		" skipidx cut"

static inline bool
skx_parse_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/*
 * Returns true for a blank.  No other blank is a single byte in an encoding
 * of the server.
 */
static inline bool
skx_parse_is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns true for an ASCII letter, a digit, or a character of the set. */
static inline bool
skx_parse_is_one_of(const char *set, char c)
{
	return skx_parse_is_letter(c) || (c >= '0' && c <= '9') ||
		(c != '\0' && strchr(set, c) != NULL);
}

/* Returns true if the lexeme is the mark of a cut document. */
static inline bool
skx_parse_is_cut_mark(const char *bytes, int len)
{
	return len == sizeof(SKX_PARSE_CUT_MARK) - 1 &&
		memcmp(bytes, SKX_PARSE_CUT_MARK, len) == 0;
}

/*
 * parse_tokens.c : the tokens of a text
 *
 * A reader gives a text to its parser as a whole, or in pieces.  Pieces give
 * the same tokens, except of type SKX_PARSE_BLANK.
 */
typedef struct SkxParseTokens
{
	TSParserCacheEntry *parser;
	const char *text;
	int			len;			/* bytes of the text */
	bool		in_pieces;
	bool		is_cut;			/* a border was set where a token may be */
	char	   *token;			/* last one of the parser */
	int			token_len;
	Datum		state;			/* of the parser */
	/* only in pieces: */
	int			start;			/* the present piece, in the text */
	int			end;
	bool		is_ignored;		/* `start` is within <script> or <style> */
	bool		has_no_tag;		/* no tag begins at `start`, but a '<' is
								 * there */
	bool		is_probe_seen;
	int			no_comment_end; /* from here on no comment ends */
	const char *base;			/* the piece in the buffer */
	char	   *buffer;
	Size		buffer_size;
} SkxParseTokens;

/* Returns true if the parser is the server's default one. */
extern bool skx_parse_is_default(const TSParserCacheEntry *parser);

/*
 * Begins to read the tokens of a text, in the current memory context, in which
 * all calls for this reader must be made.  Only the default parser may read in
 * pieces, which take some hundred kilobytes of memory, whatever the text.  As
 * a whole a text takes what the parser takes: four times its bytes.
 */
extern void skx_parse_begin(SkxParseTokens *t, TSParserCacheEntry *parser,
							const char *bytes, int len, bool in_pieces);

/*
 * Returns the type of the next token, which is above 0, and sets *bytes and
 * *len.  Returns 0 at the end and leaves these alone.  Tokens of the default
 * parser are in the text; those of others are where these put them.
 */
extern int	skx_parse_next(SkxParseTokens *t, const char **bytes, int *len);

/* Frees what the reader has, also before the end of the text. */
extern void skx_parse_end(SkxParseTokens *t);

/*
 * parse_lexemes.c : the lexemes of tokens
 *
 * Passes a token through the dictionaries in the list, from number *next on,
 * as filters and those before them leave it.  Sets *next to the one after the
 * last that was called.  Returns the lexemes, in the current memory context,
 * or NULL if no dictionary knows the token.  If state->getnext is true
 * afterwards, the dictionary before *next wants the next token, too; then the
 * result is what it makes of the tokens so far, and may be NULL.
 */
extern TSLexeme *skx_parse_lexize(const ListDictionary *list, int *next,
								  const char *bytes, int len,
								  DictSubState *state);

/*
 * parse_document.c : returns the tsvector of a text, in the current memory
 * context.  It is that of to_tsvector() if that takes SKX_PARSE_BYTES_MAX at
 * most.  Else, or if `is_cut` says that the text is the beginning of a longer
 * one, it has what fits of it and SKX_PARSE_CUT_MARK.
 */
extern TSVector skx_parse_document(Oid config, const char *bytes, int len,
								   bool is_cut);

/*
 * Most bytes of lexemes and positions, without the mark.  What is left of a
 * tsvector's megabyte is for the values of other columns in an index, and for
 * a title that a statement joins to the text.
 */
#define SKX_PARSE_BYTES_MAX		(MAXSTRPOS - 64 * 1024)

#endif							/* SKX_PARSE_H */
