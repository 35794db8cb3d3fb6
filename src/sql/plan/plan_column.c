/*
 * plan_column.c
 *	  A column of an index in conditions: what it can be compared with.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "read/condition/condition.h"
#include "sql/am/am.h"
#include "sql/plan/plan_condition.h"
#include "utils/lsyscache.h"

bool
skx_plan_is_column(const SkxIndexColumn *key, Node *operand)
{
	return match_index_to_operand(operand, key->column, key->index);
}

bool
skx_plan_is_comparand(const SkxIndexColumn *key, Node *expr)
{
	return !bms_is_member(key->index->rel->relid,
						  pull_varnos(key->root, expr)) &&
		!contain_volatile_functions(expr);
}

bool
skx_plan_has_operator(const SkxIndexColumn *key, Oid operator, Oid collation)
{
	Oid			own = key->index->indexcollations[key->column];

	return OidIsValid(operator) && (!OidIsValid(own) || own == collation) &&
		op_in_opfamily(operator, key->index->opfamily[key->column]);
}

RestrictInfo *
skx_plan_null_test(const SkxIndexColumn *key, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) skx_plan_column_expr(key->index, key->column);
	test->nulltesttype = type;
	test->location = -1;
	return make_simple_restrictinfo(key->root, (Expr *) test);
}

Node *
skx_plan_array(PlannerInfo *root, List *elements, Oid type, Oid collation)
{
	ArrayExpr  *array = makeNode(ArrayExpr);

	array->array_typeid = type;
	array->array_collid = collation;
	array->element_typeid = get_element_type(type);
	array->elements = elements;
	array->location = -1;
	return eval_const_expressions(root, (Node *) array);
}

Node *
skx_plan_column_expr(const IndexOptInfo *index, int column)
{
	return (Node *) ((TargetEntry *) list_nth(index->indextlist,
											  column))->expr;
}

/*
 * Rows may fail a condition on arrays that is `=`, or that has `@>` or `!&&`
 * with ANY or ALL.  On other columns they may fail a range, if
 * skx_condition_may_have_between() is true for its types.
 */
bool
skx_plan_may_recheck(const IndexOptInfo *index, int column,
					 const Expr *qual)
{
	Oid			family = index->opfamily[column];
	Oid			operator = InvalidOid;
	Oid			left;
	Oid			right;
	int			strategy;

	if (IsA(qual, OpExpr))
		operator = ((const OpExpr *) qual)->opno;
	else if (IsA(qual, ScalarArrayOpExpr))
		operator = ((const ScalarArrayOpExpr *) qual)->opno;
	if (!OidIsValid(operator))
		return false;
	get_op_opfamily_properties(operator, family, false, &strategy, &left,
							   &right);
	if (index->opcintype[column] == ANYARRAYOID)
		return strategy == SKX_STRATEGY_EQUAL ||
			(IsA(qual, ScalarArrayOpExpr) &&
			 (strategy == SKX_STRATEGY_CONTAINS ||
			  strategy == SKX_STRATEGY_DISJOINT));
	return column > 0 && skx_column_is_range(strategy) &&
		skx_condition_may_have_between(family, left, right);
}
