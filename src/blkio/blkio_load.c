/*
 * blkio_load.c
 *	  Fills frames with verified pages: the residency protocol.
 *
 * Segments are written and read outside shared buffers, but replay of WAL,
 * CREATE DATABASE and tools put their pages there all the same, and what is
 * there may be newer than the file.  So each page is first looked up in the
 * server's buffer mapping table; a resident one is copied from its buffer,
 * and only then are the others read from the file.  The order matters: read
 * first, and a page that was dirty then and evicted before the look-up would
 * be missed both times.
 */
#include "postgres.h"

#include "blkio/blkio_cache.h"
#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/bufmgr.h"

/* One load: the pages of a group in ascending order, and their transfers. */
typedef struct SkxBlkLoad
{
	SkxBlkFile *file;
	const SkxBlkGroup *group;
	int			npages;
	bool		resident[SKX_BLK_GROUP_PAGES];
	uint32		ordinals[SKX_BLK_GROUP_PAGES];
	BlockNumber blocks[SKX_BLK_GROUP_PAGES];
	char	   *pages[SKX_BLK_GROUP_PAGES];
	int			ntransfers;
	SkxBlkTransfer transfers[SKX_BLK_GROUP_PAGES];
	struct iovec iov[SKX_BLK_GROUP_PAGES];
} SkxBlkLoad;

/* Lists the pages of the group: where they lie and where they go. */
static void
skx_blkio_load_plan(SkxBlkLoad *load)
{
	const SkxBlkGroup *group = load->group;
	const SkxBlkPlane *plane = group->plane;
	uint32		frame_pages = skx_blkio_frame_pages(skx_blkio_class(plane));

	load->npages = 0;
	for (int i = 0; i < group->nframes; i++)
	{
		uint32		first = group->firsts[i];
		uint32		n = Min(frame_pages, plane->npages - first);
		BlockNumber block = skx_blkio_block(load->file->rel, plane, first);
		char	   *memory = skx_blkio_pins_at(group->slots[i])->memory;

		for (uint32 k = 0; k < n; k++)
		{
			load->ordinals[load->npages] = first + k;
			load->blocks[load->npages] = block + k;
			load->pages[load->npages] = memory + (Size) k * BLCKSZ;
			load->npages++;
		}
	}
}

bool
skx_blkio_resident(Relation rel, BlockNumber block)
{
	BufferTag	tag;
	uint32		hash;
	LWLock	   *lock;
	int			id;

	skx_compat_buffer_tag(&tag, SKX_REL_LOCATOR(rel), block);
	hash = BufTableHashCode(&tag);
	lock = BufMappingPartitionLock(hash);
	LWLockAcquire(lock, LW_SHARED);
	id = BufTableLookup(&tag, hash);
	LWLockRelease(lock);
	return id >= 0;
}

/* Copies a page from shared buffers if it is there. */
static bool
skx_blkio_load_resident(Relation rel, BlockNumber block, char *page)
{
	Buffer		buffer;

	if (!skx_blkio_resident(rel, block))
		return false;

	/*
	 * If it is evicted here, the buffer manager reads it again: as good as
	 * reading it ourselves.
	 */
	buffer = ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, NULL);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	memcpy(page, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	return true;
}

/* Makes transfers of neighbouring pages within one segment file. */
static void
skx_blkio_load_join(SkxBlkLoad *load)
{
	SkxBlkTransfer *transfer = NULL;
	int			niov = 0;

	load->ntransfers = 0;
	for (int i = 0; i < load->npages; i++)
	{
		BlockNumber block = load->blocks[i];
		struct iovec *last;

		if (load->resident[i])
			continue;
		if (transfer == NULL ||
			block != transfer->block + transfer->npages ||
			block % RELSEG_SIZE == 0)
		{
			transfer = &load->transfers[load->ntransfers++];
			memset(transfer, 0, sizeof(*transfer));
			transfer->block = block;
			transfer->iov = &load->iov[niov];
		}
		transfer->npages++;
		last = transfer->niov > 0 ? &transfer->iov[transfer->niov - 1] : NULL;
		if (last != NULL &&
			(char *) last->iov_base + last->iov_len == load->pages[i])
			last->iov_len += BLCKSZ;
		else
		{
			load->iov[niov].iov_base = load->pages[i];
			load->iov[niov].iov_len = BLCKSZ;
			transfer->niov++;
			niov++;
		}
	}
}

static void
skx_blkio_load_failed(Relation rel, const SkxBlkTransfer *transfer)
{
	char	   *path = skx_compat_path(SKX_REL_LOCATOR(rel));
	BlockNumber segment = transfer->block / RELSEG_SIZE;
	BlockNumber block = transfer->block + transfer->done / BLCKSZ;

	if (segment > 0)
		path = psprintf("%s.%u", path, segment);
	if (transfer->error != 0)
	{
		errno = transfer->error;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read block %u in file \"%s\": %m",
						block, path),
				 errcontext("skipidx index \"%s\"",
							RelationGetRelationName(rel))));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("could not read block %u in file \"%s\": read only %zu of %zu bytes",
					block, path, transfer->done,
					(size_t) transfer->npages * BLCKSZ),
			 errcontext("skipidx index \"%s\"",
						RelationGetRelationName(rel))));
}

static void
skx_blkio_load_read(SkxBlkLoad *load)
{
	SkxBlkFile *file = load->file;
	instr_time	start;
	instr_time	now;

	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	file->method->submit(file, load->transfers, load->ntransfers);
	file->method->complete(file, load->transfers, load->ntransfers);
	if (track_io_timing)
	{
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
		pgstat_count_buffer_read_time(INSTR_TIME_GET_MICROSEC(now));
		INSTR_TIME_ADD(SKX_COMPAT_READ_TIME, now);
	}
	for (int i = 0; i < load->ntransfers; i++)
	{
		SkxBlkTransfer *transfer = &load->transfers[i];

		skx_blkio_mine.requests++;
		skx_blkio_mine.pages_read += transfer->npages;
		pgBufferUsage.shared_blks_read += transfer->npages;
		for (int k = 0; k < transfer->npages; k++)
			pgstat_count_buffer_read(file->rel);
		if (VacuumCostActive)
			VacuumCostBalance += VacuumCostPageMiss * transfer->npages;
		if (transfer->done != (size_t) transfer->npages * BLCKSZ)
			skx_blkio_load_failed(file->rel, transfer);
	}
}

/*
 * Checks one page.  A buffer's checksum is stale while it is dirty, so only a
 * page from the file is held against its own; the identity of both is.
 */
static void
skx_blkio_load_verify(SkxBlkLoad *load, int i)
{
	Relation	rel = load->file->rel;
	BlockNumber block = load->blocks[i];
	bool		sound = true;
	SkxBlkKey	key;

	if (!load->resident[i])
		sound = skx_compat_page_verified(load->pages[i], block,
										 SKX_REL_LOCATOR(rel));
	skx_blkio_key(load->file, load->group->plane, load->ordinals[i], &key);
	load->file->verify(rel, &key, block, load->pages[i]);
	if (!sound)
	{
		char	   *path = skx_compat_path(SKX_REL_LOCATOR(rel));

		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid page in block %u of relation %s", block,
						path),
				 errcontext("skipidx index \"%s\"",
							RelationGetRelationName(rel))));
	}
}

void
skx_blkio_load(SkxBlkFile *file, const SkxBlkGroup *group)
{
	SkxBlkLoad	load;

	CHECK_FOR_INTERRUPTS();
	load.file = file;
	load.group = group;
	skx_blkio_load_plan(&load);
	for (int i = 0; i < load.npages; i++)
	{
		load.resident[i] = skx_blkio_load_resident(file->rel, load.blocks[i],
												   load.pages[i]);
		skx_blkio_mine.resident += load.resident[i];
	}
	skx_blkio_load_join(&load);
	if (load.ntransfers > 0)
		skx_blkio_load_read(&load);
	for (int i = 0; i < load.npages; i++)
		skx_blkio_load_verify(&load, i);
	for (int i = 0; i < group->nframes; i++)
		skx_blkio_pins_loaded(group->slots[i]);
	skx_blkio_mine.loads += group->nframes;
}
