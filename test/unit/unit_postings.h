/*
 * unit_postings.h
 *	  Postings and positions of every kind that a codec might stumble over,
 *	  and what any decoded postings must satisfy.
 */
#ifndef SKX_TEST_UNIT_POSTINGS_H
#define SKX_TEST_UNIT_POSTINGS_H

#include "unit.h"
#include "format/codec/codec.h"

#define UNIT_DOC_KINDS		9
#define UNIT_TF_KINDS		8
#define UNIT_LABEL_KINDS	9

/* Gap number i of n, `room` documents being left for it and those after. */
static inline uint32
unit_gap(int kind, int i, int n, uint32 room, int width)
{
	uint32		most = room - (uint32) (n - i - 1);
	uint32		gap;

	switch (kind)
	{
		case 0:					/* a run */
			gap = 1;
			break;
		case 1:					/* a run with holes */
			gap = 1 + (unit_below(40) == 0);
			break;
		case 2:					/* dense */
			gap = 1 + unit_below(width % 8 + 2);
			break;
		case 3:					/* all equal */
			gap = (uint32) 1 << Min(width, 24);
			break;
		case 4:					/* as sparse as they can be */
			gap = room / (uint32) (n - i);
			break;
		case 5:					/* a run after a leap */
			gap = i == 0 ? most : 1;
			break;
		case 6:					/* a leap in a run */
			gap = i == n / 2 ? most : 1;
			break;
		case 7:					/* one hole in a run, anywhere */
			gap = i == width % n ? 1 + width : 1;
			break;
		default:				/* any of some width */
			gap = 1 + unit_below((uint64) 1 << width);
			break;
	}
	return Min(gap, most);
}

static inline int
unit_tf(int kind, int i)
{
	switch (kind)
	{
		case 0:
			return 1;
		case 1:
			return 0;
		case 2:
			return SKX_TF_MAX;
		case 3:
			return i % 3 == 0 ? 0 : i % 3 == 1 ? 1 : SKX_TF_MAX;
		case 4:					/* text: mostly 1, few large */
			return unit_below(20) ? 1 + unit_below(3) : 1 + unit_below(256);
		case 5:
			return unit_below(SKX_TF_MAX + 1);
		case 6:
			return 1 + unit_below(2);
		default:				/* one that is different */
			return i == 5 ? 0 : 7;
	}
}

/* A label set for a posting of `tf` positions. */
static inline int
unit_label_set(int kind, int tf)
{
	int			set;

	if (tf == 0)
		return 0;
	switch (kind)
	{
		case 0:
		case 1:
		case 2:
		case 3:					/* one label */
			return 1 << kind;
		case 4:					/* one label a posting */
			return 1 << unit_below(SKX_NLABELS);
		case 5:					/* mostly D */
			set = unit_below(30) ? 1 : 9;
			break;
		case 6:					/* A alone, or C with D */
			set = unit_below(2) ? 8 : 3;
			break;
		case 7:
			set = 15;
			break;
		default:
			set = 1 + unit_below(15);
			break;
	}
	while (__builtin_popcount(set) > tf)
		set &= set - 1;
	return set;
}

/* Distributes tf positions among the labels of the set. */
static inline void
unit_label_counts(SkxPostings *p, int i)
{
	int			count[SKX_NLABELS] = {0};
	int			left = p->tf[i];
	int			label;

	for (label = 0; label < SKX_NLABELS; label++)
	{
		if (p->labels[i] >> label & 1)
		{
			count[label] = 1;
			left--;
		}
	}
	for (label = SKX_NLABELS - 1; label >= 0 && left > 0; label--)
	{
		if (p->labels[i] >> label & 1)
		{
			int			more =
				p->labels[i] & ((1 << label) - 1) ? unit_below(left + 1) : left;

			count[label] += more;
			left -= more;
		}
	}
	for (label = 1; label < SKX_NLABELS; label++)
		p->label_tf[label - 1][i] = count[label];
}

/* n postings after base; base + n must not pass SKX_DOC_MAX. */
static inline void
unit_postings(SkxPostings *p, int n, uint32 base, int docs, int tfs,
			  int labels)
{
	int			width = unit_below(32);
	uint32		last = base;
	int			i;

	memset(p, 0xEE, sizeof(*p));
	p->n = n;
	for (i = 0; i < n; i++)
	{
		last += unit_gap(docs, i, n, SKX_DOC_MAX - last, width);
		p->docs[i] = last;
		p->tf[i] = unit_tf(tfs, i);
		p->labels[i] = unit_label_set(labels, p->tf[i]);
		unit_label_counts(p, i);
	}
}

/* p->tf[i] positions for each posting; returns how many in all. */
static inline int
unit_positions(const SkxPostings *p, uint16 *positions)
{
	int			total = 0;
	int			i;
	int			k;

	for (i = 0; i < p->n; i++)
	{
		int			count[SKX_NLABELS];
		int			left = p->tf[i];
		int			position = unit_below(50) ? 0 : -1;

		count[0] = p->tf[i];
		for (k = 1; k < SKX_NLABELS; k++)
			count[0] -= count[k] = p->label_tf[k - 1][i];
		for (; left > 0; left--)
		{
			int			room = (16383 - position) / left;
			int			label;

			position += 1 + unit_below(unit_below(9) ? Min(room, 30) : room);
			do
				label = unit_below(SKX_NLABELS);
			while (count[label] == 0);
			count[label]--;
			positions[total++] = label << 14 | position;
		}
	}
	return total;
}

/* Whether p is what codec.h says of postings that follow base. */
static inline bool
unit_postings_valid(const SkxPostings *p, uint32 base)
{
	uint64		next = (uint32) (base + 1);
	int			i;
	int			label;

	for (i = 0; i < p->n; i++)
	{
		int			counted = 0;

		if (p->docs[i] < next || p->docs[i] > SKX_DOC_MAX)
			return false;
		next = (uint64) p->docs[i] + 1;
		if (p->tf[i] > SKX_TF_MAX || p->labels[i] > 15)
			return false;
		if ((p->tf[i] == 0) != (p->labels[i] == 0))
			return false;
		for (label = 1; label < SKX_NLABELS; label++)
		{
			int			count = p->label_tf[label - 1][i];

			if ((count != 0) != (p->labels[i] >> label & 1))
				return false;
			counted += count;
		}
		if ((p->labels[i] & 1) ? counted >= p->tf[i] : counted != p->tf[i])
			return false;
	}
	return true;
}

static inline bool
unit_postings_equal(const SkxPostings *a, const SkxPostings *b)
{
	int			c;

	if (a->n != b->n ||
		memcmp(a->docs, b->docs, a->n * sizeof(a->docs[0])) != 0 ||
		memcmp(a->tf, b->tf, a->n * sizeof(a->tf[0])) != 0 ||
		memcmp(a->labels, b->labels, a->n * sizeof(a->labels[0])) != 0)
		return false;
	for (c = 0; c < SKX_NLABELS - 1; c++)
	{
		if (memcmp(a->label_tf[c], b->label_tf[c],
				   a->n * sizeof(a->label_tf[c][0])) != 0)
			return false;
	}
	return true;
}

/* All parts of a sub-block body; NULL when any is damaged. */
static inline const uint8 *
unit_subblock_get(const uint8 *body, const uint8 *end, int n, uint32 base,
				  SkxPostings *p)
{
	const uint8 *src;

	p->n = n;
	src = skx_codec_subblock_docs(body, end, n, base, p->docs);
	if (src != NULL)
		src = skx_codec_subblock_tfs(body, src, end, n, p->tf);
	if (src != NULL)
		src = skx_codec_subblock_labels(body, src, end, p);
	return src;
}

#endif							/* SKX_TEST_UNIT_POSTINGS_H */
