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
#define SKX_COST_PREFIX_LEXEMES		64

/*
 * If its lexemes are on no more leaves of the dictionary than these, all of
 * them are counted.
 */
#define SKX_COST_PREFIX_LEAVES		4

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
skx_cost_sizes(const SkxIndexSizes *sizes, double *length)
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
	skx_cost_planned_keep_length(root, index, length);
	return length;
}

/* Returns the largest segment, which stays open until skx_cost_end(). */
static SkxSegment *
skx_cost_segment(SkxCostState *c)
{
	Relation	index = c->index->rel;

	if (c->source == NULL)
	{
		c->source = skx_snapshot_open(index,
									  skx_cost_planned_sizes(c->root,
															 index)->view);
		skx_snapshot_next_segments(c->source, 1);
	}
	return c->source->segments[0];
}

/* Fills in the terms of the words, which it looks up unless they were kept. */
static void
skx_cost_find_terms(SkxCostState *c)
{
	Relation	index = c->index->rel;
	SkxSegment *segment;

	c->terms = palloc(sizeof(SkxTerm) * Max(c->nlexemes, 1));
	if (skx_cost_planned_terms(c->root, index, c->lexemes, c->nlexemes,
							   c->terms))
		return;
	segment = skx_cost_segment(c);
	skx_segment_find_all_cached(&segment, 1, c->lexemes, c->nlexemes,
								&c->terms);
	skx_cost_planned_keep_terms(c->root, index, c->lexemes, c->nlexemes,
								c->terms);
}

/* Sets the sizes of the index, and looks words up in its largest segment. */
static void
skx_cost_read_index(SkxCostState *c, Relation index)
{
	const SkxIndexSizes *sizes = skx_cost_planned_sizes(c->root, index);
	const SkxView *view = sizes->view;
	int			i;

	c->nsegments = view->nsegments;
	c->npending = sizes->pending.ndocs;
	c->pending_pages = sizes->pending.npages;
	c->ndocs = skx_cost_sizes(sizes, &c->length);
	if (view->nsegments == 0 ||
		(c->filters == NIL && c->conditions == NIL && c->ranking == NULL))
		return;
	c->was_read = true;
	c->segment_docs = view->segments[0].ndocs;
	c->df_scale = c->ndocs / Max(c->segment_docs, 1);
	skx_cost_find_terms(c);
	if (c->nlexemes > 0)
		c->average_df = 0;
	for (i = 0; i < c->nlexemes; i++)
		c->average_df += c->terms[i].df * c->df_scale / c->nlexemes;
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
skx_cost_count_terms(SkxCostState *c, const SkxLexeme *lexeme, int most,
					 SkxCostPrefix *prefix)
{
	prefix->df = 0;
	prefix->n = 0;
	prefix->most = most;
	skx_segment_visit_prefix(skx_cost_segment(c), lexeme->bytes, lexeme->len,
							 false, NULL, skx_cost_count, prefix);
}

/*
 * Estimates the terms and postings of a prefix of which only the first terms
 * were counted.  If its terms are on a few leaves, all are counted, since the
 * later ones may have most of the postings.  Else its lists are taken to have
 * as many postings as their pages have on average.
 */
static void
skx_cost_extrapolate(SkxCostState *c, const SkxLexeme *lexeme,
					 SkxCostPrefix *prefix)
{
	SkxSegment *seg = skx_cost_segment(c);
	uint32		all = seg->planes[SKX_SEGMENT_POSTINGS].npages;
	SkxTermPages extent;
	uint32		n;

	n = skx_segment_count_prefix(seg, lexeme->bytes, lexeme->len, &extent);
	if (extent.leaf_pages <= SKX_COST_PREFIX_LEAVES)
		skx_cost_count_terms(c, lexeme, PG_INT32_MAX, prefix);
	else
	{
		double		postings = (double) seg->header.npostings *
			extent.list_pages /
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
skx_cost_charge_prefix(SkxCostState *c, const SkxCostPrefix *prefix, bool many)
{
	const SkxSegment *seg = skx_cost_segment(c);
	double		postings = many ? prefix->df : 0;

	if (many)
		c->gather_pages += c->df_scale *
			(postings / SKX_ESTIMATE_PAGE_POSTINGS +
			 (double) prefix->n / Max(seg->header.nterms, 1) *
			 seg->planes[SKX_SEGMENT_DICT].npages);
	c->gather_ns += skx_estimate_gather_time(prefix->n * c->df_scale,
											 postings * c->df_scale,
											 c->in_phrase);
}

/*
 * Returns how many documents have a lexeme with that prefix, as if each
 * posting of its lists were in any document.  Only SKX_COST_LOOKUPS_MAX
 * prefixes are looked up; a further one has the average of these.
 */
static double
skx_cost_prefix(SkxCostState *c, const SkxLexeme *lexeme)
{
	SkxCostPrefix prefix;
	double		df;
	bool		many;

	if (c->nprefixes >= SKX_COST_LOOKUPS_MAX)
		return c->prefix_df_sum / c->nprefixes;
	skx_cost_count_terms(c, lexeme, SKX_COST_PREFIX_LEXEMES, &prefix);
	many = prefix.n == SKX_COST_PREFIX_LEXEMES;
	if (many)
		skx_cost_extrapolate(c, lexeme, &prefix);
	df = c->ndocs * (1 - exp(-prefix.df * c->df_scale / c->ndocs));
	if (c->path != NULL)
		skx_cost_charge_prefix(c, &prefix, many);
	c->nprefixes++;
	c->prefix_df_sum += df;
	return df;
}

/*
 * Returns the lexeme's term; NULL if it was not looked up.  Sets *df to how
 * many documents have it with one of the labels, as far as that is known.
 */
static const SkxTerm *
skx_cost_lexeme(SkxCostState *c, const SkxLexeme *lexeme, uint8 labels,
				double *df)
{
	SkxLexeme  *found = bsearch(lexeme, c->lexemes, c->nlexemes,
								sizeof(SkxLexeme), skx_column_compare_lexeme);
	SkxTerm    *term;

	CHECK_FOR_INTERRUPTS();
	if (found == NULL)
	{
		*df = c->average_df;
		return NULL;
	}
	term = &c->terms[found - c->lexemes];
	*df = Min(term->df * c->df_scale, c->ndocs);
	if (!skx_query_has_term(term, labels))
		*df = (c->ndocs - c->segment_docs) * SKX_COST_UNKNOWN_FRACTION;
	return term;
}

double
skx_cost_value_df(SkxCostState *c, const SkxLexeme *value)
{
	double		df = c->ndocs * SKX_COST_UNKNOWN_FRACTION;

	if (c->was_read)
		skx_cost_lexeme(c, value, 0, &df);
	return df;
}

/* Returns how many documents have a lexeme, which must be among `known`. */
static double
skx_cost_found_df(const SkxCostFoundWords *known, const SkxLexeme *lexeme)
{
	const SkxLexeme *found = bsearch(lexeme, known->lexemes, known->n,
									 sizeof(SkxLexeme),
									 skx_column_compare_lexeme);

	CHECK_FOR_INTERRUPTS();
	Assert(found != NULL);
	return known->df[found - known->lexemes];
}

const SkxTerm *
skx_cost_operand_df(SkxCostState *c, TSQuery query,
					const QueryOperand *operand, double *df)
{
	SkxLexeme	lexeme = {GETOPERAND(query) + operand->distance,
	operand->length};

	if (c->found != NULL)
	{
		*df = skx_cost_found_df(&c->found[operand->prefix ? 1 : 0], &lexeme);
		return NULL;
	}
	*df = c->ndocs * SKX_COST_UNKNOWN_FRACTION;
	if (!c->was_read)
		return NULL;
	if (operand->prefix)
	{
		*df = skx_cost_prefix(c, &lexeme);
		return NULL;
	}
	return skx_cost_lexeme(c, &lexeme, operand->weight, df);
}

void
skx_cost_begin(SkxCostState *c)
{
	ListCell   *lc;

	foreach(lc, c->filters)
	{
		skx_cost_gather_words(c, lfirst(lc));
	}
	foreach(lc, c->conditions)
	{
		skx_cost_gather_condition(c, lfirst(lc));
	}
	if (c->ranking != NULL && !skx_cost_ranks_filter(c))
		skx_cost_gather_words(c, c->ranking);
	c->nlexemes = skx_column_distinct(c->lexemes, c->nlexemes);
	if (c->index->rel != NULL)
		skx_cost_read_index(c, c->index->rel);
}

void
skx_cost_end(SkxCostState *c)
{
	if (c->source != NULL)
		skx_snapshot_close(c->source);
}
