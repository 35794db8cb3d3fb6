/*
 * shuffle.h
 *	  Numbers in an order that looks random, without a table of them.
 */
#ifndef BENCH_SHUFFLE_H
#define BENCH_SHUFFLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Every number below `count` once, in an order that looks random: a
 * congruential generator of full period over the next power of two, its weak
 * low bits mixed with the high ones, and numbers too large passed over.
 */
typedef struct Shuffle
{
	uint64_t	count;
	uint64_t	mask;
	int			shift;
	uint64_t	state;
	uint64_t	left;			/* steps until the period is over */
} Shuffle;

extern void shuffle_start(Shuffle *shuffle, uint64_t count, uint64_t seed);
extern bool shuffle_next(Shuffle *shuffle, uint64_t *number);

#endif							/* BENCH_SHUFFLE_H */
