/*
 * test_fault_point.c
 *	  Points and transfers that no setting names: nothing is called, and each
 *	  transfer returns what it did.
 *
 * Holds: fault 1
 */
#include "unit.h"

#include "support/fault/fault.h"

bool		skx_fault_armed;

static int	calls;

void
skx_fault_reached(SkxFaultPoint point)
{
	calls++;
}

static ssize_t
spoilt(ssize_t result)
{
	calls++;
	return -1;
}

/* As the library of fault_transfer.c's rendezvous would leave them. */
static const SkxFaultTransfers spoiling = {spoilt, spoilt, spoilt,
spoilt};
static const SkxFaultTransfers *spoiler = NULL;
const SkxFaultTransfers **skx_fault_transfers = &spoiler;

static void
all_points(void)
{
#define POINT(symbol, name, wait) SKX_FAULT(SKX_FAULT_##symbol);
	SKX_FAULT_POINTS(POINT)
#undef POINT
}

static void
transfers(ssize_t result, bool same)
{
	CHECK((skx_fault_read(result) == result) == same);
	CHECK((skx_fault_write(result) == result) == same);
	CHECK((skx_fault_grow(result) == result) == same);
	CHECK((skx_fault_skip_pages(result) == result) == same);
}

int
main(void)
{
	int			points = 0;

#define POINT(symbol, name, wait) points++;
	SKX_FAULT_POINTS(POINT)
#undef POINT

	all_points();
	transfers(8192, true);
	CHECK(calls == 0);

	/* or the above says nothing */
	skx_fault_armed = true;
	spoiler = &spoiling;
	all_points();
	CHECK(points > 20 && calls == points);
	transfers(8192, false);
	CHECK(calls == points + 4);
	return unit_done("fault_point");
}
