/*
 * blkio_repair.c
 *	  Repairs pages after a failed write, so that none stays torn in the file.
 *
 * Nothing refers to the pages that were to be written, but tools that copy or
 * verify the server's files read all pages.  They refuse a page whose checksum
 * is wrong.  So each page that may have been written in part is read.  If it
 * is neither the new page nor sound, it is written again, alone, in the same
 * way.  If that fails too, the buffer manager gets it as a dirty page, which
 * it writes later like any other.
 *
 * A page of a new index does not go there.  Its file may have no space for it,
 * and CREATE INDEX CONCURRENTLY leaves the file: then every checkpoint would
 * fail.  It becomes a page of zeros, as it was before.  That needs no space,
 * since what was not written of it is a hole.
 *
 * This is not done if the device reports an I/O error.  Through the page
 * cache, a page that cannot be written makes the sync fail, which stops the
 * server.  Then the page stays torn; skipidx_check() distinguishes that from
 * damage.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/smgr.h"

typedef struct SkxBlkRepair
{
	Relation	rel;
	bool		direct;			/* written past the page cache */
	BlockNumber block;
	char	   *page;			/* the new contents */
} SkxBlkRepair;

/*
 * Returns true if the file has the new page or another sound one.  Without
 * checksums a torn page cannot be told from an old one, so only the new page
 * counts.
 */
static bool
skx_blkio_repair_is_done(const SkxBlkRepair *m)
{
	char		memory[BLCKSZ + SKX_IO_ALIGN];
	char	   *page = (char *) TYPEALIGN(SKX_IO_ALIGN, memory);

	smgrread(RelationGetSmgr(m->rel), MAIN_FORKNUM, m->block, page);
	return memcmp(page, m->page, BLCKSZ) == 0 ||
		(DataChecksumsEnabled() && skx_compat_page_is_valid(page, m->block));
}

static void
skx_blkio_repair_write(const SkxBlkRepair *m)
{
	SkxBlkTransfer transfer = {0};
	struct iovec iov = {m->page, BLCKSZ};
	char	   *page = m->page;

	if (skx_blkio_repair_is_done(m))
		return;
	if (!m->direct)
	{
		skx_compat_write(RelationGetSmgr(m->rel), m->block, &page, 1, false);
		return;
	}
	transfer.block = m->block;
	transfer.npages = 1;
	transfer.iov = &iov;
	transfer.niov = 1;
	skx_blkio_write(m->rel, &transfer);
	if (transfer.error != 0)
		skx_blkio_write_failed(m->rel, &transfer);
}

static void
skx_blkio_repair_install(const SkxBlkRepair *m)
{
	skx_blkio_install(m->rel, m->block, m->page, NULL);
}

/*
 * Writes zeros over the page.  An error for lack of space is harmless: then
 * what is left of the page is a hole, which reads as zeros.
 */
static void
skx_blkio_repair_clear(const SkxBlkRepair *m)
{
	PGAlignedBlock zero;
	char	   *page = zero.data;

	memset(zero.data, 0, BLCKSZ);
	skx_compat_write(RelationGetSmgr(m->rel), m->block, &page, 1, false);
}

/* Runs a step.  Returns the SQLSTATE of the error that ended it, or 0. */
static int
skx_blkio_repair_run_step(const SkxBlkRepair *m,
						  void (*step) (const SkxBlkRepair *m))
{
	MemoryContext context = CurrentMemoryContext;
	volatile int state = 0;

	PG_TRY();
	{
		step(m);
	}
	PG_CATCH();
	{
		state = geterrcode();
		MemoryContextSwitchTo(context);
		FlushErrorState();
		/* an error has ended the hold of interrupts */
		HOLD_INTERRUPTS();
	}
	PG_END_TRY();
	return state;
}

ErrorData *
skx_blkio_repair_begin(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	/* the storage manager gives none */
	if (error->sqlerrcode == ERRCODE_DISK_FULL && error->hint == NULL)
		error->hint = pstrdup("Check free disk space.");
	HOLD_INTERRUPTS();
	return error;
}

/*
 * Replaces a page that could not be written again: by a dirty page of the
 * buffer manager if the index is in use, else by zeros.  Returns false if that
 * failed, too.
 */
static bool
skx_blkio_repair_set_aside(const SkxBlkRepair *m, bool in_use)
{
	int			state = skx_blkio_repair_run_step(m, in_use ?
												  skx_blkio_repair_install :
												  skx_blkio_repair_clear);

	return state == 0 || (!in_use && state == ERRCODE_DISK_FULL);
}

bool
skx_blkio_repair_pages(Relation rel, BlockNumber block, char **pages,
					   int npages, bool direct, bool in_use)
{
	SkxBlkRepair m = {rel, direct, block, NULL};

	for (int i = 0; i < npages; i++, m.block++)
	{
		int			state;

		m.page = pages[i];
		state = skx_blkio_repair_run_step(&m, skx_blkio_repair_write);
		if (state == ERRCODE_IO_ERROR ||
			(state != 0 && !skx_blkio_repair_set_aside(&m, in_use)))
			return false;
	}
	return true;
}

void
skx_blkio_repair_end(ErrorData *error)
{
	RESUME_INTERRUPTS();
	ReThrowError(error);
}
