/*
 * count_share.c
 *	  Sums over the processes of one count.
 */
#include "postgres.h"

#include "answer/count/count_share.h"

void
skx_count_share_init(SkxCountShared *share)
{
	skx_exec_share_init(&share->exec_share);
	pg_atomic_init_u64(&share->rows, 0);
}

void
skx_count_share_restart(SkxCountShared *share)
{
	skx_exec_share_restart(&share->exec_share);
	pg_atomic_write_u64(&share->rows, 0);
}

bool
skx_count_share_claim_empty(SkxCountShared *share)
{
	SkxExecPartReader reader;
	SkxExecPart part;

	skx_exec_share_begin(&reader, &share->exec_share, NULL, 0, 1);
	return skx_exec_share_finish_parts(&reader,
									   skx_exec_share_next_part(&reader,
																&part));
}

uint64
skx_count_share_total(SkxCountShared *share)
{
	return pg_atomic_read_u64(&share->rows);
}

void
skx_count_share_add(SkxCountShared *share, uint64 rows)
{
	pg_atomic_fetch_add_u64(&share->rows, rows);
}
