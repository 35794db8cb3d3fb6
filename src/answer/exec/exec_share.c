/*
 * exec_share.c
 *	  Divides a view and its documents among the processes of a scan.
 *
 * The segments of one view are divided into parts, in the same way in every
 * process, and a counter says which parts are taken.  The pending documents
 * are one part, since there are nearly always few of them, and their pages are
 * a chain.
 */
#include "postgres.h"

#include "answer/exec/exec_share.h"
#include "miscadmin.h"
#include "support/fault/fault.h"
#include "utils/wait_event.h"

/* Parts begin at multiples of this number of documents. */
#define SKX_SHARE_WINDOW	4096

void
skx_exec_share_init(SkxShare *share)
{
	SpinLockInit(&share->mutex);
	share->has_view = false;
	pg_atomic_init_u64(&share->next, 0);
	pg_atomic_init_u64(&share->done, 0);
	ConditionVariableInit(&share->all_done);
}

void
skx_exec_share_restart(SkxShare *share)
{
	share->has_view = false;
	pg_atomic_write_u64(&share->next, 0);
	pg_atomic_write_u64(&share->done, 0);
}

/* Makes `own` the view of all processes, unless they have one. */
static void
skx_exec_share_offer(SkxShare *share, const SkxView *own)
{
	SpinLockAcquire(&share->mutex);
	if (!share->has_view)
	{
		share->view = *own;
		share->has_view = true;
	}
	SpinLockRelease(&share->mutex);
}

/*
 * The root of an earlier view is readable.  If a worker has taken the view,
 * its root is kept until the leader's transaction ends; otherwise as long as
 * the leader scans.
 */
const SkxView *
skx_exec_share_view(SkxShare *share, Relation index, const SkxView *own)
{
	SkxView		shared;
	bool		has_view;

	SpinLockAcquire(&share->mutex);
	has_view = share->has_view;
	SpinLockRelease(&share->mutex);
	if (!has_view)
	{
		if (own == NULL)
			own = skx_manifest_view_bound(index);
		skx_exec_share_offer(share, own);
	}
	SpinLockAcquire(&share->mutex);
	shared = share->view;
	SpinLockRelease(&share->mutex);
	if (own != NULL && own->meta.generation == shared.meta.generation)
		return own;
	return skx_manifest_view_of(index, &shared);
}

void
skx_exec_share_begin(SkxShareReader *reader, SkxShare *share, const uint32 *ndocs,
					 int nsegments, uint32 parts)
{
	reader->share = share;
	reader->ndocs = ndocs;
	reader->nsegments = nsegments;
	reader->parts = parts;
	reader->segment = 0;
	reader->first = 0;
}

/* Returns the number of documents of each part of a segment but the last. */
static uint64
skx_exec_share_step(const SkxShareReader *reader, uint32 ndocs)
{
	uint64		step = Max(ndocs / reader->parts, SKX_SHARE_STEP);

	return TYPEALIGN64(SKX_SHARE_WINDOW, step);
}

static uint64
skx_exec_share_nparts(const SkxShareReader *reader, int segment)
{
	uint32		ndocs = reader->ndocs[segment];
	uint64		step = skx_exec_share_step(reader, ndocs);

	return (ndocs + step - 1) / step;
}

uint64
skx_exec_share_next(SkxShare *share)
{
	CHECK_FOR_INTERRUPTS();
	SKX_FAULT(SKX_FAULT_SHARE_TAKE);
	return pg_atomic_fetch_add_u64(&share->next, 1);
}

bool
skx_exec_share_take(SkxShareReader *reader, SkxSharePart *part)
{
	uint64		number = skx_exec_share_next(reader->share);
	uint64		step;
	uint64		n;

	while (reader->segment < reader->nsegments)
	{
		n = skx_exec_share_nparts(reader, reader->segment);
		if (number < reader->first + n)
			break;
		reader->first += n;
		reader->segment++;
	}
	part->segment = -1;
	part->from = part->to = 0;
	if (reader->segment == reader->nsegments)
		return number == reader->first;
	step = skx_exec_share_step(reader, reader->ndocs[reader->segment]);
	part->segment = reader->segment;
	part->from = (uint32) ((number - reader->first) * step);
	part->to = (uint32) Min(part->from + step,
							reader->ndocs[reader->segment]);
	return true;
}

/* Returns the number of all parts. */
static uint64
skx_exec_share_total(const SkxShareReader *reader)
{
	uint64		total = 1;
	int			i;

	for (i = 0; i < reader->nsegments; i++)
		total += skx_exec_share_nparts(reader, i);
	return total;
}

bool
skx_exec_share_done(SkxShareReader *reader, uint64 n)
{
	SkxShare   *share = reader->share;

	if (n == 0 || pg_atomic_add_fetch_u64(&share->done, n) !=
		skx_exec_share_total(reader))
		return false;
	ConditionVariableBroadcast(&share->all_done);
	return true;
}

static bool
skx_exec_share_is_done(const SkxShareReader *reader)
{
	bool		done = pg_atomic_read_u64(&reader->share->done) ==
		skx_exec_share_total(reader);

	/* before reading what other processes have left */
	pg_read_barrier();
	return done;
}

void
skx_exec_share_wait(const SkxShareReader *reader)
{
	SkxShare   *share = reader->share;

	ConditionVariablePrepareToSleep(&share->all_done);
	while (!skx_exec_share_is_done(reader))
		ConditionVariableSleep(&share->all_done, WAIT_EVENT_PARALLEL_FINISH);
	ConditionVariableCancelSleep();
}
