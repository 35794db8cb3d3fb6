/*
 * cost_words.c
 *	  Finds what the largest segment of the index knows of the queries' words.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/index.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "sql/cost/cost_internal.h"
#include "utils/snapmgr.h"

/* Lexemes of a prefix that are counted; the rest of them is extrapolated. */
#define SKX_COST_PREFIX		64

/*
 * If its lexemes are on no more leaves of the dictionary than these, all of
 * them are counted.
 */
#define SKX_COST_LEAVES		4

bool
skx_cost_readable(const IndexOptInfo *info)
{
	return !info->hypothetical && info->pages > 0 && ActiveSnapshotSet() &&
		(enable_indexscan || enable_bitmapscan) &&
		!ReindexIsProcessingIndex(info->indexoid);
}

/*
 * Returns how many documents the index has, at least 1.  Sets *length to their
 * average number of words.
 */
static double
skx_cost_sizes(const SkxPlannedSizes *sizes, double *length)
{
	const SkxView *view = sizes->view;
	uint64		ndocs = sizes->pending.ndocs;
	uint64		words = sizes->pending.total_length;
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		ndocs += view->segments[i].ndocs;
		words += view->segments[i].total_length;
	}
	*length = words / (double) Max(ndocs, 1);
	return Max(ndocs, 1);
}

double
skx_cost_length(PlannerInfo *root, Relation index)
{
	double		length;

	(void) skx_cost_sizes(skx_cost_planned_sizes(root, index), &length);
	return length;
}

/* Returns the largest segment, which stays open until skx_cost_end(). */
static SkxSegment *
skx_cost_segment(SkxCosting *c)
{
	Relation	index = c->index->rel;

	if (c->source == NULL)
	{
		c->source = skx_snapshot_open(index,
									  skx_cost_planned_sizes(c->root,
															 index)->view);
		skx_snapshot_next(c->source, 1);
	}
	return c->source->segments[0];
}

/* Fills in the terms of the words, which it looks up unless they were kept. */
static void
skx_cost_find(SkxCosting *c)
{
	Relation	index = c->index->rel;
	SkxSegment *segment;

	c->terms = palloc(sizeof(SkxTerm) * Max(c->nlexemes, 1));
	if (skx_cost_planned_terms(c->root, index, c->lexemes, c->nlexemes,
							   c->terms))
		return;
	segment = skx_cost_segment(c);
	skx_segment_find_all(&segment, 1, c->lexemes, c->nlexemes, &c->terms);
	skx_cost_planned_keep_terms(c->root, index, c->lexemes, c->nlexemes,
								c->terms);
}

/* Sets the sizes of the index, and looks words up in its largest segment. */
static void
skx_cost_read(SkxCosting *c, Relation index)
{
	const SkxPlannedSizes *sizes = skx_cost_planned_sizes(c->root, index);
	const SkxView *view = sizes->view;
	int			i;

	c->nsegments = view->nsegments;
	c->npending = sizes->pending.ndocs;
	c->pending_pages = sizes->pending.npages;
	c->ndocs = skx_cost_sizes(sizes, &c->length);
	if (view->nsegments == 0 ||
		(c->filters == NIL && c->conditions == NIL && c->ranking == NULL))
		return;
	c->read = true;
	c->segment_docs = view->segments[0].ndocs;
	c->scale = c->ndocs / Max(c->segment_docs, 1);
	skx_cost_find(c);
	if (c->nlexemes > 0)
		c->average = 0;
	for (i = 0; i < c->nlexemes; i++)
		c->average += c->terms[i].df * c->scale / c->nlexemes;
}

/* The lexemes of a prefix that have been counted. */
typedef struct SkxCostPrefix
{
	double		df;
	int			n;
	int			most;			/* to be counted */
} SkxCostPrefix;

static bool
skx_cost_count(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxCostPrefix *prefix = arg;

	prefix->df += term->df;
	return ++prefix->n < prefix->most;
}

static void
skx_cost_count_terms(SkxCosting *c, const SkxLexeme *lexeme, int most,
					 SkxCostPrefix *prefix)
{
	prefix->df = 0;
	prefix->n = 0;
	prefix->most = most;
	skx_segment_prefix(skx_cost_segment(c), lexeme->bytes, lexeme->len, false,
					   NULL, skx_cost_count, prefix);
}

/*
 * Estimates the terms and postings of a prefix of which only the first terms
 * were counted.  If its terms are on a few leaves, all are counted, since the
 * later ones may have most of the postings.  Else its lists are taken to have
 * as many postings as their pages have on average.
 */
static void
skx_cost_extrapolate(SkxCosting *c, const SkxLexeme *lexeme,
					 SkxCostPrefix *prefix)
{
	SkxSegment *seg = skx_cost_segment(c);
	uint32		all = seg->planes[SKX_SEGMENT_POSTINGS].npages;
	SkxTermExtent extent;
	uint32		n;

	n = skx_segment_terms_prefixed(seg, lexeme->bytes, lexeme->len, &extent);
	if (extent.leaves <= SKX_COST_LEAVES)
		skx_cost_count_terms(c, lexeme, PG_INT32_MAX, prefix);
	else
	{
		double		postings = (double) seg->header.npostings * extent.pages /
			Max(all, 1);

		prefix->n = n;
		prefix->df = Max(prefix->df, Max(postings, n));
	}
}

/*
 * Charges the lists of a prefix, which are traversed before the first row,
 * whatever else the query has.  The postings of few lists are charged as those
 * of a word instead.  In a phrase, short lists are traversed once more for
 * their positions.
 */
static void
skx_cost_lists(SkxCosting *c, const SkxCostPrefix *prefix, bool many)
{
	const SkxSegment *seg = skx_cost_segment(c);
	double		postings = many ? prefix->df : 0;

	if (many)
		c->gathered_pages += c->scale *
			(postings / SKX_ESTIMATE_PAGE_POSTINGS +
			 (double) prefix->n / Max(seg->header.nterms, 1) *
			 seg->planes[SKX_SEGMENT_DICT].npages);
	c->gathered += skx_estimate_gathered(prefix->n * c->scale,
										 postings * c->scale, c->phrase);
}

/*
 * Returns how many documents have a lexeme with that prefix, as if each
 * posting of its lists were in any document.  Only SKX_COST_LOOKUPS prefixes
 * are looked up; a further one has the average of these.
 */
static double
skx_cost_prefix(SkxCosting *c, const SkxLexeme *lexeme)
{
	SkxCostPrefix prefix;
	double		df;
	bool		many;

	if (c->nprefixes >= SKX_COST_LOOKUPS)
		return c->prefixed / c->nprefixes;
	skx_cost_count_terms(c, lexeme, SKX_COST_PREFIX, &prefix);
	many = prefix.n == SKX_COST_PREFIX;
	if (many)
		skx_cost_extrapolate(c, lexeme, &prefix);
	df = c->ndocs * (1 - exp(-prefix.df * c->scale / c->ndocs));
	if (c->path != NULL)
		skx_cost_lists(c, &prefix, many);
	c->nprefixes++;
	c->prefixed += df;
	return df;
}

/*
 * Returns the lexeme's term; NULL if it was not looked up.  Sets *df to how
 * many documents have it with one of the labels, as far as that is known.
 */
static const SkxTerm *
skx_cost_lexeme(SkxCosting *c, const SkxLexeme *lexeme, uint8 labels,
				double *df)
{
	SkxLexeme  *found = bsearch(lexeme, c->lexemes, c->nlexemes,
								sizeof(SkxLexeme), skx_column_compare_lexeme);
	SkxTerm    *term;

	CHECK_FOR_INTERRUPTS();
	if (found == NULL)
	{
		*df = c->average;
		return NULL;
	}
	term = &c->terms[found - c->lexemes];
	*df = Min(term->df * c->scale, c->ndocs);
	if (!skx_query_has_term(term, labels))
		*df = (c->ndocs - c->segment_docs) * SKX_COST_UNKNOWN;
	return term;
}

double
skx_cost_value_df(SkxCosting *c, const SkxLexeme *value)
{
	double		df = c->ndocs * SKX_COST_UNKNOWN;

	if (c->read)
		skx_cost_lexeme(c, value, 0, &df);
	return df;
}

/* Returns how many documents have a lexeme, which must be among `known`. */
static double
skx_cost_known(const SkxCostKnown *known, const SkxLexeme *lexeme)
{
	const SkxLexeme *found = bsearch(lexeme, known->lexemes, known->n,
									 sizeof(SkxLexeme),
									 skx_column_compare_lexeme);

	CHECK_FOR_INTERRUPTS();
	Assert(found != NULL);
	return known->df[found - known->lexemes];
}

const SkxTerm *
skx_cost_operand(SkxCosting *c, TSQuery query, const QueryOperand *operand,
				 double *df)
{
	SkxLexeme	lexeme = {GETOPERAND(query) + operand->distance,
	operand->length};

	if (c->known != NULL)
	{
		*df = skx_cost_known(&c->known[operand->prefix ? 1 : 0], &lexeme);
		return NULL;
	}
	*df = c->ndocs * SKX_COST_UNKNOWN;
	if (!c->read)
		return NULL;
	if (operand->prefix)
	{
		*df = skx_cost_prefix(c, &lexeme);
		return NULL;
	}
	return skx_cost_lexeme(c, &lexeme, operand->weight, df);
}

void
skx_cost_begin(SkxCosting *c)
{
	ListCell   *lc;

	foreach(lc, c->filters)
	{
		skx_cost_gather(c, lfirst(lc));
	}
	foreach(lc, c->conditions)
	{
		skx_cost_gather_condition(c, lfirst(lc));
	}
	if (c->ranking != NULL && !skx_cost_ranks_filter(c))
		skx_cost_gather(c, c->ranking);
	c->nlexemes = skx_column_distinct(c->lexemes, c->nlexemes);
	if (c->index->rel != NULL)
		skx_cost_read(c, c->index->rel);
}

void
skx_cost_end(SkxCosting *c)
{
	if (c->source != NULL)
		skx_snapshot_close(c->source);
}
