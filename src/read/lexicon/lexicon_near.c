/*
 * lexicon_near.c
 *	  Finds the terms that are near a word.
 *
 * Terms come in the order of their bytes, so those that begin alike come
 * together.  If no term with some beginning can be near, the walk goes to the
 * next beginning that can.  In UTF-8, as in encodings of one byte, that is the
 * one with the next character of those that allow for it.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "format/edit/edit.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "read/lexicon/lexicon_internal.h"

/* Most rows of distances that are computed for a word. */
#define SKX_NEAR_ROWS_MAX	(32 * SKX_NEAR_TERMS_MAX)

/* Characters with one byte. */
#define SKX_NEAR_PLAIN_CHARS	0x80

/*
 * What is known of the characters that fold to a letter: the next one above
 * all from `from` up to itself.  All zero: nothing.
 */
typedef struct SkxNearAccents
{
	uint32		from;
	uint32		next;
} SkxNearAccents;

/* The state of a walk. */
struct SkxNearWalk
{
	const SkxNearWord *word;
	SkxEdit		edit;
	void	   *memory;			/* of that */
	int			nchars;			/* characters of the last term with a row */
	int		   *ends;			/* of each: bytes up to its end */
	char		last[SKX_LEXEME_MAX];	/* bytes of these characters, and of
										 * one more if it is far with that */
	int			nread;			/* bytes of that */
	bool		has_other_first;	/* the first one is not that to be kept */
	int64		nrows;
	SkxNearAccents accents[SKX_NEAR_PLAIN_CHARS][2];	/* below
														 * SKX_EDIT_FOLDED_MIN,
														 * and from it on */
};

/*
 * Decodes one character, 0 for a mark that makes no difference.  Returns its
 * number of bytes.
 */
static int
skx_lexicon_char(const char *bytes, int len, bool folds, uint32 *c)
{
	pg_wchar	wide[MAX_MULTIBYTE_CHAR_LEN + 1];
	int			n;

	*c = (unsigned char) *bytes;
	if (*c < 0x80)
		return 1;
	n = Min(pg_mblen(bytes), len);
	if (pg_database_encoding_max_length() > 1)
		*c = pg_mb2wchar_with_len(bytes, wide, n) > 0 ? wide[0] : 0;
	if (folds)
		*c = skx_edit_fold(*c);
	return n;
}

void
skx_lexicon_near_word(const SkxLexeme *lexeme, bool folds, SkxNearWord *word)
{
	int			at = 0;

	memset(word, 0, sizeof(*word));
	word->lexeme = *lexeme;
	word->folds = folds && GetDatabaseEncoding() == PG_UTF8;
	word->chars = palloc(sizeof(uint32) * (lexeme->len + 1));
	while (at < lexeme->len)
	{
		uint32	   *c = &word->chars[word->nchars];

		at += skx_lexicon_char(lexeme->bytes + at, lexeme->len - at,
							   word->folds, c);
		if (!word->folds || *c != 0)
			word->nchars++;
	}
}

/* Returns how many characters the term shares with the one before it. */
static int
skx_lexicon_shared_chars(const SkxNearWalk *walk, const SkxLexeme *lexeme)
{
	int			most = walk->nchars == 0 ? 0 :
		Min(walk->ends[walk->nchars - 1], lexeme->len);
	int			at = 0;
	int			n = walk->nchars;

	while (at < most && walk->last[at] == lexeme->bytes[at])
		at++;
	while (n > 0 && walk->ends[n - 1] > at)
		n--;
	return n;
}

/*
 * Returns true if no term with the characters so far can be near: they are too
 * different, or the first one is another.  A word that is the beginning of a
 * term is near all terms with a beginning that is near it.
 */
static bool
skx_lexicon_is_far(const SkxNearWalk *walk)
{
	const SkxNearWord *word = walk->word;

	if (walk->has_other_first)
		return true;
	if (word->is_prefix &&
		skx_edit_prefix_distance(&walk->edit, walk->nchars) <=
		walk->edit.max)
		return false;
	return !skx_edit_is_alive(&walk->edit, walk->nchars);
}

/*
 * Adds a character of the term that ends at byte `to`.  Returns false if the
 * term is known to be far then.
 */
static bool
skx_lexicon_add_char(SkxNearWalk *walk, uint32 c, int to)
{
	if (walk->word->folds && c == 0)
	{
		if (walk->nchars > 0)
			walk->ends[walk->nchars - 1] = to;
		return true;
	}
	if (walk->nchars == walk->edit.max_depth)
		return walk->word->is_prefix;
	if (walk->nchars == 0)
		walk->has_other_first = walk->word->keeps_first &&
			walk->word->nchars > 0 && c != walk->word->chars[0];
	skx_edit_push(&walk->edit, walk->nchars, c);
	walk->ends[walk->nchars++] = to;
	walk->nrows++;
	return !skx_lexicon_is_far(walk);
}

/*
 * Computes the rows of a term, until it is known to be far.  Returns false if
 * it is.
 */
static bool
skx_lexicon_measure(SkxNearWalk *walk, const SkxLexeme *lexeme)
{
	int			at;

	walk->nchars = skx_lexicon_shared_chars(walk, lexeme);
	at = walk->nchars > 0 ? walk->ends[walk->nchars - 1] : 0;
	while (at < lexeme->len)
	{
		uint32		c;
		int			n = skx_lexicon_char(lexeme->bytes + at,
										 lexeme->len - at,
										 walk->word->folds, &c);

		if (n == 1)
			walk->last[at] = lexeme->bytes[at];
		else
			memcpy(walk->last + at, lexeme->bytes + at, n);
		at += n;
		walk->nread = at;
		if (!skx_lexicon_add_char(walk, c, at))
			return false;
	}
	return true;
}

/* ---- what is passed over ---- */

/* Returns true if the bytes of characters are in the order of their codes. */
static bool
skx_lexicon_orders_codes(void)
{
	return pg_database_encoding_max_length() == 1 ||
		GetDatabaseEncoding() == PG_UTF8;
}

/* Appends a character to `place`.  Returns false if there is no such one. */
static bool
skx_lexicon_append(SkxLexeme *place, char *bytes, uint32 c)
{
	bool		wide;

	if (c < SKX_NEAR_PLAIN_CHARS)
	{
		bytes[place->len++] = (char) c;
		return true;
	}
	wide = pg_database_encoding_max_length() > 1;
	if (c > (wide ? 0x10FFFF : 0xFF))
		return false;
	if (wide)
		place->len += pg_utf_mblen(unicode_to_utf8(c, (unsigned char *) bytes +
												   place->len));
	else
		bytes[place->len++] = (char) c;
	return true;
}

/*
 * Returns the first character above `above`, from SKX_EDIT_FOLDED_MIN on, that
 * folds to the letter; SKX_EDIT_NO_CHAR if there is none.
 */
static uint32
skx_lexicon_next_accented(SkxNearWalk *walk, uint32 letter, uint32 above)
{
	SkxNearAccents *known;

	if (letter >= SKX_NEAR_PLAIN_CHARS)
		return skx_edit_unfold(letter, above);
	known = &walk->accents[letter][above >= SKX_EDIT_FOLDED_MIN];
	above = Max(above, SKX_EDIT_FOLDED_MIN - 1);
	if (above < known->from || above >= known->next)
	{
		known->from = above;
		known->next = skx_edit_unfold(letter, above);
	}
	return known->next;
}

/*
 * Returns the first character above `above` with which a term may go on after
 * `depth` characters and be near; SKX_EDIT_NO_CHAR if there is none.
 */
static uint32
skx_lexicon_next_char(SkxNearWalk *walk, int depth, uint32 above)
{
	const SkxNearWord *word = walk->word;
	uint32		next[SKX_EDIT_NEXT_CHARS];
	int			n = skx_edit_next_chars(&walk->edit, depth, next);
	uint32		least = SKX_EDIT_NO_CHAR;
	int			i;

	if (depth == 0 && word->keeps_first && word->nchars > 0)
	{
		n = 1;
		next[0] = word->chars[0];
	}
	if (n == SKX_EDIT_ANY_CHAR)
		return above + 1;
	for (i = 0; i < n; i++)
		if (next[i] > above)
			least = Min(least, next[i]);
	if (!word->folds || least < SKX_EDIT_FOLDED_MIN)
		return least;
	for (i = 0; i < n; i++)
		least = Min(least, skx_lexicon_next_accented(walk, next[i], above));
	return Min(least, skx_lexicon_next_accented(walk, 0, above));
}

/*
 * Sets *place to the first beginning, in `bytes`, above all terms with the one
 * that was read last, with which a term may be near.  Returns false if there
 * is none.  A mark adds no row to those of the characters before it.
 */
static bool
skx_lexicon_next_place(SkxNearWalk *walk, SkxLexeme *place, char *bytes)
{
	int			depth = walk->nchars;
	int			at = walk->nread;

	if (depth == 0 || walk->ends[depth - 1] < at)
		depth++;
	memcpy(bytes, walk->last, at);
	place->bytes = bytes;
	while (at > 0)
	{
		uint32		c;

		at--;
		while (at > 0 && ((unsigned char) bytes[at] & 0xC0) == 0x80 &&
			   pg_database_encoding_max_length() > 1)
			at--;
		(void) skx_lexicon_char(bytes + at, walk->nread - at, false, &c);
		if (!walk->word->folds || skx_edit_fold(c) != 0)
			depth--;
		place->len = at;
		if (skx_lexicon_append(place, bytes,
							   skx_lexicon_next_char(walk, depth, c)))
			return true;
	}
	return false;
}

/*
 * Sets *place above all terms that begin with the characters so far.  Their
 * bytes with the last one increased are that in any encoding.  Returns false
 * if no term can be there.
 */
static bool
skx_lexicon_place_behind(const SkxNearWalk *walk, SkxLexeme *place,
						 char *bytes)
{
	int			len = walk->nchars > 0 ? walk->ends[walk->nchars - 1] : 0;

	memcpy(bytes, walk->last, len);
	while (len > 0 && (unsigned char) bytes[len - 1] == 0xFF)
		len--;
	if (len == 0)
		return false;
	bytes[len - 1]++;
	place->bytes = bytes;
	place->len = len;
	return true;
}

/*
 * Passes over the terms that are known to be far.  Returns false if no others
 * are behind them.
 */
static bool
skx_lexicon_pass_over(SkxLexicon *lexicon, SkxNearWalk *walk)
{
	char		bytes[SKX_LEXEME_MAX + MAX_MULTIBYTE_CHAR_LEN];
	SkxLexeme	place;

	if (!(skx_lexicon_orders_codes() ?
		  skx_lexicon_next_place(walk, &place, bytes) :
		  skx_lexicon_place_behind(walk, &place, bytes)))
		return false;
	skx_lexicon_seek(lexicon, &place);
	return true;
}

/*
 * Goes before the first term that may be near.  If the first character is
 * kept, terms with a higher one are few, or there are none.
 */
static void
skx_lexicon_begin_near(SkxLexicon *lexicon, SkxNearWalk *walk)
{
	const SkxNearWord *word = walk->word;
	char		bytes[2][MAX_MULTIBYTE_CHAR_LEN + 1];
	SkxLexeme	ends[2] = {{bytes[0], 0}, {"\377", 1}};

	if (skx_lexicon_orders_codes() && word->nchars > word->edits)
	{
		(void) skx_lexicon_append(&ends[0], bytes[0],
								  skx_lexicon_next_char(walk, 0, 0));
		if (word->keeps_first)
		{
			ends[1] = (SkxLexeme)
			{
				bytes[1], 0
			};
			(void) skx_lexicon_append(&ends[1], bytes[1], word->chars[0] + 1);
		}
	}
	skx_lexicon_begin_sparse(lexicon, ends);
}

static int
skx_lexicon_measured(const SkxNearWalk *walk)
{
	return walk->word->is_prefix ?
		skx_edit_prefix_distance(&walk->edit, walk->nchars) :
		skx_edit_distance(&walk->edit, walk->nchars);
}

/*
 * Moves past the next term, which has been measured, and keeps it if it is
 * near.  A word that is the beginning of terms stands for those with its own
 * bytes by itself.
 */
static void
skx_lexicon_keep_next(SkxLexicon *lexicon, const SkxNearWalk *walk,
					  const SkxLexeme *lexeme, SkxLexiconBest *best)
{
	const SkxNearWord *word = walk->word;
	bool		is_begun = lexeme->len >= word->lexeme.len &&
		memcmp(lexeme->bytes, word->lexeme.bytes, word->lexeme.len) == 0;
	int			distance = skx_lexicon_measured(walk);
	bool		is_exact = is_begun && lexeme->len == word->lexeme.len;
	SkxLexiconTerm term;

	if (distance > walk->edit.max || (word->is_prefix && is_begun))
		(void) skx_lexicon_next(lexicon, NULL);
	else if (skx_lexicon_next(lexicon, &term))
		skx_lexicon_keep(best, &term, is_exact, distance);
}

SkxNearWalk *
skx_lexicon_begin_distances(const SkxNearWord *word)
{
	SkxNearWalk *walk = palloc0(sizeof(SkxNearWalk));

	walk->word = word;
	walk->memory = palloc(skx_edit_size(word->nchars, word->edits));
	skx_edit_begin(&walk->edit, word->chars, word->nchars, word->edits,
				   walk->memory);
	walk->ends = palloc(sizeof(int) * (walk->edit.max_depth + 1));
	return walk;
}

int
skx_lexicon_distance(SkxNearWalk *walk, const SkxLexeme *lexeme)
{
	walk->nchars = 0;
	if (!skx_lexicon_measure(walk, lexeme))
		return walk->edit.max + 1;
	return skx_lexicon_measured(walk);
}

/* Looks at `most` terms at most.  Returns how many it has looked at. */
static int64
skx_lexicon_walk_near(SkxLexicon *lexicon, const SkxNearWord *word,
					  int64 most, SkxLexiconBest *best, bool *ended_early)
{
	SkxNearWalk *walk = skx_lexicon_begin_distances(word);
	const SkxLexeme *lexeme;
	int64		n = 0;

	*ended_early = false;
	skx_lexicon_begin_near(lexicon, walk);
	while ((lexeme = skx_lexicon_peek(lexicon)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		*ended_early = n == most || walk->nrows > SKX_NEAR_ROWS_MAX;
		if (*ended_early)
			break;
		n++;
		if (skx_lexicon_measure(walk, lexeme))
			skx_lexicon_keep_next(lexicon, walk, lexeme, best);
		else if (!skx_lexicon_pass_over(lexicon, walk))
			break;
	}
	pfree(walk->ends);
	pfree(walk->memory);
	pfree(walk);
	return n;
}

bool
skx_lexicon_keep_near(SkxLexicon *lexicon, const SkxNearWord *word,
					  int64 *nterms, SkxLexiconBest *best)
{
	int64		most = Min(*nterms, SKX_NEAR_TERMS_MAX);
	int64		n;
	bool		ended_early;

	Assert(best->n == 0);
	if (skx_lexicon_find_kept(lexicon, word, nterms, best, &ended_early))
		return !ended_early;
	n = skx_lexicon_walk_near(lexicon, word, most, best, &ended_early);
	*nterms -= n;
	if (!ended_early || n == SKX_NEAR_TERMS_MAX || n < most)
		skx_lexicon_keep_found(lexicon, word, n, best, ended_early);
	return !ended_early;
}
