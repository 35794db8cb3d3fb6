/*
 * unit.h
 *	  What a unit test needs: counted checks, repeatable random numbers, and
 *	  memory whose end is guarded.
 *
 * A test is one program, test_<what>.c, that includes this file once, calls
 * CHECK, and returns unit_done().  It needs no server.  UNIT_SEED in the
 * environment chooses other random numbers.
 */
#ifndef SKX_TEST_UNIT_H
#define SKX_TEST_UNIT_H

#ifdef FRONTEND
#include "postgres_fe.h"
#else
/* of a part of the server, whose surroundings the test stands in for */
#include "postgres.h"
#endif

#include <sys/mman.h>
#include <unistd.h>

static long unit_checks;
static long unit_failures;
static uint64 unit_state = UINT64CONST(0x9E3779B97F4A7C15);

/*
 * Of n random cases those that are tried: all, and a quarter under sanitizers,
 * where each takes several times as long.
 */
#ifdef __SANITIZE_ADDRESS__
#define UNIT_CASES(n) ((n) / 4)
#else
#define UNIT_CASES(n) (n)
#endif

#define CHECK(condition) \
	do { \
		unit_checks++; \
		if (unlikely(!(condition))) \
			unit_fail(__FILE__, __LINE__, #condition); \
	} while (0)

#define CHECK_BYTES(got, got_end, ...) \
	do { \
		static const uint8 wanted_[] = {__VA_ARGS__}; \
		unit_bytes(__FILE__, __LINE__, (got), (got_end), \
				   wanted_, sizeof(wanted_)); \
	} while (0)

/* Looking for leaks fails where ptrace is forbidden, and nothing here leaks. */
extern const char *__asan_default_options(void) __attribute__((weak));

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

static inline void
unit_fail(const char *file, int line, const char *what)
{
	fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
	if (++unit_failures >= 20)
		exit(1);
}

static inline void
unit_bytes(const char *file, int line, const uint8 *got, const uint8 *end,
		   const uint8 *wanted, size_t size)
{
	size_t		i;

	unit_checks++;
	if (end != NULL && (size_t) (end - got) == size &&
		memcmp(got, wanted, size) == 0)
		return;
	unit_fail(file, line, "bytes as specified");
	fprintf(stderr, "  got   ");
	for (i = 0; end != NULL && got + i < end; i++)
		fprintf(stderr, " %02x", got[i]);
	fprintf(stderr, "\n  wanted");
	for (i = 0; i < size; i++)
		fprintf(stderr, " %02x", wanted[i]);
	fprintf(stderr, "\n");
}

static inline void
unit_seed(uint64 seed)
{
	const char *given = getenv("UNIT_SEED");

	unit_state = given ? strtoull(given, NULL, 0) : seed;
	unit_state = unit_state * UINT64CONST(0x2545F4914F6CDD1D) + 1;
}

/* 64 random bits (splitmix64) */
static inline uint64
unit_random(void)
{
	uint64		z = (unit_state += UINT64CONST(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64CONST(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

/* A random number below n, n > 0. */
static inline uint64
unit_below(uint64 n)
{
	return unit_random() % n;
}

/*
 * A copy of `size` (at most 64 kB) bytes that ends where the next byte cannot
 * be read: a decoder that reads on is killed, also without a sanitizer.  There
 * is one such place; the next call reuses it.
 */
static inline uint8 *
unit_guarded(const uint8 *bytes, size_t size)
{
	static uint8 *wall;
	const size_t room = 1 << 16;

	if (wall == NULL)
	{
		size_t		page = (size_t) sysconf(_SC_PAGESIZE);
		uint8	   *area = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
								MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED || mprotect(area + room, page, PROT_NONE) != 0)
		{
			perror("guard page");
			exit(1);
		}
		wall = area + room;
	}
	if (size > room)
	{
		fprintf(stderr, "unit_guarded: %zu bytes are too many\n", size);
		exit(1);
	}
	return memcpy(wall - size, bytes, size);
}

/* Prints the result; what main returns. */
static inline int
unit_done(const char *name)
{
	if (unit_failures > 0)
	{
		fprintf(stderr, "%s: %ld of %ld checks failed\n", name,
				unit_failures, unit_checks);
		return 1;
	}
	printf("%s: %ld checks ok\n", name, unit_checks);
	return unit_checks == 0;
}

#endif							/* SKX_TEST_UNIT_H */
