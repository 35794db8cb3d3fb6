/*
 * score_internal.h
 *	  What the files of this folder share.
 */
#ifndef SKX_SCORE_INTERNAL_H
#define SKX_SCORE_INTERNAL_H

#include "lib/ilist.h"
#include "read/score/score.h"
#include "support/compat/compat.h"
#include "utils/hsearch.h"

/*
 * Label weights are multiples of 1 / SKX_SCORE_LABEL_STEPS, and a word counts
 * SKX_SCORE_TF_MAX times at most: the product of both is below 2^24, so that a
 * sum below the limit is exact in single precision.
 */
#define SKX_SCORE_LABEL_STEPS	256

/*
 * The order of a dictionary and of a tsvector's lexemes.
 */
static inline int
skx_score_compare(const char *a, int alen, const char *b, int blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	return cmp != 0 ? cmp : alen - blen;
}

/* A lexeme or prefix as the statistics know it. */
typedef struct SkxScoreWord
{
	const char *bytes;			/* the first three are the key */
	int			len;
	bool		prefix;
	uint64		df;
	const SkxTerm **found;		/* by segment of a plain index; NULL: for a
								 * prefix, or not kept */
	uint8	   *marks;			/* how often each pending document of a plain
								 * index has the word, as SkxPendingFound;
								 * NULL: not kept */
} SkxScoreWord;

/* What makes two snapshots see the same. */
typedef struct SkxScoreContent
{
	TransactionId xmin;
	TransactionId xmax;
	CommandId	curcid;
	bool		suboverflowed;
	bool		recovery;
	uint32		nxip;
	int32		nsubxip;
	TransactionId *xip;
	TransactionId *subxip;
} SkxScoreContent;

/* One index with storage. */
typedef struct SkxScoreLeaf
{
	Oid			oid;
	SkxLocator	locator;
	SkxView    *view;
	uint64	   *last;			/* number of the last document of each stripe
								 * that counts */
	uint64	   *marks;			/* where its documents begin among marks */
	uint64		nmarks;			/* documents of all stripes */
} SkxScoreLeaf;

struct SkxStats
{
	dlist_node	node;			/* in skx_score_pins, the last used first */
	bool		listed;
	bool		pinned;			/* was ever listed */
	int			users;
	SubTransactionId subid;		/* that pinned it */
	TimestampTz statement;		/* when the one that asked for it last began */
	Oid			index;
	int			nothers;		/* indexes that are counted with it */
	Oid		   *others;
	SkxLocator	locator;		/* of a plain index */
	SkxScoreContent content;
	MemoryContext context;		/* of all of it */
	uint64		ndocs;
	uint64		length;
	bool		plain;			/* one leaf, which is the index itself */
	int			nleaves;
	SkxScoreLeaf *leaves;
	MemoryContext lookups;		/* of the words and what they point to */
	Size		mark_bytes;		/* of which are marks */
	HTAB	   *words;			/* SkxScoreWord */
};

/* Bytes of marks of one query's words, and of those that are remembered. */
#define SKX_SCORE_MARK_BYTES	(1024 * 1024)

/*
 * score_marks.c : how often pending documents have a word
 *
 * leaf: numbers the leaf's documents.  make: a byte for each, none set, for one
 * of n words; NULL: there are no documents, or too many.  at: where a document's
 * byte is; false: it came after those that count.
 */
extern void skx_score_marks_leaf(SkxScoreLeaf *leaf);
extern uint8 *skx_score_marks_make(SkxStats *stats, int n);
extern bool skx_score_marks_at(const SkxScoreLeaf *leaf, int stripe,
							   uint64 sequence, uint64 *at);

/* score_query.c : those of a scorer's term, or NULL */
extern const uint8 *skx_score_word_marks(const SkxScorer *scorer, int term);

/* score_document.c : the first entry that is not below the lexeme */
extern int	skx_score_entry(const char *lexeme, int len, TSVector document);

/*
 * score_leaves.c : is the index counted alone, unless others are named?  Else
 * those that are counted with it and with these, and all but the partitioned ones
 * themselves, each once, in ascending order; all are locked
 */
extern bool skx_score_is_plain(Relation index);
extern List *skx_score_leaves(Relation index, const Oid *others, int nothers);

/* score_pins.c : puts them in place of the statistics' numbers */
extern void skx_score_use_pins(SkxScorer *scorer, const SkxScorePins *pins);

/* score_stats.c */

/* Keeps the statistics until the current memory context is reset. */
extern void skx_score_stats_hold(SkxStats *stats);

/*
 * Statistics that were pinned when epoch() gave that number: are they alive,
 * and of a snapshot of that content?
 */
extern uint64 skx_score_stats_epoch(void);
extern bool skx_score_stats_current(const SkxStats *stats, uint64 epoch,
									Snapshot snapshot);

/* Are pending documents among those that were counted? */
extern bool skx_score_leaf_pending(const SkxScoreLeaf *leaf);

/*
 * A leaf of a partitioned index, locked until the transaction ends; NULL when
 * it is none, or no longer the one that was pinned.
 */
extern Relation skx_score_leaf_relation(Oid oid, Relation index,
										const SkxScoreLeaf *pinned);

/*
 * score_terms.c : what the session has found of lexemes in segments before
 *
 * Of the leaf's segment of that number in its view.  known: of all of the n
 * lexemes; false: they are to be looked up.  Of more than SKX_SCORE_TERMS_QUERY
 * at once nothing is kept.
 */
#define SKX_SCORE_TERMS_QUERY	64

extern bool skx_score_terms_known(const SkxScoreLeaf *leaf, int segment,
								  const SkxLexeme *lexemes, int n,
								  SkxTerm *terms);
extern void skx_score_terms_keep(const SkxScoreLeaf *leaf, int segment,
								 const SkxLexeme *lexemes, int n,
								 const SkxTerm *terms);

/* score_words.c */

/* An empty table of words, in place of what was looked up before. */
extern void skx_score_words_make(SkxStats *stats);

/*
 * Looks up `n` terms (lexeme, len and prefix are set; those that are no prefix
 * first, in the order of a dictionary), sets the df of each, and words[i],
 * which is NULL for all where they are too many to be remembered.  `index` is
 * the one that the statistics are of.  The words stay as long as a scorer
 * holds the statistics.
 */
extern void skx_score_words_find(SkxStats *stats, Relation index,
								 SkxScoreTerm *terms, int n,
								 const SkxScoreWord **words);

#endif							/* SKX_SCORE_INTERNAL_H */
