/*
 * codec_labels.c
 *	  The label part of a sub-block: which labels the positions of each posting
 *	  have, and how many positions have each.
 *
 * Nearly all text has label D only, and nearly all of the rest has one label a
 * list or one label a posting, so counts are stored for those labels only that
 * share a posting with another; codec.h has the layout.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

/* The label whose count is label_tf[i], and its bit in a set. */
#define SKX_COUNTED_LABELS		(SKX_NLABELS - 1)
#define SKX_COUNTED(i)			((i) + 1)
#define SKX_COUNTED_BIT(i)		(1 << SKX_COUNTED(i))
#define SKX_D_BIT				(1 << SKX_LABEL_D)

/* The label form bits of byte 1 that fit the postings. */
uint8
skx_codec_labels_form(const SkxPostings *p)
{
	uint8		all = 0;
	int			label;
	int			i;

	for (i = 0; i < p->n; i++)
	{
		Assert((p->tf[i] == 0) == (p->labels[i] == 0));
		all |= p->labels[i];
	}
	if ((all & ~SKX_D_BIT) == 0)
		return SKX_LABELS_ALL_D;
	for (label = 1; label < SKX_NLABELS; label++)
	{
		if (all == 1 << label)
			return SKX_LABELS_ONE | (uint8) (label << SKX_LABELS_ONE_SHIFT);
	}
	return SKX_LABELS_SETS;
}

/* Whether form could have come from skx_codec_labels_form. */
bool
skx_codec_labels_form_valid(uint8 form)
{
	int			label = form >> SKX_LABELS_ONE_SHIFT;

	if ((form & SKX_LABELS_FORM_MASK) == SKX_LABELS_ONE)
		return label != SKX_LABEL_D;
	return label == 0 && form <= SKX_LABELS_SETS;
}

/* Writes the label part of that form; returns its end. */
uint8 *
skx_codec_labels_put(uint8 *dst, const SkxPostings *p, uint8 form)
{
	uint8		shared = 0;
	uint8	   *columns;
	int			c;
	int			i;

	if (form != SKX_LABELS_SETS)
		return dst;
	for (i = 0; i < p->n; i += 2)
	{
		uint8		pair = p->labels[i];

		if (i + 1 < p->n)
			pair |= (uint8) (p->labels[i + 1] << 4);
		*dst++ = pair;
	}
	for (i = 0; i < p->n; i++)
	{
		if (SKX_SEVERAL_LABELS(p->labels[i]))
			shared |= p->labels[i];
	}
	columns = dst++;
	*columns = shared >> 1;
	for (c = 0; c < SKX_COUNTED_LABELS; c++)
	{
		uint32		column[SKX_SUBBLOCK];

		if ((shared & SKX_COUNTED_BIT(c)) == 0)
			continue;
		for (i = 0; i < p->n; i++)
			column[i] = p->label_tf[c][i];
		dst = skx_codec_column_put(dst, column, p->n);
	}
	return dst;
}

/*
 * The same set of labels for every posting that has positions; inlined with n
 * constant for the compiler to use vectors.
 */
static pg_attribute_always_inline void
skx_codec_labels_one(SkxPostings *p, int label, int n)
{
	uint8		set = (uint8) (1 << label);
	int			c;
	int			i;

	for (i = 0; i < n; i++)
		p->labels[i] = p->tf[i] != 0 ? set : 0;
	for (c = 0; c < SKX_COUNTED_LABELS; c++)
	{
		if (SKX_COUNTED(c) == label)
			memcpy(p->label_tf[c], p->tf, n * sizeof(uint16));
		else
			memset(p->label_tf[c], 0, n * sizeof(uint16));
	}
}

/*
 * Reads the sets.  The labels that share a posting go to *shared, all labels
 * seen to *all.
 */
static const uint8 *
skx_codec_labels_sets(const uint8 *src, const uint8 *end, SkxPostings *p,
					  uint8 *all, uint8 *shared)
{
	int			i;

	*all = *shared = 0;
	if (end - src < (p->n + 1) / 2)
		return NULL;
	for (i = 0; i < p->n; i++)
	{
		uint8		set = (src[i / 2] >> (4 * (i % 2))) & 0x0F;

		if ((set == 0) != (p->tf[i] == 0))
			return NULL;
		*all |= set;
		if (SKX_SEVERAL_LABELS(set))
			*shared |= set;
		p->labels[i] = set;
	}
	if (p->n % 2 == 1 && src[p->n / 2] >> 4 != 0)
		return NULL;
	return src + (p->n + 1) / 2;
}

/* One column of counts, read or implied. */
static const uint8 *
skx_codec_labels_column(const uint8 *src, const uint8 *end, SkxPostings *p,
						int c, bool stored)
{
	uint32		column[SKX_SUBBLOCK];
	int			i;

	if (!stored)
	{
		for (i = 0; i < p->n; i++)
			p->label_tf[c][i] =
				p->labels[i] & SKX_COUNTED_BIT(c) ? p->tf[i] : 0;
		return src;
	}
	src = skx_codec_column_get(column, src, end, p->n);
	if (src == NULL)
		return NULL;
	for (i = 0; i < p->n; i++)
	{
		bool		has = (p->labels[i] & SKX_COUNTED_BIT(c)) != 0;

		if (column[i] > p->tf[i] || has != (column[i] != 0))
			return NULL;
		p->label_tf[c][i] = (uint16) column[i];
	}
	return src;
}

/* Whether the counts of each posting leave for label D what they should. */
static bool
skx_codec_labels_add_up(const SkxPostings *p)
{
	bool		valid = true;
	int			i;

	for (i = 0; i < p->n; i++)
	{
		int			counted = p->label_tf[0][i] + p->label_tf[1][i] +
			p->label_tf[2][i];
		bool		has_d = (p->labels[i] & SKX_D_BIT) != 0;

		valid &= has_d ? counted < p->tf[i] : counted == p->tf[i];
	}
	return valid;
}

/*
 * Decodes the labels of the body that begins at `body` and whose label part
 * begins at `src`, for the p->n postings whose p->tf is known; returns the end
 * of the body, NULL when damaged.
 */
const uint8 *
skx_codec_subblock_labels(const uint8 *body, const uint8 *src,
						  const uint8 *end, SkxPostings *p)
{
	uint8		form = body[1] & SKX_LABELS_MASK;
	uint8		all;
	uint8		shared;
	int			c;

	if (p->n < 1 || p->n > SKX_SUBBLOCK || !skx_codec_labels_form_valid(form))
		return NULL;
	if (form != SKX_LABELS_SETS)
	{
		int			label = form >> SKX_LABELS_ONE_SHIFT;

		if (p->n == SKX_SUBBLOCK)
			skx_codec_labels_one(p, label, SKX_SUBBLOCK);
		else
			skx_codec_labels_one(p, label, p->n);
		return src;
	}
	src = skx_codec_labels_sets(src, end, p, &all, &shared);
	if (src == NULL || src >= end || *src != shared >> 1)
		return NULL;
	/* A single label would have had one of the other forms. */
	if (!SKX_SEVERAL_LABELS(all))
		return NULL;
	src++;
	for (c = 0; c < SKX_COUNTED_LABELS; c++)
	{
		src = skx_codec_labels_column(src, end, p, c,
									  (shared & SKX_COUNTED_BIT(c)) != 0);
		if (src == NULL)
			return NULL;
	}
	return skx_codec_labels_add_up(p) ? src : NULL;
}
