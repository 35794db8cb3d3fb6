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
 * is set if one may end at a position that is i modulo SKX_PHRASE_END_BITS.
 * If operands follow each other at known distances, each position of an
 * operand allows one end.
 */
typedef uint64 SkxPhraseEnds;
#define SKX_PHRASE_END_BITS		64

/* How an operand of the phrase is bound to its end (query_offsets.c). */
typedef struct SkxPhraseUse
{
	bool		is_required;	/* each match has the operand */
	bool		has_offset;		/* the operand lies `offset_to_end` positions
								 * before the end of a match */
	uint8		offset_to_end;	/* modulo SKX_PHRASE_END_BITS */
	uint8		labels;			/* set of labels of a position; 0 for any */
} SkxPhraseUse;

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
	bool		has_no_positions;	/* the lexeme is there without positions */
} SkxOccurrence;

/* What is known of a phrase's words in the documents of a scope. */
typedef struct SkxPhraseWords SkxPhraseWords;

/*
 * Opens the words of a phrase, of which there are at most nwords; they are
 * added by skx_query_words_add().  `room` is the memory budget in bytes.
 * reads are those of the phrase's batches.
 */
extern SkxPhraseWords *skx_query_words_open(SkxSegment *seg,
											const SkxPageReads *reads,
											int nwords, Size room,
											bool wants_all);

/*
 * Adds a word, and returns its number.  term is NULL for a prefix, else the
 * term of the lexeme.  The lexeme is not copied.
 */
extern int	skx_query_words_add(SkxPhraseWords *p, const char *lexeme, int len,
								const SkxTerm *term);

/* Adds a use of a word, unless the word has an equal one. */
extern void skx_query_words_add_use(SkxPhraseWords *p, int word,
									const SkxPhraseUse *use);

/*
 * Keeps those of the first of *some ascending documents that may match;
 * returns how many.  Sets *some to the number of documents it has looked at,
 * at least 1.
 */
extern int	skx_query_words_filter(SkxPhraseWords *p, uint32 *docs, int *some);

/*
 * Returns the positions of a prefix that matter, in a document that
 * skx_query_words_filter() has kept; sets *n to their number.  They are
 * valid until the next skx_query_words_filter().
 */
extern const SkxOccurrence *skx_query_words_positions(SkxPhraseWords *p,
													  int word, uint32 doc,
													  int64 *n);

/* Frees all that is known of the words. */
extern void skx_query_words_close(SkxPhraseWords *p);

/*
 * Returns an estimate of the number of postings of all lexemes with a
 * prefix, and sets *nterms to the number of these lexemes.
 */
extern uint64 skx_query_prefix_postings(SkxSegment *seg, const char *lexeme,
										int len, uint32 *nterms);

/* All operands of the phrase with one lexeme or prefix. */
typedef struct SkxPhraseWord
{
	const char *lexeme;
	int			len;
	bool		prefix;
	SkxTerm		term;			/* unless `prefix`; df is 0 if the segment
								 * lacks it */
	int			nuses;
	SkxPhraseUse *uses;			/* of its operands, distinct */
	uint64		postings;		/* estimate of the postings of all lexemes */
	int64		npositions;		/* number of its positions that matter */
	int64		positions_size; /* capacity of `positions` */
	int64		next_position;	/* positions with lower numbers are of earlier
								 * documents than the last one asked for */
	SkxOccurrence *positions;	/* the n positions, by document */
} SkxPhraseWord;

/*
 * What is known of a phrase's words in the scope.  The scope is a set of
 * documents in [from, until), numbered from 0.  They are those that have all
 * words the phrase requires, or a few that are to be filtered.
 */
struct SkxPhraseWords
{
	SkxSegment *seg;
	MemoryContext context;		/* of scopes and cursors */
	const SkxPageReads *page_reads; /* of the phrase's batches */
	bool		wants_all;		/* the whole answer will be fetched */
	int			nwords;
	SkxPhraseWord *words;
	uint32		max_docs;		/* capacity of the scope in documents */
	uint32		max_range;		/* largest until - from */
	int64		max_positions;	/* capacity of positions of all words */
	int64		positions_limit;	/* if nplaces exceeds it, `range_until` is
									 * lowered, and positions of later
									 * documents are dropped */
	int64		npositions;		/* number of positions of all words */
	uint32		scope_docs;		/* documents planned for the last scope; 0
								 * before the first one */

	uint32		range_from;
	uint32		range_until;
	uint32		n;				/* number of documents in the scope */
	uint32	   *doc_array;		/* these, or NULL if `bits` has them */
	uint64	   *bits;			/* the scope; bit i is document from + i */
	uint32	   *ranks;			/* for each word of bits: the number of its
								 * first document */
	uint32	   *docs;			/* documents by number; NULL before
								 * skx_query_scope_docs() */
	SkxPhraseEnds *match_ends;	/* by number; 0 if it does not match */
	SkxPhraseEnds *found_ends;	/* by number: ends that the operand at hand
								 * allows, or which uses have a position */
	SkxCursor  *cursor;			/* of one list of a prefix after the other */
};

/*
 * query_offsets.c : sets uses[i] to how item i of the phrase is bound to its
 * end, for nitems items from the root on.  The uses of operators have no
 * meaning.
 */
extern void skx_query_phrase_uses(const QueryItem *root, int nitems,
								  SkxPhraseUse *uses);

/* query_scope.c : the documents of a scope */

/*
 * Makes the scope one of the n >= 1 ascending documents, which are copied.
 * The scope before it must be freed.
 */
extern void skx_query_scope_of_docs(SkxPhraseWords *p, const uint32 *docs,
									int n);

/*
 * Makes the scope one of about `span` documents from `from` on: those that
 * have all lexemes the phrase requires, or all documents if it requires
 * none.  Large scopes are restricted by required prefixes with few postings,
 * too.  The scope before it must be freed.
 */
extern void skx_query_scope_of_range(SkxPhraseWords *p, uint32 from,
									 uint32 span);

/* Frees the documents of the scope, and what is known of them by number. */
extern void skx_query_scope_free(SkxPhraseWords *p);

/*
 * Returns the documents of the scope below `range_until`, by number.  They are
 * kept until the scope is freed.
 */
extern const uint32 *skx_query_scope_docs(SkxPhraseWords *p);

/*
 * Returns the number of a document, or SKX_NO_DOC if it is not in the scope.
 * p->doc_array must not be NULL.
 */
extern uint32 skx_query_scope_find_doc(const SkxPhraseWords *p, uint32 doc);

/* A walk through the documents of the scope, ascending. */
typedef struct SkxScopeWalk
{
	uint32		number;			/* number of the next document */
	uint32		word_number;	/* number of the current word of bits */
	uint64		remaining_bits; /* bits of that word that are still to come */
} SkxScopeWalk;

/* Begins a walk. */
extern void skx_query_scope_begin(const SkxPhraseWords *p, SkxScopeWalk *walk);

/*
 * Sets docs and numbers to the next documents of the walk that may still
 * match, and to their numbers, at most `most`.  Returns how many there are;
 * 0 at the end.
 */
extern int	skx_query_scope_next(const SkxPhraseWords *p, SkxScopeWalk *walk,
								 uint32 *docs, uint32 *numbers, int most);

/*
 * Returns the number of a document in [from, until), or SKX_NO_DOC if it is
 * not in the scope.
 */
static inline uint32
skx_query_scope_doc_number(const SkxPhraseWords *p, uint32 doc)
{
	uint32		bit = doc - p->range_from;
	uint64		word;

	if (p->doc_array != NULL)
		return skx_query_scope_find_doc(p, doc);
	word = p->bits[bit / SKX_BITSET_BITS];
	if (!skx_bitset_word_has(word, bit))
		return SKX_NO_DOC;
	return p->ranks[bit / SKX_BITSET_BITS] +
		skx_bitset_count_word(word & skx_bitset_mask_below(bit));
}

/* query_places_read.c : goes through the lists of a word in the scope */

/*
 * Reads the positions of a lexeme in the documents of the scope that may
 * still match, and leaves those of their ends that one use of the lexeme
 * allows.
 */
extern void skx_query_words_read_lexeme(SkxPhraseWords *p,
										const SkxPhraseWord *word,
										const SkxPhraseUse *use);

/*
 * Reads the positions of a prefix in the documents of the scope that may
 * still match, and leaves those of their ends that the use allows.  If use
 * is NULL, all ends are left.  With `keeps`, the positions that matter are
 * put into word->positions.
 */
extern void skx_query_words_read_prefix(SkxPhraseWords *p, SkxPhraseWord *word,
										const SkxPhraseUse *use, bool keeps);

#endif							/* SKX_QUERY_PLACES_H */
