/*
 * test_compat_space.c
 *	  A file that grows, and shrinks, across the ends of its 1 GB files and up
 *	  to the last block that there can be.
 *
 * The files are sparse: of each, what lies beside its ends is there.
 *
 * Holds: compat 2
 */
#include "unit.h"
#include "server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "catalog/pg_tablespace_d.h"
#include "common/relpath.h"
#include "support/compat/compat.h"
#include "support/compat/compat_space.h"
#include "storage/fd.h"
#include "utils/guc.h"

#define FILE_BYTES	((off_t) RELSEG_SIZE * BLCKSZ)

/* ---- the server ---- */

static BlockNumber length;		/* of the main fork, as the server sees it */
static uint64 extended;			/* blocks that it was told to write */
static int	calls;

int
OpenTransientFile(const char *name, int flags)
{
	return open(name, flags, 0600);
}

int
CloseTransientFile(int fd)
{
	return close(fd);
}

const char *
GetConfigOption(const char *name, bool missing_ok, bool restrict_privileged)
{
	return NULL;
}

/* The log is not asked for. */
bool
errstart(int elevel, const char *domain)
{
	return false;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return false;
}

int
errmsg_internal(const char *format,...)
{
	abort();
}

int
errcode_for_file_access(void)
{
	abort();
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	abort();
}

/*
 * As md.c: a block may lie past the end of its file, with a hole before it, but
 * not of a file that comes after one that is not whole.
 */
static void
grow(BlockNumber block, BlockNumber n)
{
	CHECK(block >= length && block != InvalidBlockNumber);
	CHECK(n > 0 && (uint64) block + n <= MaxBlockNumber);
	CHECK(block / RELSEG_SIZE == length / RELSEG_SIZE);
	length = block + n;
	extended += n;
	if (++calls > 100000)
	{
		fprintf(stderr, "the file does not come to its end\n");
		exit(1);
	}
}

#if PG_VERSION_NUM >= 160000
void
smgrextend(SMgrRelation smgr, ForkNumber fork, BlockNumber block,
		   const void *page, bool skip)
{
	grow(block, 1);
}

void
smgrzeroextend(SMgrRelation smgr, ForkNumber fork, BlockNumber block, int n,
			   bool skip)
{
	/* it goes on in the next file by itself */
	while (n > 0)
	{
		int			here = Min(n, RELSEG_SIZE - block % RELSEG_SIZE);

		grow(block, here);
		block += here;
		n -= here;
	}
}
#else
void
smgrextend(SMgrRelation smgr, ForkNumber fork, BlockNumber block, char *page,
		   bool skip)
{
	grow(block, 1);
}
#endif

/* ---- the files ---- */

static SMgrRelationData smgr;
static char directory[] = "/tmp/skipidx_space_XXXXXX";

static const char *
name(BlockNumber file)
{
	static char path[MAXPGPATH];

	if (file == 0)
		return "base/5/77";
	snprintf(path, sizeof(path), "base/5/77.%u", file);
	return path;
}

/* The length of a file; -1: there is none. */
static off_t
size(BlockNumber file)
{
	struct stat st;

	return stat(name(file), &st) == 0 ? st.st_size : -1;
}

/* A file of so many blocks, without space. */
static void
make(BlockNumber file, BlockNumber nblocks)
{
	int			fd = open(name(file), O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, (off_t) nblocks * BLCKSZ) == 0);
	close(fd);
}

static void
set_up(void)
{
	CHECK(mkdtemp(directory) != NULL && chdir(directory) == 0);
	CHECK(mkdir("base", 0700) == 0 && mkdir("base/5", 0700) == 0);
#if PG_VERSION_NUM >= 160000
	smgr.smgr_rlocator.locator.spcOid = DEFAULTTABLESPACE_OID;
	smgr.smgr_rlocator.locator.dbOid = 5;
	smgr.smgr_rlocator.locator.relNumber = 77;
	smgr.smgr_rlocator.backend = -1;
#else
	smgr.smgr_rnode.node.spcNode = DEFAULTTABLESPACE_OID;
	smgr.smgr_rnode.node.dbNode = 5;
	smgr.smgr_rnode.node.relNode = 77;
	smgr.smgr_rnode.backend = -1;
#endif
}

static void
tear_down(void)
{
	CHECK(rmdir("base/5") == 0 && rmdir("base") == 0);
	CHECK(chdir("/") == 0 && rmdir(directory) == 0);
}

/* ---- tests ---- */

static void
test_server(BlockNumber from, BlockNumber to, bool each)
{
	length = from;
	extended = 0;
	calls = 0;
	skx_compat_extend(&smgr, from, to);
	CHECK(length == to);
	CHECK(calls <= to / RELSEG_SIZE - from / RELSEG_SIZE + 1);
	if (!each)
		return;
	length = from;
	extended = 0;
	calls = 0;
	skx_compat_write_zeros(&smgr, from, to);
	CHECK(length == to && extended == to - from);
}

/* The last four blocks of one file, and the first of the next. */
static void
test_border(BlockNumber file)
{
	BlockNumber border = file * RELSEG_SIZE;
	BlockNumber to = border + 3;
	struct stat st;

	make(file - 1, RELSEG_SIZE - 4);
	CHECK(skx_compat_allocate_space(&smgr, border - 4, to) == 0);
	CHECK(size(file - 1) == FILE_BYTES && size(file) == 3 * BLCKSZ);
	CHECK(size(file + 1) == -1);
	CHECK(stat(name(file - 1), &st) == 0 && st.st_blocks < 1000);
	skx_compat_truncate_tail(&smgr, border - 2, to);
	CHECK(size(file - 1) == FILE_BYTES - 2 * BLCKSZ && size(file) == 0);
	unlink(name(file - 1));
	unlink(name(file));
}

/* The last file ends before its end: blocks 0xFFFFFFFE and .. F are none. */
static void
test_last(void)
{
	BlockNumber file = MaxBlockNumber / RELSEG_SIZE;
	BlockNumber at = MaxBlockNumber % RELSEG_SIZE;

	make(file, at - 5);
	CHECK(skx_compat_allocate_space(&smgr, MaxBlockNumber - 5,
									MaxBlockNumber) == 0);
	CHECK(size(file) == (off_t) at * BLCKSZ);
	CHECK(size(0) == -1);
	skx_compat_truncate_tail(&smgr, MaxBlockNumber - 3, MaxBlockNumber);
	CHECK(size(file) == (off_t) (at - 3) * BLCKSZ);
	unlink(name(file));
}

int
main(void)
{
	static const BlockNumber files[] = {1, 2, 2047, 16383, 16384, 32767};
	BlockNumber last = MaxBlockNumber / RELSEG_SIZE * RELSEG_SIZE;
	int			i;

	unit_seed(6);
	set_up();
	test_server(0, 5, true);
	for (i = 0; i < (int) lengthof(files); i++)
	{
		BlockNumber border = files[i] * RELSEG_SIZE;

		test_server(border - 3, border, true);
		test_server(border - 3, border + 3, true);
		test_server(border, border + 1, true);
		test_server(border - 1, border + 5 * (i == 0) * RELSEG_SIZE + 1,
					false);
		test_border(files[i]);
	}
	test_server(last, MaxBlockNumber, false);
	test_server(last + 7, MaxBlockNumber, false);
	test_server(MaxBlockNumber - 1, MaxBlockNumber, true);
	test_server(5, MaxBlockNumber, false);
	test_last();
	tear_down();
	return unit_done("compat_space");
}
