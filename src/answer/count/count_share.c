/*
 * count_share.c
 *	  Sums over the processes of one count.
 */
#include "postgres.h"

#include "answer/count/count_share.h"

void
skx_count_share_init(SkxCountShare *share)
{
	skx_exec_share_init(&share->parts);
	pg_atomic_init_u64(&share->rows, 0);
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

void
skx_count_share_add(SkxCountShare *share, uint64 rows)
{
	pg_atomic_fetch_add_u64(&share->rows, rows);
}
