/*
 * test_manifest_limits.c
 *	  Extents at the end of what a file can be, 2^32 - 2 blocks: taken, cut and
 *	  joined up to the last page, and an error for what would lie behind.
 *
 * Holds: manifest 5
 */
#include "unit.h"
#include "server.h"
#include "unit_raise.h"

#include "support/compat/compat.h"
#include "support/fault/fault.h"
#include "write/maint/maint_internal.h"
#include "index/manifest/manifest_internal.h"
#include "storage/lmgr.h"

#define LIMIT		ERRCODE_PROGRAM_LIMIT_EXCEEDED

/* ---- the server ---- */

Oid			MyDatabaseId = 5;
bool		skx_fault_armed = false;

static bool locked;				/* the metapage */

/* The operation's own lock always is. */
bool
skx_compat_lock_held(const LOCKTAG *tag, LOCKMODE mode)
{
	return tag->locktag_type != LOCKTAG_PAGE || locked;
}

void
LockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	locked = true;
}

bool
ConditionalLockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	return true;
}

void
UnlockPage(Relation rel, BlockNumber block, LOCKMODE mode)
{
	locked = false;
}

void *
repalloc_huge(void *pointer, Size size)
{
	return realloc(pointer, size);
}

/* ---- an index in memory ---- */

static FormData_pg_class class;
static RelationData relation;
static SkxView present;

static SkxDraft *
make_draft(uint32 block_pages, BlockNumber nblocks)
{
	SkxDraft   *draft = calloc(1, sizeof(SkxDraft));

	skx_disk_format_of(SKX_RELEASE, SKX_FORMAT_NEWEST, &present.meta.format);
	present.meta.nblocks = nblocks;
	present.meta.block_size = block_pages * BLCKSZ;
	draft->rel = &relation;
	draft->view = &present;
	draft->block_pages = block_pages;
	draft->extents_size = 4;
	draft->extents = calloc(4, sizeof(SkxDraftExtent));
	return draft;
}

static void
free_draft(SkxDraft *draft)
{
	free(draft->extents);
	free(draft);
}

void
skx_manifest_meta(Relation rel, SkxDiskMeta *meta)
{
	*meta = present.meta;
}

uint32
skx_manifest_installed_release(Oid am, bool committed)
{
	return SKX_RELEASE;
}

/* An operation's draft: nothing is free, and the file ends where it does. */
SkxDraft *
skx_manifest_draft(Relation rel)
{
	return make_draft(present.meta.block_size / BLCKSZ, present.meta.nblocks);
}

int
skx_manifest_draft_flip(SkxDraft *draft)
{
	uint64		end = (uint64) present.meta.nblocks + draft->grow_pages;

	CHECK(end <= MaxBlockNumber);
	skx_manifest_free_add(draft, present.meta.nblocks, draft->grow_pages, 0);
	draft->extents[draft->nextents - 1].extent.operation =
		draft->grow_operation;
	present.meta.nblocks = (BlockNumber) end;
	return 0;
}

void
skx_manifest_draft_free(SkxDraft *draft)
{
	free_draft(draft);
}

static bool
has(const SkxDraft *draft, BlockNumber block, uint32 npages, uint32 operation)
{
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		const SkxDiskExtent *e = &draft->extents[i].extent;

		if (e->block == block && e->npages == npages &&
			e->operation == operation)
			return true;
	}
	return false;
}

/* ---- tests ---- */

/* A sum past 32 bits is refused, not taken for a small one. */
static void
test_growth(void)
{
	static const BlockNumber ends[] = {1, 0x7FFFFFFF, 0x80000000,
	MaxBlockNumber - 1, MaxBlockNumber};
	int			i;

	for (i = 0; i < (int) lengthof(ends); i++)
	{
		uint64		left = MaxBlockNumber - ends[i];

		CHECK(RAISED(skx_manifest_check_growth(&relation, ends[i], 0)) == 0);
		CHECK(RAISED(skx_manifest_check_growth(&relation, ends[i],
											   left)) == 0);
		CHECK(RAISED(skx_manifest_check_growth(&relation, ends[i],
											   left + 1)) == LIMIT);
		CHECK(RAISED(skx_manifest_check_growth(&relation, ends[i],
											   PG_UINT32_MAX)) == LIMIT);
		CHECK(RAISED(skx_manifest_check_growth(&relation, ends[i],
											   UINT64CONST(1) << 32)) == LIMIT);
	}
}

/* Blocks of four pages, from free extents that reach to the end, and behind. */
static void
test_reserve(void)
{
	const BlockNumber end = 0xFFFFFFF0;
	SkxDraft   *draft = make_draft(4, end);

	skx_manifest_free_add(draft, 0x7FFFFFFD, 9, 0);
	skx_manifest_free_add(draft, end - 15, 15, 0);
	CHECK(skx_manifest_free_reusable(draft, 1) == 24);
	skx_manifest_free_reserve(draft, 8, 4, 1);
	CHECK(draft->grow_pages == 0);
	CHECK(has(draft, 0x7FFFFFFD, 3, 0) && has(draft, 0x80000000, 4, 8));
	CHECK(has(draft, 0x80000004, 2, 0));
	CHECK(has(draft, end - 15, 3, 0) && has(draft, end - 12, 12, 8));
	skx_manifest_free_join(draft);
	CHECK(draft->nextents == 5);
	CHECK(draft->extents[4].extent.block == end - 12);
	skx_manifest_free_reserve(draft, 8, 3, 1);
	CHECK(draft->grow_pages == 12 && draft->grow_operation == 8);
	free_draft(draft);

	/* 14 pages are left: three blocks, and not four */
	draft = make_draft(4, end);
	CHECK(RAISED(skx_manifest_free_reserve(draft, 8, 4, 1)) == LIMIT);
	CHECK(draft->grow_pages == 0);
	free_draft(draft);
}

/* More blocks than there can be pages. */
static void
test_large(void)
{
	SkxDraft   *draft = make_draft(128, 0x80000000);

	skx_manifest_free_add(draft, 128, 128, 0);
	CHECK(RAISED(skx_manifest_free_reserve(draft, 8, (1 << 25) + 1,
										   1 << 25)) == LIMIT);
	CHECK(has(draft, 128, 128, 0));
	CHECK(RAISED(skx_manifest_free_reserve(draft, 8, 1 << 25, 2)) == LIMIT);
	CHECK(RAISED(skx_manifest_free_reserve(draft, 8, PG_UINT32_MAX,
										   2)) == LIMIT);
	free_draft(draft);

	CHECK(skx_maint_blocks((uint64) MaxBlockNumber * BLCKSZ, BLCKSZ) ==
		  MaxBlockNumber);
	CHECK(skx_maint_blocks(UINT64CONST(1) << 45, 128 * BLCKSZ) ==
		  (1 << 25) + 3);
	CHECK(skx_maint_blocks(UINT64CONST(1) << 50, BLCKSZ) == MaxBlockNumber);
}

/* Free pages from the first to the last make one extent, and go to the pool. */
static void
test_join(void)
{
	SkxDraft   *draft = make_draft(1, MaxBlockNumber);
	SkxDiskMeta meta = {0};

	skx_manifest_free_add(draft, 0x80000000, 0x7FFFFFF0, 0);
	skx_manifest_free_add(draft, 0xFFFFFFF0, 14, 0);
	skx_manifest_free_add(draft, 1, 0x7FFFFFFF, 0);
	CHECK(skx_manifest_free_reusable(draft, 1) == MaxBlockNumber - 1);
	skx_manifest_free_join(draft);
	CHECK(draft->nextents == 1 && has(draft, 1, MaxBlockNumber - 1, 0));
	draft->pool_target = SKX_POOL_REFILL_MAX;
	draft->pool_least = 16;
	skx_manifest_free_to_pool(draft, &meta, 100);
	CHECK(meta.npool == 1 && meta.pool[0].block == 1 &&
		  meta.pool[0].npages == SKX_POOL_REFILL_MAX);
	CHECK(has(draft, 1 + SKX_POOL_REFILL_MAX,
			  MaxBlockNumber - 1 - SKX_POOL_REFILL_MAX, 0));
	free_draft(draft);
}

/* An operation gets block after block, up to the last, and then an error. */
static void
test_operation(uint32 block_pages)
{
	SkxOperation op = {0};
	BlockNumber begin = (MaxBlockNumber - 1000) / 128 * 128;
	BlockNumber next = begin;
	BlockNumber block;

	present.meta.nblocks = begin;
	present.meta.block_size = block_pages * BLCKSZ;
	op.rel = &relation;
	op.kind = SKX_OPERATION_MERGE;
	op.segment = 8;
	op.block_pages = block_pages;
	op.waits_for_lock = true;
	op.reserved_size = 16;
	op.reserved = palloc(op.reserved_size * sizeof(SkxDiskExtent));
	while (RAISED(block = skx_manifest_allocate(&op, 1)) == 0)
	{
		CHECK(block == next);
		next = block + block_pages;
		CHECK(next > block && next <= MaxBlockNumber);
	}
	CHECK(unit_raise_code == LIMIT);
	CHECK(MaxBlockNumber - next < 128 + block_pages);
	locked = false;				/* the end of the transaction does that */
	pfree(op.reserved);
}

int
main(void)
{
	unit_seed(8);
	relation.rd_rel = &class;
	test_growth();
	test_reserve();
	test_large();
	test_join();
	test_operation(1);
	test_operation(4);
	test_operation(128);
	return unit_done("manifest_limits");
}
