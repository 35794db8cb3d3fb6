/*
 * blkio_path.c
 *	  Does a file hold the pages of its relation as they are?
 *
 * The server's storage manager may be another than its own: one that encrypts
 * or compresses pages, or keeps them elsewhere.  What goes past it would be
 * read as garbage, and written in clear text.  Nothing in the server says that
 * one is there, so the file is asked: a page that the storage manager has
 * written must be found by a read of the file, bit for bit.  A new index gives
 * it a page of random bytes, in the first block that this process is going to
 * write, or block 0 if several write together; later it is the metapage, whose
 * buffer is written out before, and held so that it cannot change until the file
 * has been read.  So a dirty buffer, replay or a crash before make no
 * difference.
 *
 * A storage manager that writes later, or only when told to sync, does not
 * pass: its file is not what it would read.
 *
 * What was found of a file in use holds until the server stops, and is
 * remembered for all processes in the memory of the cache.  There is room for
 * many files; which of them is forgotten is asked again.  In doubt the answer
 * is no: going through the server is right with every storage manager.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/blkio/blkio_cache.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/smgr.h"
#include "utils/wait_event.h"

/* The page of a file in use that is compared: every index has it. */
#define SKX_BLK_PATH_BLOCK		0

/* A comparison that fails is made again, and again, this much later, us. */
#define SKX_BLK_PATH_TRIES		3
#define SKX_BLK_PATH_PAUSE		1000

/* Places of the table where an answer may be. */
#define SKX_BLK_PATH_WAYS		4

/* What is known, in the low bits of a word; above them the key's hash. */
#define SKX_BLK_PATH_MASK		UINT64CONST(3)

/* Without a cache, what this process has found; it has few files then. */
static pg_atomic_uint64 skx_blkio_paths_mine[SKX_BLK_PATHS_MINE];
static bool skx_blkio_paths_ready = false;

/* Two pages for a comparison, aligned for direct I/O of the server. */
typedef struct SkxBlkPathPages
{
	char	   *wanted;
	char	   *raw;
	char	   *allocated;
} SkxBlkPathPages;

static void
skx_blkio_path_begin(SkxBlkPathPages *pages)
{
	pages->allocated = palloc(2 * BLCKSZ + SKX_IO_ALIGN);
	pages->wanted = (char *) TYPEALIGN(SKX_IO_ALIGN, pages->allocated);
	pages->raw = pages->wanted + BLCKSZ;
}

/* The table of answers, and its size: a power of two. */
static pg_atomic_uint64 *
skx_blkio_path_table(uint32 *size)
{
	if (skx_blkio_cache.header != NULL)
	{
		*size = SKX_BLK_PATHS;
		return skx_blkio_cache.header->paths;
	}
	if (!skx_blkio_paths_ready)
	{
		for (int i = 0; i < SKX_BLK_PATHS_MINE; i++)
			pg_atomic_init_u64(&skx_blkio_paths_mine[i], 0);
		skx_blkio_paths_ready = true;
	}
	*size = SKX_BLK_PATHS_MINE;
	return skx_blkio_paths_mine;
}

/*
 * The address of a file can be another's one day, its incarnation cannot; an
 * index and its copy have the same one in different places.
 */
static uint64
skx_blkio_path_key(Relation rel, uint64 incarnation)
{
	SkxLocator	locator = SKX_REL_LOCATOR(rel);

	return hash_bytes_extended((unsigned char *) &locator, sizeof(locator),
							   incarnation) & ~SKX_BLK_PATH_MASK;
}

static SkxBlkPath
skx_blkio_path_recall(uint64 key)
{
	uint32		size;
	pg_atomic_uint64 *table = skx_blkio_path_table(&size);

	for (uint32 i = 0; i < SKX_BLK_PATH_WAYS; i++)
	{
		uint64		word =
			pg_atomic_read_u64(&table[((key >> 2) + i) & (size - 1)]);

		if ((word & ~SKX_BLK_PATH_MASK) == key)
			return (SkxBlkPath) (word & SKX_BLK_PATH_MASK);
	}
	return SKX_BLK_PATH_UNKNOWN;
}

/*
 * Two processes that do this at a time lose an answer at worst, which is then
 * asked for again.
 */
static void
skx_blkio_path_remember(uint64 key, SkxBlkPath path)
{
	uint32		size;
	pg_atomic_uint64 *table = skx_blkio_path_table(&size);
	uint32		place = (key >> 2) & (size - 1);

	for (uint32 i = 0; i < SKX_BLK_PATH_WAYS; i++)
	{
		uint32		at = ((key >> 2) + i) & (size - 1);
		uint64		word = pg_atomic_read_u64(&table[at]);

		if (word == 0 || (word & ~SKX_BLK_PATH_MASK) == key)
		{
			place = at;
			break;
		}
	}
	pg_atomic_write_u64(&table[place], key | path);
}

/*
 * Reads the block past the server.  A file that is not there, or too short, is
 * an answer; no descriptor or a failed device is none.
 */
static SkxBlkPath
skx_blkio_path_read(Relation rel, BlockNumber block, char *page)
{
	ssize_t		n;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	n = skx_blkio_fd_look(rel, block, page);
	pgstat_report_wait_end();
	if (n < 0 && n != -ENOENT)
		return SKX_BLK_PATH_UNKNOWN;
	return n == BLCKSZ ? SKX_BLK_PATH_PROVEN : SKX_BLK_PATH_REFUSED;
}

/*
 * Compares the metapage in shared buffers with the file.  With the content
 * lock shared the page does not change, and when it has been written out the
 * file has what the storage manager made of just this page.  Its checksum was
 * put into the copy that was written.
 */
static SkxBlkPath
skx_blkio_path_compare(Relation rel, SkxBlkPathPages *pages)
{
	Buffer		buffer = ReadBuffer(rel, SKX_BLK_PATH_BLOCK);
	SkxBlkPath	path;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	FlushOneBuffer(buffer);
	memcpy(pages->wanted, BufferGetPage(buffer), BLCKSZ);
	path = skx_blkio_path_read(rel, SKX_BLK_PATH_BLOCK, pages->raw);
	UnlockReleaseBuffer(buffer);
	if (path != SKX_BLK_PATH_PROVEN)
		return path;

	/* zeros prove nothing */
	if (PageIsNew((Page) pages->wanted))
		return SKX_BLK_PATH_UNKNOWN;
	((PageHeader) pages->wanted)->pd_checksum =
		((PageHeader) pages->raw)->pd_checksum;
	return memcmp(pages->wanted, pages->raw, BLCKSZ) == 0 ?
		SKX_BLK_PATH_PROVEN : SKX_BLK_PATH_REFUSED;
}

/*
 * Writes a page of random bytes, in the form of a sound page since the file
 * may be copied meanwhile, and looks for it.
 */
static SkxBlkPath
skx_blkio_path_try(Relation rel, BlockNumber block, SkxBlkPathPages *pages)
{
	PageHeader	header = (PageHeader) pages->wanted;
	SkxBlkPath	path;

	PageInit((Page) pages->wanted, BLCKSZ, 0);
	header->pd_lower = header->pd_upper;
	if (!pg_strong_random(pages->wanted + SizeOfPageHeaderData,
						  BLCKSZ - SizeOfPageHeaderData))
		return SKX_BLK_PATH_UNKNOWN;
	skx_compat_page_checksum((Page) pages->wanted, block);
	smgrwrite(RelationGetSmgr(rel), MAIN_FORKNUM, block, pages->wanted, true);
	path = skx_blkio_path_read(rel, block, pages->raw);
	if (path == SKX_BLK_PATH_PROVEN &&
		memcmp(pages->wanted, pages->raw, BLCKSZ) != 0)
		path = SKX_BLK_PATH_REFUSED;
	return path;
}

static void
skx_blkio_path_report(Relation rel, SkxBlkPath path)
{
	if (path == SKX_BLK_PATH_PROVEN ||
		!skx_blkio_first_refusal(path == SKX_BLK_PATH_REFUSED ?
								 SKX_BLK_REFUSAL_PATH :
								 SKX_BLK_REFUSAL_LOOK))
		return;
	ereport(LOG,
			(errmsg("skipidx reads and writes index \"%s\" and others like it through the server only",
					RelationGetRelationName(rel)),
			 path == SKX_BLK_PATH_REFUSED ?
			 errdetail("Its file does not hold pages as the server's storage manager has written them.") :
			 errdetail("Its file could not be compared with what the server's storage manager has written.")));
}

SkxBlkPath
skx_blkio_path(Relation rel, uint64 incarnation)
{
	uint64		key = skx_blkio_path_key(rel, incarnation);
	SkxBlkPath	path = skx_blkio_path_recall(key);
	SkxBlkPathPages pages;

	if (likely(path != SKX_BLK_PATH_UNKNOWN))
		return path;
	skx_blkio_path_begin(&pages);
	for (int i = 0; i < SKX_BLK_PATH_TRIES; i++)
	{
		if (i > 0)
			pg_usleep(SKX_BLK_PATH_PAUSE);
		path = skx_blkio_path_compare(rel, &pages);
		if (path == SKX_BLK_PATH_PROVEN)
			break;
	}
	pfree(pages.allocated);
	if (path != SKX_BLK_PATH_UNKNOWN)
		skx_blkio_path_remember(key, path);
	skx_blkio_path_report(rel, path);
	return path;
}

SkxBlkPath
skx_blkio_path_new(Relation rel, BlockNumber block)
{
	SkxBlkPathPages pages;
	SkxBlkPath	path;

	skx_blkio_path_begin(&pages);
	path = skx_blkio_path_try(rel, block, &pages);
	pfree(pages.allocated);
	skx_blkio_path_report(rel, path);
	return path;
}
