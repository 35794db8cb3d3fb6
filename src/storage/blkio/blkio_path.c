/*
 * blkio_path.c
 *	  Finds out whether a file holds the pages of its relation as they are.
 *
 * The server may use a storage manager other than its own: one that encrypts
 * or compresses pages, or keeps them elsewhere.  A read past it would return
 * garbage, and a write past it would leave clear text.  The server does not
 * tell whether there is one, so the file is compared.  A read of the file must
 * find the metapage as the storage manager has written it, bit for bit.  Its
 * buffer is written out first, and locked so that it cannot change until the
 * file has been read.  Therefore a dirty buffer, replay or an earlier crash
 * make no difference.  A new index has no metapage yet, so the storage manager
 * is given another page in its place, before there is anything else in the
 * file.
 *
 * One page does not prove all others.  So a page that fails its check after a
 * read past the server is read again through it (blkio_load.c).  If it is sound
 * then, the answer for this file becomes no.
 *
 * A storage manager that writes later, or only at a sync, does not pass, since
 * its file differs from what it would read.
 *
 * The result for a file in use is valid until the server stops.  It is kept
 * for all processes in the memory of the cache.  That table has entries for
 * many files; a file whose entry was overwritten is compared again.  An entry
 * also tells which index has the file, since the keys of frames do not.  In
 * doubt the answer is no, since reads and writes through the server are correct
 * with every storage manager.
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

/* Block of the page of a file in use that is compared; every index has it. */
#define SKX_BLK_PATH_TEST_BLOCK		0

/*
 * Number of comparisons before the result counts as negative, and the pause
 * between them in us.
 */
#define SKX_BLK_PATH_TRIES		3
#define SKX_BLK_PATH_PAUSE		1000

/* Number of table entries that the answer for a file may be in. */
#define SKX_BLK_PATH_TABLE_WAYS		4

/*
 * The answer is in the low bits of an entry, the hash of the key above them.
 */
#define SKX_BLK_PATH_MASK		UINT64CONST(3)

/* The table of this process, used without a cache. */
static SkxBlkPathEntry skx_blkio_paths_mine[SKX_BLK_PATHS_LOCAL];
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

/* Returns the table of answers, and its size, a power of two. */
static SkxBlkPathEntry *
skx_blkio_path_table(uint32 *size)
{
	if (skx_blkio_cache.header != NULL)
	{
		*size = SKX_BLK_PATHS_SHARED;
		return skx_blkio_cache.header->paths;
	}
	if (!skx_blkio_paths_ready)
	{
		skx_blkio_paths_format(skx_blkio_paths_mine, SKX_BLK_PATHS_LOCAL);
		skx_blkio_paths_ready = true;
	}
	*size = SKX_BLK_PATHS_LOCAL;
	return skx_blkio_paths_mine;
}

/*
 * Returns the hash of a file's key.  The address alone may be reused for
 * another file, the incarnation is not.  An index and its copy share the
 * incarnation and have different addresses.
 */
static uint64
skx_blkio_path_key(Relation rel, uint64 incarnation)
{
	SkxLocator	locator = SKX_REL_LOCATOR(rel);

	return hash_bytes_extended((unsigned char *) &locator, sizeof(locator),
							   incarnation) & ~SKX_BLK_PATH_MASK;
}

/*
 * Notes in an entry of the table whose file it is.  The words are not written
 * together, so another process may read one of them too early.  By the
 * incarnation it finds out when it opens the index.
 */
static void
skx_blkio_path_identify(SkxBlkPathEntry *entry, Relation rel,
						uint64 incarnation)
{
	uint64		index = (uint64) MyDatabaseId << 32 | RelationGetRelid(rel);

	if (pg_atomic_read_u64(&entry->incarnation) != incarnation)
		pg_atomic_write_u64(&entry->incarnation, incarnation);
	if (pg_atomic_read_u64(&entry->index) != index)
		pg_atomic_write_u64(&entry->index, index);
}

/*
 * Returns the answer for a file, if the table has it.  A file can get another
 * relation (VACUUM FULL), so the entry is brought up to date.
 */
static SkxBlkPath
skx_blkio_path_recall(Relation rel, uint64 incarnation)
{
	uint64		key = skx_blkio_path_key(rel, incarnation);
	uint32		size;
	SkxBlkPathEntry *table = skx_blkio_path_table(&size);

	for (uint32 i = 0; i < SKX_BLK_PATH_TABLE_WAYS; i++)
	{
		SkxBlkPathEntry *entry = &table[((key >> 2) + i) & (size - 1)];
		uint64		word = pg_atomic_read_u64(&entry->answer);

		if ((word & ~SKX_BLK_PATH_MASK) == key)
		{
			skx_blkio_path_identify(entry, rel, incarnation);
			return (SkxBlkPath) (word & SKX_BLK_PATH_MASK);
		}
	}
	return SKX_BLK_PATH_UNKNOWN;
}

/*
 * Stores an answer.  A file that was refused is not proven afterwards.  If two
 * processes do this at the same time, an answer may be lost; that file is
 * compared again.
 */
static void
skx_blkio_path_remember(Relation rel, uint64 incarnation, SkxBlkPath path)
{
	uint64		key = skx_blkio_path_key(rel, incarnation);
	uint32		size;
	SkxBlkPathEntry *table = skx_blkio_path_table(&size);
	uint32		place = (key >> 2) & (size - 1);

	for (uint32 i = 0; i < SKX_BLK_PATH_TABLE_WAYS; i++)
	{
		uint32		at = ((key >> 2) + i) & (size - 1);
		uint64		word = pg_atomic_read_u64(&table[at].answer);

		if (path == SKX_BLK_PATH_PROVEN &&
			word == (key | SKX_BLK_PATH_REFUSED))
			return;
		if (word == 0 || (word & ~SKX_BLK_PATH_MASK) == key)
		{
			place = at;
			break;
		}
	}
	skx_blkio_path_identify(&table[place], rel, incarnation);
	pg_atomic_write_u64(&table[place].answer, key | path);
}

/*
 * Reads the block past the server.  Returns REFUSED if the file is missing or
 * too short, and UNKNOWN without a descriptor or after a failed read.
 */
static SkxBlkPath
skx_blkio_path_read(Relation rel, BlockNumber block, char *page)
{
	ssize_t		n;

	pgstat_report_wait_start(WAIT_EVENT_DATA_FILE_READ);
	n = skx_blkio_fd_read_page(rel, block, page);
	pgstat_report_wait_end();
	if (n < 0 && n != -ENOENT)
		return SKX_BLK_PATH_UNKNOWN;
	return n == BLCKSZ ? SKX_BLK_PATH_PROVEN : SKX_BLK_PATH_REFUSED;
}

/*
 * Compares the metapage in shared buffers with the file.  The page does not
 * change while its content is locked shared.  After the flush the file has
 * what the storage manager made of this page.  The checksum is not compared:
 * only the copy that was written has it.
 */
static SkxBlkPath
skx_blkio_path_compare(Relation rel, SkxBlkPathPages *pages)
{
	Buffer		buffer = ReadBuffer(rel, SKX_BLK_PATH_TEST_BLOCK);
	SkxBlkPath	path;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	FlushOneBuffer(buffer);
	memcpy(pages->wanted, BufferGetPage(buffer), BLCKSZ);
	path = skx_blkio_path_read(rel, SKX_BLK_PATH_TEST_BLOCK, pages->raw);
	UnlockReleaseBuffer(buffer);
	if (path != SKX_BLK_PATH_PROVEN)
		return path;

	/* a page of zeros proves nothing */
	if (PageIsNew((Page) pages->wanted))
		return SKX_BLK_PATH_UNKNOWN;
	((PageHeader) pages->wanted)->pd_checksum =
		((PageHeader) pages->raw)->pd_checksum;
	return memcmp(pages->wanted, pages->raw, BLCKSZ) == 0 ?
		SKX_BLK_PATH_PROVEN : SKX_BLK_PATH_REFUSED;
}

/* Keeps an answer that is known, and logs it unless the file is proven. */
static void
skx_blkio_path_settle(Relation rel, uint64 incarnation, SkxBlkPath path)
{
	if (path != SKX_BLK_PATH_UNKNOWN)
		skx_blkio_path_remember(rel, incarnation, path);
	if (path == SKX_BLK_PATH_PROVEN ||
		!skx_blkio_note_limit(path == SKX_BLK_PATH_REFUSED ?
							  SKX_BLK_REFUSAL_PATH :
							  SKX_BLK_REFUSAL_COMPARE))
		return;
	ereport(LOG,
			(errmsg("skipidx reads and writes index \"%s\" and others like it through the server only",
					RelationGetRelationName(rel)),
			 path == SKX_BLK_PATH_REFUSED ?
			 errdetail("Its file does not hold pages as the server's storage manager has written them.") :
			 errdetail("Its file could not be compared with what the server's storage manager has written.")));
}

SkxBlkPath
skx_blkio_path_is_readable(Relation rel, uint64 incarnation)
{
	SkxBlkPath	path = skx_blkio_path_recall(rel, incarnation);
	SkxBlkPathPages pages;

	if (likely(path != SKX_BLK_PATH_UNKNOWN))
		return path;

	/* with a page locked there is no time for a comparison */
	if (InterruptHoldoffCount > 0)
		return SKX_BLK_PATH_UNKNOWN;
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
	skx_blkio_path_settle(rel, incarnation, path);
	return path;
}

bool
skx_blkio_path_is_proven(Relation rel, uint64 incarnation)
{
	return skx_blkio_path_recall(rel, incarnation) == SKX_BLK_PATH_PROVEN;
}

void
skx_blkio_path_begin_file(Relation rel, uint64 incarnation)
{
	SkxBlkPathPages pages;
	SkxBlkPath	path;

	skx_blkio_path_begin(&pages);
	PageInit((Page) pages.wanted, BLCKSZ, 0);
	skx_compat_page_checksum((Page) pages.wanted, SKX_BLK_PATH_TEST_BLOCK);
	smgrextend(RelationGetSmgr(rel), MAIN_FORKNUM, SKX_BLK_PATH_TEST_BLOCK,
			   pages.wanted, true);
	path = skx_blkio_path_read(rel, SKX_BLK_PATH_TEST_BLOCK, pages.raw);
	if (path == SKX_BLK_PATH_PROVEN &&
		memcmp(pages.wanted, pages.raw, BLCKSZ) != 0)
		path = SKX_BLK_PATH_REFUSED;
	pfree(pages.allocated);
	skx_blkio_path_settle(rel, incarnation, path);
}

void
skx_blkio_path_refuse(Relation rel, uint64 incarnation, BlockNumber block)
{
	skx_blkio_path_remember(rel, incarnation, SKX_BLK_PATH_REFUSED);
	if (skx_blkio_note_limit(SKX_BLK_REFUSAL_PAGE))
		ereport(WARNING,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("block %u of index \"%s\" is sound if the server reads it, but not if its file is read",
						block, RelationGetRelationName(rel)),
				 errdetail("From the next statement on, skipidx reads and writes this index through the server only."),
				 errhint("If the server's storage manager keeps pages in another form than it returns them, set skipidx.io_method to shared_buffers. Otherwise check the storage.")));
}
