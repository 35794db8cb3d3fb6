/*
 * cost_rows.c
 *	  Estimates how many rows match, and the work to find them.
 */
#include "postgres.h"

#include "catalog/pg_statistic.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"
#include "sql/cost/cost_internal.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * Returns how many operands of a phrase are still to come after an item, if
 * `left` were before it.  The operands of an operator come right behind it.
 */
static int
skx_cost_phrase_remaining(const QueryItem *item, int left)
{
	if (left == 0)
		return item->type == QI_OPR && item->qoperator.oper == OP_PHRASE ? 2 : 0;
	if (item->type == QI_VAL)
		return left - 1;
	return item->qoperator.oper == OP_NOT ? left : left + 1;
}

SkxEstimate
skx_cost_query_docs(SkxCostState *c, TSQuery query)
{
	SkxCostItem *items = palloc_extended(sizeof(SkxCostItem) *
										 (Size) query->size,
										 MCXT_ALLOC_HUGE);
	SkxEstimate *sets;
	SkxEstimate result;
	const QueryOperand **plain = c->found == NULL ?
		skx_cost_lookup_words(query) : NULL;
	QueryItem  *from = GETQUERY(query);
	int			left = 0;
	int			at = 0;
	int			i;

	for (i = 0; i < query->size; i++)
	{
		c->in_phrase = left > 0;
		left = skx_cost_phrase_remaining(&from[i], left);
		if (from[i].type == QI_VAL)
		{
			items[i].kind = SKX_COST_WORD;
			skx_cost_operand_df(c, query, plain == NULL ||
								from[i].qoperand.prefix ?
								&from[i].qoperand : plain[at++], &items[i].df);
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
	c->in_phrase = false;
	sets = palloc_extended(sizeof(SkxEstimate) *
						   (Size) skx_cost_model_stack_size(items,
															query->size),
						   MCXT_ALLOC_HUGE);
	result = skx_cost_model_match(items, query->size, c->ndocs, sets);
	pfree(sets);
	pfree(items);
	return result;
}

/*
 * Returns the documents that meet a condition on a column.  If all of several
 * values are required, it is a conjunction of their lists.  Else these count
 * as one list, since a row has one value of most columns.
 */
static SkxEstimate
skx_cost_condition_docs(SkxCostState *c, const SkxCondition *condition)
{
	SkxCostItem items[2] = {{SKX_COST_NOT, 0}, {SKX_COST_WORD, 0}};
	SkxEstimate sets[2];
	SkxEstimate all;
	int			i;

	memset(&all, 0, sizeof(all));
	for (i = 0; i < condition->n; i++)
	{
		double		df = skx_cost_value_df(c, &condition->lexemes[i]);

		items[1].df = condition->kind == SKX_CONDITION_ALL_OF ? df :
			Min(items[1].df + df, c->ndocs);
		if (condition->kind != SKX_CONDITION_ALL_OF)
			continue;
		sets[0] = skx_cost_model_match(&items[1], 1, c->ndocs, sets + 1);
		all = i == 0 ? sets[0] :
			skx_estimate_and(&all, &sets[0], c->ndocs);
	}
	if (condition->kind == SKX_CONDITION_ALL_OF)
		return all;
	if (condition->kind == SKX_CONDITION_ANY_OF)
		return skx_cost_model_match(&items[1], 1, c->ndocs, sets);
	return skx_cost_model_match(items, 2, c->ndocs, sets);
}

/*
 * Returns the statistics of ANALYZE for a column of the index, which the
 * caller releases; NULL if there are none.
 */
static HeapTuple
skx_cost_statistics(PlannerInfo *root, const IndexOptInfo *index, int column)
{
	RangeTblEntry *rte = planner_rt_fetch(index->rel->relid, root);

	if (index->indexkeys[column] <= 0)
		return NULL;
	return SearchSysCache3(STATRELATTINH, ObjectIdGetDatum(rte->relid),
						   Int16GetDatum(index->indexkeys[column]),
						   BoolGetDatum(false));
}

static double
skx_cost_correlated(HeapTuple statistics)
{
	AttStatsSlot slot;
	double		correlation = 0;

	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_CORRELATION,
						 InvalidOid, ATTSTATSSLOT_NUMBERS))
	{
		if (slot.nnumbers > 0)
			correlation = slot.numbers[0];
		free_attstatsslot(&slot);
	}
	return correlation;
}

double
skx_cost_column_correlation(PlannerInfo *root, const IndexOptInfo *index,
							int column)
{
	HeapTuple	statistics = skx_cost_statistics(root, index, column);
	double		correlation;

	if (!HeapTupleIsValid(statistics))
		return 0;
	correlation = skx_cost_correlated(statistics);
	ReleaseSysCache(statistics);
	return correlation;
}

/*
 * Returns how far rows of near values lie near each other: 1 wholly, 0 not at
 * all.  ANALYZE takes rows of one value in the order of the table.  So if the
 * rows of each value lie anywhere, the correlation is the sum of the squares
 * of the values' shares.  If values descend, it is twice the sum of the cubes,
 * less 1; if they ascend, it is 1.  The result tells how far the correlation
 * is from the first of these towards one of the others.
 */
static double
skx_cost_clustering(HeapTuple statistics)
{
	double		correlation = skx_cost_correlated(statistics);
	AttStatsSlot slot;
	double		squares = 0;
	double		cubes = 0;
	int			i;

	if (get_attstatsslot(&slot, statistics, STATISTIC_KIND_MCV, InvalidOid,
						 ATTSTATSSLOT_NUMBERS))
	{
		for (i = 0; i < slot.nnumbers; i++)
		{
			double		square = slot.numbers[i] * slot.numbers[i];

			squares += square;
			cubes += square * slot.numbers[i];
		}
		free_attstatsslot(&slot);
	}
	/* Almost all rows have one value. */
	if (squares > .999)
		return 0;
	return Min(correlation > squares ?
			   (correlation - squares) / (1 - squares) :
			   (squares - correlation) / (1 + squares - 2 * cubes), 1);
}

/* Returns how many documents the planner expects to meet conditions. */
static double
skx_cost_planner_docs(const SkxCostState *c, List *quals)
{
	Index		relid = c->path != NULL ? c->path->indexinfo->rel->relid : 0;

	return c->ndocs * clauselist_selectivity(c->root, quals, relid,
											 JOIN_INNER, NULL);
}

/*
 * Returns among how many documents the `docs` documents lie that meet a
 * condition on a column.  If rows of near values lie near each other, these
 * are only `docs`; if they lie anywhere, all documents.
 */
static double
skx_cost_doc_span(const SkxCostState *c, int column, double docs)
{
	HeapTuple	statistics = c->path == NULL ? NULL :
		skx_cost_statistics(c->root, c->path->indexinfo, column);
	double		follows = 0;

	if (HeapTupleIsValid(statistics))
	{
		follows = skx_cost_clustering(statistics);
		ReleaseSysCache(statistics);
	}
	follows *= follows;
	return follows * docs + (1 - follows) * c->ndocs;
}

/*
 * Returns the documents in a range of a column.  Only groups of keys among
 * which these documents lie have to be read.
 */
static SkxEstimate
skx_cost_range_docs(SkxCostState *c, const SkxCostRange *range)
{
	double		docs = skx_cost_planner_docs(c, range->quals);

	return skx_estimate_keys(docs, skx_cost_doc_span(c, range->column, docs),
							 c->ndocs);
}

double
skx_cost_table_fraction(const SkxCostState *c)
{
	const IndexOptInfo *info = c->path->indexinfo;
	List	  **quals = palloc0(sizeof(List *) * info->nkeycolumns);
	double		near = c->ndocs;
	ListCell   *lc;
	int			i;

	foreach(lc, c->path->indexclauses)
	{
		const IndexClause *clause = lfirst_node(IndexClause, lc);

		i = clause->indexcol;
		quals[i] = list_concat(quals[i], clause->indexquals);
	}
	for (i = 1; i < info->nkeycolumns; i++)
	{
		/* Arrays with one element in common are in no order. */
		if (quals[i] != NIL && info->opcintype[i] != ANYARRAYOID)
			near = Min(near,
					   skx_cost_doc_span(c, i,
										 skx_cost_planner_docs(c, quals[i])));
		list_free(quals[i]);
	}
	pfree(quals);
	return near / c->ndocs;
}

/*
 * Adds a condition to *all, which is independent of those before.  *any tells
 * whether there was one before, and is set.
 */
static void
skx_cost_and_condition(SkxCostState *c, SkxEstimate *all, bool *any,
					   SkxEstimate one)
{
	double		likely = all->likely_docs * one.likely_docs / c->ndocs;

	if (*any)
	{
		*all = skx_estimate_and(all, &one, c->ndocs);
		all->likely_docs = likely;
	}
	else
		*all = one;
	*any = true;
}

/*
 * Unknown conditions count as one list of as many documents as the planner
 * expects.  Words of the text tend to be in the same documents, so `likely` of
 * several filters is that of the model.  Values of other columns are taken to
 * be independent.
 */
SkxEstimate
skx_cost_all_conditions(SkxCostState *c)
{
	SkxCostItem guess = {SKX_COST_WORD, 0};
	SkxEstimate all;
	SkxEstimate one;
	bool		any = false;
	ListCell   *lc;

	memset(&all, 0, sizeof(all));
	if (c->is_empty)
		return all;
	if (c->unknown != NIL)
	{
		guess.df = skx_cost_planner_docs(c, c->unknown);
		skx_cost_and_condition(c, &all, &any,
							   skx_cost_model_match(&guess, 1, c->ndocs,
													&one));
	}
	foreach(lc, c->filters)
	{
		one = skx_cost_query_docs(c, lfirst(lc));
		if (any)
			one = skx_estimate_and(&all, &one, c->ndocs);
		all = one;
		any = true;
	}
	foreach(lc, c->conditions)
		skx_cost_and_condition(c, &all, &any,
							   skx_cost_condition_docs(c, lfirst(lc)));
	foreach(lc, c->ranges)
		skx_cost_and_condition(c, &all, &any,
							   skx_cost_range_docs(c, lfirst(lc)));
	if (!any)
		all.docs = c->ndocs;
	return all;
}
