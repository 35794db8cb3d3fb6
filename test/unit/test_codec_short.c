/*
 * test_codec_short.c
 *	  Short lists and their inline positions: bytes, every kind, damage.
 *
 * Holds: codec 1, 2, 3, 4, 5, 6
 */
#include "unit_postings.h"

#define POSITIONS_MAX	(SKX_SUBBLOCK * SKX_TF_MAX)

static uint8 list[SKX_SUBBLOCK * 16];
static uint8 packed[POSITIONS_MAX * SKX_SHORT_POSITION_MAX];
static uint16 positions[POSITIONS_MAX];

#define POS(label, position)	((label) << 14 | (position))

static void
golden(void)
{
	SkxPostings p;
	uint16		pos[] = {
		POS(0, 1),
		POS(0, 2), POS(0, 4), POS(0, 16383),
		POS(3, 0), POS(2, 1), POS(2, 2), POS(3, 3), POS(2, 10)
	};

	memset(&p, 0, sizeof(p));
	p.n = 4;
	p.docs[0] = 0;
	p.tf[0] = 1;
	p.labels[0] = 1;
	p.docs[1] = 1;
	p.docs[2] = 200;
	p.tf[2] = 3;
	p.labels[2] = 1;
	p.docs[3] = SKX_DOC_MAX;
	p.tf[3] = 5;
	p.labels[3] = 0x0C;
	p.label_tf[1][3] = 3;
	p.label_tf[2][3] = 2;
	CHECK_BYTES(list, skx_codec_short_put(list, &p),
				0x00,
				0x01,
				0x9A, 0x06, 0x03,
				0xDB, 0xF9, 0xFF, 0xFF, 0x1F, 0x05, 0x0C, 0x03, 0x02);
	CHECK_BYTES(packed, skx_codec_short_positions_put(packed, &p, pos),
				0x00,
				0x01, 0x01, 0xFA, 0x7F,
				0xFF, 0xFF, 0x03, 0x02, 0x02, 0x03, 0x1A);

	/* one label: no counts, but the label stays with each position */
	p.n = 1;
	p.tf[0] = 2;
	p.labels[0] = 8;
	p.label_tf[2][0] = 2;
	pos[0] = POS(3, 5);
	pos[1] = POS(3, 7);
	CHECK_BYTES(list, skx_codec_short_put(list, &p), 0x03, 0x02, 0x08);
	CHECK_BYTES(packed, skx_codec_short_positions_put(packed, &p, pos),
				0x13, 0x07);
}

/* Reads all positions as a cursor does; NULL when damaged. */
static const uint8 *
positions_get_all(const uint8 *src, const uint8 *end, const SkxPostings *p,
				  uint16 *out)
{
	int			i;

	for (i = 0; i < p->n; i++)
	{
		const uint8 *next = NULL;
		const uint8 *at = skx_codec_short_positions_get(src, end, p, i, out,
														&next);

		if (at == NULL)
			return NULL;
		CHECK(at == next);
		CHECK(skx_codec_short_positions_skip(src, end, p->tf[i]) == at);
		src = at;
		out += p->tf[i];
	}
	return src;
}

static void
check_positions(const SkxPostings *p)
{
	static uint16 got[POSITIONS_MAX];
	int			total = unit_positions(p, positions);
	size_t		size =
		skx_codec_short_positions_put(packed, p, positions) - packed;
	uint8	   *src;
	int			i;

	CHECK(size <= (size_t) total * SKX_SHORT_POSITION_MAX);
	if (size > 1 << 16)
		return;
	src = unit_guarded(packed, size);
	CHECK(positions_get_all(src, src + size, p, got) == src + size);
	CHECK(memcmp(got, positions, total * sizeof(uint16)) == 0);
	CHECK(skx_codec_short_positions_skip(src, src + size, total) ==
		  src + size);
	CHECK(skx_codec_short_positions_skip(src, src + size, total + 1) == NULL);
	for (i = 0; i < 20 && size > 0; i++)
	{
		size_t		cut = i == 0 ? size - 1 : unit_below(size);

		src = unit_guarded(packed, cut);
		CHECK(positions_get_all(src, src + cut, p, got) == NULL);
	}
}

/* The documents alone, with and without something behind the list. */
static void
check_docs(const SkxPostings *p, size_t size)
{
	uint32		docs[SKX_SUBBLOCK];
	uint8	   *src;
	size_t		cut;
	int			i;

	for (cut = 0; cut < size; cut++)
	{
		src = unit_guarded(list, cut);
		CHECK(skx_codec_short_docs(src, src + cut, p->n, docs) == NULL);
	}
	for (i = 0; i < 12; i++)
	{
		list[size + i] = (uint8) unit_random();
		src = unit_guarded(list, size + i);
		memset(docs, 0xFF, sizeof(docs));
		CHECK(skx_codec_short_docs(src, src + size + i, p->n, docs) ==
			  src + size);
		CHECK(memcmp(docs, p->docs, p->n * sizeof(uint32)) == 0);
	}
}

static void
round_trip(const SkxPostings *p)
{
	SkxPostings got;
	size_t		size = skx_codec_short_put(list, p) - list;
	uint8	   *src;
	size_t		cut;

	CHECK(unit_postings_valid(p, SKX_NO_DOC));
	CHECK(size <= skx_codec_short_max_bytes(p->n));
	src = unit_guarded(list, size);
	CHECK(skx_codec_short_get(src, src + size, p->n, &got) == src + size);
	CHECK(unit_postings_equal(p, &got));
	for (cut = 0; cut < size; cut++)
	{
		src = unit_guarded(list, cut);
		CHECK(skx_codec_short_get(src, src + cut, p->n, &got) == NULL);
	}
	CHECK(skx_codec_short_get(list, list + size, p->n + 1, &got) == NULL);
	check_docs(p, size);
}

static void
flips(const SkxPostings *p)
{
	size_t		size = skx_codec_short_put(list, p) - list;
	SkxPostings got;
	size_t		bit;

	for (bit = 0; bit < 8 * size; bit++)
	{
		uint8	   *src = unit_guarded(list, size);

		src[bit / 8] ^= 1 << (bit % 8);
		CHECK(!skx_codec_short_get(src, src + size, p->n, &got) ||
			  unit_postings_valid(&got, SKX_NO_DOC));
	}
}

static void
all_kinds(void)
{
	SkxPostings p;
	int			docs;
	int			tfs;
	int			labels;
	int			n;

	for (n = 1; n < SKX_SUBBLOCK; n++)
	{
		for (docs = 0; docs < UNIT_DOC_KINDS; docs++)
		{
			tfs = unit_below(UNIT_TF_KINDS);
			labels = unit_below(UNIT_LABEL_KINDS);
			unit_postings(&p, n, SKX_NO_DOC, docs, tfs, labels);
			round_trip(&p);
			check_positions(&p);
			if (docs == n % UNIT_DOC_KINDS)
				flips(&p);
		}
	}
	for (tfs = 0; tfs < UNIT_TF_KINDS; tfs++)
	{
		for (labels = 0; labels < UNIT_LABEL_KINDS; labels++)
		{
			unit_postings(&p, 1 + unit_below(40), SKX_NO_DOC, 8, tfs, labels);
			round_trip(&p);
			check_positions(&p);
		}
	}
}

static void
refused(void)
{
	static const uint8 doc_large[] = {0x80, 0x80, 0x80, 0x80, 0x20};
	static const uint8 docs_large[] = {0xFC, 0xFF, 0xFF, 0xFF, 0x1F, 0x00};
	static const uint8 tf_none[] = {0x02, 0x00};
	static const uint8 tf_one[] = {0x02, 0x01};
	static const uint8 tf_large[] = {0x02, 0x81, 0x02};
	static const uint8 set_none[] = {0x03, 0x02, 0x00};
	static const uint8 set_plain[] = {0x03, 0x02, 0x01};
	static const uint8 set_large[] = {0x03, 0x02, 0x10};
	static const uint8 none_left[] = {0x03, 0x02, 0x03, 0x02};
	static const uint8 some_left[] = {0x03, 0x04, 0x06, 0x01, 0x02};
	static const uint8 count_none[] = {0x03, 0x02, 0x06, 0x00, 0x02};
	static const uint8 counts_large[] = {0x03, 0x03, 0x06, 0x02, 0x02};
	SkxPostings p;

#define REFUSED(bytes, n) \
	CHECK(skx_codec_short_get(bytes, bytes + sizeof(bytes), n, &p) == NULL)
	REFUSED(doc_large, 1);
	CHECK(skx_codec_short_get(docs_large, docs_large + 6, 1, &p) != NULL);
	CHECK(p.docs[0] == SKX_DOC_MAX);
	REFUSED(docs_large, 2);
	REFUSED(docs_large, 0);
	REFUSED(docs_large, -1);
	REFUSED(tf_none, 1);
	REFUSED(tf_one, 1);
	REFUSED(tf_large, 1);
	REFUSED(set_none, 1);
	REFUSED(set_plain, 1);
	REFUSED(set_large, 1);
	REFUSED(none_left, 1);
	REFUSED(some_left, 1);
	REFUSED(count_none, 1);
	REFUSED(counts_large, 1);
#undef REFUSED
	memset(list, 0, sizeof(list));
	CHECK(skx_codec_short_get(list, list + sizeof(list), 127, &p) ==
		  list + 127);
	CHECK(skx_codec_short_get(list, list + sizeof(list), 128, &p) == NULL);
}

static void
refused_positions(void)
{
	static const uint8 past[] = {0xFE, 0x7F, 0x00};
	static const uint8 large[] = {0x80, 0x80, 0x01, 0x00};
	static const uint8 zero_late[] = {0x00, 0xFF, 0x7F};
	static const uint8 wrong_label[] = {0x03, 0x03};
	SkxPostings p;
	uint16		out[8];

	memset(&p, 0, sizeof(p));
	p.n = 1;
	p.tf[0] = 2;
	p.labels[0] = 1;
#define REFUSED(bytes) \
	CHECK(skx_codec_short_positions_get(bytes, bytes + sizeof(bytes), &p, 0, \
										out, NULL) == NULL)
	REFUSED(past);
	REFUSED(large);
	REFUSED(zero_late);
	p.labels[0] = 9;
	p.label_tf[2][0] = 1;
	REFUSED(wrong_label);
	p.labels[0] = 8;
	p.label_tf[2][0] = 2;
	CHECK(skx_codec_short_positions_get(wrong_label, wrong_label + 2, &p, 0,
										out, NULL) == wrong_label + 2);
	CHECK(out[0] == POS(3, 1) && out[1] == POS(3, 2));
#undef REFUSED
}

int
main(void)
{
	unit_seed(5);
	golden();
	refused();
	refused_positions();
	all_kinds();
	return unit_done("test_codec_short");
}
