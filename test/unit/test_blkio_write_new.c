/*
 * test_blkio_write_new.c
 *	  Batches of a new index: which pages go together, what may be under way,
 *	  and that the file has the newest page of every block in the end.
 *
 * The file is an array of the blocks around the border of two segment files.
 * Writes of the ring end in any order, and only then is their memory looked
 * at, as the kernel may.
 *
 * Holds: blkio 5
 */
#include "unit.h"
#include "server.h"
#include "unit_mend.h"

#include "access/xact.h"
#include "access/xloginsert.h"
#include "storage/blkio/blkio_cache.h"
#include "support/fault/fault.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/lmgr.h"
#include "storage/smgr.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Blocks of the file that there are: half of them in each segment file. */
#define BLOCKS		1024
#define FIRST		(RELSEG_SIZE - BLOCKS / 2)

/* Descriptors: number of the segment file, direct or not. */
#define DESCRIPTOR	1000

/* ---- the world ---- */

static char disk[BLOCKS][BLCKSZ];
static XLogRecPtr logged[BLOCKS];	/* of the last record */
static int	records;
static int	transfers;			/* by any way */
static bool trouble;			/* the ring does not do all of it */
static bool refuse;				/* there is no direct I/O */
static SkxBlkPath path = SKX_BLK_PATH_PROVEN;
static int	served;				/* pages that the server has written */
static SkxBlkTransfer *pending[64];
static int	pending_fd[64];
static int	npending;
static int	refreshed;
static bool resident[BLOCKS];
static XLogRecPtr redo;
static ResourceReleaseCallback owner_ends;
static char owner;

int			skx_blkio_io_method = SKX_BLK_URING_DIRECT;
bool		skx_fault_armed = false;
static const SkxFaultTransfers *no_transfers = NULL;
const SkxFaultTransfers **skx_fault_transfers = &no_transfers;
bool		enableFsync = true;
int			wal_level = WAL_LEVEL_REPLICA;
volatile sig_atomic_t InterruptPending = false;
ResourceOwner CurrentResourceOwner = (ResourceOwner) &owner;
MemoryContext TopMemoryContext = NULL;
static uint32 wait_event;
uint32	   *my_wait_event_info = &wait_event;
static char buffer_memory[BLCKSZ];
char	   *BufferBlocks = buffer_memory;
Block	   *LocalBufferBlockPointers = NULL;
int			NBuffers = 1;
int			NLocBuffer = 0;

void
skx_fault_reached(SkxFaultPoint point)
{
}

int
skx_compat_fill(SMgrRelation smgr, BlockNumber nblocks)
{
	return 0;
}

void
skx_blkio_no_space(Relation rel, int error, int elevel)
{
}

void
ProcessInterrupts(void)
{
}

void *
MemoryContextAlloc(MemoryContext context, Size size)
{
	return malloc(size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

ResourceOwner
ResourceOwnerGetParent(ResourceOwner one)
{
	return NULL;
}

void
RegisterResourceReleaseCallback(ResourceReleaseCallback callback, void *arg)
{
	owner_ends = callback;
}

void
RegisterXactCallback(XactCallback callback, void *arg)
{
}

/* Nothing fails that is not made good. */
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

int
errcode(int code)
{
	return 0;
}

int
errcode_for_file_access(void)
{
	abort();
}

int
errcontext_msg(const char *format,...)
{
	abort();
}

int
set_errcontext_domain(const char *domain)
{
	abort();
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	abort();
}

char *
psprintf(const char *format,...)
{
	abort();
}

char *
skx_compat_path(SkxLocator locator)
{
	abort();
}

/* the server's storage */

void
LockRelationForExtension(Relation relation, LOCKMODE mode)
{
}

void
UnlockRelationForExtension(Relation relation, LOCKMODE mode)
{
}

void
skx_compat_extend(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
}

void
skx_compat_reserve(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
}

BlockNumber
smgrnblocks(SMgrRelation smgr, ForkNumber fork)
{
	return FIRST + BLOCKS;
}

void
smgrimmedsync(SMgrRelation smgr, ForkNumber fork)
{
}

static void
serve(BlockNumber block, const void *page)
{
	CHECK(block >= FIRST && block < FIRST + BLOCKS);
	memcpy(disk[block - FIRST], page, BLCKSZ);
	served++;
}

SMgrRelation
smgropen(SkxLocator locator, int backend)
{
	abort();
}

#if PG_VERSION_NUM >= 160000
int			io_direct_flags = 0;
#endif

#if PG_VERSION_NUM >= 170000
void
smgrpin(SMgrRelation smgr)
{
}

void
smgrwritev(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
		   const void **pages, BlockNumber npages, bool skip)
{
	for (BlockNumber i = 0; i < npages; i++)
		serve(block + i, pages[i]);
}
#else
void
smgrsetowner(SMgrRelation *to, SMgrRelation smgr)
{
}

#if PG_VERSION_NUM >= 160000
void
smgrwrite(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
		  const void *page, bool skip)
#else
void
smgrwrite(SMgrRelation smgr, ForkNumber fork, BlockNumber block, char *page,
		  bool skip)
#endif
{
	serve(block, page);
}
#endif

void
PageSetChecksumInplace(Page page, BlockNumber block)
{
	CHECK(PageGetLSN(page) != 0);
	((PageHeader) page)->pd_checksum = (uint16) block;
}

XLogRecPtr
GetRedoRecPtr(void)
{
	return redo;
}

void
log_newpages(SkxLocator *locator, ForkNumber fork, int npages,
			 BlockNumber *blocks, Page *pages, bool standard)
{
	records++;
	for (int i = 0; i < npages; i++)
	{
		CHECK(blocks[i] >= FIRST && blocks[i] < FIRST + BLOCKS);
		logged[blocks[i] - FIRST] = records;
		PageSetLSN(pages[i], (XLogRecPtr) records);
	}
}

bool
skx_blkio_resident(Relation rel, BlockNumber block)
{
	/* by now the file has it */
	CHECK(((PageHeader) disk[block - FIRST])->pd_checksum == (uint16) block);
	return resident[block - FIRST];
}

void
skx_blkio_install(Relation rel, BlockNumber block, const char *page,
				  bool dirty)
{
	CHECK(!dirty);
	refreshed++;
}

/* files and the ring */

/* The block is about to be written. */
SkxBlkPath
skx_blkio_path_new(Relation rel, BlockNumber block)
{
	memset(disk[block - FIRST], 0xAA, BLCKSZ);
	return path;
}

void
skx_blkio_fd_recheck(void)
{
}

int
skx_blkio_fd_wait(Relation rel, BlockNumber block, int how, int *handle)
{
	bool		direct = (how & SKX_BLK_FD_DIRECT) != 0;

	CHECK(how & SKX_BLK_FD_WRITE);
	*handle = 0;
	if (direct && refuse)
	{
		errno = EINVAL;
		return -1;
	}
	return DESCRIPTOR + 2 * (block / RELSEG_SIZE) + direct;
}

void
skx_blkio_fd_put(int handle)
{
}

static ssize_t
store(int fd, const void *memory, size_t size, off_t offset)
{
	off_t		start = (off_t) ((fd - DESCRIPTOR) / 2) * RELSEG_SIZE * BLCKSZ;
	off_t		end = start + (off_t) RELSEG_SIZE * BLCKSZ;
	off_t		at = start + offset - (off_t) FIRST * BLCKSZ;

	CHECK(fd >= DESCRIPTOR && fd < DESCRIPTOR + 4);
	CHECK(start + offset + size <= end);
	CHECK(at >= 0 && at + size <= sizeof(disk));
	CHECK(fd % 2 == 0 || (uintptr_t) memory % SKX_IO_ALIGN == 0);
	memcpy((char *) disk + at, memory, size);
	return size;
}

ssize_t
pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	CHECK(n == 1);
	return store(fd, iov->iov_base, iov->iov_len, offset);
}

int
sync_file_range(int fd, off64_t offset, off64_t size, unsigned int flags)
{
	CHECK(fd % 2 == 0);
	transfers++;
	return 0;
}

bool
skx_blkio_ring_ready(void)
{
	return true;
}

void
skx_blkio_ring_add(SkxBlkTransfer *transfer, int fd)
{
	CHECK(npending < 8);
	for (int i = 0; i < npending; i++)
		CHECK(transfer->block >= pending[i]->block + pending[i]->npages ||
			  pending[i]->block >= transfer->block + transfer->npages);
	for (int i = 0; i < transfer->npages; i++)
		CHECK(logged[transfer->block - FIRST + i] != 0);
	transfer->writing = true;
	pending_fd[npending] = fd;
	pending[npending++] = transfer;
	transfers++;
}

void
skx_blkio_ring_submit(void)
{
}

/* One of them ends, or a signal comes first. */
int
skx_blkio_ring_reap(bool wait)
{
	uint32		i;
	SkxBlkTransfer *transfer;
	size_t		size;

	if (npending == 0 || unit_below(3) == 0)
		return 0;
	i = unit_below(npending);
	transfer = pending[i];
	size = transfer->iov->iov_len;
	if (trouble && unit_below(4) == 0)
	{
		size = size / 2 / SKX_IO_ALIGN * SKX_IO_ALIGN;
		if (unit_below(2) == 0)
		{
			size = 0;
			transfer->error = unit_below(2) == 0 ? EAGAIN : ECANCELED;
		}
	}
	(void) store(pending_fd[i], transfer->iov->iov_base, size,
				  (off_t) (transfer->block % RELSEG_SIZE) * BLCKSZ);
	transfer->done = size;
	transfer->writing = false;
	pending[i] = pending[--npending];
	pending_fd[i] = pending_fd[npending];
	return 1;
}

/* ---- tests ---- */

static FormData_pg_class class;
static SMgrRelationData smgr;
static RelationData relation;
static uint32 wanted[BLOCKS];	/* stamp of the newest page; 0: not written */
static uint32 stamp;

static void
begin(void)
{
	memset(disk, 0, sizeof(disk));
	memset(logged, 0, sizeof(logged));
	memset(wanted, 0, sizeof(wanted));
	class.relpersistence = RELPERSISTENCE_PERMANENT;
	relation.rd_rel = &class;
	relation.rd_smgr = &smgr;
	records = 0;
	transfers = 0;
	redo = 0;
}

static void
write_pages(BlockNumber at, int npages)
{
	static char memory[64][BLCKSZ];
	char	   *pages[64];

	for (int i = 0; i < npages; i++)
	{
		memset(memory[i], 0, BLCKSZ);
		pages[i] = memory[i];
		wanted[at + i] = ++stamp;
		memcpy(memory[i] + 100, &stamp, sizeof(stamp));
		memcpy(memory[i] + BLCKSZ - 4, &stamp, sizeof(stamp));
	}
	skx_blkio_new_write(&relation, FIRST + at, pages, npages);
	memset(memory, 0xAA, sizeof(memory));
}

static void
check_file(void)
{
	CHECK(npending == 0);
	for (int i = 0; i < BLOCKS; i++)
	{
		uint32		begins;
		uint32		ends;

		memcpy(&begins, disk[i] + 100, sizeof(begins));
		memcpy(&ends, disk[i] + BLCKSZ - 4, sizeof(ends));
		CHECK(begins == wanted[i] && ends == wanted[i]);
		CHECK(wanted[i] == 0 || PageGetLSN(disk[i]) != 0);
	}
}

/*
 * Places that are written alternately, as the planes of a segment are: as few
 * writes as there can be.
 */
static void
test_places(int nplaces, int step)
{
	int			each = BLOCKS / nplaces;

	begin();
	for (int done = 0; done + step <= each; done += step)
	{
		for (int k = 0; k < nplaces; k++)
			write_pages(k * each + done, step);
	}
	skx_blkio_new_finish(&relation);
	check_file();
	if (nplaces <= 4)
		CHECK(transfers <= BLOCKS / 16 + nplaces + 1);
	CHECK(transfers == records);
}

/* Anything anywhere, also what has been written before. */
static void
test_random(void)
{
	begin();
	for (int i = 0; i < 500; i++)
	{
		int			n = 1 + unit_below(40);

		write_pages(unit_below(BLOCKS - n), n);
		if (unit_below(50) == 0)
			skx_blkio_new_finish(&relation);
	}
	skx_blkio_new_finish(&relation);
	check_file();
}

/* Whoever gives up waits, and what comes later is not touched. */
static void
test_given_up(void)
{
	begin();
	for (int i = 0; i < 100; i += 16)
		write_pages(i, 20);
	CHECK(npending > 0);
	owner_ends(RESOURCE_RELEASE_BEFORE_LOCKS, false, true, NULL);
	CHECK(npending == 0);
	begin();
	write_pages(8, 3);
	CHECK(transfers == 0);
	skx_blkio_new_finish(&relation);
	CHECK(transfers == 1);
	check_file();
}

/* Of those that a checkpoint came in between, the log has a second image. */
static void
test_checkpoint(void)
{
	begin();
	memset(resident, true, sizeof(resident));
	refreshed = 0;
	write_pages(0, 16);
	CHECK(records == 1 && refreshed == 0);
	redo = 1;
	write_pages(16, 8);
	skx_blkio_new_finish(&relation);
	CHECK(records == 3 && logged[0] >= 2 && logged[16] >= 2);
	CHECK(refreshed == 24);
	check_file();
	memset(resident, false, sizeof(resident));
}

/* Files that only the server can write, and the method that asks for it. */
static void
test_server(SkxBlkPath answer, int method)
{
	int			before = skx_blkio_io_method;

	path = answer;
	skx_blkio_io_method = method;
	served = 0;
	test_random();
	CHECK(served > 0 && transfers == 0);
	begin();
	served = 0;
	write_pages(5, 40);
	skx_blkio_new_finish(&relation);
	check_file();
	CHECK(served == 40 && transfers == 0);
	path = SKX_BLK_PATH_PROVEN;
	skx_blkio_io_method = before;
}

int
main(void)
{
	unit_seed(5);
	for (int i = 0; i < 3; i++)
	{
		/* in turn: all well; a ring in trouble; no direct I/O */
		trouble = i == 1;
		refuse = i == 2;
		for (int nplaces = 1; nplaces <= 6; nplaces++)
		{
			test_places(nplaces, 1);
			test_places(nplaces, 16);
		}
		for (int k = 0; k < 10; k++)
			test_random();
	}
	trouble = refuse = false;
	test_given_up();
	test_checkpoint();
	test_server(SKX_BLK_PATH_REFUSED, SKX_BLK_URING_DIRECT);
	test_server(SKX_BLK_PATH_UNKNOWN, SKX_BLK_BUFFERED);
	test_server(SKX_BLK_PATH_PROVEN, SKX_BLK_SHARED_BUFFERS);
	return unit_done("blkio_write_new");
}
