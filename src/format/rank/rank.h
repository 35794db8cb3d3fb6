/*
 * rank.h
 *	  Pure arithmetic of ranking: length norms and the impacts that bound a
 *	  score without reading postings.
 */
#ifndef SKX_RANK_H
#define SKX_RANK_H

/*
 * rank_norm.c : a document's length in one byte
 *
 * Codes 0..40 are the exact lengths; above, lengths grow by about 1/23 a
 * code (16 codes an octave): len[c + 1] = len[c] + max(1, len[c] / 23).
 * The code of a length is the largest c with len[c] <= length, at most 254.
 * SKX_NORM_NULL marks a document whose tsvector is NULL.
 */
#define SKX_NORM_EXACT		40
#define SKX_NORM_LAST		254
#define SKX_NORM_NULL		255
extern uint8 skx_rank_norm_encode(uint64 length);
extern uint32 skx_rank_norm_decode(uint8 norm);

/*
 * rank_impacts.c : at most four (tf, norm) pairs that dominate a stretch
 *
 * A pair dominates another when its tf is at least as large and its norm at
 * most as large: whatever the statistics, its score is no lower.  Packed into
 * 8 bytes, pair i in bytes 2i (tf code) and 2i + 1 (norm), tf and norm both
 * ascending, the last pair repeated to fill four.  The tf code is
 * min(max(tf, 1), 256) - 1; code 255 must be taken as unbounded.
 * When more than four pairs are needed, neighbours are joined as (larger tf,
 * smaller norm), the join that loosens least first: the one whose pair scores
 * least where `saturation` is given, k1 (1 - b + b length / average) by norm,
 * so that under such statistics the bound is hardly above the best score; else
 * the one with the smallest product of the differences.  SKX_IMPACTS_NONE (no
 * posting) is the identity of merge.
 */
typedef uint64 SkxImpacts;

#define SKX_IMPACTS_NONE	UINT64CONST(0xFFFFFFFFFFFFFFFF)
typedef struct SkxImpactSet
{
	uint16		tf_max[256];	/* by norm: largest tf code + 1, 0 = none */
	uint64		norms[4];		/* which have some */
} SkxImpactSet;

/*
 * Adds a posting.  A norm past SKX_NORM_LAST counts as that one, which no
 * score is hurt by, so that SKX_IMPACTS_NONE never stands for postings.
 */
static inline void
skx_rank_impacts_add(SkxImpactSet *set, uint32 tf, uint8 norm)
{
	uint16		above = (uint16) Min(Max(tf, 1), 256);	/* tf code plus one */

	norm = Min(norm, SKX_NORM_LAST);
	set->tf_max[norm] = Max(set->tf_max[norm], above);
	set->norms[norm / 64] |= UINT64CONST(1) << (norm % 64);
}

extern void skx_rank_impacts_reset(SkxImpactSet *set);
extern SkxImpacts skx_rank_impacts_pack(const SkxImpactSet *set,
										const float *saturation);
extern SkxImpacts skx_rank_impacts_merge(SkxImpacts a, SkxImpacts b);
extern bool skx_rank_impacts_cover(SkxImpacts bound, uint32 tf, uint8 norm);

/* The smallest norm with which the bound covers this tf; it does with one. */
extern uint8 skx_rank_impacts_norm(SkxImpacts bound, uint32 tf);

#endif							/* SKX_RANK_H */
