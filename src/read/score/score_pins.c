/*
 * score_pins.c
 *	  The numbers that scores are computed from, kept from one search to the
 *	  next.
 *
 * With the same numbers of documents, lengths and df, and the same parameters,
 * every document has the same sum, to the last unit, whatever the index has
 * become.  The numbers come back from users: whatever passes here gives weights
 * that are finite and not negative, and that is all that sums and their bounds
 * rely on.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "read/continuation/continuation.h"
#include "read/score/score_internal.h"

/* More documents, or words in them, than there can be; a double has them all. */
#define SKX_SCORE_PINS_MAX	(UINT64CONST(1) << 53)

StaticAssertDecl(sizeof(SkxRankOptions) == 7 * sizeof(double),
				 "rank options are hashed as bytes");

/* After labels were rounded. */
static uint64
skx_score_options_hash(const SkxScorer *scorer)
{
	return hash_bytes_extended((const unsigned char *) &scorer->options,
							   sizeof(scorer->options), 0);
}

void
skx_score_pinned(const SkxScorer *scorer, SkxScorePins *pins)
{
	int			i;

	pins->options = skx_score_options_hash(scorer);
	pins->ndocs = scorer->ndocs;
	pins->length = scorer->length;
	pins->n = scorer->nterms;
	pins->dfs = palloc_extended(sizeof(uint64) * ((Size) pins->n + 1),
								MCXT_ALLOC_HUGE);
	for (i = 0; i < pins->n; i++)
		pins->dfs[i] = scorer->terms[i].df;
}

void
skx_score_use_pins(SkxScorer *scorer, const SkxScorePins *pins)
{
	int			i;

	if (pins->options != skx_score_options_hash(scorer))
		skx_continuation_refuse("Storage parameters of the index that rank have been changed since.");
	if (pins->n != scorer->nterms || pins->ndocs > SKX_SCORE_PINS_MAX ||
		pins->length > SKX_SCORE_PINS_MAX)
		skx_continuation_refuse("It is damaged, or none.");
	scorer->ndocs = pins->ndocs;
	scorer->length = pins->length;
	for (i = 0; i < pins->n; i++)
	{
		if (pins->dfs[i] > pins->ndocs)
			skx_continuation_refuse("It is damaged, or none.");
		scorer->terms[i].df = pins->dfs[i];
	}
}
