/*
 * autoprewarm_file.c
 *	  The notes on what was in the cache, in a file beside the data.
 *
 * No failure here is an error, since the file only saves time.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sql/autoprewarm/autoprewarm_internal.h"
#include "storage/fd.h"

/* In the data directory, which is the working directory. */
#define SKX_AUTOPREWARM_FILE		"autoprewarm.skipidx"
#define SKX_AUTOPREWARM_NEW_FILE	"autoprewarm.skipidx.tmp"

/* Writes all of the bytes and syncs them; returns 0 or errno. */
static int
skx_autoprewarm_write_all(int fd, const uint8 *bytes, Size size)
{
	while (size > 0)
	{
		ssize_t		n;

		errno = 0;
		n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return errno != 0 ? errno : ENOSPC;
		bytes += n;
		size -= n;
	}
	return pg_fsync(fd) == 0 ? 0 : errno;
}

bool
skx_autoprewarm_write(const uint8 *bytes, Size size)
{
	int			fd = OpenTransientFile(SKX_AUTOPREWARM_NEW_FILE,
									   O_CREAT | O_TRUNC | O_WRONLY |
									   PG_BINARY);
	int			error = fd < 0 ? errno :
		skx_autoprewarm_write_all(fd, bytes, size);

	if (fd >= 0 && CloseTransientFile(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 &&
		durable_rename(SKX_AUTOPREWARM_NEW_FILE, SKX_AUTOPREWARM_FILE,
					   LOG) == 0)
		return true;
	errno = error;
	if (error != 0)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m",
						SKX_AUTOPREWARM_NEW_FILE),
				 errdetail("skipidx could not note what is in its block cache.")));
	if (fd >= 0)
		(void) unlink(SKX_AUTOPREWARM_NEW_FILE);
	return false;
}

/*
 * Reads the whole file; returns NULL, and sets *why unless there is no file.
 * It is not opened if it is a pipe or the like, which could block.
 */
static uint8 *
skx_autoprewarm_read_all(Size *size, const char **why)
{
	struct stat status;
	uint8	   *bytes;
	Size		done = 0;
	ssize_t		n = 1;
	int			fd;

	*why = NULL;
	if (stat(SKX_AUTOPREWARM_FILE, &status) != 0)
	{
		if (errno != ENOENT)
			*why = strerror(errno);
		return NULL;
	}
	if (!S_ISREG(status.st_mode))
		*why = "it is no file";
	else if (status.st_size > SKX_AUTOPREWARM_MAX_BYTES)
		*why = "it is too large";
	if (*why != NULL)
		return NULL;
	fd = OpenTransientFile(SKX_AUTOPREWARM_FILE, O_RDONLY | PG_BINARY);
	if (fd < 0)
	{
		*why = strerror(errno);
		return NULL;
	}
	*size = status.st_size;
	bytes = palloc(*size + 1);
	while (done < *size &&
		   (n = read(fd, bytes + done, *size - done)) != 0)
	{
		if (n < 0 && errno != EINTR)
			break;
		done += Max(n, 0);
	}
	if (n < 0)
		*why = strerror(errno);
	*size = done;
	(void) CloseTransientFile(fd);
	return *why == NULL ? bytes : NULL;
}

bool
skx_autoprewarm_read(SkxAutoprewarmNotes *notes)
{
	const char *why;
	Size		size;
	uint8	   *bytes = skx_autoprewarm_read_all(&size, &why);

	if (bytes != NULL)
		why = skx_autoprewarm_decode(bytes, size, notes);
	if (why != NULL)
		ereport(LOG,
				(errmsg("skipidx ignores file \"%s\": %s",
						SKX_AUTOPREWARM_FILE, why)));
	return bytes != NULL && why == NULL;
}
