/*
 * score.h
 *	  A ranking query with the statistics of an index, and the score of a
 *	  document for it.
 */
#ifndef SKX_SCORE_H
#define SKX_SCORE_H

#include "format/ranking/ranking.h"
#include "index/cursor/cursor.h"
#include "index/pending/pending.h"
#include "read/condition/condition.h"
#include "tsearch/ts_type.h"
#include "utils/snapshot.h"

/*
 * score_stats.c : statistics of an index and of the indexes counted with it
 *
 * The statistics of a partitioned index are those of all its partitions.  The
 * statistics of an index on a parent table include those of its inheriting
 * tables.  They are kept, by index and content of the snapshot, until the
 * transaction ends.  So every reader under the same snapshot gets the same:
 * scan, sort, select list, all partitions, all pages of a cursor.
 */

/* Statistics for one snapshot. */
typedef struct SkxStats SkxStats;

/* Ranking query with its index, defined below. */
struct SkxRef;

/*
 * Returns the statistics of `index` for a snapshot.  They include those of the
 * other indexes of `ref`, unless ref is NULL.  `index` is open and locked.
 * Partitions, inheriting tables and other indexes are opened and locked
 * (AccessShareLock) until the transaction ends; those without a valid index of
 * this access method are left out.  Without an MVCC snapshot (NULL, or of
 * another type) the statistics are new, in the current memory context, and not
 * kept.
 */
extern SkxStats *skx_score_stats(Relation index, const struct SkxRef *ref,
								 Snapshot snapshot);

/* Returns the number of documents with a tsvector. */
extern uint64 skx_score_stats_ndocs(const SkxStats *stats);

/* Returns the sum of the lengths of these documents. */
extern uint64 skx_score_stats_length(const SkxStats *stats);

/* One word of a ranking query, and two of them that are neighbours. */
typedef SkxRankingTerm SkxScoreTerm;
typedef SkxRankingPair SkxScorePair;

/* The words whose positions count on one side of a pair. */
typedef struct SkxScoreSide
{
	int			n;
	int		   *terms;
} SkxScoreSide;

/*
 * score_query.c : a ranking query, ready to score documents
 *
 * The terms are the lexemes that the query does not negate, each once with its
 * labels united.
 */
typedef struct SkxScorer
{
	SkxStats   *stats;			/* NULL: of no index */
	SkxRankOptions options;
	int			nterms;
	int			nplain;			/* terms that are no prefixes */
	SkxScoreTerm *terms;		/* in dictionary order, prefixes last */
	int			ngroups;
	SkxRankingGroup *groups;
	int			npairs;
	SkxScorePair *pairs;
	SkxScoreSide (*sides)[2];	/* of each pair */
	uint64		ndocs;			/* documents of the statistics */
	uint64		length;			/* sum of their lengths */
	double		score_units;	/* units that make a score of 1 */
	double		average;		/* average length of a document */
	float		max_label_weight;	/* largest of the label weights, but at
									 * least 1, so that it bounds numbers of
									 * occurrences, too */
	bool		is_unweighted;	/* all label weights are 1; those in `options`
								 * are rounded to multiples of 1/256 */
	float		inverses[256];	/* by norm, see skx_rank_norm_inverses() */
} SkxScorer;

/*
 * Opens a scorer of the query with the statistics of `index` and of the other
 * indexes of `ref` (NULL: none), in the current memory context.  `query` must
 * stay valid as long as the scorer.
 */
extern SkxScorer *skx_score_open(Relation index, const struct SkxRef *ref,
								 Snapshot snapshot,
								 const SkxRankOptions *options,
								 TSQuery query);

/* A lexeme that counts as one with a word of a query. */
typedef struct SkxScoreVariant
{
	SkxLexeme	word;			/* of the query */
	SkxLexeme	lexeme;
	double		factor;
} SkxScoreVariant;

/*
 * score_groups.c : does the same as skx_score_open(), but makes a group of
 * each word that has some of the n variants, with the labels of the word.  Sets
 * *unknown to the number of a variant whose word is none that the query ranks
 * by, or to -1.  Raises ERRCODE_PROGRAM_LIMIT_EXCEEDED if there are too many
 * groups.  The scorer is good for skx_score_ranking() alone, and what that
 * gives must be checked.
 */
extern SkxScorer *skx_score_open_groups(Relation index, Snapshot snapshot,
										const SkxRankOptions *options,
										TSQuery query,
										const SkxScoreVariant *variants, int n,
										int *unknown);

/*
 * Opens a scorer by an accepted ranking, in the current memory context.  All
 * its numbers are those of the ranking.  `index` is one that is searched by
 * it, whose entries of the words the scorer knows then; NULL if there is none.
 * What the ranking points to must stay valid as long as the scorer.
 */
extern SkxScorer *skx_score_open_ranking(Relation index, Snapshot snapshot,
										 const SkxRanking *ranking);

/*
 * score_ranking.c : rankings, by which every document has the score that it
 * has by the scorer, whatever becomes of the index
 */

/* Fills in the ranking of a scorer, which has its terms and pairs. */
extern void skx_score_ranking(const SkxScorer *scorer, SkxRanking *ranking);

/* Returns a ranking as a varlena of packed bytes, palloc'd. */
extern bytea *skx_score_pack(const SkxRanking *ranking);

/*
 * Reads n packed bytes, which may come from a user.  Returns NULL unless they
 * are an accepted ranking.  The result is palloc'd; its lexemes point into the
 * bytes.
 */
extern SkxRanking *skx_score_unpack(const char *bytes, Size n);

/*
 * Does the same for a value of type skipidx_ranking.  Raises an error if it is
 * damaged.
 */
extern SkxRanking *skx_score_ranking_of(Datum value);

/* Returns a query for any of the words of a ranking, palloc'd. */
extern TSQuery skx_score_any(const SkxRanking *ranking);

/* Strategy of the operator class for tsvector: `<@>` with a ranking. */
#define SKX_STRATEGY_RANKING	5

/*
 * Returns true if the operator is the one of the family with a ranking on its
 * right.
 */
extern bool skx_score_is_by_value(Oid operator, Oid family);

/*
 * Raises ERRCODE_PROGRAM_LIMIT_EXCEEDED if a packed ranking has too many bytes
 * for a value or token.
 */
extern void skx_score_check_size(Size n);

/*
 * Replaces the number of documents, their length and what is
 * known of the terms by those among the documents that meet a condition.  It
 * is that a column has a value: of kind ALL_OF with one lexeme, ANY_OF, or
 * NEVER.  The scorer was opened by skx_score_open(), and is good for
 * skx_score_ranking() alone afterwards.
 */
extern void skx_score_among(SkxScorer *scorer, Relation index,
							const SkxCondition *condition);

/*
 * Returns true if the scorer was opened in this transaction, its statistics
 * were last asked for in this statement, and they are for a snapshot with this
 * content.  Otherwise the scorer must not be used, and the caller opens a new
 * one.
 */
extern bool skx_score_is_current(const SkxScorer *scorer, Snapshot snapshot);

/*
 * Returns the view from which the statistics were read, if they are those of
 * the plain index `index` alone, else NULL.  skx_score_found_term() tells what
 * segments of this view have of the terms, so that a search need not look
 * these up again.
 */
extern const SkxView *skx_score_view(const SkxScorer *scorer, Relation index);

/*
 * Returns true if that view may have a pending document that the snapshot
 * sees.
 */
extern bool skx_score_pending(const SkxScorer *scorer);

/*
 * Returns the entry of a term, which must not be a prefix, in a segment of
 * that view, given by its number.  Its df is 0 if the segment does not have
 * the term.  skx_score_has_found() must be true.
 */
extern const SkxTerm *skx_score_found_term(const SkxScorer *scorer, int term,
										   int segment);

/*
 * Returns true if skx_score_found_term() knows the entries of all terms that
 * are no prefixes.  Returns false for some plain terms if the query has very
 * many words, the index is not plain, or the view has no segments.
 */
extern bool skx_score_has_found(const SkxScorer *scorer);

/*
 * score_marks.c : upper bounds of the sums of pending documents
 *
 * While words are looked up in the pending documents of that view, it is noted
 * how often each document has each word.
 */

/* The notes for the terms of a scorer. */
typedef struct SkxPendingTfs SkxPendingTfs;

/*
 * Returns the notes for a scorer, in the current memory context, valid as long
 * as the scorer.  Returns NULL if there are none for one of its terms.
 */
extern SkxPendingTfs *skx_score_pending_tfs(const SkxScorer *scorer);

/*
 * Sets sums[i] to an upper bound of the sum of document sequence + i of a
 * stripe, for n documents, 1 to SKX_PENDING_BOUNDS_MAX.  `norms` has the norms
 * of these documents, or lower ones.  A bound is 0 if the document has none of
 * the words, and PG_INT32_MAX if it was inserted after the statistics were
 * read.
 */
extern void skx_score_pending_bounds(const SkxPendingTfs *marks, int stripe,
									 uint64 sequence, int n,
									 const uint8 *norms,
									 int32 *sums);

/*
 * score_document.c : returns the sum of contributions of one document, 0 if it
 * has none of the words.  Sets parts[] to the contributions of the terms and
 * then the pairs, nterms + npairs numbers, unless parts is NULL.  Of the words
 * of a group, the first with the largest contribution has it, and the others
 * have 0.
 */
extern int32 skx_score_document(const SkxScorer *scorer, TSVector document,
								int32 *parts);

/*
 * Does the same, but returns the sum of the terms' contributions only, and
 * sets *pairs to that of the pairs.
 */
extern int32 skx_score_document_sums(const SkxScorer *scorer,
									 TSVector document, int32 *parts,
									 int32 *pairs);

/*
 * Returns the union of ascending positions as ascending ones: n of them, of
 * several words one after the other.  Returns their number.
 */
extern int	skx_score_unite_positions(uint16 *positions, int n);

/*
 * Returns how much the occurrences of a term in the document count, by their
 * labels.  Returns -1 if the document does not have the term.
 */
extern float skx_score_count(const SkxScorer *scorer, int term,
							 TSVector document);

/*
 * Bound of the count of a word in a document; of a prefix, bound of the sum.
 */
#define SKX_SCORE_TF_MAX	65535.0f

/*
 * Returns how much the occurrences of posting i of the cursor's sub-block
 * count, by their labels: 0 if all have weight 0.  Returns -1 if none has a
 * label that the term asks for.  The result is a multiple of 1/256, so that
 * the counts of a prefix's lexemes add up to the same sum in any order.
 */
extern float skx_score_tf_labels(const SkxScorer *scorer,
								 const SkxScoreTerm *term, SkxCursor *c,
								 int i);

/* Returns true if each occurrence of the term counts 1, whatever its label. */
static inline bool
skx_score_is_unweighted(const SkxScorer *scorer, const SkxScoreTerm *term)
{
	return scorer->is_unweighted && term->labels == 0;
}

/*
 * Returns how much the occurrences of posting i of the cursor's sub-block
 * count.  It uses the quickest of the ways that apply.  -1 is as for
 * skx_score_tf_labels().
 */
static inline float
skx_score_tf(const SkxScorer *scorer, const SkxScoreTerm *term, SkxCursor *c,
			 int i)
{
	if (c->counts != NULL)
		return c->counts[i];
	if (skx_score_is_unweighted(scorer, term))
		return Max(skx_cursor_tfs(c)[i], 1);
	return skx_score_tf_labels(scorer, term, c, i);
}

/* Returns the score of a sum. */
static inline float4
skx_score_value(const SkxScorer *scorer, int32 sum)
{
	return (float4) (sum / scorer->score_units);
}

/* Returns the distance, the value of `<@>`, of a sum: its negated score. */
static inline float4
skx_score_distance(const SkxScorer *scorer, int32 sum)
{
	return sum == 0 ? 0.0f : -skx_score_value(scorer, sum);
}

/*
 * Returns a lower bound, at least 1, of the sums whose distance is `distance`
 * or less.  `distance` must be below 0.
 */
static inline int32
skx_score_min_sum(const SkxScorer *scorer, float4 distance)
{
	double		sum = -(double) distance * scorer->score_units;

	/* a distance is rounded to 24 bits */
	sum = sum * (1 - 1.0 / (1 << 22)) - 1;
	return (int32) Min(Max(sum, 1), PG_INT32_MAX);
}

/*
 * score_rights.c : raises an error unless the current user may read every row
 * of the columns of the index.  That takes SELECT on these columns, and that
 * no row-level security policy applies.
 */
extern void skx_score_check_rights(Relation index);

/*
 * The maker of a reference, which determines when the right to use its index
 * is checked.  A reference made by the planner (SKX_REF_PLAN) is part of a
 * plan, which checks the right as often as it is executed.  One made by a
 * function or of a text (SKX_REF_FUNCTION) can be stored and given to other
 * users, so that the right is checked when a scorer is opened with it.
 */
typedef enum SkxRefOrigin
{
	SKX_REF_FUNCTION,
	SKX_REF_PLAN
} SkxRefOrigin;

/*
 * Reference: the right operand of a bound `<@>`.  It has the index whose
 * statistics and options rank, other indexes whose documents are counted with
 * it, and the ranking query.  It is a varlena, never toasted.
 */
typedef struct SkxRef
{
	int32		vl_len_;		/* varlena header (do not touch directly!) */
	Oid			index;
	uint32		origin;			/* SkxRefOrigin */
	uint32		nindexes;		/* number of `indexes` */
	Oid			indexes[FLEXIBLE_ARRAY_MEMBER]; /* OIDs, ascending; a TSQuery
												 * follows */
} SkxRef;

/* The ranking query of a reference. */
#define SkxRefQuery(ref)	((TSQuery) ((ref)->indexes + (ref)->nindexes))

/* score_ref.c : references */

/*
 * Returns a new reference, palloc'd.  `others` are OIDs of indexes, ascending.
 * `query` NULL makes an empty query, for skx_score_rebind_ref() to replace.
 */
extern SkxRef *skx_score_ref(Oid index, const List *others, TSQuery query,
							 SkxRefOrigin maker);

/* Returns a copy of a reference with another query, palloc'd. */
extern SkxRef *skx_score_rebind_ref(const SkxRef *ref, TSQuery query);

/* Returns true if two queries are equal, byte by byte. */
extern bool skx_score_same_query(const TSQueryData *a, const TSQueryData *b);

#endif							/* SKX_SCORE_H */
