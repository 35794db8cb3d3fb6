/*
 * topk_prior.c
 *	  Documents graded by their words and by values of columns.
 *
 * The best that the values of a segment can add tells which sum of words a
 * document needs at least, given the grade of the worst hit.  That sum is the
 * threshold of the pass, so whatever cannot reach it is skipped as in any
 * other search.  The values of a document are looked up once its words reach
 * it, before its other conditions and its positions are.
 */
#include "postgres.h"

#include "answer/topk/topk_internal.h"
#include "index/segment/segment_keys.h"

/* Beyond any sum of words that is told apart. */
#define SKX_PRIOR_SUM_MAX	(1 << 30)

/* Candidates whose values are read together. */
#define SKX_PRIOR_DOCS		64

struct SkxTopkPriorRun
{
	const SkxTopkPrior *prior;
	const SkxScorer *scorer;
	SkxKeyReader *readers[SKX_PRIOR_TERMS_MAX]; /* of each term */
	SkxPriorRange ranges[SKX_PRIOR_TERMS_MAX];	/* of each term, in the
												 * segment */
	int32		grade;			/* of the last skx_topk_prior_least_sum(): the
								 * least of a hit */
	int32		least_sum;		/* what it returned; 0: not called yet */
};

SkxTopkPriorRun *
skx_topk_prior_open(const SkxTopk *topk, SkxSegment *seg)
{
	const SkxTopkPrior *prior = topk->request.prior;
	SkxTopkPriorRun *run;
	int			i;

	if (prior == NULL)
		return NULL;
	run = palloc0(sizeof(SkxTopkPriorRun));
	run->prior = prior;
	run->scorer = topk->scorer;
	for (i = 0; i < prior->columns.n; i++)
	{
		const SkxTopkStretch *stretch = topk->stretch;
		SkxKeyNode	root;

		run->readers[i] = skx_segment_keys_require(topk->request.index, seg,
												   &prior->columns.columns[i]);
		skx_segment_keys_root(run->readers[i], &root);
		if (stretch != NULL)
			prior->bound_term(prior, i, stretch->least[i], stretch->most[i],
							  &run->ranges[i]);
		else
			prior->bound_term(prior, i, root.least, root.most,
							  &run->ranges[i]);
	}
	return run;
}

void
skx_topk_prior_close(SkxTopkPriorRun *run)
{
	int			i;

	for (i = 0; run != NULL && i < run->prior->columns.n; i++)
		skx_segment_keys_close(run->readers[i]);
}

float
skx_topk_prior_words_bound(const SkxTopk *topk)
{
	const SkxScorer *scorer = topk->scorer;
	double		most = 0;
	int			i;

	for (i = 0; i < scorer->nterms; i++)
		most += scorer->terms[i].ceiling * scorer->max_label_weight;
	return skx_score_value(scorer, (int32) Min(most, SKX_PRIOR_SUM_MAX));
}

float
skx_topk_prior_best_of(const SkxTopk *topk, const SkxTopkStretch *stretch)
{
	const SkxTopkPrior *prior = topk->request.prior;
	SkxPriorRange ranges[SKX_PRIOR_TERMS_MAX];
	int			i;

	for (i = 0; i < prior->columns.n; i++)
		prior->bound_term(prior, i, stretch->least[i], stretch->most[i],
						  &ranges[i]);
	return skx_prior_sum(&prior->sum, -skx_topk_prior_words_bound(topk),
						 ranges).least;
}

/* Returns the best grade that a sum of words can have. */
static int32
skx_topk_prior_best_grade(const SkxTopkPriorRun *run, int32 sum)
{
	return skx_prior_grade(skx_prior_sum(&run->prior->sum,
										 skx_score_distance(run->scorer, sum),
										 run->ranges).least);
}

/* Grades that are asked for mostly ascend, so the last answer is a bound. */
int32
skx_topk_prior_least_sum(SkxTopkPriorRun *run, int32 grade)
{
	int32		low = 1;
	int32		high = SKX_PRIOR_SUM_MAX;

	if (run->least_sum > 0 && grade == run->grade)
		return run->least_sum;
	if (run->least_sum > 0 && grade > run->grade)
		low = run->least_sum;
	run->grade = grade;
	while (low < high)
	{
		int32		middle = low + (high - low) / 2;

		if (skx_topk_prior_best_grade(run, middle) >= grade)
			high = middle;
		else
			low = middle + 1;
	}
	run->least_sum = low;
	return low;
}

/* Returns the grade of a sum of words and the keys of all terms. */
static int32
skx_topk_prior_grade_of(const SkxTopkPrior *prior, const SkxScorer *scorer,
						int32 sum, const SkxKey *keys)
{
	SkxPriorRange terms[SKX_PRIOR_TERMS_MAX];
	int			i;

	for (i = 0; i < prior->columns.n; i++)
		terms[i].least = terms[i].most = prior->term(prior, i, &keys[i]);
	return skx_prior_grade(skx_prior_sum(&prior->sum,
										 skx_score_distance(scorer, sum),
										 terms).least);
}

int32
skx_topk_prior_grade(SkxTopkPriorRun *run, uint32 doc, int32 sum)
{
	SkxKey		keys[SKX_PRIOR_TERMS_MAX];
	int32		grade;
	int			i;

	for (i = 0; i < run->prior->columns.n; i++)
		skx_segment_keys_read_docs(run->readers[i], &doc, 1, &keys[i]);
	grade = skx_topk_prior_grade_of(run->prior, run->scorer, sum, keys);
	Assert(grade <= skx_topk_prior_best_grade(run, sum));
	return grade;
}

bool
skx_topk_prior_may_hit(SkxTopkPriorRun *run, uint32 doc, int32 most)
{
	return skx_topk_prior_grade(run, doc, most) >= run->grade;
}

void
skx_topk_prior_drop(SkxTopkRun *run)
{
	SkxTopkPriorRun *prior = run->prior;
	SkxKey		keys[SKX_PRIOR_TERMS_MAX];
	SkxKey		read[SKX_PRIOR_TERMS_MAX][SKX_PRIOR_DOCS];
	int			kept = 0;
	int			i;
	int			k;

	if (prior->grade == PG_INT32_MIN)
		return;
	for (i = 0; i < run->n; i++)
	{
		if (i % SKX_PRIOR_DOCS == 0)
			for (k = 0; k < prior->prior->columns.n; k++)
				skx_segment_keys_read_docs(prior->readers[k], run->docs + i,
										   Min(run->n - i, SKX_PRIOR_DOCS),
										   read[k]);
		for (k = 0; k < prior->prior->columns.n; k++)
			keys[k] = read[k][i % SKX_PRIOR_DOCS];
		run->docs[kept] = run->docs[i];
		run->sums[kept] = run->sums[i];
		kept += skx_topk_prior_grade_of(prior->prior, prior->scorer,
										run->sums[i], keys) >= prior->grade;
	}
	run->n = kept;
}

int32
skx_topk_prior_pending_grade(const SkxTopk *topk, TSVector document,
							 int32 sum)
{
	const SkxTopkPrior *prior = topk->request.prior;
	SkxKey		keys[SKX_PRIOR_TERMS_MAX];

	skx_column_keys(&prior->columns, document, keys);
	return skx_topk_prior_grade_of(prior, topk->scorer, sum, keys);
}
