/*
 * rank.h
 *	  Pure arithmetic of ranking: length norms, and the impacts that bound a
 *	  score without reading postings.
 */
#ifndef SKX_RANK_H
#define SKX_RANK_H

#include "support/bitset/bitset.h"

/*
 * rank_norm.c : a document's length in one byte, its norm
 *
 * Codes 0..40 are the exact lengths; above, lengths grow by about 1/23 a code
 * (16 codes an octave): len[c + 1] = len[c] + max(1, len[c] / 23).  The code
 * of a length is the largest c with len[c] <= length, at most 254.
 * SKX_NORM_NULL marks a document whose tsvector is NULL.
 */

#define SKX_NORM_EXACT_MAX		40
#define SKX_NORM_MAX		254
#define SKX_NORM_NULL		255

/* Returns the norm of a length. */
extern uint8 skx_rank_norm_encode(uint64 length);

/* Returns the length that a norm stands for, 0 for SKX_NORM_NULL. */
extern uint32 skx_rank_norm_decode(uint8 norm);

/*
 * rank_impacts.c : at most four (tf, norm) pairs that dominate a range of
 * postings
 *
 * A pair dominates another when its tf is at least as large and its norm at
 * most as large: whatever the statistics, its score is no lower.  The pairs
 * are packed into 8 bytes, pair i in bytes 2i (tf code) and 2i + 1 (norm), tf
 * and norm both ascending, the last pair repeated to fill four.  The tf code
 * is min(max(tf, 1), 256) - 1; code 255 must be taken as unbounded.
 *
 * When more than four pairs are needed, neighbours are joined as (larger tf,
 * smaller norm), the join that loosens the bound least first.  With
 * `saturation`, k1 (1 - b + b length / average) by norm, that is the join
 * whose pair scores least, so that under such statistics the bound is hardly
 * above the best score.  Without, it is the join with the smallest product of
 * the differences.  SKX_IMPACTS_NONE (no posting) is the identity of merge.
 */

/* Packed pairs. */
typedef uint64 SkxImpacts;

#define SKX_IMPACTS_NONE	UINT64CONST(0xFFFFFFFFFFFFFFFF)

/* Number of pairs in an SkxImpacts. */
#define SKX_IMPACT_PAIRS	4

/* Returns the norm of a pair, from 0. */
static inline uint8
skx_rank_impact_norm(SkxImpacts impacts, int pair)
{
	return (uint8) (impacts >> (16 * pair + 8));
}

/* Postings from which pairs are made, as the largest tf of each norm. */
typedef struct SkxImpactSet
{
	uint16		tf_max[256];	/* by norm: largest tf code + 1; 0: none */
	uint64		norms[4];		/* bits: the norms of some posting */
} SkxImpactSet;

/*
 * Adds a posting to the set.  A norm past SKX_NORM_MAX counts as
 * SKX_NORM_MAX, which makes no bound too low, so that no posting packs to
 * SKX_IMPACTS_NONE.
 */
static inline void
skx_rank_impacts_add(SkxImpactSet *set, uint32 tf, uint8 norm)
{
	uint16		above = (uint16) Min(Max(tf, 1), 256);	/* tf code plus one */

	norm = Min(norm, SKX_NORM_MAX);
	set->tf_max[norm] = Max(set->tf_max[norm], above);
	skx_bitset_set(set->norms, norm);
}

/* Empties the set. */
extern void skx_rank_impacts_reset(SkxImpactSet *set);

/*
 * Returns pairs that dominate all postings of the set, SKX_IMPACTS_NONE if it
 * is empty.  `saturation` has a number for each norm, or is NULL.
 */
extern SkxImpacts skx_rank_impacts_pack(const SkxImpactSet *set,
										const float *saturation);

/* Returns pairs that dominate all postings that a or b dominates. */
extern SkxImpacts skx_rank_impacts_merge(SkxImpacts a, SkxImpacts b);

/*
 * Returns true if a pair of the bound dominates a posting with this tf and
 * norm.  Returns false if the bound is SKX_IMPACTS_NONE.
 */
extern bool skx_rank_impacts_dominate(SkxImpacts bound, uint32 tf, uint8 norm);

/*
 * Returns the smallest norm for which the bound dominates a posting with this
 * tf.  The bound must do so for some norm.
 */
extern uint8 skx_rank_impacts_norm(SkxImpacts bound, uint32 tf);

#endif							/* SKX_RANK_H */
