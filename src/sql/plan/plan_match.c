/*
 * plan_match.c
 *	  Recognises conditions `document @@ query`.
 */
#include "postgres.h"

#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "sql/plan/plan_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/lsyscache.h"

bool
skx_plan_is_simple(Node *expr)
{
	return expr == NULL ||
		(!contain_subplans(expr) && !contain_volatile_functions(expr) &&
		 !contain_var_clause(expr));
}

bool
skx_plan_is_match_operator(Oid operator, Oid family)
{
	int			strategy = get_op_opfamily_strategy(operator, family);

	return strategy == SKX_STRATEGY_MATCH ||
		strategy == SKX_STRATEGY_MATCH_OLD;
}

Node *
skx_plan_matched_query(Node *clause, Node *document, Oid family)
{
	OpExpr	   *op = (OpExpr *) clause;
	Node	   *left;
	Node	   *right;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return NULL;
	left = linitial(op->args);
	right = lsecond(op->args);
	if (skx_plan_is_match_operator(op->opno, family))
		return equal(left, document) && skx_plan_is_simple(right) ?
			right : NULL;
	if (OidIsValid(get_commutator(op->opno)) &&
		skx_plan_is_match_operator(get_commutator(op->opno), family))
		return equal(right, document) && skx_plan_is_simple(left) ?
			left : NULL;
	return NULL;
}

bool
skx_plan_ref_ranks_by(Node *query, const OpExpr *distance, Oid family)
{
	Node	   *ref = lsecond(distance->args);

	if (skx_score_is_by_value(distance->opno, family))
		return false;
	if (IsA(ref, Const) && IsA(query, Const))
	{
		TSQuery		filter;
		TSQuery		ranking;

		if (((Const *) ref)->constisnull || ((Const *) query)->constisnull)
			return false;
		filter = DatumGetTSQuery(((Const *) query)->constvalue);
		ranking = SkxRefQuery((SkxRef *)
							  DatumGetPointer(((Const *) ref)->constvalue));
		return filter->size > 0 && skx_score_same_query(filter, ranking) &&
			tsquery_requires_match(GETQUERY(filter));
	}
	return IsA(ref, FuncExpr) && ((FuncExpr *) ref)->args != NIL &&
		equal(linitial(((FuncExpr *) ref)->args), query);
}
