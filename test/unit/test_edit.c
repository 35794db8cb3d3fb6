/*
 * test_edit.c
 *	  Distances of words, and of words that are still being typed, against the
 *	  whole table of optimal string alignment; words in order share rows.
 *	  With which characters a word may go on, and which fold to a letter.
 *
 * Holds: edit 1, 2, 3, 4
 */
#include "unit.h"

#include "format/edit/edit.h"

#define WORD_MOST	12
#define LETTERS		3

/* The whole table, row by row, for `n` characters of the other word. */
static int
full_distance(const uint32 *word, int len, const uint32 *other, int n)
{
	int			d[WORD_MOST + 4][WORD_MOST + 4];
	int			i;
	int			j;

	for (i = 0; i <= n; i++)
	{
		for (j = 0; j <= len; j++)
		{
			if (i == 0 || j == 0)
			{
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = Min(d[i - 1][j], d[i][j - 1]) + 1;
			d[i][j] = Min(d[i][j], d[i - 1][j - 1] +
						  (other[i - 1] != word[j - 1]));
			if (i > 1 && j > 1 && other[i - 1] == word[j - 2] &&
				other[i - 2] == word[j - 1])
				d[i][j] = Min(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[n][len];
}

static int
full_prefix_distance(const uint32 *word, int len, const uint32 *other, int n)
{
	int			least = len;
	int			i;

	for (i = 0; i <= n; i++)
		least = Min(least, full_distance(word, len, other, i));
	return least;
}

static void
draw(uint32 *chars, int n)
{
	int			i;

	for (i = 0; i < n; i++)
		chars[i] = 'a' + unit_random() % LETTERS;
}

/*
 * The characters with which the word may go on are those after which it is
 * alive.
 */
static void
compare_next(SkxEdit *edit, int depth)
{
	uint32		next[SKX_EDIT_NEXT_CHARS];
	int			n = skx_edit_next_chars(edit, depth, next);
	uint32		c;
	int			i;

	CHECK(n <= SKX_EDIT_NEXT_CHARS);
	for (c = 'a'; c <= 'a' + LETTERS; c++)
	{
		bool		may = n == SKX_EDIT_ANY_CHAR;

		for (i = 0; i < n; i++)
			may = may || next[i] == c;
		skx_edit_push(edit, depth, c);
		CHECK(skx_edit_is_alive(edit, depth + 1) == may);
	}
}

/* One word against many, each of which begins as the last one did. */
static void
compare_word(int len, int max)
{
	uint32		word[WORD_MOST];
	uint32		other[WORD_MOST + SKX_EDIT_MAX];
	uint32		next[SKX_EDIT_NEXT_CHARS];
	SkxEdit		edit;
	uint32	   *memory = malloc(skx_edit_size(len, max));
	int			turn;

	draw(word, len);
	skx_edit_begin(&edit, word, len, max, memory);
	CHECK(edit.max_depth == len + max);
	for (turn = 0; turn < 40; turn++)
	{
		int			kept = turn == 0 ? 0 : unit_random() % (len + max + 1);
		int			n = kept + unit_random() % (len + max - kept + 1);
		bool		alive = true;
		int			i;

		/* mostly the word itself, with some characters drawn */
		for (i = kept; i < n; i++)
			other[i] = i < len && unit_random() % 3 > 0 ? word[i] :
				'a' + unit_random() % LETTERS;
		for (i = 0; i < n; i++)
		{
			if (i >= kept)
				skx_edit_push(&edit, i, other[i]);
			alive = alive && skx_edit_is_alive(&edit, i + 1);
		}
		if (n < len + max)
			compare_next(&edit, n);
		else
			CHECK(skx_edit_next_chars(&edit, n, next) == 0);
		CHECK(skx_edit_distance(&edit, n) ==
			  Min(full_distance(word, len, other, n), max + 1));
		CHECK(skx_edit_prefix_distance(&edit, n) ==
			  Min(full_prefix_distance(word, len, other, n), max + 1));
		if (!alive)
			CHECK(full_distance(word, len, other, n) > max);
		for (i = n; i < len + max; i++)
		{
			other[i] = 'a';
			skx_edit_push(&edit, i, 'a');
		}
	}
	free(memory);
}

/* Long words have bands only: a row is not longer. */
static void
compare_long(void)
{
	int			len = 2047;
	uint32	   *word = malloc(sizeof(uint32) * len);
	void	   *memory = malloc(skx_edit_size(len, 2));
	SkxEdit		edit;
	int			i;

	for (i = 0; i < len; i++)
		word[i] = 1000 + i;
	skx_edit_begin(&edit, word, len, 2, memory);
	for (i = 0; i < len; i++)
		skx_edit_push(&edit, i, i == 700 ? 701 : word[i]);
	CHECK(skx_edit_distance(&edit, len) == 1);
	skx_edit_push(&edit, len, 5);
	CHECK(skx_edit_distance(&edit, len + 1) == 2);
	skx_edit_push(&edit, len + 1, 6);
	CHECK(skx_edit_distance(&edit, len + 2) == 3);
	CHECK(skx_edit_prefix_distance(&edit, len + 2) == 1);
	CHECK(skx_edit_size(len, 2) < 32 * (size_t) len);
	free(memory);
	free(word);
}

/*
 * The characters of a letter are all that fold to it, each once.
 */
static void
compare_folds(void)
{
	static uint32 next[0x20000];	/* the next one that folds alike */
	static uint32 first[0x20000];
	uint32		c;

	memset(next, 0xFF, sizeof(next));
	memset(first, 0xFF, sizeof(first));
	for (c = 0x1FFFF; c > 0; c--)
	{
		uint32		letter = skx_edit_fold(c);

		next[c] = first[letter];
		first[letter] = c;
	}
	for (c = 1; c < 0x20000; c++)
	{
		uint32		letter = skx_edit_fold(c);

		CHECK(skx_edit_fold(letter) == letter);
		CHECK(skx_edit_unfold(letter, 0) == first[letter]);
		CHECK(skx_edit_unfold(letter, c) == next[c]);
	}
}

int
main(void)
{
	int			len;
	int			max;
	int			turn;

	for (max = 0; max <= SKX_EDIT_MAX; max++)
		for (len = 0; len <= WORD_MOST; len++)
			for (turn = 0; turn < 50; turn++)
				compare_word(len, max);
	compare_long();
	compare_folds();
	return unit_done("test_edit");
}
