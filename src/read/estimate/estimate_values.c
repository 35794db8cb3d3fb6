/*
 * estimate_values.c
 *	  Computes the time to find and count the values of a column in some rows,
 *	  by each source of values.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "read/estimate/estimate.h"

/*
 * Times for a list of a value, and for a document in one or a row that is
 * looked up in it.
 */
#define SKX_ESTIMATE_VALUE_LIST		300.0
#define SKX_ESTIMATE_VALUE_POSTING	3.0

/* Time to look up and sort the key of a row. */
#define SKX_ESTIMATE_VALUE_KEY		100.0

/*
 * Times to count a value by itself: if memory suffices for all of them, and if
 * it does not; and the bytes that a value takes, approximately.
 */
#define SKX_ESTIMATE_VALUE_COUNTED	200.0
#define SKX_ESTIMATE_VALUE_SPILLED	600.0
#define SKX_ESTIMATE_VALUE_BYTES	128.0

/*
 * Time to fetch a row for its values.  It takes 2 us or more, and much more if
 * the row has to be read.
 */
#define SKX_ESTIMATE_VALUE_ROW		6000.0

double
skx_estimate_values_listed(double values, double postings)
{
	return values * SKX_ESTIMATE_VALUE_LIST +
		postings * SKX_ESTIMATE_VALUE_POSTING;
}

double
skx_estimate_values_keyed(double rows, double values, double memory)
{
	double		most = Min(rows, values);

	return rows * SKX_ESTIMATE_VALUE_KEY +
		most * (most * SKX_ESTIMATE_VALUE_BYTES <= memory ?
				SKX_ESTIMATE_VALUE_COUNTED : SKX_ESTIMATE_VALUE_SPILLED);
}

double
skx_estimate_values_fetched(double rows)
{
	return rows * SKX_ESTIMATE_VALUE_ROW;
}
