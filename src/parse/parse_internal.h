/*
 * parse_internal.h
 *	  What files of this folder share.
 */
#ifndef SKX_PARSE_INTERNAL_H
#define SKX_PARSE_INTERNAL_H

#include "parse/parse.h"

/*
 * parse_lexemes.c : tokens one after the other, with dictionaries that make
 * lexemes of several tokens
 */

/* A token that is not done. */
typedef struct SkxParseToken
{
	int			type;			/* 0: the end of the text */
	const char *bytes;
	int			len;
} SkxParseToken;

typedef struct SkxParseLexizer
{
	MemoryContext context;
	const TSConfigCacheEntry *config;
	SkxParseToken *tokens;		/* [first, n) are not done */
	int			first;
	int			n;
	int			size;			/* capacity of tokens */
	int			next_dictionary;	/* of the first token */
	Oid			asking;			/* dictionary that wants more tokens, or
								 * InvalidOid */
	int			unseen;			/* index of the first token that it has not
								 * seen */
	DictSubState state;
	TSLexeme   *kept;			/* what it makes of tokens before kept_end;
								 * NULL: nothing yet */
	int			kept_end;
} SkxParseLexizer;

/* Prepares a lexizer.  It has its memory in the context. */
extern void skx_parse_lexizer_init(SkxParseLexizer *l,
								   const TSConfigCacheEntry *config,
								   MemoryContext context);

/*
 * Adds a token, or the end of the text with type 0.  Tokens of types without
 * dictionaries are not added.  The bytes must stay valid until the lexizer is
 * idle.
 */
extern void skx_parse_lexizer_add(SkxParseLexizer *l, int type,
								  const char *bytes, int len);

/*
 * Returns the lexemes of the next tokens, in the current memory context; NULL
 * if another token is needed.  Dictionaries keep what they have seen of tokens
 * in that context, so it must not be reset before the lexizer is idle.
 */
extern TSLexeme *skx_parse_lexizer_next(SkxParseLexizer *l);

/* Returns true if no token waits for others. */
static inline bool
skx_parse_lexizer_is_idle(const SkxParseLexizer *l)
{
	return l->n == 0;
}

#endif							/* SKX_PARSE_INTERNAL_H */
