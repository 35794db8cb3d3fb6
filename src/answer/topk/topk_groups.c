/*
 * topk_groups.c
 *	  Words of a group that few documents have, as one list.
 *
 * Most words of a group are spellings that are rare, and each would end
 * windows, have bounds, and be looked up by itself.  As one list in memory they
 * cost what one word does.  Of a document with several of them the frequencies
 * are added up, and all weigh as much as the heaviest: the contribution is a
 * bound, and the exact one is computed later (topk_exact.c).
 */
#include "postgres.h"

#include "answer/topk/topk_words.h"
#include "miscadmin.h"

/*
 * Most documents of a word that is gathered, and most postings of a group and
 * of all groups.  A gathered posting takes as long as looking up a candidate.
 */
#define SKX_GROUPS_DF_MAX			4096
#define SKX_GROUPS_POSTINGS_MAX		(1 << 16)
#define SKX_GROUPS_ALL_POSTINGS_MAX	(1 << 18)

/*
 * With prefixes, which may be gathered in ranges, sums of candidates have the
 * contributions of each word (skx_topk_exact_open()).  Norms that have to be
 * read are read for candidates alone.
 */
bool *
skx_topk_gathered_words(const SkxTopkRun *run, const SkxTopkSegment *s)
{
	const SkxScorer *scorer = run->scorer;
	uint32		postings[SKX_RANKING_GROUPS_MAX] = {0};
	uint32		all = 0;
	bool	   *gathered = palloc0((Size) scorer->nterms + 1);
	int			i;

	if (!run->has_ceilings || scorer->ngroups == 0 ||
		scorer->nplain != scorer->nterms || !skx_segment_is_warm(run->seg))
		return gathered;
	for (i = 0; i < scorer->nplain; i++)
	{
		const SkxScoreTerm *scored = &scorer->terms[i];
		uint32		df = s->terms[run->topk->term_lexemes[i]].df;

		if (scored->group == 0 || df > SKX_GROUPS_DF_MAX ||
			postings[scored->group - 1] + df > SKX_GROUPS_POSTINGS_MAX ||
			all + df > SKX_GROUPS_ALL_POSTINGS_MAX)
			continue;
		gathered[i] = true;
		postings[scored->group - 1] += df;
		all += df;
	}
	return gathered;
}

/* Opens a list of the gathered words of a group, if there are any. */
static void
skx_groups_open(SkxTopkRun *run, const SkxTopkSegment *s,
				const bool *gathered, int group)
{
	const SkxScorer *scorer = run->scorer;
	const SkxTerm *terms[SKX_RANKING_GROUP_WORDS_MAX];
	const SkxScoreTerm *scored[SKX_RANKING_GROUP_WORDS_MAX];
	SkxTopkList *l;
	int			n = 0;
	int			i;

	for (i = 0; i < scorer->nplain; i++)
	{
		const SkxTerm *term = &s->terms[run->topk->term_lexemes[i]];

		if (!gathered[i] || scorer->terms[i].group != group ||
			!skx_query_has_term(term, scorer->terms[i].labels))
			continue;
		terms[n] = term;
		scored[n++] = &scorer->terms[i];
	}
	if (n == 0)
		return;
	l = n == 1 ?
		skx_topk_list_open(run, run->seg, terms[0], scored[0],
						   scored[0]->labels) :
		skx_topk_open_rare_words(run, terms, scored, n);
	if (l != NULL)
		run->optional[run->noptional++] = l;
}

void
skx_topk_open_gathered(SkxTopkRun *run, const SkxTopkSegment *s,
					   const bool *gathered)
{
	int			i;

	for (i = 1; i <= run->scorer->ngroups; i++)
	{
		CHECK_FOR_INTERRUPTS();
		skx_groups_open(run, s, gathered, i);
	}
}
