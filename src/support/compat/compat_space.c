/*
 * compat_space.c
 *	  Space on disk for the blocks of a relation, before they are used.
 *
 * A block without space is a hole: on a full disk the write of a checkpoint
 * fails again and again, and so does the replay that a restart needs.  From 16
 * on the storage manager allocates space.  But if there is too little it
 * raises an error, and keeps what it has allocated until then.  The functions
 * here return the error to the caller, which can free what it has allocated.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "support/compat/compat.h"
#include "support/compat/compat_space.h"
#include "utils/guc.h"

/* Blocks of one call, which starts again after a signal. */
#define SKX_SPACE_BLOCKS_PER_CALL	1024

/*
 * Opens the file that has a block of the main fork, and creates it if the
 * block is its first one.  Returns a descriptor, or -1 with errno set.
 */
static int
skx_compat_space_open(SMgrRelation smgr, BlockNumber block)
{
	char		path[MAXPGPATH];
	BlockNumber segment = block / RELSEG_SIZE;
	int			flags = O_RDWR | PG_BINARY;

#if PG_VERSION_NUM >= 180000
	strlcpy(path, relpath(smgr->smgr_rlocator, MAIN_FORKNUM).str,
			sizeof(path));
#else
	char	   *first;

#if PG_VERSION_NUM >= 160000
	first = relpath(smgr->smgr_rlocator, MAIN_FORKNUM);
#else
	first = relpath(smgr->smgr_rnode, MAIN_FORKNUM);
#endif
	strlcpy(path, first, sizeof(path));
	pfree(first);
#endif
	if (segment > 0)
		snprintf(path + strlen(path), sizeof(path) - strlen(path), ".%u",
				 segment);
	if (segment > 0 && block % RELSEG_SIZE == 0)
		flags |= O_CREAT;
	return OpenTransientFile(path, flags);
}

/*
 * Returns true if the server extends files by writes of zeros.  Up to 15, and
 * in early releases of 16 to 18, there is no such setting.
 */
static bool
skx_compat_space_server_writes(void)
{
	const char *method = GetConfigOption("file_extend_method", true, false);

	return method != NULL && strcmp(method, "posix_fallocate") != 0;
}

/* Writes zeros beyond the end of the file; returns 0 or errno. */
static int
skx_compat_space_write(int fd, off_t offset, off_t end)
{
	PGAlignedBlock zero;

	memset(zero.data, 0, BLCKSZ);
	while (offset < end)
	{
		ssize_t		n = pwrite(fd, zero.data, Min(BLCKSZ, end - offset),
							   offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : ENOSPC;
		offset += n;
	}
	return 0;
}

/* Allocates space for blocks of one file; returns 0 or errno. */
static int
skx_compat_space_file(int fd, off_t offset, off_t end, bool fresh)
{
	int			error = EOPNOTSUPP;

#ifdef HAVE_POSIX_FALLOCATE
	if (!fresh || !skx_compat_space_server_writes())
	{
		do
		{
			error = posix_fallocate(fd, offset, end - offset);
		} while (error == EINTR);
	}
#endif
	if (error != EOPNOTSUPP && error != EINVAL)
		return error;
	return fresh ? skx_compat_space_write(fd, offset, end) : 0;
}

/*
 * Does the same over all files; `fresh` means that nothing has been written
 * there yet.
 */
static int
skx_compat_space_blocks(SMgrRelation smgr, BlockNumber from, BlockNumber to,
						bool fresh)
{
	int			error = 0;

	while (from < to && error == 0)
	{
		BlockNumber at = from % RELSEG_SIZE;
		BlockNumber n = Min(to - from, RELSEG_SIZE - at);
		int			fd;

		n = Min(n, SKX_SPACE_BLOCKS_PER_CALL);
		fd = skx_compat_space_open(smgr, from);
		if (fd < 0)
			/* a storage manager without files allocates space by itself */
			return errno == ENOENT ? 0 : errno;
		error = skx_compat_space_file(fd, (off_t) at * BLCKSZ,
									  (off_t) (at + n) * BLCKSZ, fresh);
		CloseTransientFile(fd);
		from += n;
	}
	return error;
}

int
skx_compat_allocate_space(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
	return skx_compat_space_blocks(smgr, from, to, true);
}

int
skx_compat_allocate_holes(SMgrRelation smgr, BlockNumber nblocks)
{
#if PG_VERSION_NUM >= 160000
	return 0;
#else
	return skx_compat_space_blocks(smgr, 0, nblocks, false);
#endif
}

void
skx_compat_truncate_tail(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
	while (from < to)
	{
		BlockNumber at = from % RELSEG_SIZE;
		int			fd = skx_compat_space_open(smgr, from);

		/* blocks that cannot be cut off are used when the file grows again */
		if (fd < 0)
			return;
		if (ftruncate(fd, (off_t) at * BLCKSZ) != 0)
			ereport(DEBUG1,
					(errcode_for_file_access(),
					 errmsg_internal("could not shorten an index file: %m")));
		CloseTransientFile(fd);
		from += Min(to - from, RELSEG_SIZE - at);
	}
}

bool
skx_compat_has_space(SMgrRelation smgr, uint64 nblocks)
{
	int			fd = skx_compat_space_open(smgr, 0);
	struct statvfs fs;
	bool		enough = true;

	if (fd < 0)
		return true;
	if (fstatvfs(fd, &fs) == 0)
		enough = nblocks <= (uint64) fs.f_bavail * fs.f_frsize / BLCKSZ;
	CloseTransientFile(fd);
	return enough;
}

#if PG_VERSION_NUM >= 160000
/*
 * Writes zeros to blocks by several calls, since the storage manager takes the
 * number of blocks as an int.
 */
static void
skx_compat_space_zero(SMgrRelation smgr, BlockNumber from, BlockNumber to,
					  bool skip_fsync)
{
	while (from < to)
	{
		BlockNumber n = Min(to - from, (BlockNumber) RELSEG_SIZE);

		smgrzeroextend(smgr, MAIN_FORKNUM, from, (int) n, skip_fsync);
		from += n;
	}
}
#endif

void
skx_compat_extend(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
#if PG_VERSION_NUM >= 160000
	skx_compat_space_zero(smgr, from, to, true);
#else
	PGAlignedBlock zero;

	/*
	 * One block at the end of each segment file suffices: the file system
	 * reads a hole as zeros, and skx_compat_allocate_holes() fills it.
	 */
	memset(zero.data, 0, BLCKSZ);
	while (from < to)
	{
		/* `from` may pass the last block number: only from - 1 is used */
		from += Min(to - from, RELSEG_SIZE - from % RELSEG_SIZE);
		smgrextend(smgr, MAIN_FORKNUM, from - 1, zero.data, true);
	}
#endif
}

void
skx_compat_write_zeros(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
#if PG_VERSION_NUM >= 160000
	skx_compat_space_zero(smgr, from, to, false);
#else
	PGAlignedBlock zero;

	/* the write of the last block of each file requests its sync */
	memset(zero.data, 0, BLCKSZ);
	for (; from < to; from++)
		smgrextend(smgr, MAIN_FORKNUM, from, zero.data,
				   from + 1 < to && (from + 1) % RELSEG_SIZE != 0);
#endif
}
