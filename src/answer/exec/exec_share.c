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
#define SKX_EXEC_PART_ALIGN	4096

void
skx_exec_share_init(SkxExecShared *share)
{
	SpinLockInit(&share->mutex);
	share->has_view = false;
	pg_atomic_init_u64(&share->next_part, 0);
	pg_atomic_init_u64(&share->finished_parts, 0);
	ConditionVariableInit(&share->all_finished_cv);
}

void
skx_exec_share_restart(SkxExecShared *share)
{
	share->has_view = false;
	pg_atomic_write_u64(&share->next_part, 0);
	pg_atomic_write_u64(&share->finished_parts, 0);
}

/* Makes `own` the view of all processes, unless they have one. */
static void
skx_exec_share_set_view(SkxExecShared *share, const SkxView *own)
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
skx_exec_share_view(SkxExecShared *share, Relation index, const SkxView *own)
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
		skx_exec_share_set_view(share, own);
	}
	SpinLockAcquire(&share->mutex);
	shared = share->view;
	SpinLockRelease(&share->mutex);
	if (own != NULL && own->meta.generation == shared.meta.generation)
		return own;
	return skx_manifest_view_shared(index, &shared);
}

void
skx_exec_share_begin(SkxExecPartReader *reader, SkxExecShared *share,
					 const uint32 *ndocs, int nsegments, uint32 parts)
{
	reader->shared = share;
	reader->ndocs = ndocs;
	reader->nsegments = nsegments;
	reader->max_parts = parts;
	reader->segment = 0;
	reader->first_part = 0;
}

/* Returns the number of documents of each part of a segment but the last. */
static uint64
skx_exec_share_part_docs(const SkxExecPartReader *reader, uint32 ndocs)
{
	uint64		step = Max(ndocs / reader->max_parts, SKX_EXEC_PART_DOCS_MIN);

	return TYPEALIGN64(SKX_EXEC_PART_ALIGN, step);
}

static uint64
skx_exec_share_nparts(const SkxExecPartReader *reader, int segment)
{
	uint32		ndocs = reader->ndocs[segment];
	uint64		step = skx_exec_share_part_docs(reader, ndocs);

	return (ndocs + step - 1) / step;
}

uint64
skx_exec_share_next(SkxExecShared *share)
{
	CHECK_FOR_INTERRUPTS();
	SKX_FAULT(SKX_FAULT_SHARE_TAKE);
	return pg_atomic_fetch_add_u64(&share->next_part, 1);
}

bool
skx_exec_share_next_part(SkxExecPartReader *reader, SkxExecPart *part)
{
	uint64		number = skx_exec_share_next(reader->shared);
	uint64		step;
	uint64		n;

	while (reader->segment < reader->nsegments)
	{
		n = skx_exec_share_nparts(reader, reader->segment);
		if (number < reader->first_part + n)
			break;
		reader->first_part += n;
		reader->segment++;
	}
	part->segment = -1;
	part->from = part->to = 0;
	if (reader->segment == reader->nsegments)
		return number == reader->first_part;
	step = skx_exec_share_part_docs(reader, reader->ndocs[reader->segment]);
	part->segment = reader->segment;
	part->from = (uint32) ((number - reader->first_part) * step);
	part->to = (uint32) Min(part->from + step,
							reader->ndocs[reader->segment]);
	return true;
}

/* Returns the number of all parts. */
static uint64
skx_exec_share_total(const SkxExecPartReader *reader)
{
	uint64		total = 1;
	int			i;

	for (i = 0; i < reader->nsegments; i++)
		total += skx_exec_share_nparts(reader, i);
	return total;
}

bool
skx_exec_share_finish_parts(SkxExecPartReader *reader, uint64 n)
{
	SkxExecShared *share = reader->shared;

	if (n == 0 || pg_atomic_add_fetch_u64(&share->finished_parts, n) !=
		skx_exec_share_total(reader))
		return false;
	ConditionVariableBroadcast(&share->all_finished_cv);
	return true;
}

static bool
skx_exec_share_all_finished(const SkxExecPartReader *reader)
{
	bool		done = pg_atomic_read_u64(&reader->shared->finished_parts) ==
		skx_exec_share_total(reader);

	/* before reading what other processes have left */
	pg_read_barrier();
	return done;
}

void
skx_exec_share_wait(const SkxExecPartReader *reader)
{
	SkxExecShared *share = reader->shared;

	ConditionVariablePrepareToSleep(&share->all_finished_cv);
	while (!skx_exec_share_all_finished(reader))
		ConditionVariableSleep(&share->all_finished_cv,
							   WAIT_EVENT_PARALLEL_FINISH);
	ConditionVariableCancelSleep();
}
