/*
 * score_internal.h
 *	  Declarations that the files of score/ share.
 */
#ifndef SKX_SCORE_INTERNAL_H
#define SKX_SCORE_INTERNAL_H

#include "lib/ilist.h"
#include "read/score/score.h"
#include "support/compat/compat.h"
#include "support/sessioncache/sessioncache.h"
#include "utils/hsearch.h"

/*
 * Label weights are multiples of 1 / SKX_SCORE_LABEL_UNITS, and a word counts
 * SKX_SCORE_TF_MAX times at most.  The product of both is below 2^24, so that
 * a sum below that limit is exact in single precision.
 */
#define SKX_SCORE_LABEL_UNITS	256

/* Compares two lexemes in the order of dictionaries and tsvectors. */
static inline int
skx_score_compare(const char *a, int alen, const char *b, int blen)
{
	int			cmp = memcmp(a, b, Min(alen, blen));

	return cmp != 0 ? cmp : alen - blen;
}

/* A lexeme or prefix in the statistics' table of words. */
typedef struct SkxScoreWord
{
	const char *bytes;			/* the first three are the key */
	int			len;
	bool		prefix;
	uint64		sum;			/* this and the next three: SkxRankingTerm */
	uint64		whole;
	const char *only;
	int			only_len;
	const SkxTerm **found;		/* by segment of a plain index: its entry,
								 * NULL if it has none; `found` is NULL for a
								 * prefix, without segments, or if not kept */
	uint8	   *pending_tfs;	/* by pending document of a plain index: how
								 * often it has the word, at most
								 * SKX_PENDING_TF_MAX; NULL: not kept */
} SkxScoreWord;

/*
 * Content of a snapshot.  Two snapshots with the same content see the same
 * rows.
 */
typedef struct SkxSnapshotContent
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
} SkxSnapshotContent;

/* One index with storage, whose documents are counted. */
typedef struct SkxScoreLeaf
{
	Oid			oid;
	SkxLocator	locator;
	SkxView    *view;
	uint64	   *pending_ends;	/* by stripe: number of the last document that
								 * counts */
	uint64	   *stripe_offsets; /* by stripe: index of its first document in
								 * `stripe_offsets` of a word */
	uint64		npending;		/* pending documents of all stripes */
} SkxScoreLeaf;

/* A table of skx_rank_norm_inverses(), and what it was made for. */
typedef struct SkxScoreInverse
{
	bool		made;
	double		k1;
	double		b;
	double		average;
	float		table[256];
} SkxScoreInverse;

/* Statistics for one snapshot. */
struct SkxStats
{
	SkxSessionEntry entry;		/* between transactions */
	dlist_node	node;			/* in the list of kept statistics, last used
								 * first */
	bool		is_listed;		/* is in that list */
	bool		was_listed;		/* was ever in that list */
	int			nusers;			/* holders, see skx_score_stats_hold() */
	SubTransactionId subid;		/* subtransaction that put them into that list */
	TimestampTz statement_time; /* start of the statement that last asked for
								 * them */
	Oid			index;
	int			nother_indexes; /* other indexes that are counted */
	Oid		   *other_indexes;	/* OIDs of these, ascending */
	SkxLocator	locator;		/* of a plain index */
	SkxSnapshotContent snapshot_content;
	MemoryContext context;		/* has all of it */
	uint64		ndocs;
	uint64		length;			/* sum of the documents' lengths */
	SkxScoreInverse inverse;	/* of the last query */
	bool		is_plain;		/* the only leaf is the index itself */
	int			nleaves;
	SkxScoreLeaf *leaves;
	MemoryContext lookups;		/* has the words and all that they point to */
	Size		pending_tf_bytes;	/* bytes of marks in `lookups` */
	HTAB	   *words;			/* hash table of SkxScoreWord */
};

/*
 * Most bytes of marks for the words of one query.  Statistics with more than
 * that in all get no further marks.
 */
#define SKX_SCORE_TF_BYTES_MAX	(1024 * 1024)

/* score_query.c : a scorer without statistics, and with those of an index */

/* Returns a scorer that has the terms and pairs of a query alone. */
extern SkxScorer *skx_score_read_query(const SkxRankOptions *options,
									   TSQuery query);

/* Reads the statistics for all terms, and computes what follows. */
extern void skx_score_read_statistics(SkxScorer *scorer, Relation index,
									  const SkxRef *ref, Snapshot snapshot);

/* score_query.c : returns the marks of a scorer's term, NULL if not kept */
extern const uint8 *skx_score_word_pending_tfs(const SkxScorer *scorer,
											   int term);

/*
 * score_document.c : returns the index of the document's first entry that is
 * not below the lexeme, the number of entries if there is none
 */
extern int	skx_score_entry(const char *lexeme, int len, TSVector document);

/* score_leaf.c : one index whose documents are counted */

/*
 * Reads the statistics of a leaf.  Numbers of documents count documents with a
 * tsvector.  Deleted documents count until a flush or merge leaves them out.
 */
extern void skx_score_leaf_read(SkxStats *stats, SkxScoreLeaf *leaf,
								Relation rel);

/*
 * Returns true if the index is the one that the leaf was read from, and was
 * not emptied in place.  With same_generation it must have the same
 * generation, too.
 */
extern bool skx_score_leaf_is_same(const SkxScoreLeaf *leaf, Relation rel,
								   bool same_generation);

/*
 * Opens an index that is counted with `index`, locked (AccessShareLock) until
 * the transaction ends.  Returns NULL if it does not exist, is not valid, or
 * is no index with storage of the same access method.  Returns NULL, too, if
 * `pinned` is not NULL and the index is another one than that leaf was read
 * from.
 */
extern Relation skx_score_leaf_relation(Oid oid, Relation index,
										const SkxScoreLeaf *pinned);

/* Returns true if the statistics count pending documents of the leaf. */
extern bool skx_score_leaf_pending(const SkxScoreLeaf *leaf);

/*
 * Sets *at to the index of a pending document in the marks of a word.  Returns
 * false if the document was inserted after the statistics were read.
 */
extern bool skx_score_pending_tf_index(const SkxScoreLeaf *leaf, int stripe,
									   uint64 sequence, uint64 *at);

/* score_leaves.c : the indexes whose documents are counted together */

/*
 * Returns true if the index is counted alone: it is not partitioned, and no
 * table inherits from its table.
 */
extern bool skx_score_is_plain(Relation index);

/*
 * Returns the OIDs of the indexes that are counted with `index` and with the
 * nothers indexes `others`, each once, ascending.  These are partitions, and
 * indexes of inheriting tables that are defined alike.  Partitioned indexes
 * are among them, and left out by skx_score_leaf_relation().  Locks all of
 * them (AccessShareLock) until the transaction ends.
 */
extern List *skx_score_leaves(Relation index, const Oid *others, int nothers);

/* score_stats.c : statistics, and the indexes that they are read from */

/*
 * Keeps the statistics in memory until the current memory context is reset or
 * deleted.
 */
extern void skx_score_stats_hold(SkxStats *stats);

/*
 * Returns a number that grows with every transaction that ends in this
 * process.
 */
extern uint64 skx_score_stats_epoch(void);

/*
 * Returns true if statistics, which were read when skx_score_stats_epoch() was
 * `epoch`, can be used under the snapshot.  They must be kept still, have been
 * asked for in this statement, and be for a snapshot with the same content.
 */
extern bool skx_score_stats_current(const SkxStats *stats, uint64 epoch,
									Snapshot snapshot);

/* score_among.c : the documents that meet a condition on a column */

/*
 * What is counted among the documents that meet a condition and have a text.
 * One segment is counted at a time, with a bit for each of its
 * documents in memory.
 */
typedef struct SkxScoreAmong
{
	const SkxCondition *condition;	/* of skx_score_among() */
	uint64		ndocs;			/* documents so far */
	uint64		length;			/* sum of their lengths */
	uint8	   *bits;			/* of the segment: its documents */
	uint8	   *rounded;		/* those whose norm does not tell the length;
								 * NULL: none */
	uint32		segment_docs;
	uint64		segment_length;
	SkxCursor  *list;			/* for one term after the other */
} SkxScoreAmong;

/*
 * Finds the documents in an open segment, `number` in the view, and adds them
 * and their lengths.  Returns false if there are none.  The caller ends the
 * segment with skx_score_among_leave().
 */
extern bool skx_score_among_enter(SkxScoreAmong *among, Relation rel,
								  const SkxView *view, int number,
								  SkxSegment *seg);

/* Returns how many of the segment's documents have the term. */
extern uint32 skx_score_among_df(SkxScoreAmong *among, const SkxSegment *seg,
								 const SkxTerm *term);

/* Frees what is kept of a segment. */
extern void skx_score_among_leave(SkxScoreAmong *among);

/*
 * Returns true if a pending document, with the lexemes of its values, is one
 * of them.  Then it is added with its length.
 */
extern bool skx_score_among_pending(SkxScoreAmong *among, TSVector document);

/* score_words.c : the table of words */

/*
 * Makes an empty table of words, and frees the table before it with its words.
 */
extern void skx_score_words_make(SkxStats *stats);

/*
 * Looks up n terms, whose lexeme, len and prefix are set.  Terms that are no
 * prefixes come first; both kinds are in dictionary order.  Sets what is known
 * of each term: sum, whole, only.  Sets words[i] to its word in the table, but
 * leaves `words` as it is if the words are too many to be kept.  `index` is
 * the index of the statistics.  The words stay valid as long as a scorer holds
 * the statistics.
 */
extern void skx_score_words_find(SkxStats *stats, Relation index,
								 SkxScoreTerm *terms, int n,
								 const SkxScoreWord **words);

/*
 * Does the same, but sets what is known among some documents, which it adds to
 * *among.  Nothing of it is kept.
 */
extern void skx_score_words_find_among(SkxStats *stats, Relation index,
									   SkxScoreTerm *terms, int n,
									   SkxScoreAmong *among);

#endif							/* SKX_SCORE_INTERNAL_H */
