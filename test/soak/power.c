/*
 * power.c
 *	  Library to be preloaded into a server: notes what every write replaces,
 *	  so that what has not been synced can be lost afterwards.
 *
 * A disk with a volatile cache may lose, or keep, each piece of what was written
 * since the last sync of its file.  Here each write is preceded by a record with
 * the bytes that it replaces and followed by one that says that it has ended; a
 * sync leaves a record that says which writes had ended when it began, and is
 * not made.  When all processes are gone, SkipidxPower.pm puts back old bytes
 * of writes that no sync covers.
 *
 * Records go to a file for each process, in $SKX_POWER_DIR, which is all that
 * turns the library on.  They are numbered through a counter that all processes
 * share, so that the order of writes and syncs of different processes is known.
 * A file is known by device, inode and time of birth: an inode is used again
 * soon after its file was removed.
 *
 * Writes that io_uring makes would be seen by nothing that stands in for a function
 * of the C library; skipidx makes none.
 *
 * $SKX_POWER_MODULE, if set, is loaded wherever the server asks for skipidx.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define POWER_EXPORT __attribute__((visibility("default")))

/* The same numbers are in SkipidxPower.pm. */
#define POWER_MAGIC		0x52575850

enum
{
	POWER_WRITE = 1,			/* length bytes at offset; old bytes follow */
	POWER_CUT,					/* the same, and the file ends at offset */
	POWER_ENDED,				/* the write of number `ref` is in the file */
	POWER_DURABLE,				/* and was synced by that (O_DSYNC) */
	POWER_SYNC					/* writes ended before `ref` are durable */
};

typedef struct PowerRecord
{
	uint32_t	magic;
	uint32_t	kind;
	uint64_t	number;
	uint64_t	device;
	uint64_t	inode;
	uint64_t	born;			/* ns */
	uint64_t	offset;
	uint64_t	length;
	uint64_t	size;			/* of the file before */
	uint64_t	ref;
	uint64_t	stored;			/* bytes that follow */
} PowerRecord;

typedef struct PowerFile
{
	uint64_t	device;
	uint64_t	inode;
	uint64_t	born;
	uint64_t	size;
} PowerFile;

/* Descriptors of temporary files, of which nothing is kept anyway. */
#define POWER_FDS	65536

static const char *power_dir;
static uint64_t *power_clock;
static int	power_log = -1;
static char *power_bytes;
static size_t power_room;
static unsigned char power_passing[POWER_FDS];

static void
power_die(const char *what)
{
	fprintf(stderr, "power: %s: %s\n", what, strerror(errno));
	abort();
}

/* A child of fork must not write to its parent's file. */
static void
power_forked(void)
{
	if (power_log >= 0)
		syscall(SYS_close, power_log);
	power_log = -1;
}

static __attribute__((constructor)) void
power_start(void)
{
	const char *dir = getenv("SKX_POWER_DIR");
	char		path[4096];
	int			fd;

	if (dir == NULL || strcmp(program_invocation_short_name, "postgres") != 0)
		return;
	snprintf(path, sizeof(path), "%s/clock", dir);
	fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || syscall(SYS_ftruncate, fd, 4096) != 0)
		power_die(path);
	power_clock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (power_clock == MAP_FAILED)
		power_die(path);
	syscall(SYS_close, fd);
	pthread_atfork(NULL, NULL, power_forked);
	power_dir = strdup(dir);
}

static uint64_t
power_number(void)
{
	return __atomic_add_fetch(power_clock, 1, __ATOMIC_SEQ_CST);
}

/* Is this a file whose writes are noted?  Leaves what is known of it. */
static bool
power_file(int fd, PowerFile *file)
{
	struct statx st;

	if (power_dir == NULL || fd <= 2 ||
		(fd < POWER_FDS && power_passing[fd]) ||
		statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_INO |
			  STATX_BTIME, &st) != 0 ||
		!S_ISREG(st.stx_mode))
		return false;
	file->device = (uint64_t) st.stx_dev_major << 32 | st.stx_dev_minor;
	file->inode = st.stx_ino;
	file->born = st.stx_mask & STATX_BTIME ?
		(uint64_t) st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec : 0;
	file->size = st.stx_size;
	return true;
}

/*
 * Records
 */

static void
power_open_log(void)
{
	char		path[4096];
	int			fd;
	int			high;

	snprintf(path, sizeof(path), "%s/%d.log", power_dir, (int) getpid());
	fd = syscall(SYS_openat, AT_FDCWD, path,
				 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		power_die(path);

	/* Out of the way of a server that counts on low numbers. */
	high = fcntl(fd, F_DUPFD_CLOEXEC, 700);
	if (high >= 0)
	{
		syscall(SYS_close, fd);
		fd = high;
	}
	power_log = fd;
}

/* A record is whole, or the last of its file. */
static void
power_note(PowerRecord *record, const PowerFile *file, const char *bytes)
{
	struct iovec iov[2] = {
		{record, sizeof(PowerRecord)},
		{(void *) bytes, record->stored}
	};
	ssize_t		want = sizeof(PowerRecord) + record->stored;

	record->magic = POWER_MAGIC;
	if (file != NULL)
	{
		record->device = file->device;
		record->inode = file->inode;
		record->born = file->born;
		record->size = file->size;
	}
	if (power_log < 0)
		power_open_log();
	if (syscall(SYS_writev, power_log, iov, record->stored > 0 ? 2 : 1) != want)
		power_die("cannot write a record");
}

/* Reads through the page cache, whatever the descriptor was opened for. */
static void
power_read(int fd, off_t offset, size_t bytes)
{
	char		path[64];
	size_t		done = 0;
	int			own;

	if (bytes > power_room)
	{
		free(power_bytes);
		power_room = bytes < 1024 * 1024 ? 1024 * 1024 : bytes;
		power_bytes = malloc(power_room);
		if (power_bytes == NULL)
			power_die("out of memory");
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (own < 0)
		power_die(path);
	while (done < bytes)
	{
		ssize_t		n = syscall(SYS_pread64, own, power_bytes + done,
								bytes - done, offset + (off_t) done);

		if (n < 0)
			power_die("cannot read what will be overwritten");
		if (n == 0)
			break;
		done += n;
	}
	memset(power_bytes + done, 0, bytes - done);
	syscall(SYS_close, own);
}

static uint64_t
power_begin_of(int fd, const PowerFile *file, int kind, off_t offset,
			   uint64_t bytes)
{
	PowerRecord record = {.kind = kind,.offset = offset,.length = bytes};

	if ((uint64_t) offset < file->size)
	{
		uint64_t	old = file->size - offset;

		record.stored = old < bytes ? old : bytes;
		power_read(fd, offset, record.stored);
	}
	record.number = power_number();
	power_note(&record, file, power_bytes);
	return record.number;
}

/* Before a write; returns its number, 0 for one that is not noted. */
static uint64_t
power_begin(int fd, off_t offset, size_t bytes)
{
	PowerFile	file;

	if (!power_file(fd, &file))
		return 0;
	return power_begin_of(fd, &file, POWER_WRITE, offset, bytes);
}

/* After it, when the file has it. */
static void
power_end(uint64_t number)
{
	PowerRecord record = {.kind = POWER_ENDED,.ref = number};

	if (number == 0)
		return;
	record.number = power_number();
	power_note(&record, NULL, NULL);
}

static void
power_end_of(int fd, uint64_t number)
{
	PowerRecord record = {.kind = POWER_DURABLE,.ref = number};

	if (number == 0)
		return;
	if ((fcntl(fd, F_GETFL) & O_DSYNC) == 0)
	{
		power_end(number);
		return;
	}
	record.number = power_number();
	power_note(&record, NULL, NULL);
}

/*
 * The functions of the C library that the server writes and syncs with.  errno
 * is that of the call.
 */

#define POWER_REAL(name) \
	static __typeof__(&name) real; \
	if (real == NULL) \
		real = (__typeof__(&name)) dlsym(RTLD_NEXT, #name)

#define POWER_AROUND(fd, offset, bytes, call) \
	do { \
		uint64_t	number = power_begin(fd, offset, bytes); \
		ssize_t		result = (call); \
		int			save_errno = errno; \
		\
		power_end_of(fd, number); \
		errno = save_errno; \
		return result; \
	} while (0)

static size_t
power_sum(const struct iovec *iov, int n)
{
	size_t		sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

POWER_EXPORT ssize_t
pwrite(int fd, const void *buf, size_t n, off_t offset)
{
	POWER_REAL(pwrite);
	POWER_AROUND(fd, offset, n, real(fd, buf, n, offset));
}

POWER_EXPORT ssize_t
pwrite64(int fd, const void *buf, size_t n, off64_t offset)
{
	return pwrite(fd, buf, n, offset);
}

POWER_EXPORT ssize_t
pwritev(int fd, const struct iovec *iov, int n, off_t offset)
{
	POWER_REAL(pwritev);
	POWER_AROUND(fd, offset, power_sum(iov, n), real(fd, iov, n, offset));
}

POWER_EXPORT ssize_t
pwritev64(int fd, const struct iovec *iov, int n, off64_t offset)
{
	return pwritev(fd, iov, n, offset);
}

/* Where a write without an offset goes; -1: not to a file of ours. */
static off_t
power_position(int fd)
{
	PowerFile	file;

	if (!power_file(fd, &file))
		return -1;
	return fcntl(fd, F_GETFL) & O_APPEND ? (off_t) file.size :
		lseek(fd, 0, SEEK_CUR);
}

POWER_EXPORT ssize_t
write(int fd, const void *buf, size_t n)
{
	off_t		offset = power_position(fd);

	POWER_REAL(write);
	if (offset < 0)
		return real(fd, buf, n);
	POWER_AROUND(fd, offset, n, real(fd, buf, n));
}

POWER_EXPORT ssize_t
writev(int fd, const struct iovec *iov, int n)
{
	off_t		offset = power_position(fd);

	POWER_REAL(writev);
	if (offset < 0)
		return real(fd, iov, n);
	POWER_AROUND(fd, offset, power_sum(iov, n), real(fd, iov, n));
}

/* Space past the end is zeros; within it nothing changes. */
POWER_EXPORT int
posix_fallocate(int fd, off_t offset, off_t bytes)
{
	PowerFile	file;

	POWER_REAL(posix_fallocate);
	if (!power_file(fd, &file) || offset + bytes <= (off_t) file.size)
		return real(fd, offset, bytes);
	POWER_AROUND(fd, file.size, offset + bytes - file.size,
				 real(fd, offset, bytes));
}

POWER_EXPORT int
posix_fallocate64(int fd, off64_t offset, off64_t bytes)
{
	return posix_fallocate(fd, offset, bytes);
}

POWER_EXPORT int
ftruncate(int fd, off_t size)
{
	PowerFile	file;
	uint64_t	number = 0;
	int			result;
	int			save_errno;

	POWER_REAL(ftruncate);
	if (power_file(fd, &file) && file.size != (uint64_t) size)
	{
		if ((uint64_t) size < file.size)
			number = power_begin_of(fd, &file, POWER_CUT, size,
									file.size - size);
		else
			number = power_begin_of(fd, &file, POWER_WRITE, file.size,
									size - file.size);
	}
	result = real(fd, size);
	save_errno = errno;
	power_end(number);
	errno = save_errno;
	return result;
}

POWER_EXPORT int
ftruncate64(int fd, off64_t size)
{
	return ftruncate(fd, size);
}

POWER_EXPORT int
truncate(const char *path, off_t size)
{
	int			fd = open(path, O_RDWR | O_CLOEXEC);
	int			result;

	if (fd < 0)
		return -1;
	result = ftruncate(fd, size);
	close(fd);
	return result;
}

POWER_EXPORT int
truncate64(const char *path, off64_t size)
{
	return truncate(path, size);
}

/*
 * A sync takes some time, as on a disk, so that others write meanwhile: what
 * they write is not covered.
 */
static int
power_sync(const PowerFile *file)
{
	PowerRecord record = {.kind = POWER_SYNC};
	uint64_t	start = power_number();

	usleep(50 + start * 2654435761u % 1024);
	record.ref = start;
	record.number = power_number();
	power_note(&record, file, NULL);
	return 0;
}

POWER_EXPORT int
fsync(int fd)
{
	PowerFile	file;

	POWER_REAL(fsync);
	return power_file(fd, &file) ? power_sync(&file) : real(fd);
}

POWER_EXPORT int
fdatasync(int fd)
{
	PowerFile	file;

	POWER_REAL(fdatasync);
	return power_file(fd, &file) ? power_sync(&file) : real(fd);
}

/* Temporary files do not outlive a crash. */
static int
power_opened(int fd, const char *path)
{
	if (fd >= 0 && fd < POWER_FDS && power_dir != NULL)
		power_passing[fd] = strstr(path, "pgsql_tmp") != NULL;
	return fd;
}

POWER_EXPORT int
open(const char *path, int flags,...)
{
	mode_t		mode = 0;

	if (flags & (O_CREAT | O_TMPFILE))
	{
		va_list		args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	if (power_dir != NULL && (flags & O_TRUNC))
	{
		int			fd = syscall(SYS_openat, AT_FDCWD, path,
								 O_RDWR | O_CLOEXEC, 0);

		/* What was in it can come back. */
		if (fd >= 0)
		{
			power_opened(fd, path);
			(void) ftruncate(fd, 0);
			syscall(SYS_close, fd);
		}
	}
	return power_opened(syscall(SYS_openat, AT_FDCWD, path, flags, mode), path);
}

POWER_EXPORT int
open64(const char *path, int flags,...)
{
	mode_t		mode = 0;

	if (flags & (O_CREAT | O_TMPFILE))
	{
		va_list		args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return open(path, flags, mode);
}

POWER_EXPORT void *
dlopen(const char *path, int flags)
{
	const char *instead = getenv("SKX_POWER_MODULE");
	const char *name = path != NULL ? strrchr(path, '/') : NULL;

	POWER_REAL(dlopen);
	if (power_dir != NULL && instead != NULL && name != NULL &&
		strcmp(name, "/skipidx.so") == 0)
		path = instead;
	return real(path, flags);
}
