/*
 * ranking_add.c
 *	  The ranking of several tables as one, from that of each.
 */
#ifndef FRONTEND
#include "postgres.h"
#else
#include "postgres_fe.h"
#endif

#include "format/ranking/ranking.h"

static bool
skx_ranking_agree_options(const SkxRankOptions *a, const SkxRankOptions *b)
{
	int			i;

	for (i = 0; i < lengthof(a->labels); i++)
	{
		if (a->labels[i] != b->labels[i])
			return false;
	}
	return a->k1 == b->k1 && a->b == b->b && a->proximity == b->proximity;
}

bool
skx_ranking_agree(const SkxRanking *a, const SkxRanking *b)
{
	int			i;

	if (!skx_ranking_agree_options(&a->options, &b->options) ||
		a->nterms != b->nterms || a->npairs != b->npairs ||
		a->ngroups != b->ngroups)
		return false;
	for (i = 0; i < a->nterms; i++)
	{
		const SkxRankingTerm *x = &a->terms[i];
		const SkxRankingTerm *y = &b->terms[i];

		if (skx_ranking_compare(x, y) != 0 || x->labels != y->labels ||
			x->is_exact != y->is_exact || x->count != y->count ||
			x->factor != y->factor)
			return false;
	}
	for (i = 0; i < a->ngroups; i++)
	{
		if (a->groups[i].count != b->groups[i].count ||
			a->groups[i].factor != b->groups[i].factor)
			return false;
	}
	for (i = 0; i < a->npairs; i++)
	{
		if (a->pairs[i].first != b->pairs[i].first ||
			a->pairs[i].second != b->pairs[i].second)
			return false;
	}
	return true;
}

/*
 * A prefix has one lexeme in both tables together if neither has another one.
 * A sum of 0 means that it has none.
 */
static void
skx_ranking_add_term(SkxRankingTerm *a, const SkxRankingTerm *b)
{
	if (a->sum == 0)
	{
		a->only = b->only;
		a->only_len = b->only_len;
	}
	else if (b->sum > 0 && a->only != NULL &&
			 (b->only == NULL || a->only_len != b->only_len ||
			  memcmp(a->only, b->only, a->only_len) != 0))
	{
		a->only = NULL;
		a->only_len = 0;
	}
	a->sum += b->sum;
	a->whole += b->whole;
}

void
skx_ranking_add(SkxRanking *a, const SkxRanking *b)
{
	int			i;

	a->ndocs += b->ndocs;
	a->length += b->length;
	for (i = 0; i < a->nterms; i++)
		skx_ranking_add_term(&a->terms[i], &b->terms[i]);
}
