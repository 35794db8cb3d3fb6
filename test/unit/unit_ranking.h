/*
 * unit_ranking.h
 *	  Random rankings that are accepted.
 */
#ifndef SKX_TEST_UNIT_RANKING_H
#define SKX_TEST_UNIT_RANKING_H

#include "unit.h"
#include "format/ranking/ranking.h"

#define UNIT_RANKING_TERMS	40

/* A ranking with all that it points to. */
typedef struct UnitRanking
{
	SkxRanking	r;
	SkxRankingTerm terms[UNIT_RANKING_TERMS];
	SkxRankingPair pairs[SKX_RANKING_PAIRS_MAX];
	SkxRankingGroup groups[SKX_RANKING_GROUPS_MAX];
	char		bytes[UNIT_RANKING_TERMS][2][16];
} UnitRanking;

/* A number from 0 to `limit`, often one of these two or a round one. */
static inline double
unit_ranking_number(double limit)
{
	switch (unit_below(6))
	{
		case 0:
			return 0;
		case 1:
			return limit;
		case 2:
			return (double) unit_below(5) / 4 * limit / 100;
		case 3:
			return limit / (double) (1 + unit_below(1000000));
		default:
			return limit * ((double) (unit_random() >> 11) /
							(double) (UINT64CONST(1) << 53));
	}
}

/* A number up to `most`, which is below 2^64 - 1, of any magnitude. */
static inline uint64
unit_ranking_count(uint64 most)
{
	uint64		n = unit_random() >> unit_below(64);
	uint64		less = unit_below(3);

	return unit_below(8) == 0 ? most - Min(most, less) : n % (most + 1);
}

static inline int
unit_ranking_lexeme(char *dst)
{
	int			n = unit_below(12);
	int			i;

	for (i = 0; i < n; i++)
		dst[i] = unit_below(4) ? "abc'\\ :*"[unit_below(8)] :
			(char) (1 + unit_below(255));
	return n;
}

static inline void
unit_ranking_prefix(UnitRanking *u, SkxRankingTerm *term, int at)
{
	uint64		ndocs = u->r.ndocs;

	if (ndocs == 0 || unit_below(4) == 0)
		return;
	if (unit_below(2) && term->len < 12)
	{
		term->only = u->bytes[at][1];
		memcpy(u->bytes[at][1], term->lexeme, term->len);
		u->bytes[at][1][term->len] = (char) ('x' + unit_below(2));
		term->only_len = term->len + unit_below(2);
		term->sum = 1 + unit_ranking_count(ndocs - 1);
		term->whole = term->only_len == term->len ? term->sum : 0;
		return;
	}
	term->whole = unit_below(2) ? 0 : unit_ranking_count(ndocs);
	term->sum = term->whole + 1 +
		unit_ranking_count(SKX_RANKING_SUM_END - 2 - term->whole);
}

static inline void
unit_ranking_term(UnitRanking *u, SkxRankingTerm *term, int at)
{
	memset(term, 0, sizeof(*term));
	term->lexeme = u->bytes[at][0];
	term->len = unit_ranking_lexeme(u->bytes[at][0]);
	term->prefix = unit_below(3) == 0;
	term->labels = unit_below(2) ? 0 : unit_below(16);
	term->count = unit_below(2) ? 1 : 1 + unit_below(SKX_RANKING_COUNT_MAX);
	term->factor = unit_below(2) ? 1 : unit_ranking_number(SKX_RANKING_LIMIT);
	if (!term->prefix && u->r.ngroups > 0 && unit_below(3) > 0)
	{
		term->group = 1 + unit_below(u->r.ngroups);
		term->count = 1;
		term->factor = unit_below(2) ? 1 : (1 + unit_below(1000)) / 1000.0;
		term->is_exact = term->factor == 1 && unit_below(2) == 0;
	}
	if (term->prefix)
		unit_ranking_prefix(u, term, at);
	else
		term->sum = unit_ranking_count(u->r.ndocs);
}

/* Draws a word that may be in a pair, or a group. */
static inline int
unit_ranking_side(const UnitRanking *u, int nplain)
{
	int			side;

	do
		side = unit_below(nplain + u->r.ngroups) - u->r.ngroups;
	while (side >= 0 && u->terms[side].group != 0);
	return side;
}

/* Drops groups without words, and numbers the others again. */
static inline void
unit_ranking_drop_groups(UnitRanking *u)
{
	int			group;
	int			i;

	for (group = u->r.ngroups; group > 0; group--)
	{
		bool		used = false;

		for (i = 0; i < u->r.nterms; i++)
			used |= u->terms[i].group == group;
		if (used)
			continue;
		u->r.ngroups--;
		memmove(&u->groups[group - 1], &u->groups[group],
				sizeof(u->groups[0]) * (u->r.ngroups - group + 1));
		for (i = 0; i < u->r.nterms; i++)
			u->terms[i].group -= u->terms[i].group > group;
	}
}

static inline void
unit_ranking_pairs(UnitRanking *u)
{
	int			nplain = 0;
	int			n = unit_below(2) ? 0 : unit_below(SKX_RANKING_PAIRS_MAX + 1);
	int			nsides = u->r.ngroups;
	int			i;
	int			k;

	while (nplain < u->r.nterms && !u->terms[nplain].prefix)
		nplain++;
	for (i = 0; i < nplain; i++)
		nsides += u->terms[i].group == 0;
	for (i = 0; i < n && nsides >= 2; i++)
	{
		SkxRankingPair *pair = &u->pairs[u->r.npairs];

		pair->first = unit_ranking_side(u, nplain);
		pair->second = unit_ranking_side(u, nplain);
		pair->weight = 0;
		for (k = 0; k < u->r.npairs; k++)
			if (u->pairs[k].first == pair->first &&
				u->pairs[k].second == pair->second)
				break;
		u->r.npairs += k == u->r.npairs && pair->first != pair->second;
	}
}

/* Draws one that skx_ranking_check() accepts. */
static inline void
unit_ranking(UnitRanking *u)
{
	SkxRankingNames names = {0};
	int			n = unit_below(unit_below(2) ? 4 : UNIT_RANKING_TERMS + 1);
	int			kept = 0;
	int			i;

	memset(u, 0, sizeof(*u));
	u->r.terms = u->terms;
	u->r.pairs = u->pairs;
	u->r.groups = u->groups;
	u->r.ngroups = unit_below(2) ? 0 : 1 + unit_below(6);
	for (i = 0; i < u->r.ngroups; i++)
	{
		u->groups[i].count = unit_below(2) ? 1 :
			1 + unit_below(SKX_RANKING_COUNT_MAX);
		u->groups[i].factor = unit_below(2) ? 1 :
			unit_ranking_number(SKX_RANKING_LIMIT);
	}
	u->r.options.k1 = unit_below(2) ? 1.2 : unit_ranking_number(100);
	u->r.options.b = unit_below(2) ? 0.75 : unit_ranking_number(1);
	u->r.options.proximity = unit_below(2) ? 0.1 : unit_ranking_number(100);
	for (i = 0; i < 4; i++)
		u->r.options.labels[i] = unit_below(2) ? 1 : unit_ranking_number(100);
	u->r.ndocs = unit_ranking_count(SKX_RANKING_NUMBER_END - 1);
	u->r.length = unit_ranking_count(SKX_RANKING_NUMBER_END - 1);
	for (i = 0; i < n; i++)
		unit_ranking_term(u, &u->terms[i], i);
	u->r.nterms = n;
	CHECK(skx_ranking_sort(&u->r, &names));
	for (i = 0; i < n; i++)
		if (kept == 0 ||
			skx_ranking_compare(&u->terms[kept - 1], &u->terms[i]) != 0)
			u->terms[kept++] = u->terms[i];
	u->r.nterms = kept;
	unit_ranking_drop_groups(u);
	unit_ranking_pairs(u);
}

/* Returns true if two rankings are the same, bit for bit. */
static inline bool
unit_ranking_same(const SkxRanking *a, const SkxRanking *b)
{
	int			i;

	if (memcmp(&a->options, &b->options, sizeof(a->options)) != 0 ||
		a->ndocs != b->ndocs || a->length != b->length ||
		!skx_ranking_agree(a, b))
		return false;
	for (i = 0; i < a->nterms; i++)
	{
		const SkxRankingTerm *x = &a->terms[i];
		const SkxRankingTerm *y = &b->terms[i];

		if (x->len != y->len || x->sum != y->sum || x->whole != y->whole ||
			memcmp(&x->factor, &y->factor, sizeof(x->factor)) != 0 ||
			(x->only == NULL) != (y->only == NULL) ||
			x->only_len != y->only_len ||
			(x->only != NULL && memcmp(x->only, y->only, x->only_len) != 0))
			return false;
	}
	return true;
}

#endif							/* SKX_TEST_UNIT_RANKING_H */
