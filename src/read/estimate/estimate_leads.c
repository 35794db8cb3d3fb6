/*
 * estimate_leads.c
 *	  Chooses what leads a search for the best documents by words that also
 *	  have to be in a set.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "read/estimate/estimate.h"

/*
 * SKX_ESTIMATE_LOOKED_UP times k to the power SKX_ESTIMATE_LOOKED_POWER
 * documents of a set can be looked up in the time in which words alone find
 * one of the best k.  This was measured on a million passages.  Both ways take
 * as long if one in 25 documents is in the set for k = 10, and about one in 15
 * for k = 100.
 */
#define SKX_ESTIMATE_LOOKED_UP		400
#define SKX_ESTIMATE_LOOKED_POWER	(-0.6)

/*
 * Words and set are taken to be independent: one in ndocs / docs of `passing`
 * documents is in the set.  Most documents of a set are dropped by bounds, with
 * little work.
 */
bool
skx_estimate_set_leads(double docs, double steps, double scored, double best,
					   double ndocs)
{
	double		passing = best * ndocs / Max(docs, 1);

	return steps < Min(scored, passing * SKX_ESTIMATE_LOOKED_UP *
					   pow(Max(best, 1), SKX_ESTIMATE_LOOKED_POWER));
}
