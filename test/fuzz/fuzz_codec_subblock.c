/*
 * fuzz_codec_subblock.c
 *	  Sub-block bodies: n, base and a window, then the bytes.
 *
 * Holds: codec 2, 3
 */
#include "fuzz.h"
#include "unit_postings.h"

size_t
fuzz_seed(uint8 *data, size_t room)
{
	SkxPostings p;
	uint32		base = unit_below(3) ? SKX_NO_DOC : unit_below(1 << 30);
	int			n = unit_below(2) ? SKX_SUBBLOCK :
		1 + unit_below(SKX_SUBBLOCK);
	uint8	   *dst = data;

	unit_postings(&p, n, base, unit_below(UNIT_DOC_KINDS),
				  unit_below(UNIT_TF_KINDS), unit_below(UNIT_LABEL_KINDS));
	*dst++ = (uint8) n;
	dst = fuzz_put_u32(dst, base);
	dst = fuzz_put_u32(dst, p.docs[unit_below(n)] - unit_below(100));
	*dst++ = (uint8) unit_below(65);
	return skx_codec_subblock_put(dst, &p, base) - data;
}

/* The window as fill sets it must be the window of the documents. */
static void
check_fill(FuzzInput *in, int n, uint32 base, uint32 window, int nwords,
		   const uint32 *docs)
{
	uint64		bits[256 + 2] = {0};
	uint64		wanted[256 + 2] = {0};
	bool		done = skx_codec_subblock_fill_window(in->at, in->end, n, base,
											   window, bits + 1, nwords);
	int			i;

	FUZZ_ASSERT(bits[0] == 0 && bits[nwords + 1] == 0);
	FUZZ_ASSERT(done == (docs != NULL));
	if (docs == NULL)
		return;
	for (i = 0; i < n; i++)
	{
		uint64		bit = (uint64) docs[i] - window;

		if (docs[i] >= window && bit < 64 * (uint64) nwords)
			wanted[1 + bit / 64] |= UINT64CONST(1) << (bit % 64);
	}
	FUZZ_ASSERT(memcmp(bits, wanted, sizeof(bits)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8 *data, size_t size)
{
	FuzzInput	in = {data, data + size};
	int			n = fuzz_u8(&in);
	uint32		base = fuzz_u32(&in);
	uint32		window = fuzz_u32(&in);
	int			nwords = fuzz_u8(&in);
	SkxPostings p;
	SkxPostings again;
	uint8		body[SKX_SUBBLOCK_BODY_MAX];
	const uint8 *src;

	src = skx_codec_subblock_docs(in.at, in.end, n, base, p.docs);
	check_fill(&in, n, base, window, nwords, src ? p.docs : NULL);
	if (src == NULL)
		return 0;
	p.n = n;
	src = skx_codec_subblock_tfs(in.at, src, in.end, n, p.tf);
	if (src == NULL)
		return 0;
	src = skx_codec_subblock_labels(in.at, src, in.end, &p);
	if (src == NULL)
		return 0;
	FUZZ_ASSERT(src <= in.end);
	FUZZ_ASSERT(unit_postings_valid(&p, base));

	src = skx_codec_subblock_put(body, &p, base);
	FUZZ_ASSERT(src <= body + sizeof(body));
	FUZZ_ASSERT(unit_subblock_get(body, src, n, base, &again) == src);
	FUZZ_ASSERT(unit_postings_equal(&p, &again));
	return 0;
}
