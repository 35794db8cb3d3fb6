/*
 * invert_file.c
 *	  The file of runs: written once from start to end, then read anywhere.
 *
 * Runs are written and read in much larger pieces than the server's buffered
 * temporary files use, and every process reads at offsets of its own.  The
 * file is still one of the server's virtual files, which are closed, deleted,
 * counted and limited in size.
 *
 * A temporary file has no checksum.  So readers check every number before they
 * use it as an index or a size.
 */
#include "postgres.h"

#include <fcntl.h>

#include "commands/tablespace.h"
#include "utils/wait_event.h"
#include "write/invert/invert_internal.h"

SkxRunFile *
skx_invert_file_create(FileSet *set, const char *name)
{
	SkxRunFile *f = palloc0(sizeof(SkxRunFile));

	if (set == NULL)
		PrepareTempTablespaces();
	f->file = set != NULL ? FileSetCreate(set, name) :
		OpenTemporaryFile(false);
	f->buffer = palloc(SKX_RUN_FILE_BUFFER);
	return f;
}

SkxRunFile *
skx_invert_file_open(FileSet *set, const char *name)
{
	SkxRunFile *f = palloc0(sizeof(SkxRunFile));

	f->file = FileSetOpen(set, name, O_RDONLY);
	if (f->file <= 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not open temporary file \"%s\" of an index build: %m",
						name)));
	return f;
}

void
skx_invert_file_flush(SkxRunFile *f)
{
	int			done;

	errno = 0;
	done = FileWrite(f->file, f->buffer, f->used, f->size,
					 WAIT_EVENT_BUFFILE_WRITE);
	if (done != f->used)
	{
		/* a short write without an error means that the disk is full */
		if (errno == 0)
			errno = ENOSPC;
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write temporary file \"%s\" of an index build: %m",
						FilePathName(f->file))));
	}
	f->size += f->used;
	f->used = 0;
}

void
skx_invert_file_write(SkxRunFile *f, const void *bytes, Size n)
{
	const char *from = bytes;

	while (n > 0)
	{
		Size		piece = Min(n, SKX_RUN_FILE_BUFFER - f->used);

		memcpy(f->buffer + f->used, from, piece);
		f->used += piece;
		from += piece;
		n -= piece;
		if (f->used == SKX_RUN_FILE_BUFFER)
			skx_invert_file_flush(f);
	}
}

void
skx_invert_file_complete(SkxRunFile *f)
{
	if (f->buffer == NULL)
		return;
	if (f->used > 0)
		skx_invert_file_flush(f);
	pfree(f->buffer);
	f->buffer = NULL;
}

void
skx_invert_file_read(SkxRunFile *f, uint64 at, void *to, uint32 n)
{
	uint32		done = 0;

	while (done < n)
	{
		int			piece = FileRead(f->file, (char *) to + done, n - done,
									 at + done, WAIT_EVENT_BUFFILE_READ);

		if (piece < 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not read temporary file \"%s\" of an index build: %m",
							FilePathName(f->file))));
		if (piece == 0)
			skx_invert_file_damaged("it ends too soon");
		done += piece;
	}
}

void
skx_invert_file_damaged(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("a temporary file of an index build is damaged: %s",
					what)));
}

void
skx_invert_file_close(SkxRunFile *f)
{
	FileClose(f->file);
	if (f->buffer != NULL)
		pfree(f->buffer);
	pfree(f);
}
