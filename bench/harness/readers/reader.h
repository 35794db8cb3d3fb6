/*
 * reader.h
 *	  Reads of one size of one file, by pread or by io_uring.
 */
#ifndef BENCH_IO_READER_H
#define BENCH_IO_READER_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#include "shuffle.h"

typedef struct Reader
{
	int			fd;
	uint64_t	file_bytes;
	size_t		size;			/* of each read */
	int			depth;			/* reads under way at most; 0: pread */
	char	   *buffers;		/* one for each read under way */
	int		   *idle;			/* buffers without a read */
	int			nidle;
	struct io_uring ring;
} Reader;

/* Where to read next; a negative offset ends the run. */
typedef int64_t (*NextOffset) (void *state);

/*
 * Any failure, a short read among them, ends the program.  run reads at all
 * offsets that `next` gives and returns how many that were; with io_uring the
 * next read begins when any one is done, whatever their order.
 */
extern void reader_open(Reader *reader, const char *path, size_t size,
						int depth, bool direct);
extern uint64_t reader_run(Reader *reader, NextOffset next, void *state);
extern void reader_close(Reader *reader);

/* Has the kernel forget what it has of the file; needs it to be synced. */
extern void reader_drop_cache(Reader *reader);

extern double now(void);		/* seconds */
extern double cpu_used(void);	/* seconds of this process, all threads */
extern uint64_t device_bytes(void); /* that this process had read */
extern void die(const char *what);

#endif							/* BENCH_IO_READER_H */
