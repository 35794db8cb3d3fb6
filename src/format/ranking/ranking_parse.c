/*
 * ranking_parse.c
 *	  Reads the text of a ranking.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/ranking/ranking.h"

/* Longest number of a text. */
#define SKX_RANKING_DIGITS_MAX	63

/*
 * A text that is being read.  `error` is NULL, or a sentence; after an error
 * nothing more is read.
 */
typedef struct SkxRankingText
{
	const char *at;
	char	   *bytes;			/* where the next lexeme is copied to */
	const char *error;
	SkxRanking *ranking;
	uint32		given;			/* bits: items of the head that came */
	SkxRankingNames names;
} SkxRankingText;

static void
skx_ranking_fail(SkxRankingText *text, const char *error)
{
	if (text->error == NULL)
		text->error = error;
}

static bool
skx_ranking_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips white space.  Returns true if more text follows. */
static bool
skx_ranking_more(SkxRankingText *text)
{
	while (skx_ranking_is_space(*text->at))
		text->at++;
	return text->error == NULL && *text->at != '\0';
}

/* Reads a string, if it comes next. */
static bool
skx_ranking_take(SkxRankingText *text, const char *string)
{
	size_t		n = strlen(string);

	if (text->error != NULL || strncmp(text->at, string, n) != 0)
		return false;
	text->at += n;
	return true;
}

/* Reads a character that must come next. */
static void
skx_ranking_expect(SkxRankingText *text, const char *string)
{
	if (!skx_ranking_take(text, string))
		skx_ranking_fail(text, "A bracket, quote or comma is missing.");
}

static uint64
skx_ranking_parse_number(SkxRankingText *text)
{
	uint64		number = 0;
	const char *from = text->at;

	for (; *text->at >= '0' && *text->at <= '9'; text->at++)
	{
		uint64		digit = *text->at - '0';

		if (number > (PG_UINT64_MAX - digit) / 10)
		{
			skx_ranking_fail(text, "A number is too large.");
			return 0;
		}
		number = number * 10 + digit;
	}
	if (text->at == from)
		skx_ranking_fail(text, "A whole number is missing.");
	return number;
}

/* Minus zero becomes zero, which it equals. */
static double
skx_ranking_parse_double(SkxRankingText *text)
{
	char		digits[SKX_RANKING_DIGITS_MAX + 1];
	size_t		n = strspn(text->at, "0123456789+-.eE");
	char	   *end;
	double		value;

	if (n == 0 || n > SKX_RANKING_DIGITS_MAX)
	{
		skx_ranking_fail(text, "A number is missing, or too long.");
		return 0;
	}
	memcpy(digits, text->at, n);
	digits[n] = '\0';
	value = strtod(digits, &end);
	if (end != digits + n)
		skx_ranking_fail(text, "A number is malformed.");
	text->at += n;
	return value == 0 ? 0 : value;
}

/* Reads a lexeme in quotes and copies it. */
static const char *
skx_ranking_parse_lexeme(SkxRankingText *text, int *len)
{
	char	   *lexeme = text->bytes;

	*len = 0;
	skx_ranking_expect(text, "'");
	while (text->error == NULL)
	{
		char		c = *text->at++;

		if (c == '\'' && *text->at != '\'')
			break;
		if (c == '\'' || c == '\\')
			c = *text->at++;
		if (c == '\0')
		{
			text->at--;
			skx_ranking_fail(text, "A quote is missing.");
			break;
		}
		*text->bytes++ = c;
	}
	if (text->bytes - lexeme > SKX_RANKING_LEXEME_MAX)
		skx_ranking_fail(text, "A word has 2047 bytes at most, and none that is zero.");
	else
		*len = (int) (text->bytes - lexeme);
	return lexeme;
}

/* Reads an asterisk and labels, in any order. */
static void
skx_ranking_parse_flags(SkxRankingText *text, SkxRankingTerm *term)
{
	static const char labels[] = "DCBAdcba";
	const char *from = text->at;

	for (;; text->at++)
	{
		const char *label = *text->at == '\0' ? NULL :
			strchr(labels, *text->at);

		if (*text->at == '*')
			term->prefix = true;
		else if (label != NULL)
			term->labels |= 1 << ((label - labels) % 4);
		else
			break;
	}
	if (text->at == from)
		skx_ranking_fail(text, "After a colon, * or labels are missing.");
}

/*
 * Reads one number or lexeme of a word.  Returns the bit of its name, 0 if it
 * has none.
 */
static uint32
skx_ranking_parse_statistic(SkxRankingText *text, SkxRankingTerm *term)
{
	if (skx_ranking_take(text, "df="))
	{
		term->sum = skx_ranking_parse_number(text);
		return 1;
	}
	if (skx_ranking_take(text, "times="))
	{
		uint64		times = skx_ranking_parse_number(text);

		term->count = (uint16) Min(times, SKX_RANKING_COUNT_MAX + 1);
		return 2;
	}
	if (skx_ranking_take(text, "factor="))
	{
		term->factor = skx_ranking_parse_double(text);
		return 4;
	}
	if (skx_ranking_take(text, "whole="))
	{
		term->whole = skx_ranking_parse_number(text);
		return 8;
	}
	if (skx_ranking_take(text, "only="))
	{
		term->only = skx_ranking_parse_lexeme(text, &term->only_len);
		return 16;
	}
	if (skx_ranking_take(text, "exact"))
	{
		term->is_exact = true;
		return 32;
	}
	return 0;
}

/* Reads a word, of a group if that is not 0. */
static void
skx_ranking_parse_term(SkxRankingText *text, int group)
{
	SkxRankingTerm *term = &text->ranking->terms[text->ranking->nterms++];
	uint32		given = 0;

	memset(term, 0, sizeof(*term));
	term->group = group;
	term->count = 1;
	term->factor = 1;
	term->lexeme = skx_ranking_parse_lexeme(text, &term->len);
	if (skx_ranking_take(text, ":"))
		skx_ranking_parse_flags(text, term);
	skx_ranking_expect(text, "(");
	while (text->error == NULL)
	{
		uint32		bit = skx_ranking_parse_statistic(text, term);

		if (bit == 0 || (given & bit) != 0)
			skx_ranking_fail(text, "A word has df, times, factor, exact, whole and only, each once.");
		given |= bit;
		if (!skx_ranking_take(text, ","))
			break;
	}
	skx_ranking_expect(text, ")");
	if ((given & 1) == 0)
		skx_ranking_fail(text, "The df of a word is missing.");
}

/* Reads a group: occurrences and factor, if they are given, and words. */
static void
skx_ranking_parse_group(SkxRankingText *text)
{
	SkxRanking *ranking = text->ranking;
	SkxRankingGroup *group;
	bool		more = true;

	if (ranking->ngroups == SKX_RANKING_GROUPS_MAX)
	{
		skx_ranking_fail(text, "There are 256 groups at most.");
		return;
	}
	group = &ranking->groups[ranking->ngroups++];
	memset(group, 0, sizeof(*group));
	group->count = 1;
	group->factor = 1;
	if (skx_ranking_take(text, "times="))
	{
		uint64		times = skx_ranking_parse_number(text);

		group->count = (uint16) Min(times, SKX_RANKING_COUNT_MAX + 1);
		skx_ranking_expect(text, ",");
	}
	if (skx_ranking_take(text, "factor="))
	{
		group->factor = skx_ranking_parse_double(text);
		skx_ranking_expect(text, ",");
	}
	while (text->error == NULL && more)
	{
		(void) skx_ranking_more(text);
		skx_ranking_parse_term(text, ranking->ngroups);
		more = skx_ranking_take(text, ",");
	}
	skx_ranking_expect(text, ")");
}

/* Reads a side of a pair: the number of a group, or a word to be found. */
static int
skx_ranking_parse_side(SkxRankingText *text, const char **lexeme, int *len)
{
	uint64		number;

	*lexeme = NULL;
	*len = 0;
	if (*text->at == '\'')
	{
		*lexeme = skx_ranking_parse_lexeme(text, len);
		return 0;
	}
	number = skx_ranking_parse_number(text);
	if (number == 0 || number > SKX_RANKING_GROUPS_MAX)
		skx_ranking_fail(text, "A pair is of two different words that are no prefixes, or groups.");
	return -(int) Min(number, SKX_RANKING_GROUPS_MAX);
}

static void
skx_ranking_parse_pair(SkxRankingText *text)
{
	SkxRankingPair *pair;
	int			at = text->ranking->npairs;
	int			i;

	if (at == SKX_RANKING_PAIRS_MAX)
	{
		skx_ranking_fail(text, "There are 16 pairs at most.");
		return;
	}
	pair = &text->ranking->pairs[at];
	pair->weight = 0;
	for (i = 0; i < 2; i++)
	{
		*(i == 0 ? &pair->first : &pair->second) =
			skx_ranking_parse_side(text, &text->names.lexeme[at][i],
								   &text->names.len[at][i]);
		skx_ranking_expect(text, i == 0 ? "," : ")");
	}
	text->ranking->npairs++;
}

/* Reads one item of the head. */
static void
skx_ranking_parse_head(SkxRankingText *text)
{
	SkxRanking *ranking = text->ranking;
	uint32		bit = 0;
	int			i;

	if (skx_ranking_take(text, "documents="))
	{
		bit = 1;
		ranking->ndocs = skx_ranking_parse_number(text);
	}
	else if (skx_ranking_take(text, "length="))
	{
		bit = 2;
		ranking->length = skx_ranking_parse_number(text);
	}
	else if (skx_ranking_take(text, "k1="))
	{
		bit = 4;
		ranking->options.k1 = skx_ranking_parse_double(text);
	}
	else if (skx_ranking_take(text, "b="))
	{
		bit = 8;
		ranking->options.b = skx_ranking_parse_double(text);
	}
	else if (skx_ranking_take(text, "proximity="))
	{
		bit = 16;
		ranking->options.proximity = skx_ranking_parse_double(text);
	}
	else if (skx_ranking_take(text, "weights="))
	{
		bit = 32;
		for (i = 0; i < lengthof(ranking->options.labels); i++)
		{
			skx_ranking_expect(text, i == 0 ? "{" : ",");
			ranking->options.labels[i] = skx_ranking_parse_double(text);
		}
		skx_ranking_expect(text, "}");
	}
	if (bit == 0 || (text->given & bit) != 0)
		skx_ranking_fail(text, "An item is unknown, or comes twice.");
	text->given |= bit;
}

size_t
skx_ranking_parse_terms(const char *text)
{
	size_t		quotes = 0;

	for (; *text != '\0'; text++)
		quotes += *text == '\'';
	return quotes / 2 + 1;
}

const char *
skx_ranking_parse(const char *text, SkxRanking *ranking, char *bytes)
{
	SkxRankingText state = {text, bytes, NULL, ranking, 0};
	int			i;

	ranking->options.k1 = SKX_RANKING_K1;
	ranking->options.b = SKX_RANKING_B;
	ranking->options.proximity = SKX_RANKING_PROXIMITY;
	for (i = 0; i < lengthof(ranking->options.labels); i++)
		ranking->options.labels[i] = SKX_RANKING_LABEL;
	ranking->ndocs = ranking->length = 0;
	ranking->nterms = ranking->npairs = ranking->ngroups = 0;
	while (skx_ranking_more(&state))
	{
		if (*state.at == '\'')
			skx_ranking_parse_term(&state, 0);
		else if (skx_ranking_take(&state, "group("))
			skx_ranking_parse_group(&state);
		else if (skx_ranking_take(&state, "near("))
			skx_ranking_parse_pair(&state);
		else
			skx_ranking_parse_head(&state);
	}
	if ((state.given & 3) != 3)
		skx_ranking_fail(&state, "documents or length is missing.");
	if (state.error == NULL && !skx_ranking_sort(ranking, &state.names))
		skx_ranking_fail(&state, "A pair is of two different words that are no prefixes, or groups.");
	return state.error;
}
