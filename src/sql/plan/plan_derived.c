/*
 * plan_derived.c
 *	  Conditions on a column of an index that a condition of a table implies.
 *
 * The next page of a list that is sorted by several columns is asked for by a
 * comparison of rows, or by a disjunction that spells it out: `(sent, id) <
 * (d, n)`, or `sent < d OR (sent = d AND id < n)`.  Both imply `sent <= d`,
 * which tells an index where to begin.  The condition itself is stricter, so
 * rows are tested by it.
 *
 * `column NOT IN (...)` is a conjunction of `column <> value`.
 *
 * A disjunction of `column = value`, or of `document @@ query`, is the same as
 * = ANY, or @@ ANY, of an array.  The server converts it from 18 on.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/plan/plan_condition.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/* Maximum number of elements of an array that become conditions. */
#define SKX_NONE_OF_ELEMENTS_MAX		1024

/*
 * Maximum number of arms of a disjunction that spells out a comparison of
 * rows, and of conditions in an arm.  Each column of the sort adds one of
 * both.
 */
#define SKX_ARMS_MAX			16

/*
 * A comparison `column operator value`, whose operator is in the column's
 * operator family.
 */
typedef struct SkxComparison
{
	Node	   *column;
	Node	   *value;
	Oid			operator;
	Oid			collation;
	int			strategy;
	Oid			left;			/* types of its operands */
	Oid			right;
} SkxComparison;

/*
 * Returns true if `left operator right` compares the column with a value that
 * is the same for all rows and may be computed once more.  The result has the
 * column on the left.
 */
static bool
skx_plan_match_comparison(const SkxIndexColumn *key, Node *left, Node *right,
						  Oid operator, Oid collation, SkxComparison *result)
{
	if (!skx_plan_is_column(key, left))
	{
		Node	   *other = left;

		left = right;
		right = other;
		operator = get_commutator(operator);
		if (!skx_plan_is_column(key, left))
			return false;
	}
	if (!skx_plan_has_operator(key, operator, collation) ||
		!skx_plan_is_comparand(key, right) || contain_subplans(right))
		return false;
	result->column = left;
	result->value = right;
	result->operator = operator;
	result->collation = collation;
	get_op_opfamily_properties(operator, key->index->opfamily[key->column],
							   false, &result->strategy, &result->left,
							   &result->right);
	return true;
}

static bool
skx_plan_is_comparison(const SkxIndexColumn *key, Node *clause,
					   SkxComparison *result)
{
	OpExpr	   *op = (OpExpr *) clause;

	return IsA(clause, OpExpr) && list_length(op->args) == 2 &&
		skx_plan_match_comparison(key, linitial(op->args), lsecond(op->args),
								  op->opno, op->inputcollid, result);
}

/*
 * Returns the condition `column <= value`, or `column >= value` if `above` is
 * true; NULL if it cannot be used.  Where conditions of a security barrier
 * come first, its operator must be leakproof.
 */
static RestrictInfo *
skx_plan_bound_condition(const SkxIndexColumn *key, const RestrictInfo *rinfo,
						 const SkxComparison *comparison, bool above)
{
	Oid			operator =
		get_opfamily_member(key->index->opfamily[key->column],
							comparison->left, comparison->right,
							above ? SKX_STRATEGY_GREATER_EQUAL :
							SKX_STRATEGY_LESS_EQUAL);

	if (!OidIsValid(operator) ||
		(rinfo->security_level > key->index->rel->baserestrict_min_security &&
		 !get_func_leakproof(get_opcode(operator))))
		return NULL;
	return make_simple_restrictinfo(key->root,
									make_opclause(operator, BOOLOID, false,
												  (Expr *) comparison->column,
												  (Expr *) comparison->value,
												  InvalidOid,
												  comparison->collation));
}

/*
 * Returns the bound that a comparison of rows implies for its first column;
 * NULL if there is none.
 */
static RestrictInfo *
skx_plan_row_bound(const SkxIndexColumn *key, const RestrictInfo *rinfo)
{
	const RowCompareExpr *rows = (RowCompareExpr *) rinfo->clause;
	Oid			family = linitial_oid(rows->opfamilies);
	RestrictInfo *bound;
	SkxComparison first;
	int			strategy;
	bool		above;

	if (!skx_plan_match_comparison(key, linitial(rows->largs),
								   linitial(rows->rargs),
								   linitial_oid(rows->opnos),
								   linitial_oid(rows->inputcollids), &first))
		return NULL;
	/* rows are compared by the operators of a btree operator family */
	strategy = get_op_opfamily_strategy(first.operator, family);
	if (strategy == BTLessStrategyNumber ||
		strategy == BTLessEqualStrategyNumber)
		above = false;
	else if (strategy == BTGreaterStrategyNumber ||
			 strategy == BTGreaterEqualStrategyNumber)
		above = true;
	else
		return NULL;
	bound = skx_plan_bound_condition(key, rinfo, &first, above);
	if (bound == NULL ||
		get_op_opfamily_strategy(((OpExpr *) bound->clause)->opno, family) !=
		(above ? BTGreaterEqualStrategyNumber : BTLessEqualStrategyNumber))
		return NULL;
	return bound;
}

/* Returns the conditions that must all be true in an arm of a disjunction. */
static List *
skx_plan_arm_conditions(Node *arm)
{
	return is_andclause(arm) ? ((BoolExpr *) arm)->args : list_make1(arm);
}

static bool
skx_plan_implies_bound(int strategy, bool above)
{
	return strategy == SKX_STRATEGY_EQUAL ||
		(above ? strategy == SKX_STRATEGY_GREATER ||
		 strategy == SKX_STRATEGY_GREATER_EQUAL :
		 strategy == SKX_STRATEGY_LESS ||
		 strategy == SKX_STRATEGY_LESS_EQUAL);
}

/*
 * Returns true if the arm implies that the column is equal to the value, or on
 * the given side of it.
 */
static bool
skx_plan_arm_implies_bound(const SkxIndexColumn *key, Node *arm,
						   const SkxComparison *like, bool above)
{
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	if (list_length(skx_plan_arm_conditions(arm)) > SKX_ARMS_MAX)
		return false;
	foreach(lc, skx_plan_arm_conditions(arm))
	{
		SkxComparison one;

		if (skx_plan_is_comparison(key, lfirst(lc), &one) &&
			skx_plan_implies_bound(one.strategy, above) &&
			one.left == like->left && one.right == like->right &&
			one.collation == like->collation && equal(one.value, like->value))
			return true;
	}
	return false;
}

static bool
skx_plan_arms_imply_bound(const SkxIndexColumn *key, List *arms,
						  const SkxComparison *like, bool above)
{
	ListCell   *lc;

	foreach(lc, arms)
	{
		if (!skx_plan_arm_implies_bound(key, lfirst(lc), like, above))
			return false;
	}
	return true;
}

/*
 * Returns the bound that a disjunction implies if all of its arms compare the
 * column with one value; else NULL.
 */
static RestrictInfo *
skx_plan_disjunction_bound(const SkxIndexColumn *key,
						   const RestrictInfo *rinfo)
{
	List	   *arms = ((BoolExpr *) rinfo->clause)->args;
	List	   *parts = skx_plan_arm_conditions(linitial(arms));
	ListCell   *lc;

	if (list_length(arms) > SKX_ARMS_MAX ||
		list_length(parts) > SKX_ARMS_MAX)
		return NULL;
	foreach(lc, parts)
	{
		SkxComparison one;

		if (!skx_plan_is_comparison(key, lfirst(lc), &one))
			continue;
		if (skx_plan_arms_imply_bound(key, arms, &one, false))
			return skx_plan_bound_condition(key, rinfo, &one, false);
		if (skx_plan_arms_imply_bound(key, arms, &one, true))
			return skx_plan_bound_condition(key, rinfo, &one, true);
	}
	return NULL;
}

/*
 * Returns true if the index answers the comparison for all elements of an
 * array at once.
 */
static bool
skx_plan_is_equality(const SkxIndexColumn *key, const SkxComparison *one)
{
	if (key->column == 0)
		return one->strategy == SKX_STRATEGY_MATCH ||
			one->strategy == SKX_STRATEGY_MATCH_OLD;
	return one->strategy == SKX_STRATEGY_EQUAL &&
		key->index->opcintype[key->column] != ANYARRAYOID;
}

/*
 * Returns the values that all arms compare the column with, by one operator
 * and of one type, which is the operator's.  Returns NIL if an arm is anything
 * else.  *first becomes the comparison of the first arm.
 */
static List *
skx_plan_equal_alternatives(const SkxIndexColumn *key, List *arms,
							SkxComparison *first)
{
	List	   *values = NIL;
	ListCell   *lc;

	foreach(lc, arms)
	{
		SkxComparison one;
		Oid			type;

		if (!skx_plan_is_comparison(key, lfirst(lc), &one) ||
			!skx_plan_is_equality(key, &one))
			return NIL;
		if (values == NIL)
			*first = one;
		type = exprType(one.value);
		if (one.operator != first->operator ||
			one.collation != first->collation ||
			type != exprType(first->value) ||
			(type != one.right && !IsPolymorphicType(one.right)))
			return NIL;
		values = lappend(values, one.value);
	}
	return values;
}

/*
 * Returns `column operator ANY array` for a disjunction of equalities; NULL
 * for other disjunctions.
 */
static RestrictInfo *
skx_plan_any_of(const SkxIndexColumn *key, const RestrictInfo *rinfo)
{
	SkxComparison first;
	List	   *values =
		skx_plan_equal_alternatives(key, ((BoolExpr *) rinfo->clause)->args,
									&first);
	ScalarArrayOpExpr *any;
	Oid			type;

	type = values == NIL ? InvalidOid : get_array_type(exprType(first.value));
	if (!OidIsValid(type))
		return NULL;
	any = makeNode(ScalarArrayOpExpr);
	any->opno = first.operator;
	any->opfuncid = get_opcode(first.operator);
	any->useOr = true;
	any->inputcollid = first.collation;
	any->args = list_make2(first.column,
						   skx_plan_array(key->root, values, type,
										  exprCollation(first.value)));
	any->location = -1;
	return make_simple_restrictinfo(key->root, (Expr *) any);
}

/*
 * Returns the elements of a constant array; NIL if there are none or too many,
 * or if one is NULL.
 */
static List *
skx_plan_constant_elements(const Const *array)
{
	ArrayType  *value;
	List	   *constants = NIL;
	Oid			type;
	int16		len;
	bool		byval;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			i;

	if (array->constisnull)
		return NIL;
	value = DatumGetArrayTypeP(array->constvalue);
	type = ARR_ELEMTYPE(value);
	get_typlenbyvalalign(type, &len, &byval, &align);
	deconstruct_array(value, type, len, byval, align, &elements, &nulls, &n);
	for (i = 0; i < n && n <= SKX_NONE_OF_ELEMENTS_MAX; i++)
	{
		if (nulls[i])
			return NIL;
		constants = lappend(constants,
							makeConst(type, -1, get_typcollation(type), len,
									  elements[i], false, byval));
	}
	return constants;
}

/* Returns the elements of an array; NIL if they are not known, or too many. */
static List *
skx_plan_array_elements(const SkxIndexColumn *key, Node *array)
{
	ArrayExpr  *expr = (ArrayExpr *) array;
	ListCell   *lc;

	if (IsA(array, Const))
		return skx_plan_constant_elements((Const *) array);
	if (!IsA(array, ArrayExpr) || expr->multidims ||
		list_length(expr->elements) > SKX_NONE_OF_ELEMENTS_MAX)
		return NIL;
	foreach(lc, expr->elements)
	{
		if (!skx_plan_is_comparand(key, lfirst(lc)) ||
			contain_subplans(lfirst(lc)))
			return NIL;
	}
	return expr->elements;
}

/*
 * Without elements the condition is true even for NULL, and with a NULL
 * constant it is never true.  In both cases rows are tested.
 */
List *
skx_plan_none_of(const SkxIndexColumn *key, const RestrictInfo *rinfo)
{
	const ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) rinfo->clause;
	List	   *quals = NIL;
	ListCell   *lc;

	if (!IsA(op, ScalarArrayOpExpr) || op->useOr || key->column == 0 ||
		!skx_plan_is_column(key, linitial(op->args)) ||
		!skx_plan_has_operator(key, op->opno, op->inputcollid) ||
		get_op_opfamily_strategy(op->opno,
								 key->index->opfamily[key->column]) !=
		SKX_STRATEGY_DIFFERS)
		return NIL;
	foreach(lc, skx_plan_array_elements(key, lsecond(op->args)))
	{
		Expr	   *differs = make_opclause(op->opno, BOOLOID, false,
											linitial(op->args), lfirst(lc),
											InvalidOid, op->inputcollid);

		quals = lappend(quals, make_simple_restrictinfo(key->root, differs));
	}
	return quals;
}

RestrictInfo *
skx_plan_derive(const SkxIndexColumn *key, const RestrictInfo *rinfo,
				bool *lossy)
{
	RestrictInfo *same;

	*lossy = false;
	same = is_orclause(rinfo->clause) ? skx_plan_any_of(key, rinfo) :
		skx_plan_disjoint(key, rinfo, lossy);
	/* the text has no order, and arrays have none that an index knows */
	if (same != NULL || key->column == 0 ||
		key->index->opcintype[key->column] == ANYARRAYOID)
		return same;
	*lossy = true;
	if (IsA(rinfo->clause, RowCompareExpr))
		return skx_plan_row_bound(key, rinfo);
	if (is_orclause(rinfo->clause))
		return skx_plan_disjunction_bound(key, rinfo);
	return NULL;
}

bool
skx_plan_is_derived(const RestrictInfo *rinfo)
{
	return IsA(rinfo->clause, RowCompareExpr) ||
		skx_plan_may_rewrite((Node *) rinfo->clause);
}
