/*
 * score_groups.c
 *	  Makes groups of the words of a query, with further lexemes that count as
 *	  one with them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/score/score_internal.h"

static int
skx_score_compare_words(const void *a, const void *b)
{
	return skx_ranking_compare(a, b);
}

/* Returns the number of the query's word of a variant, or -1. */
static int
skx_score_variant_word(const SkxScorer *scorer, const SkxScoreVariant *variant)
{
	SkxScoreTerm key = {.lexeme = variant->word.bytes,.len = variant->word.len};
	const SkxScoreTerm *found = bsearch(&key, scorer->terms, scorer->nterms,
										sizeof(SkxScoreTerm),
										skx_score_compare_words);

	return found == NULL ? -1 : (int) (found - scorer->terms);
}

/*
 * Makes groups of the terms that are words of variants.  words[i] is the one
 * of variant i.
 */
static void
skx_score_make_groups(SkxScorer *scorer, const int *words, int n)
{
	int			ngroups = 0;
	int			i;

	for (i = 0; i < n; i++)
		scorer->terms[words[i]].group = 1;
	for (i = 0; i < scorer->nterms; i++)
		ngroups += scorer->terms[i].group;
	if (ngroups > SKX_RANKING_GROUPS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a ranking has %d groups of words at most",
						SKX_RANKING_GROUPS_MAX)));
	scorer->groups = palloc0(sizeof(SkxRankingGroup) * ((Size) ngroups + 1));
	for (i = 0; i < scorer->nterms; i++)
	{
		SkxScoreTerm *term = &scorer->terms[i];

		if (term->group == 0)
			continue;
		scorer->groups[scorer->ngroups].count = term->count;
		scorer->groups[scorer->ngroups].factor = term->factor;
		term->group = ++scorer->ngroups;
		term->is_exact = true;
		term->count = 1;
		term->factor = 1;
	}
}

/* Replaces the words of pairs by their groups. */
static void
skx_score_pair_groups(SkxScorer *scorer, SkxRankingNames *names)
{
	int			i;

	for (i = 0; i < 2 * scorer->npairs; i++)
	{
		SkxScorePair *pair = &scorer->pairs[i / 2];
		int		   *side = i % 2 == 0 ? &pair->first : &pair->second;
		int			group = scorer->terms[*side].group;

		if (group == 0)
			continue;
		*side = -group;
		names->lexeme[i / 2][i % 2] = NULL;
	}
}

/* Adds the variants to the terms. */
static void
skx_score_add_variants(SkxScorer *scorer, const SkxScoreVariant *variants,
					   const int *words, int n)
{
	SkxScoreTerm *terms = palloc_extended(sizeof(SkxScoreTerm) *
										  ((Size) scorer->nterms + n + 1),
										  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int			i;

	memcpy(terms, scorer->terms, sizeof(SkxScoreTerm) * scorer->nterms);
	for (i = 0; i < n; i++)
	{
		const SkxScoreTerm *word = &scorer->terms[words[i]];
		SkxScoreTerm *term = &terms[scorer->nterms + i];

		CHECK_FOR_INTERRUPTS();
		term->lexeme = variants[i].lexeme.bytes;
		term->len = variants[i].lexeme.len;
		term->labels = word->labels;
		term->group = word->group;
		term->count = 1;
		term->factor = variants[i].factor;
	}
	scorer->terms = terms;
	scorer->nterms += n;
}

SkxScorer *
skx_score_open_groups(Relation index, Snapshot snapshot,
					  const SkxRankOptions *options, TSQuery query,
					  const SkxScoreVariant *variants, int n, int *unknown)
{
	SkxScorer  *scorer = skx_score_read_query(options, query);
	int		   *words = palloc_extended(sizeof(int) * ((Size) n + 1),
										MCXT_ALLOC_HUGE);
	SkxRankingNames names;
	SkxRanking	ranking;
	int			i;

	*unknown = -1;
	for (i = 0; i < n; i++)
	{
		words[i] = skx_score_variant_word(scorer, &variants[i]);
		if (words[i] < 0)
		{
			*unknown = i;
			return scorer;
		}
	}
	skx_score_ranking(scorer, &ranking);
	skx_ranking_name(&ranking, &names);
	skx_score_make_groups(scorer, words, n);
	skx_score_pair_groups(scorer, &names);
	skx_score_add_variants(scorer, variants, words, n);
	pfree(words);
	skx_score_ranking(scorer, &ranking);
	if (!skx_ranking_sort(&ranking, &names))
		elog(ERROR, "a pair is not of words of its query");
	skx_score_read_statistics(scorer, index, NULL, snapshot);
	return scorer;
}
