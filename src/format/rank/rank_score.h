/*
 * rank_score.h
 *	  From term frequencies, lengths and statistics to scores, in units that
 *	  add up to the same sum in any order and on any machine.
 *
 * A score is a sum of parts, one for each word of the query that a document
 * has, and one for each pair of neighbouring words.  A part is computed in
 * single precision by one formula, every step of which is a correctly rounded
 * IEEE operation, then cut off to a whole number of units and added as an
 * integer.  Each of these steps is monotone: the part of a (tf, norm) pair that
 * dominates another is never smaller, to the last unit.  So a bound is the
 * same formula applied to a pair that dominates all, with nothing to round up.
 */
#ifndef SKX_RANK_SCORE_H
#define SKX_RANK_SCORE_H

#include "format/rank/rank.h"

/* What an index is ranked by; its storage parameters. */
typedef struct SkxRankOptions
{
	double		k1;
	double		b;
	double		proximity;		/* weight of a pair against that of its lesser
								 * word */
	double		labels[4];		/* what an occurrence with label D, C, B, A
								 * counts */
} SkxRankOptions;

/*
 * No sum of parts, pairs included, exceeds this, so that a float4 holds every
 * one exactly: rows with the same score have the same sum.
 */
#define SKX_RANK_SUM_MAX	(1 << 24)

/* Occurrences of two words at most this far apart are near. */
#define SKX_RANK_NEAR		8

/* What near occurrences count against those that stand side by side. */
#define SKX_RANK_NEAR_SHARE	0.5f

/*
 * The part of a word, in units: weight * x / (x + k1 (1 - b + b length /
 * average)), plus one unit, so that a document with the word is above one
 * without it, even where its label counts nothing.
 */
static inline int32
skx_rank_part(float weight, float tf, float inverse)
{
	return (int32) (weight - weight / (1.0f + tf * inverse)) + 1;
}

/*
 * The part of a pair of words, of which `ordered` occurrences stand side by
 * side in the order of the query and `near` are near in any order.
 */
static inline int32
skx_rank_pair_part(float weight, int ordered, int near, float inverse)
{
	float		share = weight * SKX_RANK_NEAR_SHARE;

	return (int32) (weight - weight / (1.0f + (float) ordered * inverse)) +
		(int32) (share - share / (1.0f + (float) near * inverse));
}

/* rank_parts.c : skx_rank_part of n documents that have a word */
extern void skx_rank_parts(float weight, const float *tfs,
						   const float *inverses, int n, int32 *parts);

/*
 * rank_score.c
 *
 * idf is Lucene's: ln(1 + (ndocs - df + 0.5) / (df + 0.5)), for df <= ndocs.
 * union estimates how many of ndocs documents have one of several lexemes,
 * whose df add up to `sum`; `whole` is the part of one of them (0: none of
 * them is known by itself).  See score/README.md.
 * inverse fills 1 / (k1 (1 - b + b length / average)) for every norm; length
 * is that of the norm's code.  unit returns the largest power of two by which
 * weights that add up to `total` may be multiplied, at most 2^24.
 * ceiling is a weight by which the part of a word bounds the true one and
 * those of some of its pairs: `pairs` is the sum of their weights.
 */
extern double skx_rank_idf(uint64 df, uint64 ndocs);
extern uint64 skx_rank_union(uint64 whole, uint64 sum, uint64 ndocs);
extern void skx_rank_inverse(const SkxRankOptions *options, double average,
							 float *inverse);
extern double skx_rank_unit(double total);
extern float skx_rank_ceiling(float weight, float pairs);

/*
 * The largest part that any of the pairs allows: of `weight`, where an
 * occurrence counts `most` at most (the largest of the label weights).
 */
extern int32 skx_rank_bound(SkxImpacts impacts, float weight, float most,
							const float *inverse);

/*
 * Which postings of a stretch may have a part of `floor` at least: bit c of
 * the result is for the tf code c, the last one for all codes from
 * SKX_RANK_CODE_LAST on, which always may, as may those that the pairs do not
 * cover.  Each occurrence counts one.
 */
#define SKX_RANK_CODE_LAST	63
extern uint64 skx_rank_competing(SkxImpacts impacts, float weight,
								 const float *inverse, int32 floor);

/* The bit of a tf, which is 256 at most. */
static inline uint64
skx_rank_competes(uint64 competing, uint32 tf)
{
	uint32		code = tf - (tf > 0);

	return competing >> Min(code, SKX_RANK_CODE_LAST) & 1;
}

/*
 * rank_proximity.c : ascending positions of two words (without labels);
 * neither count exceeds the smaller of na and nb.
 */
extern void skx_rank_pairs(const uint16 *a, int na, const uint16 *b, int nb,
						   int *ordered, int *near);

#endif							/* SKX_RANK_SCORE_H */
