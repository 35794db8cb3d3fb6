/*
 * condition.c
 *	  Turns conditions on the columns of an index into conditions on documents.
 *
 * A value that is too long for an index is in no index, so no document has it.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "read/condition/condition_disjunction.h"
#include "read/condition/condition_place.h"
#include "support/compat/compat.h"
#include "tsearch/ts_utils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Adds the lexeme of a value.  Returns false if the value is in no index. */
static bool
skx_condition_add_value(SkxCondition *c, int column, Datum canonical)
{
	const bytea *form = DatumGetByteaPP(canonical);

	if (VARSIZE_ANY_EXHDR(form) > SKX_VALUE_MAX)
		return false;
	c->lexemes[c->n++] = skx_column_lexeme(column, SKX_VALUE_PRESENT,
										   VARDATA_ANY(form),
										   VARSIZE_ANY_EXHDR(form));
	return true;
}

/* Adds the lexeme that says that a column is NULL, or an array is empty. */
static void
skx_condition_add_null_or_empty(SkxCondition *c, int column, SkxValueKind kind)
{
	c->lexemes[c->n++] = skx_column_lexeme(column, kind, "", 0);
}

/*
 * Adds the lexemes of all values that are equal to a value of another type.
 * *room is the capacity of c->lexemes.
 */
static void
skx_condition_add_cross_type(SkxCondition *c, int column,
							 SkxComparand *comparand, Datum value, int *room)
{
	SkxCrossTypeBounds place;
	int			i;

	skx_condition_cross_type_bounds(comparand, value, &place);
	if (c->n + place.n > *room)
	{
		*room = Max(c->n + place.n, *room * 2);
		c->lexemes = repalloc_huge(c->lexemes, sizeof(SkxLexeme) * *room);
	}
	for (i = 0; i < place.n; i++)
		(void) skx_condition_add_value(c, column,
									   PointerGetDatum(place.equal[i]));
}

/*
 * Adds the lexemes of an array's elements, which are of type `type`.  Leaves
 * out NULLs and values that are in no index, and sets *missing to their
 * number.  Returns the number of elements.
 */
static int
skx_condition_add_elements(Relation index, int column, Oid type,
						   Datum argument,
						   SkxCondition *c, int *missing)
{
	SkxComparand comparand;
	Datum	   *elements;
	bool	   *nulls;
	int			room;
	int			n;
	int			i;

	skx_condition_comparand(index, column, type, &comparand);
	n = skx_condition_elements(argument, &elements, &nulls);
	/* with capacity for the lexemes of a NULL and of an empty array */
	room = n + 2;
	c->lexemes = palloc_extended(sizeof(SkxLexeme) * (Size) room,
								 MCXT_ALLOC_HUGE);
	*missing = 0;
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i] && comparand.is_cross_type)
			skx_condition_add_cross_type(c, column, &comparand, elements[i],
										 &room);
		else if (nulls[i] ||
				 !skx_condition_add_value(c, column,
										  FunctionCall1(&comparand.function,
														elements[i])))
			*missing += 1;
	}
	return n;
}

/* column = value */
static void
skx_condition_set_equal(Relation index, int column, Oid type, Datum argument,
						SkxCondition *c)
{
	SkxComparand comparand;
	int			room = 1;

	skx_condition_comparand(index, column, type, &comparand);
	c->lexemes = palloc(sizeof(SkxLexeme));
	if (comparand.is_cross_type)
		skx_condition_add_cross_type(c, column, &comparand, argument, &room);
	else
		(void) skx_condition_add_value(c, column,
									   FunctionCall1(&comparand.function,
													 argument));
	if (c->n > 0)
		c->kind = c->n == 1 ? SKX_CONDITION_ALL_OF : SKX_CONDITION_ANY_OF;
}

/* Adds the lexeme of NULL. */
static void
skx_condition_add_null(SkxCondition *c, int column)
{
	c->lexemes = repalloc_huge(c->lexemes,
							   sizeof(SkxLexeme) * ((Size) c->n + 1));
	skx_condition_add_null_or_empty(c, column, SKX_VALUE_NULL);
}

/* column <> value: the column is neither equal to it nor NULL. */
static void
skx_condition_set_not_equal(Relation index, int column, Oid type,
							Datum argument, SkxCondition *c)
{
	skx_condition_set_equal(index, column, type, argument, c);
	skx_condition_add_null(c, column);
	c->kind = SKX_CONDITION_NONE_OF;
}

/* Returns true if both conditions have the same lexemes. */
static bool
skx_condition_same_lexemes(const SkxCondition *a, const SkxCondition *b)
{
	int			i;

	for (i = 0; i < a->n && a->n == b->n; i++)
		if (skx_column_compare_lexeme(&a->lexemes[i], &b->lexemes[i]) != 0)
			return false;
	return a->n == b->n;
}

/*
 * column <> ANY (array).  If two elements of the array are not the same, every
 * value differs from one of them.
 */
static void
skx_condition_set_not_equal_any(Relation index, int column, Oid type,
								Datum argument, SkxCondition *c)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n = skx_condition_elements(argument, &elements, &nulls);
	int			i;

	for (i = 0; i < n; i++)
	{
		SkxCondition one = {.kind = SKX_CONDITION_NEVER};

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		skx_condition_set_not_equal(index, column, type, elements[i], &one);
		one.n = skx_column_distinct(one.lexemes, one.n);
		if (c->kind == SKX_CONDITION_NEVER)
			*c = one;
		else if (!skx_condition_same_lexemes(c, &one))
		{
			c->n = 0;
			skx_condition_add_null(c, column);
			return;
		}
	}
}

/*
 * Sets a condition between arrays.  There is no lexeme for a NULL element, and
 * by such an element no array contains or overlaps another.  Equality depends
 * on the order of elements.
 */
static void
skx_condition_compares_array(Relation index, int column,
							 StrategyNumber strategy,
							 Datum argument, SkxCondition *c)
{
	int			missing;
	int			n = skx_condition_add_elements(index, column, InvalidOid,
											   argument, c, &missing);

	if (strategy == SKX_STRATEGY_OVERLAPS)
	{
		if (c->n > 0)
			c->kind = SKX_CONDITION_ANY_OF;
		return;
	}
	if (strategy == SKX_STRATEGY_DISJOINT)
	{
		c->kind = SKX_CONDITION_NONE_OF;
		skx_condition_add_null_or_empty(c, column, SKX_VALUE_NULL);
		return;
	}
	c->lossy = strategy == SKX_STRATEGY_EQUAL;
	if (strategy == SKX_STRATEGY_CONTAINS && missing > 0)
		return;
	c->kind = SKX_CONDITION_ALL_OF;
	if (c->n > 0)
		return;
	if (n == 0 && strategy == SKX_STRATEGY_EQUAL)
	{
		skx_condition_add_null_or_empty(c, column, SKX_VALUE_EMPTY);
		return;
	}
	c->kind = SKX_CONDITION_NONE_OF;
	skx_condition_add_null_or_empty(c, column, SKX_VALUE_NULL);
	if (strategy == SKX_STRATEGY_EQUAL)
		skx_condition_add_null_or_empty(c, column, SKX_VALUE_EMPTY);
}

/*
 * Adds to an ANY condition the lexemes of a condition on one array.  If all
 * elements of the array are needed, only the first lexeme is added.  Returns
 * false if that condition is of kind WITHOUT, since documents that meet it can
 * have any other lexemes.
 */
static bool
skx_condition_add_array(const SkxCondition *array, SkxCondition *c)
{
	int			n = array->kind == SKX_CONDITION_ALL_OF ? 1 : array->n;

	if (array->kind == SKX_CONDITION_NEVER)
		return true;
	if (array->kind == SKX_CONDITION_NONE_OF)
		return false;
	c->lossy |= array->lossy || n < array->n;
	c->lexemes = repalloc_huge(c->lexemes,
							   sizeof(SkxLexeme) * ((Size) c->n + n));
	memcpy(c->lexemes + c->n, array->lexemes, sizeof(SkxLexeme) * n);
	c->n += n;
	return true;
}

/*
 * Sets a condition that is true for one of several arrays.  The arrays are of
 * a domain, since the elements of an array of arrays are no arrays.  Of an
 * array whose elements are all needed, only one element is tested, so the
 * condition becomes lossy.
 */
static void
skx_condition_compares_any_array(Relation index, int column,
								 StrategyNumber strategy, Datum argument,
								 SkxCondition *c)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n = skx_condition_elements(argument, &elements, &nulls);
	int			i;

	c->lexemes = palloc(sizeof(SkxLexeme));
	for (i = 0; i < n; i++)
	{
		SkxCondition one = {.kind = SKX_CONDITION_NEVER};

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		skx_condition_compares_array(index, column, strategy, elements[i],
									 &one);
		if (skx_condition_add_array(&one, c))
			continue;
		c->kind = SKX_CONDITION_NONE_OF;
		c->lossy = strategy == SKX_STRATEGY_EQUAL ||
			strategy == SKX_STRATEGY_DISJOINT;
		c->n = 0;
		skx_condition_add_null_or_empty(c, column, SKX_VALUE_NULL);
		return;
	}
	if (c->n > 0)
		c->kind = SKX_CONDITION_ANY_OF;
}

/* text @@ ANY (queries) */
static void
skx_condition_any_query(Datum argument, SkxCondition *c)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(argument), TSQUERYOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, &n);
	c->queries = palloc_extended(sizeof(TSQuery) * ((Size) n + 1),
								 MCXT_ALLOC_HUGE);
	for (i = 0; i < n; i++)
	{
		TSQuery		query = nulls[i] ? NULL : DatumGetTSQuery(elements[i]);

		CHECK_FOR_INTERRUPTS();
		if (query != NULL && query->size > 0)
			c->queries[c->n++] = query;
	}
	if (c->n > 0)
		c->kind = SKX_CONDITION_QUERIES;
}

/* text @@ query */
static void
skx_condition_query(Datum argument, SkxCondition *c)
{
	TSQuery		query = DatumGetTSQuery(argument);

	if (query->size == 0)
		return;
	c->queries = palloc(sizeof(TSQuery));
	c->queries[c->n++] = query;
	c->kind = SKX_CONDITION_QUERIES;
}

/*
 * Sets *key to the scan key of one condition, as the executor would make it.
 */
static void
skx_condition_packed_key(Relation index, const SkxPackedCondition *packed,
						 ScanKeyData *key)
{
	Oid			left;
	int			strategy;

	Assert(packed->column > 0 &&
		   packed->column <= IndexRelationGetNumberOfKeyAttributes(index));
	Assert((packed->flags & SKX_PACKED_PARAM) == 0);
	memset(key, 0, sizeof(*key));
	key->sk_attno = packed->column;
	key->sk_flags = packed->flags;
	if (!OidIsValid(packed->operator))
		return;
	get_op_opfamily_properties(packed->operator,
							   index->rd_opfamily[packed->column - 1], false,
							   &strategy, &left, &key->sk_subtype);
	key->sk_strategy = strategy;
	if ((packed->flags & SK_ISNULL) == 0)
		key->sk_argument = skx_condition_packed_value(packed);
}

/* Returns false if no document can meet all conditions of the arm. */
static bool
skx_condition_is_possible(const SkxConditionArm *arm)
{
	int			i;

	for (i = 0; i < arm->n; i++)
		if (arm->conditions[i].kind == SKX_CONDITION_NEVER)
			return false;
	return true;
}

/*
 * Adds that the text is not NULL if the arm's last condition has a query that
 * may match texts without words.  A text that is NULL matches no query.
 */
static void
skx_condition_add_not_null(Relation index, SkxConditionArm *arm)
{
	const SkxCondition *last = &arm->conditions[arm->n - 1];
	ScanKeyData key = {SK_ISNULL | SK_SEARCHNOTNULL, 1};
	bool		any = false;
	int			i;

	for (i = 0; last->kind == SKX_CONDITION_QUERIES && i < last->n; i++)
		any |= !tsquery_requires_match(GETQUERY(last->queries[i]));
	if (any)
		skx_condition_of_key(index, &key, &arm->conditions[arm->n++]);
}

/*
 * Reads the conditions of one arm, of *left that are still to be read.
 * Returns the first condition of the next arm.
 */
static const SkxPackedCondition *
skx_condition_read_arm(Relation index, const SkxPackedCondition *packed,
					   int *left, SkxConditionArm *arm)
{
	int32		number = packed->arm;

	arm->conditions = palloc(sizeof(SkxCondition) * 2 * *left);
	arm->n = 0;
	for (; *left > 0 && packed->arm == number; (*left)--)
	{
		ScanKeyData key;

		skx_condition_packed_key(index, packed, &key);
		skx_condition_of_key(index, &key, &arm->conditions[arm->n++]);
		skx_condition_add_not_null(index, arm);
		packed = skx_condition_next_packed(packed);
	}
	return packed;
}

/*
 * Sets *condition to what the disjunction says of documents of the index,
 * for which it must have been made.  *condition must be zeroed and of kind
 * NEVER, and stays NEVER if no document can meet any arm.  A disjunction of
 * a single condition becomes that condition.  All values must be known.
 */
static void
skx_condition_disjunction(Relation index, Datum argument,
						  SkxCondition *condition)
{
	const SkxDisjunction *disjunction = (SkxDisjunction *)
		PG_DETOAST_DATUM(argument);
	const SkxPackedCondition *packed = skx_condition_first_packed(disjunction);
	int			left = disjunction->n;
	int			i;

	condition->arms = palloc(sizeof(SkxConditionArm) * Max(left, 1));
	while (left > 0)
	{
		SkxConditionArm *arm = &condition->arms[condition->narms];

		packed = skx_condition_read_arm(index, packed, &left, arm);
		arm->n = skx_condition_join_conditions(arm->conditions, arm->n);
		if (!skx_condition_is_possible(arm))
			continue;
		for (i = 0; i < arm->n; i++)
			condition->lossy |= arm->conditions[i].lossy;
		condition->narms++;
	}
	if (condition->narms == 1 && condition->arms[0].n == 1)
		*condition = condition->arms[0].conditions[0];
	else if (condition->narms > 0)
		condition->kind = SKX_CONDITION_DISJUNCTION;
}

/* Sets a condition on the first column, the text. */
static void
skx_condition_set_on_text(Relation index, const ScanKeyData *key,
						  SkxCondition *c)
{
	bool		any = (key->sk_flags & SK_SEARCHARRAY) != 0;

	/*
	 * the planner makes no array of disjunctions, and the only one that a
	 * user can make is NULL
	 */
	if (key->sk_strategy == SKX_STRATEGY_DISJUNCTION && any)
		return;
	if (key->sk_strategy == SKX_STRATEGY_DISJUNCTION)
		skx_condition_disjunction(index, key->sk_argument, c);
	else if (any)
		skx_condition_any_query(key->sk_argument, c);
	else
		skx_condition_query(key->sk_argument, c);
}

/* Sets a condition on a column of arrays. */
static void
skx_condition_set_on_array(Relation index, const ScanKeyData *key,
						   SkxCondition *c)
{
	int			column = key->sk_attno - 1;

	if (key->sk_flags & SK_SEARCHARRAY)
		skx_condition_compares_any_array(index, column, key->sk_strategy,
										 key->sk_argument, c);
	else
		skx_condition_compares_array(index, column, key->sk_strategy,
									 key->sk_argument, c);
}

/* Sets a condition on a column of any other type. */
static void
skx_condition_set_on_scalar(Relation index, const ScanKeyData *key,
							SkxCondition *c)
{
	int			column = key->sk_attno - 1;
	bool		any = (key->sk_flags & SK_SEARCHARRAY) != 0;
	int			missing;

	if (key->sk_strategy == SKX_STRATEGY_DIFFERS && any)
		skx_condition_set_not_equal_any(index, column, key->sk_subtype,
										key->sk_argument, c);
	else if (key->sk_strategy == SKX_STRATEGY_DIFFERS)
		skx_condition_set_not_equal(index, column, key->sk_subtype,
									key->sk_argument, c);
	else if (key->sk_strategy < SKX_STRATEGY_LESS ||
			 key->sk_strategy > SKX_STRATEGY_GREATER)
		elog(ERROR, "unrecognized skipidx strategy: %d", key->sk_strategy);
	else if (key->sk_strategy != SKX_STRATEGY_EQUAL)
		skx_condition_range(index, column, key->sk_strategy, key->sk_subtype,
							any, key->sk_argument, c);
	else if (any)
	{
		skx_condition_add_elements(index, column, key->sk_subtype,
								   key->sk_argument, c, &missing);
		if (c->n > 0)
			c->kind = SKX_CONDITION_ANY_OF;
	}
	else
		skx_condition_set_equal(index, column, key->sk_subtype,
								key->sk_argument, c);
}

void
skx_condition_of_key(Relation index, const ScanKeyData *key,
					 SkxCondition *condition)
{
	int			column = key->sk_attno - 1;

	memset(condition, 0, sizeof(*condition));
	condition->kind = SKX_CONDITION_NEVER;
	if (key->sk_flags & (SK_SEARCHNULL | SK_SEARCHNOTNULL))
	{
		condition->lexemes = palloc(sizeof(SkxLexeme));
		skx_condition_add_null_or_empty(condition, column, SKX_VALUE_NULL);
		condition->kind = (key->sk_flags & SK_SEARCHNULL) ?
			SKX_CONDITION_ALL_OF : SKX_CONDITION_NONE_OF;
		return;
	}
	if (key->sk_flags & SK_ISNULL)
		return;
	if (column == 0)
	{
		skx_condition_set_on_text(index, key, condition);
		return;
	}
	if (index->rd_opcintype[column] == ANYARRAYOID)
		skx_condition_set_on_array(index, key, condition);
	else
		skx_condition_set_on_scalar(index, key, condition);
	condition->n = skx_column_distinct(condition->lexemes, condition->n);
}

/* Returns true if the document has the lexeme. */
static bool
skx_condition_document_has(TSVector document, const SkxLexeme *lexeme)
{
	const WordEntry *entries = ARRPTR(document);
	int			i = skx_condition_find_entry(document, lexeme);

	return i < document->size && entries[i].len == lexeme->len &&
		memcmp(STRPTR(document) + entries[i].pos, lexeme->bytes,
			   lexeme->len) == 0;
}

/*
 * Returns true if the document has one of the lexemes.  It looks either these
 * or the document's values up in the others, whichever are fewer.
 */
static bool
skx_condition_document_has_any(TSVector document, const SkxCondition *c)
{
	const WordEntry *entries = ARRPTR(document);
	int			first = skx_column_values_start(document);
	int			end = first + skx_column_count_values(document);
	int			i;

	for (i = 0; i < c->n && c->n <= end - first; i++)
		if (skx_condition_document_has(document, &c->lexemes[i]))
			return true;
	for (i = first; i < end && c->n > end - first; i++)
	{
		SkxLexeme	entry = {STRPTR(document) + entries[i].pos,
		entries[i].len};

		if (bsearch(&entry, c->lexemes, c->n, sizeof(SkxLexeme),
					skx_column_compare_lexeme) != NULL)
			return true;
	}
	return false;
}

bool
skx_condition_document_meets(const SkxCondition *condition, TSVector document)
{
	int			i;

	switch (condition->kind)
	{
		case SKX_CONDITION_ALL_OF:
			for (i = 0; i < condition->n; i++)
				if (!skx_condition_document_has(document,
												&condition->lexemes[i]))
					return false;
			return true;
		case SKX_CONDITION_ANY_OF:
			return skx_condition_document_has_any(document, condition);
		case SKX_CONDITION_NONE_OF:
			return !skx_condition_document_has_any(document, condition);
		case SKX_CONDITION_RANGE:
			return skx_condition_in_range(condition, document);
		default:
			return false;
	}
}

/*
 * Inserts a lexeme unless the condition has it. c->lexemes must have capacity
 * for it.
 */
static void
skx_condition_insert_lexeme(SkxCondition *c, const SkxLexeme *lexeme)
{
	int			low = 0;
	int			high = c->n;

	while (low < high)
	{
		int			middle = low + (high - low) / 2;
		int			cmp = skx_column_compare_lexeme(&c->lexemes[middle],
													lexeme);

		if (cmp == 0)
			return;
		if (cmp < 0)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(c->lexemes + low + 1, c->lexemes + low,
			sizeof(SkxLexeme) * (c->n - low));
	c->lexemes[low] = *lexeme;
	c->n++;
}

bool
skx_condition_join_excluded(SkxCondition *condition, const SkxCondition *other)
{
	int			i;

	if (condition->kind != SKX_CONDITION_NONE_OF ||
		other->kind != SKX_CONDITION_NONE_OF ||
		condition->lexemes[0].bytes[1] != other->lexemes[0].bytes[1])
		return false;
	condition->lexemes = repalloc_huge(condition->lexemes, sizeof(SkxLexeme) *
									   ((Size) condition->n + other->n));
	for (i = 0; i < other->n; i++)
		skx_condition_insert_lexeme(condition, &other->lexemes[i]);
	condition->lossy |= other->lossy;
	return true;
}

int
skx_condition_join_conditions(SkxCondition *conditions, int n)
{
	int			kept = 0;
	int			i;
	int			k;

	for (i = 0; i < n; i++)
	{
		bool		joins = conditions[i].kind == SKX_CONDITION_RANGE ||
			conditions[i].kind == SKX_CONDITION_NONE_OF;

		CHECK_FOR_INTERRUPTS();
		for (k = joins ? 0 : kept; k < kept; k++)
			if (skx_condition_join_range(&conditions[k], &conditions[i]) ||
				skx_condition_join_excluded(&conditions[k], &conditions[i]))
				break;
		if (k == kept)
			conditions[kept++] = conditions[i];
	}
	return kept;
}
