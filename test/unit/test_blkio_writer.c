/*
 * test_blkio_writer.c
 *	  Batches of pages of an index in use and of a new one: which pages go past
 *	  the page cache, in which order the steps come, and that whatever has been
 *	  written is synced.
 *
 * The file is an array of the blocks around the border of two segment files.
 *
 * Holds: blkio 5, 6, 8, 18
 */
#include "unit.h"
#include "server.h"

#include <fcntl.h>

#include "access/xlog.h"
#include "access/xloginsert.h"
#include "storage/blkio/blkio_cache.h"
#include "support/compat/compat_space.h"
#include "executor/instrument.h"
#include "support/fault/fault.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/fd.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/smgr.h"

/* Blocks of the file that there are; the border lies within a piece. */
#define BLOCKS		1024
#define FIRST		(RELSEG_SIZE - BLOCKS / 2 - 3)

/* ---- the world ---- */

static uint32 disk[BLOCKS];		/* stamp of the page */
static uint32 buffers[BLOCKS];	/* of what shared buffers have; 0: nothing */
static uint32 logged[BLOCKS];
static bool flushed;			/* what has been logged */
static bool unsynced[2];		/* segment file was written, and no sync asked
								 * for since */
static bool fresh;				/* the index is new */
static XLogRecPtr redo = 1;		/* of the last checkpoint */
static XLogRecPtr logged_after[BLOCKS]; /* redo when it was logged last */
static XLogRecPtr written_after[BLOCKS];	/* and when it was written */
static uint32 begun[BLOCKS];	/* stamp of what the kernel writes already */
static bool full;				/* the disk */
static int	dropped;			/* files, by the page cache */
static int	directly;			/* pages written past the page cache */
static int	served;				/* pages written by the server */
static int	syncs;				/* of our own */
static int	transfers;
static int	fail_at;			/* transfer with an error; 0: none */
static int	fail_with;
static bool queue_full;
static int	mended;			/* runs of which a write has failed */
static BufferAccessStrategy ring;	/* that there is */
static int	installed;			/* pages put into its buffers */
static SkxBlkPath path = SKX_BLK_PATH_PROVEN;
static bool method_direct;
static PGPROC proc;

int			skx_blkio_io_method = SKX_BLK_DIRECT;
bool		skx_fault_armed = false;
static const SkxFaultTransfers *no_transfers = NULL;
const SkxFaultTransfers **skx_fault_transfers = &no_transfers;
int			wal_level = WAL_LEVEL_REPLICA;
volatile sig_atomic_t InterruptPending = false;
volatile uint32 InterruptHoldoffCount = 0;
PGPROC	   *MyProc = &proc;
BufferUsage pgBufferUsage;
XLogRecPtr	XactLastRecEnd = 1;
sigjmp_buf *PG_exception_stack = NULL;
MemoryContext CurrentMemoryContext = NULL;
ErrorContextCallback *error_context_stack = NULL;

/* Checkpoints and interrupts wait for an index in use, and for no new one. */
static bool
held(void)
{
	int			held = fresh ? 0 : DELAY_CHKPT_START;

	return (proc.delayChkptFlags & DELAY_CHKPT_START) == held &&
		InterruptHoldoffCount == (fresh ? 0 : 1);
}

static uint32
stamp_of(const void *page)
{
	uint32		stamp;

	memcpy(&stamp, (const char *) page + 100, sizeof(stamp));
	return stamp;
}

void
pg_re_throw(void)
{
	siglongjmp(*PG_exception_stack, 1);
}

bool
errstart(int elevel, const char *domain)
{
	abort();
}

bool
errstart_cold(int elevel, const char *domain)
{
	abort();
}

int
errcode(int code)
{
	abort();
}

int
errcode_for_file_access(void)
{
	abort();
}

int
errmsg(const char *format,...)
{
	abort();
}

int
errmsg_internal(const char *format,...)
{
	abort();
}

int
errhint(const char *format,...)
{
	abort();
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	abort();
}

int
data_sync_elevel(int elevel)
{
	return elevel;
}

char *
skx_compat_relation_path(SkxLocator locator)
{
	abort();
}

void
skx_fault_reached(SkxFaultPoint point)
{
}

void
ProcessInterrupts(void)
{
}

bool
RecoveryInProgress(void)
{
	return false;
}

void
skx_blkio_no_space(Relation rel, int error, int elevel)
{
	CHECK(full && error == ENOSPC && elevel == ERROR);
	pg_re_throw();
}

/* files */

BlockNumber
smgrnblocks(SMgrRelation smgr, ForkNumber fork)
{
	return FIRST + BLOCKS;
}

SMgrRelation
smgropen(SkxLocator locator, int backend)
{
	abort();
}

#if PG_VERSION_NUM >= 170000
void
smgrpin(SMgrRelation smgr)
{
}
#else
void
smgrsetowner(SMgrRelation *to, SMgrRelation smgr)
{
}
#endif

/* the log, shared buffers, the server's writes */

void
log_newpages(SkxLocator *locator, ForkNumber fork, int npages,
			 BlockNumber *blocks, Page *pages, bool standard)
{
	CHECK(held());
	flushed = false;
	for (int i = 0; i < npages; i++)
	{
		logged[blocks[i] - FIRST] = stamp_of(pages[i]);
		logged_after[blocks[i] - FIRST] = redo;
		PageSetLSN(pages[i], (XLogRecPtr) 1);
	}
}

void
XLogFlush(XLogRecPtr lsn)
{
	CHECK(!fresh);
	flushed = true;
}

XLogRecPtr
GetRedoRecPtr(void)
{
	return redo;
}

void
PageSetChecksumInplace(Page page, BlockNumber block)
{
	CHECK(PageGetLSN(page) != 0);
	((PageHeader) page)->pd_checksum = (uint16) block;
}

bool
skx_blkio_resident(Relation rel, BlockNumber block)
{
	return buffers[block - FIRST] != 0;
}

BufferAccessStrategy
GetAccessStrategy(BufferAccessStrategyType type)
{
	CHECK(!fresh && type == BAS_BULKWRITE && ring == NULL);
	return ring = (BufferAccessStrategy) &ring;
}

void
FreeAccessStrategy(BufferAccessStrategy strategy)
{
	CHECK(strategy == ring);
	ring = NULL;
}

/* The buffer manager flushes the log before it writes a page of the ring. */
void
skx_blkio_install(Relation rel, BlockNumber block, const char *page,
				  BufferAccessStrategy strategy)
{
	CHECK(strategy == ring);
	CHECK(held() && logged[block - FIRST] == stamp_of(page));
	CHECK(fresh || flushed || ring != NULL);
	installed += ring != NULL;
	/* before its write, a tool may still read what a new file had */
	CHECK(!fresh || disk[block - FIRST] == stamp_of(page));
	buffers[block - FIRST] = stamp_of(page);
}

ErrorData *
skx_blkio_repair_begin(MemoryContext context)
{
	return NULL;
}

bool
skx_blkio_repair_pages(Relation rel, BlockNumber block, char **pages,
					   int npages, bool direct, bool in_use)
{
	CHECK(in_use);
	CHECK((proc.delayChkptFlags & DELAY_CHKPT_START) != 0 && direct);
	CHECK(npages > 0 && stamp_of(pages[0]) == logged[block - FIRST]);
	mended++;
	return true;
}

void
skx_blkio_repair_end(ErrorData *error)
{
	pg_re_throw();
}

/* Nothing is written that is not in the log, with its checksum. */
static void
store(BlockNumber block, const void *page)
{
	CHECK(held() && (flushed || fresh));
	CHECK(block >= FIRST && block < FIRST + BLOCKS);
	CHECK(logged[block - FIRST] == stamp_of(page));
	CHECK(((PageHeader) page)->pd_checksum == (uint16) block);
	disk[block - FIRST] = stamp_of(page);
	written_after[block - FIRST] = redo;
}

/* Returns true now and then: a tool reads, or a checkpoint begins. */
static bool
happens(void)
{
	return unit_below(4) == 0;
}

void
skx_compat_write(SMgrRelation smgr, BlockNumber block, char **pages,
				 int npages, bool skip_sync)
{
	CHECK(skip_sync == fresh);
	CHECK(block / RELSEG_SIZE == (block + npages - 1) / RELSEG_SIZE);
	if (fresh && happens())
		buffers[block + unit_below(npages) - FIRST] = 1;
	if (fresh && happens())
		redo++;
	for (int i = 0; i < npages; i++)
		store(block + i, pages[i]);
	served += npages;
	if (fresh)
		unsynced[block / RELSEG_SIZE] = true;
}

void
smgrwriteback(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
			  BlockNumber npages)
{
	CHECK(fresh);
	for (BlockNumber i = 0; i < npages; i++)
		begun[block + i - FIRST] = disk[block + i - FIRST];
	transfers++;
}

void
smgrimmedsync(SMgrRelation smgr, ForkNumber fork)
{
	CHECK(fresh);
	unsynced[0] = unsynced[1] = false;
	syncs++;
}

int
skx_compat_allocate_holes(SMgrRelation smgr, BlockNumber nblocks)
{
	CHECK(nblocks == FIRST + BLOCKS && path == SKX_BLK_PATH_PROVEN);
	return full ? ENOSPC : 0;
}

/* writes of our own */

const SkxBlkMethod *
skx_blkio_method_in_force(void)
{
	static SkxBlkMethod method;

	CHECK(InterruptHoldoffCount == 0);
	method.direct = method_direct;
	return &method;
}

const SkxBlkMethod skx_blkio_method_bufmgr;

const SkxBlkMethod *
skx_blkio_choose(Relation rel, uint64 incarnation)
{
	return skx_blkio_may_pass(rel, incarnation) ?
		skx_blkio_method_in_force() : &skx_blkio_method_bufmgr;
}

bool
skx_blkio_may_pass(Relation rel, uint64 incarnation)
{
	return path == SKX_BLK_PATH_PROVEN &&
		skx_blkio_io_method != SKX_BLK_SHARED_BUFFERS;
}

void
skx_blkio_fd_recheck(void)
{
}

int
skx_blkio_fd_wait(Relation rel, BlockNumber block, int how, int *handle)
{
	CHECK(!fresh || how == SKX_BLK_FD_FRESH);
	*handle = block / RELSEG_SIZE;
	return block / RELSEG_SIZE;
}

/* What the page cache drops is on the disk. */
int
posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
	CHECK(fresh && advice == POSIX_FADV_DONTNEED && offset == 0 && size == 0);
	CHECK(!unsynced[0] && !unsynced[1]);
	dropped++;
	return 0;
}

void
skx_blkio_fd_put(int handle)
{
}

/* One transfer is in one file, and has nothing that shared buffers have. */
void
skx_blkio_write(Relation rel, SkxBlkTransfer *transfer)
{
	CHECK(!fresh && transfer->done == 0);
	CHECK(transfer->npages == transfer->niov && transfer->npages <= 128);
	CHECK(transfer->block / RELSEG_SIZE ==
		  (transfer->block + transfer->npages - 1) / RELSEG_SIZE);
	if (++transfers == fail_at)
	{
		transfer->error = fail_with;
		unsynced[transfer->block / RELSEG_SIZE] = fail_with == EIO;
		return;
	}
	for (int i = 0; i < transfer->npages; i++)
	{
		CHECK(transfer->iov[i].iov_len == BLCKSZ);
		CHECK((uintptr_t) transfer->iov[i].iov_base % SKX_IO_ALIGN == 0);
		CHECK(buffers[transfer->block + i - FIRST] == 0);
		store(transfer->block + i, transfer->iov[i].iov_base);
	}
	unsynced[transfer->block / RELSEG_SIZE] = true;
	directly += transfer->npages;

	/* a tool reads one of them, as it was */
	if (unit_below(4) == 0)
		buffers[transfer->block + unit_below(transfer->npages) - FIRST] = 1;
}

void
skx_blkio_write_failed(Relation rel, const SkxBlkTransfer *transfer)
{
	pg_re_throw();
}

bool
skx_compat_request_sync(SkxLocator locator, BlockNumber block)
{
	CHECK(held());
	if (queue_full)
		return false;
	unsynced[block / RELSEG_SIZE] = false;
	return true;
}

int
pg_fdatasync(int fd)
{
	CHECK(held());
	unsynced[fd] = false;
	syncs++;
	return 0;
}

/* ---- tests ---- */

static FormData_pg_class class;
static SMgrRelationData smgr;
static RelationData relation;
static uint32 wanted[BLOCKS];	/* stamp of the newest page; 0: not written */
static uint32 stamp = 1;

static void
begin(int residents)
{
	memset(disk, 0, sizeof(disk));
	memset(buffers, 0, sizeof(buffers));
	memset(wanted, 0, sizeof(wanted));
	for (int i = 0; i < residents; i++)
		buffers[unit_below(BLOCKS)] = 1;
	class.relpersistence = RELPERSISTENCE_PERMANENT;
	relation.rd_rel = &class;
	relation.rd_smgr = &smgr;
	directly = served = transfers = syncs = installed = 0;
	proc.delayChkptFlags = 0;
	InterruptHoldoffCount = 0;
	memset(unsynced, 0, sizeof(unsynced));
	memset(begun, 0, sizeof(begun));
	dropped = 0;
}

/* Pieces of some pages, in no order, each block once; false: an error. */
static bool
write_all(uint64 bytes, int step)
{
	SkxBlkWriter *w = fresh ? skx_blkio_writer_begin_new(&relation) :
		skx_blkio_writer_begin(&relation, 1, bytes);
	int			pieces = BLOCKS / step;
	int			start = unit_below(pieces);
	sigjmp_buf	local;
	volatile bool done = false;

	PG_exception_stack = &local;
	if (sigsetjmp(local, 0) == 0)
	{
		for (int k = 0; k < pieces; k++)
		{
			int			at = (start + k * 7) % pieces * step;

			for (int i = at; i < at + step; i++)
			{
				PGAlignedBlock page = {0};

				((PageHeader) page.data)->pd_upper = BLCKSZ;
				wanted[i] = ++stamp;
				memcpy(page.data + 100, &stamp, sizeof(stamp));
				skx_blkio_writer_put(w, FIRST + i, page.data);
			}
		}
		skx_blkio_writer_end(w);
		if (fresh)
			skx_blkio_new_sync(&relation, 1);
		done = true;
	}
	PG_exception_stack = NULL;
	CHECK((proc.delayChkptFlags & DELAY_CHKPT_START) == 0);
	CHECK((!unsynced[0] && !unsynced[1]) || (fresh && !done));
	return done;
}

static void
check_file(void)
{
	for (int i = 0; i < BLOCKS; i++)
	{
		/* what the buffer manager has is not in the file yet */
		CHECK((installed > 0 ? buffers[i] : disk[i]) == wanted[i]);
		CHECK(buffers[i] == 0 || buffers[i] == wanted[i] ||
			  wanted[i] == 0);
	}
}

/*
 * Who writes: pages past the page cache, by the storage manager, or by the
 * buffer manager if that reads them.
 */
static void
test_choice(int method, bool direct, uint64 bytes, bool past)
{
	bool		by_buffers = path != SKX_BLK_PATH_PROVEN ||
		method == SKX_BLK_SHARED_BUFFERS;

	int			before = skx_blkio_io_method;

	skx_blkio_io_method = method;
	method_direct = direct;
	begin(0);
	CHECK(write_all(bytes, 16));
	check_file();
	CHECK((directly > 0) == past && (served == 0 || !past));
	CHECK(installed == (by_buffers ? BLOCKS : 0) && ring == NULL);
	CHECK(directly + served + installed == BLOCKS);
	skx_blkio_io_method = before;
	method_direct = true;
}

static void
test_choices(void)
{
	uint64		much = 65 * 1024 * 1024;

	for (int i = 0; i < 2; i++)
	{
		path = i == 0 ? SKX_BLK_PATH_PROVEN : SKX_BLK_PATH_REFUSED;
		test_choice(SKX_BLK_DIRECT, true, 0, i == 0);
		test_choice(SKX_BLK_METHOD_AUTO, true, 0, i == 0);
		test_choice(SKX_BLK_METHOD_AUTO, false, 0, false);
		test_choice(SKX_BLK_METHOD_AUTO, false, much, i == 0);
		test_choice(SKX_BLK_URING, false, much, false);
		test_choice(SKX_BLK_SHARED_BUFFERS, false, much, false);
	}
	path = SKX_BLK_PATH_PROVEN;
}

static void
test_writes(int residents, int step)
{
	begin(residents);
	CHECK(write_all(0, step));
	check_file();
	CHECK(directly + served == BLOCKS && directly > 0);
	CHECK(served > 0 || residents == 0);
	CHECK(syncs == 0 || queue_full);
	CHECK(syncs > 0 || !queue_full);
	if (residents == 0)
		CHECK(transfers <= BLOCKS / step + 1);
}

/* A failure is an error; what a file system will not do, the server does. */
static void
test_failures(void)
{
	for (fail_at = 1; fail_at <= 20; fail_at++)
	{
		fail_with = EIO;
		begin(40);
		mended = 0;
		CHECK(!write_all(0, 16) && mended == 1);
		fail_with = fail_at % 2 == 0 ? EINVAL : EOPNOTSUPP;
		begin(40);
		CHECK(write_all(0, 16) && mended == 1);
		check_file();
		CHECK(transfers == fail_at);
	}
	fail_at = 0;
}

/*
 * A new index, while checkpoints begin and tools read: by the server, whatever
 * the method, and neighbours together.
 */
static void
test_new(int step, int method, bool direct)
{
	int			before = skx_blkio_io_method;

	fresh = true;
	skx_blkio_io_method = method;
	method_direct = direct;
	begin(40);
	CHECK(write_all(0, step));
	check_file();
	CHECK(served == BLOCKS && directly == 0 && syncs == 1);
	CHECK(installed == 0);
	CHECK(transfers <= BLOCKS / step + 1 && transfers >= BLOCKS / 128);
	for (int i = 0; i < BLOCKS; i++)
		CHECK(begun[i] == wanted[i] && logged_after[i] >= written_after[i]);
	CHECK((dropped > 0) == (direct && method != SKX_BLK_SHARED_BUFFERS));
	CHECK(dropped == 0 || dropped == FIRST / RELSEG_SIZE + 2);
	full = true;
	begin(40);
	CHECK(!write_all(0, step) == (method != SKX_BLK_SHARED_BUFFERS));
	full = fresh = false;
	skx_blkio_io_method = before;
	method_direct = true;
}

int
main(void)
{
	unit_seed(6);
#if PG_VERSION_NUM >= 170000
	proc.vxid.lxid = 1;
#else
	proc.lxid = 1;
#endif
	method_direct = true;
	for (int full = 0; full < 2; full++)
	{
		queue_full = full == 1;
		for (int residents = 0; residents <= 200; residents += 40)
		{
			for (int step = 1; step <= 64; step *= 4)
				test_writes(residents, step);
		}
		test_failures();
	}
	queue_full = false;
	test_choices();
	for (int step = 1; step <= 64; step *= 4)
	{
		test_new(step, SKX_BLK_DIRECT, true);
		test_new(step, SKX_BLK_METHOD_AUTO, false);
		test_new(step, SKX_BLK_SHARED_BUFFERS, true);
	}
	return unit_done("blkio_writer");
}
