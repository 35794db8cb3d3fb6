/*
 * estimate_likely.c
 *	  Computes how many documents have words together, or one after the other.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include <math.h>

#include "read/estimate/estimate.h"

/*
 * How many documents have two words, for each one that has them as a phrase;
 * and how many have a phrase and one more word, for each one in which that
 * word continues the phrase.  The second ratio is smaller, since a phrase with
 * further words hardly occurs by chance.
 */
#define SKX_ESTIMATE_PAIR_DOCS	8.0
#define SKX_ESTIMATE_NEXT_WORD	2.0

/*
 * This is the smaller size, times the square root of the larger one's share of
 * all documents.  On enwiki it gives 1.8 times too many (median), where
 * independence gives 1.5 times too few, and 7 times too few in one of 20
 * queries.
 */
double
skx_estimate_likely_and(double a, double b, double ndocs)
{
	if (ndocs <= 0)
		return 0;
	return Min(a, b) * sqrt(Min(Max(a, b) / ndocs, 1));
}

double
skx_estimate_likely_phrase(double together, bool longer)
{
	return together /
		(longer ? SKX_ESTIMATE_NEXT_WORD : SKX_ESTIMATE_PAIR_DOCS);
}
