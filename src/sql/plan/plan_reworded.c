/*
 * plan_reworded.c
 *	  Conditions in other words, which an index knows.
 *
 * `flag IS NOT TRUE`, `coalesce(flag, false) = false` and `NOT coalesce(flag,
 * false)` all mean `flag = false OR flag IS NULL`.  `coalesce(n, 0) = 0` means
 * `n = 0 OR n IS NULL`.  For an expression, this file finds when it has
 * certain values of true, false and NULL.  The answer follows from the same
 * answers for its operands.  It is a disjunction of arms, each of which is a
 * conjunction of conditions.  It is true exactly where the condition is;
 * elsewhere it may be false or NULL.
 *
 * An arm may have a gate, an expression without columns of the table.  The
 * second arm of `n IS NOT DISTINCT FROM $1` is `n IS NULL AND $1 IS NULL`.
 *
 * Arms are a list of lists of conditions.  Without arms the answer is false;
 * an arm without conditions is always true.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "read/condition/condition_disjunction.h"
#include "sql/am/am.h"
#include "sql/plan/plan_guard.h"
#include "sql/plan/plan_condition.h"
#include "tsearch/ts_type.h"
#include "tsearch/ts_utils.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Sets of values of an expression. */
#define SKX_WANT_TRUE	1
#define SKX_WANT_FALSE	2
#define SKX_WANT_NULL	4
#define SKX_WANT_ALL		7

/*
 * Maximum number of expressions that are looked at; nested ones are looked at
 * more than once.
 */
#define SKX_REWRITE_STEPS_MAX		4096

typedef struct SkxRewriteState
{
	SkxIndexColumn key;
	int			steps;
	bool		has_failed;		/* the answers must not be used */
} SkxRewriteState;

/* A value of an expression, and when it has that value. */
typedef struct SkxCaseValue
{
	List	   *arms;			/* arms */
	Node	   *value;
} SkxCaseValue;

static List *skx_plan_arms(SkxRewriteState *w, Node *expr, int wanted);
static List *skx_plan_cases_of(SkxRewriteState *w, Node *expr);

/* ---- arms ---- */

static List *
skx_plan_always_arms(void)
{
	return list_make1(NIL);
}

static bool
skx_plan_arms_are_always(const List *arms)
{
	ListCell   *lc;

	foreach(lc, arms)
	{
		if (lfirst(lc) == NIL)
			return true;
	}
	return false;
}

static List *
skx_plan_rewrite_fail(SkxRewriteState *w)
{
	w->has_failed = true;
	return NIL;
}

static List *
skx_plan_limit_arms(SkxRewriteState *w, List *arms)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, arms)
	{
		n += Max(list_length(lfirst(lc)), 1);
	}
	return n > SKX_DISJUNCTION_CONDITIONS_MAX ? skx_plan_rewrite_fail(w) :
		arms;
}

static List *
skx_plan_or_arms(SkxRewriteState *w, List *a, List *b)
{
	ListCell   *lc;

	if (skx_plan_arms_are_always(a) || skx_plan_arms_are_always(b))
		return skx_plan_always_arms();
	foreach(lc, b)
	{
		a = list_append_unique(a, lfirst(lc));
	}
	return skx_plan_limit_arms(w, a);
}

/*
 * Returns an expression that is not NULL where the condition is true; NULL if
 * none is known.
 */
static Node *
skx_plan_subject(Node *condition)
{
	const ScalarArrayOpExpr *any = (ScalarArrayOpExpr *) condition;

	if (is_notclause(condition))
		condition = (Node *) get_notclausearg((Expr *) condition);
	if (IsA(condition, OpExpr))
		return op_strict(((OpExpr *) condition)->opno) ?
			linitial(((OpExpr *) condition)->args) : NULL;
	if (IsA(condition, ScalarArrayOpExpr))
		return condition == (Node *) any && any->useOr &&
			op_strict(any->opno) ? linitial(any->args) : NULL;
	return condition;
}

/*
 * Returns the value with the casts of the expression, which change no bytes.
 */
static Node *
skx_plan_apply_relabel(const Node *expr, Node *value)
{
	RelabelType *copy;

	if (!IsA(expr, RelabelType))
		return value;
	copy = makeNode(RelabelType);
	*copy = *(const RelabelType *) expr;
	copy->arg = (Expr *) skx_plan_apply_relabel((Node *) copy->arg, value);
	return (Node *) copy;
}

/*
 * Returns true if another condition of the arm implies that the argument of
 * the test is not NULL.
 */
static bool
skx_plan_arm_implies_test(const List *arm, const NullTest *test)
{
	Node	   *subject = skx_plan_unrelabel((Node *) test->arg);
	ListCell   *lc;

	foreach(lc, arm)
	{
		NullTest   *other = lfirst(lc);

		if (!IsA(other, NullTest) ?
			equal(skx_plan_unrelabel(skx_plan_subject((Node *) other)),
				  subject) :
			other->nulltesttype == IS_NOT_NULL &&
			test->nulltesttype == IS_NULL &&
			equal(skx_plan_unrelabel((Node *) other->arg), subject))
			return true;
	}
	return false;
}

/*
 * Returns an arm without tests for NULL that its other conditions decide.
 * *never becomes true if the arm is true of no row.
 */
static List *
skx_plan_shorten_arm(List *arm, bool *never)
{
	List	   *kept = NIL;
	ListCell   *lc;

	foreach(lc, arm)
	{
		NullTest   *test = lfirst(lc);

		if (!IsA(test, NullTest) || !skx_plan_arm_implies_test(arm, test))
			kept = list_append_unique(kept, test);
		else if (test->nulltesttype == IS_NULL)
			*never = true;
	}
	return kept;
}

static List *
skx_plan_and_arms(SkxRewriteState *w, List *a, List *b)
{
	List	   *arms = NIL;
	ListCell   *one;
	ListCell   *other;

	if (w->has_failed)
		return NIL;
	foreach(one, a)
	{
		foreach(other, b)
		{
			bool		never = false;
			List	   *arm =
				skx_plan_shorten_arm(list_concat_copy(lfirst(one),
													  lfirst(other)), &never);

			CHECK_FOR_INTERRUPTS();
			if (arm == NIL && !never)
				return skx_plan_always_arms();
			if (!never)
				arms = list_append_unique(arms, arm);
			/* each arm has at least one condition */
			if (list_length(arms) > SKX_DISJUNCTION_CONDITIONS_MAX)
				return skx_plan_rewrite_fail(w);
		}
	}
	return skx_plan_limit_arms(w, arms);
}

static List *
skx_plan_one_arm(void *condition)
{
	return list_make1(list_make1(condition));
}

/* ---- values that do not depend on rows ---- */

static bool
skx_plan_is_without_columns(SkxRewriteState *w, Node *expr)
{
	return skx_plan_is_comparand(&w->key, expr) && !contain_subplans(expr);
}

static bool
skx_plan_is_null(const Node *expr)
{
	return IsA(expr, Const) && ((const Const *) expr)->constisnull;
}

static Node *
skx_plan_null_test_of(Node *expr, NullTestType type)
{
	NullTest   *test = makeNode(NullTest);

	test->arg = (Expr *) expr;
	test->nulltesttype = type;
	test->location = -1;
	return (Node *) test;
}

/*
 * Returns when an expression without columns has one of the values: always or
 * never if that is known, else a gate.
 */
static List *
skx_plan_gate_arms(SkxRewriteState *w, Node *expr, int wanted)
{
	static const BoolTestType types[SKX_WANT_ALL] = {
		[SKX_WANT_FALSE] = IS_FALSE,[SKX_WANT_NULL] = IS_UNKNOWN,
		[SKX_WANT_TRUE | SKX_WANT_FALSE] = IS_NOT_UNKNOWN,
		[SKX_WANT_TRUE | SKX_WANT_NULL] = IS_NOT_FALSE,
		[SKX_WANT_FALSE | SKX_WANT_NULL] = IS_NOT_TRUE
	};
	BooleanTest *test;

	if (wanted != SKX_WANT_TRUE)
	{
		test = makeNode(BooleanTest);
		test->arg = (Expr *) expr;
		test->booltesttype = types[wanted];
		test->location = -1;
		expr = (Node *) test;
	}
	expr = eval_const_expressions(w->key.root, expr);
	if (!IsA(expr, Const))
		return skx_plan_one_arm(expr);
	return !skx_plan_is_null(expr) &&
		DatumGetBool(((Const *) expr)->constvalue) ?
		skx_plan_always_arms() : NIL;
}

/* ---- comparisons ---- */

/* Returns when the value of a case is NULL, or when it is not. */
static List *
skx_plan_null_arms(SkxRewriteState *w, Node *value, NullTestType type)
{
	Node	   *test;

	if (exprType(value) == BOOLOID)
		return skx_plan_arms(w, value, type == IS_NULL ? SKX_WANT_NULL :
							 SKX_WANT_TRUE | SKX_WANT_FALSE);
	if (type_is_rowtype(exprType(value)))
		return skx_plan_rewrite_fail(w);
	test = skx_plan_null_test_of(value, type);
	return skx_plan_is_without_columns(w, value) ?
		skx_plan_gate_arms(w, test, SKX_WANT_TRUE) : skx_plan_one_arm(test);
}

/*
 * Returns true if the operator is NULL exactly where an operand is NULL, as
 * all operators of an index are.
 */
static bool
skx_plan_covers_all_values(SkxRewriteState *w, Oid operator)
{
	Oid			commutator = get_commutator(operator);
	int			i;

	for (i = 0; i < w->key.index->nkeycolumns; i++)
	{
		Oid			family = w->key.index->opfamily[i];

		if (op_in_opfamily(operator, family) ||
			(OidIsValid(commutator) && op_in_opfamily(commutator, family)))
			return true;
	}
	return false;
}

/*
 * Returns the query that a document matches exactly where it does not match
 * this one.  Returns NULL if there is none, or if the query is not known.
 * Labels are excluded: a document without positions may match both `word:A`
 * and `!word:A`.  An empty query is excluded, since no document matches it.
 */
static Node *
skx_plan_negated_query(const Node *expr)
{
	const Const *value = (const Const *) expr;
	TSQuery		query;
	Datum		negated;
	int			i;

	if (!IsA(value, Const) || value->consttype != TSQUERYOID ||
		value->constisnull)
		return NULL;
	query = DatumGetTSQuery(value->constvalue);
	for (i = 0; i < query->size; i++)
	{
		const QueryItem *item = GETQUERY(query) + i;

		if (item->type == QI_VAL && item->qoperand.weight != 0)
			return NULL;
	}
	if (query->size == 0)
		return NULL;
	negated = DirectFunctionCall1(tsquery_not, TSQueryGetDatum(query));
	return (Node *) makeConst(TSQUERYOID, -1, InvalidOid, -1, negated, false,
							  false);
}

/*
 * Returns the negation of a comparison.  `document @@ query`, or its
 * commutator, has no negator, but its query may be negated.
 */
static Node *
skx_plan_negated_op(OpExpr *op)
{
	Oid			negator = get_negator(op->opno);
	Node	   *left = linitial(op->args);
	Node	   *right = lsecond(op->args);

	if (!OidIsValid(negator))
	{
		Node	   *query = exprType(left) == TSVECTOROID ?
			skx_plan_negated_query(right) : NULL;

		if (query != NULL)
			right = query;
		else if (exprType(right) == TSVECTOROID)
			left = query = skx_plan_negated_query(left);
		if (query == NULL)
			return (Node *) make_notclause((Expr *) op);
		negator = op->opno;
	}
	return (Node *) make_opclause(negator, BOOLOID, false, (Expr *) left,
								  (Expr *) right, InvalidOid,
								  op->inputcollid);
}

/*
 * Returns when `left operator right`, of the values of two cases, has one of
 * the wanted values.
 */
static List *
skx_plan_comparison_arms(SkxRewriteState *w, Oid operator, Oid collation,
						 Node *left, Node *right, int wanted)
{
	OpExpr	   *op = (OpExpr *) make_opclause(operator, BOOLOID, false,
											  (Expr *) left, (Expr *) right,
											  InvalidOid, collation);
	List	   *arms = NIL;

	set_opfuncid(op);
	if (skx_plan_is_without_columns(w, (Node *) op))
		return skx_plan_gate_arms(w, (Node *) op, wanted);
	if (!skx_plan_covers_all_values(w, operator))
		return wanted == SKX_WANT_TRUE ? skx_plan_one_arm(op) :
			skx_plan_rewrite_fail(w);
	if (skx_plan_is_null(left) || skx_plan_is_null(right))
		return (wanted & SKX_WANT_NULL) ? skx_plan_always_arms() : NIL;
	if ((wanted & ~SKX_WANT_NULL) == (SKX_WANT_TRUE | SKX_WANT_FALSE))
		return skx_plan_and_arms(w, skx_plan_null_arms(w, left, IS_NOT_NULL),
								 skx_plan_null_arms(w, right, IS_NOT_NULL));
	if (wanted & SKX_WANT_TRUE)
		arms = skx_plan_one_arm(op);
	if (wanted & SKX_WANT_FALSE)
		arms = skx_plan_or_arms(w, arms,
								skx_plan_one_arm(skx_plan_negated_op(op)));
	if (wanted & SKX_WANT_NULL)
	{
		arms = skx_plan_or_arms(w, arms,
								skx_plan_null_arms(w, left, IS_NULL));
		arms = skx_plan_or_arms(w, arms,
								skx_plan_null_arms(w, right, IS_NULL));
	}
	return arms;
}

/*
 * Returns when `left IS DISTINCT FROM right`, of the values of two cases, has
 * one of the wanted values.  Values are compared by its operator `=`.
 */
static List *
skx_plan_distinct_arms(SkxRewriteState *w, const DistinctExpr *expr,
					   Node *left, Node *right, int wanted)
{
	List	   *left_null = skx_plan_null_arms(w, left, IS_NULL);
	List	   *right_null = skx_plan_null_arms(w, right, IS_NULL);
	List	   *arms;

	/* it is never NULL */
	wanted &= SKX_WANT_TRUE | SKX_WANT_FALSE;
	if (wanted == (SKX_WANT_TRUE | SKX_WANT_FALSE))
		return skx_plan_always_arms();
	if (wanted == 0)
		return NIL;
	arms = skx_plan_comparison_arms(w, expr->opno, expr->inputcollid, left,
									right, wanted == SKX_WANT_TRUE ?
									SKX_WANT_FALSE : SKX_WANT_TRUE);
	if (wanted == SKX_WANT_FALSE)
		return skx_plan_or_arms(w, arms, skx_plan_and_arms(w, left_null,
														   right_null));
	arms =
		skx_plan_or_arms(w, arms,
						 skx_plan_and_arms(w, left_null,
										   skx_plan_null_arms(w, right,
															  IS_NOT_NULL)));
	return skx_plan_or_arms(w, arms, skx_plan_and_arms(w, right_null,
													   skx_plan_null_arms(w, left, IS_NOT_NULL)));
}

static List *
skx_plan_case_pair_arms(SkxRewriteState *w, const OpExpr *op, Node *left,
						Node *right, int wanted)
{
	return IsA(op, DistinctExpr) ?
		skx_plan_distinct_arms(w, op, left, right, wanted) :
		skx_plan_comparison_arms(w, op->opno, op->inputcollid, left, right,
								 wanted);
}

/*
 * Returns when an operator, or IS DISTINCT FROM, has one of the wanted values,
 * over all cases of both sides.
 */
static List *
skx_plan_operator_arms(SkxRewriteState *w, const OpExpr *op, int wanted)
{
	List	   *lefts;
	List	   *rights;
	List	   *arms = NIL;
	ListCell   *a;
	ListCell   *b;

	if (list_length(op->args) != 2 || op->opretset)
		return skx_plan_rewrite_fail(w);
	lefts = skx_plan_cases_of(w, linitial(op->args));
	rights = skx_plan_cases_of(w, lsecond(op->args));
	foreach(a, lefts)
	{
		SkxCaseValue *left = lfirst(a);

		foreach(b, rights)
		{
			SkxCaseValue *right = lfirst(b);
			List	   *when = skx_plan_and_arms(w, left->arms, right->arms);

			if (when != NIL)
				when = skx_plan_and_arms(w, when,
										 skx_plan_case_pair_arms(w, op,
																 left->value,
																 right->value,
																 wanted));
			arms = skx_plan_or_arms(w, arms, when);
		}
	}
	return arms;
}

/*
 * Returns `op` with another left operand, or its negation: the negator, with
 * ALL for ANY and ANY for ALL.  Returns NULL if the operator has no negator.
 */
static Node *
skx_plan_array_operator(const ScalarArrayOpExpr *op, Node *value, bool negated)
{
	ScalarArrayOpExpr *copy = makeNode(ScalarArrayOpExpr);

	copy->opno = negated ? get_negator(op->opno) : op->opno;
	if (!OidIsValid(copy->opno))
		return NULL;
	copy->opfuncid = get_opcode(copy->opno);
	copy->useOr = op->useOr != negated;
	copy->inputcollid = op->inputcollid;
	copy->args = list_make2(value, lsecond(op->args));
	copy->location = -1;
	return (Node *) copy;
}

/*
 * Returns when `value operator ANY (array)`, or ALL, has one of the wanted
 * values, for the value of one case.
 */
static List *
skx_plan_any_arms(SkxRewriteState *w, const ScalarArrayOpExpr *op, Node *value,
				  int wanted)
{
	Const	   *array = lsecond(op->args);
	Node	   *same = skx_plan_array_operator(op, value, false);
	Node	   *negated;
	List	   *arms = NIL;

	if (skx_plan_is_without_columns(w, same))
		return skx_plan_gate_arms(w, same, wanted);
	if (wanted == SKX_WANT_TRUE)
		return skx_plan_one_arm(same);
	negated = skx_plan_array_operator(op, value, true);
	if (negated == NULL || skx_plan_is_null(value))
		return skx_plan_rewrite_fail(w);
	if (wanted == SKX_WANT_FALSE)
		return skx_plan_one_arm(negated);
	if (!skx_plan_covers_all_values(w, op->opno) || !IsA(array, Const) ||
		array->constisnull ||
		array_contains_nulls(DatumGetArrayTypeP(array->constvalue)))
		return skx_plan_rewrite_fail(w);
	/* without elements the result is the same for NULL as for any value */
	if (ArrayGetNItems(ARR_NDIM(DatumGetArrayTypeP(array->constvalue)),
					   ARR_DIMS(DatumGetArrayTypeP(array->constvalue))) == 0)
		return (wanted & (op->useOr ? SKX_WANT_FALSE : SKX_WANT_TRUE)) ?
			skx_plan_always_arms() : NIL;
	if ((wanted & ~SKX_WANT_NULL) == (SKX_WANT_TRUE | SKX_WANT_FALSE))
		return skx_plan_null_arms(w, value, IS_NOT_NULL);
	if (wanted & ~SKX_WANT_NULL)
		arms = skx_plan_one_arm((wanted & SKX_WANT_TRUE) ? same : negated);
	return skx_plan_or_arms(w, arms,
							skx_plan_null_arms(w, value, IS_NULL));
}

static List *
skx_plan_any_operator_arms(SkxRewriteState *w, const ScalarArrayOpExpr *op,
						   int wanted)
{
	List	   *arms = NIL;
	ListCell   *lc;

	foreach(lc, skx_plan_cases_of(w, linitial(op->args)))
	{
		SkxCaseValue *one = lfirst(lc);

		arms =
			skx_plan_or_arms(w, arms,
							 skx_plan_and_arms(w, one->arms,
											   skx_plan_any_arms(w, op,
																 one->value,
																 wanted)));
	}
	return arms;
}

/* ---- cases ---- */

static List *
skx_plan_add_case(List *cases, List *when, Node *value)
{
	SkxCaseValue *one;

	if (when == NIL)
		return cases;
	one = palloc(sizeof(SkxCaseValue));
	one->arms = when;
	one->value = value;
	return lappend(cases, one);
}

/*
 * Returns true if it depends on the row whether the part is computed (`rows`),
 * and the part has a value that may raise an error.  A scan would compute that
 * value in any case.
 */
static bool
skx_plan_part_may_fail(SkxRewriteState *w, bool rows, Node *part)
{
	return rows && skx_plan_has_part_that_may_fail(&w->key, part);
}

/*
 * Returns the cases of coalesce: the first argument that is not NULL, or NULL.
 */
static List *
skx_plan_coalesce_cases(SkxRewriteState *w, const CoalesceExpr *coalesce)
{
	List	   *left = skx_plan_always_arms();
	List	   *cases = NIL;
	bool		rows = false;
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, coalesce->args)
	{
		List	   *null = NIL;

		if (skx_plan_part_may_fail(w, rows, lfirst(lc)))
			return skx_plan_rewrite_fail(w);
		rows = rows || !skx_plan_is_without_columns(w, lfirst(lc));
		foreach(inner, skx_plan_cases_of(w, lfirst(lc)))
		{
			SkxCaseValue *one = lfirst(inner);
			List	   *when = skx_plan_and_arms(w, left, one->arms);

			cases = skx_plan_add_case(cases, skx_plan_and_arms(w, when, skx_plan_null_arms(w, one->value, IS_NOT_NULL)), one->value);
			null = skx_plan_or_arms(w, null, skx_plan_and_arms(w, when, skx_plan_null_arms(w, one->value, IS_NULL)));
		}
		left = null;
	}
	return skx_plan_add_case(cases, left, (Node *)
							 makeNullConst(coalesce->coalescetype, -1,
										   coalesce->coalescecollid));
}

/*
 * Returns the cases of nullif: NULL where the first argument is equal to the
 * second, else the first.
 */
static List *
skx_plan_nullif_cases(SkxRewriteState *w, const NullIfExpr *nullif)
{
	Node	   *other = lsecond(nullif->args);
	List	   *cases = NIL;
	ListCell   *lc;

	foreach(lc, skx_plan_cases_of(w, linitial(nullif->args)))
	{
		SkxCaseValue *one = lfirst(lc);
		List	   *equal = skx_plan_comparison_arms(w, nullif->opno,
													 nullif->inputcollid,
													 one->value, other,
													 SKX_WANT_TRUE);
		List	   *differs = skx_plan_comparison_arms(w, nullif->opno,
													   nullif->inputcollid,
													   one->value, other,
													   SKX_WANT_FALSE |
													   SKX_WANT_NULL);

		cases = skx_plan_add_case(cases,
								  skx_plan_and_arms(w, one->arms, differs),
								  one->value);
		cases = skx_plan_add_case(cases,
								  skx_plan_and_arms(w, one->arms, equal),
								  (Node *) makeNullConst(exprType(one->value), -1,
														 exprCollation(one->value)));
	}
	return cases;
}

/* Adds the cases of one result of a CASE. */
static List *
skx_plan_add_result(SkxRewriteState *w, List *cases, List *when, Node *result)
{
	ListCell   *lc;

	foreach(lc, skx_plan_cases_of(w, result))
	{
		SkxCaseValue *one = lfirst(lc);

		cases = skx_plan_add_case(cases,
								  skx_plan_and_arms(w, when, one->arms),
								  one->value);
	}
	return cases;
}

/*
 * Returns the test of a WHEN, with the value of the CASE put in, if it has
 * one.  Returns NULL if the value would be in another place.  For a boolean
 * the server may have made `value = true` the value itself.
 */
static Node *
skx_plan_case_test(Node *test, Node *value)
{
	OpExpr	   *op;

	if (value == NULL)
		return test;
	if (IsA(test, CaseTestExpr))
		return value;
	if (is_notclause(test) &&
		IsA(get_notclausearg((Expr *) test), CaseTestExpr))
		return (Node *) make_notclause((Expr *) value);
	if (!IsA(test, OpExpr) || list_length(((OpExpr *) test)->args) != 2 ||
		!IsA(skx_plan_unrelabel(linitial(((OpExpr *) test)->args)),
			 CaseTestExpr))
		return NULL;
	op = makeNode(OpExpr);
	*op = *(OpExpr *) test;
	op->args = list_make2(skx_plan_apply_relabel(linitial(op->args), value),
						  lsecond(op->args));
	return (Node *) op;
}

static List *
skx_plan_case_expr_cases(SkxRewriteState *w, const CaseExpr *expr)
{
	List	   *left = skx_plan_always_arms();
	List	   *cases = NIL;
	bool		rows = false;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		CaseWhen   *one = lfirst_node(CaseWhen, lc);
		Node	   *test = skx_plan_case_test((Node *) one->expr,
											  (Node *) expr->arg);

		if (test == NULL || skx_plan_part_may_fail(w, rows, test))
			return skx_plan_rewrite_fail(w);
		rows = rows || !skx_plan_is_without_columns(w, test);
		if (skx_plan_part_may_fail(w, rows, (Node *) one->result))
			return skx_plan_rewrite_fail(w);
		cases = skx_plan_add_result(w, cases, skx_plan_and_arms(w, left, skx_plan_arms(w, test, SKX_WANT_TRUE)), (Node *) one->result);
		left = skx_plan_and_arms(w, left,
								 skx_plan_arms(w, test,
											   SKX_WANT_FALSE |
											   SKX_WANT_NULL));
	}
	if (skx_plan_part_may_fail(w, rows, (Node *) expr->defresult))
		return skx_plan_rewrite_fail(w);
	return skx_plan_add_result(w, cases, left, (Node *) expr->defresult);
}

/*
 * Returns the cases of a cast that changes no bytes: those of its argument,
 * with the values cast.
 */
static List *
skx_plan_relabel_cases(SkxRewriteState *w, const RelabelType *relabel)
{
	List	   *cases = skx_plan_cases_of(w, (Node *) relabel->arg);
	ListCell   *lc;

	foreach(lc, cases)
	{
		SkxCaseValue *one = lfirst(lc);
		RelabelType *copy = makeNode(RelabelType);

		*copy = *relabel;
		copy->arg = (Expr *) one->value;
		one->value = IsA(one->value, Const) ?
			eval_const_expressions(w->key.root, (Node *) copy) :
			(Node *) copy;
	}
	return cases;
}

static List *
skx_plan_cases_of(SkxRewriteState *w, Node *expr)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (w->has_failed || w->steps++ > SKX_REWRITE_STEPS_MAX)
		return skx_plan_rewrite_fail(w);
	if (skx_plan_is_without_columns(w, expr))
		return skx_plan_add_case(NIL, skx_plan_always_arms(), expr);
	switch (nodeTag(expr))
	{
		case T_CoalesceExpr:
			return skx_plan_coalesce_cases(w, (CoalesceExpr *) expr);
		case T_NullIfExpr:
			return skx_plan_nullif_cases(w, (NullIfExpr *) expr);
		case T_CaseExpr:
			return skx_plan_case_expr_cases(w, (CaseExpr *) expr);
		case T_RelabelType:
			return skx_plan_relabel_cases(w, (RelabelType *) expr);
		default:
			return skx_plan_add_case(NIL, skx_plan_always_arms(), expr);
	}
}

/* ---- conditions ---- */

static int
skx_plan_swap_values(int wanted)
{
	return (wanted & SKX_WANT_NULL) |
		(wanted & SKX_WANT_TRUE ? SKX_WANT_FALSE : 0) |
		(wanted & SKX_WANT_FALSE ? SKX_WANT_TRUE : 0);
}

/*
 * Returns when one of the arguments, or each of them if `all` is true, has one
 * of the wanted values.
 */
static List *
skx_plan_boolean_arms(SkxRewriteState *w, const List *args, int wanted,
					  bool all)
{
	List	   *arms = all ? skx_plan_always_arms() : NIL;
	ListCell   *lc;

	foreach(lc, args)
	{
		List	   *one = skx_plan_arms(w, lfirst(lc), wanted);

		arms = all ? skx_plan_and_arms(w, arms, one) :
			skx_plan_or_arms(w, arms, one);
	}
	return arms;
}

/*
 * Returns when AND or OR has one of the wanted values.  AND is false where one
 * of the arguments is, else NULL where one of them is.  OR is the same with
 * true and false swapped.
 */
static List *
skx_plan_and_or_arms(SkxRewriteState *w, const BoolExpr *expr, int wanted)
{
	bool		is_or = expr->boolop == OR_EXPR;
	int			no = is_or ? SKX_WANT_TRUE : SKX_WANT_FALSE;
	int			yes = is_or ? SKX_WANT_FALSE : SKX_WANT_TRUE;

	if (wanted == yes || wanted == (yes | SKX_WANT_NULL))
		return skx_plan_boolean_arms(w, expr->args, wanted, true);
	if (wanted == no || wanted == (no | SKX_WANT_NULL))
		return skx_plan_boolean_arms(w, expr->args, wanted, false);
	if (wanted == SKX_WANT_NULL)
		return skx_plan_and_arms(w, skx_plan_boolean_arms(w, expr->args,
														  yes | SKX_WANT_NULL,
														  true),
								 skx_plan_boolean_arms(w, expr->args,
													   SKX_WANT_NULL, false));
	return skx_plan_or_arms(w, skx_plan_boolean_arms(w, expr->args, yes,
													 true),
							skx_plan_boolean_arms(w, expr->args, no, false));
}

/*
 * Returns when `expression IS [NOT] TRUE`, FALSE or UNKNOWN has one of the
 * wanted values.  It is never NULL itself.
 */
static List *
skx_plan_boolean_test_arms(SkxRewriteState *w, const BooleanTest *test,
						   int wanted)
{
	static const int passing[] = {
		[IS_TRUE] = SKX_WANT_TRUE,[IS_NOT_TRUE] = SKX_WANT_FALSE |
		SKX_WANT_NULL,[IS_FALSE] = SKX_WANT_FALSE,[IS_NOT_FALSE] =
		SKX_WANT_TRUE | SKX_WANT_NULL,
		[IS_UNKNOWN] = SKX_WANT_NULL,[IS_NOT_UNKNOWN] =
		SKX_WANT_TRUE | SKX_WANT_FALSE
	};
	int			values = (wanted & SKX_WANT_TRUE) ?
		passing[test->booltesttype] : 0;

	if (wanted & SKX_WANT_FALSE)
		values |= SKX_WANT_ALL & ~passing[test->booltesttype];
	return skx_plan_arms(w, (Node *) test->arg, values);
}

/*
 * Returns when `expression IS [NOT] NULL` has one of the wanted values.  It is
 * never NULL itself.
 */
static List *
skx_plan_null_test_arms(SkxRewriteState *w, const NullTest *test, int wanted)
{
	NullTestType type = (wanted & SKX_WANT_TRUE) ? test->nulltesttype :
		(test->nulltesttype == IS_NULL ? IS_NOT_NULL : IS_NULL);
	List	   *arms = NIL;
	ListCell   *lc;

	wanted &= SKX_WANT_TRUE | SKX_WANT_FALSE;
	if (test->argisrow)
		return skx_plan_rewrite_fail(w);
	if (wanted == (SKX_WANT_TRUE | SKX_WANT_FALSE))
		return skx_plan_always_arms();
	if (wanted == 0)
		return NIL;
	foreach(lc, skx_plan_cases_of(w, (Node *) test->arg))
	{
		SkxCaseValue *one = lfirst(lc);

		arms =
			skx_plan_or_arms(w, arms,
							 skx_plan_and_arms(w, one->arms,
											   skx_plan_null_arms(w,
																  one->value,
																  type)));
	}
	return arms;
}

/* Returns when an expression with cases has one of the wanted values. */
static List *
skx_plan_case_value_arms(SkxRewriteState *w, Node *expr, int wanted)
{
	List	   *arms = NIL;
	ListCell   *lc;

	foreach(lc, skx_plan_cases_of(w, expr))
	{
		SkxCaseValue *one = lfirst(lc);

		arms = skx_plan_or_arms(w, arms,
								skx_plan_and_arms(w, one->arms,
												  skx_plan_arms(w, one->value,
																wanted)));
	}
	return arms;
}

/*
 * Returns when a column, or an expression of another kind, has one of the
 * wanted values.
 */
static List *
skx_plan_other_expr_arms(SkxRewriteState *w, Node *expr, int wanted)
{
	List	   *arms = NIL;

	if ((wanted & ~SKX_WANT_NULL) == (SKX_WANT_TRUE | SKX_WANT_FALSE))
		return skx_plan_one_arm(skx_plan_null_test_of(expr, IS_NOT_NULL));
	if (wanted & SKX_WANT_TRUE)
		arms = skx_plan_one_arm(expr);
	if (wanted & SKX_WANT_FALSE)
		arms =
			skx_plan_or_arms(w, arms,
							 skx_plan_one_arm(make_notclause((Expr *) expr)));
	if (wanted & SKX_WANT_NULL)
		arms =
			skx_plan_or_arms(w, arms,
							 skx_plan_one_arm(skx_plan_null_test_of(expr,
																	IS_NULL)));
	return arms;
}

/* Returns when the expression has one of the wanted values, as arms. */
static List *
skx_plan_arms(SkxRewriteState *w, Node *expr, int wanted)
{
	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (w->has_failed || w->steps++ > SKX_REWRITE_STEPS_MAX)
		return skx_plan_rewrite_fail(w);
	if (wanted == 0 || wanted == SKX_WANT_ALL)
		return wanted == 0 ? NIL : skx_plan_always_arms();
	if (skx_plan_is_without_columns(w, expr))
		return skx_plan_gate_arms(w, expr, wanted);
	if (is_notclause(expr))
		return skx_plan_arms(w, (Node *) get_notclausearg((Expr *) expr),
							 skx_plan_swap_values(wanted));
	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return skx_plan_and_or_arms(w, (BoolExpr *) expr, wanted);
		case T_BooleanTest:
			return skx_plan_boolean_test_arms(w, (BooleanTest *) expr, wanted);
		case T_NullTest:
			return skx_plan_null_test_arms(w, (NullTest *) expr, wanted);
		case T_OpExpr:
		case T_DistinctExpr:
			return skx_plan_operator_arms(w, (OpExpr *) expr, wanted);
		case T_ScalarArrayOpExpr:
			return skx_plan_any_operator_arms(w, (ScalarArrayOpExpr *) expr,
											  wanted);
		case T_CoalesceExpr:
		case T_NullIfExpr:
		case T_CaseExpr:
			return skx_plan_case_value_arms(w, expr, wanted);
		default:
			return skx_plan_other_expr_arms(w, expr, wanted);
	}
}

/* ---- as a condition ---- */

/* Returns true if the expression is of a kind that has cases. */
static bool
skx_plan_has_cases(Node *expr)
{
	expr = skx_plan_unrelabel(expr);
	return IsA(expr, CoalesceExpr) || IsA(expr, NullIfExpr) ||
		IsA(expr, CaseExpr);
}

bool
skx_plan_may_rewrite(const Node *clause)
{
	switch (nodeTag(clause))
	{
		case T_BoolExpr:
		case T_BooleanTest:
		case T_DistinctExpr:
		case T_CoalesceExpr:
		case T_NullIfExpr:
		case T_CaseExpr:
			return true;
		case T_NullTest:
			return !IsA(((const NullTest *) clause)->arg, Var);
		case T_OpExpr:
			return list_length(((const OpExpr *) clause)->args) == 2 &&
				(skx_plan_has_cases(linitial(((const OpExpr *) clause)->args)) ||
				 skx_plan_has_cases(lsecond(((const OpExpr *) clause)->args)));
		case T_ScalarArrayOpExpr:
			return skx_plan_has_cases(linitial(((const ScalarArrayOpExpr *) clause)->args));
		default:
			return false;
	}
}

static Expr *
skx_plan_arm_expr(List *arm)
{
	return list_length(arm) == 1 ? linitial(arm) : make_andclause(arm);
}

RestrictInfo *
skx_plan_rewrite_condition(PlannerInfo *root, IndexOptInfo *index,
						   const RestrictInfo *rinfo)
{
	SkxRewriteState w = {{root, index, 0}};
	List	   *arms;
	List	   *exprs = NIL;
	Expr	   *expr;
	ListCell   *lc;

	if (!skx_plan_may_rewrite((Node *) rinfo->clause))
		return NULL;
	arms = skx_plan_arms(&w, (Node *) rinfo->clause, SKX_WANT_TRUE);
	if (w.has_failed || arms == NIL || skx_plan_arms_are_always(arms))
		return NULL;
	foreach(lc, arms)
	{
		exprs = lappend(exprs, skx_plan_arm_expr(lfirst(lc)));
	}
	/* a conjunction cannot be a RestrictInfo, but it can be the only arm */
	expr = list_length(exprs) == 1 && !is_andclause(linitial(exprs)) ?
		linitial(exprs) : make_orclause(exprs);
	if (equal(expr, rinfo->clause) ||
		(rinfo->security_level > index->rel->baserestrict_min_security &&
		 skx_plan_leaks((Node *) expr)))
		return NULL;
	return make_simple_restrictinfo(root, expr);
}
