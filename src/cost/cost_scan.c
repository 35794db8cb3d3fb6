/*
 * cost_scan.c
 *	  What an index scan costs.
 *
 * Where the planner knows the queries, the document frequencies of their words
 * are looked up in the largest segment, which costs no more than the scan will
 * spend on its first pages; what they make of the work, and of the number of
 * rows that match, is cost_model.c's.  What is not known there stays what ANALYZE
 * makes of it.
 *
 * A ranked scan searches for as many of the best as the LIMIT wants before it
 * hands out a row: that is its startup cost.  Its total cost is that of all
 * rows in order, so that the planner, which goes from the one to the other in a
 * straight line, comes close for what is between.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/pg_type_d.h"
#include "cost/cost.h"
#include "cost/cost_model.h"
#include "format/format_dict.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "pending/pending.h"
#include "query/query.h"
#include "score/score.h"
#include "topk/topk.h"
#include "tsearch/ts_utils.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"
#include "utils/snapmgr.h"
#include "utils/spccache.h"

/*
 * Words of a query that are looked up: of more, so many from its beginning to
 * its end, and the others are taken for their average.
 */
#define SKX_COST_LOOKUPS	SKX_TOPK_MANY

/* Words of all queries that are looked up. */
#define SKX_COST_LEXEMES	(4 * SKX_COST_LOOKUPS)

/* Lexemes of a prefix that are counted; then all of them are guessed. */
#define SKX_COST_PREFIX		64

/*
 * Where all rows are wanted: how many all may be to be found by the search for
 * the first ones, with a margin as they are guessed.
 */
#define SKX_COST_FEW		1024
#define SKX_COST_MARGIN		1.25

/* Pages that are read before a word is looked up, and for each word. */
#define SKX_COST_PAGES_OPEN	1
#define SKX_COST_PAGES_WORD	2

/* Share of the documents that have a word of which nothing is known. */
#define SKX_COST_UNKNOWN	0.005

/* What of its weight a word is given at most, where nothing is known. */
#define SKX_COST_SHORT_MOST	0.9f

/* Units of a weight of 1: fine enough for any part. */
#define SKX_COST_UNIT		65536

/* What is known of the queries of one scan, and of the index. */
typedef struct SkxCosting
{
	PlannerInfo *root;
	const SkxCostIndex *index;
	IndexPath  *path;			/* NULL: only what matches is asked for */
	List	   *filters;		/* TSQuery, of `@@` */
	int			unknown;		/* of them: conditions with unknown query */
	bool		nothing;		/* a query is NULL or empty */
	TSQuery		ranking;		/* of `<@>`; NULL: unknown, or none */
	double		rows;			/* that match, as the planner thinks */
	double		likely;			/* the same by the index; 0: not known */

	/* of the index */
	double		ndocs;			/* at least 1 */
	double		nsegments;
	double		npending;
	double		pending_pages;
	double		length;			/* average */

	/* of the queries' words */
	int			nlexemes;
	SkxLexeme	lexemes[SKX_COST_LEXEMES];	/* ascending, distinct */
	double		left;			/* words that are not among these */
	SkxTerm    *terms;			/* df 0: none; scaled by: */
	double		scale;
	double		average;		/* df of a word that was not looked up */
	SkxSegment *segment;		/* the largest; NULL: nothing was read */
} SkxCosting;

/*
 * A query without any condition on the column needs no column either, and the
 * planner thinks of an index-only scan.  There is none: nothing pins what
 * VACUUM removes while we hand out its TID, so the visibility map cannot be
 * trusted.  Returns what reading the heap costs that the planner left out.
 */
static Cost
skx_cost_refuse_index_only(IndexPath *path)
{
	RelOptInfo *rel = path->indexinfo->rel;

	if (path->path.pathtype != T_IndexOnlyScan)
		return 0;
	path->path.pathtype = T_IndexScan;
	return rel->pages * rel->allvisfrac * random_page_cost;
}

/* Value of the right side of an index clause, NULL if it cannot be known. */
static Const *
skx_cost_argument(PlannerInfo *root, Node *clause)
{
	if (!IsA(clause, OpExpr))
		return NULL;
	return skx_cost_planned_value(root, get_rightop((Expr *) clause));
}

/*
 * The query of `<@>`, NULL if it cannot be known.  In a call that makes a
 * reference it comes first, and may be that of a condition, too.
 */
static TSQuery
skx_cost_ranking(PlannerInfo *root, Node *distance)
{
	FuncExpr   *call = (FuncExpr *) get_rightop((Expr *) distance);
	bool		made = IsA(call, FuncExpr) && call->args != NIL &&
		exprType(linitial(call->args)) == TSQUERYOID;
	Const	   *value = skx_cost_planned_value(root, made ?
											   linitial(call->args) :
											   (Node *) call);

	if (value == NULL || value->constisnull)
		return NULL;
	if (made)
		return DatumGetTSQuery(value->constvalue);
	return SkxRefQuery((SkxRef *) PG_DETOAST_DATUM(value->constvalue));
}

/* What rows have to match. */
static void
skx_cost_conditions(SkxCosting *c, List *quals)
{
	ListCell   *lc;

	foreach(lc, quals)
	{
		RestrictInfo *qual = lfirst_node(RestrictInfo, lc);
		Const	   *value = skx_cost_argument(c->root,
											  (Node *) qual->clause);

		if (value == NULL || value->consttype != TSQUERYOID)
			c->unknown++;
		else if (value->constisnull ||
				 DatumGetTSQuery(value->constvalue)->size == 0)
			c->nothing = true;
		else
			c->filters = lappend(c->filters,
								 DatumGetTSQuery(value->constvalue));
	}
}

static void
skx_cost_queries(SkxCosting *c)
{
	IndexPath  *path = c->path;

	skx_cost_conditions(c, get_quals_from_indexclauses(path->indexclauses));
	if (path->indexorderbys != NIL)
		c->ranking = skx_cost_ranking(c->root,
									  linitial(path->indexorderbys));
}

/* Operands of a query that are no prefixes. */
static int
skx_cost_plain(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			n = 0;
	int			i;

	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL && !items[i].qoperand.prefix;
	return n;
}

/* Adds words of a query that are no prefixes, as far as there is room. */
static void
skx_cost_gather(SkxCosting *c, TSQuery query)
{
	QueryItem  *items = GETQUERY(query);
	int			n = skx_cost_plain(query);
	int			step = (n + SKX_COST_LOOKUPS - 1) / SKX_COST_LOOKUPS;
	int			at = 0;
	int			i;

	for (i = 0; i < query->size; i++)
	{
		SkxLexeme  *lexeme = &c->lexemes[c->nlexemes];

		if (items[i].type != QI_VAL || items[i].qoperand.prefix)
			continue;
		if (c->nlexemes == SKX_COST_LEXEMES || at++ % step != 0)
		{
			c->left++;
			continue;
		}
		lexeme->bytes = GETOPERAND(query) + items[i].qoperand.distance;
		lexeme->len = items[i].qoperand.length;
		c->nlexemes++;
	}
}

static void
skx_cost_distinct(SkxCosting *c)
{
	int			kept = 0;
	int			i;

	qsort(c->lexemes, c->nlexemes, sizeof(SkxLexeme), skx_query_compare_lexeme);
	for (i = 0; i < c->nlexemes; i++)
	{
		if (kept == 0 || skx_query_compare_lexeme(&c->lexemes[kept - 1],
												  &c->lexemes[i]) != 0)
			c->lexemes[kept++] = c->lexemes[i];
	}
	c->nlexemes = kept;
}

bool
skx_cost_readable(const IndexOptInfo *info)
{
	return !info->hypothetical && info->pages > 0 && ActiveSnapshotSet() &&
		(enable_indexscan || enable_bitmapscan) &&
		!ReindexIsProcessingIndex(info->indexoid);
}

/* Sizes of the index, and what its largest segment has of the words. */
static void
skx_cost_read(SkxCosting *c, Relation index, SkxBlkFile **file)
{
	const SkxPlannedSizes *sizes = skx_cost_planned_sizes(c->root, index);
	const SkxView *view = sizes->view;
	uint64		ndocs = 0;
	uint64		length = 0;
	int			i;

	for (i = 0; i < view->nsegments; i++)
	{
		ndocs += view->segments[i].ndocs;
		length += view->segments[i].total_length;
	}
	c->nsegments = view->nsegments;
	c->npending = sizes->pending.ndocs;
	c->pending_pages = sizes->pending.npages;
	c->ndocs = Max(ndocs + sizes->pending.ndocs, 1);
	c->length = (length + sizes->pending.total_length) / c->ndocs;
	if (view->nsegments == 0 || (c->filters == NIL && c->ranking == NULL))
		return;
	*file = skx_segment_file(index, view->meta.incarnation);
	c->segment = skx_segment_open(*file, index, view, 0);
	c->scale = c->ndocs / Max(c->segment->header.ndocs, 1);
	c->terms = palloc(sizeof(SkxTerm) * Max(c->nlexemes, 1));
	skx_segment_find_all(&c->segment, 1, c->lexemes, c->nlexemes, &c->terms);
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
} SkxCostPrefix;

static bool
skx_cost_count(const SkxTerm *term, const char *lexeme, int len, void *arg)
{
	SkxCostPrefix *prefix = arg;

	prefix->df += term->df;
	return ++prefix->n < SKX_COST_PREFIX;
}

/*
 * Documents that have a lexeme with that prefix.  Pages after the first ones
 * are not read ahead: they will not be looked at.
 */
static double
skx_cost_prefix(SkxCosting *c, const SkxLexeme *lexeme)
{
	SkxCostPrefix prefix = {0, 0};
	int			ahead = c->segment->ahead;
	double		df;

	c->segment->ahead = 0;
	skx_segment_prefix(c->segment, lexeme->bytes, lexeme->len,
					   skx_cost_count, &prefix);
	c->segment->ahead = ahead;
	df = Min(prefix.df * c->scale, c->ndocs);
	return prefix.n < SKX_COST_PREFIX ? df : sqrt(df * c->ndocs);
}

/*
 * The term of an operand, or NULL; in any case how many documents have it.
 */
static const SkxTerm *
skx_cost_operand(SkxCosting *c, TSQuery query, const QueryOperand *operand,
				 double *df)
{
	SkxLexeme	lexeme = {GETOPERAND(query) + operand->distance,
	operand->length};
	SkxLexeme  *found;
	SkxTerm    *term;

	*df = c->ndocs * SKX_COST_UNKNOWN;
	if (c->segment == NULL)
		return NULL;
	if (operand->prefix)
	{
		/* That alone, ANALYZE knows as well. */
		if (query->size == 1 && c->filters != NIL)
			*df = c->rows;
		else
			*df = skx_cost_prefix(c, &lexeme);
		return NULL;
	}
	found = bsearch(&lexeme, c->lexemes, c->nlexemes, sizeof(SkxLexeme),
					skx_query_compare_lexeme);
	CHECK_FOR_INTERRUPTS();
	if (found == NULL)
	{
		*df = c->average;
		return NULL;
	}
	term = &c->terms[found - c->lexemes];
	*df = Min(term->df * c->scale, c->ndocs);
	if (term->df == 0)
		*df = (c->ndocs - c->segment->header.ndocs) * SKX_COST_UNKNOWN;
	return term;
}

/* A query as the model takes it. */
static SkxCostSet
skx_cost_filter(SkxCosting *c, TSQuery query)
{
	SkxCostItem *items = palloc_extended(sizeof(SkxCostItem) *
										 (Size) query->size,
										 MCXT_ALLOC_HUGE);
	SkxCostSet *sets;
	SkxCostSet	result;
	QueryItem  *from = GETQUERY(query);
	int			i;

	for (i = 0; i < query->size; i++)
	{
		if (from[i].type == QI_VAL)
		{
			items[i].kind = SKX_COST_WORD;
			skx_cost_operand(c, query, &from[i].qoperand, &items[i].df);
			continue;
		}
		switch (from[i].qoperator.oper)
		{
			case OP_NOT:
				items[i].kind = SKX_COST_NOT;
				break;
			case OP_OR:
				items[i].kind = SKX_COST_OR;
				break;
			case OP_PHRASE:
				items[i].kind = SKX_COST_PHRASE;
				break;
			default:
				items[i].kind = SKX_COST_AND;
				break;
		}
	}
	sets = palloc_extended(sizeof(SkxCostSet) *
						   (Size) skx_cost_model_depth(items, query->size),
						   MCXT_ALLOC_HUGE);
	result = skx_cost_model_match(items, query->size, c->ndocs, sets);
	pfree(sets);
	pfree(items);
	return result;
}

/*
 * Documents that match all conditions: of unknown ones as many as the planner
 * thinks, found in a list of that length.
 */
static SkxCostSet
skx_cost_filters(SkxCosting *c)
{
	SkxCostItem guess = {SKX_COST_WORD, c->rows};
	SkxCostSet	all;
	SkxCostSet	one;
	bool		any = false;
	ListCell   *lc;

	memset(&all, 0, sizeof(all));
	if (c->nothing)
		return all;
	if (c->unknown > 0)
	{
		all = skx_cost_model_match(&guess, 1, c->ndocs, &one);
		any = true;
	}
	foreach(lc, c->filters)
	{
		one = skx_cost_filter(c, lfirst(lc));
		all = any ? skx_cost_model_both(&all, &one, c->ndocs) : one;
		any = true;
	}
	if (!any)
		all.docs = c->ndocs;
	return all;
}

/*
 * Parts that postings of a term have: from its list's maxima and the ranks that
 * its dictionary entry knows; of short lists nothing is known.
 */
static void
skx_cost_parts(const SkxTerm *term, float weight, const float *inverse,
			   SkxCostWord *word)
{
	int			i;

	memset(word->kth, 0, sizeof(word->kth));
	word->most = weight * SKX_COST_SHORT_MOST;
	if (term == NULL || (term->flags & SKX_TERM_PLACE) != SKX_TERM_LONG)
		return;
	word->most = skx_rank_bound(term->list.impacts, weight, 1, inverse);
	for (i = 0; i < SKX_NKTHS && term->kth[i] != 0; i++)
		word->kth[i] = skx_rank_part(weight, (term->kth[i] >> 8) + 1,
									 inverse[term->kth[i] & 0xFF]);
}

/* Is it one of the n words before it, which then counts once more? */
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
 * The words of a ranking query that it does not negate, each once where it was
 * looked up; SKX_COST_LOOKUPS at most, but *all are so many.  *any: it asks for
 * any of them, and for nothing else.
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
	float		inverse[256];
	int			n = 0;
	int			i;

	skx_rank_inverse(&c->index->options, c->length, inverse);
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
			skx_cost_parts(term, SKX_COST_UNIT *
						   skx_rank_idf((uint64) words[n].df,
										(uint64) c->ndocs),
						   inverse, &words[n]);
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
 * Will all rows be fetched, as far as is known before there is a plan?  No
 * query around has a LIMIT, or is that of a cursor.
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
 * Rows of the index that the LIMIT makes the executor fetch, if the planner
 * knows of one: rows that conditions of the table drop come on top.  Where it
 * knows of none a search that goes on in growing steps begins with few, and the
 * planner adds the rest by the share that it expects to be fetched.
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

/* Is the ranking query the condition, and the only one? */
static bool
skx_cost_ranks_filter(const SkxCosting *c)
{
	return c->unknown == 0 && list_length(c->filters) == 1 &&
		c->ranking != NULL &&
		skx_score_same_query(linitial(c->filters), c->ranking);
}

/*
 * What pairs of words add to the bounds of the words: to that of the rarer one
 * in proportion to the other (score_query.c).  Returns how many documents have
 * both words of a pair, of `match`, which are all that have all words if
 * `same`.
 */
static double
skx_cost_pairs(const SkxCosting *c, SkxCostWord *words, int n,
			   const SkxCostSet *match, bool same)
{
	double		pairs = c->index->options.proximity * (1 + SKX_RANK_NEAR_SHARE);
	double		paired = 0;
	double		before;
	int			i;

	if (n < 2 || pairs <= 0)
		return 0;
	before = words[0].most;
	for (i = 1; i < Min(n, SKX_SCORE_PAIRS_MAX + 1); i++)
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

/* Of `all` words, of which n are known. */
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

/* What a scan does: before its first row, and for all rows. */
typedef struct SkxCostScan
{
	double		lookups;		/* words */
	double		work[2];
	double		pages[2];
	double		scored;			/* share of the rows that come by a score */
} SkxCostScan;

/* Finds the best before it hands them out, and then all the rest. */
static void
skx_cost_ranked(SkxCosting *c, const SkxCostSet *match, SkxCostScan *scan)
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
	ranked.any = (same && any) || (c->unknown == 0 && c->filters == NIL);
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

/* Reads what the index knows of the queries' words, as far as it may. */
static void
skx_cost_begin(SkxCosting *c, SkxBlkFile **file)
{
	ListCell   *lc;

	*file = NULL;
	foreach(lc, c->filters)
		skx_cost_gather(c, lfirst(lc));
	if (c->ranking != NULL && !skx_cost_ranks_filter(c))
		skx_cost_gather(c, c->ranking);
	skx_cost_distinct(c);
	if (c->index->rel != NULL)
		skx_cost_read(c, c->index->rel, file);
}

static void
skx_cost_end(SkxCosting *c, SkxBlkFile *file)
{
	if (c->segment != NULL)
		skx_segment_close(c->segment);
	if (file != NULL)
		skx_blkio_close(file);
}

/*
 * What the scan does, by what can be known of its queries and of the index.
 */
static void
skx_cost_scan(SkxCosting *c, SkxCostScan *scan)
{
	SkxBlkFile *file;
	SkxCostSet	match;

	skx_cost_queries(c);
	skx_cost_begin(c, &file);
	scan->lookups = c->nlexemes + c->left + c->unknown;
	match = skx_cost_filters(c);
	if (c->segment != NULL && c->filters != NIL)
		c->likely = Max(match.likely, 1);
	if (c->path->indexorderbys != NIL)
		skx_cost_ranked(c, &match, scan);
	else
	{
		scan->work[1] = match.work;
		scan->pages[1] = match.pages;
	}
	skx_cost_end(c, file);
}

/* Is the query a prefix and nothing else?  ANALYZE knows these as well. */
static bool
skx_cost_is_prefix(TSQuery query)
{
	return query->size == 1 && GETQUERY(query)->qoperand.prefix;
}

/* Calls `ask` with what the index knows; below 0 where it knows nothing. */
static double
skx_cost_ask(SkxCosting *c, double (*ask) (SkxCosting *c))
{
	SkxBlkFile *file;
	double		share = -1;

	skx_cost_begin(c, &file);
	if (c->segment != NULL)
		share = Min(ask(c) / c->ndocs, 1);
	skx_cost_end(c, file);
	return share;
}

static double
skx_cost_matched(SkxCosting *c)
{
	return skx_cost_filters(c).likely;
}

double
skx_cost_share(PlannerInfo *root, const SkxCostIndex *index,
			   RestrictInfo *qual)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx cost",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxCosting	c;
	double		share = -1;

	memset(&c, 0, sizeof(c));
	c.root = root;
	c.index = index;
	skx_cost_conditions(&c, list_make1(qual));
	if (c.filters != NIL && !skx_cost_is_prefix(linitial(c.filters)))
		share = skx_cost_ask(&c, skx_cost_matched);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share;
}

static double
skx_cost_findable(SkxCosting *c)
{
	SkxCostWord words[SKX_COST_LOOKUPS];
	SkxCostRanked ranked;
	bool		any;
	double		all;

	memset(&ranked, 0, sizeof(ranked));
	ranked.ndocs = ranked.match.docs = c->ndocs;
	ranked.words = words;
	ranked.nwords = skx_cost_words(c, c->ranking, words, &all, &any);
	/* of more words than are looked up, nothing is known */
	return all > ranked.nwords ? c->ndocs : skx_cost_model_findable(&ranked);
}

double
skx_cost_scored(PlannerInfo *root, const SkxCostIndex *index,
				OpExpr *distance)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx cost",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxCosting	c;
	double		share = -1;

	memset(&c, 0, sizeof(c));
	c.root = root;
	c.index = index;
	c.ranking = skx_cost_ranking(root, (Node *) distance);
	if (c.ranking != NULL)
		share = skx_cost_ask(&c, skx_cost_findable);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return share;
}

/*
 * The price of that: what is read to look words up, anywhere in the file; and
 * stretches of lists, in turn.
 */
static void
skx_cost_price(const SkxCosting *c, const SkxCostScan *scan,
			   double loop_count, GenericCosts *costs)
{
	const IndexOptInfo *info = c->path->indexinfo;
	bool		ranked = c->path->indexorderbys != NIL;
	double		most = Max(info->pages, 1);
	double		lookups;
	double		pages[2];
	double		random;
	double		sequential;
	double		work;
	int			i;

	get_tablespace_page_costs(info->reltablespace, &random, &sequential);
	lookups = Min(Max(c->nsegments, 1) *
				  (SKX_COST_PAGES_OPEN + SKX_COST_PAGES_WORD * scan->lookups),
				  most);
	for (i = 0; i < 2; i++)
	{
		pages[i] = scan->pages[i];
		if (ranked || i == 1)
			pages[i] += c->pending_pages;
		pages[i] = Min(pages[i], most - lookups);
		if (loop_count > 1)
			pages[i] = index_pages_fetched(pages[i] * loop_count, info->pages,
										   most, c->root) / loop_count;
	}
	if (loop_count > 1)
		lookups = index_pages_fetched(lookups * loop_count, info->pages,
									  most, c->root) / loop_count;
	work = SKX_COST_SEGMENT * c->nsegments + SKX_COST_OPEN * scan->lookups +
		(ranked ? SKX_COST_RANKING : 0);
	costs->indexStartupCost = lookups * random + pages[0] * sequential +
		(work + scan->work[0] + (ranked ? c->npending * SKX_COST_PENDING : 0)) *
		cpu_operator_cost;
	costs->indexTotalCost = lookups * random + pages[1] * sequential +
		(work + scan->work[1] + c->npending * SKX_COST_PENDING) *
		cpu_operator_cost +
		c->rows * (cpu_index_tuple_cost + SKX_COST_ROW * cpu_operator_cost);
	costs->numIndexPages = lookups + pages[1];
}

/*
 * Rows without a score come by their place in the heap, as those of a bitmap
 * do, so they cost what these do there; rows with one come from anywhere.  The
 * planner knows what is between the pages of rows that lie together and those
 * of rows anywhere by the square of a correlation: the one with this result.
 */
static double
skx_cost_correlation(const SkxCosting *c, const SkxCostScan *scan,
					 Selectivity selectivity)
{
	RelOptInfo *rel = c->path->indexinfo->rel;
	double		all = Max(rel->pages, 1);
	double		rows = clamp_row_est(selectivity * rel->tuples);
	double		random;
	double		sequential;
	double		fetched;
	double		least;
	double		most;
	double		page;
	double		square = 1;

	get_tablespace_page_costs(rel->reltablespace, &random, &sequential);
	fetched = index_pages_fetched(rows, rel->pages,
								  c->path->indexinfo->pages, c->root);
	most = fetched * random;
	least = random + (ceil(selectivity * all) - 1) * sequential;
	page = fetched < 2 ? random :
		random - (random - sequential) * sqrt(Min(fetched / all, 1));
	if (most > least)
		square = (most - fetched * page) / (most - least);
	square *= 1 - Min(scan->scored, 1);
	return sqrt(Max(Min(square, 1), 0));
}

void
skx_cost_estimate(PlannerInfo *root, IndexPath *path, double loop_count,
				  const SkxCostIndex *index, SkxCostEstimate *estimate)
{
	MemoryContext context;
	MemoryContext old;
	GenericCosts costs;
	SkxCosting	c;
	SkxCostScan scan;
	Cost		arguments;

	memset(&costs, 0, sizeof(costs));
	genericcostestimate(root, path, loop_count, &costs);
	arguments = index_other_operands_eval_cost(root, path->indexorderbys) +
		index_other_operands_eval_cost(root,
									   get_quals_from_indexclauses(path->indexclauses));
	memset(&c, 0, sizeof(c));
	memset(&scan, 0, sizeof(scan));
	c.root = root;
	c.index = index;
	c.path = path;
	c.rows = costs.numIndexTuples;
	c.ndocs = Max(path->indexinfo->tuples, 1);
	c.nsegments = 1;
	c.average = c.ndocs * SKX_COST_UNKNOWN;
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx cost",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	skx_cost_scan(&c, &scan);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (c.likely > 0)
	{
		costs.indexSelectivity *= c.likely / c.rows;
		costs.indexSelectivity = Min(costs.indexSelectivity, 1);
		c.rows = c.likely;
	}
	skx_cost_price(&c, &scan, loop_count, &costs);
	estimate->startup = arguments + costs.indexStartupCost;
	estimate->total = arguments +
		Max(costs.indexTotalCost + skx_cost_refuse_index_only(path),
			costs.indexStartupCost);
	estimate->selectivity = costs.indexSelectivity;
	estimate->correlation = skx_cost_correlation(&c, &scan,
												 costs.indexSelectivity);
	estimate->pages = costs.numIndexPages;
}
