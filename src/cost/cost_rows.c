/*
 * cost_rows.c
 *	  How many rows match, and what it is to find them.
 */
#include "postgres.h"

#include "cost/cost_internal.h"
#include "optimizer/optimizer.h"

SkxCostSet
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
 * A condition as the model takes it: one of several values as one list, since a
 * row has one value of most columns.
 */
static SkxCostSet
skx_cost_values(SkxCosting *c, const SkxCondition *condition)
{
	SkxCostItem items[2] = {{SKX_COST_NOT, 0}, {SKX_COST_WORD, 0}};
	SkxCostSet	sets[2];
	SkxCostSet	all;
	int			i;

	memset(&all, 0, sizeof(all));
	for (i = 0; i < condition->n; i++)
	{
		double		df = skx_cost_value_df(c, &condition->lexemes[i]);

		items[1].df = condition->kind == SKX_CONDITION_ALL ? df :
			Min(items[1].df + df, c->ndocs);
		if (condition->kind != SKX_CONDITION_ALL)
			continue;
		sets[0] = skx_cost_model_match(&items[1], 1, c->ndocs, sets + 1);
		all = i == 0 ? sets[0] :
			skx_cost_model_both(&all, &sets[0], c->ndocs);
	}
	if (condition->kind == SKX_CONDITION_ALL)
		return all;
	if (condition->kind == SKX_CONDITION_ANY)
		return skx_cost_model_match(&items[1], 1, c->ndocs, sets);
	return skx_cost_model_match(items, 2, c->ndocs, sets);
}

/*
 * Documents that match all conditions: of unknown ones as many as the planner
 * thinks, found in a list of that length.
 */
SkxCostSet
skx_cost_filters(SkxCosting *c)
{
	SkxCostItem guess = {SKX_COST_WORD, c->rows};
	SkxCostSet	all;
	SkxCostSet	one;
	SkxCostSet	two;
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
	foreach(lc, c->conditions)
	{
		one = skx_cost_values(c, lfirst(lc));
		all = any ? skx_cost_model_both(&all, &one, c->ndocs) : one;
		any = true;
	}
	if (c->ranges != NIL)
	{
		guess.df = c->ndocs * clauselist_selectivity(c->root, c->ranges, 0,
													 JOIN_INNER, NULL);
		one = skx_cost_model_match(&guess, 1, c->ndocs, &two);
		all = any ? skx_cost_model_both(&all, &one, c->ndocs) : one;
		any = true;
	}
	if (!any)
		all.docs = c->ndocs;
	return all;
}
