/*
 * bigram_runs.c
 *	  Tells which characters belong to runs.
 *
 * These are the letters, marks and letter-like numbers of Han, Hiragana,
 * Katakana, Hangul and Thai, as of Unicode 15.1, with characters that are not
 * assigned where a block has no others.  Punctuation and symbols stay outside.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "bigram/bigram_internal.h"

/* Both ends of a range belong to it. */
typedef struct SkxBigramRange
{
	uint32		first;
	uint32		last;
} SkxBigramRange;

/* Ascending. */
static const SkxBigramRange skx_bigram_ranges[] = {
	{0x0E01, 0x0E3A},			/* Thai, without the sign of the baht */
	{0x0E40, 0x0E4E},
	{0x0E50, 0x0E59},			/* digits of Thai */
	{0x1100, 0x11FF},			/* Hangul letters */
	{0x2E80, 0x2FDF},			/* radicals of Han */
	{0x3005, 0x3007},			/* marks of repetition, and zero */
	{0x3021, 0x302F},			/* numerals, and marks of tones */
	{0x3031, 0x3035},			/* marks of repetition of Kana */
	{0x3038, 0x303C},
	{0x3041, 0x309F},			/* Hiragana */
	{0x30A1, 0x30FA},			/* Katakana, without the middle dot */
	{0x30FC, 0x30FF},
	{0x3131, 0x318E},			/* Hangul letters, compatible */
	{0x31F0, 0x31FF},			/* Katakana of Ainu */
	{0x3400, 0x4DBF},			/* Han, extension A */
	{0x4E00, 0x9FFF},			/* Han */
	{0xA960, 0xA97F},			/* Hangul letters, extended A */
	{0xAC00, 0xD7A3},			/* Hangul syllables */
	{0xD7B0, 0xD7FF},			/* Hangul letters, extended B */
	{0xF900, 0xFAFF},			/* Han, compatible */
	{0xFF66, 0xFFDC},			/* narrow Katakana and Hangul */
	{0x16FE3, 0x16FE3},			/* mark of repetition of Old Chinese */
	{0x16FF0, 0x16FF1},			/* marks of Vietnamese readings */
	{0x1AFF0, 0x1AFFF},			/* Kana, extended B */
	{0x1B000, 0x1B16F},			/* Kana of other times, and small ones */
	{0x20000, 0x3FFFD},			/* Han, extensions B and later */
	{0xE0100, 0xE01EF},			/* variants of the Han character before */
};

static bool
skx_bigram_is_in_run(uint32 code)
{
	int			low = 0;
	int			high = lengthof(skx_bigram_ranges);

	while (low < high)
	{
		int			middle = low + (high - low) / 2;

		if (code > skx_bigram_ranges[middle].last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < lengthof(skx_bigram_ranges) &&
		code >= skx_bigram_ranges[low].first;
}

/* No character of a run has fewer than three bytes. */
int
skx_bigram_char(const char *at, const char *end)
{
	const unsigned char *b = (const unsigned char *) at;
	int			len;
	uint32		code;

	if (at >= end || b[0] < 0xE0 || b[0] >= 0xF8)
		return 0;
	len = b[0] < 0xF0 ? 3 : 4;
	if (end - at < len)
		return 0;
	if (len == 3)
		code = (b[0] & 0x0F) << 12 | (b[1] & 0x3F) << 6 | (b[2] & 0x3F);
	else
		code = (b[0] & 0x07) << 18 | (b[1] & 0x3F) << 12 |
			(b[2] & 0x3F) << 6 | (b[3] & 0x3F);
	return skx_bigram_is_in_run(code) ? len : 0;
}

const char *
skx_bigram_find(const char *at, const char *end)
{
	while (at < end && skx_bigram_char(at, end) == 0)
		at++;
	return at;
}
