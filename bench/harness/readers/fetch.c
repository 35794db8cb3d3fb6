/*
 * fetch.c
 *	  Sets of random pages, as ranking fetches positions of its candidates.
 *
 * fetch FILE CANDIDATES DEPTH CLIENTS direct|cold SECONDS [SEED]
 *
 * Each client, a thread with a descriptor and a ring of its own, draws a set
 * of pages of 8 kB, sorts it, and reads it: DEPTH under way by io_uring, or
 * one after the other by pread when DEPTH is 0.  No page is drawn twice, and
 * with `cold` the page cache is emptied of the file before, so that every
 * fetch is a read of the device.  Drawing and sorting count neither as time
 * nor as CPU.  Prints one JSON object.
 */
#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE_BYTES 8192

/* What all clients share. */
typedef struct Work
{
	const char *path;
	int			candidates;
	int			depth;
	bool		direct;
	uint64_t	seed;
	double		deadline;
	pthread_barrier_t start;
	pthread_mutex_t lock;		/* of shuffle */
	Shuffle		shuffle;
} Work;

typedef struct Client
{
	Work	   *work;
	pthread_t	thread;
	Reader		reader;
	uint64_t   *pages;			/* the current set */
	int			npages;
	int			next;
	double	   *times;			/* of each set, seconds */
	int			ntimes;
	double		draw_cpu;
} Client;

static double
thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static int
compare_pages(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

static int
compare_times(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/* False when too few pages are left that were not read yet. */
static bool
draw_set(Client *client)
{
	Work	   *work = client->work;
	double		cpu = thread_cpu();

	client->npages = 0;
	client->next = 0;
	pthread_mutex_lock(&work->lock);
	while (client->npages < work->candidates &&
		   shuffle_next(&work->shuffle, &client->pages[client->npages]))
		client->npages++;
	pthread_mutex_unlock(&work->lock);
	qsort(client->pages, client->npages, sizeof(uint64_t), compare_pages);
	client->draw_cpu += thread_cpu() - cpu;
	return client->npages == work->candidates;
}

static int64_t
next_page(void *state)
{
	Client	   *client = state;

	if (client->next == client->npages)
		return -1;
	return client->pages[client->next++] * PAGE_BYTES;
}

static void
keep_time(Client *client, double seconds)
{
	/* Room for a power of two of them. */
	if ((client->ntimes & (client->ntimes - 1)) == 0)
	{
		client->times = realloc(client->times, sizeof(double) *
								(client->ntimes == 0 ? 1 :
								 client->ntimes * 2));
		if (client->times == NULL)
			die("memory");
	}
	client->times[client->ntimes++] = seconds;
}

static void *
run_client(void *arg)
{
	Client	   *client = arg;
	double		began;

	pthread_barrier_wait(&client->work->start);
	while (now() < client->work->deadline && draw_set(client))
	{
		began = now();
		reader_run(&client->reader, next_page, client);
		keep_time(client, now() - began);
	}
	return NULL;
}

static void
open_client(Client *client, Work *work)
{
	client->work = work;
	reader_open(&client->reader, work->path, PAGE_BYTES, work->depth,
				work->direct);
	posix_fadvise(client->reader.fd, 0, 0, POSIX_FADV_RANDOM);
	client->pages = malloc(sizeof(uint64_t) * work->candidates);
	if (client->pages == NULL)
		die("memory");
}

static void
report(Client *clients, int nclients, double seconds, double cpu,
	   uint64_t device)
{
	int			candidates = clients[0].work->candidates;
	double	   *times = NULL;
	double		sum = 0;
	int			n = 0;
	int			i;
	int			k;

	for (i = 0; i < nclients; i++)
	{
		times = realloc(times, sizeof(double) * (n + clients[i].ntimes + 1));
		if (times == NULL)
			die("memory");
		for (k = 0; k < clients[i].ntimes; k++)
		{
			times[n++] = clients[i].times[k];
			sum += clients[i].times[k];
		}
		cpu -= clients[i].draw_cpu;
	}
	if (n == 0)
	{
		fprintf(stderr, "the file is too small\n");
		exit(1);
	}
	qsort(times, n, sizeof(double), compare_times);
	printf("{\"sets\": %d, \"fetches\": %lld, \"seconds\": %.4f, "
		   "\"cpu_seconds\": %.4f, \"device_bytes\": %llu, "
		   "\"p50_ms\": %.4f, \"p99_ms\": %.4f, \"mean_ms\": %.4f}\n",
		   n, (long long) n * candidates, seconds, cpu,
		   (unsigned long long) device, times[n / 2] * 1e3,
		   times[(int) (n * .99)] * 1e3, sum / n * 1e3);
}

static void
measure(Client *clients, int nclients, Work *work, double seconds)
{
	uint64_t	device;
	double		cpu;
	double		began;
	int			i;

	pthread_barrier_init(&work->start, NULL, nclients + 1);
	for (i = 0; i < nclients; i++)
	{
		open_client(&clients[i], work);
		errno = pthread_create(&clients[i].thread, NULL, run_client,
							   &clients[i]);
		if (errno != 0)
			die("thread");
	}
	shuffle_start(&work->shuffle,
				  clients[0].reader.file_bytes / PAGE_BYTES,
				  work->seed);
	reader_drop_cache(&clients[0].reader);
	device = device_bytes();
	cpu = cpu_used();
	began = now();
	work->deadline = began + seconds;
	pthread_barrier_wait(&work->start);
	for (i = 0; i < nclients; i++)
		pthread_join(clients[i].thread, NULL);
	report(clients, nclients, now() - began, cpu_used() - cpu,
		   device_bytes() - device);
}

int
main(int argc, char **argv)
{
	Work		work = {.lock = PTHREAD_MUTEX_INITIALIZER};
	Client	   *clients;
	int			nclients;

	if (argc < 7 || atoi(argv[2]) <= 0 || atoi(argv[4]) <= 0 ||
		strchr("dc", argv[5][0]) == NULL)
	{
		fprintf(stderr, "usage: fetch FILE CANDIDATES DEPTH CLIENTS "
				"direct|cold SECONDS [SEED]\n");
		return 2;
	}
	work.path = argv[1];
	work.candidates = atoi(argv[2]);
	work.depth = atoi(argv[3]);
	nclients = atoi(argv[4]);
	work.direct = argv[5][0] == 'd';
	work.seed = argc > 7 ? atoi(argv[7]) : 1;
	clients = calloc(nclients, sizeof(Client));
	if (clients == NULL)
		die("memory");
	measure(clients, nclients, &work, atof(argv[6]));
	return 0;
}
