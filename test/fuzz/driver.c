/*
 * driver.c
 *	  Where the inputs of a fuzz target come from.
 *
 * Linked with libFuzzer (-DFUZZ_WITH_LIBFUZZER) it mixes fresh sound inputs
 * into libFuzzer's mutations.  Without libFuzzer it is the whole engine: it
 * mutates sound inputs blindly for FUZZ_SECONDS, prints how many it tried, and
 * writes the one that fails to <program>.failed; with file names as arguments
 * it tries those instead.
 */
#include "fuzz.h"

#include <signal.h>
#include <time.h>

#ifdef FUZZ_WITH_LIBFUZZER

extern size_t LLVMFuzzerMutate(uint8 *data, size_t size, size_t room);
extern size_t LLVMFuzzerCustomMutator(uint8 *data, size_t size, size_t room,
									  unsigned int seed);

size_t
LLVMFuzzerCustomMutator(uint8 *data, size_t size, size_t room,
						unsigned int seed)
{
	if (fuzz_seed != NULL && room >= FUZZ_ROOM && seed % 8 == 0)
	{
		unit_state = seed;
		size = fuzz_seed(data, room);
		if (unit_below(4) == 0)
			return size;
	}
	return LLVMFuzzerMutate(data, size, room);
}

#else

static uint8 current[FUZZ_ROOM];
static size_t current_size;
static char failed_name[1024];

/* Keeps the input that kills us, then dies of the same signal. */
static void
on_crash(int signo)
{
	FILE	   *file = fopen(failed_name, "wb");

	if (file != NULL)
	{
		fwrite(current, 1, current_size, file);
		fclose(file);
		fprintf(stderr, "the input is in %s\n", failed_name);
	}
	signal(signo, SIG_DFL);
	raise(signo);
}

/* The input is in memory of its own size, so that a sanitizer sees its end. */
static void
try(void)
{
	uint8	   *copy = malloc(current_size + 1);

	memcpy(copy + 1, current, current_size);
	LLVMFuzzerTestOneInput(copy + 1, current_size);
	free(copy);
}

static void
mutate(void)
{
	static const uint8 telling[] = {0x00, 0x01, 0x7F, 0x80, 0xFE, 0xFF};
	size_t		at = unit_below(current_size + 1);
	size_t		size = 1 + unit_below(8);

	switch (unit_below(6))
	{
		case 0:
			if (at < current_size)
				current[at] ^= 1 << unit_below(8);
			break;
		case 1:
			if (at < current_size)
				current[at] = (uint8) unit_random();
			break;
		case 2:
			if (at < current_size)
				current[at] = telling[unit_below(lengthof(telling))];
			break;
		case 3:					/* cut off */
			current_size = at;
			break;
		case 4:					/* take out */
			size = Min(size, current_size - at);
			memmove(current + at, current + at + size,
					current_size - at - size);
			current_size -= size;
			break;
		default:				/* put in */
			size = Min(size, FUZZ_ROOM - current_size);
			memmove(current + at + size, current + at, current_size - at);
			current_size += size;
			while (size > 0)
				current[at + --size] = (uint8) unit_random();
			break;
	}
}

static void
replay(const char *name)
{
	FILE	   *file = fopen(name, "rb");

	if (file == NULL)
	{
		perror(name);
		exit(1);
	}
	current_size = fread(current, 1, sizeof(current), file);
	fclose(file);
	try();
}

int
main(int argc, char **argv)
{
	const char *seconds = getenv("FUZZ_SECONDS");
	time_t		stop = time(NULL) + (seconds ? atoi(seconds) : 10);
	long		runs = 0;
	int			i;

	snprintf(failed_name, sizeof(failed_name), "%s.failed", argv[0]);
	signal(SIGABRT, on_crash);
	unit_seed((uint64) time(NULL) * 1000003 + getpid());
	for (i = 1; i < argc; i++)
		replay(argv[i]);
	while (argc == 1 && time(NULL) < stop)
	{
		for (i = 0; i < 1000; i++, runs++)
		{
			int			mutations = unit_below(6);

			current_size = 0;
			if (fuzz_seed != NULL && unit_below(50) != 0)
				current_size = fuzz_seed(current, sizeof(current));
			else
			{
				size_t		size = unit_below(200);

				while (current_size < size)
					current[current_size++] = (uint8) unit_random();
			}
			while (mutations-- > 0)
				mutate();
			try();
		}
	}
	printf("%ld runs\n", runs);
	return 0;
}

#endif
