/*
 * rank_norm.c
 *	  The length of a document in one byte.
 *
 * The lengths of short documents, for which scores are most sensitive, are
 * exact.  Longer ones are rounded down to steps of about 4 %, which changes a
 * BM25 score by less than that.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/rank/rank.h"

/*
 * The length of each code: len[c + 1] = len[c] + max(1, len[c] / 23).  The
 * table is written out because the codes are on disk.
 */
static const uint32 skx_rank_norm_length[SKX_NORM_MAX + 1] = {
	0, 1, 2, 3, 4, 5, 6, 7,
	8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23,
	24, 25, 26, 27, 28, 29, 30, 31,
	32, 33, 34, 35, 36, 37, 38, 39,
	40, 41, 42, 43, 44, 45, 46, 48,
	50, 52, 54, 56, 58, 60, 62, 64,
	66, 68, 70, 73, 76, 79, 82, 85,
	88, 91, 94, 98, 102, 106, 110, 114,
	118, 123, 128, 133, 138, 144, 150, 156,
	162, 169, 176, 183, 190, 198, 206, 214,
	223, 232, 242, 252, 262, 273, 284, 296,
	308, 321, 334, 348, 363, 378, 394, 411,
	428, 446, 465, 485, 506, 528, 550, 573,
	597, 622, 649, 677, 706, 736, 768, 801,
	835, 871, 908, 947, 988, 1030, 1074, 1120,
	1168, 1218, 1270, 1325, 1382, 1442, 1504, 1569,
	1637, 1708, 1782, 1859, 1939, 2023, 2110, 2201,
	2296, 2395, 2499, 2607, 2720, 2838, 2961, 3089,
	3223, 3363, 3509, 3661, 3820, 3986, 4159, 4339,
	4527, 4723, 4928, 5142, 5365, 5598, 5841, 6094,
	6358, 6634, 6922, 7222, 7536, 7863, 8204, 8560,
	8932, 9320, 9725, 10147, 10588, 11048, 11528, 12029,
	12552, 13097, 13666, 14260, 14880, 15526, 16201, 16905,
	17640, 18406, 19206, 20041, 20912, 21821, 22769, 23758,
	24790, 25867, 26991, 28164, 29388, 30665, 31998, 33389,
	34840, 36354, 37934, 39583, 41304, 43099, 44972, 46927,
	48967, 51096, 53317, 55635, 58053, 60577, 63210, 65958,
	68825, 71817, 74939, 78197, 81596, 85143, 88844, 92706,
	96736, 100941, 105329, 109908, 114686, 119672, 124875, 130304,
	135969, 141880, 148048, 154484, 161200, 168208, 175521, 183152,
	191115, 199424, 208094, 217141, 226581, 236432, 246711,
};

uint8
skx_rank_norm_encode(uint64 length)
{
	int			low = 0;
	int			high = SKX_NORM_MAX;

	if (length <= SKX_NORM_EXACT_MAX)
		return (uint8) length;
	while (low < high)
	{
		int			middle = (low + high + 1) / 2;

		if (skx_rank_norm_length[middle] <= length)
			low = middle;
		else
			high = middle - 1;
	}
	return (uint8) low;
}

uint32
skx_rank_norm_decode(uint8 norm)
{
	return norm <= SKX_NORM_MAX ? skx_rank_norm_length[norm] : 0;
}
