/*
 * blkio_load.c
 *	  Fills frames with verified pages.  It copies the resident ones from
 *	  shared buffers first, and reads the others from the file
 *	  (blkio_resident.c).
 *
 * While a read is under way the kernel writes into the memory of the frames,
 * so they must stay pinned even if the query ends.  Therefore an owner that
 * ends waits for the reads of its loads.  By then the memory of the scan may
 * be freed, so code that drops a load must not use its file.
 */
#include "postgres.h"

#include "executor/instrument.h"
#include "pgstat.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Most loads that exist at a time: those read ahead, and one for a pin. */
#define SKX_BLK_LOADS_MAX		(SKX_BLK_MAX_AHEAD + 8)

int			skx_blkio_loads_ahead = 0;

static SkxBlkLoad *skx_blkio_loads[SKX_BLK_LOADS_MAX];
static int	skx_blkio_nloads = 0;	/* allocated, used or free */
static int	skx_blkio_loads_used = 0;
static uint32 skx_blkio_load_clock = 0; /* loads finished so far */
static uint32 skx_blkio_load_round = 0; /* round of new reads */

static SkxBlkLoad *
skx_blkio_load_free_slot(void)
{
	int			i;

	for (i = 0; i < skx_blkio_nloads; i++)
	{
		if (!skx_blkio_loads[i]->is_used)
			return skx_blkio_loads[i];
	}
	if (skx_blkio_nloads == SKX_BLK_LOADS_MAX)
		elog(ERROR, "too many reads of skipidx are under way");
	skx_blkio_loads[i] = MemoryContextAllocZero(TopMemoryContext,
												sizeof(SkxBlkLoad));
	skx_blkio_nloads++;
	return skx_blkio_loads[i];
}

SkxBlkLoad *
skx_blkio_load_new(SkxBlkFile *file, const SkxBlkPlane *plane, bool ahead)
{
	SkxBlkLoad *load = skx_blkio_load_free_slot();

	load->is_used = true;
	skx_blkio_loads_used++;
	load->is_prefetch = ahead;
	skx_blkio_loads_ahead += ahead;
	load->is_started = false;
	load->is_complete = false;
	load->has_permit = false;
	load->transfers_in_flight = 0;
	load->wanted_clock = skx_blkio_load_clock;
	load->owner = CurrentResourceOwner;
	load->file = file;
	skx_blkio_key(file, plane, 0, &load->key);
	load->group.plane = plane;
	load->group.nframes = 0;
	load->npages = 0;
	load->ntransfers = 0;
	return load;
}

void
skx_blkio_load_add(SkxBlkLoad *load, int32 slot, uint32 first)
{
	SkxBlkGroup *group = &load->group;

	Assert(group->nframes < SKX_BLK_GROUP_FRAMES);
	Assert(group->nframes == 0 || group->firsts[group->nframes - 1] < first);
	group->slots[group->nframes] = slot;
	group->firsts[group->nframes] = first;
	group->nframes++;
	skx_blkio_pins_ahead += load->is_prefetch;
}

/* Lists the pages of the group, with their blocks and their memory. */
static void
skx_blkio_load_plan(SkxBlkLoad *load)
{
	const SkxBlkGroup *group = &load->group;
	const SkxBlkPlane *plane = group->plane;
	uint32		frame_pages = skx_blkio_frame_pages(skx_blkio_class(plane));

	load->npages = 0;
	for (int i = 0; i < group->nframes; i++)
	{
		uint32		first = group->firsts[i];
		uint32		n = Min(frame_pages, plane->npages - first);
		BlockNumber block = skx_blkio_block(load->file->rel, plane, first);
		char	   *memory = skx_blkio_pins_slot(group->slots[i])->memory;

		for (uint32 k = 0; k < n; k++)
		{
			load->ordinals[load->npages] = first + k;
			load->blocks[load->npages] = block + k;
			load->pages[load->npages] = memory + (Size) k * BLCKSZ;
			load->npages++;
		}
	}
}

/* Gives back the token of a load of which no transfer is under way. */
static void
skx_blkio_load_release_permit(SkxBlkLoad *load)
{
	if (load->has_permit)
		skx_blkio_depth_release(1);
	load->has_permit = false;
}

/* Takes note that a transfer of a load has ended in the ring. */
static void
skx_blkio_load_transfer_ended(SkxBlkTransfer *transfer)
{
	if (--transfer->load->transfers_in_flight == 0)
		skx_blkio_load_release_permit(transfer->load);
}

/*
 * Makes the transfers: one for each run of adjacent blocks in one segment
 * file.
 */
static void
skx_blkio_load_make_transfers(SkxBlkLoad *load)
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
			transfer->load = load;
			transfer->in_ring_result = skx_blkio_load_transfer_ended;
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
	char	   *path = skx_compat_relation_path(SKX_REL_LOCATOR(rel));
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
				 transfer->error == EMFILE || transfer->error == ENFILE ?
				 errhint("Raise the operating system's limit of open files, or reduce max_files_per_process.") : 0,
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

/* Counts the requests of a load that is about to start. */
static void
skx_blkio_load_count(SkxBlkLoad *load)
{
	SkxBlkFile *file = load->file;
	SkxBlkCounters *count = skx_blkio_count(file);

	load->round = skx_blkio_load_round;
	count->batches += !load->is_prefetch;
	for (int i = 0; i < load->ntransfers; i++)
	{
		int			npages = load->transfers[i].npages;

		count->requests++;
		count->depth_sum += skx_blkio_ring_depth() + i + 1;
		count->pages_read += npages;
		pgBufferUsage.shared_blks_read += npages;
		for (int k = 0; k < npages; k++)
			pgstat_count_buffer_read(file->rel);
		if (VacuumCostActive)
			VacuumCostBalance += VacuumCostPageMiss * npages;
	}
}

/*
 * Waits for the reads of a load.  A signal may end a wait early; with
 * `interrupts` it is served.
 */
static void
skx_blkio_load_wait(SkxBlkLoad *load, bool interrupts)
{
	while (load->transfers_in_flight > 0)
	{
		if (interrupts)
			CHECK_FOR_INTERRUPTS();
		(void) skx_blkio_ring_reap(true);
	}
}

/*
 * Returns true if preadv may succeed after this error.  All errors but the
 * first two are what io_uring reports if it lacks memory or threads, or cannot
 * do this read at all.
 */
static bool
skx_blkio_load_may_retry(int error)
{
	return error == 0 || error == EINTR || error == EAGAIN ||
		error == ENOMEM || error == ECANCELED || error == EINVAL ||
		error == EOPNOTSUPP;
}

/*
 * Reads with preadv what io_uring did not read, for lack of resources or of
 * support.  If that fails too, raises the error.
 */
static void
skx_blkio_load_complete_reads(SkxBlkLoad *load)
{
	for (int i = 0; i < load->ntransfers; i++)
	{
		SkxBlkTransfer *transfer = &load->transfers[i];
		size_t		want = (size_t) transfer->npages * BLCKSZ;

		if (transfer->done != want &&
			skx_blkio_load_may_retry(transfer->error))
			skx_blkio_pread(load->file, transfer, 1);
		if (transfer->done != want)
			skx_blkio_load_failed(load->file->rel, transfer);
	}
}

static void
skx_blkio_load_count_time(SkxBlkLoad *load, void (*what) (SkxBlkLoad *load))
{
	instr_time	start;
	instr_time	now;

	if (track_io_timing)
		INSTR_TIME_SET_CURRENT(start);
	what(load);
	if (track_io_timing)
	{
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, start);
		pgstat_count_buffer_read_time(INSTR_TIME_GET_MICROSEC(now));
		INSTR_TIME_ADD(SKX_COMPAT_READ_TIME, now);
	}
}

/*
 * Begins the reads of a load.  A single read that is wanted at once gains
 * nothing by the ring.
 */
static void
skx_blkio_load_begin(SkxBlkLoad *load)
{
	const SkxBlkMethod *method = load->file->method;

	if (method->start == NULL || (!load->is_prefetch && load->ntransfers == 1))
		method->read(load->file, load->transfers, load->ntransfers);
	else
	{
		method->start(load->file, load->transfers, load->ntransfers);
		if (!load->is_prefetch)
			skx_blkio_ring_submit();
	}
	if (load->transfers_in_flight == 0)
		skx_blkio_load_release_permit(load);
}

/*
 * Waits for the load's turn among all backends.  A backend that has reads
 * under way does not wait: others may be waiting for the tokens of these
 * reads.
 */
static void
skx_blkio_load_wait_turn(SkxBlkLoad *load)
{
	load->has_permit = skx_blkio_depth_acquire(1, false) > 0;
	if (!load->has_permit && skx_blkio_ring_depth() == 0)
	{
		skx_blkio_count(load->file)->queue_waits++;
		load->has_permit = skx_blkio_depth_acquire(1, true) > 0;
	}
}

static void
skx_blkio_load_end(SkxBlkLoad *load)
{
	skx_blkio_load_wait(load, true);
	skx_blkio_load_complete_reads(load);
}

/*
 * Verifies one page.  A dirty buffer has a stale checksum, so the checksum
 * counts only for pages from the file.  The `verify` function is called for
 * both.
 */
static bool
skx_blkio_load_verify_page(SkxBlkLoad *load, int i, bool report)
{
	Relation	rel = load->file->rel;
	BlockNumber block = load->blocks[i];
	bool		sound = true;
	SkxBlkKey	key;

	if (!load->resident[i])
		sound = skx_compat_page_is_verified(load->pages[i], block,
											SKX_REL_LOCATOR(rel));
	skx_blkio_key(load->file, load->group.plane, load->ordinals[i], &key);
	if (!load->file->verify(rel, &key, block, load->pages[i], report))
		return false;
	if (!sound && report)
	{
		char	   *path = skx_compat_relation_path(SKX_REL_LOCATOR(rel));

		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid page in block %u of relation %s", block,
						path),
				 errcontext("skipidx index \"%s\"",
							RelationGetRelationName(rel))));
	}
	return sound;
}

/*
 * Reads a page that is not sound again, through the server.  If it is sound
 * then, the file cannot be read past the server; else the error tells what is
 * wrong.
 */
static void
skx_blkio_load_serve_page(SkxBlkLoad *load, int i)
{
	Relation	rel = load->file->rel;
	BlockNumber block = load->blocks[i];

	load->resident[i] = skx_blkio_served_copy(rel, block, load->pages[i]);
	(void) skx_blkio_load_verify_page(load, i, true);
	skx_blkio_path_refuse(rel, load->file->incarnation, block);
}

void
skx_blkio_load_start(SkxBlkLoad *load)
{
	SkxBlkFile *file = load->file;

	skx_blkio_load_plan(load);
	for (int i = 0; i < load->npages; i++)
	{
		load->resident[i] = skx_blkio_resident_copy(file->rel,
													load->blocks[i],
													load->pages[i]);
		skx_blkio_count(file)->resident_pages += load->resident[i];
	}
	skx_blkio_load_make_transfers(load);
	if (load->ntransfers > 0)
	{
		if (!load->is_prefetch)
			skx_blkio_load_wait_turn(load);
		skx_blkio_load_count(load);
		skx_blkio_load_count_time(load, skx_blkio_load_begin);
	}
	else
		skx_blkio_load_release_permit(load);
	load->is_started = true;
}

/*
 * Ends the round of a load that is wanted.  What is requested after that may
 * depend on the pages of this load, so it belongs to the next round.  Whether
 * the reads have ended already makes no difference, so that the number of
 * rounds does not depend on the device.
 */
static void
skx_blkio_load_end_round(SkxBlkLoad *load)
{
	if (load->ntransfers == 0 || load->round != skx_blkio_load_round)
		return;
	skx_blkio_load_round++;
	skx_blkio_count(load->file)->rounds++;
}

/*
 * Starts a load ahead of pins again, whose start was ended by an error,
 * perhaps in another scan.
 */
static void
skx_blkio_load_restart(SkxBlkLoad *load)
{
	skx_blkio_load_wait(load, false);
	skx_blkio_load_release_permit(load);
	skx_blkio_load_start(load);
}

void
skx_blkio_load_finish(SkxBlkLoad *load)
{
	SkxBlkFile *file = load->file;
	SkxBlkGroup *group = &load->group;

	if (!load->is_started)
		skx_blkio_load_restart(load);
	skx_blkio_load_end_round(load);
	if (load->transfers_in_flight > 0)
	{
		(void) skx_blkio_ring_reap(false);
		skx_blkio_count(file)->waits += load->transfers_in_flight > 0;
	}
	skx_blkio_load_count_time(load, skx_blkio_load_end);
	for (int i = 0; i < load->npages; i++)
	{
		if (!skx_blkio_load_verify_page(load, i, load->resident[i]))
			skx_blkio_load_serve_page(load, i);
	}
	skx_blkio_count(file)->loads += group->nframes;
	for (int i = 0; i < group->nframes; i++)
		skx_blkio_pins_loaded(group->slots[i]);
	load->is_complete = true;
	load->wanted_clock = ++skx_blkio_load_clock;
	if (!load->is_prefetch)
	{
		load->is_used = false;
		skx_blkio_loads_used--;
	}
}

/* Returns true if all pages of a load have been read and are sound. */
static bool
skx_blkio_load_is_verified(SkxBlkLoad *load)
{
	for (int i = 0; i < load->ntransfers; i++)
	{
		const SkxBlkTransfer *transfer = &load->transfers[i];

		if (transfer->done != (size_t) transfer->npages * BLCKSZ)
			return false;
	}
	for (int i = 0; i < load->npages; i++)
	{
		if (!skx_blkio_load_verify_page(load, i, false))
			return false;
	}
	return true;
}

/*
 * Leaves the pages of a load that is about to be dropped in the cache, if they
 * are sound.  Otherwise a query that requests them in vain would read them
 * again each time.  Damage is not reported.
 */
static void
skx_blkio_load_keep_pages(SkxBlkLoad *load)
{
	if (!load->is_prefetch || !load->is_started || load->is_complete ||
		load->file->read_once)
		return;
	skx_blkio_load_wait(load, false);
	if (!skx_blkio_load_is_verified(load))
		return;
	for (int i = 0; i < load->group.nframes; i++)
		skx_blkio_pins_loaded(load->group.slots[i]);
	load->is_complete = true;
}

void
skx_blkio_load_drop(SkxBlkLoad *load)
{
	skx_blkio_load_wait(load, false);
	skx_blkio_load_release_permit(load);
	if (load->is_prefetch)
	{
		for (int i = 0; i < load->group.nframes; i++)
		{
			if (load->group.slots[i] < 0)
				continue;
			skx_blkio_pins_drop(load->group.slots[i]);
			skx_blkio_pins_ahead--;
		}
		skx_blkio_loads_ahead--;
	}
	load->is_used = false;
	skx_blkio_loads_used--;
}

SkxBlkLoad *
skx_blkio_load_find(const SkxBlkKey *key, bool private, int *which)
{
	for (int i = 0; i < skx_blkio_nloads; i++)
	{
		SkxBlkLoad *load = skx_blkio_loads[i];

		if (!load->is_used || !load->is_prefetch ||
			load->key.segment != key->segment ||
			load->key.plane != key->plane ||
			load->key.incarnation != key->incarnation ||
			load->key.salt != key->salt)
			continue;
		for (int k = 0; k < load->group.nframes; k++)
		{
			int32		slot = load->group.slots[k];

			if (load->group.firsts[k] == key->ordinal && slot >= 0 &&
				private == (skx_blkio_pins_slot(slot)->kind ==
							SKX_BLK_PIN_PRIVATE))
			{
				*which = k;
				return load;
			}
		}
	}
	return NULL;
}

void
skx_blkio_loads_drop_stale(uint32 patience)
{
	for (int i = 0; i < skx_blkio_nloads; i++)
	{
		SkxBlkLoad *load = skx_blkio_loads[i];

		if (load->is_used && load->is_prefetch &&
			load->transfers_in_flight == 0 &&
			skx_blkio_load_clock - load->wanted_clock > patience)
		{
			skx_blkio_load_keep_pages(load);
			skx_blkio_load_drop(load);
		}
	}
}

void
skx_blkio_loads_end(ResourceOwner owner, SkxBlkFile *file)
{
	for (int i = 0; skx_blkio_loads_used > 0 && i < skx_blkio_nloads; i++)
	{
		SkxBlkLoad *load = skx_blkio_loads[i];

		if (load->is_used &&
			(owner == NULL || load->owner == owner) &&
			(file == NULL || (load->file == file && load->is_prefetch)))
		{
			/* without `file`, the load's file may be freed already */
			if (file != NULL)
				skx_blkio_load_keep_pages(load);
			skx_blkio_load_drop(load);
		}
	}
}
