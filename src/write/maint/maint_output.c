/*
 * maint_output.c
 *	  The segment that a flush or a merge makes.
 *
 * Its pages go to extents that the operation has reserved, past shared
 * buffers, and no reader sees them before they are published.  Documents that
 * VACUUM marks as deleted in the inputs meanwhile get their bits before that.
 * This happens under the lock that keeps VACUUM out, so that none is missed.
 */
#include "postgres.h"

#include "index/segment/segment_maint.h"
#include "storage/lmgr.h"
#include "support/bitset/bitset.h"
#include "support/throttle/throttle.h"
#include "support/worker/worker.h"
#include "write/maint/maint_internal.h"

static BlockNumber
skx_maint_output_allocate(void *arg, uint32 nblocks)
{
	return skx_manifest_allocate(((SkxMaintOutput *) arg)->op, nblocks);
}

static void
skx_maint_output_give_back(void *arg, BlockNumber block, uint32 npages)
{
	skx_manifest_give_back(((SkxMaintOutput *) arg)->op, block, npages);
}

/*
 * Writes pages.  They are charged to VACUUM's cost, as writes to shared
 * buffers are.
 */
static void
skx_maint_output_write(void *arg, BlockNumber block, char **pages, int npages)
{
	SkxMaintOutput *out = arg;
	int			i;

	Assert(npages > 0 && !out->op->is_published);
	for (i = 0; i < npages; i++)
		skx_blkio_writer_put(out->writer, block + i, pages[i]);
	out->nwritten += npages;
	skx_worker_record_written(npages);
	skx_throttle_count_pages(npages);
}

static void
skx_maint_output_sync(void *arg)
{
	skx_blkio_writer_flush(((SkxMaintOutput *) arg)->writer);
}

static void
skx_maint_output_progress(int phase, uint64 done, uint64 total)
{
	skx_worker_record_progress(phase == SKX_BUILD_INVERT ?
							   SKX_PHASE_DOCUMENTS :
							   SKX_PHASE_TERMS, done, total);
}

uint32
skx_maint_blocks(uint64 nbytes, uint32 block_size)
{
	Assert(block_size >= BLCKSZ && block_size % BLCKSZ == 0);

	/*
	 * planes have a page or two however few documents there are, not all in
	 * whole blocks
	 */
	nbytes += 16 * BLCKSZ;
	if (nbytes > block_size)
		nbytes += 2 * block_size;
	nbytes = (nbytes + block_size - 1) / block_size;

	/* skx_manifest_begin() refuses more blocks than a file can have */
	return (uint32) Min(nbytes, MaxBlockNumber);
}

void
skx_maint_output_begin(SkxMaintOutput *out, SkxOperation *op,
					   const SkxMaintOptions *options, uint64 bytes)
{
	Assert(op->segment != 0 && !op->is_published);
	Assert(!skx_manifest_holds_lock(op->rel, AccessShareLock));
	memset(out, 0, sizeof(*out));
	out->op = op;
	out->writer = skx_blkio_writer_begin(op->rel, op->incarnation, bytes);
	out->store.allocate = skx_maint_output_allocate;
	out->store.give_back = skx_maint_output_give_back;
	out->store.write = skx_maint_output_write;
	out->store.sync = skx_maint_output_sync;
	out->store.arg = out;
	out->build.format = op->format;
	out->build.incarnation = op->incarnation;
	out->build.segment = op->segment;
	out->build.salt = op->salt;
	out->build.block_size = op->block_pages * BLCKSZ;
	out->build.memory = options->memory;
	skx_column_key_columns(op->rel, &out->build.keys);
	out->build.k1 = options->k1;
	out->build.b = options->b;
	out->build.store = &out->store;
	out->build.prefixes_of = options->prefix_lists ? op->rel : NULL;
	out->build.progress = skx_maint_output_progress;
}

void
skx_maint_output_end(SkxMaintOutput *out)
{
	Assert(out->writer != NULL);
	skx_blkio_writer_end(out->writer);
	out->writer = NULL;
}

void
skx_maint_deletes_add(SkxMaintDeletes *marks, uint32 doc)
{
	uint32		page = doc / SKX_DELETES_PER_PAGE;
	uint32		bit = doc % SKX_DELETES_PER_PAGE;

	if (page >= marks->npages)
	{
		uint32		n = page + 1;

		if (marks->pages == NULL)
			marks->pages = palloc0(n * sizeof(uint8 *));
		else
		{
			marks->pages = repalloc(marks->pages, n * sizeof(uint8 *));
			memset(marks->pages + marks->npages, 0,
				   (n - marks->npages) * sizeof(uint8 *));
		}
		marks->npages = n;
	}
	Assert(page < marks->npages);
	if (marks->pages[page] == NULL)
		marks->pages[page] = palloc0(SKX_DELETES_BYTES);
	skx_bitset_bytes_set(marks->pages[page], bit);
}

void
skx_maint_deletes_set(const SkxMaintDeletes *marks, const SkxOperation *op,
					  const SkxDiskSegmentRef *ref)
{
	SkxBlkFile *file;
	SkxSegment *seg;
	uint32		i;

	Assert(skx_manifest_holds_lock(op->rel, ExclusiveLock));
	if (marks->npages == 0)
		return;
	Assert((uint64) (marks->npages - 1) * SKX_DELETES_PER_PAGE < ref->ndocs);
	file = skx_segment_file(op->rel, op->incarnation);
	seg = skx_segment_open_ref(file, op->rel, op->incarnation,
							   op->block_pages * BLCKSZ, ref);
	for (i = 0; i < marks->npages; i++)
	{
		if (marks->pages[i] != NULL)
			skx_segment_add_deletes(seg, i, marks->pages[i]);
	}
	skx_segment_close(seg);
	skx_blkio_close(file);
}

SkxView *
skx_maint_view(Relation index, SkxManifestWait wait)
{
	SkxView    *view;

	if (wait == SKX_WAIT_NEVER)
		return skx_manifest_view(index);
	Assert(!skx_manifest_holds_lock(index, AccessShareLock));
	LockPage(index, SKX_META_BLOCK, ShareLock);
	view = skx_manifest_view_unlisted(index);
	UnlockPage(index, SKX_META_BLOCK, ShareLock);
	return view;
}
