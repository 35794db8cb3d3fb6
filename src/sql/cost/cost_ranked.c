/*
 * cost_ranked.c
 *	  Estimates what a search for the best rows does.
 */
#include "postgres.h"

#include "optimizer/paths.h"
#include "sql/cost/cost_internal.h"

/*
 * If all rows are wanted, and are at most this many, the first search finds
 * all of them.  The margin is for the error of their estimate.
 */
#define SKX_COST_ALL_ROWS_MAX		1024
#define SKX_COST_ROWS_MARGIN		1.25

/*
 * Rows that the first search looks for if a cursor reads the query, since
 * programs fetch 100 rows at a time, as postgres_fdw does.  A sort by further
 * keys reads groups of 32 rows and one more.
 */
#define SKX_COST_CURSOR_ROWS		100
#define SKX_COST_CURSOR_SORTED_ROWS	132

/*
 * Largest contribution of a word, as a share of its weight, if nothing is
 * known of its list.
 */
#define SKX_COST_SHORT_MAX_FRACTION	0.9f

/* Units of a weight of 1, which are fine enough for any contribution. */
#define SKX_COST_CONTRIBUTION_UNITS		65536

/*
 * Returns the inverse of a norm (skx_rank_norm_inverse()), of which an estimate
 * needs a few only.
 */
static float
skx_cost_inverse(const SkxCostState *c, uint8 norm)
{
	return skx_rank_norm_inverse(&c->index->options, c->length, norm);
}

/* Returns a bound of the contributions of a long list, by its maxima. */
static int32
skx_cost_list_bound(const SkxCostState *c, const SkxTerm *term, float weight)
{
	SkxImpacts	impacts = term->long_list.impacts;
	float		inverses[256];
	int			i;

	for (i = 0; i < SKX_IMPACT_PAIRS; i++)
	{
		uint8		norm = skx_rank_impact_norm(impacts, i);

		inverses[norm] = skx_cost_inverse(c, norm);
	}
	return skx_rank_bound(impacts, weight, 1, inverses);
}

/*
 * Sets the contributions of the postings of a term.  They come from the maxima
 * of its list and from the ranks in its dictionary entry.  A short list has
 * neither.
 */
static void
skx_cost_contributions(const SkxCostState *c, const SkxTerm *term,
					   float weight, SkxCostWord *word)
{
	int			i;

	memset(word->kth_contribution, 0, sizeof(word->kth_contribution));
	word->max_contribution = weight * SKX_COST_SHORT_MAX_FRACTION;
	if (term == NULL || (term->flags & SKX_TERM_FORM_MASK) != SKX_TERM_LONG)
		return;
	word->max_contribution = skx_cost_list_bound(c, term, weight);
	for (i = 0; i < SKX_NKTH_BEST && term->kth_best[i] != 0; i++)
		word->kth_contribution[i] =
			skx_rank_contribution(weight, (term->kth_best[i] >> 8) + 1,
								  skx_cost_inverse(c, term->kth_best[i] & 0xFF));
}

/*
 * Returns true if the term is that of one of the n words before it, which then
 * counts once more.
 */
static bool
skx_cost_is_repeated(const SkxTerm *term, SkxCostWord *words,
					 const SkxTerm **terms, int *counts, int n)
{
	int			i;
	int			k;

	for (i = 0; i < n && terms[i] != term; i++)
		;
	if (term == NULL || i == n)
		return false;
	words[i].max_contribution += words[i].max_contribution / counts[i];
	for (k = 0; k < SKX_NKTH_BEST; k++)
		words[i].kth_contribution[k] += words[i].kth_contribution[k] /
			counts[i];
	counts[i]++;
	return true;
}

/*
 * Fills in the words of a ranking query that it does not negate, and returns
 * their number, at most SKX_COST_LOOKUPS_MAX.  A word that was looked up comes
 * only once.  *all is the number of words without that limit.  Sets *any to
 * true if the query is a disjunction of them and nothing else.
 */
static int
skx_cost_set_words(SkxCostState *c, TSQuery query, SkxCostWord *words,
				   double *all, bool *any)
{
	QueryItem  *items = GETQUERY(query);
	bool	   *negated = palloc0(query->size);
	bool		few = skx_cost_count_words(query) <= SKX_COST_LOOKUPS_MAX;
	const SkxTerm *terms[SKX_COST_LOOKUPS_MAX];
	int			counts[SKX_COST_LOOKUPS_MAX];
	int			n = 0;
	int			i;

	*any = true;
	*all = 0;
	for (i = 0; i < query->size; i++)
	{
		QueryItem  *item = &items[i];
		const SkxTerm *term;

		if (item->type == QI_VAL && !negated[i])
			*all += 1;
		if (item->type == QI_VAL && !negated[i] && n < SKX_COST_LOOKUPS_MAX)
		{
			term = skx_cost_operand_df(c, query, &item->qoperand,
									   &words[n].df);
			if (term == NULL && !few)
				continue;
			if (skx_cost_is_repeated(term, words, terms, counts, n))
			{
				*all -= 1;
				continue;
			}
			terms[n] = term;
			counts[n] = 1;
			skx_cost_contributions(c, term, SKX_COST_CONTRIBUTION_UNITS *
								   skx_rank_idf((uint64) words[n].df,
												(uint64) c->ndocs),
								   &words[n]);
			n++;
		}
		if (item->type == QI_VAL)
			continue;
		*any &= item->qoperator.oper == OP_OR;
		negated[i + 1] = negated[i] != (item->qoperator.oper == OP_NOT);
		if (item->qoperator.oper != OP_NOT)
			negated[i + item->qoperator.left] = negated[i];
	}
	pfree(negated);
	return n;
}

/*
 * Returns true if all rows will be fetched, as far as is known before there is
 * a plan: neither the query nor one around it has a LIMIT or is that of a
 * cursor.
 */
static bool
skx_cost_reads_all(const SkxCostState *c)
{
	const PlannerInfo *root = c->root;

	while (root != NULL && root->tuple_fraction == 0)
		root = root->parent_root;
	return root == NULL;
}

uint64
skx_cost_first_search_rows(double rows)
{
	rows *= SKX_COST_ROWS_MARGIN;
	return rows > SKX_COST_ALL_ROWS_MAX ? SKX_TOPK_ROWS :
		(uint64) Max(rows, SKX_TOPK_ROWS);
}

/* The fraction that a cursor wants is below 1, unlike the rows of a LIMIT. */
int
skx_cost_first_rows(const PlannerInfo *root, const List *pathkeys)
{
	if (root->parent_root != NULL || root->parse->limitCount != NULL ||
		root->tuple_fraction <= 0 || root->tuple_fraction >= 1)
		return SKX_TOPK_ROWS;
	return pathkeys_contained_in(root->sort_pathkeys,
								 unconstify(List *, pathkeys)) ?
		SKX_COST_CURSOR_ROWS : SKX_COST_CURSOR_SORTED_ROWS;
}

/*
 * Returns how many rows of the index the first search looks for.  If the
 * planner knows a LIMIT, these are its rows, and those that conditions on the
 * table will drop.  If it does not, searches begin with few rows and grow, and
 * the planner adds the rest by the share of rows that it expects to be
 * fetched.
 */
static double
skx_cost_wanted_rows(const SkxCostState *c)
{
	double		wanted = c->root->limit_tuples;

	if (wanted <= 0)
		return skx_cost_reads_all(c) ? skx_cost_first_search_rows(c->rows) :
			skx_cost_first_rows(c->root, c->path->path.pathkeys);
	return wanted * Max(c->rows / Max(c->path->path.rows, 1), 1);
}

/*
 * Adds the contributions of pairs to the bounds of words.  A pair adds to the
 * bound of its rarer word, in proportion to that of the other (score_query.c).
 * Returns how many documents of `match` have both words of a pair.  With
 * `same`, all of them have all words.
 */
static double
skx_cost_bound_pairs(const SkxCostState *c, SkxCostWord *words, int n,
					 const SkxEstimate *match, bool same)
{
	double		pairs = c->index->options.proximity *
		(1 + SKX_RANK_NEAR_FRACTION);
	double		paired = 0;
	double		before;
	int			i;

	if (n < 2 || pairs <= 0)
		return 0;
	before = words[0].max_contribution;
	for (i = 1; i < Min(n, SKX_RANKING_PAIRS_MAX + 1); i++)
	{
		double		most = words[i].max_contribution;

		paired += words[i - 1].df * words[i].df / c->ndocs;
		if (words[i].df <= words[i - 1].df)
			words[i].max_contribution += pairs * before;
		else
			words[i - 1].max_contribution += pairs * most;
		before = most;
	}
	return same ? match->docs : paired * match->docs / c->ndocs;
}

/* Returns the number of postings of `all` words, of which n are known. */
static double
skx_cost_count_postings(const SkxCostState *c, const SkxCostWord *words, int n,
						double all)
{
	double		postings = 0;
	int			i;

	for (i = 0; i < n; i++)
		postings += words[i].df;
	return n > 0 ? postings * all / n : all * c->average_df;
}

void
skx_cost_ranked(SkxCostState *c, const SkxEstimate *match, SkxCostScan *scan)
{
	SkxCostWord words[SKX_COST_LOOKUPS_MAX];
	SkxCostRanked ranked;
	bool		any = true;
	bool		same;
	double		wanted;
	double		growth;
	double		all = 1;

	ranked.words = words;
	ranked.nwords = 1;
	ranked.match = *match;
	memset(words, 0, sizeof(words));
	if (c->ranking != NULL)
		ranked.nwords = skx_cost_set_words(c, c->ranking, words, &all, &any);
	else
	{
		words[0].df = Min(match->docs, c->ndocs * SKX_COST_UNKNOWN_FRACTION);
		words[0].max_contribution = 1;
	}
	same = skx_cost_ranks_filter(c);
	ranked.ndocs = c->ndocs;
	ranked.nmany_words = all > SKX_TOPK_MANY_WORDS ? all : 0;
	ranked.postings = skx_cost_count_postings(c, words, ranked.nwords, all);
	ranked.matches_any_word = (same && any) ||
		(c->unknown == NIL && c->filters == NIL &&
		 c->conditions == NIL && c->ranges == NIL);
	ranked.other_words = same || ranked.matches_any_word ? 0 : ranked.nwords;
	ranked.pair_docs = skx_cost_bound_pairs(c, words, ranked.nwords, match,
											same && !any);
	ranked.proximity = c->index->options.proximity;
	wanted = skx_cost_wanted_rows(c);
	growth = skx_cost_reads_all(c) ? c->ndocs : SKX_TOPK_GROWTH;
	skx_cost_model_best(&ranked, wanted, wanted, growth,
						&scan->work[0], &scan->pages[0]);
	skx_cost_model_best(&ranked, wanted, match->docs, growth,
						&scan->work[1], &scan->pages[1]);
	scan->scored_fraction = skx_cost_model_scored_matches(&ranked) /
		Max(match->docs, 1);
}

double
skx_cost_docs_above(SkxCostState *c, double score)
{
	SkxCostWord words[SKX_COST_LOOKUPS_MAX];
	SkxCostRanked ranked;
	bool		any;
	double		all;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = ranked.match.docs = c->ndocs;
	ranked.words = words;
	ranked.nwords = skx_cost_set_words(c, c->ranking, words, &all, &any);
	/* With more words than are looked up, nothing is known. */
	if (all > ranked.nwords)
		return c->ndocs;
	if (score <= 0)
		return skx_cost_model_scored_matches(&ranked);
	(void) skx_cost_bound_pairs(c, words, ranked.nwords, &ranked.match, false);
	return skx_cost_model_count_above(&ranked,
									  score * SKX_COST_CONTRIBUTION_UNITS);
}
