/*
 * cost_ranked.c
 *	  Estimates what a search for the best rows does.
 */
#include "postgres.h"

#include "sql/cost/cost_internal.h"

/*
 * If all rows are wanted, and are at most this many, the first search finds
 * all of them.  The margin is for the error of their estimate.
 */
#define SKX_COST_FEW		1024
#define SKX_COST_MARGIN		1.25

/*
 * Largest contribution of a word, as a share of its weight, if nothing is
 * known of its list.
 */
#define SKX_COST_SHORT_MOST	0.9f

/* Units of a weight of 1, which are fine enough for any contribution. */
#define SKX_COST_UNIT		65536

/* Result of skx_rank_inverse(), which is computed for the first long list. */
typedef struct SkxCostInverse
{
	bool		known;
	float		of[256];
} SkxCostInverse;

/*
 * Sets the contributions of the postings of a term.  They come from the maxima
 * of its list and from the ranks in its dictionary entry.  A short list has
 * neither.
 */
static void
skx_cost_parts(const SkxCosting *c, const SkxTerm *term, float weight,
			   SkxCostInverse *inverses, SkxCostWord *word)
{
	const float *inverse = inverses->of;
	int			i;

	memset(word->kth, 0, sizeof(word->kth));
	word->most = weight * SKX_COST_SHORT_MOST;
	if (term == NULL || (term->flags & SKX_TERM_PLACE) != SKX_TERM_LONG)
		return;
	if (!inverses->known)
		skx_rank_inverse(&c->index->options, c->length, inverses->of);
	inverses->known = true;
	word->most = skx_rank_bound(term->list.impacts, weight, 1, inverse);
	for (i = 0; i < SKX_NKTHS && term->kth[i] != 0; i++)
		word->kth[i] = skx_rank_part(weight, (term->kth[i] >> 8) + 1,
									 inverse[term->kth[i] & 0xFF]);
}

/*
 * Returns true if the term is that of one of the n words before it, which then
 * counts once more.
 */
static bool
skx_cost_repeats(const SkxTerm *term, SkxCostWord *words,
				 const SkxTerm **terms, int *counts, int n)
{
	int			i;
	int			k;

	for (i = 0; i < n && terms[i] != term; i++)
		;
	if (term == NULL || i == n)
		return false;
	words[i].most += words[i].most / counts[i];
	for (k = 0; k < SKX_NKTHS; k++)
		words[i].kth[k] += words[i].kth[k] / counts[i];
	counts[i]++;
	return true;
}

/*
 * Fills in the words of a ranking query that it does not negate, and returns
 * their number, at most SKX_COST_LOOKUPS.  A word that was looked up comes
 * only once.  *all is the number of words without that limit.  Sets *any to
 * true if the query is a disjunction of them and nothing else.
 */
static int
skx_cost_words(SkxCosting *c, TSQuery query, SkxCostWord *words,
			   double *all, bool *any)
{
	QueryItem  *items = GETQUERY(query);
	bool	   *negated = palloc0(query->size);
	bool		few = skx_cost_plain(query) <= SKX_COST_LOOKUPS;
	const SkxTerm *terms[SKX_COST_LOOKUPS];
	int			counts[SKX_COST_LOOKUPS];
	SkxCostInverse inverse;
	int			n = 0;
	int			i;

	inverse.known = false;
	*any = true;
	*all = 0;
	for (i = 0; i < query->size; i++)
	{
		QueryItem  *item = &items[i];
		const SkxTerm *term;

		if (item->type == QI_VAL && !negated[i])
			*all += 1;
		if (item->type == QI_VAL && !negated[i] && n < SKX_COST_LOOKUPS)
		{
			term = skx_cost_operand(c, query, &item->qoperand,
									&words[n].df);
			if (term == NULL && !few)
				continue;
			if (skx_cost_repeats(term, words, terms, counts, n))
			{
				*all -= 1;
				continue;
			}
			terms[n] = term;
			counts[n] = 1;
			skx_cost_parts(c, term, SKX_COST_UNIT *
						   skx_rank_idf((uint64) words[n].df,
										(uint64) c->ndocs),
						   &inverse, &words[n]);
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
skx_cost_reads_all(const SkxCosting *c)
{
	const PlannerInfo *root = c->root;

	while (root != NULL && root->tuple_fraction == 0)
		root = root->parent_root;
	return root == NULL;
}

uint64
skx_cost_first(double rows)
{
	rows *= SKX_COST_MARGIN;
	return rows > SKX_COST_FEW ? SKX_TOPK_ROWS :
		(uint64) Max(rows, SKX_TOPK_ROWS);
}

/*
 * Returns how many rows of the index the first search looks for.  If the
 * planner knows a LIMIT, these are its rows, and those that conditions on the
 * table will drop.  If it does not, searches begin with few rows and grow, and
 * the planner adds the rest by the share of rows that it expects to be
 * fetched.
 */
static double
skx_cost_wanted(const SkxCosting *c)
{
	double		wanted = c->root->limit_tuples;

	if (wanted <= 0)
		return skx_cost_reads_all(c) ? skx_cost_first(c->rows) :
			SKX_TOPK_ROWS;
	return wanted * Max(c->rows / Max(c->path->path.rows, 1), 1);
}

/*
 * Adds the contributions of pairs to the bounds of words.  A pair adds to the
 * bound of its rarer word, in proportion to that of the other (score_query.c).
 * Returns how many documents of `match` have both words of a pair.  With
 * `same`, all of them have all words.
 */
static double
skx_cost_pairs(const SkxCosting *c, SkxCostWord *words, int n,
			   const SkxEstimate *match, bool same)
{
	double		pairs = c->index->options.proximity * (1 + SKX_RANK_NEAR_SHARE);
	double		paired = 0;
	double		before;
	int			i;

	if (n < 2 || pairs <= 0)
		return 0;
	before = words[0].most;
	for (i = 1; i < Min(n, SKX_RANKING_PAIRS_MAX + 1); i++)
	{
		double		most = words[i].most;

		paired += words[i - 1].df * words[i].df / c->ndocs;
		if (words[i].df <= words[i - 1].df)
			words[i].most += pairs * before;
		else
			words[i - 1].most += pairs * most;
		before = most;
	}
	return same ? match->docs : paired * match->docs / c->ndocs;
}

/* Returns the number of postings of `all` words, of which n are known. */
static double
skx_cost_postings(const SkxCosting *c, const SkxCostWord *words, int n,
				  double all)
{
	double		postings = 0;
	int			i;

	for (i = 0; i < n; i++)
		postings += words[i].df;
	return n > 0 ? postings * all / n : all * c->average;
}

void
skx_cost_ranked(SkxCosting *c, const SkxEstimate *match, SkxCostScan *scan)
{
	SkxCostWord words[SKX_COST_LOOKUPS];
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
		ranked.nwords = skx_cost_words(c, c->ranking, words, &all, &any);
	else
	{
		words[0].df = Min(match->docs, c->ndocs * SKX_COST_UNKNOWN);
		words[0].most = 1;
	}
	same = skx_cost_ranks_filter(c);
	ranked.ndocs = c->ndocs;
	ranked.many = all > SKX_TOPK_MANY ? all : 0;
	ranked.postings = skx_cost_postings(c, words, ranked.nwords, all);
	ranked.any = (same && any) || (c->unknown == NIL && c->filters == NIL &&
								   c->conditions == NIL && c->ranges == NIL);
	ranked.others = same || ranked.any ? 0 : ranked.nwords;
	ranked.paired = skx_cost_pairs(c, words, ranked.nwords, match,
								   same && !any);
	ranked.proximity = c->index->options.proximity;
	wanted = skx_cost_wanted(c);
	growth = skx_cost_reads_all(c) ? c->ndocs : SKX_TOPK_GROWTH;
	skx_cost_model_best(&ranked, wanted, wanted, growth,
						&scan->work[0], &scan->pages[0]);
	skx_cost_model_best(&ranked, wanted, match->docs, growth,
						&scan->work[1], &scan->pages[1]);
	scan->scored = skx_cost_model_findable(&ranked) / Max(match->docs, 1);
}

double
skx_cost_above(SkxCosting *c, double score)
{
	SkxCostWord words[SKX_COST_LOOKUPS];
	SkxCostRanked ranked;
	bool		any;
	double		all;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = ranked.match.docs = c->ndocs;
	ranked.words = words;
	ranked.nwords = skx_cost_words(c, c->ranking, words, &all, &any);
	/* With more words than are looked up, nothing is known. */
	if (all > ranked.nwords)
		return c->ndocs;
	if (score <= 0)
		return skx_cost_model_findable(&ranked);
	(void) skx_cost_pairs(c, words, ranked.nwords, &ranked.match, false);
	return skx_cost_model_above(&ranked, score * SKX_COST_UNIT);
}
