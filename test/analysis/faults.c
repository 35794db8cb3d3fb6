/*
 * faults.c
 *	  Faults that analyze.sh must find, one in each function.  It is never
 *	  compiled to anything.
 */
#include "postgres.h"

typedef struct SkxAnalyzed
{
	struct SkxAnalyzed *next;
	int			value;
} SkxAnalyzed;

extern int	skx_analyzed_used_after_free(SkxAnalyzed *list);
extern int	skx_analyzed_freed_twice(int value);
extern int	skx_analyzed_null(const SkxAnalyzed *list, int value);
extern int	skx_analyzed_not_initialized(int value);

static void
skx_analyzed_drop(SkxAnalyzed *list)
{
	if (list->value > 0)
		pfree(list);
}

int
skx_analyzed_used_after_free(SkxAnalyzed *list)
{
	skx_analyzed_drop(list);
	return list->value;
}

int
skx_analyzed_freed_twice(int value)
{
	SkxAnalyzed *one = palloc(sizeof(SkxAnalyzed));

	one->value = value;
	skx_analyzed_drop(one);
	pfree(one);
	return value;
}

static const SkxAnalyzed *
skx_analyzed_find(const SkxAnalyzed *list, int value)
{
	for (; list != NULL; list = list->next)
		if (list->value == value)
			return list;
	return NULL;
}

int
skx_analyzed_null(const SkxAnalyzed *list, int value)
{
	return skx_analyzed_find(list, value)->value;
}

int
skx_analyzed_not_initialized(int value)
{
	SkxAnalyzed one;

	if (value > 0)
		one.value = value;
	return one.value;
}
