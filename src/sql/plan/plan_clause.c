/*
 * plan_clause.c
 *	  Matches conditions of a table with an index.
 *
 * The server matches most of them itself, but not all in every version or with
 * an order.  It does not match a boolean column as a condition (before 16), IN
 * and ANY in the order of a distance (before 17), or `value = ANY (column)`.
 * Nor does it match what a condition implies (plan_derived.c).
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/am/am.h"
#include "sql/plan/plan_condition.h"
#include "support/compat/compat.h"
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

RestrictInfo *
skx_plan_null_test(const SkxIndexColumn *key, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) skx_plan_column_expr(key->index, key->column);
	test->nulltesttype = type;
	test->location = -1;
	return make_simple_restrictinfo(key->root, (Expr *) test);
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

Node *
skx_plan_column_expr(const IndexOptInfo *index, int column)
{
	return (Node *) ((TargetEntry *) list_nth(index->indextlist,
											  column))->expr;
}

/*
 * Does the same as skx_plan_first_quals(), and also matches a disjunction.
 * That becomes one condition on the first column, which is lossy because it
 * cannot test rows.
 */
static List *
skx_plan_all_quals(SkxIndexColumn *key, RestrictInfo *rinfo, bool *lossy)
{
	List	   *quals = skx_plan_first_quals(key, rinfo, lossy);
	RestrictInfo *any;

	if (quals != NIL)
		return quals;
	any = skx_plan_disjunction(key->root, key->index, rinfo);
	if (any == NULL)
		return NIL;
	*lossy = true;
	key->column = 0;
	return list_make1(any);
}

IndexClause *
skx_plan_matching_clause(PlannerInfo *root, IndexOptInfo *index,
						 RestrictInfo *rinfo)
{
	SkxIndexColumn key = {root, index, 0};
	List	   *quals;
	IndexClause *clause;
	bool		lossy = false;

	if (rinfo->pseudoconstant ||
		!restriction_is_securely_promotable(rinfo, index->rel))
		return NULL;
	quals = skx_plan_all_quals(&key, rinfo, &lossy);
	if (quals == NIL)
	{
		RestrictInfo *other = skx_plan_reworded(root, index, rinfo);

		if (other != NULL)
			quals = skx_plan_all_quals(&key, other, &lossy);
	}
	if (quals == NIL)
		return NULL;
	clause = makeNode(IndexClause);
	clause->rinfo = rinfo;
	clause->indexquals = quals;
	clause->indexcol = key.column;
	clause->lossy = lossy;
	return clause;
}

List *
skx_plan_by_column(const IndexOptInfo *index, List *clauses)
{
	List	   *columns[INDEX_MAX_KEYS] = {NIL};
	List	   *sorted = NIL;
	int			i;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);

		columns[clause->indexcol] = lappend(columns[clause->indexcol], clause);
	}
	for (i = 0; i < index->nkeycolumns; i++)
		sorted = list_concat(sorted, columns[i]);
	return sorted;
}

List *
skx_plan_matching_clauses(PlannerInfo *root, IndexOptInfo *index,
						  List *conditions)
{
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		IndexClause *clause = skx_plan_matching_clause(root, index,
													   lfirst(lc));

		if (clause != NULL)
			clauses = lappend(clauses, clause);
	}
	return clauses;
}

List *
skx_plan_index_clauses(PlannerInfo *root, IndexOptInfo *index)
{
	List	   *clauses = skx_plan_matching_clauses(root, index,
													index->indrestrictinfo);

	return skx_plan_by_column(index, clauses);
}

bool
skx_plan_takes_more(IndexOptInfo *index, List *clauses)
{
	ListCell   *lc;

	foreach(lc, clauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		RestrictInfo *qual = linitial_node(RestrictInfo, clause->indexquals);

		if (index->opcintype[clause->indexcol] == BOOLOID ||
			skx_plan_is_derived(clause->rinfo) ||
			(IsA(clause->rinfo->clause, ScalarArrayOpExpr) &&
			 IsA(qual->clause, OpExpr)))
			return true;
	}
	return false;
}
