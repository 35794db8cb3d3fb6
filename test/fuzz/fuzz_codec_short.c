/*
 * fuzz_codec_short.c
 *	  A short list and its inline positions: n, then the bytes.
 *
 * Holds: codec 2, 3
 */
#include "fuzz.h"
#include "unit_postings.h"

static uint16 positions[SKX_SUBBLOCK * SKX_TF_MAX];

size_t
fuzz_seed(uint8 *data, size_t room)
{
	SkxPostings p;
	int			n = 1 + unit_below(unit_below(2) ? 3 : SKX_SUBBLOCK - 1);
	int			tfs = unit_below(UNIT_TF_KINDS);
	uint8	   *dst = data;

	/* few postings where each may have 256 positions, to fit in the room */
	if (tfs == 2 || tfs == 3 || tfs == 5)
		n = Min(n, 6);
	unit_postings(&p, n, SKX_NO_DOC, unit_below(UNIT_DOC_KINDS), tfs,
				  unit_below(UNIT_LABEL_KINDS));
	unit_positions(&p, positions);
	*dst++ = (uint8) n;
	dst = skx_codec_short_put(dst, &p);
	dst = skx_codec_short_positions_put(dst, &p, positions);
	FUZZ_ASSERT(dst <= data + room);
	return dst - data;
}

/* Reads the positions of all postings; NULL when damaged. */
static const uint8 *
all_positions(const uint8 *src, const uint8 *end, const SkxPostings *p,
			  uint16 *out)
{
	int			i;
	int			k;

	for (i = 0; i < p->n && src != NULL; i++)
	{
		const uint8 *start = src;

		src = skx_codec_short_positions_get(start, end, p, i, out, NULL);
		if (src == NULL)
			break;
		FUZZ_ASSERT(src <= end);
		FUZZ_ASSERT(src == skx_codec_short_positions_skip(start, end,
														  p->tf[i]));
		for (k = 0; k < p->tf[i]; k++)
		{
			FUZZ_ASSERT(p->labels[i] >> (out[k] >> 14) & 1);
			FUZZ_ASSERT(k == 0 || (out[k] & 0x3FFF) > (out[k - 1] & 0x3FFF));
		}
		out += p->tf[i];
	}
	return src;
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	static uint8 again[SKX_SUBBLOCK * SKX_TF_MAX * SKX_SHORT_POSITION_MAX];
	FuzzInput	in = {data, data + size};
	int			n = fuzz_u8(&in);
	SkxPostings p;
	const uint8 *src = skx_codec_short_get(in.at, in.end, n, &p);
	uint32		docs[SKX_SUBBLOCK];
	const uint8 *end = n < 1 || n >= SKX_SUBBLOCK ? NULL :
		skx_codec_short_docs(in.at, in.end, n, docs);

	FUZZ_ASSERT(end == NULL || end <= in.end);
	if (src == NULL)
		return 0;
	FUZZ_ASSERT(end == src);
	FUZZ_ASSERT(memcmp(docs, p.docs, n * sizeof(uint32)) == 0);
	FUZZ_ASSERT(src <= in.end);
	FUZZ_ASSERT(unit_postings_valid(&p, SKX_NO_DOC));
	/* There is one way to write a list, so the bytes come back. */
	FUZZ_ASSERT(skx_codec_short_put(again, &p) - again == src - in.at);
	FUZZ_ASSERT(memcmp(again, in.at, src - in.at) == 0);

	end = all_positions(src, in.end, &p, positions);
	if (end == NULL)
		return 0;
	FUZZ_ASSERT(skx_codec_short_positions_put(again, &p, positions) - again ==
				end - src);
	FUZZ_ASSERT(memcmp(again, src, end - src) == 0);
	return 0;
}
