/*
 * lexicon_near.c
 *	  Finds the terms that are near a word.
 *
 * Terms come in the order of their bytes, so those that begin alike come
 * together.  If no term with some beginning can be near, all of them are
 * passed over at once.
 */
#include "postgres.h"

#include "format/disk/disk_dict.h"
#include "format/edit/edit.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "read/lexicon/lexicon.h"

/* Most rows of distances that are computed for a word. */
#define SKX_NEAR_ROWS_MAX	(32 * SKX_NEAR_TERMS_MAX)

/* The state of a walk. */
typedef struct SkxNearWalk
{
	const SkxNearWord *word;
	SkxEdit		edit;
	int			nchars;			/* characters of the last term with a row */
	int		   *ends;			/* of each: bytes up to its end */
	char		last[SKX_LEXEME_MAX];	/* bytes of these characters */
	int64		nrows;
} SkxNearWalk;

/*
 * Decodes one character, 0 for a mark that makes no difference.  Returns its
 * number of bytes.
 */
static int
skx_lexicon_char(const char *bytes, int len, bool folds, uint32 *c)
{
	pg_wchar	wide[MAX_MULTIBYTE_CHAR_LEN + 1];
	int			n = Min(pg_mblen(bytes), len);

	if (pg_database_encoding_max_length() == 1)
		*c = (unsigned char) *bytes;
	else
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
	int			n = 0;
	int			at = 0;

	while (n < walk->nchars && walk->ends[n] <= lexeme->len &&
		   memcmp(walk->last + at, lexeme->bytes + at,
				  walk->ends[n] - at) == 0)
		at = walk->ends[n++];
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

	if (word->keeps_first && word->nchars > 0 &&
		walk->edit.chars[0] != word->chars[0])
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

		memcpy(walk->last + at, lexeme->bytes + at, n);
		at += n;
		if (!skx_lexicon_add_char(walk, c, at))
			return false;
	}
	return true;
}

/*
 * Moves behind all terms that begin with the characters so far.  Their bytes
 * with the last one increased are above each of them, in any encoding.
 * Returns false if no term can be behind.
 */
static bool
skx_lexicon_pass_over(SkxLexicon *lexicon, SkxNearWalk *walk)
{
	char		above[SKX_LEXEME_MAX];
	SkxLexeme	from = {above, 0};

	if (walk->nchars > 0)
		from.len = walk->ends[walk->nchars - 1];
	memcpy(above, walk->last, from.len);
	while (from.len > 0 && (unsigned char) above[from.len - 1] == 0xFF)
		from.len--;
	if (from.len == 0)
		return false;
	above[from.len - 1]++;
	skx_lexicon_seek(lexicon, &from);
	return true;
}

/*
 * Keeps the term if it is near.  A word that is the beginning of terms stands
 * for those with its own bytes by itself.
 */
static void
skx_lexicon_keep_term(const SkxNearWalk *walk, const SkxLexiconTerm *term,
					  SkxLexiconBest *best)
{
	const SkxNearWord *word = walk->word;
	bool		is_begun = term->lexeme.len >= word->lexeme.len &&
		memcmp(term->lexeme.bytes, word->lexeme.bytes,
			   word->lexeme.len) == 0;
	int			distance = word->is_prefix ?
		skx_edit_prefix_distance(&walk->edit, walk->nchars) :
		skx_edit_distance(&walk->edit, walk->nchars);

	if (distance <= walk->edit.max && !(word->is_prefix && is_begun))
		skx_lexicon_keep(best, term, is_begun &&
						 term->lexeme.len == word->lexeme.len, distance);
}

bool
skx_lexicon_keep_near(SkxLexicon *lexicon, const SkxNearWord *word,
					  int64 *nterms, SkxLexiconBest *best)
{
	SkxNearWalk *walk = palloc0(sizeof(SkxNearWalk));
	void	   *rows = palloc(skx_edit_size(word->nchars, word->edits));
	int64		most = Min(*nterms, SKX_NEAR_TERMS_MAX);
	SkxLexiconTerm term;
	bool		ended_early = false;

	walk->word = word;
	skx_edit_begin(&walk->edit, word->chars, word->nchars, word->edits, rows);
	walk->ends = palloc(sizeof(int) * (walk->edit.max_depth + 1));
	while (skx_lexicon_next(lexicon, &term))
	{
		CHECK_FOR_INTERRUPTS();
		if (most == 0 || walk->nrows > SKX_NEAR_ROWS_MAX)
		{
			ended_early = true;
			break;
		}
		most--;
		(*nterms)--;
		if (skx_lexicon_measure(walk, &term.lexeme))
			skx_lexicon_keep_term(walk, &term, best);
		else if (!skx_lexicon_pass_over(lexicon, walk))
			break;
	}
	pfree(walk->ends);
	pfree(rows);
	pfree(walk);
	return !ended_early;
}
