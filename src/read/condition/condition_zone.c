/*
 * condition_zone.c
 *	  Comparisons of dates and timestamps without a time zone with timestamptz:
 *	  support function 2 of their operator classes.
 *
 * The server's operators take a date or timestamp for the moment at which
 * clocks of the session's time zone show it, and compare moments.  That
 * function from times to moments ascends except where clocks are put forward.
 * A time that they skip then is later than the times that they show next.
 * Where clocks are put back, some moments belong to no time.
 *
 * The function is a time plus an offset.  The offset is constant between any
 * two of the times at which it can change.  These times follow from the
 * changes of the zone.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "read/condition/condition_place.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/timestamp.h"

PG_FUNCTION_INFO_V1(skipidx_place_date_timestamptz);
PG_FUNCTION_INFO_V1(skipidx_place_timestamp_timestamptz);
PG_FUNCTION_INFO_V1(skipidx_place_timestamptz_date);
PG_FUNCTION_INFO_V1(skipidx_place_timestamptz_timestamp);

extern Datum skipidx_canonical_int8(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_date(PG_FUNCTION_ARGS);
extern Datum skipidx_canonical_timestamp(PG_FUNCTION_ARGS);

/*
 * The number of days by which clocks can differ from UTC (167 hours), and one
 * more.
 */
#define SKX_ZONE_DAYS		8
#define SKX_ZONE_SPAN_USECS		(SKX_ZONE_DAYS * USECS_PER_DAY)

/*
 * The first day that is a timestamp, too, and the first day behind these that
 * is not.
 */
#define SKX_ZONE_FIRST_DAY	(DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define SKX_ZONE_END_DAY	(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)

/*
 * The number of seconds from 1970, where time zones start to count, to 2000.
 */
#define SKX_ZONE_EPOCH \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* The times at which the offset may change. */
typedef struct SkxZoneTransitions
{
	int			n;
	int			size;
	Timestamp  *times;
} SkxZoneTransitions;

/*
 * Returns the canonical form of a value or, with `after`, the least form above
 * it.
 */
static bytea *
skx_condition_zone_form(PGFunction canonical, Datum value, bool after)
{
	bytea	   *form = DatumGetByteaPP(DirectFunctionCall1(canonical, value));
	int			len = VARSIZE_ANY_EXHDR(form);
	bytea	   *next;

	if (!after)
		return form;
	next = palloc0(VARHDRSZ + len + 1);
	SET_VARSIZE(next, VARHDRSZ + len + 1);
	memcpy(VARDATA(next), VARDATA_ANY(form), len);
	return next;
}

/* Returns the moment of a finite time, as timestamp2timestamptz() does. */
static int64
skx_condition_zone_timestamptz(Timestamp time)
{
	struct pg_tm tm;
	fsec_t		fsec;

	if (timestamp2tm(time, NULL, &tm, &fsec, NULL, NULL) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	return time +
		DetermineTimeZoneOffset(&tm, session_timezone) * USECS_PER_SEC;
}

/* Sets *place to that of a value to which exactly one value is equal. */
static void
skx_condition_zone_equal(SkxCrossTypeBounds *place, PGFunction canonical,
						 Datum value)
{
	place->min_form = skx_condition_zone_form(canonical, value, false);
	place->max_form = skx_condition_zone_form(canonical, value, true);
	place->n = 1;
	place->equal = palloc(sizeof(bytea *));
	place->equal[0] = place->min_form;
}

/*
 * Sets *place to that of a finite time among moments.  If its moment is out of
 * range, it is below or above all finite moments.
 */
static void
skx_condition_zone_bounds(Timestamp time, SkxCrossTypeBounds *place)
{
	int64		moment = skx_condition_zone_timestamptz(time);

	if (IS_VALID_TIMESTAMP(moment))
	{
		skx_condition_zone_equal(place, skipidx_canonical_int8,
								 Int64GetDatum(moment));
		return;
	}
	moment = moment < MIN_TIMESTAMP ? MIN_TIMESTAMP : END_TIMESTAMP;
	place->min_form = place->max_form =
		skx_condition_zone_form(skipidx_canonical_int8, Int64GetDatum(moment),
								false);
}

Datum
skipidx_place_timestamptz_timestamp(PG_FUNCTION_ARGS)
{
	Timestamp	time = PG_GETARG_TIMESTAMP(0);
	SkxCrossTypeBounds *place = (SkxCrossTypeBounds *) PG_GETARG_POINTER(1);

	if (TIMESTAMP_NOT_FINITE(time))
		skx_condition_zone_equal(place, skipidx_canonical_int8,
								 Int64GetDatum(time));
	else
		skx_condition_zone_bounds(time, place);
	PG_RETURN_POINTER(place);
}

Datum
skipidx_place_timestamptz_date(PG_FUNCTION_ARGS)
{
	DateADT		day = PG_GETARG_DATEADT(0);
	SkxCrossTypeBounds *place = (SkxCrossTypeBounds *) PG_GETARG_POINTER(1);

	if (DATE_IS_NOBEGIN(day))
		skx_condition_zone_equal(place, skipidx_canonical_int8,
								 Int64GetDatum(DT_NOBEGIN));
	else if (DATE_IS_NOEND(day))
		skx_condition_zone_equal(place, skipidx_canonical_int8,
								 Int64GetDatum(DT_NOEND));
	else if (day >= SKX_ZONE_END_DAY)
		place->min_form = place->max_form =
			skx_condition_zone_form(skipidx_canonical_int8,
									Int64GetDatum(END_TIMESTAMP), false);
	else
		skx_condition_zone_bounds(day * USECS_PER_DAY, place);
	PG_RETURN_POINTER(place);
}

/*
 * Sets *from and *to so that all times outside [*from, *to) are known to be
 * below or above the moment.
 */
static void
skx_condition_zone_window(TimestampTz moment, Timestamp *from, Timestamp *to)
{
	*from = moment < MIN_TIMESTAMP + SKX_ZONE_SPAN_USECS ? MIN_TIMESTAMP :
		moment - SKX_ZONE_SPAN_USECS;
	*to = moment > END_TIMESTAMP - SKX_ZONE_SPAN_USECS ? END_TIMESTAMP :
		moment + SKX_ZONE_SPAN_USECS;
}

Datum
skipidx_place_date_timestamptz(PG_FUNCTION_ARGS)
{
	TimestampTz moment = PG_GETARG_TIMESTAMPTZ(0);
	SkxCrossTypeBounds *place = (SkxCrossTypeBounds *) PG_GETARG_POINTER(1);
	PGFunction	form = skipidx_canonical_date;
	DateADT		equal[2 * SKX_ZONE_DAYS + 4];
	Timestamp	from;
	Timestamp	to;
	DateADT		day;
	DateADT		end;
	DateADT		least;
	DateADT		most;
	int			i;

	if (TIMESTAMP_NOT_FINITE(moment))
	{
		skx_condition_zone_equal(place, form,
								 DateADTGetDatum(TIMESTAMP_IS_NOBEGIN(moment) ?
												 DATEVAL_NOBEGIN :
												 DATEVAL_NOEND));
		PG_RETURN_POINTER(place);
	}
	skx_condition_zone_window(moment, &from, &to);
	day = Max(from / USECS_PER_DAY - 1, SKX_ZONE_FIRST_DAY);
	end = Min(to / USECS_PER_DAY + 1, SKX_ZONE_END_DAY);
	least = end;
	for (most = day; day < end; day++)
	{
		int64		other =
			skx_condition_zone_timestamptz(day * USECS_PER_DAY);

		if (other >= moment)
			least = Min(least, day);
		if (other <= moment)
			most = day + 1;
		if (other == moment)
			equal[place->n++] = day;
	}
	place->min_form = skx_condition_zone_form(form, DateADTGetDatum(least),
											  false);
	place->max_form = skx_condition_zone_form(form, DateADTGetDatum(most),
											  false);
	place->has_unequal = most - least != place->n;
	place->equal = palloc(sizeof(bytea *) * Max(place->n, 1));
	for (i = 0; i < place->n; i++)
		place->equal[i] = skx_condition_zone_form(form,
												  DateADTGetDatum(equal[i]),
												  false);
	PG_RETURN_POINTER(place);
}

/*
 * Adds a time, given in seconds from 1970, if it lies between `from` and `to`.
 */
static void
skx_condition_zone_add(SkxZoneTransitions *times, int64 seconds,
					   Timestamp from, Timestamp to)
{
	Timestamp	time = (seconds - SKX_ZONE_EPOCH) * USECS_PER_SEC;

	if (time <= from || time >= to)
		return;
	if (times->n == times->size)
	{
		times->size *= 2;
		times->times = repalloc(times->times,
								sizeof(Timestamp) * times->size);
	}
	times->times[times->n++] = time;
}

static int
skx_condition_zone_compare(const void *a, const void *b)
{
	Timestamp	x = *(const Timestamp *) a;
	Timestamp	y = *(const Timestamp *) b;

	return x < y ? -1 : x > y;
}

/*
 * Collects `from`, and the times before `to` at which
 * DetermineTimeZoneOffset() may change its result.  That function takes the
 * time as UTC, and looks for the first change of the zone after the day
 * before.  The offset after that change applies from the time on that this
 * offset gives the change.
 */
static void
skx_condition_zone_transitions(Timestamp from, Timestamp to,
							   SkxZoneTransitions *times)
{
	pg_time_t	at = (from - SKX_ZONE_SPAN_USECS) / USECS_PER_SEC +
		SKX_ZONE_EPOCH;
	pg_time_t	end = (to / USECS_PER_SEC + SKX_ZONE_EPOCH) +
		SKX_ZONE_DAYS * SECS_PER_DAY;
	long		before;
	long		after;
	int			is_dst;
	pg_time_t	change;

	times->n = 0;
	times->size = 16;
	times->times = palloc(sizeof(Timestamp) * times->size);
	times->times[times->n++] = from;
	while (pg_next_dst_boundary(&at, &before, &is_dst, &change, &after,
								&is_dst, session_timezone) > 0 &&
		   change <= end)
	{
		CHECK_FOR_INTERRUPTS();
		skx_condition_zone_add(times, change + before, from, to);
		skx_condition_zone_add(times, change + after, from, to);
		skx_condition_zone_add(times, change + SECS_PER_DAY, from, to);
		at = change;
	}
	qsort(times->times, times->n, sizeof(Timestamp),
		  skx_condition_zone_compare);
}

/*
 * Looks for the moment among the times in [from, to), in which the offset is
 * constant.  Updates *least and *most, and adds the time that is equal to the
 * moment.
 */
static void
skx_condition_zone_search_offset(TimestampTz moment, Timestamp from,
								 Timestamp to,
								 Timestamp *least, Timestamp *most,
								 SkxCrossTypeBounds *place)
{
	Timestamp	time = moment + (from - skx_condition_zone_timestamptz(from));

	if (time < to)
		*least = Min(*least, Max(time, from));
	if (time >= from)
		*most = Min(time + 1, to);
	if (time >= from && time < to)
		place->equal[place->n++] =
			skx_condition_zone_form(skipidx_canonical_timestamp,
									TimestampGetDatum(time), false);
}

Datum
skipidx_place_timestamp_timestamptz(PG_FUNCTION_ARGS)
{
	TimestampTz moment = PG_GETARG_TIMESTAMPTZ(0);
	SkxCrossTypeBounds *place = (SkxCrossTypeBounds *) PG_GETARG_POINTER(1);
	PGFunction	form = skipidx_canonical_timestamp;
	SkxZoneTransitions times;
	Timestamp	from;
	Timestamp	to;
	Timestamp	least;
	Timestamp	most;
	int			i;

	if (TIMESTAMP_NOT_FINITE(moment))
	{
		skx_condition_zone_equal(place, form, TimestampGetDatum(moment));
		PG_RETURN_POINTER(place);
	}
	skx_condition_zone_window(moment, &from, &to);
	skx_condition_zone_transitions(from, to, &times);
	place->equal = palloc(sizeof(bytea *) * times.n);
	least = to;
	most = from;
	for (i = 0; i < times.n; i++)
		skx_condition_zone_search_offset(moment, times.times[i],
										 i + 1 < times.n ? times.times[i + 1] :
										 to,
										 &least, &most, place);
	place->min_form = skx_condition_zone_form(form, TimestampGetDatum(least),
											  false);
	place->max_form = skx_condition_zone_form(form, TimestampGetDatum(most),
											  false);
	place->has_unequal = most - least != place->n;
	PG_RETURN_POINTER(place);
}
