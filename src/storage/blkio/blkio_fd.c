/*
 * blkio_fd.c
 *	  Descriptors of segment files, kept open between transfers.
 *
 * The server may close its virtual descriptors at any time.  Therefore these
 * are real ones.  They are counted with AcquireExternalFD and few, and the
 * least recently used is closed first.  They are identified by the physical
 * address of the relation and the number of the 1 GB file.  A relation that
 * moves or is rewritten gets another address.
 *
 * An address may be reused after its relation was dropped.  Therefore a
 * relcache invalidation closes the descriptors of the relation.  Besides, the
 * first use after each skx_blkio_open checks that the file still has a name.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/blkio/blkio_cache.h"
#include "utils/inval.h"

#define SKX_BLK_MAX_FDS			64

typedef struct SkxBlkFd
{
	SkxLocator	locator;
	BlockNumber segment;		/* number of the segment file */
	Oid			relid;
	int			fd;				/* -1: free */
	int			users;			/* transfers under way */
	bool		direct;
	bool		write;
	bool		is_stale;		/* close it when the last user has given it
								 * back */
	uint32		checked_epoch;	/* epoch when its name was checked */
	uint64		last_use;		/* clock of the last use */
} SkxBlkFd;

static SkxBlkFd skx_blkio_fds[SKX_BLK_MAX_FDS];
static int	skx_blkio_nfds = 0; /* entries in use or free, from the start */
static uint64 skx_blkio_fd_clock = 0;
static uint32 skx_blkio_fd_epoch = 1;
static bool skx_blkio_fd_registered = false;

static void
skx_blkio_fd_close(SkxBlkFd *entry)
{
	if (entry->fd < 0)
		return;
	if (entry->users > 0)
	{
		entry->is_stale = true;
		return;
	}
	close(entry->fd);
	ReleaseExternalFD();
	entry->fd = -1;
}

static void
skx_blkio_fd_invalidate(Datum arg, Oid relid)
{
	for (int i = 0; i < skx_blkio_nfds; i++)
	{
		if (relid == InvalidOid || skx_blkio_fds[i].relid == relid)
			skx_blkio_fd_close(&skx_blkio_fds[i]);
	}
}

void
skx_blkio_fd_recheck(void)
{
	skx_blkio_fd_epoch++;
}

/*
 * Closes the least recently used descriptor; returns false if all are in use.
 */
static bool
skx_blkio_fd_close_oldest(void)
{
	SkxBlkFd   *oldest = NULL;

	for (int i = 0; i < skx_blkio_nfds; i++)
	{
		SkxBlkFd   *entry = &skx_blkio_fds[i];

		if (entry->fd >= 0 && entry->users == 0 &&
			(oldest == NULL || entry->last_use < oldest->last_use))
			oldest = entry;
	}
	if (oldest == NULL)
		return false;
	skx_blkio_fd_close(oldest);
	return true;
}

/* Returns an entry for a new descriptor, or NULL if all are in use. */
static SkxBlkFd *
skx_blkio_fd_slot(void)
{
	int			limit = Min(SKX_BLK_MAX_FDS, Max(max_safe_fds / 4, 4));
	int			open = 0;
	SkxBlkFd   *entry = NULL;

	for (int i = 0; i < skx_blkio_nfds; i++)
		open += skx_blkio_fds[i].fd >= 0;
	if (open >= limit && !skx_blkio_fd_close_oldest())
		return NULL;
	for (int i = 0; i < skx_blkio_nfds && entry == NULL; i++)
	{
		if (skx_blkio_fds[i].fd < 0)
			entry = &skx_blkio_fds[i];
	}
	if (entry == NULL)
	{
		entry = &skx_blkio_fds[skx_blkio_nfds++];
		entry->fd = -1;
	}
	return entry;
}

static bool
skx_blkio_fd_none_left(int fd)
{
	return fd < 0 && (errno == EMFILE || errno == ENFILE);
}

/*
 * Opens a file.  If the process or the machine has no descriptor left, those
 * of this module are closed before those of the server.
 */
static int
skx_blkio_fd_open_path(const char *path, int flags)
{
	int			fd;

	do
		fd = open(path, flags);
	while (skx_blkio_fd_none_left(fd) && skx_blkio_fd_close_oldest());
	return skx_blkio_fd_none_left(fd) ? BasicOpenFile(path, flags) : fd;
}

static int
skx_blkio_fd_open_file(SkxLocator locator, BlockNumber segment, bool direct,
					   bool write)
{
	char	   *base = skx_compat_relation_path(locator);
	char	   *path = segment == 0 ? base : psprintf("%s.%u", base, segment);
	int			flags = (write ? O_RDWR : O_RDONLY) | PG_BINARY | O_CLOEXEC;
	int			fd;

	/*
	 * beyond the share of external descriptors, close those of this module
	 * before the server has to close its own
	 */
	while (!AcquireExternalFD())
	{
		if (!skx_blkio_fd_close_oldest())
		{
			ReserveExternalFD();
			break;
		}
	}
	fd = skx_blkio_fd_open_path(path, direct ? flags | PG_O_DIRECT : flags);
	if (fd < 0 && direct && !write && errno == EINVAL)
	{
		/* a file system without direct I/O, such as tmpfs */
		if (skx_blkio_note_limit(SKX_BLK_REFUSAL_DIRECT))
			ereport(LOG,
					(errmsg("file \"%s\" cannot be read with direct I/O, skipidx reads it through the page cache",
							path)));
		direct = false;
		fd = skx_blkio_fd_open_path(path, flags);
	}
	if (fd < 0)
	{
		int			save_errno = errno;

		ReleaseExternalFD();
		errno = save_errno;
	}
	else if (!direct && !write)
		(void) posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	if (path != base)
		pfree(path);
	pfree(base);
	return fd;
}

/*
 * Returns true if the file of an open descriptor has been unlinked.  Checks
 * that once per epoch.
 */
static bool
skx_blkio_fd_is_unlinked(SkxBlkFd *entry)
{
	struct stat st;

	if (entry->checked_epoch == skx_blkio_fd_epoch)
		return false;
	entry->checked_epoch = skx_blkio_fd_epoch;
	return fstat(entry->fd, &st) == 0 && st.st_nlink == 0;
}

static SkxBlkFd *
skx_blkio_fd_find(SkxLocator locator, BlockNumber segment, bool direct,
				  bool write)
{
	for (int i = 0; i < skx_blkio_nfds; i++)
	{
		SkxBlkFd   *entry = &skx_blkio_fds[i];

		if (entry->fd >= 0 && !entry->is_stale && entry->segment == segment &&
			entry->direct == direct && entry->write == write &&
			SKX_LOCATOR_EQUALS(entry->locator, locator))
			return entry;
	}
	return NULL;
}

int
skx_blkio_fd_get(Relation rel, BlockNumber block, int how, int *handle)
{
	bool		direct = (how & SKX_BLK_FD_DIRECT) != 0;
	bool		write = (how & SKX_BLK_FD_WRITE) != 0;
	SkxLocator	locator = SKX_REL_LOCATOR(rel);
	BlockNumber segment = block / RELSEG_SIZE;
	SkxBlkFd   *entry;

	if (!skx_blkio_fd_registered)
	{
		CacheRegisterRelcacheCallback(skx_blkio_fd_invalidate, (Datum) 0);
		skx_blkio_fd_registered = true;
	}
	entry = skx_blkio_fd_find(locator, segment, direct, write);
	if (entry != NULL &&
		((how & SKX_BLK_FD_FRESH) || skx_blkio_fd_is_unlinked(entry)))
	{
		skx_blkio_fd_close(entry);
		entry = NULL;
	}
	if (entry == NULL)
	{
		int			fd;

		entry = skx_blkio_fd_slot();
		if (entry == NULL)
		{
			errno = EBUSY;
			return -1;
		}
		fd = skx_blkio_fd_open_file(locator, segment, direct, write);
		if (fd < 0)
			return -1;
		entry->locator = locator;
		entry->segment = segment;
		entry->relid = RelationGetRelid(rel);
		entry->fd = fd;
		entry->users = 0;
		entry->direct = direct;
		entry->write = write;
		entry->is_stale = false;
		entry->checked_epoch = skx_blkio_fd_epoch;
	}
	entry->users++;
	entry->last_use = ++skx_blkio_fd_clock;
	*handle = entry - skx_blkio_fds;
	return entry->fd;
}

void
skx_blkio_fd_put(int handle)
{
	SkxBlkFd   *entry = &skx_blkio_fds[handle];

	entry->users--;
	if (entry->is_stale && entry->users == 0)
		skx_blkio_fd_close(entry);
}

ssize_t
skx_blkio_fd_read_page(Relation rel, BlockNumber block, char *page)
{
	int			fd = skx_blkio_fd_open_file(SKX_REL_LOCATOR(rel),
											block / RELSEG_SIZE, false, false);
	ssize_t		n;

	if (fd < 0)
		return -errno;
	do
	{
		n = pread(fd, page, BLCKSZ, (off_t) (block % RELSEG_SIZE) * BLCKSZ);
		if (n < 0)
			n = -errno;
	} while (n == -EINTR);
	close(fd);
	ReleaseExternalFD();
	return n;
}
