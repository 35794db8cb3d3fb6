/*
 * plan_arrays.c
 *	  Conditions on columns of arrays that require one element or forbid some.
 *
 * `value = ANY (column)` is matched as `column @> ARRAY[value]`.  A condition
 * that forbids elements is matched as `column !&& array`.  The extension
 * defines the operator `!&&`, since the server has none for the negation.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/plan/plan_condition.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

/*
 * Returns the operand of a coercion that gives elements another type but keeps
 * their bytes.  Returns any other array as it is.
 */
static Node *
skx_plan_uncoerced(Node *array)
{
	ArrayCoerceExpr *coerced = (ArrayCoerceExpr *) array;
	RelabelType *element;

	if (!IsA(array, ArrayCoerceExpr) || !IsA(coerced->elemexpr, RelabelType))
		return array;
	element = (RelabelType *) coerced->elemexpr;
	return IsA(element->arg, CaseTestExpr) ? (Node *) coerced->arg : array;
}

/* Returns ARRAY[value] with the type of `column`. */
static Node *
skx_plan_one_element(PlannerInfo *root, Node *value, Node *column)
{
	Oid			element = get_element_type(exprType(column));

	if (exprType(value) != element)
		value = (Node *) makeRelabelType((Expr *) value, element, -1,
										 exprCollation(value),
										 COERCE_IMPLICIT_CAST);
	return skx_plan_array(root, list_make1(value), exprType(column),
						  exprCollation(column));
}

/*
 * Returns the condition that compares the column with the array by the
 * operator of the strategy.  Returns NULL if the operator family has no such
 * operator.
 */
static RestrictInfo *
skx_plan_compare_arrays(const SkxIndexColumn *key, Node *column, int strategy,
						Node *array, Oid collation)
{
	Oid			operator =
		get_opfamily_member(key->index->opfamily[key->column], ANYARRAYOID,
							ANYARRAYOID, strategy);

	if (!OidIsValid(operator))
		return NULL;
	return make_simple_restrictinfo(key->root,
									make_opclause(operator, BOOLOID, false,
												  (Expr *) column,
												  (Expr *) array,
												  InvalidOid, collation));
}

/*
 * Both element types must have the same default operator class, and the
 * operator must be `=` or `<>` of that class.
 */
RestrictInfo *
skx_plan_match_element(const SkxIndexColumn *key, ScalarArrayOpExpr *op,
					   int strategy)
{
	Node	   *value = linitial(op->args);
	Oid			element = get_element_type(exprType(lsecond(op->args)));
	Node	   *column = skx_plan_uncoerced(lsecond(op->args));
	Oid			class;

	if (!OidIsValid(element) || exprType(value) != element ||
		!skx_plan_is_column(key, column) ||
		!skx_plan_is_comparand(key, value) ||
		(OidIsValid(key->index->indexcollations[key->column]) &&
		 key->index->indexcollations[key->column] != op->inputcollid))
		return NULL;
	class = GetDefaultOpClass(element, key->index->relam);
	if (!OidIsValid(class) ||
		class != GetDefaultOpClass(get_element_type(exprType(column)),
								   key->index->relam) ||
		get_op_opfamily_strategy(op->opno, get_opclass_family(class)) !=
		(strategy == SKX_STRATEGY_CONTAINS ? SKX_STRATEGY_EQUAL :
		 SKX_STRATEGY_DIFFERS))
		return NULL;
	return skx_plan_compare_arrays(key, column, strategy,
								   skx_plan_one_element(key->root, value,
														column),
								   op->inputcollid);
}

/* Returns true if it is a constant array of one element that is not NULL. */
static bool
skx_plan_is_one_element(Node *array)
{
	const Const *constant = (const Const *) array;
	ArrayType  *value;

	if (!IsA(array, Const) || constant->constisnull)
		return false;
	value = DatumGetArrayTypeP(constant->constvalue);
	return ArrayGetNItems(ARR_NDIM(value), ARR_DIMS(value)) == 1 &&
		!array_contains_nulls(value);
}

/*
 * Returns `column !&& array` for the operand of a NOT: `column && array`, or
 * `column @> array` of one element.  Returns NULL for other operands.
 */
static RestrictInfo *
skx_plan_negated_overlap(const SkxIndexColumn *key, const OpExpr *op)
{
	Node	   *column;
	Node	   *array;
	Oid			operator;
	int			strategy;

	if (!IsA(op, OpExpr) || list_length(op->args) != 2)
		return NULL;
	column = linitial(op->args);
	array = lsecond(op->args);
	operator = op->opno;
	if (!skx_plan_is_column(key, column))
	{
		column = lsecond(op->args);
		array = linitial(op->args);
		operator = get_commutator(operator);
	}
	if (!skx_plan_is_column(key, column) ||
		!skx_plan_has_operator(key, operator, op->inputcollid) ||
		!skx_plan_is_comparand(key, array))
		return NULL;
	strategy = get_op_opfamily_strategy(operator,
										key->index->opfamily[key->column]);
	if (strategy != SKX_STRATEGY_OVERLAPS &&
		(strategy != SKX_STRATEGY_CONTAINS || !skx_plan_is_one_element(array)))
		return NULL;
	return skx_plan_compare_arrays(key, column, SKX_STRATEGY_DISJOINT, array,
								   op->inputcollid);
}

RestrictInfo *
skx_plan_disjoint(const SkxIndexColumn *key, const RestrictInfo *rinfo,
				  bool *lossy)
{
	Expr	   *clause = rinfo->clause;

	*lossy = false;
	if (key->index->opcintype[key->column] != ANYARRAYOID)
		return NULL;
	if (is_notclause(clause))
		return skx_plan_negated_overlap(key,
										(OpExpr *) get_notclausearg(clause));
	if (!IsA(clause, ScalarArrayOpExpr) ||
		((ScalarArrayOpExpr *) clause)->useOr)
		return NULL;
	*lossy = true;
	return skx_plan_match_element(key, (ScalarArrayOpExpr *) clause,
								  SKX_STRATEGY_DISJOINT);
}
