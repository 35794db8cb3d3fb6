/*
 * test_codec_positions.c
 *	  Blocks of positions: bytes, labels, summing up again, damage.
 *
 * Holds: codec 1, 2, 3, 4, 5, 6
 */
#include "unit_postings.h"
#include "unit_sizes.h"

#define POS(label, position)	((label) << 14 | (position))

static uint8 block[SKX_POSBLOCK_MAX];

static void
golden(void)
{
	uint16		few[] = {POS(0, 3), POS(3, 7), POS(0, 0), POS(0, 200), POS(1, 1)};
	uint16		full[SKX_SUBBLOCK];
	uint64		starts[2] = {0x15, 0};
	int			i;

	CHECK_BYTES(block, skx_codec_positions_put(block, few, 5, starts),
				0x84, 5,
				2, 3, 0xFF, 0x7F, 0xC7, 0x01, 0,
				0x0C, 0x01);
	CHECK_BYTES(block, skx_codec_positions_put(block, few, 1, starts),
				0x80, 1, 2);

	for (i = 0; i < SKX_SUBBLOCK; i++)
		full[i] = POS(1, 1);
	starts[0] = starts[1] = ~UINT64CONST(0);
	CHECK_BYTES(block, skx_codec_positions_put(block, full, 128, starts),
				0x01, 0x00);
	/* all of one document, the last of another label */
	for (i = 0; i < SKX_SUBBLOCK; i++)
		full[i] = POS(1, i + 1);
	full[127] = POS(2, 128);
	starts[0] = starts[1] = 0;
	CHECK_BYTES(block, skx_codec_positions_put(block, full, 128, starts),
				0x04, 0x00,
				0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
				0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
				0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55,
				0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x95);
}

static int
layout_size(const uint16 *positions, int n, const uint64 *starts)
{
	uint32		values[SKX_SUBBLOCK];
	bool		mixed = false;
	int			i;

	for (i = 0; i < n; i++)
	{
		bool		start = i == 0 || (starts[i / 64] >> (i % 64) & 1);
		int			before = start ? 0 : positions[i - 1] & 0x3FFF;

		values[i] = ((positions[i] & 0x3FFF) - before - 1) & 0x3FFF;
		mixed |= positions[i] >> 14 != positions[0] >> 14;
	}
	return 1 + (n < SKX_SUBBLOCK) + unit_column_size(values, n) +
		(mixed ? (n + 3) / 4 : 0);
}

static void
round_trip(const uint16 *positions, int n, const uint64 *starts)
{
	uint32		deltas[SKX_SUBBLOCK + 1];
	size_t		size =
		skx_codec_positions_put(block, positions, n, starts) - block;
	uint8	   *src;
	uint32		sum = 0;
	uint32		want = n;
	bool		same = true;
	int			got_n = 0;
	size_t		cut;
	int			i;

	CHECK(size <= SKX_POSBLOCK_MAX);
	CHECK(size == layout_size(positions, n, starts));
	src = unit_guarded(block, size);
	CHECK(skx_codec_positions_skip(src, src + size, &want) == src + size);
	CHECK(want == 0);
	want = n - 1;
	CHECK(skx_codec_positions_skip(src, src + size, &want) == src);
	CHECK(want == (uint32) n - 1);
	deltas[SKX_SUBBLOCK] = 0xDEAD;
	CHECK(skx_codec_positions_get(src, src + size, deltas, &got_n) ==
		  src + size);
	CHECK(got_n == n);
	CHECK(deltas[SKX_SUBBLOCK] == 0xDEAD);
	for (i = 0; i < n; i++)
	{
		if (starts[i / 64] >> (i % 64) & 1)
			sum = 0;
		sum += deltas[i] & 0x3FFFFFFF;
		same &= positions[i] == ((deltas[i] >> 30) << 14 | (sum & 0x3FFF));
	}
	CHECK(same);
	for (cut = 0; cut < size; cut++)
	{
		src = unit_guarded(block, cut);
		CHECK(skx_codec_positions_get(src, src + cut, deltas, &got_n) == NULL);
		want = n;
		CHECK(skx_codec_positions_skip(src, src + cut, &want) ==
			  (cut == 0 ? src : NULL));
	}
}

/* A position list cut into blocks wherever it happens. */
static void
stream(int tfs, int labels)
{
	static uint16 positions[SKX_SUBBLOCK * SKX_TF_MAX];
	static bool begins[SKX_SUBBLOCK * SKX_TF_MAX + 1];
	SkxPostings p;
	int			total;
	int			at = 0;
	int			i;

	unit_postings(&p, SKX_SUBBLOCK, SKX_NO_DOC, 0, tfs, labels);
	total = unit_positions(&p, positions);
	memset(begins, 0, sizeof(begins));
	for (i = 0; i < p.n; i++)
	{
		begins[at] = true;
		at += p.tf[i];
	}
	for (at = 0; at < total;)
	{
		int			n = unit_below(2) ? SKX_SUBBLOCK :
			1 + unit_below(SKX_SUBBLOCK);
		uint64		starts[2] = {0, 0};

		n = Min(n, total - at);
		for (i = 0; i < n; i++)
			starts[i / 64] |= (uint64) begins[at + i] << (i % 64);
		round_trip(positions + at, n, starts);
		at += n;
	}
}

static void
flips(void)
{
	uint16		positions[SKX_SUBBLOCK];
	uint64		starts[2] = {0x1001, 0x8000};
	uint32		deltas[SKX_SUBBLOCK];
	size_t		size;
	size_t		bit;
	int			n = unit_below(3) ? 1 + unit_below(SKX_SUBBLOCK) : 128;
	int			got_n;
	int			i;

	for (i = 0; i < n; i++)
		positions[i] = POS(unit_below(4), 1 + i * 3);
	size = skx_codec_positions_put(block, positions, n, starts) - block;
	for (bit = 0; bit < 8 * size; bit++)
	{
		uint8	   *src = unit_guarded(block, size);
		uint32		want = size;
		bool		sound = true;

		src[bit / 8] ^= 1 << (bit % 8);
		(void) skx_codec_positions_skip(src, src + size, &want);
		if (!skx_codec_positions_get(src, src + size, deltas, &got_n))
			continue;
		CHECK(got_n >= 1 && got_n <= SKX_SUBBLOCK);
		for (i = 0; i < got_n; i++)
			sound &= (deltas[i] & 0x3FFFFFFF) >= 1 &&
				(deltas[i] & 0x3FFFFFFF) <= 16384;
		CHECK(sound);
	}
}

static void
refused(void)
{
	static const uint8 form[] = {0x85, 1, 0, 0};
	static const uint8 unused[] = {0x88, 1, 0, 0};
	static const uint8 unused_high[] = {0xC0, 1, 0, 0};
	static const uint8 none[] = {0x80, 0, 0};
	static const uint8 large[] = {0x80, 1, 0x80, 0x80, 0x01};
	static const uint8 same_label[] = {0x84, 2, 0, 0, 0x05};
	static const uint8 unused_label[] = {0x84, 2, 0, 0, 0x34};
	static const uint8 sound[] = {0x84, 2, 0, 0, 0x04};
	uint8		count[260];
	uint32		deltas[SKX_SUBBLOCK];
	int			n;

#define REFUSED(bytes) \
	CHECK(!skx_codec_positions_get(bytes, bytes + sizeof(bytes), deltas, &n))
	REFUSED(form);
	REFUSED(unused);
	REFUSED(unused_high);
	REFUSED(none);
	REFUSED(large);
	REFUSED(same_label);
	REFUSED(unused_label);
	CHECK(skx_codec_positions_get(sound, sound + 5, deltas, &n) == sound + 5);
	memset(count, 0, sizeof(count));
	count[0] = 0x80;
	for (count[1] = 128; count[1] != 0; count[1]++)
	{
		uint32		want = 0;

		REFUSED(count);
		CHECK(!skx_codec_positions_skip(count, count + sizeof(count), &want));
	}
	count[1] = 127;
	CHECK(skx_codec_positions_get(count, count + sizeof(count), deltas, &n) ==
		  count + 129);
#undef REFUSED
}

int
main(void)
{
	int			tfs;
	int			labels;
	int			i;

	unit_seed(6);
	golden();
	refused();
	for (tfs = 0; tfs < UNIT_TF_KINDS; tfs++)
	{
		for (labels = 0; labels < UNIT_LABEL_KINDS; labels++)
			stream(tfs, labels);
	}
	for (i = 0; i < 100; i++)
		flips();
	return unit_done("test_codec_positions");
}
