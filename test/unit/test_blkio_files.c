/*
 * test_blkio_files.c
 *	  Blocks to files of 1 GB and places in them, up to the last block that a
 *	  relation can have: written past the page cache, and read by every method,
 *	  across the borders of the files.
 *
 * The files are real, and sparse.  What they should have is looked for by
 * arithmetic of 64 bits from the start of the relation.
 *
 * Holds: none
 */
#include "unit.h"
#include "server.h"
#include "unit_raise.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "access/xact.h"
#include "access/xloginsert.h"
#include "storage/blkio/blkio_cache.h"
#include "executor/instrument.h"
#include "support/fault/fault.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/smgr.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

/* Blocks that are written and read on each side of a border. */
#define SIDE		8

/* ---- the server ---- */

static char owner;
static BlockNumber served;		/* hints left to the storage manager */
static uint32 wait_event;
static const SkxFaultTransfers *no_transfers = NULL;
static char buffer_memory[BLCKSZ];

int			max_safe_fds = 64;
int			skx_blkio_io_method = SKX_BLK_URING_DIRECT;
bool		skx_fault_armed = false;
const SkxFaultTransfers **skx_fault_transfers = &no_transfers;
bool		enableFsync = true;
int			wal_level = WAL_LEVEL_REPLICA;
volatile sig_atomic_t InterruptPending = false;
ResourceOwner CurrentResourceOwner = (ResourceOwner) &owner;
MemoryContext TopMemoryContext = NULL;
uint32	   *my_wait_event_info = &wait_event;
bool		pgstat_track_counts = false;
bool		track_io_timing = false;
PgStat_Counter pgStatBlockReadTime = 0;
bool		VacuumCostActive = false;
int			VacuumCostBalance = 0;
int			VacuumCostPageMiss = 0;
BufferUsage pgBufferUsage;
char	   *BufferBlocks = buffer_memory;
Block	   *LocalBufferBlockPointers = NULL;
int			NBuffers = 1;
int			NLocBuffer = 0;

void
skx_fault_reached(SkxFaultPoint point)
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

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return calloc(1, size);
}

ResourceOwner
ResourceOwnerGetParent(ResourceOwner one)
{
	return NULL;
}

void
RegisterResourceReleaseCallback(ResourceReleaseCallback callback, void *arg)
{
}

void
RegisterXactCallback(XactCallback callback, void *arg)
{
}

void
CacheRegisterRelcacheCallback(RelcacheCallbackFunction function, Datum arg)
{
}

void
pgstat_assoc_relation(Relation rel)
{
}

bool
AcquireExternalFD(void)
{
	return true;
}

void
ReserveExternalFD(void)
{
}

void
ReleaseExternalFD(void)
{
}

int
BasicOpenFile(const char *name, int flags)
{
	return open(name, flags);
}

int
errcode_for_file_access(void)
{
	return errcode(ERRCODE_IO_ERROR);
}

int
errcontext_msg(const char *format,...)
{
	return 0;
}

int
set_errcontext_domain(const char *domain)
{
	return 0;
}

bool
skx_blkio_note_limit(SkxBlkRefusal what)
{
	return false;
}

bool
skx_compat_page_is_verified(char *page, BlockNumber block, SkxLocator locator)
{
	return true;
}

bool
skx_blkio_resident_copy(Relation rel, BlockNumber block, char *page)
{
	return false;
}

/* No page is unsound here, and no file closed to hints. */
bool
skx_blkio_served_copy(Relation rel, BlockNumber block, char *page)
{
	abort();
}

void
skx_blkio_path_refuse(Relation rel, uint64 incarnation, BlockNumber block)
{
	abort();
}

PrefetchBufferResult
PrefetchBuffer(Relation rel, ForkNumber fork, BlockNumber block)
{
	PrefetchBufferResult result = {InvalidBuffer, false};

	served++;
	return result;
}

bool
skx_blkio_claim_present(SkxBlkFile *file, const SkxBlkPlane *plane,
						uint32 ordinal)
{
	return false;
}

void
skx_blkio_prefetch_plan(SkxBlkFile *file, const SkxBlkPlane *plane,
					 const uint32 *ordinals, int n)
{
	abort();
}

int
skx_blkio_depth_acquire(int wanted, bool wait)
{
	return wanted;
}

void
skx_blkio_depth_release(int n)
{
}

/* ---- pins ---- */

static SkxBlkPin pins[2 * SIDE];
static char *frames;
SkxBlkCounters skx_blkio_mine[SKX_BLK_NMETHODS];
int			skx_blkio_pins_ahead;

SkxBlkPin *
skx_blkio_pins_slot(int32 slot)
{
	pins[slot].memory = frames + (Size) slot * BLCKSZ;
	return &pins[slot];
}

void
skx_blkio_pins_drop(int32 slot)
{
}

void
skx_blkio_pins_loaded(int32 slot)
{
	pins[slot].filled = true;
}

/* ---- files ---- */

static FormData_pg_class class;
static SMgrRelationData smgr;
static RelationData relation;
static char directory[] = "/tmp/skipidx_files_XXXXXX";
static uint32 advised;			/* pages that the kernel is told of */

char *
skx_compat_relation_path(SkxLocator locator)
{
	return psprintf("%s/77", directory);
}

static const char *
name(uint64 file)
{
	static char path[MAXPGPATH];

	snprintf(path, sizeof(path), file == 0 ? "%s/77" : "%s/77.%u", directory,
			 (unsigned) file);
	return path;
}

/* A whole file, without space. */
static void
make(uint64 file)
{
	int			fd = open(name(file), O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0 && ftruncate(fd, (off_t) 1 << 30) == 0);
	close(fd);
}

/* The page at a place of the relation, by a descriptor of the test's own. */
static void
look(uint64 block, char *page)
{
	uint64		at = block * BLCKSZ;
	int			fd = open(name(at >> 30), O_RDONLY);

	CHECK(fd >= 0);
	CHECK(pread(fd, page, BLCKSZ, at & ((1 << 30) - 1)) == BLCKSZ);
	close(fd);
}

static bool
is_page(const char *page, BlockNumber block)
{
	uint32		ends[2];

	memcpy(&ends[0], page + 100, sizeof(uint32));
	memcpy(&ends[1], page + BLCKSZ - 4, sizeof(uint32));
	return ends[0] == block && ends[1] == block;
}

/* Stands in for what a hint asks: within one file, and the right one. */
int
posix_fadvise(int fd, off_t offset, off_t size, int advice)
{
	char		link[64];
	char		path[MAXPGPATH];
	ssize_t		n;
	uint32		page;
	BlockNumber block;

	if (advice != POSIX_FADV_WILLNEED)
		return 0;
	CHECK(offset >= 0 && size > 0 && offset + size <= (off_t) 1 << 30);
	for (; size > 0; offset += BLCKSZ, size -= BLCKSZ, advised++)
	{
		char		bytes[BLCKSZ];

		CHECK(pread(fd, bytes, BLCKSZ, offset) == BLCKSZ);
		memcpy(&page, bytes + 100, sizeof(page));
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, path, sizeof(path) - 1);
		path[Max(n, 0)] = '\0';
		block = page;
		CHECK(strcmp(path, name((uint64) block * BLCKSZ >> 30)) == 0);
		CHECK(is_page(bytes, block));
	}
	return 0;
}

/* ---- tests ---- */

static bool
verify(Relation rel, const SkxBlkKey *key, BlockNumber block, const char *page,
	   bool report)
{
	CHECK(is_page(page, block));
	return true;
}

/* Writes blocks of one file where it cannot be written past the page cache. */
static void
write_cached(const SkxBlkTransfer *transfer)
{
	uint64		at = (uint64) transfer->block * BLCKSZ;
	int			fd = open(name(at >> 30), O_RDWR);

	CHECK(fd >= 0);
	CHECK(pwritev(fd, transfer->iov, transfer->niov, at & ((1 << 30) - 1)) ==
		  (ssize_t) transfer->npages * BLCKSZ);
	close(fd);
}

/* Writes n blocks, those of one file together. */
static void
test_write(BlockNumber first, int n)
{
	char	   *memory = NULL;
	char		page[BLCKSZ];
	struct iovec iov[2 * SIDE];
	int			i;

	CHECK(posix_memalign((void **) &memory, 4096, n * BLCKSZ) == 0);
	memset(memory, 7, n * BLCKSZ);
	for (i = 0; i < n; i++)
	{
		uint32		block = first + i;

		iov[i].iov_base = memory + i * BLCKSZ;
		iov[i].iov_len = BLCKSZ;
		memcpy(memory + i * BLCKSZ + 100, &block, sizeof(block));
		memcpy(memory + (i + 1) * BLCKSZ - 4, &block, sizeof(block));
	}
	for (i = 0; i < n;)
	{
		SkxBlkTransfer transfer = {0};

		transfer.block = first + i;
		transfer.npages = Min(n - i, RELSEG_SIZE - (first + i) % RELSEG_SIZE);
		transfer.iov = &iov[i];
		transfer.niov = transfer.npages;
		skx_blkio_write(&relation, &transfer);
		if (transfer.error == EINVAL)
			write_cached(&transfer);
		else
			CHECK(transfer.error == 0 &&
				  transfer.done == (size_t) transfer.npages * BLCKSZ);
		i += transfer.npages;
	}
	for (i = 0; i < n; i++)
	{
		look((uint64) first + i, page);
		CHECK(is_page(page, first + i) && page[200] == 7);
	}
	free(memory);
}

/*
 * Reads n blocks together, as pages of a plane that lies where its last page is
 * block `MaxBlockNumber - 1`.
 */
static void
test_read(BlockNumber first, int n, const SkxBlkMethod *method)
{
	SkxBlkRun	run = {0, MaxBlockNumber - 1, 1};
	SkxBlkPlane plane = {1, 9, SKX_BLK_CLASS_PAGE, 1, MaxBlockNumber - 1, 1,
	&run};
	SkxBlkFile	file = {&relation, method, verify, 1};
	SkxBlkLoad *load = skx_blkio_load_new(&file, &plane, false);
	int			borders = (first + n - 1) / RELSEG_SIZE - first / RELSEG_SIZE;
	uint32		ordinals[2 * SIDE];
	int			i;

	memset(frames, 0xAA, 2 * SIDE * BLCKSZ);
	for (i = 0; i < n; i++)
	{
		pins[i].filled = false;
		ordinals[i] = first - 1 + i;
		skx_blkio_load_add(load, i, ordinals[i]);
	}
	advised = 0;
	if (method == &skx_blkio_method_buffered)
	{
		method->prefetch(&file, &plane, ordinals, n);
		CHECK(advised == n);
	}
	skx_blkio_load_start(load);
	CHECK(load->ntransfers == 1 + borders);
	skx_blkio_load_finish(load);
	for (i = 0; i < n; i++)
		CHECK(pins[i].filled && is_page(frames + (Size) i * BLCKSZ, first + i));
	CHECK(skx_blkio_ring_depth() == 0);
}

static void
test_blocks(BlockNumber first, int n)
{
	static const SkxBlkMethod *const methods[] = {
		&skx_blkio_method_buffered, &skx_blkio_method_direct,
		&skx_blkio_method_uring, &skx_blkio_method_uring_direct
	};
	char		page[BLCKSZ];
	int			i;

	test_write(first, n);
	for (i = 0; i < (int) lengthof(methods); i++)
	{
		if (methods[i]->start != NULL && !skx_blkio_ring_ready())
			continue;
		test_read(first, n, methods[i]);
		test_read(first + n / 2 - 1, 1, methods[i]);
		test_read(first + n / 2, 1, methods[i]);
	}
	for (i = 0; i < n; i++)
	{
		CHECK(skx_blkio_fd_read_page(&relation, first + i, page) == BLCKSZ);
		CHECK(is_page(page, first + i));
	}
	advised = 0;
	skx_blkio_hint(&relation, first, n);
	CHECK(advised == n && served == 0);
	skx_blkio_io_method = SKX_BLK_SHARED_BUFFERS;
	skx_blkio_hint(&relation, first, n);
	CHECK(advised == n && served == (BlockNumber) n);
	skx_blkio_io_method = SKX_BLK_URING_DIRECT;
	served = 0;
}

/* A file that is not there, and one that ends too soon. */
static void
test_end(void)
{
	const BlockNumber file = 5;
	char		page[BLCKSZ];

	CHECK(skx_blkio_fd_read_page(&relation, file * RELSEG_SIZE,
								 page) == -ENOENT);
	make(file);
	CHECK(truncate(name(file), BLCKSZ) == 0);
	CHECK(skx_blkio_fd_read_page(&relation, file * RELSEG_SIZE,
								 page) == BLCKSZ);
	CHECK(skx_blkio_fd_read_page(&relation, file * RELSEG_SIZE + 1,
								 page) == 0);
	unlink(name(file));
}

int
main(void)
{
	static const uint64 files[] = {0, 1, 2, 2047, 2048, 16383, 16384, 32766,
	32767};
	int			i;

	unit_seed(11);
	CHECK(mkdtemp(directory) != NULL);
	class.relpersistence = RELPERSISTENCE_PERMANENT;
	relation.rd_rel = &class;
	relation.rd_smgr = &smgr;
	relation.rd_id = 77;
	CHECK(posix_memalign((void **) &frames, 4096, 2 * SIDE * BLCKSZ) == 0);
	for (i = 0; i < (int) lengthof(files); i++)
		make(files[i]);
	for (i = 1; i < (int) lengthof(files); i++)
	{
		if (files[i - 1] == files[i] - 1)
			test_blocks(files[i] * RELSEG_SIZE - SIDE, 2 * SIDE);
		else
			test_blocks(files[i] * RELSEG_SIZE, SIDE);
	}
	test_blocks(1, SIDE);
	test_blocks(MaxBlockNumber - 2 * SIDE, 2 * SIDE);
	test_end();
	for (i = 0; i < (int) lengthof(files); i++)
		unlink(name(files[i]));
	CHECK(rmdir(directory) == 0);
	return unit_done("blkio_files");
}
