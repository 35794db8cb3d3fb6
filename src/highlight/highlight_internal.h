/*
 * highlight_internal.h
 *	  The best passages of a text, with the words of a query marked.
 */
#ifndef SKX_HIGHLIGHT_INTERNAL_H
#define SKX_HIGHLIGHT_INTERNAL_H

#include "parse/parse.h"
#include "support/bitset/bitset.h"
#include "tsearch/ts_cache.h"
#include "tsearch/ts_type.h"
#include "utils/hsearch.h"

/* Most bytes of a text that are searched for passages. */
#define SKX_HIGHLIGHT_BYTES_MAX		(1024 * 1024)

/* Most bytes of memory of kept pieces, and most bytes of text of one. */
#define SKX_HIGHLIGHT_CACHE_BYTES		(12 * 1024 * 1024)
#define SKX_HIGHLIGHT_PIECE_BYTES		64

/* Most phrases of a query that are searched, and most steps of that work. */
#define SKX_HIGHLIGHT_PHRASES_MAX	64
#define SKX_HIGHLIGHT_WORK_MAX		(20 * 1000 * 1000)

/* Most words of the query that one token counts as. */
#define SKX_HIGHLIGHT_TOKEN_IDS_MAX		16

/* Bound of the number of matches in a text: half a gigabyte of memory. */
#define SKX_HIGHLIGHT_MATCHES_MAX	(16 * 1024 * 1024)

/* Largest values of the arguments max_words and max_passages. */
#define SKX_HIGHLIGHT_WORDS_MAX		10000
#define SKX_HIGHLIGHT_PASSAGES_MAX	100

/*
 * highlight_query.c : the words and phrases of a query
 *
 * The words are the operands that are not negated, each lexeme or prefix once,
 * whatever its weights.  The phrases are the outermost ones that are not
 * negated.
 */
typedef struct SkxHighlightQuery
{
	TSQuery		query;
	int			nwords;
	int		   *ids;			/* by item of the query: number of its word;
								 * -1: none */
	HTAB	   *words;			/* hash table of the words */
	uint64		second_chars[36];	/* by skx_highlight_char_number() of a
									 * first character: bits of the numbers of
									 * second characters of words; all bits if
									 * such a word has no numbered second
									 * character */
	int			nlengths;		/* number of `lengths` */
	int		   *lengths;		/* distinct lengths of prefixes, ascending */
	int			nphrases;
	int			phrases[SKX_HIGHLIGHT_PHRASES_MAX]; /* items of the query */
} SkxHighlightQuery;

/*
 * Returns the words and phrases of a copy of the query, in the current memory
 * context.
 */
extern SkxHighlightQuery *skx_highlight_query(TSQuery query);

/*
 * Adds the numbers of the words that the lexeme equals or begins with to ids,
 * which has nids of them.  Returns the new number, at most
 * SKX_HIGHLIGHT_TOKEN_IDS_MAX.
 */
extern int	skx_highlight_lookup(const SkxHighlightQuery *query,
								 const char *lexeme, int len, int *ids,
								 int nids);

/*
 * highlight_pieces.c : the tokens of a piece of text
 *
 * A piece is one token that a parser gave.  With the default parser it is also
 * the text between two blanks, of which that parser makes the same tokens
 * wherever it stands.  Pieces are kept, to be found again.
 *
 * The following is a token of a piece.
 */
typedef struct SkxHighlightToken
{
	uint32		start;			/* offsets in the piece, in bytes */
	uint32		end;
	uint32		position;		/* as in a tsvector, from 1 in the piece */
	int			nids;			/* number of `ids` */
	int		   *ids;			/* words of the query that it is */
} SkxHighlightToken;

/*
 * Kinds of pieces: a token type of the parser, or one of the negative values.
 */
#define SKX_HIGHLIGHT_TOKEN_TYPES		24	/* bound of token types in bit
											 * sets */
#define SKX_HIGHLIGHT_CHUNK		(-1)	/* text that a blank follows */
#define SKX_HIGHLIGHT_LAST_CHUNK		(-2)	/* text at the end of the
												 * whole */

/* A piece and its tokens. */
typedef struct SkxHighlightPiece
{
	uint32		hash;
	int			kind;
	int			len;			/* bytes of text */
	uint32		npositions;		/* positions that its tokens take */
	bool		is_cached;		/* its memory is that of kept pieces */
	bool		is_one_token;	/* it is one token, no word of the query;
								 * ntokens is 0 */
	int			ntokens;		/* tokens of types that have dictionaries */
	SkxHighlightToken *tokens;
	/* the text of a kept piece follows */
} SkxHighlightPiece;

/* Slot of the hash table of kept pieces. */
typedef struct SkxHighlightSlot
{
	uint32		hash;
	SkxHighlightPiece *piece;	/* NULL: empty */
} SkxHighlightSlot;

/* State for one configuration and query, kept from one call to the next. */
typedef struct SkxHighlight
{
	MemoryContext context;		/* has all of it */
	Oid			config;
	SkxHighlightQuery *query;
	uint64		generation;		/* of dictionaries and configurations */
	uint32		keeping_types;	/* result of skx_highlight_keeping_types() */
	MemoryContext pieces;		/* has the kept pieces */
	MemoryContext scratch;		/* reset after each piece and each search of
								 * phrases */
	MemoryContext token;		/* reset after the look-up of each token */
	int			npieces;		/* kept pieces */
	uint32		mask;			/* number of slots, minus one */
	SkxHighlightSlot *slots;
	TSConfigCacheEntry *entry;	/* this and the next three are set by each
								 * call */
	TSParserCacheEntry *parser;
	bool		plain;			/* the parser is the default one */
	bool		marks_only;		/* the caller needs matches, but no other
								 * words */
} SkxHighlight;

/*
 * Returns the number, 0 to 35, of an ASCII letter or digit, -1 for another
 * character.  A large letter has the number of its small one, except 'I',
 * whose small letter differs between locales.
 */
static inline int
skx_highlight_char_number(char c)
{
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	if (c >= 'A' && c <= 'Z')
		return c == 'I' ? -1 : c - 'A';
	return c >= '0' && c <= '9' ? 26 + c - '0' : -1;
}

/*
 * Returns true if the first characters of a token of this type tell that it is
 * a lexeme, but no word of the query.  len must not be 0.
 */
static inline bool
skx_highlight_token_is_unmatched(const SkxHighlight *h, int type,
								 const char *bytes, int len)
{
	int			first = skx_highlight_char_number(bytes[0]);
	int			second;

	if (type >= SKX_HIGHLIGHT_TOKEN_TYPES ||
		(h->keeping_types >> type & 1) == 0 ||
		len >= MAXSTRLEN || first < 0)
		return false;
	if (h->query->second_chars[first] == 0)
		return true;
	if (len == 1)
		return false;
	second = skx_highlight_char_number(bytes[1]);
	return second >= 0 && second != 'y' - 'a' &&
		!skx_bitset_word_has(h->query->second_chars[first], second);
}

/*
 * Returns the state for a call with this configuration and query.  `kept` is
 * the state of the last call, or NULL; it is used again if it fits, and
 * deleted if not.  A new state is made below the memory context `parent`.
 */
extern SkxHighlight *skx_highlight_get_state(SkxHighlight *kept,
											 MemoryContext parent, Oid config,
											 TSQuery query);

/*
 * Returns the piece with this kind and these len bytes of text: a kept one, or
 * a new one.  A new piece is kept if it is short and the memory budget of kept
 * pieces allows it; else it is in the current memory context.  If kind is
 * SKX_HIGHLIGHT_CHUNK, the byte after the text must be a blank.  The caller
 * passes the piece to skx_highlight_free_piece() before the next call of
 * skx_highlight_get_state().
 */
extern const SkxHighlightPiece *skx_highlight_piece(SkxHighlight *h, int kind,
													const char *bytes,
													int len);

/*
 * highlight_keeping.c : returns the set, as bits, of token types whose
 * dictionaries know all tokens and keep their first characters.  That means: a
 * token that begins with two ASCII letters or digits becomes lexemes that
 * begin with the same two, or, if the second is 'y', with the same first one.
 * Case is ignored.
 */
extern uint32 skx_highlight_keeping_types(const TSConfigCacheEntry *config);

/*
 * highlight_pieces.c : frees a piece, unless it is kept.  The ids of its
 * tokens stay allocated.
 */
extern void skx_highlight_free_piece(const SkxHighlightPiece *piece);

/*
 * highlight_text.c : the words of a text, and its matches with the query
 *
 * The following is a word: a token of a type that has dictionaries, except
 * tokens within the one before.
 */
typedef struct SkxHighlightWord
{
	uint32		start;			/* offsets in the text, in bytes */
	uint32		end;
} SkxHighlightWord;

/* A token that is a word of the query. */
typedef struct SkxHighlightMatch
{
	uint32		start;			/* offsets in the text, in bytes */
	uint32		end;
	uint32		word;			/* index of its word of the text */
	uint32		position;		/* as in a tsvector */
	int			nids;			/* number of `ids` */
	const int  *ids;			/* words of the query that it is */
} SkxHighlightMatch;

/* A window: consecutive matches, near each other. */
typedef struct SkxHighlightWindow
{
	int			first;			/* index of its first match */
	int			last;			/* index of its last match; -1: there is no
								 * window */
	int			nphrases;		/* phrases of the query in it */
	int			nwords;			/* words of the query in it */
	uint32		span;			/* words of the text in it, minus one */
} SkxHighlightWindow;

/* A text while it is read. */
typedef struct SkxHighlightText
{
	SkxHighlight *highlight;
	const char *bytes;
	uint32		len;			/* bytes; after reading, those that were read */
	SkxHighlightWord *words;	/* of the text; only the last one if
								 * `passage_words` is 0 */
	uint32		nwords;
	uint32		words_size;		/* capacity of words */
	SkxHighlightMatch *matches;
	int			nmatches;
	int			matches_size;	/* capacity of matches */
	uint32		position;		/* of the last token read */

	/* the window at present, and the best one so far */
	uint32		passage_words;	/* words of a passage; 0: the whole text */
	bool		stops_early;	/* stop reading when no better window can
								 * follow */
	uint32		max_words;		/* words to read; 0: all */
	int			first;			/* index of the window's first match */
	int			ndistinct;		/* words of the query in the window */
	int		   *counts;			/* by word of the query: matches in the window */
	int64		work;			/* steps of searches for phrases */
	SkxHighlightWindow best;
} SkxHighlightText;

/*
 * Reads the text: sets words, matches, the best window and len.  The caller
 * has set h, bytes, len, most, stops and counts (zeroed), and best.last to -1.
 * Raises an error if the text has too many matches.
 */
extern void skx_highlight_read_text(SkxHighlightText *t);

/*
 * highlight_window.c : the best window of matches, at most `passage_words`
 * words long
 *
 * The best window has most phrases of the query, then most words of it.  Of
 * several without phrases it is the shortest, else the first one.
 */

/*
 * Moves the window forward, so that it ends with a match, and compares it with
 * the best one.
 */
extern void skx_highlight_window_add(SkxHighlightText *t, int match);

/*
 * Empties the window; the next one begins at match `next` or later.  Leaves
 * the best window alone.
 */
extern void skx_highlight_window_clear(SkxHighlightText *t, int next);

#endif							/* SKX_HIGHLIGHT_INTERNAL_H */
