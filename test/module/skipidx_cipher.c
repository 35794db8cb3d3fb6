/*
 * skipidx_cipher.c
 *	  A library for tests, put before the C library of a server (LD_PRELOAD): a
 *	  storage manager whose files hold pages otherwise than it returns them.
 *
 * What the server's own code writes to files of relations is combined with a
 * key that depends on the place in the file, and what it reads from there is
 * turned back.  Zeros are no exception, so a hole reads as garbage; and space
 * is not allocated other than by writing.  What skipidx itself opens, reads or
 * writes is left as it is: it gets what is in the file.  Each such call for a
 * file of a relation can be noted.  Nobody gets an io_uring.
 *
 * Who calls is known by the return address: in the program itself it is the
 * server.
 *
 * Environment:
 *	SKIPIDX_CIPHER			beginning of the paths of such files
 *	SKIPIDX_CIPHER_CLEAR	bytes at the beginning of each file that are left
 *							as they are
 *	SKIPIDX_CIPHER_NOTES	file to which each call of skipidx appends a line
 *	SKIPIDX_CIPHER_DENIED	while this file exists, skipidx gets no descriptor
 *	SKIPIDX_CIPHER_HELD		while this file exists, reads of skipidx wait in the
 *							process whose id it has
 *	SKIPIDX_CIPHER_QUOTA	while this file exists, no write makes the file longer
 *							whose path it has: EDQUOT
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE	8192
#define FILES	65536

/* Some have no declaration in any header. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define EXPORT	__attribute__((visibility("default")))
#define CALLER	__builtin_return_address(0)
#define REAL(name)	((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* Files of relations that this process has opened */
static bool coded[FILES];

static uintptr_t program_begin = UINTPTR_MAX;
static uintptr_t program_end;

/* The first object is the program. */
static int
find_program(struct dl_phdr_info *info, size_t size, void *arg)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
	{
		uintptr_t	begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t	end = begin + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		if (begin < program_begin)
			program_begin = begin;
		if (end > program_end)
			program_end = end;
	}
	return 1;
}

__attribute__((constructor)) static void
begin(void)
{
	const char *name = program_invocation_short_name;

	/* a process of the server may have changed its title, not its name */
	if (strncmp(name, "postgres", 8) == 0)
		dl_iterate_phdr(find_program, NULL);
}

static bool
is_server(void *caller)
{
	return (uintptr_t) caller >= program_begin &&
		(uintptr_t) caller < program_end;
}

static bool
is_skipidx(void *caller)
{
	Dl_info		info;

	return !is_server(caller) && dladdr(caller, &info) != 0 &&
		strstr(info.dli_fname, "/skipidx.so") != NULL;
}

static bool
is_relation(const char *path)
{
	const char *prefix = getenv("SKIPIDX_CIPHER");
	const char *name = strrchr(path, '/');

	if (prefix == NULL || strncmp(path, prefix, strlen(prefix)) != 0 ||
		name == NULL || strstr(path, "/pgsql_tmp") != NULL)
		return false;
	name += name[1] == 't' ? 2 : 1; /* temporary */
	return *name >= '0' && *name <= '9';
}

/* Notes a call of skipidx for a file of a relation. */
static void
note(const char *what, const char *path)
{
	const char *file = getenv("SKIPIDX_CIPHER_NOTES");
	char		line[512];
	int			n = snprintf(line, sizeof(line), "%s %s\n", what, path);
	int			fd;

	if (file == NULL)
		return;
	fd = REAL(open) (file, O_WRONLY | O_APPEND | O_CREAT, 0644);
	if (fd < 0 || write(fd, line, n) != n)
		abort();
	REAL(close) (fd);
}

static bool
is_coded(int fd, const char *what, void *caller)
{
	if (fd < 0 || fd >= FILES || !coded[fd])
		return false;
	if (is_skipidx(caller))
		note(what, "of the server's descriptor");
	return is_server(caller);
}

/* Only the storage manager opens files for reads and writes. */
static int
opened(int fd, const char *path, int flags, void *caller)
{
	if (fd >= 0 && fd < FILES)
		coded[fd] = is_relation(path) && is_server(caller) &&
			(flags & O_ACCMODE) == O_RDWR;
	return fd;
}

static bool
is_denied(const char *path, void *caller)
{
	const char *file = getenv("SKIPIDX_CIPHER_DENIED");

	if (!is_relation(path) || !is_skipidx(caller))
		return false;
	note("open", path);
	if (file == NULL || access(file, F_OK) != 0)
		return false;
	errno = EACCES;
	return true;
}

#define OPEN(name) \
	EXPORT int name(const char *path, int flags, ...) \
	{ \
		int		(*real) (const char *, int, ...) = dlsym(RTLD_NEXT, #name); \
		mode_t	mode = 0; \
		va_list args; \
		va_start(args, flags); \
		if (flags & (O_CREAT | O_TMPFILE)) \
			mode = va_arg(args, mode_t); \
		va_end(args); \
		if (is_denied(path, CALLER)) \
			return -1; \
		return opened(real(path, flags, mode), path, flags, CALLER); \
	}

#define OPEN_2(name) \
	EXPORT int name(const char *path, int flags) \
	{ \
		int		(*real) (const char *, int) = dlsym(RTLD_NEXT, #name); \
		if (is_denied(path, CALLER)) \
			return -1; \
		return opened(real(path, flags), path, flags, CALLER); \
	}

OPEN(open)
OPEN(open64)
OPEN_2(__open_2)
OPEN_2(__open64_2)

EXPORT int
close(int fd)
{
	if (fd >= 0 && fd < FILES)
		coded[fd] = false;
	return REAL(close) (fd);
}

/* Reads a file of a few bytes that an environment variable names. */
static bool
read_small(const char *variable, char *text, size_t size)
{
	const char *file = getenv(variable);
	int			fd = file == NULL ? -1 : REAL(open) (file, O_RDONLY);
	ssize_t		n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	REAL(close) (fd);
	text[n > 0 ? n : 0] = '\0';
	return true;
}

/* Waits while reads of this process are held. */
static void
hold(void *caller)
{
	char		text[32];

	while (is_skipidx(caller) &&
		   read_small("SKIPIDX_CIPHER_HELD", text, sizeof(text)) &&
		   atoi(text) == getpid())
		usleep(1000);
}

/* True if a write would end behind the end of a file that has a quota. */
static bool
is_over_quota(int fd, off_t end)
{
	char		wanted[256];
	char		link[64];
	char		path[256];
	struct stat status;
	ssize_t		n;

	if (!read_small("SKIPIDX_CIPHER_QUOTA", wanted, sizeof(wanted)) ||
		fstat(fd, &status) != 0 || end <= status.st_size)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	if (n < (ssize_t) strlen(wanted) ||
		strcmp(path + n - strlen(wanted), wanted) != 0)
		return false;
	errno = EDQUOT;
	return true;
}

static void
turn(unsigned char *p, size_t n, off_t at)
{
	const char *clear = getenv("SKIPIDX_CIPHER_CLEAR");
	off_t		from = clear != NULL ? atol(clear) : 0;

	for (size_t i = 0; i < n; i++, at++)
	{
		if (at >= from)
			p[i] ^= (unsigned char) ((at % PAGE * 167 + at / PAGE * 13 + 91) | 1);
	}
}

static void
turn_read(const struct iovec *iov, ssize_t n, off_t at)
{
	for (; n > 0; iov++)
	{
		size_t		some = iov->iov_len < (size_t) n ? iov->iov_len : (size_t) n;

		turn(iov->iov_base, some, at);
		at += some;
		n -= some;
	}
}

static ssize_t
write_turned(int fd, const struct iovec *iov, int n, off_t at)
{
	ssize_t		(*real) (int, const void *, size_t, off_t) =
		dlsym(RTLD_NEXT, "pwrite");
	size_t		size = 0;
	unsigned char *copy;
	ssize_t		done;
	int			error;

	for (int i = 0; i < n; i++)
		size += iov[i].iov_len;
	if (is_over_quota(fd, at + size))
		return -1;
	copy = malloc(size);
	size = 0;
	for (int i = 0; i < n; i++)
	{
		memcpy(copy + size, iov[i].iov_base, iov[i].iov_len);
		size += iov[i].iov_len;
	}
	turn(copy, size, at);
	done = real(fd, copy, size, at);
	error = errno;
	free(copy);
	errno = error;
	return done;
}

#define PREAD(name) \
	EXPORT ssize_t name(int fd, void *buffer, size_t n, off_t at) \
	{ \
		ssize_t (*real) (int, void *, size_t, off_t) = dlsym(RTLD_NEXT, #name); \
		bool	turned = is_coded(fd, #name, CALLER); \
		ssize_t got; \
		hold(CALLER); \
		got = real(fd, buffer, n, at); \
		if (got > 0 && turned) \
			turn(buffer, got, at); \
		return got; \
	}

#define PREADV(name) \
	EXPORT ssize_t name(int fd, const struct iovec *iov, int n, off_t at) \
	{ \
		ssize_t (*real) (int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, #name); \
		bool	turned = is_coded(fd, #name, CALLER); \
		ssize_t got; \
		hold(CALLER); \
		got = real(fd, iov, n, at); \
		if (got > 0 && turned) \
			turn_read(iov, got, at); \
		return got; \
	}

#define PWRITE(name) \
	EXPORT ssize_t name(int fd, const void *buffer, size_t n, off_t at) \
	{ \
		ssize_t (*real) (int, const void *, size_t, off_t) = dlsym(RTLD_NEXT, #name); \
		struct iovec iov = {(void *) buffer, n}; \
		if (is_coded(fd, #name, CALLER)) \
			return write_turned(fd, &iov, 1, at); \
		return real(fd, buffer, n, at); \
	}

#define PWRITEV(name) \
	EXPORT ssize_t name(int fd, const struct iovec *iov, int n, off_t at) \
	{ \
		ssize_t (*real) (int, const struct iovec *, int, off_t) = dlsym(RTLD_NEXT, #name); \
		if (is_coded(fd, #name, CALLER)) \
			return write_turned(fd, iov, n, at); \
		return real(fd, iov, n, at); \
	}

PREAD(pread)
PREAD(pread64)
PREADV(preadv)
PREADV(preadv64)
PWRITE(pwrite)
PWRITE(pwrite64)
PWRITEV(pwritev)
PWRITEV(pwritev64)

/* The server writes zeros then. */
#define ALLOCATE(name) \
	EXPORT int name(int fd, off_t at, off_t n) \
	{ \
		int		(*real) (int, off_t, off_t) = dlsym(RTLD_NEXT, #name); \
		return is_coded(fd, #name, CALLER) ? EOPNOTSUPP : real(fd, at, n); \
	}

ALLOCATE(posix_fallocate)
ALLOCATE(posix_fallocate64)

/* Calls that change no bytes: those of skipidx are noted. */
#define ADVISE(name) \
	EXPORT int name(int fd, off_t at, off_t n, int advice) \
	{ \
		int		(*real) (int, off_t, off_t, int) = dlsym(RTLD_NEXT, #name); \
		(void) is_coded(fd, #name, CALLER); \
		return real(fd, at, n, advice); \
	}

#define TRUNCATE(name) \
	EXPORT int name(int fd, off_t n) \
	{ \
		int		(*real) (int, off_t) = dlsym(RTLD_NEXT, #name); \
		(void) is_coded(fd, #name, CALLER); \
		return real(fd, n); \
	}

#define SYNC(name) \
	EXPORT int name(int fd) \
	{ \
		int		(*real) (int) = dlsym(RTLD_NEXT, #name); \
		(void) is_coded(fd, #name, CALLER); \
		return real(fd); \
	}

ADVISE(posix_fadvise)
ADVISE(posix_fadvise64)
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)
SYNC(fsync)
SYNC(fdatasync)

struct io_uring;
struct io_uring_params;

EXPORT int
io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	return -EPERM;
}

EXPORT int
io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
						   struct io_uring_params *params)
{
	return -EPERM;
}
