/*
 * lexicon_internal.h
 *	  A lexicon, and what is kept of it.
 */
#ifndef SKX_LEXICON_INTERNAL_H
#define SKX_LEXICON_INTERNAL_H

#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "read/lexicon/lexicon.h"
#include "utils/hsearch.h"

/*
 * An input, which is a segment or all pending documents, and the position that
 * has been reached in its terms.
 */
typedef struct SkxLexiconInput
{
	SkxTermWalk *walk;			/* NULL: the input is pending documents */
	SkxLexiconTerm *pending;	/* of pending documents, ascending */
	int			n;
	int			i;				/* the term behind the current one */
	SkxLexeme	lexeme;			/* of the current term, whose counts are not
								 * read yet */
} SkxLexiconInput;

/* One of the indexes. */
typedef struct SkxLexiconSource
{
	Relation	index;
	const SkxView *view;
	uint64	   *last;			/* of each stripe the last document */
	SkxSnapshotReader *reader;
} SkxLexiconSource;

struct SkxLexicon
{
	SkxLexeme	prefix;
	char		above[SKX_LEXEME_MAX + 1];
	SkxLexeme	end;			/* `above`: the prefix and a byte that UTF-8
								 * does not have */
	int			nsources;		/* one for each index */
	SkxLexiconSource *sources;
	bool		is_read;		/* views and numbers are read */
	bool		is_open;		/* sources and inputs are open */
	HTAB	   *pending;		/* SkxLexiconTerm */
	MemoryContext context;
	SkxLexiconInput *inputs;	/* pending documents, then segments */
	int			ninputs;
	bool		has_begun;
	bool		seeks;			/* terms are passed over */
	binaryheap *heap;			/* of the inputs, by lexeme */
	SkxLexiconInput *first;		/* the first of the heap; NULL: it is empty */
	char		bytes[SKX_LEXEME_MAX];	/* of the term returned last */
};

/* lexicon_read.c : reads the view of each index, unless that is done */
extern void skx_lexicon_read_views(SkxLexicon *lexicon);

/*
 * lexicon_kept.c : terms near words that the session keeps
 *
 * They are kept for the views and pending documents of the indexes: what has
 * changed is not used.  Copies what is kept for the word into *best, which is
 * empty, and returns true, if it is as good as what a walk would find that
 * looks at *nterms terms at most.  Subtracts what the walk has looked at, and
 * sets *ended_early.
 */
extern bool skx_lexicon_find_kept(SkxLexicon *lexicon, const SkxNearWord *word,
								  int64 *nterms, SkxLexiconBest *best,
								  bool *ended_early);

/* Keeps what a walk has found that looked at `nterms` terms. */
extern void skx_lexicon_keep_found(SkxLexicon *lexicon,
								   const SkxNearWord *word, int64 nterms,
								   const SkxLexiconBest *best,
								   bool ended_early);

#endif							/* SKX_LEXICON_INTERNAL_H */
