/*
 * topk_sort.h
 *	  A sort of pairs of numbers.
 */
#ifndef SKX_TOPK_SORT_H
#define SKX_TOPK_SORT_H

/* Arrays of n keys, and of a value for each key. */
typedef struct SkxTopkSortPairs
{
	uint32		n;
	uint32	   *keys;
	uint32	   *values;
} SkxTopkSortPairs;

/*
 * Sorts pairs by their keys, none of which may be above `most`.  The sort is
 * stable.  The arrays of *spare must be as long as those of *pairs.  The two
 * may have exchanged their arrays afterwards.
 */
extern void skx_topk_sort(SkxTopkSortPairs *pairs, SkxTopkSortPairs *spare,
						  uint32 most);

#endif							/* SKX_TOPK_SORT_H */
