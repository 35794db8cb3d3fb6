/*
 * score.h
 *	  A ranking query under the statistics of an index, and the score of one
 *	  document by it.
 */
#ifndef SKX_SCORE_H
#define SKX_SCORE_H

#include "format/rank/rank_score.h"
#include "index/cursor/cursor.h"
#include "index/pending/pending.h"
#include "tsearch/ts_type.h"
#include "utils/snapshot.h"

/*
 * score_stats.c : statistics of an index, of all partitions of one, or of one
 * and those of the tables that inherit from its table
 *
 * Pinned by index and content of the snapshot until the transaction ends, so
 * that every reader under the same snapshot gets the same: scan, sort, select
 * list, all partitions, all pages of a cursor.  Without an MVCC snapshot they
 * are fresh.  `index` is open and locked; partitions of a partitioned index
 * are opened and locked here; those without an index of the family are none of
 * it.  So are the other indexes of the reference, unless that is NULL.
 */
typedef struct SkxStats SkxStats;
struct SkxRef;

extern SkxStats *skx_score_stats(Relation index, const struct SkxRef *ref,
								 Snapshot snapshot);

/* Documents with a tsvector, and the sum of their lengths. */
extern uint64 skx_score_stats_ndocs(const SkxStats *stats);
extern uint64 skx_score_stats_length(const SkxStats *stats);

/*
 * One word of a ranking query.
 */
typedef struct SkxScoreTerm
{
	const char *lexeme;
	int			len;
	bool		prefix;			/* all lexemes that begin so, as one word */
	uint8		labels;			/* set of labels that count; 0: any */
	uint16		count;			/* how often the query has it, at most
								 * SKX_SCORE_COUNT_MAX */
	uint64		df;				/* of a prefix see README.md; at most the
								 * number of documents */
	double		idf;
	float		weight;			/* idf in units, as often as it counts */
	float		ceiling;		/* a weight that bounds the parts of pairs,
								 * too, of which this is the rarer word */
} SkxScoreTerm;

/*
 * A word that the query repeats counts so often at most: as many occurrences as
 * a tsvector keeps.
 */
#define SKX_SCORE_COUNT_MAX	255

/* Two neighbouring words of a ranking query; neither is a prefix. */
typedef struct SkxScorePair
{
	int			first;			/* terms, in the order of the query */
	int			second;
	float		weight;			/* in units */
} SkxScorePair;

/* Pairs that are looked at: the first ones of a long query. */
#define SKX_SCORE_PAIRS_MAX	16

/*
 * score_query.c
 *
 * The words are those that the query does not negate, each lexeme once; its
 * labels are united.  NULL statistics give every word the weight zero.
 */
typedef struct SkxScorer
{
	TSQuery		query;
	SkxStats   *stats;
	SkxRankOptions options;
	int			nterms;
	int			nplain;			/* of them no prefixes */
	SkxScoreTerm *terms;		/* in the order of a dictionary, prefixes last */
	int			npairs;
	SkxScorePair *pairs;
	uint64		ndocs;			/* documents, and their lengths */
	uint64		length;
	double		unit;			/* units that make a score of 1 */
	double		average;		/* length */
	float		most;			/* largest of the label weights, at least 1,
								 * so that it bounds occurrences, too */
	bool		flat;			/* all label weights are 1; those in `options`
								 * are rounded to multiples of 1/256 */
	float		inverse[256];	/* by norm */
} SkxScorer;

/* In the current memory context; `query` must stay. */
extern SkxScorer *skx_score_open(Relation index, Snapshot snapshot,
								 const SkxRankOptions *options,
								 TSQuery query);

/*
 * score_pins.c : the numbers that a scorer goes by, to score by the same later
 *
 * pinned tells them, in the current memory context.  open_pinned opens a scorer,
 * by the other indexes of a reference, too, unless that is NULL.  It goes by
 * these numbers, if they are not NULL, which may be anything: it refuses what no
 * index can have, and those of other parameters.
 */
typedef struct SkxScorePins
{
	uint64		options;		/* a hash */
	uint64		ndocs;
	uint64		length;
	int			n;
	uint64	   *dfs;			/* of as many terms */
} SkxScorePins;

extern void skx_score_pinned(const SkxScorer *scorer, SkxScorePins *pins);
extern SkxScorer *skx_score_open_pinned(Relation index,
										const struct SkxRef *ref,
										Snapshot snapshot,
										const SkxRankOptions *options,
										TSQuery query,
										const SkxScorePins *pins);

/*
 * Is it of this transaction, and of a snapshot of the same content?  One that
 * is not must be opened again, and is good for nothing any more.
 */
extern bool skx_score_is_current(const SkxScorer *scorer, Snapshot snapshot);

/*
 * Terms of the statistics' view, so that they are looked up once: where the
 * statistics are of the plain index `index` alone, the view that they were
 * read from (else NULL), and what a segment of it has of each of the scorer's
 * terms that is no prefix (df 0: nothing).
 */
extern const SkxView *skx_score_view(const SkxScorer *scorer, Relation index);

/* May that view have a pending document that the snapshot sees? */
extern bool skx_score_pending(const SkxScorer *scorer);
extern const SkxTerm *skx_score_found(const SkxScorer *scorer, int term,
									  int segment);

/* Is that known of all of them?  Not of a query of very many words. */
extern bool skx_score_has_found(const SkxScorer *scorer);

/*
 * score_marks.c : which pending documents of that view may be hits
 *
 * The look-up of the words has gone through them.  NULL: it is not known.
 * marked: the largest sums that documents can have, 0 without any of the words,
 * of n of a stripe from a number on, SKX_PENDING_BOUNDS at most, that are no
 * shorter than the codes in norms say.  Of documents that came later nothing is
 * known.
 */
typedef struct SkxScoreMarks SkxScoreMarks;

extern SkxScoreMarks *skx_score_marks(const SkxScorer *scorer);
extern void skx_score_marked(const SkxScoreMarks *marks, int stripe,
							 uint64 sequence, int n, const uint8 *norms,
							 int32 *sums);

/*
 * score_document.c : the sum of parts of one document, 0 when it has none of
 * the words.  parts (NULL: not asked for) has room for nterms + npairs numbers.
 */
extern int32 skx_score_document(const SkxScorer *scorer, TSVector document,
								int32 *parts);

/* The same apart: returns that of the words, *pairs is that of the pairs. */
extern int32 skx_score_document_sums(const SkxScorer *scorer,
									 TSVector document, int32 *parts,
									 int32 *pairs);

/* How often one of the terms counts in the document; -1: it has it not. */
extern float skx_score_count(const SkxScorer *scorer, int term,
							 TSVector document);

/* What a word counts in a document at most; of a prefix, the sum of all. */
#define SKX_SCORE_TF_MAX	65535.0f

/*
 * How often posting i of the cursor's sub-block counts, by its labels, which
 * may be 0 times; -1: it has none of the labels that the term asks for.  A
 * multiple of 1/256, so that the counts of a prefix's lexemes add up in any
 * order.
 */
extern float skx_score_tf_labels(const SkxScorer *scorer,
								 const SkxScoreTerm *term, SkxCursor *c,
								 int i);

/* Does each place of a document count once, whatever its label? */
static inline bool
skx_score_is_flat(const SkxScorer *scorer, const SkxScoreTerm *term)
{
	return scorer->flat && term->labels == 0;
}

static inline float
skx_score_tf(const SkxScorer *scorer, const SkxScoreTerm *term, SkxCursor *c,
			 int i)
{
	if (c->counts != NULL)
		return c->counts[i];
	if (skx_score_is_flat(scorer, term))
		return Max(skx_cursor_tfs(c)[i], 1);
	return skx_score_tf_labels(scorer, term, c, i);
}

/* Score of a sum, and the distance that `<@>` returns. */
static inline float4
skx_score_value(const SkxScorer *scorer, int32 sum)
{
	return (float4) (sum / scorer->unit);
}

static inline float4
skx_score_distance(const SkxScorer *scorer, int32 sum)
{
	return sum == 0 ? 0.0f : -skx_score_value(scorer, sum);
}

/* No sum with such a distance, below 0, or a smaller one is less than that. */
static inline int32
skx_score_least(const SkxScorer *scorer, float4 distance)
{
	double		sum = -(double) distance * scorer->unit;

	/* a distance is rounded to 24 bits */
	sum = sum * (1 - 1.0 / (1 << 22)) - 1;
	return (int32) Min(Max(sum, 1), PG_INT32_MAX);
}

/*
 * score_rights.c : errors out unless the current user may read every row of the
 * columns that the index is made of: SELECT on them, and no policy that applies
 */
extern void skx_score_check_rights(Relation index);

/*
 * What checks the right to the index of a reference.  A plan checks it as
 * often as it is executed, and what holds such a reference is part of the plan.
 * What a function has made users can keep, store and give to others, so that
 * the right is asked for when a scorer is opened by it.
 */
typedef enum SkxRefMaker
{
	SKX_REF_FUNCTION,
	SKX_REF_PLAN
} SkxRefMaker;

/*
 * What stands on the right of a bound `<@>`: the index whose statistics and
 * options rank, other indexes that are counted with it, and the ranking query.
 * A varlena, never toasted.
 */
typedef struct SkxRef
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			index;
	uint32		maker;			/* SkxRefMaker */
	uint32		nothers;
	Oid			others[FLEXIBLE_ARRAY_MEMBER];	/* ascending; then a TSQuery */
} SkxRef;

#define SkxRefQuery(ref)	((TSQuery) ((ref)->others + (ref)->nothers))

/*
 * score_ref.c
 *
 * ref makes one; query NULL: none, to be bound later.  others: OIDs, ascending.
 * bound: the same with that query.  same_query: are two queries equal, item by
 * item?
 */
extern SkxRef *skx_score_ref(Oid index, const List *others, TSQuery query,
							 SkxRefMaker maker);
extern SkxRef *skx_score_bound(const SkxRef *ref, TSQuery query);
extern bool skx_score_same_query(const TSQueryData *a, const TSQueryData *b);

#endif							/* SKX_SCORE_H */
