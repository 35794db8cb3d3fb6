/*
 * score_pins.c
 *	  Frozen statistics: the numbers from which scores are computed, kept from
 *	  one search to the next.
 *
 * With the same numbers of documents, lengths and df, and the same parameters,
 * every document has the same sum, to the last unit.  That holds whatever the
 * index has become.  The numbers come back from users.  All numbers that are
 * accepted here give weights that are finite and not negative, and sums and
 * their bounds rely on nothing else.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "read/continuation/continuation.h"
#include "read/score/score_internal.h"

/*
 * An upper bound of the numbers of documents, and of words in them.  All
 * numbers up to it are exact as a double.
 */
#define SKX_SCORE_PINS_MAX	(UINT64CONST(1) << 53)

StaticAssertDecl(sizeof(SkxRankOptions) == 7 * sizeof(double),
				 "rank options are hashed as bytes");

/* Returns a hash of the ranking parameters, whose labels have been rounded. */
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
