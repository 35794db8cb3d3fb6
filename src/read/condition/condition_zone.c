/*
 * condition_zone.c
 *	  Dates and timestamps without a time zone beside those with one: support
 *	  function 2 of their operator classes.
 *
 * The server's operators take a date or timestamp for the moment at which clocks
 * of the session's time zone show it, and compare moments.  That function of
 * times ascends but where clocks are put forward: a time that they pass over is
 * later than those that they show next.  Where they are put back, some moments
 * are those of no time.
 *
 * The function is a time plus an offset that is constant between any two of the
 * times at which it can change, and these follow from the changes of the zone.
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

/* Days by which clocks can differ from UTC (167 hours), and one more. */
#define SKX_ZONE_DAYS		8
#define SKX_ZONE_SPAN		(SKX_ZONE_DAYS * USECS_PER_DAY)

/* Days of dates that are timestamps, too; the second is the first that is not. */
#define SKX_ZONE_FIRST_DAY	(DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define SKX_ZONE_END_DAY	(TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE)

/* Seconds from 1970, from which time zones count, to 2000. */
#define SKX_ZONE_EPOCH \
	((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* The times of the zone at which the function's offset may change. */
typedef struct SkxZoneTimes
{
	int			n;
	int			size;
	Timestamp  *times;
} SkxZoneTimes;

/* A canonical form, or what comes right after it. */
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

/* The moment of a finite time, as timestamp2timestamptz() has it. */
static int64
skx_condition_zone_moment(Timestamp time)
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

/* One value is equal. */
static void
skx_condition_zone_one(SkxPlace *place, PGFunction canonical, Datum value)
{
	place->least = skx_condition_zone_form(canonical, value, false);
	place->most = skx_condition_zone_form(canonical, value, true);
	place->n = 1;
	place->equal = palloc(sizeof(bytea *));
	place->equal[0] = place->least;
}

/*
 * A finite time among moments.  One whose moment is out of range is above or
 * below all that are finite.
 */
static void
skx_condition_zone_time(Timestamp time, SkxPlace *place)
{
	int64		moment = skx_condition_zone_moment(time);

	if (IS_VALID_TIMESTAMP(moment))
	{
		skx_condition_zone_one(place, skipidx_canonical_int8,
							   Int64GetDatum(moment));
		return;
	}
	moment = moment < MIN_TIMESTAMP ? MIN_TIMESTAMP : END_TIMESTAMP;
	place->least = place->most =
		skx_condition_zone_form(skipidx_canonical_int8, Int64GetDatum(moment),
								false);
}

Datum
skipidx_place_timestamptz_timestamp(PG_FUNCTION_ARGS)
{
	Timestamp	time = PG_GETARG_TIMESTAMP(0);
	SkxPlace   *place = (SkxPlace *) PG_GETARG_POINTER(1);

	if (TIMESTAMP_NOT_FINITE(time))
		skx_condition_zone_one(place, skipidx_canonical_int8,
							   Int64GetDatum(time));
	else
		skx_condition_zone_time(time, place);
	PG_RETURN_POINTER(place);
}

Datum
skipidx_place_timestamptz_date(PG_FUNCTION_ARGS)
{
	DateADT		day = PG_GETARG_DATEADT(0);
	SkxPlace   *place = (SkxPlace *) PG_GETARG_POINTER(1);

	if (DATE_IS_NOBEGIN(day))
		skx_condition_zone_one(place, skipidx_canonical_int8,
							   Int64GetDatum(DT_NOBEGIN));
	else if (DATE_IS_NOEND(day))
		skx_condition_zone_one(place, skipidx_canonical_int8,
							   Int64GetDatum(DT_NOEND));
	else if (day >= SKX_ZONE_END_DAY)
		place->least = place->most =
			skx_condition_zone_form(skipidx_canonical_int8,
									Int64GetDatum(END_TIMESTAMP), false);
	else
		skx_condition_zone_time(day * USECS_PER_DAY, place);
	PG_RETURN_POINTER(place);
}

/* From and to: all other times are known to be below or above the moment. */
static void
skx_condition_zone_window(TimestampTz moment, Timestamp *from, Timestamp *to)
{
	*from = moment < MIN_TIMESTAMP + SKX_ZONE_SPAN ? MIN_TIMESTAMP :
		moment - SKX_ZONE_SPAN;
	*to = moment > END_TIMESTAMP - SKX_ZONE_SPAN ? END_TIMESTAMP :
		moment + SKX_ZONE_SPAN;
}

Datum
skipidx_place_date_timestamptz(PG_FUNCTION_ARGS)
{
	TimestampTz moment = PG_GETARG_TIMESTAMPTZ(0);
	SkxPlace   *place = (SkxPlace *) PG_GETARG_POINTER(1);
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
		skx_condition_zone_one(place, form,
							   DateADTGetDatum(TIMESTAMP_IS_NOBEGIN(moment) ?
											   DATEVAL_NOBEGIN : DATEVAL_NOEND));
		PG_RETURN_POINTER(place);
	}
	skx_condition_zone_window(moment, &from, &to);
	day = Max(from / USECS_PER_DAY - 1, SKX_ZONE_FIRST_DAY);
	end = Min(to / USECS_PER_DAY + 1, SKX_ZONE_END_DAY);
	least = end;
	for (most = day; day < end; day++)
	{
		int64		other = skx_condition_zone_moment(day * USECS_PER_DAY);

		if (other >= moment)
			least = Min(least, day);
		if (other <= moment)
			most = day + 1;
		if (other == moment)
			equal[place->n++] = day;
	}
	place->least = skx_condition_zone_form(form, DateADTGetDatum(least),
										   false);
	place->most = skx_condition_zone_form(form, DateADTGetDatum(most), false);
	place->mixed = most - least != place->n;
	place->equal = palloc(sizeof(bytea *) * Max(place->n, 1));
	for (i = 0; i < place->n; i++)
		place->equal[i] = skx_condition_zone_form(form,
												  DateADTGetDatum(equal[i]),
												  false);
	PG_RETURN_POINTER(place);
}

/* Adds a time in seconds from 1970 that lies between the two. */
static void
skx_condition_zone_add(SkxZoneTimes *times, int64 seconds, Timestamp from,
					   Timestamp to)
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
 * From `from` on, the times before `to` at which DetermineTimeZoneOffset() may
 * change: it looks at the first change of the zone that is a day or less before
 * the time taken as UTC, and goes by the offset after it from the time on that
 * this offset makes of it.
 */
static void
skx_condition_zone_times(Timestamp from, Timestamp to, SkxZoneTimes *times)
{
	pg_time_t	at = (from - SKX_ZONE_SPAN) / USECS_PER_SEC + SKX_ZONE_EPOCH;
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
 * The moment among the times from one at which the offset changes up to the
 * next: `least` and `most` as far as these are known, and what is equal.
 */
static void
skx_condition_zone_piece(TimestampTz moment, Timestamp from, Timestamp to,
						 Timestamp *least, Timestamp *most, SkxPlace *place)
{
	Timestamp	time = moment + (from - skx_condition_zone_moment(from));

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
	SkxPlace   *place = (SkxPlace *) PG_GETARG_POINTER(1);
	PGFunction	form = skipidx_canonical_timestamp;
	SkxZoneTimes times;
	Timestamp	from;
	Timestamp	to;
	Timestamp	least;
	Timestamp	most;
	int			i;

	if (TIMESTAMP_NOT_FINITE(moment))
	{
		skx_condition_zone_one(place, form, TimestampGetDatum(moment));
		PG_RETURN_POINTER(place);
	}
	skx_condition_zone_window(moment, &from, &to);
	skx_condition_zone_times(from, to, &times);
	place->equal = palloc(sizeof(bytea *) * times.n);
	least = to;
	most = from;
	for (i = 0; i < times.n; i++)
		skx_condition_zone_piece(moment, times.times[i],
								 i + 1 < times.n ? times.times[i + 1] : to,
								 &least, &most, place);
	place->least = skx_condition_zone_form(form, TimestampGetDatum(least),
										   false);
	place->most = skx_condition_zone_form(form, TimestampGetDatum(most),
										  false);
	place->mixed = most - least != place->n;
	PG_RETURN_POINTER(place);
}
