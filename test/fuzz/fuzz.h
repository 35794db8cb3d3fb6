/*
 * fuzz.h
 *	  What a fuzz target needs.
 *
 * A target is one file, fuzz_<decoder>.c, that defines
 * LLVMFuzzerTestOneInput(), which must never crash, and ends by FUZZ_ASSERT
 * what it decoded to something no encoder can have meant.  It should also
 * define fuzz_seed(), which writes a sound random input of at most `room`
 * bytes and returns its size: mutations start there, with libFuzzer and with
 * the built-in driver alike, so that no corpus has to be kept.
 */
#ifndef SKX_TEST_FUZZ_H
#define SKX_TEST_FUZZ_H

#include "unit.h"

/* The largest input that is tried. */
#define FUZZ_ROOM		8192

extern int	LLVMFuzzerTestOneInput(const uint8 *data, size_t size);
extern size_t fuzz_seed(uint8 *data, size_t room) __attribute__((weak));

#define FUZZ_ASSERT(condition) \
	do { \
		if (unlikely(!(condition))) \
		{ \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, \
					#condition); \
			abort(); \
		} \
	} while (0)

/* Parameters at the front of an input; 0 once it is used up. */
typedef struct FuzzInput
{
	const uint8 *at;
	const uint8 *end;
} FuzzInput;

static inline uint32
fuzz_u8(FuzzInput *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

static inline uint32
fuzz_u32(FuzzInput *input)
{
	uint32		v = fuzz_u8(input);

	v |= fuzz_u8(input) << 8;
	v |= fuzz_u8(input) << 16;
	return v | fuzz_u8(input) << 24;
}

static inline uint8 *
fuzz_put_u32(uint8 *dst, uint32 v)
{
	int			i;

	for (i = 0; i < 4; i++)
		*dst++ = (uint8) (v >> (8 * i));
	return dst;
}

#endif							/* SKX_TEST_FUZZ_H */
