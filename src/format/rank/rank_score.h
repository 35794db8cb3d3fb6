/*
 * rank_score.h
 *	  From term frequencies, lengths and statistics to scores, in units that
 *	  add up to the same sum in any order and on any machine.
 *
 * A score is a sum of contributions: one for each word of the query that a
 * document has, and one for each pair of neighbouring words.  A contribution
 * is computed in single precision by one formula, every step of which is a
 * correctly rounded IEEE operation.  It is then cut off to a whole number of
 * units and added as an integer.  Each of these steps is monotone: the
 * contribution of a (tf, norm) pair that dominates another is never smaller,
 * to the last unit.  So a bound is the same formula applied to a pair that
 * dominates all, with nothing to round up.
 */
#ifndef SKX_RANK_SCORE_H
#define SKX_RANK_SCORE_H

#include "format/rank/rank.h"

/* Parameters of ranking: storage parameters of the index. */
typedef struct SkxRankOptions
{
	double		k1;
	double		b;
	double		proximity;		/* weight of a pair relative to that of the
								 * word with the lower idf */
	double		labels[4];		/* weights of an occurrence with label D, C,
								 * B, A */
} SkxRankOptions;

/*
 * Bound of a sum of contributions, pairs included, so that a float4 represents
 * every sum exactly: rows with the same score have the same sum.
 */
#define SKX_RANK_SUM_MAX	(1 << 24)

/* Largest distance of two words' occurrences that are near each other. */
#define SKX_RANK_NEAR_DISTANCE		8

/* Weight of near occurrences relative to that of adjacent ones. */
#define SKX_RANK_NEAR_FRACTION	0.5f

/*
 * Returns the contribution of a word by BM25, in units: weight * tf / (tf + k1
 * (1 - b + b length / average)), plus one unit.  Due to that unit a document
 * with the word is above one without it, even where the label weight is 0.
 * `inverse` is the reciprocal of k1 (1 - b + b length / average), see
 * skx_rank_norm_inverses().
 */
static inline int32
skx_rank_contribution(float weight, float tf, float inverse)
{
	return (int32) (weight - weight / (1.0f + tf * inverse)) + 1;
}

/*
 * Returns the contribution of a pair of words, in units.  `ordered`
 * occurrences of the two are adjacent in the order of the query, `near`
 * occurrences are near in any order.
 */
static inline int32
skx_rank_pair_contribution(float weight, int ordered, int near, float inverse)
{
	float		share = weight * SKX_RANK_NEAR_FRACTION;

	return (int32) (weight - weight / (1.0f + (float) ordered * inverse)) +
		(int32) (share - share / (1.0f + (float) near * inverse));
}

/* rank_parts.c : contributions of many documents at once */

/*
 * Computes skx_rank_contribution() for n documents that have a word: parts[i]
 * from tfs[i] and inverses[i].
 */
extern void skx_rank_contributions(float weight, const float *tfs,
								   const float *inverses, int n, int32 *parts);

/* rank_score.c : weights, saturation and bounds */

/*
 * Returns the natural logarithm of x, which is at least 1 and finite, within
 * 1e-15 of its value or of 1, whichever is larger.
 */
extern double skx_rank_log(double x);

/*
 * Returns Lucene's idf: ln(1 + (ndocs - df + 0.5) / (df + 0.5)).  A df above
 * ndocs counts as ndocs.
 */
extern double skx_rank_idf(uint64 df, uint64 ndocs);

/*
 * Estimates how many of ndocs documents have at least one of several lexemes.
 * `sum` is the sum of the df of all of them.  `whole` is the df of one of
 * them, which is counted exactly, or 0.  See read/score/README.md.
 */
extern uint64 skx_rank_union_df(uint64 whole, uint64 sum, uint64 ndocs);

/*
 * Returns 1 / (k1 (1 - b + b length / average)), where length is that of the
 * norm.  An average of 0 or less counts as 1.
 */
extern float skx_rank_norm_inverse(const SkxRankOptions *options,
								   double average, uint8 norm);

/* Fills inverse[norm] with that of each of the 256 norms. */
extern void skx_rank_norm_inverses(const SkxRankOptions *options,
								   double average, float *inverse);

/*
 * Returns the largest power of two, at most 2^24, by which weights that add up
 * to `total` may be multiplied.  Sums then do not exceed SKX_RANK_SUM_MAX,
 * unless the query has more than 65,536 words.
 */
extern double skx_rank_score_units(double total);

/*
 * Returns a weight with which the contribution of a word bounds its own
 * contribution plus those of some of its pairs.  `pairs` is the sum of the
 * weights of these pairs.
 */
extern float skx_rank_ceiling(float weight, float pairs);

/*
 * Returns an upper bound of the contribution of the postings that the impacts
 * dominate, 0 for SKX_IMPACTS_NONE.  `most` is the largest of the label
 * weights: an occurrence counts at most that much.
 */
extern int32 skx_rank_bound(SkxImpacts impacts, float weight, float most,
							const float *inverse);

/*
 * First of the tf codes that share the last bit of skx_rank_competing_codes().
 */
#define SKX_RANK_TF_CODE_LAST	63

/*
 * Tells which postings that the impacts dominate may have a contribution of at
 * least `floor`, where each occurrence counts one.  Bit c of the result is for
 * tf code c; bit SKX_RANK_TF_CODE_LAST is for all codes from there on, and
 * always set.  Codes that no pair covers have their bits set.
 */
extern uint64 skx_rank_competing_codes(SkxImpacts impacts, float weight,
									   const float *inverse, int32 floor);

/*
 * Returns the bit of a tf, 256 at most, in a result of
 * skx_rank_competing_codes().
 */
static inline uint64
skx_rank_competes(uint64 competing, uint32 tf)
{
	uint32		code = tf - (tf > 0);

	return skx_bitset_word_has(competing, Min(code, SKX_RANK_TF_CODE_LAST));
}

/* rank_proximity.c : neighbouring words */

/*
 * Counts how often two words are neighbours in a document.  a and b are their
 * ascending positions without labels, na and nb how many these are.  Sets
 * *ordered to the number of pairs with b right after a, and *near to the
 * number of pairs at most SKX_RANK_NEAR_DISTANCE apart.  Each position is used
 * once per count, so that neither exceeds the smaller of na and nb.
 */
extern void skx_rank_count_pairs(const uint16 *a, int na, const uint16 *b,
								 int nb, int *ordered, int *near);

#endif							/* SKX_RANK_SCORE_H */
