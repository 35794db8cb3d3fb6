/*
 * intake_range.c
 *	  Conditions that a value is below or above another one.
 *
 * Canonical forms ascend as values do, so the values that meet such a condition
 * are those whose lexemes lie between two: from the first one on, and below the
 * second.  What comes right after a lexeme is the same with a zero byte behind
 * it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "compat/compat.h"
#include "fmgr.h"
#include "intake/intake_column.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Is the value to be below that of the condition? */
static inline bool
skx_intake_is_below(StrategyNumber strategy)
{
	return strategy == SKX_STRATEGY_LESS ||
		strategy == SKX_STRATEGY_LESS_EQUAL;
}

/* The lexeme that comes right after one with this canonical form. */
static SkxLexeme
skx_intake_after(int column, const char *form, int len)
{
	char	   *longer = palloc(len + 1);

	memcpy(longer, form, len);
	longer[len] = '\0';
	return skx_intake_lexeme(column, SKX_VALUE_PRESENT, longer, len + 1);
}

/*
 * Where the range ends, or begins, that a value bounds.  Of one that is too
 * long for an index, what is equal to its beginning is below it.
 */
static SkxLexeme
skx_intake_bound(int column, StrategyNumber strategy, const bytea *form)
{
	const char *bytes = VARDATA_ANY(form);
	int			len = Min(VARSIZE_ANY_EXHDR(form), SKX_VALUE_MAX);

	if (strategy == SKX_STRATEGY_LESS_EQUAL ||
		strategy == SKX_STRATEGY_GREATER || VARSIZE_ANY_EXHDR(form) > len)
		return skx_intake_after(column, bytes, len);
	return skx_intake_lexeme(column, SKX_VALUE_PRESENT, bytes, len);
}

/* Of all values of the array the one that most others meet; false: none. */
static bool
skx_intake_widest(int column, StrategyNumber strategy, FmgrInfo *canonical,
				  Datum argument, SkxLexeme *bound)
{
	ArrayType  *array = DatumGetArrayTypeP(argument);
	Datum	   *elements;
	bool	   *nulls;
	int16		len;
	bool		byval;
	char		align;
	bool		any = false;
	int			n;
	int			i;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &len, &byval, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), len, byval, align,
					  &elements, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		SkxLexeme	one;
		int			order;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		one = skx_intake_bound(column, strategy,
							   DatumGetByteaPP(FunctionCall1(canonical,
															 elements[i])));
		order = any ? skx_intake_compare_lexeme(&one, bound) : 0;
		if (!any || (skx_intake_is_below(strategy) ? order > 0 : order < 0))
			*bound = one;
		any = true;
	}
	return any;
}

/* Nothing lies between: no document meets it. */
static void
skx_intake_check_range(SkxCondition *c)
{
	c->kind = skx_intake_compare_lexeme(&c->from, &c->to) < 0 ?
		SKX_CONDITION_RANGE : SKX_CONDITION_NEVER;
}

void
skx_intake_range(Relation index, int column, StrategyNumber strategy,
				 Oid type, bool array, Datum argument,
				 SkxCondition *condition)
{
	FmgrInfo	canonical;
	SkxLexeme	bound;

	fmgr_info(skx_intake_canonical(index, column, type), &canonical);
	if (!array)
		bound = skx_intake_bound(column, strategy,
								 DatumGetByteaPP(FunctionCall1(&canonical,
															   argument)));
	else if (!skx_intake_widest(column, strategy, &canonical, argument,
								&bound))
		return;
	condition->from = skx_intake_lexeme(column, SKX_VALUE_PRESENT, "", 0);
	condition->to = skx_intake_lexeme(column, SKX_VALUE_PRESENT + 1, "", 0);
	if (skx_intake_is_below(strategy))
		condition->to = bound;
	else
		condition->from = bound;
	skx_intake_check_range(condition);
}

/* Are both ranges of one column? */
static bool
skx_intake_same_column(const SkxCondition *a, const SkxCondition *b)
{
	return a->kind == SKX_CONDITION_RANGE && b->kind == SKX_CONDITION_RANGE &&
		a->from.bytes[1] == b->from.bytes[1];
}

int
skx_intake_join_ranges(SkxCondition *conditions, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		SkxCondition *c = NULL;
		int			k;

		for (k = 0; k < kept && c == NULL; k++)
			if (skx_intake_same_column(&conditions[k], &conditions[i]))
				c = &conditions[k];
		if (c == NULL)
		{
			conditions[kept++] = conditions[i];
			continue;
		}
		if (skx_intake_compare_lexeme(&conditions[i].from, &c->from) > 0)
			c->from = conditions[i].from;
		if (skx_intake_compare_lexeme(&conditions[i].to, &c->to) < 0)
			c->to = conditions[i].to;
		skx_intake_check_range(c);
	}
	return kept;
}

bool
skx_intake_in_range(const SkxCondition *condition, TSVector document)
{
	int			i = skx_intake_find(document, &condition->from);
	SkxLexeme	entry;

	if (i == document->size)
		return false;
	entry.bytes = STRPTR(document) + ARRPTR(document)[i].pos;
	entry.len = ARRPTR(document)[i].len;
	return skx_intake_compare_lexeme(&entry, &condition->to) < 0;
}
