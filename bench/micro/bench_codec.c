/*
 * bench_codec.c
 *	  Nanoseconds a posting, of each codec, on one core and warm.
 *
 * Each line is the best of several rounds over a working set that fits in the
 * second-level cache: what the decoder costs, not the memory.
 */
#include "unit_postings.h"

#include <time.h>

#define BLOCKS		64
#define ROUNDS		30

static uint8 bodies[BLOCKS][SKX_SUBBLOCK_BODY_MAX];
static const uint8 *ends[BLOCKS];
static SkxPostings postings[BLOCKS];
static volatile uint32 sink;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Best time for one value, `call` being done for each block b. */
#define MEASURE(result, repeat, call) \
	do { \
		int			round_; \
		int			again_; \
		int			b; \
		(result) = 1e9; \
		for (round_ = 0; round_ < ROUNDS; round_++) \
		{ \
			double		start_ = now(); \
			double		each_; \
			for (again_ = 0; again_ < (repeat); again_++) \
				for (b = 0; b < BLOCKS; b++) \
				{ \
					call; \
				} \
			each_ = (now() - start_) / \
				((double) (repeat) * BLOCKS * SKX_SUBBLOCK); \
			(result) = Min((result), each_); \
		} \
	} while (0)

static void
kernels(void)
{
	uint32		values[SKX_SUBBLOCK];
	uint32		dst[SKX_SUBBLOCK];
	double		plain_sum = 0;
	double		gaps_sum = 0;
	int			width;
	int			i;

	printf("%-28s %8s %8s %8s\n", "width", "pack", "unpack", "gaps");
	for (width = 0; width <= 31; width++)
	{
		double		pack;
		double		plain;
		double		gaps;
		int			k;

		for (k = 0; k < BLOCKS; k++)
		{
			for (i = 0; i < SKX_SUBBLOCK; i++)
				values[i] = unit_below(UINT64CONST(1) << width);
			skx_codec_pack128(bodies[k], values, width);
		}
		MEASURE(plain, 100,
				(skx_codec_unpack128(dst, bodies[b], width),
				 sink = dst[b]));
		MEASURE(gaps, 100,
				(skx_codec_unpack128_gaps(dst, bodies[b], width, b),
				 sink = dst[b]));
		MEASURE(pack, 100, skx_codec_pack128(bodies[b], values, width));
		plain_sum += plain;
		gaps_sum += gaps;
		if (width % 4 == 1 || width == 31)
			printf("%-28d %8.3f %8.3f %8.3f\n", width, pack, plain, gaps);
	}
	printf("%-28s %8s %8.3f %8.3f\n", "mean of 0..31", "",
		   plain_sum / 32, gaps_sum / 32);
}

static void
bodies_of(const char *name, int docs, int tfs, int labels)
{
	static uint64 bits[64];
	const uint8 *tf_part[BLOCKS];
	const uint8 *label_part[BLOCKS];
	SkxPostings p;
	size_t		bytes = 0;
	double		put;
	double		get;
	double		tf;
	double		label;
	double		fill;
	int			k;

	for (k = 0; k < BLOCKS; k++)
	{
		unit_postings(&postings[k], SKX_SUBBLOCK, SKX_NO_DOC, docs, tfs,
					  labels);
		ends[k] = skx_codec_subblock_put(bodies[k], &postings[k], SKX_NO_DOC);
		bytes += ends[k] - bodies[k];
		tf_part[k] = skx_codec_subblock_docs(bodies[k], ends[k], SKX_SUBBLOCK,
											 SKX_NO_DOC, p.docs);
		label_part[k] = skx_codec_subblock_tfs(bodies[k], tf_part[k], ends[k],
											   SKX_SUBBLOCK, p.tf);
	}
	p.n = SKX_SUBBLOCK;
	MEASURE(put, 10, skx_codec_subblock_put(bodies[b], &postings[b],
											SKX_NO_DOC));
	MEASURE(get, 100,
			(sink = skx_codec_subblock_docs(bodies[b], ends[b], SKX_SUBBLOCK,
											SKX_NO_DOC, p.docs) != NULL));
	MEASURE(tf, 100,
			(sink = skx_codec_subblock_tfs(bodies[b], tf_part[b], ends[b],
										   SKX_SUBBLOCK, p.tf) != NULL));
	MEASURE(label, 100,
			(sink = skx_codec_subblock_labels(bodies[b], label_part[b],
											  ends[b], &p) != NULL));
	MEASURE(fill, 100,
			(sink = skx_codec_subblock_fill_window(bodies[b], ends[b],
												   SKX_SUBBLOCK, SKX_NO_DOC, 0,
													   bits, 64)));
	printf("%-28s %8.2f %8.3f %8.3f %8.3f %8.3f %8.3f\n", name,
		   8.0 * bytes / (BLOCKS * SKX_SUBBLOCK), put, get, tf, label, fill);
}

/* Gaps of text: geometric, on average `mean`. */
static void
of_text(int mean)
{
	static uint64 bits[64];
	char		name[32];
	size_t		bytes = 0;
	uint32		docs[SKX_SUBBLOCK];
	double		put;
	double		get;
	double		fill;
	int			k;
	int			i;

	for (k = 0; k < BLOCKS; k++)
	{
		SkxPostings *p = &postings[k];
		uint32		last = SKX_NO_DOC;

		unit_postings(p, SKX_SUBBLOCK, SKX_NO_DOC, 0, 4, 0);
		for (i = 0; i < SKX_SUBBLOCK; i++)
		{
			do
				last++;
			while (unit_below(mean) != 0);
			p->docs[i] = last;
		}
		ends[k] = skx_codec_subblock_put(bodies[k], p, SKX_NO_DOC);
		bytes += ends[k] - bodies[k];
	}
	MEASURE(put, 10, skx_codec_subblock_put(bodies[b], &postings[b],
											SKX_NO_DOC));
	MEASURE(get, 100,
			(sink = skx_codec_subblock_docs(bodies[b], ends[b], SKX_SUBBLOCK,
											SKX_NO_DOC, docs) != NULL));
	MEASURE(fill, 100,
			(sink = skx_codec_subblock_fill_window(bodies[b], ends[b],
												   SKX_SUBBLOCK, SKX_NO_DOC, 0,
													   bits, 64)));
	snprintf(name, sizeof(name), "text, 1 document in %d", mean);
	printf("%-28s %8.2f %8.3f %8.3f %8s %8s %8.3f\n", name,
		   8.0 * bytes / (BLOCKS * SKX_SUBBLOCK), put, get, "", "", fill);
}

static void
positions(void)
{
	static uint16 pos[SKX_SUBBLOCK * SKX_TF_MAX];
	uint64		starts[2] = {0x8888888888888888, 0x8888888888888888};
	uint32		deltas[SKX_SUBBLOCK];
	double		put;
	double		get;
	double		skip;
	uint32		want;
	int			n;
	int			i;

	for (i = 0; i < SKX_SUBBLOCK; i++)
		pos[i] = i % 4 == 3 ? 5 : pos[Max(i, 1) - 1] + 1 + unit_below(200);
	MEASURE(put, 10, ends[b] = skx_codec_positions_put(bodies[b], pos,
													   SKX_SUBBLOCK, starts));
	MEASURE(get, 100,
			(sink = skx_codec_positions_get(bodies[b], ends[b], deltas, &n) !=
			 NULL));
	MEASURE(skip, 100,
			(want = SKX_SUBBLOCK,
			 sink = skx_codec_positions_skip(bodies[b], ends[b], &want) !=
			 NULL));
	printf("%-28s %8s %8s %8s\n", "positions", "put", "get", "skip");
	printf("%-28s %8.3f %8.3f %8.3f\n", "128 of label D", put, get, skip);
}

int
main(void)
{
	unit_seed(9);
	printf("nanoseconds a value\n\n");
	kernels();
	printf("\n%-28s %8s %8s %8s %8s %8s %8s\n", "sub-block", "bits", "put",
		   "docs", "tfs", "labels", "fill");
	bodies_of("run, tf 1, D", 0, 0, 0);
	bodies_of("holes, text tf, D", 1, 4, 0);
	bodies_of("dense, text tf, mostly D", 2, 4, 5);
	bodies_of("any width, any tf and labels", 8, 5, 8);
	of_text(2);
	of_text(6);
	of_text(20);
	of_text(30);
	of_text(100);
	of_text(1000);
	printf("\n");
	positions();
	return 0;
}
