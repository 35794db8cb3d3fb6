/*
 * unit_sizes.h
 *	  Sizes of encodings worked out from their description, for comparison.
 */
#ifndef SKX_TEST_UNIT_SIZES_H
#define SKX_TEST_UNIT_SIZES_H

#include "unit.h"
#include "format/codec/codec.h"

/* Bytes that 128 values take in the best pfor, found by trying each width. */
static inline int
unit_pfor_size(const uint32 *values)
{
	int			best = PG_INT32_MAX;
	int			width;
	int			i;

	for (width = 0; width <= 31; width++)
	{
		int			size = 1 + 16 * width;
		int			exceptions = 0;

		for (i = 0; i < SKX_SUBBLOCK; i++)
		{
			if (values[i] >> width != 0)
			{
				exceptions++;
				size += 1 + skx_codec_varint64_size(values[i] >> width);
			}
		}
		if (exceptions <= 7)
			best = Min(best, size);
	}
	return best;
}

/* Bytes of a column: pfor when full, varints when not. */
static inline int
unit_column_size(const uint32 *values, int n)
{
	int			size = 0;
	int			i;

	if (n == SKX_SUBBLOCK)
		return unit_pfor_size(values);
	for (i = 0; i < n; i++)
		size += skx_codec_varint64_size(values[i]);
	return size;
}

#endif							/* SKX_TEST_UNIT_SIZES_H */
