/*
 * condition_range.c
 *	  Conditions that a value is below or above another one.
 *
 * Canonical forms ascend as values do.  So the values that meet such a
 * condition are those with a lexeme in [from, to).  The least lexeme above
 * another one is that one with a zero byte appended.  If values of another
 * type are not in the order of the column's values, the range is the least one
 * with all values that meet the condition.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "read/condition/condition_place.h"
#include "support/compat/compat.h"
#include "utils/builtins.h"

/*
 * Returns true if the condition is that values are below another, or equal to
 * it.
 */
static inline bool
skx_condition_is_below(StrategyNumber strategy)
{
	return strategy == SKX_STRATEGY_LESS ||
		strategy == SKX_STRATEGY_LESS_EQUAL;
}

/* Returns the least lexeme above the one with this canonical form. */
static SkxLexeme
skx_condition_next_lexeme(int column, const char *form, int len)
{
	char	   *longer = palloc(len + 1);

	memcpy(longer, form, len);
	longer[len] = '\0';
	return skx_column_lexeme(column, SKX_VALUE_PRESENT, longer, len + 1);
}

/*
 * Returns the bound of the range that a value of another type gives.  Sets
 * *lossy to true if values in the range may not meet the condition.
 */
static SkxLexeme
skx_condition_cross_type_bound(int column, StrategyNumber strategy,
							   const SkxCrossTypeBounds *place, bool *lossy)
{
	bool		most = strategy == SKX_STRATEGY_LESS_EQUAL ||
		(place->has_unequal ? strategy == SKX_STRATEGY_LESS :
		 strategy == SKX_STRATEGY_GREATER);
	const bytea *form = most ? place->max_form : place->min_form;

	*lossy = place->has_unequal;
	return skx_column_lexeme(column, SKX_VALUE_PRESENT, VARDATA_ANY(form),
							 VARSIZE_ANY_EXHDR(form));
}

/*
 * Returns the bound of the range that a value gives: its end or its start.  Of
 * a value that is too long for an index only the beginning is used.  A value
 * equal to that beginning is below the long value.
 */
static SkxLexeme
skx_condition_form_bound(int column, StrategyNumber strategy,
						 const bytea *form)
{
	const char *bytes = VARDATA_ANY(form);
	int			len = Min(VARSIZE_ANY_EXHDR(form), SKX_VALUE_MAX);

	if (strategy == SKX_STRATEGY_LESS_EQUAL ||
		strategy == SKX_STRATEGY_GREATER || VARSIZE_ANY_EXHDR(form) > len)
		return skx_condition_next_lexeme(column, bytes, len);
	return skx_column_lexeme(column, SKX_VALUE_PRESENT, bytes, len);
}

static SkxLexeme
skx_condition_bound(int column, StrategyNumber strategy,
					SkxComparand *comparand,
					Datum value, bool *lossy)
{
	SkxCrossTypeBounds place;

	if (comparand->is_cross_type)
	{
		skx_condition_cross_type_bounds(comparand, value, &place);
		return skx_condition_cross_type_bound(column, strategy, &place, lossy);
	}
	*lossy = false;
	return skx_condition_form_bound(column, strategy,
									DatumGetByteaPP(FunctionCall1(&comparand->function,
																  value)));
}

/*
 * Sets *bound to the bound that lets most values meet the condition, of all
 * elements of the array.  Returns false if all elements are NULL.  Of equal
 * bounds an exact one is preferred.
 */
static bool
skx_condition_widest_bound(int column, StrategyNumber strategy,
						   SkxComparand *comparand,
						   Datum argument, SkxLexeme *bound, bool *lossy)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n = skx_condition_elements(argument, &elements, &nulls);
	bool		any = false;
	int			i;

	for (i = 0; i < n; i++)
	{
		SkxLexeme	one;
		bool		one_lossy;
		int			order;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		one = skx_condition_bound(column, strategy, comparand, elements[i],
								  &one_lossy);
		order = any ? skx_column_compare_lexeme(&one, bound) : 0;
		if (!any || (skx_condition_is_below(strategy) ? order > 0 : order < 0) ||
			(order == 0 && !one_lossy))
		{
			*bound = one;
			*lossy = one_lossy;
		}
		any = true;
	}
	return any;
}

/* Sets the kind to NEVER if the range is empty, else to RANGE. */
static void
skx_condition_check_range(SkxCondition *c)
{
	c->kind = skx_column_compare_lexeme(&c->from, &c->to) < 0 ?
		SKX_CONDITION_RANGE : SKX_CONDITION_NEVER;
}

void
skx_condition_range(Relation index, int column, StrategyNumber strategy,
					Oid type, bool array, Datum argument,
					SkxCondition *condition)
{
	SkxComparand comparand;
	SkxLexeme	bound;

	skx_condition_comparand(index, column, type, &comparand);
	if (!array)
		bound = skx_condition_bound(column, strategy, &comparand, argument,
									&condition->lossy);
	else if (!skx_condition_widest_bound(column, strategy, &comparand,
										 argument, &bound,
										 &condition->lossy))
		return;
	condition->from = skx_column_lexeme(column, SKX_VALUE_PRESENT, "", 0);
	condition->to = skx_column_lexeme(column, SKX_VALUE_PRESENT + 1, "", 0);
	if (skx_condition_is_below(strategy))
		condition->to = bound;
	else
		condition->from = bound;
	skx_condition_check_range(condition);
}

/* Returns true if both are ranges of one column. */
static bool
skx_condition_same_column(const SkxCondition *a, const SkxCondition *b)
{
	return a->kind == SKX_CONDITION_RANGE && b->kind == SKX_CONDITION_RANGE &&
		a->from.bytes[1] == b->from.bytes[1];
}

bool
skx_condition_join_range(SkxCondition *condition, const SkxCondition *other)
{
	if (!skx_condition_same_column(condition, other))
		return false;
	if (skx_column_compare_lexeme(&other->from, &condition->from) > 0)
		condition->from = other->from;
	if (skx_column_compare_lexeme(&other->to, &condition->to) < 0)
		condition->to = other->to;
	condition->lossy |= other->lossy;
	skx_condition_check_range(condition);
	return true;
}

bool
skx_condition_in_range(const SkxCondition *condition, TSVector document)
{
	int			i = skx_condition_find_entry(document, &condition->from);
	SkxLexeme	entry;

	if (i == document->size)
		return false;
	entry.bytes = STRPTR(document) + ARRPTR(document)[i].pos;
	entry.len = ARRPTR(document)[i].len;
	return skx_column_compare_lexeme(&entry, &condition->to) < 0;
}
