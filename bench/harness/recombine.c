/*
 * recombine.c
 *	  Text of any size from a text of a million rows or fewer.
 *
 * recombine TEXT ROWS SEED article|shuffled WORDS OUT
 *
 * TEXT has lines `id TAB title TAB body`.  A passage is the words of a line,
 * runs of [a-z0-9] in lower case, title first.  With WORDS other than 0 it is
 * cut, and its pieces, of WORDS words on average, are the passages.
 *
 * OUT gets lines `id TAB TAB words`: the first half of a passage, then the
 * second half of one after it, so that rows keep length, phrases and topics.
 * The passages are gone through as often as it takes, each time a pass, in
 * which the second half is one passage further on than in the pass before: a
 * pass has all halves once, and no two rows the same ones.
 *
 * article: in the order of the passages; a text of fewer rows is the beginning
 * of one of more.  shuffled: the same rows in an order drawn by SEED.
 *
 * Distinct words.  After the first pass a text has no new words, where real
 * text goes on to have some: their number grows as a power of that of rows
 * (Heaps' law), here the power GROWTH.  So rare words get suffixes: in pass p
 * (from 0) such a word has a new form, by a suffix of this pass, with
 * probability q(p), else the form that it had in one of the passes before,
 * each of these with the same probability.  After n passes it has 1 + q(1) +
 * ... + q(n - 1) forms on average.  With V distinct words in a pass, R of them
 * rare,
 *
 *	  q(p) = ((p + 1)^GROWTH - p^GROWTH) * V / R
 *
 * makes these V * n^GROWTH words in all, at the end of each pass.  Within a
 * pass a word has one form wherever it stands, as a name has in its article.
 * Since a pass takes over the form of an earlier one, drawn at random, some
 * forms come to be frequent and most stay rare.  Rare are words of letters
 * alone that are not among the most frequent COMMON of the distinct ones: what
 * queries ask for is mostly left as it is, and is in as large a share of the
 * rows at any size.
 *
 * Prints one JSON object.
 */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shuffle.h"

#define GROWTH		0.6
#define COMMON		0.1			/* of the distinct words */
#define MOST_HALF	127			/* words: none is in a row more than 255 times,
								 * for which a tsvector has positions */
#define MOST_WORD	64			/* bytes; longer words are left out */
#define MARK		"zq"		/* begins each suffix */
#define MOST_SUFFIX	16			/* bytes, its end among them */
#define MOST_ROW	(32 + 2 * MOST_HALF * (MOST_WORD + MOST_SUFFIX + 1))

typedef struct Word
{
	uint64_t	at;				/* in the characters of all words */
	uint32_t	hash;
	uint32_t	times;			/* in TEXT */
	uint16_t	length;
	bool		letters;		/* none of it is a digit */
	bool		rare;
} Word;

typedef struct Text
{
	Word	   *words;			/* the distinct ones */
	uint64_t	nwords;
	char	   *characters;
	uint64_t	ncharacters;
	uint32_t   *slots;			/* word and 1, by hash; a power of two */
	uint64_t	nslots;
	uint32_t   *tokens;			/* all of TEXT */
	uint64_t	ntokens;
	uint64_t   *starts;			/* of passages in tokens, and an end */
	uint64_t	npassages;
} Text;

typedef struct Passes
{
	uint64_t	seed;
	uint64_t	npasses;
	double	   *fresh;			/* probability of a new suffix */
	char		(*suffixes)[MOST_SUFFIX];
	uint64_t	rare;			/* words that get one */
	uint8_t    *used;			/* a bit for each word and pass */
} Passes;

typedef struct Written
{
	FILE	   *file;
	char		row[MOST_ROW];
	int			length;			/* of the row so far */
	uint64_t	words;
	uint64_t	bytes;
} Written;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

/* An array with room for one more, doubled when `n` is a power of two. */
static void *
grown(void *array, uint64_t n, size_t size)
{
	if (n >= 1024 ? (n & (n - 1)) != 0 : n != 0)
		return array;
	array = realloc(array, (n >= 1024 ? 2 * n : 1024) * size);
	if (array == NULL)
		die("memory");
	return array;
}

/* The finalizer of splitmix64. */
static uint64_t
mixed(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
	return x ^ (x >> 31);
}

static uint64_t
draw(uint64_t seed, uint64_t a, uint64_t b)
{
	return mixed(mixed(mixed(seed + UINT64_C(0x9E3779B97F4A7C15)) + a) + b);
}

/* ---- reading ---- */

static void
grow_slots(Text *text)
{
	uint64_t	i;

	text->nslots = text->nslots ? 2 * text->nslots : 1 << 16;
	free(text->slots);
	text->slots = calloc(text->nslots, sizeof(uint32_t));
	if (text->slots == NULL)
		die("memory");
	for (i = 0; i < text->nwords; i++)
	{
		uint64_t	slot = text->words[i].hash & (text->nslots - 1);

		while (text->slots[slot] != 0)
			slot = (slot + 1) & (text->nslots - 1);
		text->slots[slot] = i + 1;
	}
}

static uint32_t
add_word(Text *text, const char *bytes, int length, uint32_t hash,
		 uint64_t slot)
{
	Word	   *word;
	int			i;

	text->words = grown(text->words, text->nwords, sizeof(Word));
	word = &text->words[text->nwords];
	memset(word, 0, sizeof(Word));
	word->at = text->ncharacters;
	word->hash = hash;
	word->length = length;
	word->letters = true;
	for (i = 0; i < length; i++)
	{
		text->characters = grown(text->characters, text->ncharacters, 1);
		text->characters[text->ncharacters++] = bytes[i];
		word->letters &= bytes[i] >= 'a';
	}
	text->slots[slot] = ++text->nwords;
	if (2 * text->nwords > text->nslots)
		grow_slots(text);
	return text->nwords - 1;
}

static uint32_t
find_word(Text *text, const char *bytes, int length, uint32_t hash)
{
	uint64_t	slot;

	if (text->nslots == 0)
		grow_slots(text);
	slot = hash & (text->nslots - 1);
	while (text->slots[slot] != 0)
	{
		const Word *word = &text->words[text->slots[slot] - 1];

		if (word->hash == hash && word->length == length &&
			memcmp(text->characters + word->at, bytes, length) == 0)
			return text->slots[slot] - 1;
		slot = (slot + 1) & (text->nslots - 1);
	}
	return add_word(text, bytes, length, hash, slot);
}

/* Such as 1e5a, which a tsvector's parser takes for a number and a word. */
static bool
has_exponent(const char *bytes, int length)
{
	int			i = 0;

	while (i < length && bytes[i] <= '9')
		i++;
	return i > 0 && i + 1 < length && bytes[i] == 'e' && bytes[i + 1] <= '9';
}

static void
add_token(Text *text, const char *bytes, int length)
{
	uint32_t	hash = 0;
	uint32_t	number;
	int			i;

	if (has_exponent(bytes, length))
		return;
	for (i = 0; i < length; i++)
		hash = (hash ^ (uint8_t) bytes[i]) * UINT32_C(16777619);
	number = find_word(text, bytes, length, mixed(hash));
	text->words[number].times++;
	text->tokens = grown(text->tokens, text->ntokens, sizeof(uint32_t));
	text->tokens[text->ntokens++] = number;
}

/* The tokens from `begin` on, of one line, as one passage or in pieces. */
static void
add_passages(Text *text, uint64_t begin, uint64_t piece, uint64_t seed)
{
	if (begin == text->ntokens)
		return;
	do
	{
		text->starts = grown(text->starts, text->npassages, sizeof(uint64_t));
		text->starts[text->npassages++] = begin;
		if (piece == 0)
			return;
		begin += piece / 2 + draw(seed, begin, piece) % (piece + 1);
	} while (begin + piece / 2 < text->ntokens);
}

/* What follows the id. */
static void
read_line(Text *text, const char *line, const char *end)
{
	char		bytes[MOST_WORD];
	int			length = 0;

	for (; line <= end; line++)
	{
		char		c = line < end ? *line : '\n';

		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
		{
			if (length < MOST_WORD)
				bytes[length] = c;
			length++;
		}
		else
		{
			if (length > 0 && length <= MOST_WORD)
				add_token(text, bytes, length);
			length = 0;
		}
	}
}

static void
read_text(Text *text, const char *path, uint64_t piece, uint64_t seed)
{
	int			fd = open(path, O_RDONLY);
	struct stat found;
	const char *line;
	const char *end;

	if (fd < 0 || fstat(fd, &found) != 0)
		die(path);
	line = mmap(NULL, found.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (line == MAP_FAILED)
		die(path);
	for (end = line + found.st_size; line < end; line++)
	{
		const char *next = memchr(line, '\n', end - line);
		uint64_t	begin = text->ntokens;

		if (next == NULL)
			next = end;
		line = memchr(line, '\t', next - line);
		if (line != NULL)
			read_line(text, line, next);
		add_passages(text, begin, piece, seed);
		line = next;
	}
	close(fd);
	if (text->npassages == 0)
	{
		fprintf(stderr, "recombine: no words in %s\n", path);
		exit(1);
	}
	text->starts = grown(text->starts, text->npassages, sizeof(uint64_t));
	text->starts[text->npassages] = text->ntokens;
}

/* ---- new words ---- */

/* Marks rare words; returns how many there are. */
static uint64_t
choose_rare(Text *text)
{
	uint64_t	counts[1 << 16] = {0};	/* of words, by their times */
	uint64_t	frequent = 0;
	uint64_t	rare = 0;
	uint32_t	most = (1 << 16) - 1;
	uint64_t	i;

	for (i = 0; i < text->nwords; i++)
	{
		uint32_t	times = text->words[i].times;

		counts[times < most ? times : most]++;
	}
	while (most > 1 && frequent + counts[most] <= COMMON * text->nwords)
		frequent += counts[most--];
	for (i = 0; i < text->nwords; i++)
	{
		Word	   *word = &text->words[i];

		word->rare = word->letters && word->times <= most;
		rare += word->rare;
	}
	return rare;
}

/* Letters that name a pass: a parser keeps words of letters whole. */
static void
name_pass(uint64_t pass, char *suffix)
{
	const char *letters = "bcdfghjklmnprstvwxz";
	int			length = strlen(MARK);

	strcpy(suffix, MARK);
	for (; pass > 0; pass /= strlen(letters))
		suffix[length++] = letters[pass % strlen(letters)];
	suffix[length] = '\0';
}

static void
plan_passes(Passes *passes, Text *text, uint64_t rows, uint64_t seed)
{
	uint64_t	pass;
	double		scale;

	passes->seed = seed;
	passes->npasses = (rows + text->npassages - 1) / text->npassages;
	passes->rare = choose_rare(text);
	passes->fresh = calloc(passes->npasses, sizeof(double));
	passes->suffixes = calloc(passes->npasses, sizeof(*passes->suffixes));
	passes->used = calloc(text->nwords * passes->npasses / 8 + 1, 1);
	if (passes->fresh == NULL || passes->suffixes == NULL ||
		passes->used == NULL)
		die("memory");
	scale = passes->rare > 0 ? (double) text->nwords / passes->rare : 0;
	for (pass = 1; pass < passes->npasses; pass++)
	{
		passes->fresh[pass] = scale * (pow(pass + 1, GROWTH) -
									   pow(pass, GROWTH));
		name_pass(pass, passes->suffixes[pass]);
	}
}

/* The pass in which the form that a rare word has in `pass` was new. */
static uint64_t
origin(const Passes *passes, uint32_t word, uint64_t pass)
{
	while (pass > 0)
	{
		uint64_t	chance = draw(passes->seed, word, pass);

		if ((double) (chance >> 11) / (UINT64_C(1) << 53) <
			passes->fresh[pass])
			break;
		pass = mixed(chance) % pass;
	}
	return pass;
}

/* ---- writing ---- */

static void
put(Written *out, const char *bytes, int length)
{
	memcpy(out->row + out->length, bytes, length);
	out->length += length;
}

static void
put_words(Written *out, const Text *text, const Passes *passes, uint64_t pass,
		  uint64_t from, uint64_t to)
{
	for (; from < to; from++)
	{
		uint32_t	number = text->tokens[from];
		const Word *word = &text->words[number];
		uint64_t	suffix = word->rare ? origin(passes, number, pass) : 0;
		uint64_t	bit = number * passes->npasses + suffix;

		passes->used[bit / 8] |= 1 << bit % 8;
		put(out, text->characters + word->at, word->length);
		put(out, passes->suffixes[suffix], strlen(passes->suffixes[suffix]));
		put(out, " ", 1);
		out->words++;
	}
}

static uint64_t
half_of(uint64_t words)
{
	return words / 2 < MOST_HALF ? words / 2 : MOST_HALF;
}

static void
write_row(Written *out, const Text *text, const Passes *passes, uint64_t id,
		  uint64_t row)
{
	uint64_t	pass = row / text->npassages;
	uint64_t	first = row % text->npassages;
	uint64_t	second = (first + 1 + pass) % text->npassages;
	uint64_t	begin = text->starts[first];
	uint64_t	end = text->starts[second + 1];

	out->length = sprintf(out->row, "%llu\t\t", (unsigned long long) id);
	put_words(out, text, passes, pass, begin,
			  begin + half_of(text->starts[first + 1] - begin + 1));
	put_words(out, text, passes, pass,
			  end - half_of(end - text->starts[second]), end);
	out->row[out->length - 1] = '\n';	/* for the last space */
	if (fwrite(out->row, 1, out->length, out->file) != (size_t) out->length)
		die("writing");
	out->bytes += out->length;
}

static uint64_t
distinct_words(const Text *text, const Passes *passes)
{
	uint64_t	n = 0;
	uint64_t	i;

	for (i = 0; i < text->nwords * passes->npasses / 8 + 1; i++)
		n += __builtin_popcount(passes->used[i]);
	return n;
}

int
main(int argc, char **argv)
{
	Text		text = {0};
	Passes		passes = {0};
	Written		out = {0};
	Shuffle		shuffle;
	uint64_t	rows;
	uint64_t	seed;
	uint64_t	id;

	if (argc != 7)
	{
		fprintf(stderr, "usage: recombine TEXT ROWS SEED article|shuffled"
				" WORDS OUT\n");
		return 2;
	}
	rows = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	read_text(&text, argv[1], strtoull(argv[5], NULL, 10), seed);
	plan_passes(&passes, &text, rows, seed);
	shuffle_start(&shuffle, rows, seed);
	out.file = fopen(argv[6], "w");
	if (out.file == NULL)
		die(argv[6]);
	for (id = 1; id <= rows; id++)
	{
		uint64_t	row = id - 1;

		if (strcmp(argv[4], "shuffled") == 0)
			shuffle_next(&shuffle, &row);
		write_row(&out, &text, &passes, id, row);
	}
	if (fclose(out.file) != 0)
		die(argv[6]);
	printf("{\"rows\": %llu, \"words\": %llu, \"distinct\": %llu, "
		   "\"bytes\": %llu, \"passages\": %llu, \"passage_words\": %llu, "
		   "\"rare\": %llu}\n", (unsigned long long) rows,
		   (unsigned long long) out.words,
		   (unsigned long long) distinct_words(&text, &passes),
		   (unsigned long long) out.bytes,
		   (unsigned long long) text.npassages,
		   (unsigned long long) text.nwords,
		   (unsigned long long) passes.rare);
	return 0;
}
