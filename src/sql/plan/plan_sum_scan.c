/*
 * plan_sum_scan.c
 *	  The terms that are added to a distance, computed from keys at run time.
 *
 * The server evaluates the very calls of the statement, with the value of the
 * key in place of the column.  So they have the bits that they have in a row,
 * and the errors.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "index/column/column_key.h"
#include "nodes/nodeFuncs.h"
#include "nodes/value.h"
#include "sql/plan/plan_sum.h"
#include "support/compat/compat_planner.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/* A term at run time. */
typedef struct SkxSumState
{
	ExprState  *value;
	ExprState  *peak;			/* the same as `value`, but for skipidx_near() */
	Oid			type;			/* of the column, a base type */
} SkxSumState;

/* The prior, and what computes its terms. */
typedef struct SkxPlanPrior
{
	SkxTopkPrior prior;			/* first */
	ExprContext *econtext;
	SkxSumState terms[SKX_PRIOR_TERMS_MAX];
} SkxPlanPrior;

/* Evaluates a term with a value in place of its column. */
static float
skx_sum_evaluate(const SkxPlanPrior *sum, ExprState *state, Datum value,
				 bool isnull)
{
	ExprContext *econtext = sum->econtext;
	bool		result_is_null;
	Datum		result;

	econtext->caseValue_datum = value;
	econtext->caseValue_isNull = isnull;
	result = ExecEvalExprSwitchContext(state, econtext, &result_is_null);
	ResetExprContext(econtext);
	if (result_is_null)
		elog(ERROR, "a term of an order by distance is NULL");
	return DatumGetFloat4(result);
}

static Datum
skx_sum_decode(const SkxPlanPrior *sum, int i, uint64 key)
{
	return skx_column_key_decode(&sum->prior.columns.columns[i],
								 sum->terms[i].type, key);
}

static float
skx_sum_term(const SkxTopkPrior *prior, int i, const SkxKey *key)
{
	const SkxPlanPrior *sum = (const SkxPlanPrior *) prior;

	return skx_sum_evaluate(sum, sum->terms[i].value,
							key->is_null ? (Datum) 0 :
							skx_sum_decode(sum, i, key->value), key->is_null);
}

static void
skx_sum_widen(SkxPriorRange *range, float value)
{
	range->least = Min(range->least, value);
	range->most = Max(range->most, value);
}

/*
 * NaN counts as NULL and comes after all numbers, so the values before it are
 * bounded by infinity.
 */
static void
skx_sum_bound_term(const SkxTopkPrior *prior, int i, uint64 least,
				   uint64 most, SkxPriorRange *range)
{
	const SkxPlanPrior *sum = (const SkxPlanPrior *) prior;
	const SkxSumState *term = &sum->terms[i];
	Datum		last = skx_sum_decode(sum, i, most);

	if (term->type == FLOAT8OID && isnan(DatumGetFloat8(last)))
		last = Float8GetDatum(get_float8_infinity());
	if (term->type == FLOAT4OID && isnan(DatumGetFloat4(last)))
		last = Float4GetDatum(get_float4_infinity());
	range->least = range->most = skx_sum_evaluate(sum, term->value, (Datum) 0,
												  true);
	if (least > most)
		return;
	skx_sum_widen(range, skx_sum_evaluate(sum, term->value,
										  skx_sum_decode(sum, i, least),
										  false));
	skx_sum_widen(range, skx_sum_evaluate(sum, term->value, last, false));
	if (term->peak != term->value)
		skx_sum_widen(range, skx_sum_evaluate(sum, term->peak, (Datum) 0,
											  true));
}

/* Fills in the columns of the index that the terms are of. */
static void
skx_sum_fill_columns(SkxPlanPrior *sum, Relation index, const List *columns)
{
	SkxKeyColumns keys;
	SkxKeyColumns *own = &sum->prior.columns;
	ListCell   *lc;
	int			i;

	skx_column_key_columns(index, &keys);
	foreach(lc, columns)
	{
		for (i = 0; i < keys.n && keys.columns[i].column != lfirst_int(lc);)
			i++;
		if (i == keys.n)
			elog(ERROR, "column %d of index \"%s\" has no keys",
				 lfirst_int(lc) + 1, RelationGetRelationName(index));
		sum->terms[own->n].type =
			getBaseType(TupleDescAttr(RelationGetDescr(index),
									  lfirst_int(lc))->atttypid);
		own->columns[own->n++] = keys.columns[i];
	}
}

/* Returns true if the scan has an expression of a distance and values. */
static bool
skx_sum_is_planned(const SkxPlanNode *node)
{
	const CustomScan *scan = castNode(CustomScan, node->css.ss.ps.plan);

	return list_length(scan->custom_exprs) > SKX_EXPR_PEAKS;
}

void
skx_plan_sum_explain(SkxPlanNode *node, ExplainState *es)
{
	Oid			index = castNode(IndexScan, skx_plan_node_child(node, 0)->
								 ss.ps.plan)->indexid;
	List	   *names = NIL;
	ListCell   *lc;

	if (!skx_sum_is_planned(node))
		return;
	foreach(lc, (List *) skx_plan_node_private(node, SKX_RANKED_COLUMNS))
		names = list_append_unique(names,
								   makeString(get_attname(index,
														  lfirst_int(lc) + 1,
														  false)));
	foreach(lc, names)
		lfirst(lc) = strVal(lfirst(lc));
	ExplainPropertyList("Values Added", names, es);
}

const SkxTopkPrior *
skx_plan_sum_begin(SkxPlanNode *node)
{
	const CustomScan *scan = castNode(CustomScan, node->css.ss.ps.plan);
	PlanState  *parent = &node->css.ss.ps;
	const List *terms;
	const List *peaks;
	const List *steps;
	SkxPlanPrior *sum;
	Relation	index = skx_plan_node_child(node, 0)->iss_RelationDesc;
	ListCell   *lc;
	int			i;

	if (!skx_sum_is_planned(node) || index == NULL)
		return NULL;
	terms = list_nth(scan->custom_exprs, SKX_EXPR_TERMS);
	peaks = list_nth(scan->custom_exprs, SKX_EXPR_PEAKS);
	steps = (List *) skx_plan_node_private(node, SKX_RANKED_STEPS);
	sum = palloc0(sizeof(SkxPlanPrior));
	sum->econtext = CreateExprContext(parent->state);
	foreach(lc, steps)
		sum->prior.sum.steps[sum->prior.sum.nsteps++] = lfirst_int(lc);
	skx_sum_fill_columns(sum, index,
						 (List *) skx_plan_node_private(node,
														SKX_RANKED_COLUMNS));
	for (i = 0; i < list_length(terms); i++)
	{
		SkxSumState *term = &sum->terms[i];

		term->value = term->peak = ExecInitExpr(list_nth(terms, i), parent);
		if (!equal(list_nth(terms, i), list_nth(peaks, i)))
			term->peak = ExecInitExpr(list_nth(peaks, i), parent);
	}
	sum->prior.term = skx_sum_term;
	sum->prior.bound_term = skx_sum_bound_term;
	return &sum->prior;
}
