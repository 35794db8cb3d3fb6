/*
 * codec_positions.c
 *	  A block of up to 128 positions of consecutive postings of one list.
 *
 * Positions are stored as differences within a document.  Nothing marks the
 * start of a document, since the reader knows the frequencies.  Labels are
 * stored separately, so that text without labels needs no bytes for them.
 * codec.h has the layout.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/codec/codec_internal.h"

/* bits of byte 0 */
#define SKX_POSITIONS_LABELS	4	/* the values are followed by two bits per
									 * position */
#define SKX_POSITIONS_FORM		0x07
#define SKX_POSITIONS_UNUSED	0x78
#define SKX_POSITIONS_HAS_COUNT	0x80

#define SKX_DELTA_LABEL_SHIFT	30

/* Writes the labels, two bits per position. */
static uint8 *
skx_codec_position_labels_put(uint8 *dst, const uint16 *positions, int n)
{
	int			i;

	memset(dst, 0, (n + 3) / 4);
	for (i = 0; i < n; i++)
		dst[i / 4] |= (uint8) ((positions[i] >> SKX_POS_BITS) << (2 * (i % 4)));
	return dst + (n + 3) / 4;
}

uint8 *
skx_codec_positions_put(uint8 *dst, const uint16 *positions, int n,
						const uint64 *starts)
{
	uint32		values[SKX_SUBBLOCK];
	uint32		last = 0;
	uint16		differ = 0;
	uint8		form;
	int			i;

	Assert(n >= 1 && n <= SKX_SUBBLOCK);
	for (i = 0; i < n; i++)
	{
		uint32		position = positions[i] & SKX_POS_MASK;

		if (skx_bitset_test(starts, i))
			last = 0;
		else
			Assert(i == 0 || position > last);
		values[i] = (position - last - 1) & SKX_POS_MASK;
		last = position;
		differ |= positions[i] ^ positions[0];
	}

	form = differ >> SKX_POS_BITS ? SKX_POSITIONS_LABELS :
		(uint8) (positions[0] >> SKX_POS_BITS);
	if (n < SKX_SUBBLOCK)
	{
		*dst++ = form | SKX_POSITIONS_HAS_COUNT;
		*dst++ = (uint8) n;
	}
	else
		*dst++ = form;
	dst = skx_codec_column_put(dst, values, n);
	if (form == SKX_POSITIONS_LABELS)
		dst = skx_codec_position_labels_put(dst, positions, n);
	return dst;
}

/*
 * Reads byte 0 and the count.  Returns the start of the values, or NULL if
 * damaged.
 */
static const uint8 *
skx_codec_positions_head(const uint8 *src, const uint8 *end, uint8 *form,
						 int *n)
{
	uint8		head;

	if (src >= end)
		return NULL;
	head = *src++;
	*form = head & SKX_POSITIONS_FORM;
	if ((head & SKX_POSITIONS_UNUSED) != 0 || *form > SKX_POSITIONS_LABELS)
		return NULL;
	*n = SKX_SUBBLOCK;
	if (head & SKX_POSITIONS_HAS_COUNT)
	{
		if (src >= end || *src == 0 || *src >= SKX_SUBBLOCK)
			return NULL;
		*n = *src++;
	}
	return src;
}

/*
 * Adds the labels to n deltas; the caller has checked that the bytes exist.
 * Returns false if unused bits are set, or if all labels are equal.
 */
static bool
skx_codec_position_labels_get(const uint8 *labels, uint32 *deltas, int n)
{
	uint8		first = (labels[0] & 3) * 0x55;
	uint8		differ = 0;
	int			rest = n % 4;
	int			i;

	for (i = 0; i < n; i++)
		deltas[i] |= (uint32) (labels[i / 4] >> (2 * (i % 4)) & 3) <<
			SKX_DELTA_LABEL_SHIFT;

	/* unused bits are 0, and positions with one label have another form */
	for (i = 0; i < n / 4; i++)
		differ |= labels[i] ^ first;
	if (rest != 0)
	{
		if (labels[i] >> (2 * rest) != 0)
			return false;
		differ |= labels[i] ^ (first & ((1 << (2 * rest)) - 1));
	}
	return differ != 0;
}

/*
 * Turns n values into deltas, and ors `above` into each.  Returns false if a
 * value is too large.  Inlined with n constant so that the compiler uses
 * vectors.
 */
static pg_attribute_always_inline bool
skx_codec_position_deltas(uint32 *values, int n, uint32 above)
{
	uint32		all = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		all |= values[i];
		values[i] = (values[i] + 1) | above;
	}
	return all <= SKX_POS_MASK;
}

SKX_CODEC_CLONES
const uint8 *
skx_codec_positions_get(const uint8 *src, const uint8 *end, uint32 *deltas,
						int *n)
{
	uint8		form;
	uint32		above;
	bool		valid;

	src = skx_codec_positions_head(src, end, &form, n);
	if (src == NULL)
		return NULL;
	src = skx_codec_column_get(deltas, src, end, *n);
	if (src == NULL)
		return NULL;
	above = form == SKX_POSITIONS_LABELS ? 0 :
		(uint32) form << SKX_DELTA_LABEL_SHIFT;
	if (*n == SKX_SUBBLOCK)
		valid = skx_codec_position_deltas(deltas, SKX_SUBBLOCK, above);
	else
		valid = skx_codec_position_deltas(deltas, *n, above);
	if (!valid)
		return NULL;
	if (form != SKX_POSITIONS_LABELS)
		return src;
	if (end - src < (*n + 3) / 4 ||
		!skx_codec_position_labels_get(src, deltas, *n))
		return NULL;
	return src + (*n + 3) / 4;
}

/*
 * Returns the end of a block of n positions of this form, whose values begin
 * at src; NULL if damaged.
 */
static const uint8 *
skx_codec_positions_end(const uint8 *src, const uint8 *end, uint8 form,
						int n)
{
	if (n == SKX_SUBBLOCK)
		src = skx_codec_pfor_skip(src, end);
	else
		src = skx_codec_short_positions_skip(src, end, n);
	if (src == NULL || form != SKX_POSITIONS_LABELS)
		return src;
	return end - src < (n + 3) / 4 ? NULL : src + (n + 3) / 4;
}

const uint8 *
skx_codec_positions_skip(const uint8 *src, const uint8 *end, uint32 *want)
{
	while (src < end)
	{
		uint8		form;
		int			n;
		const uint8 *values = skx_codec_positions_head(src, end, &form, &n);

		if (values == NULL)
			return NULL;
		if (*want < (uint32) n)
			break;
		src = skx_codec_positions_end(values, end, form, n);
		if (src == NULL)
			return NULL;
		*want -= n;
	}
	return src;
}
