/*
 * ranking_print.c
 *	  The text of a ranking.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "common/shortest_dec.h"
#include "format/ranking/ranking.h"

/*
 * Bounds of what is written beside lexemes: for a word, for the rest.  The
 * longest names with 20 digits, or with a double, take less.
 */
#define SKX_RANKING_PRINT_WORD	160
#define SKX_RANKING_PRINT_HEAD	512

size_t
skx_ranking_print_size(const SkxRanking *ranking)
{
	size_t		size = SKX_RANKING_PRINT_HEAD;
	int			i;

	for (i = 0; i < ranking->nterms; i++)
		size += SKX_RANKING_PRINT_WORD + 2 *
			((size_t) ranking->terms[i].len + ranking->terms[i].only_len);
	size += SKX_RANKING_PRINT_WORD *
		((size_t) ranking->ngroups + ranking->npairs);
	for (i = 0; i < ranking->npairs; i++)
	{
		const SkxRankingPair *pair = &ranking->pairs[i];

		if (pair->first >= 0)
			size += 2 * (size_t) ranking->terms[pair->first].len;
		if (pair->second >= 0)
			size += 2 * (size_t) ranking->terms[pair->second].len;
	}
	return size;
}

static char *
skx_ranking_print_string(char *dst, const char *string)
{
	size_t		n = strlen(string);

	memcpy(dst, string, n);
	return dst + n;
}

/* Writes a name and a number. */
static char *
skx_ranking_print_number(char *dst, const char *name, uint64 number)
{
	char		digits[32];

	snprintf(digits, sizeof(digits), UINT64_FORMAT, number);
	return skx_ranking_print_string(skx_ranking_print_string(dst, name),
									digits);
}

/* Writes a name and the shortest decimal that is read as the same double. */
static char *
skx_ranking_print_double(char *dst, const char *name, double value)
{
	char		digits[DOUBLE_SHORTEST_DECIMAL_LEN];

	double_to_shortest_decimal_buf(value, digits);
	return skx_ranking_print_string(skx_ranking_print_string(dst, name),
									digits);
}

/* Writes a lexeme in quotes; quotes and backslashes in it come twice. */
static char *
skx_ranking_print_lexeme(char *dst, const char *lexeme, int len)
{
	int			i;

	*dst++ = '\'';
	for (i = 0; i < len; i++)
	{
		if (lexeme[i] == '\'' || lexeme[i] == '\\')
			*dst++ = lexeme[i];
		*dst++ = lexeme[i];
	}
	*dst++ = '\'';
	return dst;
}

static char *
skx_ranking_print_term(char *dst, const SkxRankingTerm *term)
{
	int			label;

	dst = skx_ranking_print_lexeme(dst, term->lexeme, term->len);
	if (term->prefix || term->labels != 0)
		*dst++ = ':';
	if (term->prefix)
		*dst++ = '*';
	for (label = 3; label >= 0; label--)
	{
		if (term->labels & (1 << label))
			*dst++ = "DCBA"[label];
	}
	dst = skx_ranking_print_number(dst, "(df=", term->sum);
	if (term->count != 1)
		dst = skx_ranking_print_number(dst, ",times=", term->count);
	if (term->factor != 1)
		dst = skx_ranking_print_double(dst, ",factor=", term->factor);
	if (term->is_exact)
		dst = skx_ranking_print_string(dst, ",exact");
	if (term->whole != 0)
		dst = skx_ranking_print_number(dst, ",whole=", term->whole);
	if (term->only != NULL)
		dst = skx_ranking_print_lexeme(skx_ranking_print_string(dst, ",only="),
									   term->only, term->only_len);
	*dst++ = ')';
	return dst;
}

/* Writes a group, the words of which are among the terms. */
static char *
skx_ranking_print_group(char *dst, const SkxRanking *ranking, int number)
{
	const SkxRankingGroup *group = &ranking->groups[number - 1];
	char	   *before;
	int			i;

	dst = skx_ranking_print_string(dst, " group(");
	before = dst;
	if (group->count != 1)
		dst = skx_ranking_print_number(dst, "times=", group->count);
	if (group->factor != 1)
		dst = skx_ranking_print_double(dst, dst == before ? "factor=" :
									   ",factor=", group->factor);
	for (i = 0; i < ranking->nterms; i++)
	{
		if (ranking->terms[i].group != number)
			continue;
		if (dst != before)
			*dst++ = ',';
		dst = skx_ranking_print_term(dst, &ranking->terms[i]);
	}
	*dst++ = ')';
	return dst;
}

static char *
skx_ranking_print_side(char *dst, const SkxRanking *ranking, int side)
{
	if (side < 0)
		return skx_ranking_print_number(dst, "", (uint64) -side);
	return skx_ranking_print_lexeme(dst, ranking->terms[side].lexeme,
									ranking->terms[side].len);
}

static char *
skx_ranking_print_pair(char *dst, const SkxRanking *ranking,
					   const SkxRankingPair *pair)
{
	dst = skx_ranking_print_string(dst, " near(");
	dst = skx_ranking_print_side(dst, ranking, pair->first);
	*dst++ = ',';
	dst = skx_ranking_print_side(dst, ranking, pair->second);
	*dst++ = ')';
	return dst;
}

void
skx_ranking_print(const SkxRanking *ranking, char *dst)
{
	const SkxRankOptions *options = &ranking->options;
	int			i;

	dst = skx_ranking_print_number(dst, "documents=", ranking->ndocs);
	dst = skx_ranking_print_number(dst, " length=", ranking->length);
	dst = skx_ranking_print_double(dst, " k1=", options->k1);
	dst = skx_ranking_print_double(dst, " b=", options->b);
	for (i = 0; i < lengthof(options->labels); i++)
		dst = skx_ranking_print_double(dst, i == 0 ? " weights={" : ",",
									   options->labels[i]);
	dst = skx_ranking_print_double(dst, "} proximity=", options->proximity);
	for (i = 0; i < ranking->nterms; i++)
	{
		if (ranking->terms[i].group != 0)
			continue;
		*dst++ = ' ';
		dst = skx_ranking_print_term(dst, &ranking->terms[i]);
	}
	for (i = 1; i <= ranking->ngroups; i++)
		dst = skx_ranking_print_group(dst, ranking, i);
	for (i = 0; i < ranking->npairs; i++)
		dst = skx_ranking_print_pair(dst, ranking, &ranking->pairs[i]);
	*dst = '\0';
}
