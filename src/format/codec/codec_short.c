/*
 * codec_short.c
 *	  A whole posting list too short for sub-blocks, and its positions.
 *
 * Most lexemes are in few documents, and mostly once in each.  Such a posting
 * is one varint. codec.h has the layout.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

/* The low bits of a posting's first varint. */
#define SKX_SHORT_TF_ONE			0	/* tf 1, label D */
#define SKX_SHORT_TF_ZERO		1	/* tf 0 */
#define SKX_SHORT_TF			2	/* tf follows, label D */
#define SKX_SHORT_LABELS		3	/* tf and labels follow */
#define SKX_SHORT_BITS			2
#define SKX_SHORT_MASK			3

/*
 * Most bytes of a posting: a first varint of 33 bits, tf, label set, and three
 * counts of two bytes each.
 */
#define SKX_SHORT_POSTING_MAX	(5 + 2 + 1 + 3 * 2)

#define SKX_LABELS_ONLY_D				(1 << SKX_LABEL_D)
#define SKX_ALL_LABELS			((1 << SKX_NLABELS) - 1)

static int
skx_codec_short_form(const SkxPostings *p, int i)
{
	if (p->tf[i] == 0)
		return SKX_SHORT_TF_ZERO;
	if (p->labels[i] != SKX_LABELS_ONLY_D)
		return SKX_SHORT_LABELS;
	return p->tf[i] == 1 ? SKX_SHORT_TF_ONE : SKX_SHORT_TF;
}

uint8 *
skx_codec_short_put(uint8 *dst, const SkxPostings *p)
{
	uint32		last = SKX_NO_DOC;
	int			i;

	if (p->n < 1 || p->n >= SKX_SUBBLOCK)
		return NULL;
	for (i = 0; i < p->n; i++)
	{
		int			kind = skx_codec_short_form(p, i);
		uint32		gap = p->docs[i] - last - 1;
		int			label;

		if ((gap | p->docs[i]) > SKX_DOC_MAX || p->tf[i] > SKX_TF_MAX)
			return NULL;
		last = p->docs[i];
		dst = skx_codec_varint64_put(dst, (uint64) gap << SKX_SHORT_BITS |
									 (uint64) kind);
		if (kind == SKX_SHORT_TF_ONE || kind == SKX_SHORT_TF_ZERO)
			continue;
		dst = skx_codec_varint_put(dst, p->tf[i]);
		if (kind == SKX_SHORT_TF)
			continue;
		Assert(p->labels[i] != 0 && p->labels[i] <= SKX_ALL_LABELS);
		*dst++ = p->labels[i];
		if (!SKX_SEVERAL_LABELS(p->labels[i]))
			continue;
		for (label = 1; label < SKX_NLABELS; label++)
		{
			if (p->labels[i] & 1 << label)
				dst = skx_codec_varint_put(dst, p->label_tf[label - 1][i]);
		}
	}
	return dst;
}

size_t
skx_codec_short_max_bytes(int n)
{
	return (size_t) n * SKX_SHORT_POSTING_MAX;
}

/* Reads the labels of a posting, which follow its tf. */
static const uint8 *
skx_codec_short_labels_get(const uint8 *src, const uint8 *end, int i,
						   SkxPostings *p)
{
	uint32		tf = p->tf[i];
	uint32		counted = 0;
	uint8		set;
	int			label;

	if (src >= end)
		return NULL;
	set = *src++;
	if (set == 0 || set == SKX_LABELS_ONLY_D || set > SKX_ALL_LABELS)
		return NULL;
	p->labels[i] = set;
	for (label = 1; label < SKX_NLABELS; label++)
	{
		uint32		count = tf;

		if ((set & 1 << label) == 0)
			continue;
		if (SKX_SEVERAL_LABELS(set))
		{
			src = skx_codec_varint_get(src, end, &count);
			if (src == NULL || count == 0 || count > tf)
				return NULL;
		}
		counted += count;
		p->label_tf[label - 1][i] = (uint16) count;
	}
	if ((set & SKX_LABELS_ONLY_D) != 0 ? counted >= tf : counted != tf)
		return NULL;
	return src;
}

/*
 * Does the same as skx_codec_varint64_get(), without a branch for each byte.
 * It loads eight bytes and keeps those up to the first without a high bit.
 * Their groups of seven bits are joined by pairs, then by fours, then all.
 */
static inline const uint8 *
skx_codec_short_varint(const uint8 *src, const uint8 *end, uint64 *v)
{
	uint64		bytes;
	uint64		last;
	int			n;

	if (end - src < (ptrdiff_t) sizeof(bytes))
		return skx_codec_varint64_get(src, end, v);
	bytes = skx_codec_load64(src);
	last = ~bytes & UINT64CONST(0x8080808080808080);
	if (last == 0)
		return skx_codec_varint64_get(src, end, v);
	n = __builtin_ctzll(last) / 8 + 1;
	if (n > 1 && src[n - 1] == 0)
		return NULL;
	bytes &= (last ^ (last - 1)) & UINT64CONST(0x7F7F7F7F7F7F7F7F);
	bytes = (bytes & UINT64CONST(0x007F007F007F007F)) |
		(bytes & UINT64CONST(0x7F007F007F007F00)) >> 1;
	bytes = (bytes & UINT64CONST(0x00003FFF00003FFF)) |
		(bytes & UINT64CONST(0x3FFF00003FFF0000)) >> 2;
	*v = (bytes & UINT64CONST(0x000000000FFFFFFF)) |
		(bytes & UINT64CONST(0x0FFFFFFF00000000)) >> 4;
	return src + n;
}

const uint8 *
skx_codec_short_get(const uint8 *src, const uint8 *end, int n, SkxPostings *p)
{
	uint64		next = 0;
	int			i;
	int			c;

	if (n < 1 || n >= SKX_SUBBLOCK)
		return NULL;
	p->n = n;
	for (c = 0; c < SKX_NLABELS - 1; c++)
		memset(p->label_tf[c], 0, n * sizeof(uint16));
	for (i = 0; i < n; i++)
	{
		uint64		first;
		uint32		tf;
		int			kind;

		src = skx_codec_short_varint(src, end, &first);
		if (src == NULL)
			return NULL;
		next += first >> SKX_SHORT_BITS;
		if (next > SKX_DOC_MAX)
			return NULL;
		p->docs[i] = (uint32) next++;

		kind = first & SKX_SHORT_MASK;
		p->tf[i] = kind == SKX_SHORT_TF_ONE;
		p->labels[i] = kind == SKX_SHORT_TF_ONE ? SKX_LABELS_ONLY_D : 0;
		if (kind == SKX_SHORT_TF_ONE || kind == SKX_SHORT_TF_ZERO)
			continue;
		src = skx_codec_varint_get(src, end, &tf);
		if (src == NULL || tf == 0 || tf > SKX_TF_MAX)
			return NULL;
		p->tf[i] = (uint16) tf;
		p->labels[i] = SKX_LABELS_ONLY_D;
		if (kind == SKX_SHORT_TF && tf == 1)
			return NULL;
		if (kind == SKX_SHORT_LABELS)
			src = skx_codec_short_labels_get(src, end, i, p);
		if (src == NULL)
			return NULL;
	}
	return src;
}

/* Skips what follows the first varint of a posting, and checks it. */
static const uint8 *
skx_codec_short_skip_posting(const uint8 *src, const uint8 *end, int kind)
{
	SkxPostings p;
	uint32		tf;

	src = skx_codec_varint_get(src, end, &tf);
	if (src == NULL || tf == 0 || tf > SKX_TF_MAX ||
		(kind == SKX_SHORT_TF && tf == 1))
		return NULL;
	p.tf[0] = (uint16) tf;
	return kind == SKX_SHORT_LABELS ?
		skx_codec_short_labels_get(src, end, 0, &p) : src;
}

const uint8 *
skx_codec_short_docs(const uint8 *src, const uint8 *end, int n, uint32 *docs)
{
	uint64		next = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		uint64		first;
		int			kind;

		src = skx_codec_short_varint(src, end, &first);
		if (src == NULL)
			return NULL;
		next += first >> SKX_SHORT_BITS;
		if (next > SKX_DOC_MAX)
			return NULL;
		docs[i] = (uint32) next++;
		kind = first & SKX_SHORT_MASK;
		if (kind == SKX_SHORT_TF_ONE || kind == SKX_SHORT_TF_ZERO)
			continue;
		src = skx_codec_short_skip_posting(src, end, kind);
		if (src == NULL)
			return NULL;
	}
	return src;
}

uint8 *
skx_codec_short_positions_put(uint8 *dst, const SkxPostings *p,
							  const uint16 *positions)
{
	int			i;
	int			k;

	for (i = 0; i < p->n; i++)
	{
		bool		labelled = skx_codec_short_form(p, i) == SKX_SHORT_LABELS;
		uint32		last = 0;

		for (k = 0; k < p->tf[i]; k++)
		{
			uint32		position = *positions & SKX_POS_MASK;
			uint32		label = *positions >> SKX_POS_BITS;
			uint32		v = (position - last - 1) & SKX_POS_MASK;

			Assert(k == 0 || position > last);
			Assert(p->labels[i] & 1 << label);
			last = position;
			positions++;
			if (labelled)
				v = v << SKX_SHORT_BITS | label;
			dst = skx_codec_varint_put(dst, v);
		}
	}
	return dst;
}

const uint8 *
skx_codec_short_positions_get(const uint8 *src, const uint8 *end,
							  const SkxPostings *p, int which,
							  uint16 *positions, const uint8 **next)
{
	bool		labelled = skx_codec_short_form(p, which) == SKX_SHORT_LABELS;
	int			counts[SKX_NLABELS] = {0};
	uint32		position = 0;
	int			k;

	for (k = 0; k < p->tf[which]; k++)
	{
		uint32		v;
		uint32		label = SKX_LABEL_D;

		src = skx_codec_varint_get(src, end, &v);
		if (src == NULL)
			return NULL;
		if (labelled)
		{
			label = v & SKX_SHORT_MASK;
			v >>= SKX_SHORT_BITS;
		}
		if (v > SKX_POS_MASK)
			return NULL;
		position += v + 1;
		/* only a first position can be 0, which is stored as 2^14 minus one */
		if (k == 0)
			position &= SKX_POS_MASK;
		if (position > SKX_POS_MASK)
			return NULL;
		counts[label]++;
		positions[k] = (uint16) (label << SKX_POS_BITS | position);
	}
	for (k = 1; k < SKX_NLABELS; k++)
	{
		if (counts[k] != p->label_tf[k - 1][which])
			return NULL;
	}
	if (next != NULL)
		*next = src;
	return src;
}

const uint8 *
skx_codec_short_positions_skip(const uint8 *src, const uint8 *end, int count)
{
	while (count > 0)
	{
		if (src >= end)
			return NULL;
		count -= *src++ < 0x80;
	}
	return src;
}
