/*
 * plan_quals.c
 *	  Matches a condition with one column of an index.
 *
 * The server matches most of them itself, but not all in every version or with
 * an order.  It does not match a boolean column as a condition (before 16), IN
 * and ANY in the order of a distance (before 17), or `value = ANY (column)`.
 * Nor does it match what a condition implies (plan_derived.c).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/plan/plan_condition.h"
#include "utils/lsyscache.h"

/*
 * Returns the condition as `column operator value`, with its operands
 * exchanged if necessary.  Returns NULL if it is not of this form.
 */
static RestrictInfo *
skx_plan_match_operator(const SkxIndexColumn *key, RestrictInfo *rinfo)
{
	OpExpr	   *op = (OpExpr *) rinfo->clause;
	Oid			commutator;

	if (list_length(op->args) != 2)
		return NULL;
	if (skx_plan_is_column(key, linitial(op->args)))
		return skx_plan_has_operator(key, op->opno, op->inputcollid) &&
			skx_plan_is_comparand(key, lsecond(op->args)) ? rinfo : NULL;
	commutator = get_commutator(op->opno);
	if (!skx_plan_is_column(key, lsecond(op->args)) ||
		!skx_plan_has_operator(key, commutator, op->inputcollid) ||
		!skx_plan_is_comparand(key, linitial(op->args)))
		return NULL;
	return commute_restrictinfo(rinfo, commutator);
}

/*
 * Returns the condition `column = value`; NULL if there is no operator for it.
 */
static RestrictInfo *
skx_plan_equal_bool(const SkxIndexColumn *key, bool value)
{
	Oid			operator =
		get_opfamily_member(key->index->opfamily[key->column], BOOLOID,
							BOOLOID, SKX_STRATEGY_EQUAL);
	Node	   *column = skx_plan_column_expr(key->index, key->column);

	if (!OidIsValid(operator) || column == NULL)
		return NULL;
	return make_simple_restrictinfo(key->root,
									make_opclause(operator, BOOLOID, false,
												  (Expr *) column,
												  (Expr *) makeBoolConst(value,
																		 false),
												  InvalidOid, InvalidOid));
}

/*
 * Matches a boolean column as a condition: the column itself, NOT, IS TRUE, IS
 * FALSE, IS UNKNOWN or IS NOT UNKNOWN.
 */
static RestrictInfo *
skx_plan_match_bool(const SkxIndexColumn *key, Node *clause)
{
	BooleanTest *test = (BooleanTest *) clause;

	if (key->index->opcintype[key->column] != BOOLOID)
		return NULL;
	if (skx_plan_is_column(key, clause))
		return skx_plan_equal_bool(key, true);
	if (is_notclause(clause) &&
		skx_plan_is_column(key, (Node *) get_notclausearg((Expr *) clause)))
		return skx_plan_equal_bool(key, false);
	if (!IsA(clause, BooleanTest) ||
		!skx_plan_is_column(key, (Node *) test->arg))
		return NULL;
	switch (test->booltesttype)
	{
		case IS_TRUE:
			return skx_plan_equal_bool(key, true);
		case IS_FALSE:
			return skx_plan_equal_bool(key, false);
		case IS_UNKNOWN:
			return skx_plan_null_test(key, IS_NULL);
		case IS_NOT_UNKNOWN:
			return skx_plan_null_test(key, IS_NOT_NULL);
		default:
			return NULL;
	}
}

static RestrictInfo *
skx_plan_match_array(const SkxIndexColumn *key, RestrictInfo *rinfo)
{
	ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) rinfo->clause;

	if (!op->useOr)
		return NULL;
	if (key->index->opcintype[key->column] == ANYARRAYOID)
		return skx_plan_match_element(key, op, SKX_STRATEGY_CONTAINS);
	if (skx_plan_is_column(key, linitial(op->args)) &&
		skx_plan_has_operator(key, op->opno, op->inputcollid) &&
		skx_plan_is_comparand(key, lsecond(op->args)))
		return rinfo;
	return NULL;
}

static RestrictInfo *
skx_plan_match_column(const SkxIndexColumn *key, RestrictInfo *rinfo)
{
	Node	   *clause = (Node *) rinfo->clause;
	RestrictInfo *qual = skx_plan_match_bool(key, clause);

	if (qual != NULL)
		return qual;
	if (IsA(clause, OpExpr))
		return skx_plan_match_operator(key, rinfo);
	if (IsA(clause, ScalarArrayOpExpr))
		return skx_plan_match_array(key, rinfo);
	if (IsA(clause, NullTest))
		return !((NullTest *) clause)->argisrow &&
			skx_plan_is_column(key, (Node *) ((NullTest *) clause)->arg) ?
			rinfo : NULL;
	return NULL;
}

/*
 * Returns what a condition asks of the column key->column, or NIL.  *lossy
 * becomes true if rows that meet the result may fail the condition.
 */
static List *
skx_plan_quals(const SkxIndexColumn *key, RestrictInfo *rinfo, bool *lossy)
{
	RestrictInfo *qual = skx_plan_match_column(key, rinfo);

	*lossy = false;
	if (qual == NULL)
	{
		List	   *quals = skx_plan_none_of(key, rinfo);

		if (quals != NIL)
			return quals;
		qual = skx_plan_derive(key, rinfo, lossy);
	}
	return qual != NULL ? list_make1(qual) : NIL;
}

List *
skx_plan_first_quals(SkxIndexColumn *key, RestrictInfo *rinfo, bool *lossy)
{
	List	   *quals = NIL;

	for (key->column = 0; key->column < key->index->nkeycolumns; key->column++)
	{
		quals = skx_plan_quals(key, rinfo, lossy);
		if (quals != NIL)
			break;
	}
	return quals;
}
