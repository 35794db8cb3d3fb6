/*
 * test_codec_subblock.c
 *	  Sub-block bodies: bytes, sizes, every kind of postings, windows, damage.
 *
 * Holds: codec 1, 2, 3, 4, 5, 6
 */
#include "unit_postings.h"
#include "unit_sizes.h"

#define BODY_ROOM		(SKX_SUBBLOCK_BODY_MAX + 16)

static uint8 body[BODY_ROOM];

/* Documents base + 1 ... with tf 1 and label D, unless told otherwise. */
static void
plain(SkxPostings *p, int n, uint32 base)
{
	int			i;

	memset(p, 0, sizeof(*p));
	p->n = n;
	for (i = 0; i < n; i++)
	{
		p->docs[i] = base + 1 + i;
		p->tf[i] = 1;
		p->labels[i] = 1;
	}
}

static void
golden_tail(void)
{
	SkxPostings p;

	plain(&p, 3, SKX_NO_DOC);
	p.docs[1] = 5;
	p.tf[1] = 0;
	p.labels[1] = 0;
	p.docs[2] = 300;
	p.tf[2] = 256;
	p.labels[2] = 9;
	p.label_tf[2][2] = 6;
	CHECK_BYTES(body, skx_codec_subblock_put(body, &p, SKX_NO_DOC),
				32, 0x82,
				0x00, 0x04, 0xA6, 0x02,
				0x01, 0x00, 0x80, 0x02,
				0x01, 0x09, 0x04,
				0x00, 0x00, 0x06);
	/* one label a posting: no column */
	p.labels[2] = 8;
	p.label_tf[2][2] = 256;
	CHECK_BYTES(body, skx_codec_subblock_put(body, &p, SKX_NO_DOC),
				32, 0x82,
				0x00, 0x04, 0xA6, 0x02,
				0x01, 0x00, 0x80, 0x02,
				0x01, 0x08, 0x00);
}

static void
golden_full(void)
{
	SkxPostings p;
	int			i;

	plain(&p, SKX_SUBBLOCK, 99);
	CHECK_BYTES(body, skx_codec_subblock_put(body, &p, 99), 0, 0, 0);

	/* every other document, label B, tf 3 */
	for (i = 0; i < SKX_SUBBLOCK; i++)
	{
		p.docs[i] = 2 * i + 1;
		p.tf[i] = p.label_tf[1][i] = 3;
		p.labels[i] = 4;
	}
	CHECK_BYTES(body, skx_codec_subblock_put(body, &p, SKX_NO_DOC),
				1, 0x09,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
				2,
				0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
				0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
				0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA,
				0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA, 0xAA);

	/* a bitset: a gap of 3, then a run; one posting without positions */
	plain(&p, SKX_SUBBLOCK, 11);
	p.tf[5] = 0;
	p.labels[5] = 0;
	CHECK_BYTES(body, skx_codec_subblock_put(body, &p, 9),
				66, 0x80,
				0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
				0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
				1,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFD, 0xFF, 0xFF, 0xFF,
				0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF);
}

/* Full sub-block with labels D and A in one posting: a pfor column. */
static void
golden_labels(void)
{
	SkxPostings p;
	const uint8 *end;
	uint8		nibbles[64];

	plain(&p, SKX_SUBBLOCK, 99);
	p.tf[8] = 3;
	p.labels[8] = 9;
	p.label_tf[2][8] = 2;
	p.labels[127] = 2;
	p.label_tf[0][127] = 1;
	end = skx_codec_subblock_put(body, &p, 99);
	memset(nibbles, 0x11, sizeof(nibbles));
	nibbles[4] = 0x19;
	nibbles[63] = 0x21;
	CHECK_BYTES(body, body + 5, 0, 0x02, 0x20, 8, 2);
	CHECK(memcmp(body + 5, nibbles, 64) == 0);
	CHECK_BYTES(body + 69, end, 0x04, 0x20, 8, 2);
}

/* The size that the layout in codec.h gives. */
static int
layout_size(const SkxPostings *p, uint32 base)
{
	uint32		column[SKX_SUBBLOCK];
	uint32		all = 0;
	int			form = 0;
	int			shared = 0;
	int			less = 1;
	int			size = 2;
	int			c;
	int			i;

	for (i = 0; i < p->n; i++)
	{
		column[i] = p->docs[i] - (i == 0 ? base : p->docs[i - 1]) - 1;
		all |= column[i];
		form |= p->labels[i];
		if (__builtin_popcount(p->labels[i]) > 1)
			shared |= p->labels[i];
		if (p->tf[i] == 0)
			less = 0;
	}
	if (p->n < SKX_SUBBLOCK)
		size += unit_column_size(column, p->n);
	else
		size += Min(16 * skx_codec_width(all),
					8 * ((p->docs[p->n - 1] - base - 1) / 64 + 1));
	for (i = 0; i < p->n; i++)
		column[i] = p->tf[i] - less;
	size += unit_column_size(column, p->n);
	if (__builtin_popcount(form) <= 1)
		return size;
	size += (p->n + 1) / 2 + 1;
	for (c = 0; c < SKX_NLABELS - 1; c++)
	{
		if ((shared >> (c + 1) & 1) == 0)
			continue;
		for (i = 0; i < p->n; i++)
			column[i] = p->label_tf[c][i];
		size += unit_column_size(column, p->n);
	}
	return size;
}

/* The window's bits against those of the documents. */
static void
check_window(const uint8 *src, const uint8 *end, const SkxPostings *p,
			 uint32 base, uint32 window, int nwords)
{
	uint64		got[66];
	uint64		wanted[66];
	int			i;

	for (i = 0; i < 66; i++)
		got[i] = wanted[i] = unit_random();
	for (i = 0; i < p->n; i++)
	{
		uint64		bit = (uint64) p->docs[i] - window;

		if (p->docs[i] >= window && bit < 64 * (uint64) nwords)
			wanted[1 + bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
	CHECK(skx_codec_subblock_fill_window(src, end, p->n, base, window, got + 1,
								  nwords));
	CHECK(memcmp(got, wanted, sizeof(got)) == 0);
}

/* Documents that are looked up, also those behind the last one. */
static void
check_keep(const uint8 *src, const uint8 *end, const SkxPostings *p,
		   uint32 base)
{
	bool		has_bits = src[0] == 1 || src[0] > 63;
	uint32		step = 1 + unit_below(4);
	uint32		docs[400];
	uint32		doc = base;
	uint32		limit;
	int			passed;
	int			kept = 0;
	int			n;
	int			i;
	int			k = 0;

	for (n = 0; n < (int) lengthof(docs) && doc + 1 <= SKX_DOC_MAX; n++)
		docs[n] = doc = doc + 1 + Min(unit_below(step), SKX_DOC_MAX - doc - 1);
	limit = doc - unit_below(Min(doc - base, 100));
	for (i = 0; i < n && docs[i] < limit; i++)
		;
	passed = skx_codec_subblock_filter(src, end, p->n, base, docs, n, limit,
									 docs, &kept);
	CHECK(passed == (has_bits ? i : -1));
	if (passed < 0)
		return;
	for (i = 0; i < p->n && k < kept; i++)
		if (docs[k] == p->docs[i])
			k++;
	CHECK(k == kept);
	CHECK(skx_codec_subblock_filter(src, end, p->n, base, p->docs, p->n,
								  SKX_NO_DOC, docs, &kept) == p->n);
	CHECK(kept == p->n);
}

static void
windows(const uint8 *src, const uint8 *end, const SkxPostings *p, uint32 base)
{
	uint32		first = p->docs[0];
	int			i;

	check_window(src, end, p, base, first, 64);
	check_window(src, end, p, base, first - first % 4096, 64);
	check_window(src, end, p, base, 0, 64);
	check_window(src, end, p, base, SKX_DOC_MAX, 1);
	check_window(src, end, p, base, first, 0);
	check_keep(src, end, p, base);
	for (i = 0; i < 4; i++)
	{
		uint32		window = p->docs[unit_below(p->n)];

		window -= Min(window, (uint32) unit_below(200));
		check_window(src, end, p, base, window, 1 + unit_below(64));
		window += unit_below(130);
		check_window(src, end, p, base, window, 1 + unit_below(5));
	}
}

/* A bitset where it is no larger, varints in a tail, else packed. */
static void
check_form(const SkxPostings *p, uint32 base)
{
	uint32		words = (p->docs[p->n - 1] - base - 1) / 64 + 1;
	uint32		all = p->docs[0] - base - 1;
	int			width;
	int			i;

	for (i = 1; i < p->n; i++)
		all |= p->docs[i] - p->docs[i - 1] - 1;
	width = skx_codec_width(all);
	if (p->n < SKX_SUBBLOCK)
		CHECK(body[0] == 32);
	else if (words <= 2 * width)
		CHECK(body[0] == 63 + words);
	else
		CHECK(body[0] == width);
}

static void
round_trip(const SkxPostings *p, uint32 base, bool cuts)
{
	SkxPostings got;
	uint64		word = 0;
	size_t		size;
	uint8	   *src;
	size_t		cut;

	CHECK(unit_postings_valid(p, base));
	memset(body, 0xA5, sizeof(body));
	size = skx_codec_subblock_put(body, p, base) - body;
	CHECK(size <= SKX_SUBBLOCK_BODY_MAX);
	CHECK(size == layout_size(p, base));
	check_form(p, base);
	src = unit_guarded(body, size);
	CHECK(unit_subblock_get(src, src + size, p->n, base, &got) == src + size);
	CHECK(unit_postings_equal(p, &got));
	windows(src, src + size, p, base);
	for (cut = 0; cut < size && cuts; cut++)
	{
		src = unit_guarded(body, cut);
		CHECK(!unit_subblock_get(src, src + cut, p->n, base, &got));
		/* a run has no bytes after its form */
		if (cut < 2 || (cut == 2 && body[0] != 0))
			CHECK(!skx_codec_subblock_fill_window(src, src + cut, p->n, base,
												  0, &word, 1));
	}
}

/* Each flipped bit gives an error or sound postings. */
static void
flips(const SkxPostings *p, uint32 base)
{
	size_t		size = skx_codec_subblock_put(body, p, base) - body;
	SkxPostings got;
	uint64		bits[64];
	size_t		bit;

	for (bit = 0; bit < 8 * size; bit++)
	{
		uint8	   *src = unit_guarded(body, size);
		const uint8 *end;

		src[bit / 8] ^= 1 << (bit % 8);
		end = unit_subblock_get(src, src + size, p->n, base, &got);
		CHECK(end == NULL || unit_postings_valid(&got, base));
		if (skx_codec_subblock_docs(src, src + size, p->n, base, got.docs))
			CHECK(skx_codec_subblock_fill_window(src, src + size, p->n, base,
										  got.docs[0], bits, 64));
		else
			CHECK(!skx_codec_subblock_fill_window(src, src + size, p->n, base,
												  0, bits, 64));
	}
}

static void
all_kinds(void)
{
	static const uint32 bases[] = {SKX_NO_DOC, 0, 1000000, SKX_DOC_MAX - 128};
	SkxPostings p;
	int			docs;
	int			tfs;
	int			labels;
	int			b;

	for (docs = 0; docs < UNIT_DOC_KINDS; docs++)
	{
		for (tfs = 0; tfs < UNIT_TF_KINDS; tfs++)
		{
			for (labels = 0; labels < UNIT_LABEL_KINDS; labels++)
			{
				for (b = 0; b < lengthof(bases); b++)
				{
					int			n = 1 + unit_below(SKX_SUBBLOCK - 1);

					unit_postings(&p, n, bases[b], docs, tfs, labels);
					round_trip(&p, bases[b], b == 0);
					unit_postings(&p, SKX_SUBBLOCK, bases[b], docs, tfs,
								  labels);
					round_trip(&p, bases[b], b == 0);
				}
			}
		}
	}
}

static void
all_lengths(void)
{
	SkxPostings p;
	int			n;
	int			i;

	for (n = 1; n <= SKX_SUBBLOCK; n++)
	{
		for (i = 0; i < 10; i++)
		{
			uint32		base = (uint32) unit_below(1 << 30) - 1;

			unit_postings(&p, n, base, unit_below(UNIT_DOC_KINDS),
						  unit_below(UNIT_TF_KINDS),
						  unit_below(UNIT_LABEL_KINDS));
			round_trip(&p, base, true);
			if (i == 0)
				flips(&p, base);
		}
	}
	for (i = 0; i < 500; i++)
	{
		uint32		base = (uint32) unit_below(1 << 30) - 1;

		unit_postings(&p, SKX_SUBBLOCK, base, unit_below(UNIT_DOC_KINDS),
					  unit_below(UNIT_TF_KINDS),
					  unit_below(UNIT_LABEL_KINDS));
		round_trip(&p, base, false);
		if (i % 10 == 0)
			flips(&p, base);
	}
}

static void
refused_documents(void)
{
	SkxPostings p;
	uint32		docs[SKX_SUBBLOCK];
	const uint8 *end;
	int			i;

	plain(&p, SKX_SUBBLOCK, 99);
	end = skx_codec_subblock_put(body, &p, 99);
#define DOCS(n, base) skx_codec_subblock_docs(body, end, n, base, docs)
	CHECK(DOCS(128, SKX_DOC_MAX - 128) != NULL);
	CHECK(DOCS(128, SKX_DOC_MAX - 127) == NULL);
	CHECK(DOCS(128, SKX_DOC_MAX) == NULL);
	CHECK(DOCS(128, SKX_NO_DOC - 1) == NULL);
	CHECK(DOCS(127, 99) == NULL);
	CHECK(DOCS(129, 99) == NULL);
	CHECK(DOCS(0, 99) == NULL);
	CHECK(DOCS(-1, 99) == NULL);
	CHECK(!skx_codec_subblock_fill_window(body, end, 128, SKX_DOC_MAX - 127, 0,
								   NULL, 0));

	/* forms that no encoder writes, whatever follows */
	memset(body, 0xFF, sizeof(body));
	end = body + sizeof(body);
	for (i = 32; i < 256; i++)
	{
		body[0] = (uint8) i;
		CHECK(DOCS(128, 99) == NULL);
	}
	/* a bitset of 128 documents in two words is a run */
	body[0] = 65;
	CHECK(DOCS(128, 99) == NULL);
	/* and one with nothing in its last word is too long */
	body[0] = 67;
	memset(body + 2 + 16, 0, 16);
	CHECK(DOCS(128, 99) == NULL);
	body[17] = 0x7F;
	body[18 + 8] = 0x01;
	CHECK(DOCS(128, 99) == body + 2 + 32);
	CHECK(docs[127] == 100 + 192);
	CHECK(DOCS(128, SKX_DOC_MAX - 193) != NULL);
	CHECK(DOCS(128, SKX_DOC_MAX - 192) == NULL);

	/* sums that pass 2^32 and come back */
	memset(body, 0xFF, sizeof(body));
	body[0] = 31;
	CHECK(DOCS(128, SKX_NO_DOC) == NULL);
	body[0] = 25;
	CHECK(DOCS(128, SKX_NO_DOC) == NULL);
	CHECK(DOCS(128, 5) == NULL);
	body[0] = 23;
	CHECK(DOCS(128, SKX_NO_DOC) != NULL);
	CHECK(DOCS(128, 1 << 30) == NULL);
#undef DOCS
}

static void
refused_varints(void)
{
	static const uint8 most[] = {32, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x07};
	static const uint8 above[] = {32, 0, 0x80, 0x80, 0x80, 0x80, 0x08};
	static const uint8 wraps[] = {32, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00};
	uint32		docs[SKX_SUBBLOCK];

#define DOCS(src, n, base) \
	skx_codec_subblock_docs(src, src + sizeof(src), n, base, docs)
	CHECK(DOCS(most, 1, SKX_NO_DOC) != NULL);
	CHECK(docs[0] == SKX_DOC_MAX);
	CHECK(DOCS(most, 1, 0) == NULL);
	CHECK(DOCS(above, 1, SKX_NO_DOC) == NULL);
	CHECK(DOCS(wraps, 2, 5) == NULL);
#undef DOCS
}

/* One change a time to a tail whose bytes golden_tail gives. */
static void
refused_tail(void)
{
	static const struct
	{
		int			at;
		uint8		byte;
		const char *why;
	}			changes[] = {
		{1, 0x02, "tf 257, as tf less one"},
		{1, 0xC2, "an unused bit"},
		{1, 0x83, "label form 3"},
		{1, 0x86, "a label without its form"},
		{1, 0x81, "all of label D, in the form of another"},
		{6, 0x00, "no posting with tf 0 and label"},
		{7, 0x01, "a posting with tf and no label"},
		{9, 0x04, "tf 512"},
		{10, 0x11, "a label without tf"},
		{11, 0x19, "an unused label set"},
		{11, 0x08, "a column that no posting needs"},
		{11, 0x00, "no label at all"},
		{12, 0x00, "a column that is missing"},
		{12, 0x06, "a column too many"},
		{13, 0x01, "a count where the label is not"},
		{15, 0x00, "no count where the label is"},
	};
	static const uint8 sound[] = {
		32, 0x82, 0x00, 0x04, 0xA6, 0x02, 0x01, 0x00, 0x80, 0x02,
		0x01, 0x09, 0x04, 0x00, 0x00, 0x06
	};
	SkxPostings p;
	uint8	   *src;
	int			i;

	src = unit_guarded(sound, sizeof(sound));
	CHECK(unit_subblock_get(src, src + sizeof(sound), 3, SKX_NO_DOC, &p));
	for (i = 0; i < lengthof(changes); i++)
	{
		src = unit_guarded(sound, sizeof(sound));
		src[changes[i].at] = changes[i].byte;
		unit_checks++;
		if (unit_subblock_get(src, src + sizeof(sound), 3, SKX_NO_DOC, &p))
			unit_fail(__FILE__, __LINE__, changes[i].why);
	}
}

/* Bodies of one posting that break one rule. */
static void
refused_one(void)
{
	static const uint8 tf_257[] = {32, 0x00, 0, 0x80, 0x02};
	static const uint8 no_zero[] = {32, 0x80, 0, 1};
	static const uint8 only_d[] = {32, 0x02, 0, 0, 0x01, 0x00};
	static const uint8 large[] = {32, 0x02, 0, 1, 0x09, 4, 0x81, 0x80, 0x04};
	static const uint8 sound[] = {32, 0x02, 0, 1, 0x09, 4, 0x01};
	SkxPostings p;

#define GET(bytes) \
	unit_subblock_get(bytes, bytes + sizeof(bytes), 1, SKX_NO_DOC, &p)
	CHECK(GET(tf_257) == NULL);
	CHECK(GET(no_zero) == NULL);
	CHECK(GET(only_d) == NULL);
	CHECK(GET(large) == NULL);
	CHECK(GET(sound) == sound + sizeof(sound));
#undef GET
}

/*
 * What is no sub-block is refused, before anything lies behind the room that
 * the largest one needs.
 */
static void
refused_input(void)
{
	uint8	   *room = unit_guarded(body, SKX_SUBBLOCK_BODY_MAX);
	SkxPostings p;
	int			at;

	for (at = 0; at < SKX_SUBBLOCK; at++)
	{
		/* the document before once more: the bitset's last bit wraps around */
		plain(&p, SKX_SUBBLOCK, 99);
		p.docs[at] = at == 0 ? 99 : p.docs[at - 1];
		CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);
		p.n = at + 1;
		CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);

		/* far away, and the next one back again */
		plain(&p, SKX_SUBBLOCK, 99);
		p.docs[at] = 0xFFFFFF00;
		CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);

		plain(&p, SKX_SUBBLOCK, 99);
		p.tf[at] = SKX_TF_MAX + 1;
		CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);
	}
	/* one document all along, as of a lexeme that is there 128 times */
	plain(&p, SKX_SUBBLOCK, 99);
	for (at = 0; at < SKX_SUBBLOCK; at++)
		p.docs[at] = 100;
	CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);
	p.n = SKX_SUBBLOCK + 1;
	CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);
	p.n = 0;
	CHECK(skx_codec_subblock_put(room, &p, 99) == NULL);
	/* the last document that there is */
	plain(&p, SKX_SUBBLOCK, SKX_DOC_MAX - SKX_SUBBLOCK);
	CHECK(skx_codec_subblock_put(room, &p, SKX_DOC_MAX - SKX_SUBBLOCK) != NULL);
	p.docs[SKX_SUBBLOCK - 1]++;
	CHECK(skx_codec_subblock_put(room, &p, SKX_DOC_MAX - SKX_SUBBLOCK) == NULL);
}

/* Random documents, out of order more often than not. */
static void
refused_at_random(void)
{
	uint8	   *room = unit_guarded(body, SKX_SUBBLOCK_BODY_MAX);
	SkxPostings p;
	int			round;
	int			i;

	for (round = 0; round < UNIT_CASES(20000); round++)
	{
		uint32		base = unit_below(1000);
		uint32		spread = UINT32_C(1) << unit_below(32);
		bool		ascend = true;

		plain(&p, 1 + unit_below(SKX_SUBBLOCK), base);
		if (round % 2 == 0)
			p.n = SKX_SUBBLOCK;
		for (i = round % 7 == 0 ? 0 : p.n - 1; i < p.n; i++)
			p.docs[i] += unit_below(spread) - spread / 8;
		for (i = 0; i < p.n; i++)
			ascend &= p.docs[i] <= SKX_DOC_MAX &&
				p.docs[i] > (i == 0 ? base : p.docs[i - 1]);
		CHECK((skx_codec_subblock_put(room, &p, base) != NULL) == ascend);
	}
}

int
main(void)
{
	unit_seed(4);
	refused_input();
	refused_at_random();
	golden_tail();
	golden_full();
	golden_labels();
	refused_documents();
	refused_varints();
	refused_tail();
	refused_one();
	all_kinds();
	all_lengths();
	return unit_done("test_codec_subblock");
}
