/*
 * manifest_operation.c
 *	  Operations, which are flushes and merges, from begin to end.
 */
#include "postgres.h"

#include "access/xact.h"
#include "index/manifest/manifest_internal.h"
#include "storage/blkio/blkio.h"
#include "support/fault/fault.h"
#include "utils/rel.h"

/*
 * Each further reservation is this part of the earlier ones, and at least so
 * many pages.  A larger one would often make the file grow, only because the
 * result takes a little more than was expected.
 */
#define SKX_RESERVE_PAGES	128
#define SKX_RESERVE_FRACTION	32

/*
 * Blocks in a row that a segment may need at its end, for the last pages of
 * its planes and the header.
 */
#define SKX_RESERVE_RUN_BLOCKS		8

#ifdef USE_ASSERT_CHECKING
/* Returns how many pages are reserved and not allocated. */
static uint64
skx_manifest_operation_pages(const SkxOperation *op)
{
	uint64		npages = 0;

	for (int i = 0; i < op->nreserved_extents; i++)
		npages += op->reserved[i].npages;
	return npages;
}

/* Returns true if none of the pages is among those. */
static bool
skx_manifest_operation_is_disjoint(const SkxOperation *op, BlockNumber block,
								   uint32 npages)
{
	for (int i = 0; i < op->nreserved_extents; i++)
	{
		if (block < op->reserved[i].block + op->reserved[i].npages &&
			op->reserved[i].block < block + npages)
			return false;
	}
	return true;
}
#endif

/*
 * Drops reservations of operations of the kind that have ended.  The caller
 * holds the lock of the kind.
 */
static bool
skx_manifest_drop_orphans(SkxDraft *draft, uint32 kind)
{
	bool		dropped = false;
	int			i;

	Assert(skx_manifest_holds_operation(draft->rel, kind));
	for (i = draft->noperations - 1; i >= 0; i--)
	{
		if (draft->operations[i].kind != kind)
			continue;
		skx_manifest_draft_drop(draft, draft->operations[i].segment);
		dropped = true;
	}
	return dropped;
}

/*
 * Returns the shortest run, in blocks, that an operation of nblocks blocks
 * reserves at first.  An operation that waits for the metapage's lock can
 * reserve more later.  One that does not wait must get runs that are long
 * enough here, and a plane takes longer runs as it grows.
 */
static uint32
skx_manifest_min_run(uint32 nblocks, SkxManifestWait wait)
{
	if (wait != SKX_WAIT_NEVER)
		return 1;
	return Min(nblocks, SKX_RESERVE_RUN_BLOCKS + nblocks / 16);
}

/* Adds to op->reserved what a flip has reserved since the view `before`. */
static void
skx_manifest_operation_fill(SkxOperation *op, const SkxDraft *draft,
							const SkxView *before)
{
	int			i;

	for (i = 0; i < draft->nextents; i++)
	{
		SkxDiskExtent e = draft->extents[i].extent;
		int			k;

		if (e.operation != op->segment)
			continue;
		/* it can include extents that were reserved earlier: left out */
		for (k = 0; k < before->nextents; k++)
		{
			const SkxDiskExtent *old = &before->extents[k];

			if (old->operation != op->segment)
				continue;
			if (old->block >= e.block && old->block < e.block + e.npages)
			{
				if (old->block > e.block)
					skx_manifest_give_back(op, e.block,
										   old->block - e.block);
				e.npages -= old->block + old->npages - e.block;
				e.block = old->block + old->npages;
			}
		}
		if (e.npages > 0)
			skx_manifest_give_back(op, e.block, e.npages);
	}
}

/* Adds an operation to the draft, and returns it. */
static SkxOperation *
skx_manifest_operation_add(SkxDraft *draft, uint32 kind, SkxManifestWait wait,
						   const SkxDiskFormat *format)
{
	SkxOperation *op = palloc0(sizeof(SkxOperation));
	SkxDiskOperation *disk;

	if (draft->next_segment == PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" has used up its segment numbers",
						RelationGetRelationName(draft->rel)),
				 errhint("Rebuild it with REINDEX.")));
	skx_manifest_drop_orphans(draft, kind);
	op->rel = draft->rel;
	op->kind = kind;
	op->segment = draft->next_segment++;
	op->salt = skx_manifest_random();
	op->incarnation = draft->view->meta.incarnation;
	op->format = *format;
	op->block_pages = draft->block_pages;
	op->waits_for_lock = wait != SKX_WAIT_NEVER;
	op->reserved_size = 16;
	op->reserved = palloc(op->reserved_size * sizeof(SkxDiskExtent));
	Assert(draft->noperations < lengthof(draft->operations));
	disk = &draft->operations[draft->noperations++];
	disk->segment = op->segment;
	disk->kind = kind;
	return op;
}

/*
 * Sets *format to that of the segment of an operation.  If the index has not
 * all that this release writes, it is what the installed SQL objects' release
 * wrote.  A merge does not raise the number.  Takes locks of the catalog.
 */
static void
skx_manifest_operation_format(Relation rel, uint32 kind,
							  SkxDiskFormat *format)
{
	SkxDiskMeta meta;
	uint32		most = SKX_FORMAT_NEWEST;
	uint32		release = SKX_RELEASE;

	skx_manifest_meta(rel, &meta);
	if (kind == SKX_OPERATION_MERGE)
		most = meta.format.number;
	skx_disk_format_of(release, SKX_FORMAT_NEWEST, format);
	if (!skx_disk_format_covers(&meta.format, format))
		release = skx_manifest_installed_release(rel->rd_rel->relam, true);
	skx_disk_format_of(release, most, format);
}

/*
 * Takes the locks for the begin of an operation, and returns a draft.  Sets
 * *format to that of its segment.  Returns NULL if it would have to wait for
 * longer than `wait` allows.
 */
static SkxDraft *
skx_manifest_begin_draft(Relation rel, uint32 kind, SkxManifestWait wait,
						 SkxDiskFormat *format)
{
	if (!skx_manifest_operation_lock(rel, kind, wait == SKX_WAIT_ALL))
		return NULL;
	skx_manifest_operation_format(rel, kind, format);
	if (skx_manifest_lock(rel, wait != SKX_WAIT_NEVER))
		return skx_manifest_draft(rel);
	skx_manifest_operation_unlock(rel, kind);
	return NULL;
}

/* Frees a draft of skx_manifest_begin_draft() and releases its locks. */
static void
skx_manifest_begin_abort(SkxDraft *draft, uint32 kind)
{
	Relation	rel = draft->rel;

	skx_manifest_draft_free(draft);
	skx_manifest_unlock(rel);
	skx_manifest_operation_unlock(rel, kind);
}

/*
 * Begins the operation: reserves nblocks blocks in runs of at least `least`.
 * `error` is as for skx_manifest_begin().
 */
static SkxOperation *
skx_manifest_begin_flip(SkxDraft *draft, uint32 kind, uint32 nblocks,
						uint32 least, SkxManifestWait wait,
						const SkxDiskFormat *format, int *error)
{
	Relation	rel = draft->rel;
	SkxOperation *op = skx_manifest_operation_add(draft, kind, wait, format);
	int			full;

	skx_manifest_free_reserve(draft, op->segment, nblocks, least);
	op->reserved_blocks = nblocks;
	draft->is_optional = error != NULL;
	full = skx_manifest_draft_flip(draft);
	if (full != 0)
	{
		*error = full;
		skx_manifest_begin_abort(draft, kind);
		return NULL;
	}
	skx_manifest_operation_fill(op, draft, draft->view);
	Assert(skx_manifest_operation_pages(op) >=
		   (uint64) nblocks * op->block_pages);
	skx_manifest_draft_free(draft);
	skx_manifest_unlock(rel);
	SKX_FAULT(SKX_FAULT_RESERVE_FLIPPED);
	return op;
}

SkxOperation *
skx_manifest_begin(Relation rel, uint32 kind, uint32 nblocks, bool run,
				   SkxManifestWait wait, int *error)
{
	SkxDiskFormat format;
	SkxDraft   *draft = skx_manifest_begin_draft(rel, kind, wait, &format);

	if (error != NULL)
		*error = 0;
	if (draft == NULL)
		return NULL;
	return skx_manifest_begin_flip(draft, kind, nblocks,
								   run ? nblocks :
								   skx_manifest_min_run(nblocks, wait),
								   wait, &format, error);
}

SkxOperation *
skx_manifest_begin_reusing(Relation rel, uint32 kind, uint32 least,
						   uint32 most, SkxManifestWait wait)
{
	SkxDiskFormat format;
	SkxDraft   *draft = skx_manifest_begin_draft(rel, kind, wait, &format);
	uint32		run = skx_manifest_min_run(least, wait);
	uint32		roots;
	uint32		nblocks;
	int			error;

	if (draft == NULL)
		return NULL;
	(void) skx_manifest_drop_orphans(draft, kind);
	/* blocks for the roots of this flip and of that at the end */
	roots = (2 * (draft->view->nroot + 1) + draft->block_pages - 1) /
		draft->block_pages;
	nblocks = skx_manifest_free_blocks(draft, run);
	ereport(DEBUG1,
			(errmsg_internal("index \"%s\" has %u free blocks in runs of %u, and needs %u beside %u for roots",
							 RelationGetRelationName(rel), nblocks, run,
							 least, roots)));
	nblocks = Min(most, nblocks - Min(nblocks, roots));
	if (nblocks >= least)
		return skx_manifest_begin_flip(draft, kind, nblocks, run, wait,
									   &format, &error);
	skx_manifest_begin_abort(draft, kind);
	return NULL;
}

static void
skx_manifest_reserve_more(SkxOperation *op, uint32 least)
{
	uint32		nblocks = Max(op->reserved_blocks / SKX_RESERVE_FRACTION,
							  SKX_RESERVE_PAGES / op->block_pages);
	SkxDraft   *draft;

	Assert(!op->is_published && (op->is_joined ||
								 skx_manifest_holds_operation(op->rel,
															  op->kind)));
	nblocks = Max(nblocks, least);
	skx_manifest_lock(op->rel, true);
	draft = skx_manifest_draft(op->rel);
	skx_manifest_free_reserve(draft, op->segment, nblocks, least);
	op->reserved_blocks += nblocks;
	skx_manifest_draft_flip(draft);
	skx_manifest_operation_fill(op, draft, draft->view);
	skx_manifest_draft_free(draft);
	skx_manifest_unlock(op->rel);
}

/* Cuts the blocks out of the shortest extent that has them. */
static bool
skx_manifest_allocate_pooled(SkxOperation *op, uint32 nblocks,
							 BlockNumber *block)
{
	uint32		npages = nblocks * op->block_pages;
	SkxDiskExtent *best = NULL;
	int			i;

	for (i = 0; i < op->nreserved_extents; i++)
	{
		SkxDiskExtent *extent = &op->reserved[i];

		if (extent->block % op->block_pages == 0 &&
			extent->npages >= npages &&
			(best == NULL || extent->npages < best->npages))
			best = extent;
	}
	if (best == NULL)
		return false;
	Assert(best->operation == 0 && best->safexid == 0);
	*block = best->block;
	best->block += npages;
	best->npages -= npages;
	if (best->npages == 0)
		*best = op->reserved[--op->nreserved_extents];
	return true;
}

BlockNumber
skx_manifest_allocate(SkxOperation *op, uint32 nblocks)
{
	BlockNumber block;

	Assert(nblocks > 0 && !op->is_published);
	if (!skx_manifest_allocate_pooled(op, nblocks, &block))
	{
		skx_manifest_reserve_more(op, nblocks);
		if (!skx_manifest_allocate_pooled(op, nblocks, &block))
			elog(ERROR, "no %u blocks in a row were reserved", nblocks);
	}
	Assert(block % op->block_pages == 0);
	Assert(skx_manifest_operation_is_disjoint(op, block,
											  nblocks * op->block_pages));
	return block;
}

void
skx_manifest_give_back(SkxOperation *op, BlockNumber block, uint32 npages)
{
	SkxDiskExtent *extent;

	Assert(skx_manifest_operation_is_disjoint(op, block, npages));
	if (op->nreserved_extents == op->reserved_size)
	{
		op->reserved_size *= 2;
		op->reserved = repalloc(op->reserved,
								op->reserved_size * sizeof(SkxDiskExtent));
	}
	extent = &op->reserved[op->nreserved_extents++];
	memset(extent, 0, sizeof(*extent));
	extent->block = block;
	extent->npages = npages;
}

void
skx_manifest_end(SkxOperation *op)
{
	if (!op->is_published && skx_manifest_lock(op->rel, op->waits_for_lock))
	{
		SkxDraft   *draft = skx_manifest_draft(op->rel);

		skx_manifest_draft_drop(draft, op->segment);
		draft->is_optional = true;
		(void) skx_manifest_draft_flip(draft);
		skx_manifest_draft_free(draft);
		skx_manifest_unlock(op->rel);
	}
	skx_manifest_operation_unlock(op->rel, op->kind);
	pfree(op->reserved);
	pfree(op);
}

int
skx_manifest_share_extents(SkxOperation *op, uint64 npages,
						   SkxDiskExtent *extents, int most)
{
	int			n = 0;
	int			i;

	/* an extent may be left without pages, which does no harm */
	for (i = 0; i < op->nreserved_extents && n < most &&
		 npages >= op->block_pages; i++)
	{
		SkxDiskExtent *extent = &op->reserved[i];
		uint32		part = (uint32) Min(extent->npages, npages);

		part -= part % op->block_pages;
		if (part == 0 || extent->block % op->block_pages != 0)
			continue;
		extents[n] = *extent;
		extents[n].npages = part;
		extent->block += part;
		extent->npages -= part;
		npages -= part;
		n++;
	}
	return n;
}

SkxOperation *
skx_manifest_join(Relation rel, const SkxOperation *first,
				  const SkxDiskExtent *extents, int n)
{
	SkxOperation *op;
	LOCKTAG		tag;
	int			i;

	skx_manifest_operation_tag(&tag, rel, SKX_OPERATION_JOINED(first->kind));
	if (LockAcquire(&tag, ShareLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return NULL;
	op = palloc(sizeof(SkxOperation));
	*op = *first;
	op->rel = rel;
	op->waits_for_lock = true;
	op->is_joined = true;
	op->reserved_blocks = 0;
	op->reserved_size = n + 16;
	op->reserved = palloc(op->reserved_size * sizeof(SkxDiskExtent));
	op->nreserved_extents = n;
	for (i = 0; i < n; i++)
	{
		op->reserved[i] = extents[i];
		op->reserved_blocks += extents[i].npages / op->block_pages;
	}
	return op;
}

void
skx_manifest_leave_operation(SkxOperation *op)
{
	LOCKTAG		tag;

	Assert(op->is_joined);
	skx_manifest_operation_tag(&tag, op->rel,
							   SKX_OPERATION_JOINED(op->kind));
	LockRelease(&tag, ShareLock, false);
	pfree(op->reserved);
	pfree(op);
}

/* Returns true if the pool has too few pages, and a flip can add many. */
static bool
skx_manifest_pool_low(const SkxDraft *draft)
{
	const SkxDiskMeta *meta = &draft->view->meta;
	uint64		pooled = 0;
	int			i;

	for (i = 0; i < meta->npool; i++)
		pooled += meta->pool[i].npages;
	return pooled < draft->pool_target / 2 &&
		skx_manifest_free_for_pool(draft) >= draft->pool_target / 2;
}

/* Returns true if the pool has far too many pages, as after a load. */
static bool
skx_manifest_pool_high(const SkxDraft *draft)
{
	const SkxDiskMeta *meta = &draft->view->meta;
	uint64		pooled = 0;
	int			i;

	for (i = 0; i < meta->npool; i++)
		pooled += meta->pool[i].npages;
	return pooled > 2 * (uint64) draft->pool_target;
}

/*
 * Does the work of skx_manifest_free_orphaned() under the lock on the
 * metapage, and under those of the kinds of operations that `locked` tells.
 */
static bool
skx_manifest_free_orphaned_locked(Relation rel, const bool *locked)
{
	SkxDraft   *draft = skx_manifest_draft(rel);
	bool		any = false;
	uint32		kind;

	Assert(skx_manifest_holds_lock(rel, ExclusiveLock));
	for (kind = SKX_OPERATION_FLUSH; kind <= SKX_OPERATION_MERGE; kind++)
	{
		if (locked[kind] && skx_manifest_drop_orphans(draft, kind))
			any = true;
	}
	draft->empties_pool = skx_manifest_pool_high(draft);
	if (any || draft->empties_pool || skx_manifest_pool_low(draft))
	{
		draft->is_optional = true;
		any = skx_manifest_draft_flip(draft) == 0;
		if (any)
			SKX_FAULT(SKX_FAULT_TIDY_DONE);
	}
	skx_manifest_draft_free(draft);
	return any;
}

/*
 * The operations' locks come first: while a process holds a page lock, it may
 * wait for no other lock but the relation extension lock.
 */
bool
skx_manifest_free_orphaned(Relation rel, bool wait)
{
	bool		locked[SKX_OPERATION_MERGE + 1];
	bool		any = false;
	uint32		kind;

	for (kind = SKX_OPERATION_FLUSH; kind <= SKX_OPERATION_MERGE; kind++)
		locked[kind] = skx_manifest_operation_lock(rel, kind, false);
	if (skx_manifest_lock(rel, wait))
	{
		any = skx_manifest_free_orphaned_locked(rel, locked);
		skx_manifest_unlock(rel);
	}
	for (kind = SKX_OPERATION_FLUSH; kind <= SKX_OPERATION_MERGE; kind++)
	{
		if (locked[kind])
			skx_manifest_operation_unlock(rel, kind);
	}
	return any;
}

bool
skx_manifest_refill_pool(Relation rel, uint32 least)
{
	SkxDraft   *draft;
	bool		done = false;

	/* in parallel mode the lock does not exclude processes of the group */
	if (IsInParallelMode() || !skx_manifest_lock(rel, false))
		return false;
	draft = skx_manifest_draft(rel);
	draft->pool_least = least;
	draft->is_optional = true;
	if (skx_manifest_free_for_pool(draft) > 0 &&
		skx_manifest_free_reusable(draft, 1) > draft->view->nroot + 1 +
		skx_manifest_free_reserve_pages(draft->view))
		done = skx_manifest_draft_flip(draft) == 0;
	else if ((draft->grow_pages = skx_manifest_free_shortage(draft)) > 0)
		(void) skx_manifest_draft_flip(draft);
	skx_manifest_draft_free(draft);
	skx_manifest_unlock(rel);
	return done;
}
