/*
 * lexicon.h
 *	  All terms of some indexes, in the order of lexemes.
 *
 * The dictionaries of all segments and the lexemes of pending documents are
 * read together, so all counts of a term are known when it is returned.
 * Deleted documents count, as they do in statistics.
 */
#ifndef SKX_LEXICON_H
#define SKX_LEXICON_H

#include "index/column/column_value.h"
#include "utils/relcache.h"

/* Reader of the terms of some indexes. */
typedef struct SkxLexicon SkxLexicon;

/* A term with its counts in all of the indexes. */
typedef struct SkxLexiconTerm
{
	SkxLexeme	lexeme;
	uint64		df;
	uint64		tf;				/* without those of `has_no_positions` */
	bool		has_no_positions;	/* some posting of a segment may have no
									 * positions, which counts as one
									 * occurrence */
} SkxLexiconTerm;

/*
 * lexicon_read.c : reads terms
 *
 * Opens n indexes, in the current memory context, before their first term with
 * the prefix.  Values of other columns are no terms.
 */
extern SkxLexicon *skx_lexicon_open(Relation *indexes, int n,
									const SkxLexeme *prefix);

/*
 * Goes before the first term that is not below ends[0], for a walk that then
 * passes over terms by skx_lexicon_seek().  Of the terms from ends[1] on
 * nothing is prefetched.  The lexicon has no prefix.
 */
extern void skx_lexicon_begin_sparse(SkxLexicon *lexicon,
									 const SkxLexeme ends[2]);

/*
 * Moves to the first term that is not below `from`, unless that was passed.
 * Needs skx_lexicon_begin_sparse().
 */
extern void skx_lexicon_seek(SkxLexicon *lexicon, const SkxLexeme *from);

/*
 * Returns the lexeme of the next term with the prefix, which is not read yet;
 * NULL if there is none.  It is valid until the lexicon is moved.
 */
extern const SkxLexeme *skx_lexicon_peek(SkxLexicon *lexicon);

/*
 * Reads the next term with the prefix, and returns false if there is none.
 * Its lexeme is valid until the next call.  With `term` NULL the term is passed
 * over, and its counts are not read.
 */
extern bool skx_lexicon_next(SkxLexicon *lexicon, SkxLexiconTerm *term);

/* Returns how many postings of a term in all segments have no positions. */
extern uint64 skx_lexicon_count_no_positions(const SkxLexicon *lexicon,
											 const SkxLexeme *lexeme);

/* Closes all indexes' segments.  After an error it is not necessary. */
extern void skx_lexicon_close(SkxLexicon *lexicon);

/* lexicon_near.c : terms that are near a word */

/* The word that terms are compared with. */
typedef struct SkxNearWord
{
	SkxLexeme	lexeme;
	uint32	   *chars;			/* set by skx_lexicon_near_word() */
	int			nchars;
	bool		folds;			/* accents make no difference */
	int			edits;			/* largest distance (format/edit/edit.h) */
	bool		keeps_first;	/* the first character is that of the term */
	bool		is_prefix;		/* the word is the beginning of a term; those
								 * that begin with its bytes are left out */
} SkxNearWord;

/*
 * Sets the word to the characters of a lexeme in the server's encoding, bytes
 * if that is SQL_ASCII.  They are palloc'd; the lexeme stays the caller's.
 * `folds`: without accents, if the encoding is UTF8.  All else is zero.
 */
extern void skx_lexicon_near_word(const SkxLexeme *lexeme, bool folds,
								  SkxNearWord *word);

/* What lexemes are compared with a word by. */
typedef struct SkxNearWalk SkxNearWalk;

/*
 * Begins to compare lexemes with a word, which must stay valid.  The result is
 * palloc'd.
 */
extern SkxNearWalk *skx_lexicon_begin_distances(const SkxNearWord *word);

/*
 * Returns the distance of a lexeme from the word; word->edits + 1 if it is not
 * near.  Lexemes come in any order.
 */
extern int	skx_lexicon_distance(SkxNearWalk *walk, const SkxLexeme *lexeme);

/*
 * lexicon_best.c : the first ones of many terms
 *
 * The term that equals the word is the first, then terms come in the order of
 * their distance, then the commonest ones, then in the order of lexemes.
 */
typedef struct SkxLexiconFound
{
	SkxLexiconTerm term;
	bool		is_exact;		/* the term is the word */
	int			distance;
} SkxLexiconFound;

/* The first terms so far.  All zero but for `most` and `context` at first. */
typedef struct SkxLexiconBest
{
	int			most;			/* number of terms that are kept */
	MemoryContext context;		/* of their lexemes */
	int			n;
	int			size;
	SkxLexiconFound *found;		/* a heap with the last one of them first */
} SkxLexiconBest;

/* Keeps a copy of the term if it is among the first ones. */
extern void skx_lexicon_keep(SkxLexiconBest *best, const SkxLexiconTerm *term,
							 bool is_exact, int distance);

/* Sorts what was kept; no more may be kept. */
extern void skx_lexicon_sort(SkxLexiconBest *best);

/*
 * lexicon_near.c : most terms that are looked at for a word
 *
 * This bounds its time, and no clock does, so that the same index gives the
 * same answer.
 */
#define SKX_NEAR_TERMS_MAX	100000

/*
 * Keeps the terms that are near the word, wherever the lexicon was.  Looks at
 * *nterms terms at most, and SKX_NEAR_TERMS_MAX, and subtracts what it has
 * looked at.  Returns false if it ended early, because there was too much.
 * The session keeps what was found for as long as the indexes do not change.
 * best->n is 0, and the lexicon has no prefix.
 */
extern bool skx_lexicon_keep_near(SkxLexicon *lexicon,
								  const SkxNearWord *word, int64 *nterms,
								  SkxLexiconBest *best);

#endif							/* SKX_LEXICON_H */
