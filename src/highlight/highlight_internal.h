/*
 * highlight_internal.h
 *	  The best passages of a text, with the words of a query marked.
 */
#ifndef SKX_HIGHLIGHT_INTERNAL_H
#define SKX_HIGHLIGHT_INTERNAL_H

#include "tsearch/ts_cache.h"
#include "tsearch/ts_type.h"
#include "utils/hsearch.h"

/* Of a longer text only so many bytes are looked at for a passage. */
#define SKX_HIGHLIGHT_BYTES		(1024 * 1024)

/* What remembered pieces may take, and how long they are. */
#define SKX_HIGHLIGHT_KEPT		(12 * 1024 * 1024)
#define SKX_HIGHLIGHT_PIECE		64

/* Phrases of a query that are looked for, and the work that is spent on it. */
#define SKX_HIGHLIGHT_PHRASES	64
#define SKX_HIGHLIGHT_WORK		(20 * 1000 * 1000)

/* Words of a query that one token may be, as far as they count. */
#define SKX_HIGHLIGHT_IDS		16

/* Words of a text that are marked, at most: half a gigabyte. */
#define SKX_HIGHLIGHT_MATCHES	(16 * 1024 * 1024)

#define SKX_HIGHLIGHT_WORDS_MAX		10000
#define SKX_HIGHLIGHT_PASSAGES_MAX	100

/*
 * highlight_query.c : the words of a query: its operands that are not negated,
 * each lexeme or prefix once, whatever its weights; and its phrases, the
 * outermost ones
 */
typedef struct SkxHighlightQuery
{
	TSQuery		query;
	int			nwords;
	int		   *ids;			/* of words, by item; -1: none */
	HTAB	   *words;
	uint64		seconds[36];	/* second characters of words, as bits, by the
								 * first one, both by their numbers; all: the
								 * word ends before, or it is another one */
	int			nlengths;		/* of prefixes, distinct, ascending */
	int		   *lengths;
	int			nphrases;
	int			phrases[SKX_HIGHLIGHT_PHRASES]; /* items */
} SkxHighlightQuery;

/* In the current memory context, of a copy of the query. */
extern SkxHighlightQuery *skx_highlight_query(TSQuery query);

/* Adds to ids the words that a lexeme is, SKX_HIGHLIGHT_IDS in all at most. */
extern int	skx_highlight_lookup(const SkxHighlightQuery *query,
								 const char *lexeme, int len, int *ids,
								 int nids);

/*
 * highlight_pieces.c : what the tokens of a piece of text are
 *
 * A piece is a token as a parser gave it, or, of the default parser, what
 * stands between blanks, of which it makes the same tokens wherever it stands.
 * Pieces are remembered.
 */
typedef struct SkxHighlightToken
{
	uint32		start;			/* bytes in the piece */
	uint32		end;
	uint32		position;		/* counts as in a tsvector; from 1 on */
	int			nids;
	int		   *ids;			/* words of the query */
} SkxHighlightToken;

/* A piece's kind is the type of its token, or: */
#define SKX_HIGHLIGHT_ASCIIWORD	1	/* of the default parser (wparser_def.c) */
#define SKX_HIGHLIGHT_UINT		22
#define SKX_HIGHLIGHT_TYPES		24
#define SKX_HIGHLIGHT_CHUNK		(-1)	/* and then comes a blank */
#define SKX_HIGHLIGHT_LAST		(-2)	/* and then comes nothing */

typedef struct SkxHighlightPiece
{
	uint32		hash;
	int			kind;
	int			len;
	uint32		npositions;
	bool		kept;			/* it is remembered */
	bool		whole;			/* one token, not of the query */
	int			ntokens;		/* else, of types that have dictionaries */
	SkxHighlightToken *tokens;
	/* one that is kept has its bytes here */
} SkxHighlightPiece;

typedef struct SkxHighlightSlot
{
	uint32		hash;
	SkxHighlightPiece *piece;	/* NULL: empty */
} SkxHighlightSlot;

/* What is kept from one call to the next, for one configuration and query. */
typedef struct SkxHighlight
{
	MemoryContext context;
	Oid			config;
	SkxHighlightQuery *query;
	uint64		generation;		/* of dictionaries and configurations */
	uint32		keeping;		/* types of tokens (highlight_keeping.c) */
	MemoryContext pieces;
	MemoryContext scratch;		/* while a piece is made, and for phrases */
	MemoryContext token;		/* what dictionaries make of one token */
	int			npieces;
	uint32		mask;			/* slots, less one */
	SkxHighlightSlot *slots;
	TSConfigCacheEntry *entry;	/* these four for one call */
	TSParserCacheEntry *parser;
	bool		plain;			/* the default parser */
	bool		marks_only;		/* only matches are asked for, not words */
} SkxHighlight;

/*
 * The number of an ASCII letter or digit, also of a large letter whose small one
 * is the same in all locales; -1: another character.
 */
static inline int
skx_highlight_number(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	if (c >= 'A' && c <= 'Z')
		return c == 'I' ? -1 : c - 'A';
	return c >= '0' && c <= '9' ? 26 + c - '0' : -1;
}

/* Do the first characters of a token tell that it is a lexeme, and no word? */
static inline bool
skx_highlight_is_other(const SkxHighlight *h, int type, const char *bytes,
					   int len)
{
	int			first = skx_highlight_number(bytes[0]);
	int			second;

	if (type >= SKX_HIGHLIGHT_TYPES || (h->keeping >> type & 1) == 0 ||
		len >= MAXSTRLEN || first < 0)
		return false;
	if (h->query->seconds[first] == 0)
		return true;
	if (len == 1)
		return false;
	second = skx_highlight_number(bytes[1]);
	return second >= 0 && second != 'y' - 'a' &&
		(h->query->seconds[first] >> second & 1) == 0;
}

/* Makes it ready for a call; *kept is NULL or what the last call used. */
extern SkxHighlight *skx_highlight_begin(SkxHighlight *kept,
										 MemoryContext parent, Oid config,
										 TSQuery query);
extern const SkxHighlightPiece *skx_highlight_piece(SkxHighlight *h, int kind,
													const char *bytes,
													int len);

/*
 * highlight_keeping.c : the types of tokens that dictionaries know all of, and
 * make what begins with their first two ASCII letters or digits of, or the first
 * one if the second is 'y', as bits
 */
extern uint32 skx_highlight_keeping(const TSConfigCacheEntry *config);

/* Forgets a piece that is not kept; the ids of its tokens stay. */
extern void skx_highlight_drop(const SkxHighlightPiece *piece);

/* highlight_text.c : a text that is being read */
typedef struct SkxHighlightWord
{
	uint32		start;
	uint32		end;
} SkxHighlightWord;

typedef struct SkxHighlightMatch
{
	uint32		start;
	uint32		end;
	uint32		word;			/* the number of its word */
	uint32		position;
	int			nids;
	const int  *ids;
} SkxHighlightMatch;

/* Matches that are near each other. */
typedef struct SkxHighlightWindow
{
	int			first;
	int			last;			/* -1: there is none */
	int			nphrases;
	int			nwords;			/* of the query */
	uint32		span;			/* words of the text, less one */
} SkxHighlightWindow;

typedef struct SkxHighlightText
{
	SkxHighlight *h;
	const char *bytes;
	uint32		len;			/* of what has been read, in the end */
	SkxHighlightWord *words;	/* tokens that have dictionaries, but those
								 * inside of the one before */
	uint32		nwords;
	uint32		room;
	SkxHighlightMatch *matches;
	int			nmatches;
	int			match_room;
	uint32		position;

	/* the window, and the best that it was on */
	uint32		most;			/* words of a passage; 0: the whole text */
	bool		stops;			/* when there can be nothing better */
	uint32		enough;			/* words to be read; 0: all */
	int			first;			/* match */
	int			distinct;		/* words of the query in it */
	int		   *counts;			/* by word of the query */
	int64		work;
	SkxHighlightWindow best;
} SkxHighlightText;

extern void skx_highlight_read(SkxHighlightText *t);

/*
 * highlight_window.c : the best window of matches, `most` words long at most
 *
 * The one with most phrases of the query, then most words of it, then, where
 * it has no phrases, the shortest, then the first.  add moves the window on to
 * a match; clear empties it, before match `next`, and leaves the best.
 */
extern void skx_highlight_window_add(SkxHighlightText *t, int match);
extern void skx_highlight_window_clear(SkxHighlightText *t, int next);

#endif							/* SKX_HIGHLIGHT_INTERNAL_H */
