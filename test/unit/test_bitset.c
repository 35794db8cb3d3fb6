/*
 * test_bitset.c
 *	  Every function of bitset/ against one byte for each bit.  The last word of
 *	  each set ends where the next byte cannot be read or written; the word
 *	  before the first must stay as it is.
 *
 * Holds: bitset 1, 2, 3, 4
 */
#include "unit.h"
#include "support/bitset/bitset.h"

#define WORDS	9
#define BITS	(WORDS * SKX_BITSET_BITS)
#define BEFORE	UINT64CONST(0x0123456789ABCDEF)

/* A set, and the same with a byte for each bit. */
typedef struct Set
{
	uint64	   *words;
	uint32		nwords;
	uint8		bit[BITS];
} Set;

/* A word with few bits, any bits or most bits. */
static uint64
some_word(void)
{
	uint64		word = unit_random();

	switch (unit_below(5))
	{
		case 0:
			return 0;
		case 1:
			return ~UINT64CONST(0);
		case 2:
			return word & unit_random() & unit_random();
		case 3:
			return word | unit_random() | unit_random();
		default:
			return word;
	}
}

/* The words lie before the guard; there is one such set at a time. */
static void
some_set(Set *set, uint32 nwords)
{
	uint64		words[WORDS + 1] = {BEFORE};
	uint32		i;

	for (i = 1; i <= nwords; i++)
		words[i] = some_word();
	set->nwords = nwords;
	set->words = (uint64 *) unit_guarded((uint8 *) words,
										 sizeof(uint64) * (nwords + 1)) + 1;
	for (i = 0; i < nwords * 64; i++)
		set->bit[i] = set->words[i / 64] >> (i % 64) & 1;
}

static bool
as_expected(const Set *set)
{
	uint32		i;

	for (i = 0; i < set->nwords * 64; i++)
		if ((set->words[i / 64] >> (i % 64) & 1) != set->bit[i])
			return false;
	return set->words[-1] == BEFORE;
}

static void
sizes(void)
{
	CHECK(SKX_BITSET_WORDS(0) == 0);
	CHECK(SKX_BITSET_WORDS(1) == 1);
	CHECK(SKX_BITSET_WORDS(64) == 1);
	CHECK(SKX_BITSET_WORDS(65) == 2);
	CHECK(SKX_BITSET_WORDS((Size) PG_UINT32_MAX) == (Size) 1 << 26);
}

static void
one_word(void)
{
	uint64		word = some_word();
	uint64		left = word;
	int			n = 0;
	uint32		i;

	for (i = 0; i < 64; i++)
	{
		bool		has = (word >> i & 1) != 0;

		CHECK(skx_bitset_mask_bit(i) == UINT64CONST(1) << i);
		CHECK(skx_bitset_mask_bit(i + 64 * 3) == UINT64CONST(1) << i);
		CHECK(skx_bitset_mask_below(i) == (i == 0 ? 0 :
									  ~UINT64CONST(0) >> (64 - i)));
		CHECK(skx_bitset_word_has(word, i) == has);
		CHECK(skx_bitset_word_has(word, i + 64) == has);
		if (!has)
			continue;
		CHECK(skx_bitset_pop_lowest(&left) == i);
		n++;
	}
	CHECK(left == 0);
	CHECK(skx_bitset_count_word(word) == n);
}

static void
one_bit(void)
{
	Set			set;
	uint32		i;
	uint32		k;
	uint64		bits = some_word();

	some_set(&set, 1 + unit_below(WORDS));
	for (i = 0; i < set.nwords * 64; i++)
		CHECK(skx_bitset_test(set.words, i) == set.bit[i]);
	i = unit_below(set.nwords * 64);
	skx_bitset_set(set.words, i);
	set.bit[i] = 1;
	CHECK(as_expected(&set));
	i = unit_below(set.nwords * 64);
	skx_bitset_or_bits(set.words, i, bits);
	for (k = 0; i % 64 + k < 64; k++)
		set.bit[i + k] |= bits >> k & 1;
	CHECK(as_expected(&set));
}

static void
range(bool sets)
{
	Set			set;
	uint32		from;
	uint32		to;
	uint32		i;

	some_set(&set, 1 + unit_below(WORDS));
	from = unit_below(set.nwords * 64 + 1);
	to = unit_below(set.nwords * 64 + 1);
	if (unit_below(2) == 0)
		from -= from % 64;
	if (unit_below(2) == 0)
		to -= to % 64;
	if (unit_below(8) == 0)
		from = to = set.nwords * 64;
	for (i = from; i < to; i++)
		set.bit[i] = sets;
	if (sets)
		skx_bitset_set_range(set.words, from, to);
	else
		skx_bitset_clear_range(set.words, from, to);
	CHECK(as_expected(&set));
}

static void
two_sets(void)
{
	uint64		other[WORDS];
	uint32		nwords = unit_below(WORDS + 1);
	Set			set;
	uint32		i;
	int			which;

	for (which = 0; which < 3; which++)
	{
		for (i = 0; i < nwords; i++)
			other[i] = some_word();
		some_set(&set, nwords);
		for (i = 0; i < nwords * 64; i++)
		{
			bool		has = (other[i / 64] >> (i % 64) & 1) != 0;

			set.bit[i] = which == 0 ? set.bit[i] && has :
				which == 1 ? set.bit[i] && !has : set.bit[i] || has;
		}
		if (which == 0)
			skx_bitset_and(set.words, other, nwords);
		else if (which == 1)
			skx_bitset_andnot(set.words, other, nwords);
		else
			skx_bitset_or(set.words, other, nwords);
		CHECK(as_expected(&set));
	}
}

/* Words of another set at any distance: inside, across an end, outside. */
static void
at_distance(void)
{
	uint64		other[WORDS];
	int			n = unit_below(WORDS + 1);
	Set			set;
	int64		at;
	int			i;

	some_set(&set, 1 + unit_below(WORDS));
	at = (int64) unit_below(3 * BITS) - 3 * BITS / 2;
	if (unit_below(4) == 0)
		at &= ~INT64CONST(63);
	for (i = 0; i < n; i++)
		other[i] = some_word();
	for (i = 0; i < n * 64; i++)
		if (at + i >= 0 && at + i < set.nwords * 64)
			set.bit[at + i] |= other[i / 64] >> (i % 64) & 1;
	skx_bitset_or_at(set.words, set.nwords, at, other, n);
	CHECK(as_expected(&set));
}

static void
first_and_empty(void)
{
	Set			set;
	uint32		i = 0;

	some_set(&set, 1 + unit_below(WORDS));
	if (unit_below(4) == 0)
	{
		memset(set.words, 0, sizeof(uint64) * (set.nwords - 1));
		memset(set.bit, 0, 64 * (set.nwords - 1));
	}
	while (i < set.nwords * 64 && !set.bit[i])
		i++;
	CHECK(skx_bitset_is_empty(set.words, set.nwords) ==
		  (i == set.nwords * 64));
	if (i < set.nwords * 64)
		CHECK(skx_bitset_first(set.words) == i);
}

/* All documents, in several calls; each takes the words that surely fit. */
static void
list(void)
{
	uint32		first = unit_random();
	int			most = 64 + unit_below(3 * 64);
	uint32		docs[4 * 64 + 1];
	Set			set;
	uint32		w = 0;
	uint32		i = 0;

	some_set(&set, unit_below(WORDS + 1));
	while (w < set.nwords)
	{
		int			n;
		int			k;

		docs[most] = 0xABCDEF;
		n = skx_bitset_list(set.words, set.nwords, &w, first, docs, most);
		CHECK(docs[most] == 0xABCDEF);
		CHECK(n <= most && (w == set.nwords || n > most - 64));
		for (k = 0; k < n; k++, i++)
		{
			while (i < w * 64 && !set.bit[i])
				i++;
			CHECK(i < w * 64 && docs[k] == first + i);
		}
		while (i < w * 64)
			CHECK(!set.bit[i++]);
	}
	CHECK(as_expected(&set));
}

static void
counts(void)
{
	uint32		ranks[WORDS];
	Set			set;
	uint32		n = 0;
	uint32		i;

	some_set(&set, unit_below(WORDS + 1));
	CHECK(skx_bitset_ranks(set.words, set.nwords, ranks) ==
		  skx_bitset_count_plain(set.words, set.nwords));
	for (i = 0; i < set.nwords * 64; i++)
	{
		if (i % 64 == 0)
			CHECK(ranks[i / 64] == n);
		n += set.bit[i];
	}
	CHECK(skx_bitset_count(set.words, set.nwords) == n);
	CHECK(skx_bitset_count_plain(set.words, set.nwords) == n);
	/* words that are not aligned */
	if (set.nwords > 1)
	{
		const uint8 *bytes = (const uint8 *) set.words + 3;

		for (n = 0, i = 24; i < 24 + 64 * (set.nwords - 1); i++)
			n += skx_bitset_bytes_test((const uint8 *) set.words, i);
		CHECK(skx_bitset_count(bytes, set.nwords - 1) == n);
		CHECK(skx_bitset_count_plain(bytes, set.nwords - 1) == n);
	}
}

static void
bytes(void)
{
	uint32		nbytes = 1 + unit_below(20);
	uint32		n = 8 * nbytes - unit_below(8);
	uint8		from[20];
	uint8	   *set;
	uint64		words[3];
	uint64		before[3];
	uint32		next = n;
	uint32		i;

	for (i = 0; i < nbytes; i++)
		from[i] = (uint8) some_word();
	set = unit_guarded(from, nbytes);
	CHECK(skx_bitset_bytes_next(set, n, n) == n);
	CHECK(skx_bitset_bytes_next(set, n, n + 100) == n);
	for (i = n; i-- > 0;)
	{
		bool		has = (from[i / 8] & 1 << i % 8) != 0;

		CHECK(skx_bitset_bytes_test(set, i) == has);
		if (has)
			next = i;
		CHECK(skx_bitset_bytes_next(set, n, i) == next);
	}
	for (i = 0; i < 3; i++)
		words[i] = before[i] = some_word();
	skx_bitset_andnot_bytes(words, set, nbytes);
	for (i = 0; i < 3 * 64; i++)
		CHECK(skx_bitset_test(words, i) ==
			  (skx_bitset_test(before, i) &&
			   !(i / 8 < nbytes && skx_bitset_bytes_test(from, i))));
	i = unit_below(n);
	skx_bitset_bytes_set(set, i);
	from[i / 8] |= 1 << i % 8;
	CHECK(memcmp(set, from, nbytes) == 0);
}

int
main(void)
{
	int			i;

	unit_seed(11);
	sizes();
	for (i = 0; i < UNIT_CASES(20000); i++)
	{
		one_word();
		one_bit();
		range(true);
		range(false);
		two_sets();
		at_distance();
		first_and_empty();
		list();
		counts();
		bytes();
	}
	return unit_done("test_bitset");
}
