/*
 * test_bigram_runs.c
 *	  Characters of runs: what begins and ends each stretch of them, all code
 *	  points as bytes, texts that end anywhere, and bytes that are no text.
 *
 * Holds: bigram 1
 */
#include "unit.h"

#include "bigram/bigram_internal.h"

/* In and out in turn: characters on both sides of each border, some within. */
static const uint32 in_runs[] = {
	0x0E01, 0x0E3A, 0x0E40, 0x0E59, 0x1100, 0x11FF, 0x2E80, 0x2FD5, 0x3005,
	0x3007, 0x3031, 0x303C, 0x3041, 0x3093, 0x3099, 0x309F, 0x30A1, 0x30FA,
	0x30FC, 0x30FF, 0x3131, 0x318E, 0x31F0, 0x3400, 0x4DBF, 0x4E00, 0x6F22,
	0x9FFF, 0xA960, 0xAC00, 0xD7A3, 0xD7FB, 0xF900, 0xFA6D, 0xFF66, 0xFF9F,
	0xFFDC, 0x1B000, 0x1B164, 0x20000, 0x2A6DF, 0x3134A, 0xE0100, 0xE01EF
};
static const uint32 others[] = {
	0, ' ', 'a', 0x7F, 0x80, 0xE9, 0x3B1, 0x7FF, 0x800, 0x0E00, 0x0E3F, 0x0E4F,
	0x0E5A, 0x10FF, 0x1200, 0x200B, 0x2E7F, 0x3000, 0x3001, 0x3002, 0x3004,
	0x3008, 0x3030, 0x303D, 0x3040, 0x30A0, 0x30FB, 0x3130, 0x318F, 0x31EF,
	0x3200, 0x33FF, 0x4DC0, 0xA000, 0xA95F, 0xABFF, 0xD7A4, 0xF8FF, 0xFB00,
	0xFE0F, 0xFF01, 0xFF21, 0xFF65, 0xFFDD, 0xFFFD, 0x10000, 0x1AFEF, 0x1F600,
	0x1FFFF, 0x3FFFE, 0xE00FF, 0xE01F0, 0x10FFFF
};

/* Writes the character in UTF8, and returns its bytes. */
static int
put_char(uint32 code, uint8 *to)
{
	int			len = code < 0x80 ? 1 : code < 0x800 ? 2 :
		code < 0x10000 ? 3 : 4;
	int			i;

	to[0] = code;
	for (i = len - 1; i > 0; i--, code >>= 6)
		to[i] = 0x80 | (code & 0x3F);
	if (len > 1)
		to[0] = (uint8) (0xF00 >> len) | code;
	return len;
}

/* Bytes of the character at the start of these, which end at a wall. */
static int
char_of(const uint8 *bytes, int len)
{
	const char *at = (const char *) unit_guarded(bytes, len);

	return skx_bigram_char(at, at + len);
}

static void
check_chars(void)
{
	uint8		bytes[4];
	int			i;
	int			len;

	for (i = 0; i < lengthof(in_runs); i++)
	{
		len = put_char(in_runs[i], bytes);
		CHECK(char_of(bytes, len) == len);
		while (--len >= 0)
			CHECK(char_of(bytes, len) == 0);
	}
	for (i = 0; i < lengthof(others); i++)
		CHECK(char_of(bytes, put_char(others[i], bytes)) == 0);
}

/* Whatever the bytes, none behind the end is read, and a character has two more. */
static void
check_any_bytes(void)
{
	int			turn;

	for (turn = 0; turn < UNIT_CASES(100000); turn++)
	{
		uint8		bytes[8];
		int			len = unit_below(lengthof(bytes) + 1);
		int			i;
		int			n;

		for (i = 0; i < len; i++)
			bytes[i] = unit_below(3) == 0 ? unit_random() :
				unit_below(2) == 0 ? 0xE0 + unit_below(32) :
				0x80 + unit_below(64);
		n = char_of(bytes, len);
		CHECK(n == 0 || n == 3 || n == 4);
		CHECK(n <= len);
	}
}

/* The first character of a run in a text, which is found from its start. */
static void
check_find(void)
{
	int			turn;

	for (turn = 0; turn < UNIT_CASES(20000); turn++)
	{
		uint8		bytes[64];
		int			before = 0;
		int			n = unit_below(12);
		int			len;
		const char *at;

		while (n-- > 0)
			before += put_char(others[unit_below(lengthof(others))],
							   bytes + before);
		len = before;
		if (unit_below(4) > 0)
			len += put_char(in_runs[unit_below(lengthof(in_runs))],
							bytes + before);
		at = (const char *) unit_guarded(bytes, len);
		CHECK(skx_bigram_find(at, at + len) == at + before);
	}
}

int
main(void)
{
	unit_seed(393);
	check_chars();
	check_any_bytes();
	check_find();
	return unit_done("test_bigram_runs");
}
