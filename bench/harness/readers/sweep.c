/*
 * sweep.c
 *	  One pass over a file by one pattern of reads, for a limited time.
 *
 * sweep FILE PATTERN BLOCK DEPTH direct|cold|warm SECONDS [SEED]
 *
 * PATTERN: forward, backward, random (each block at most once), skip (forward,
 * passing over 0 to 14 blocks, 7 on average, before each).  BLOCK: bytes of a
 * read and of its alignment.  DEPTH: reads under way by io_uring, 0 for pread.
 * cold: through the page cache, emptied of the file before; warm: the file's
 * first 256 MB, read before, again and again.  Prints one JSON object; ends
 * early at the end of the pass.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WARM_BYTES ((uint64_t) 256 << 20)
#define MOST_PASSED_OVER 14

typedef struct Sweep
{
	char		pattern;		/* first letter of its name */
	bool		repeat;
	uint64_t	block;
	uint64_t	nblocks;
	uint64_t	done;			/* position in the pass */
	uint64_t	random;			/* state of the generator of skips */
	Shuffle		shuffle;
	double		deadline;
} Sweep;

static void
start_pass(Sweep *sweep, uint64_t seed)
{
	sweep->done = 0;
	shuffle_start(&sweep->shuffle, sweep->nblocks, seed);
}

static bool
next_block(Sweep *sweep, uint64_t *block)
{
	if (sweep->pattern == 'r')
		return shuffle_next(&sweep->shuffle, block);
	if (sweep->pattern == 's')
	{
		sweep->random = sweep->random * UINT64_C(6364136223846793005) + 1;
		sweep->done += (sweep->random >> 33) % (MOST_PASSED_OVER + 1);
	}
	if (sweep->done >= sweep->nblocks)
		return false;
	*block = sweep->done++;
	if (sweep->pattern == 'b')
		*block = sweep->nblocks - 1 - *block;
	return true;
}

static int64_t
next_offset(void *state)
{
	Sweep	   *sweep = state;
	uint64_t	block;

	if (now() >= sweep->deadline)
		return -1;
	if (!next_block(sweep, &block))
	{
		if (!sweep->repeat)
			return -1;
		start_pass(sweep, sweep->random++);
		if (!next_block(sweep, &block))
			return -1;
	}
	return block * sweep->block;
}

static void
warm_up(Reader *reader, uint64_t bytes)
{
	static char chunk[1 << 20];
	uint64_t	offset;

	for (offset = 0; offset < bytes; offset += sizeof(chunk))
		if (pread(reader->fd, chunk, sizeof(chunk), offset) <= 0)
			die("warm up");
}

static void
measure(Reader *reader, Sweep *sweep, double seconds)
{
	uint64_t	device = device_bytes();
	double		cpu = cpu_used();
	double		began = now();
	uint64_t	reads;

	sweep->deadline = began + seconds;
	reads = reader_run(reader, next_offset, sweep);
	seconds = now() - began;
	printf("{\"reads\": %llu, \"bytes\": %llu, \"seconds\": %.4f, "
		   "\"cpu_seconds\": %.4f, \"device_bytes\": %llu}\n",
		   (unsigned long long) reads,
		   (unsigned long long) (reads * reader->size), seconds,
		   cpu_used() - cpu,
		   (unsigned long long) (device_bytes() - device));
}

int
main(int argc, char **argv)
{
	Reader		reader = {0};
	Sweep		sweep = {0};
	uint64_t	bytes;
	uint64_t	seed;

	if (argc < 7 || strchr("fbrs", argv[2][0]) == NULL ||
		strchr("dcw", argv[5][0]) == NULL || atoi(argv[3]) <= 0)
	{
		fprintf(stderr, "usage: sweep FILE forward|backward|random|skip BLOCK "
				"DEPTH direct|cold|warm SECONDS [SEED]\n");
		return 2;
	}
	seed = argc > 7 ? atoi(argv[7]) : 1;
	reader_open(&reader, argv[1], atoi(argv[3]), atoi(argv[4]),
				argv[5][0] == 'd');
	bytes = reader.file_bytes;
	if (argv[5][0] == 'w')
	{
		bytes = bytes < WARM_BYTES ? bytes : WARM_BYTES;
		warm_up(&reader, bytes);
	}
	else
		reader_drop_cache(&reader);
	sweep.pattern = argv[2][0];
	sweep.repeat = argv[5][0] == 'w';
	sweep.block = reader.size;
	sweep.nblocks = bytes / reader.size;
	sweep.random = seed;
	start_pass(&sweep, seed);
	/* As engines do that know their pattern; the rest is the kernel's guess. */
	if (sweep.pattern == 'r')
		posix_fadvise(reader.fd, 0, 0, POSIX_FADV_RANDOM);
	measure(&reader, &sweep, atof(argv[6]));
	reader_close(&reader);
	return 0;
}
