/*
 * blkio_mend.c
 *	  After a write that has failed: no page stays torn in the file.
 *
 * What was to be written was not in use, and is not now; but tools that copy or
 * verify the server's files read all pages, and refuse one whose checksum is
 * wrong.  So each page that may have been written in part is read, and if it is
 * neither what it was to be nor sound, it is written again, alone, the way it
 * was.  Where that fails too, the buffer manager gets it as a page that has
 * changed, and writes it when it can, as any other.
 *
 * But not where the device refuses: through the page cache a page that cannot
 * be written fails at the sync, and with it the server.  Then the page stays as
 * it is, which skipidx_check() tells from damage.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/smgr.h"

typedef struct SkxBlkMend
{
	Relation	rel;
	bool		direct;			/* written past the page cache */
	BlockNumber block;
	char	   *page;			/* what it was to be */
} SkxBlkMend;

/* Without checksums a torn page cannot be told from an old one. */
static bool
skx_blkio_mend_sound(const SkxBlkMend *m)
{
	char		memory[BLCKSZ + SKX_IO_ALIGN];
	char	   *page = (char *) TYPEALIGN(SKX_IO_ALIGN, memory);

	smgrread(RelationGetSmgr(m->rel), MAIN_FORKNUM, m->block, page);
	return memcmp(page, m->page, BLCKSZ) == 0 ||
		(DataChecksumsEnabled() && skx_compat_page_sound(page, m->block));
}

static void
skx_blkio_mend_write(const SkxBlkMend *m)
{
	SkxBlkTransfer transfer = {0};
	struct iovec iov = {m->page, BLCKSZ};
	char	   *page = m->page;

	if (skx_blkio_mend_sound(m))
		return;
	if (!m->direct)
	{
		skx_compat_write(RelationGetSmgr(m->rel), m->block, &page, 1);
		return;
	}
	transfer.block = m->block;
	transfer.npages = 1;
	transfer.iov = &iov;
	transfer.niov = 1;
	skx_blkio_write(m->rel, &transfer, true);
	if (transfer.error != 0)
		skx_blkio_write_failed(m->rel, &transfer);
}

static void
skx_blkio_mend_install(const SkxBlkMend *m)
{
	skx_blkio_install(m->rel, m->block, m->page, true);
}

/* SQLSTATE of the error that ends the step, or 0. */
static int
skx_blkio_mend_try(const SkxBlkMend *m, void (*step) (const SkxBlkMend *m))
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
		/* an error lets interrupts go on */
		HOLD_INTERRUPTS();
	}
	PG_END_TRY();
	return state;
}

ErrorData *
skx_blkio_mend_begin(MemoryContext context)
{
	ErrorData  *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	HOLD_INTERRUPTS();
	return error;
}

bool
skx_blkio_mend(Relation rel, BlockNumber block, char **pages, int npages,
			   bool direct)
{
	SkxBlkMend	m = {rel, direct, block, NULL};

	for (int i = 0; i < npages; i++, m.block++)
	{
		int			state;

		m.page = pages[i];
		state = skx_blkio_mend_try(&m, skx_blkio_mend_write);
		if (state == ERRCODE_IO_ERROR ||
			(state != 0 && skx_blkio_mend_try(&m, skx_blkio_mend_install) != 0))
			return false;
	}
	return true;
}

void
skx_blkio_mend_end(ErrorData *error)
{
	RESUME_INTERRUPTS();
	ReThrowError(error);
}
