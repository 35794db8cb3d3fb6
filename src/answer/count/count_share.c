/*
 * count_share.c
 *	  Sums over the processes of one count.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "answer/count/count_share.h"

void
skx_count_share_init(SkxCountShare *share)
{
	int			i;

	skx_exec_share_init(&share->parts);
	pg_atomic_init_u64(&share->rows, 0);
	for (i = 0; i < SKX_COUNT_COUNTERS; i++)
		pg_atomic_init_u64(&share->work[i], 0);
}

void
skx_count_share_restart(SkxCountShare *share)
{
	skx_exec_share_restart(&share->parts);
	pg_atomic_write_u64(&share->rows, 0);
}

bool
skx_count_share_none(SkxCountShare *share)
{
	SkxShareReader reader;
	SkxSharePart part;

	skx_exec_share_begin(&reader, &share->parts, NULL, 0, 1);
	return skx_exec_share_done(&reader, skx_exec_share_take(&reader, &part));
}

uint64
skx_count_share_total(SkxCountShare *share)
{
	return pg_atomic_read_u64(&share->rows);
}

/*
 * Only workers add their work, since EXPLAIN shows that of processes other
 * than the leader.
 */
void
skx_count_share_add(SkxCountShare *share, uint64 rows,
					const SkxCountWork *work)
{
	pg_atomic_fetch_add_u64(&share->rows, rows);
	if (!IsParallelWorker())
		return;
	pg_atomic_fetch_add_u64(&share->work[0], work->fetched);
	pg_atomic_fetch_add_u64(&share->work[1], work->mapped);
	pg_atomic_fetch_add_u64(&share->work[2], work->whole);
	pg_atomic_fetch_add_u64(&share->work[3], work->totals);
}

void
skx_count_share_work(SkxCountShare *share, SkxCountWork *work)
{
	work->fetched += pg_atomic_read_u64(&share->work[0]);
	work->mapped += pg_atomic_read_u64(&share->work[1]);
	work->whole += pg_atomic_read_u64(&share->work[2]);
	work->totals += pg_atomic_read_u64(&share->work[3]);
}
