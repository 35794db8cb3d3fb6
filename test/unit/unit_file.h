/*
 * unit_file.h
 *	  Stands in for the file of one index: its buffers, their records of the
 *	  log, its growth and its end, and a crash that loses the last records.
 *
 * Included once, by a test of a part of the server, after unit_case.h and
 * unit_memory.h.  The test defines the functions of "told to the test".
 * Buffer -1 - n is block n, as of a local buffer, because these are found by
 * pointers.
 */
#ifndef SKX_TEST_UNIT_FILE_H
#define SKX_TEST_UNIT_FILE_H

#include "access/generic_xlog.h"
#include "access/xlog.h"
#include "format/disk/disk_page.h"
#include "storage/blkio/blkio.h"
#include "storage/bufmgr.h"
#include "storage/smgr.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

/* Most pages of the file, and most images of pages that are not flushed. */
#define UNIT_FILE_MOST		8192
#define UNIT_IMAGES_MOST	512

/* ---- told to the test ---- */

/* A record is about to be inserted; the server may crash before it is. */
static void unit_file_record(void);

/*
 * A page is about to get an image of a record; `anew`: the record has all of
 * the page.
 */
static void unit_file_image(BlockNumber block, const char *image, bool anew);

/* The record is inserted, and its pages are changed. */
static void unit_file_recorded(bool meta);

/* A page of a segment is about to be written, past the buffers. */
static void unit_file_put(BlockNumber block);

/* ---- pages ---- */

Block	   *LocalBufferBlockPointers;
char	   *BufferBlocks;
int			NBuffers;
int			NLocBuffer = UNIT_FILE_MOST;

static Block unit_pages[UNIT_FILE_MOST];	/* NULL: the page is zero, or of a
											 * segment */

/* Pages that are not in use. */
static Block unit_spare[UNIT_FILE_MOST + UNIT_IMAGES_MOST +
						MAX_GENERIC_XLOG_PAGES];
static int	unit_nspare;
static BlockNumber unit_file_length;	/* pages of the file */
static BlockNumber unit_file_longest;	/* its most pages so far */
static BlockNumber unit_file_replayed;	/* of one that has the records only */
static BlockNumber unit_file_disk;	/* pages that it can have */

/* What a page was before a record that is not flushed. */
typedef struct UnitImage
{
	BlockNumber block;
	Block		before;
	BlockNumber replayed;		/* unit_file_replayed before the record */
	bool		first;			/* of its record */
} UnitImage;

static UnitImage unit_images[UNIT_IMAGES_MOST];
static int	unit_nimages;

static inline Block
unit_page_new(void)
{
	return unit_nspare > 0 ? unit_spare[--unit_nspare] : malloc(BLCKSZ);
}

static inline void
unit_page_free(Block page)
{
	if (page != NULL)
		unit_spare[unit_nspare++] = page;
}

/* Copies a page without the hole in it. */
static void
unit_page_copy(char *to, const char *from)
{
	const PageHeaderData *header = (const PageHeaderData *) from;
	Size		lower = header->pd_lower;

	if (lower < SKX_PAGE_START || lower > SKX_PAGE_END)
		lower = SKX_PAGE_END;
	memcpy(to, from, lower);
	memcpy(to + SKX_PAGE_END, from + SKX_PAGE_END, BLCKSZ - SKX_PAGE_END);
}

/* Clears the hole, as each record does. */
static void
unit_page_clear(char *page)
{
	Size		lower = ((const PageHeaderData *) page)->pd_lower;

	if (lower >= SKX_PAGE_START)
		memset(page + lower, 0, SKX_PAGE_END - lower);
}

/* Flushes the log: no crash takes these records back. */
static inline void
unit_file_flush(void)
{
	while (unit_nimages > 0)
		unit_page_free(unit_images[--unit_nimages].before);
}

/* Takes back the last `n` records that are not flushed. */
static inline void
unit_file_lose(int n)
{
	while (n > 0 && unit_nimages > 0)
	{
		UnitImage  *image = &unit_images[--unit_nimages];

		unit_page_free(unit_pages[image->block]);
		unit_pages[image->block] = image->before;
		unit_page_clear(image->before);
		unit_file_replayed = image->replayed;
		if (image->first)
			n--;
	}
	unit_file_flush();
}

/* Returns how many records are not flushed. */
static inline int
unit_file_unflushed(void)
{
	int			n = 0;
	int			i;

	for (i = 0; i < unit_nimages; i++)
		n += unit_images[i].first;
	return n;
}

/* Cuts the file off. */
static inline void
unit_file_cut(BlockNumber length)
{
	BlockNumber i;

	for (i = length; i < unit_file_length; i++)
	{
		unit_page_free(unit_pages[i]);
		unit_pages[i] = NULL;
	}
	unit_file_length = length;
	unit_file_replayed = Min(unit_file_replayed, length);
}

/* Begins with an empty file. */
static inline void
unit_file_begin(void)
{
	unit_file_flush();
	unit_file_cut(0);
	unit_file_replayed = unit_file_longest = 0;
	unit_file_disk = UNIT_FILE_MOST;
	LocalBufferBlockPointers = unit_pages;
}

/* ---- buffers ---- */

/* Buffers that are locked; there are never many. */
typedef struct UnitLock
{
	Buffer		buffer;
	int			mode;
} UnitLock;

static UnitLock unit_locks[16];
static int	unit_nlocks;

bool
skx_compat_buffer_locked(Buffer buffer)
{
	int			i;

	for (i = 0; i < unit_nlocks; i++)
		if (unit_locks[i].buffer == buffer)
			return unit_locks[i].mode == BUFFER_LOCK_EXCLUSIVE;
	return false;
}

BlockNumber
BufferGetBlockNumber(Buffer buffer)
{
	return (BlockNumber) (-1 - buffer);
}

Buffer
ReadBuffer(Relation rel, BlockNumber block)
{
	if (block >= unit_file_length)
		unit_wrong("a page past the end of the file is read: %u", block);
	if (unit_pages[block] == NULL)
		unit_pages[block] = memset(unit_page_new(), 0, BLCKSZ);
	return -1 - (Buffer) block;
}

void
LockBuffer(Buffer buffer, int mode)
{
	int			i;

	for (i = 0; i < unit_nlocks; i++)
		if (unit_locks[i].buffer == buffer &&
			(mode == BUFFER_LOCK_EXCLUSIVE ||
			 unit_locks[i].mode == BUFFER_LOCK_EXCLUSIVE))
			unit_wrong("a locked buffer is locked: %u",
					   BufferGetBlockNumber(buffer));
	if (unit_nlocks == lengthof(unit_locks))
		unit_wrong("buffers stay locked: %u", BufferGetBlockNumber(buffer));
	unit_locks[unit_nlocks].buffer = buffer;
	unit_locks[unit_nlocks++].mode = mode;
}

Buffer
ReadBufferExtended(Relation rel, ForkNumber fork, BlockNumber block,
				   ReadBufferMode mode, BufferAccessStrategy strategy)
{
	Buffer		buffer = ReadBuffer(rel, block);

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	return buffer;
}

void
UnlockReleaseBuffer(Buffer buffer)
{
	int			i;

	for (i = 0; i < unit_nlocks; i++)
	{
		if (unit_locks[i].buffer != buffer)
			continue;
		unit_locks[i] = unit_locks[--unit_nlocks];
		return;
	}
	unit_wrong("a buffer is unlocked that is not locked: %u",
			   BufferGetBlockNumber(buffer));
}

/* ---- records ---- */

struct GenericXLogState
{
	int			n;
	Buffer		buffers[MAX_GENERIC_XLOG_PAGES];
	Block		images[MAX_GENERIC_XLOG_PAGES];
	bool		anew[MAX_GENERIC_XLOG_PAGES];
};

XLogRecPtr	XactLastRecEnd;

static GenericXLogState unit_record;
static bool unit_record_begun;

static void
unit_record_drop(void)
{
	while (unit_record_begun && unit_record.n > 0)
		unit_page_free(unit_record.images[--unit_record.n]);
	unit_record_begun = false;
}

GenericXLogState *
GenericXLogStart(Relation rel)
{
	if (unit_record_begun)
		unit_wrong("a record is begun in another: %u", 0);
	unit_record_begun = true;
	unit_record.n = 0;
	return &unit_record;
}

Page
GenericXLogRegisterBuffer(GenericXLogState *state, Buffer buffer, int flags)
{
	int			i;

	for (i = 0; i < state->n; i++)
		if (state->buffers[i] == buffer)
			return (Page) state->images[i];
	if (state->n == MAX_GENERIC_XLOG_PAGES ||
		!skx_compat_buffer_locked(buffer))
		unit_wrong("a record has many pages, or one that is not locked: %u",
				   BufferGetBlockNumber(buffer));
	state->buffers[state->n] = buffer;
	state->anew[state->n] = (flags & GENERIC_XLOG_FULL_IMAGE) != 0;
	state->images[state->n] = unit_page_new();
	unit_page_copy(state->images[state->n], BufferGetPage(buffer));
	return (Page) state->images[state->n++];
}

XLogRecPtr
GenericXLogFinish(GenericXLogState *state)
{
	bool		meta = false;
	int			i;

	unit_file_record();
	if (unit_nimages + state->n > UNIT_IMAGES_MOST)
		unit_file_flush();
	for (i = 0; i < state->n; i++)
		unit_file_image(BufferGetBlockNumber(state->buffers[i]),
						state->images[i], state->anew[i]);
	for (i = 0; i < state->n; i++)
	{
		UnitImage  *image = &unit_images[unit_nimages++];

		image->block = BufferGetBlockNumber(state->buffers[i]);
		image->before = unit_page_new();
		image->replayed = unit_file_replayed;
		image->first = i == 0;
		/* pages stay where they are, since callers look at them */
		unit_page_copy(image->before, unit_pages[image->block]);
		unit_page_copy(unit_pages[image->block], state->images[i]);
		if (state->anew[i])
			unit_page_clear(unit_pages[image->block]);
		unit_page_free(state->images[i]);
		unit_file_replayed = Max(unit_file_replayed, image->block + 1);
		meta = meta || image->block == 0;
	}
	unit_record_begun = false;
	unit_file_recorded(meta);
	return ++XactLastRecEnd;
}

void
XLogFlush(XLogRecPtr record)
{
	unit_file_flush();
}

/* Ends what an error or a crash leaves. */
static inline void
unit_file_abort(void)
{
	unit_record_drop();
	unit_nlocks = 0;
}

/* ---- the length of the file ---- */

BlockNumber
RelationGetNumberOfBlocksInFork(Relation rel, ForkNumber fork)
{
	return unit_file_length;
}

void
RelationTruncate(Relation rel, BlockNumber length)
{
	unit_file_cut(length);
}

void
skx_blkio_no_space(Relation rel, int error, int elevel)
{
	ereport(elevel,
			(errcode(ERRCODE_DISK_FULL),
			 errmsg("could not extend the index")));
}

/* Optional work leaves 1 MB. */
int
skx_blkio_extend(Relation rel, uint64 incarnation, BlockNumber length,
				 bool spare)
{
	uint64		needed = (uint64) length + (spare ? 128 : 0);

	if (length <= unit_file_length)
		return 0;
	if (length > UNIT_FILE_MOST)
		unit_wrong("the file becomes too long: %u", length);
	if (needed > unit_file_disk)
	{
		if (!spare)
			skx_blkio_no_space(rel, ENOSPC, ERROR);
		return ENOSPC;
	}
	unit_file_length = length;
	unit_file_longest = Max(unit_file_longest, length);
	return 0;
}

void
skx_blkio_extend_prepare(Relation rel, uint64 incarnation)
{
}

/* ---- pages past the buffers ---- */

/* The log is flushed before a page is written, as blkio/ does. */
static inline void
unit_file_write(BlockNumber block)
{
	unit_file_put(block);
	unit_file_flush();
	unit_page_free(unit_pages[block]);
	unit_pages[block] = NULL;
}

/* ---- pages of a new index ---- */

static SMgrRelationData unit_smgr;

SMgrRelation
smgropen(SkxLocator locator, int backend)
{
	return &unit_smgr;
}

#if PG_VERSION_NUM >= 170000
void
smgrpin(SMgrRelation reln)
{
}
#else
void
smgrsetowner(SMgrRelation *owner, SMgrRelation reln)
{
}
#endif

BlockNumber
smgrnblocks(SMgrRelation reln, ForkNumber fork)
{
	return unit_file_length;
}

void
skx_blkio_extend_new(Relation rel, uint64 incarnation, BlockNumber nblocks)
{
	unit_file_length = unit_file_longest = nblocks;
}

SkxBlkWriter *
skx_blkio_writer_begin_new(Relation rel)
{
	return (SkxBlkWriter *) &unit_smgr;
}

static inline bool
unit_writes_new(const SkxBlkWriter *w)
{
	return w == (const SkxBlkWriter *) &unit_smgr;
}

static inline void
unit_write_new(BlockNumber block, const char *page)
{
	if (unit_pages[block] == NULL)
		unit_pages[block] = unit_page_new();
	memcpy(unit_pages[block], page, BLCKSZ);
	unit_file_replayed = Max(unit_file_replayed, block + 1);
}

#if PG_VERSION_NUM >= 170000
void
smgrreadv(SMgrRelation reln, ForkNumber fork, BlockNumber block,
		  void **pages, BlockNumber n)
{
	memset(pages[0], 0, BLCKSZ);
}
#elif PG_VERSION_NUM >= 160000
void
smgrread(SMgrRelation reln, ForkNumber fork, BlockNumber block, void *page)
{
	memset(page, 0, BLCKSZ);
}
#else
void
smgrread(SMgrRelation reln, ForkNumber fork, BlockNumber block, char *page)
{
	memset(page, 0, BLCKSZ);
}
#endif

#define UNIT_BUILT		8		/* segments of a build, at most */

#endif							/* SKX_TEST_UNIT_FILE_H */
