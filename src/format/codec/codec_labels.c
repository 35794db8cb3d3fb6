/*
 * codec_labels.c
 *	  The label part of a sub-block: the labels that each posting has, and the
 *	  number of positions with each label.
 *
 * Nearly all text has label D only.  Nearly all other text has one label per
 * list or one label per posting.  Therefore counts are stored only for labels
 * that share a posting with another one. codec.h has the layout.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

/*
 * Columns of counts: the label whose count is label_tf[i], and its bit in a
 * set.
 */
#define SKX_LABEL_COLUMNS		(SKX_NLABELS - 1)
#define SKX_LABEL_OF_COLUMN(i)			((i) + 1)
#define SKX_LABEL_COLUMN_BIT(i)		(1 << SKX_LABEL_OF_COLUMN(i))
#define SKX_D_BIT				(1 << SKX_LABEL_D)

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

bool
skx_codec_labels_form_valid(uint8 form)
{
	int			label = form >> SKX_LABELS_ONE_SHIFT;

	if ((form & SKX_LABELS_FORM_MASK) == SKX_LABELS_ONE)
		return label != SKX_LABEL_D;
	return label == 0 && form <= SKX_LABELS_SETS;
}

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
	for (c = 0; c < SKX_LABEL_COLUMNS; c++)
	{
		uint32		column[SKX_SUBBLOCK];

		if ((shared & SKX_LABEL_COLUMN_BIT(c)) == 0)
			continue;
		for (i = 0; i < p->n; i++)
			column[i] = p->label_tf[c][i];
		dst = skx_codec_column_put(dst, column, p->n);
	}
	return dst;
}

/*
 * Gives the same label set to every posting that has positions.  Inlined with
 * n constant so that the compiler uses vectors.
 */
static pg_attribute_always_inline void
skx_codec_labels_set_same(SkxPostings *p, int label, int n)
{
	uint8		set = (uint8) (1 << label);
	int			c;
	int			i;

	for (i = 0; i < n; i++)
		p->labels[i] = p->tf[i] != 0 ? set : 0;
	for (c = 0; c < SKX_LABEL_COLUMNS; c++)
	{
		if (SKX_LABEL_OF_COLUMN(c) == label)
			memcpy(p->label_tf[c], p->tf, n * sizeof(uint16));
		else
			memset(p->label_tf[c], 0, n * sizeof(uint16));
	}
}

/*
 * Reads the label sets.  Sets *shared to the labels that share a posting with
 * another one, and *all to all labels.
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

/*
 * Sets one column of counts, which is read if it is stored, else follows from
 * tf.
 */
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
				p->labels[i] & SKX_LABEL_COLUMN_BIT(c) ? p->tf[i] : 0;
		return src;
	}
	src = skx_codec_column_get(column, src, end, p->n);
	if (src == NULL)
		return NULL;
	for (i = 0; i < p->n; i++)
	{
		bool		has = (p->labels[i] & SKX_LABEL_COLUMN_BIT(c)) != 0;

		if (column[i] > p->tf[i] || has != (column[i] != 0))
			return NULL;
		p->label_tf[c][i] = (uint16) column[i];
	}
	return src;
}

/*
 * Returns true if the counts of each posting leave at least one position for
 * label D if it has that label, and none if it has not.
 */
static bool
skx_codec_labels_check_counts(const SkxPostings *p)
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
			skx_codec_labels_set_same(p, label, SKX_SUBBLOCK);
		else
			skx_codec_labels_set_same(p, label, p->n);
		return src;
	}
	src = skx_codec_labels_sets(src, end, p, &all, &shared);
	if (src == NULL || src >= end || *src != shared >> 1)
		return NULL;
	/* a single label has one of the other forms */
	if (!SKX_SEVERAL_LABELS(all))
		return NULL;
	src++;
	for (c = 0; c < SKX_LABEL_COLUMNS; c++)
	{
		src = skx_codec_labels_column(src, end, p, c,
									  (shared & SKX_LABEL_COLUMN_BIT(c)) != 0);
		if (src == NULL)
			return NULL;
	}
	return skx_codec_labels_check_counts(p) ? src : NULL;
}
