/*
 * query_places.h
 *	  A phrase with prefixes: which documents it may match, and the positions
 *	  of its prefixes in them.
 */
#ifndef SKX_QUERY_PLACES_H
#define SKX_QUERY_PLACES_H

#include "read/query/query_internal.h"

/*
 * The positions at which matches of the phrase may end in a document: bit i
 * is set if one may end at a position that is i modulo SKX_PLACE_BITS.  If
 * operands follow each other at known distances, each position of an operand
 * allows one end.
 */
typedef uint64 SkxPlaceEnds;
#define SKX_PLACE_BITS		64

/* How an operand of the phrase is bound to its end (query_offsets.c). */
typedef struct SkxPlaceUse
{
	bool		required;		/* each match has the operand */
	bool		known;			/* the operand lies `before` positions before
								 * the end of a match */
	uint8		before;			/* modulo SKX_PLACE_BITS */
	uint8		labels;			/* set of labels of a position; 0 for any */
} SkxPlaceUse;

/*
 * query_places.c : a phrase with prefixes
 *
 * A prefix may have very many lists.  They are read for many documents at
 * once, which are the scope.
 */

/* A position of a prefix in a document. */
typedef struct SkxOccurrence
{
	uint32		doc;
	uint16		position;		/* WordEntryPos */
	bool		bare;			/* the lexeme is there without positions */
} SkxOccurrence;

/* What is known of a phrase's words in the documents of a scope. */
typedef struct SkxPlaces SkxPlaces;

/*
 * Opens the words of a phrase, of which there are at most nwords; they are
 * added by skx_query_places_word().  `room` is the memory budget in bytes.
 * reads are those of the phrase's batches.
 */
extern SkxPlaces *skx_query_places_open(SkxSegment *seg, const SkxReads *reads,
										int nwords, Size room, bool wants_all);

/*
 * Adds a word, and returns its number.  term is NULL for a prefix, else the
 * term of the lexeme.  The lexeme is not copied.
 */
extern int	skx_query_places_word(SkxPlaces *p, const char *lexeme, int len,
								  const SkxTerm *term);

/* Adds a use of a word, unless the word has an equal one. */
extern void skx_query_places_use(SkxPlaces *p, int word,
								 const SkxPlaceUse *use);

/*
 * Keeps those of the first of *some ascending documents that may match;
 * returns how many.  Sets *some to the number of documents it has looked at,
 * at least 1.
 */
extern int	skx_query_places_filter(SkxPlaces *p, uint32 *docs, int *some);

/*
 * Returns the positions of a prefix that matter, in a document that
 * skx_query_places_filter() has kept; sets *n to their number.  They are
 * valid until the next skx_query_places_filter().
 */
extern const SkxOccurrence *skx_query_places_of(SkxPlaces *p, int word,
												uint32 doc,
												int64 *n);

/* Frees all that is known of the words. */
extern void skx_query_places_close(SkxPlaces *p);

/*
 * Returns an estimate of the number of postings of all lexemes with a
 * prefix, and sets *nterms to the number of these lexemes.
 */
extern uint64 skx_query_prefix_postings(SkxSegment *seg, const char *lexeme,
										int len, uint32 *nterms);

/* All operands of the phrase with one lexeme or prefix. */
typedef struct SkxPlaceWord
{
	const char *lexeme;
	int			len;
	bool		prefix;
	SkxTerm		term;			/* unless `prefix`; df is 0 if the segment
								 * lacks it */
	int			nuses;
	SkxPlaceUse *uses;			/* of its operands, distinct */
	uint64		postings;		/* estimate of the postings of all lexemes */
	int64		n;				/* number of its positions that matter */
	int64		room;			/* capacity of `places` */
	int64		next;			/* positions with lower numbers are of earlier
								 * documents than the last one asked for */
	SkxOccurrence *places;		/* the n positions, by document */
} SkxPlaceWord;

/*
 * What is known of a phrase's words in the scope.  The scope is a set of
 * documents in [from, until), numbered from 0.  They are those that have all
 * words the phrase requires, or a few that are to be filtered.
 */
struct SkxPlaces
{
	SkxSegment *seg;
	MemoryContext context;		/* of scopes and cursors */
	const SkxReads *reads;		/* of the phrase's batches */
	bool		wants_all;		/* the whole answer will be fetched */
	int			nwords;
	SkxPlaceWord *words;
	uint32		most_docs;		/* capacity of the scope in documents */
	uint32		most_range;		/* largest until - from */
	int64		most;			/* capacity of positions of all words */
	int64		limit;			/* if nplaces exceeds it, `until` is lowered,
								 * and positions of later documents are
								 * dropped */
	int64		nplaces;		/* number of positions of all words */
	uint32		span;			/* documents planned for the last scope; 0
								 * before the first one */

	uint32		from;
	uint32		until;
	uint32		n;				/* number of documents in the scope */
	uint32	   *few;			/* these, or NULL if `bits` has them */
	uint64	   *bits;			/* the scope; bit i is document from + i */
	uint32	   *ranks;			/* for each word of bits: the number of its
								 * first document */
	uint32	   *docs;			/* documents by number; NULL before
								 * skx_query_scope_docs() */
	SkxPlaceEnds *ends;			/* by number; 0 if it does not match */
	SkxPlaceEnds *found;		/* by number: ends that the operand at hand
								 * allows, or which uses have a position */
	SkxCursor  *cursor;			/* of one list of a prefix after the other */
};

/*
 * query_offsets.c : sets uses[i] to how item i of the phrase is bound to its
 * end, for nitems items from the root on.  The uses of operators have no
 * meaning.
 */
extern void skx_query_place_uses(const QueryItem *root, int nitems,
								 SkxPlaceUse *uses);

/* query_scope.c : the documents of a scope */

/*
 * Makes the scope one of the n >= 1 ascending documents, which are copied.
 * The scope before it must be freed.
 */
extern void skx_query_scope_few(SkxPlaces *p, const uint32 *docs, int n);

/*
 * Makes the scope one of about `span` documents from `from` on: those that
 * have all lexemes the phrase requires, or all documents if it requires
 * none.  Large scopes are restricted by required prefixes with few postings,
 * too.  The scope before it must be freed.
 */
extern void skx_query_scope_wide(SkxPlaces *p, uint32 from, uint32 span);

/* Frees the documents of the scope, and what is known of them by number. */
extern void skx_query_scope_free(SkxPlaces *p);

/*
 * Returns the documents of the scope below `until`, by number.  They are
 * kept until the scope is freed.
 */
extern const uint32 *skx_query_scope_docs(SkxPlaces *p);

/*
 * Returns the number of a document, or SKX_NO_DOC if it is not in the scope.
 * p->few must not be NULL.
 */
extern uint32 skx_query_scope_search(const SkxPlaces *p, uint32 doc);

/* A walk through the documents of the scope, ascending. */
typedef struct SkxScopeWalk
{
	uint32		number;			/* number of the next document */
	uint32		word;			/* number of the current word of bits */
	uint64		left;			/* bits of that word that are still to come */
} SkxScopeWalk;

/* Begins a walk. */
extern void skx_query_scope_begin(const SkxPlaces *p, SkxScopeWalk *walk);

/*
 * Sets docs and numbers to the next documents of the walk that may still
 * match, and to their numbers, at most `most`.  Returns how many there are;
 * 0 at the end.
 */
extern int	skx_query_scope_next(const SkxPlaces *p, SkxScopeWalk *walk,
								 uint32 *docs, uint32 *numbers, int most);

/*
 * Returns the number of a document in [from, until), or SKX_NO_DOC if it is
 * not in the scope.
 */
static inline uint32
skx_query_scope_number(const SkxPlaces *p, uint32 doc)
{
	uint32		bit = doc - p->from;
	uint64		word;

	if (p->few != NULL)
		return skx_query_scope_search(p, doc);
	word = p->bits[bit / SKX_BITSET_WORD];
	if (!skx_bitset_has(word, bit))
		return SKX_NO_DOC;
	return p->ranks[bit / SKX_BITSET_WORD] +
		skx_bitset_count_word(word & skx_bitset_below(bit));
}

/* query_places_read.c : goes through the lists of a word in the scope */

/*
 * Reads the positions of a lexeme in the documents of the scope that may
 * still match, and leaves those of their ends that one use of the lexeme
 * allows.
 */
extern void skx_query_places_lexeme(SkxPlaces *p, const SkxPlaceWord *word,
									const SkxPlaceUse *use);

/*
 * Reads the positions of a prefix in the documents of the scope that may
 * still match, and leaves those of their ends that the use allows.  If use
 * is NULL, all ends are left.  With `keeps`, the positions that matter are
 * put into word->places.
 */
extern void skx_query_places_prefix(SkxPlaces *p, SkxPlaceWord *word,
									const SkxPlaceUse *use, bool keeps);

#endif							/* SKX_QUERY_PLACES_H */
