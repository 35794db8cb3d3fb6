/*
 * reader.c
 *	  Reads of one size of one file, by pread or by io_uring.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ALIGNMENT 4096

void
die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

double
cpu_used(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
		(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

uint64_t
device_bytes(void)
{
	FILE	   *file = fopen("/proc/self/io", "r");
	char		line[128];
	unsigned long long bytes = 0;

	if (file == NULL)
		return 0;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "read_bytes: %llu", &bytes) == 1)
			break;
	fclose(file);
	return bytes;
}

void
reader_open(Reader *reader, const char *path, size_t size, int depth,
			bool direct)
{
	int			nbuffers = depth > 0 ? depth : 1;
	struct stat st;
	int			error;
	int			i;

	reader->fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
	if (reader->fd < 0 || fstat(reader->fd, &st) != 0)
		die(path);
	reader->file_bytes = st.st_size;
	reader->size = size;
	reader->depth = depth;
	reader->buffers = aligned_alloc(ALIGNMENT,
									(nbuffers * size + ALIGNMENT - 1) &
									~(size_t) (ALIGNMENT - 1));
	reader->idle = malloc(nbuffers * sizeof(int));
	if (reader->buffers == NULL || reader->idle == NULL)
		die("memory");
	/* Touched, so that no page fault falls into what is measured. */
	memset(reader->buffers, 1, nbuffers * size);
	for (i = 0; i < nbuffers; i++)
		reader->idle[i] = i;
	reader->nidle = nbuffers;
	if (depth > 0)
	{
		error = io_uring_queue_init(depth, &reader->ring, 0);
		if (error < 0)
		{
			errno = -error;
			die("io_uring");
		}
	}
}

void
reader_close(Reader *reader)
{
	if (reader->depth > 0)
		io_uring_queue_exit(&reader->ring);
	close(reader->fd);
	free(reader->buffers);
	free(reader->idle);
}

void
reader_drop_cache(Reader *reader)
{
	errno = posix_fadvise(reader->fd, 0, 0, POSIX_FADV_DONTNEED);
	if (errno != 0)
		die("posix_fadvise");
}

static void
must_be_whole(Reader *reader, int64_t got)
{
	if (got == (int64_t) reader->size)
		return;
	errno = got < 0 ? (int) -got : EIO;
	die("read");
}

static uint64_t
run_preads(Reader *reader, NextOffset next, void *state)
{
	uint64_t	reads = 0;
	int64_t		offset;
	ssize_t		got;

	while ((offset = next(state)) >= 0)
	{
		got = pread(reader->fd, reader->buffers, reader->size, offset);
		must_be_whole(reader, got < 0 ? -errno : got);
		reads++;
	}
	return reads;
}

static void
begin_read(Reader *reader, int64_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&reader->ring);
	int			buffer = reader->idle[--reader->nidle];

	io_uring_prep_read(sqe, reader->fd,
					   reader->buffers + buffer * reader->size,
					   reader->size, offset);
	io_uring_sqe_set_data(sqe, (void *) (intptr_t) buffer);
}

/* Takes what is done; waits for one read at least. */
static int
end_reads(Reader *reader)
{
	struct io_uring_cqe *cqe;
	unsigned	head;
	int			done = 0;
	int			error = io_uring_submit_and_wait(&reader->ring, 1);

	if (error < 0 && error != -EINTR)
	{
		errno = -error;
		die("io_uring_enter");
	}
	io_uring_for_each_cqe(&reader->ring, head, cqe)
	{
		must_be_whole(reader, cqe->res);
		reader->idle[reader->nidle++] = (intptr_t) io_uring_cqe_get_data(cqe);
		done++;
	}
	io_uring_cq_advance(&reader->ring, done);
	return done;
}

static uint64_t
run_ring(Reader *reader, NextOffset next, void *state)
{
	uint64_t	reads = 0;
	int			underway = 0;
	bool		more = true;
	int64_t		offset;

	while (more || underway > 0)
	{
		while (more && underway < reader->depth)
		{
			offset = next(state);
			more = offset >= 0;
			if (!more)
				break;
			begin_read(reader, offset);
			underway++;
			reads++;
		}
		if (underway > 0)
			underway -= end_reads(reader);
	}
	return reads;
}

uint64_t
reader_run(Reader *reader, NextOffset next, void *state)
{
	return reader->depth > 0 ? run_ring(reader, next, state) :
		run_preads(reader, next, state);
}
