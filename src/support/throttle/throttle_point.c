/*
 * throttle_point.c
 *	  Points at which long work sleeps, is cancelled, or gives way.
 *
 * In VACUUM they are its own delay points.  A background worker has no cost
 * delay.  It has a rate, and checks from time to time whether another process
 * waits for it.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "storage/latch.h"
#include "support/compat/compat.h"
#include "support/throttle/throttle.h"

/* Longest sleep in ms; after it the check is called. */
#define SKX_THROTTLE_SLEEP_MS	SKX_THROTTLE_CHECK_MS

typedef struct SkxThrottle
{
	void		(*check) (void *arg);
	void	   *arg;
	const int  *rate;			/* kB/s */
	instr_time	last_check;
	instr_time	started;		/* start of the time in which `bytes` were
								 * written */
	uint64		bytes;
	int			counted_rate;	/* the rate while they were written */
} SkxThrottle;

static SkxThrottle skx_pace;

/* The wait event, which is made at first use. */
static uint32 skx_throttle_wait_event = 0;

void
skx_throttle_begin(void (*check) (void *arg), void *arg, const int *rate)
{
	skx_pace.check = check;
	skx_pace.arg = arg;
	skx_pace.rate = rate;
	skx_pace.counted_rate = rate != NULL ? *rate : 0;
	skx_pace.bytes = 0;
	INSTR_TIME_SET_CURRENT(skx_pace.last_check);
	skx_pace.started = skx_pace.last_check;
}

void
skx_throttle_end(void)
{
	memset(&skx_pace, 0, sizeof(skx_pace));
}

static double
skx_throttle_ms_since(instr_time then)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, then);
	return INSTR_TIME_GET_MILLISEC(now);
}

void
skx_throttle_point(void)
{
	skx_compat_vacuum_delay();
	if (skx_pace.check == NULL ||
		skx_throttle_ms_since(skx_pace.last_check) < SKX_THROTTLE_CHECK_MS)
		return;
	INSTR_TIME_SET_CURRENT(skx_pace.last_check);
	skx_pace.check(skx_pace.arg);
}

/*
 * Returns how many ms the bytes are ahead of the rate.  Counts from 0 after
 * the rate has changed, so bytes written under another rate do not count.
 */
static double
skx_throttle_ms_ahead(void)
{
	int			rate = skx_pace.rate != NULL ? *skx_pace.rate : 0;
	double		passed;

	if (rate != skx_pace.counted_rate)
	{
		INSTR_TIME_SET_CURRENT(skx_pace.started);
		skx_pace.bytes = 0;
		skx_pace.counted_rate = rate;
	}
	if (rate <= 0)
		return 0;
	passed = skx_throttle_ms_since(skx_pace.started);
	return skx_pace.bytes / 1.024 / rate - passed;
}

void
skx_throttle_count_pages(int npages)
{
	double		ahead;

	Assert(npages > 0);
	if (VacuumCostActive)
		VacuumCostBalance += VacuumCostPageDirty * npages;
	skx_throttle_point();
	if (skx_pace.check == NULL)
		return;
	skx_pace.bytes += (uint64) npages * BLCKSZ;
	while ((ahead = skx_throttle_ms_ahead()) > 1)
	{
		if (skx_throttle_wait_event == 0)
			skx_throttle_wait_event = skx_compat_wait_event("SkipidxMergeRate");
		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 (long) Min(ahead, SKX_THROTTLE_SLEEP_MS),
						 skx_throttle_wait_event);
		ResetLatch(MyLatch);
		skx_throttle_point();
	}

	/* after a pause of more than a second the count begins anew */
	if (ahead < -1000)
	{
		INSTR_TIME_SET_CURRENT(skx_pace.started);
		skx_pace.bytes = 0;
	}
}
