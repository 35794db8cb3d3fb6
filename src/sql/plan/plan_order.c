/*
 * plan_order.c
 *	  Expressions ordered like a distance, and conditions that bound it.
 *
 * A sort key may be the distance itself, or a monotone function of it, such as
 * the score: ORDER BY -(tsv <@> query) DESC.  A condition like tsv <@> query <
 * -8 is true for the first rows of a ranked scan.  Once it is not, it is true
 * for none after them.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_internal.h"
#include "support/compat/compat_planner.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* Returns the only argument of a function or prefix operator, else NULL. */
static Node *
skx_plan_argument(Node *expr, Oid *function)
{
	List	   *args = NIL;

	if (IsA(expr, FuncExpr))
	{
		*function = ((FuncExpr *) expr)->funcid;
		args = ((FuncExpr *) expr)->args;
	}
	else if (IsA(expr, OpExpr))
	{
		*function = get_opcode(((OpExpr *) expr)->opno);
		args = ((OpExpr *) expr)->args;
	}
	return list_length(args) == 1 ? linitial(args) : NULL;
}

/*
 * Returns an expression without its casts to double precision and changes of
 * sign.  *falls becomes true if the expression falls where the result rises.
 * Values that differ still differ after all of these.
 */
static Node *
skx_plan_strip_casts_and_sign(Node *expr, bool *falls)
{
	Oid			function;
	Node	   *argument;

	*falls = false;
	while ((argument = skx_plan_argument(expr, &function)) != NULL)
	{
		if (function == F_FLOAT4UM || function == F_FLOAT8UM)
			*falls = !*falls;
		else if (function != F_FLOAT8_FLOAT4 && function != F_FLOAT4UP &&
				 function != F_FLOAT8UP)
			return expr;
		expr = argument;
	}
	return expr;
}

bool
skx_plan_is_distance(const IndexOptInfo *index, Node *expr, Oid family)
{
	OpExpr	   *op = (OpExpr *) expr;

	return IsA(expr, OpExpr) && list_length(op->args) == 2 &&
		get_op_opfamily_sortfamily(op->opno, index->opfamily[0]) == family &&
		match_index_to_operand(linitial(op->args), 0,
							   unconstify(IndexOptInfo *, index)) &&
		!contain_var_clause(lsecond(op->args)) &&
		!contain_volatile_functions(lsecond(op->args));
}

/*
 * Returns true if the condition is not true where the document of the distance
 * is NULL.
 */
static bool
skx_plan_is_strict(const IndexOptInfo *index, Node *clause,
				   const OpExpr *distance)
{
	Node	   *document = linitial(distance->args);

	if (IsA(clause, NullTest))
		return ((NullTest *) clause)->nulltesttype == IS_NOT_NULL &&
			equal(((NullTest *) clause)->arg, document);
	return skx_plan_is_bound(clause, distance) ||
		skx_plan_matched_query(clause, document, index->opfamily[0]) != NULL;
}

/*
 * Returns false if the distance may be NULL in some rows and not in others.
 * It is in no row if the column is NOT NULL, or if a condition is not true for
 * NULL.
 */
static bool
skx_plan_is_never_null(PlannerInfo *root, const IndexOptInfo *index,
					   const OpExpr *distance)
{
	RelOptInfo *rel = index->rel;
	ListCell   *lc;

	if (index->indexkeys[0] > 0 &&
		skx_compat_is_not_null(rel, planner_rt_fetch(rel->relid, root)->relid,
							   index->indexkeys[0]))
		return true;
	foreach(lc, rel->baserestrictinfo)
	{
		if (skx_plan_is_strict(index,
							   (Node *) lfirst_node(RestrictInfo, lc)->clause,
							   distance))
			return true;
	}
	return false;
}

OpExpr *
skx_plan_key_distance(PlannerInfo *root, const IndexOptInfo *index,
					  const PathKey *key)
{
	ListCell   *lc;

	if (key->pk_eclass->ec_has_volatile)
		return NULL;
	foreach(lc, skx_compat_class_members(key->pk_eclass, index->rel))
	{
		EquivalenceMember *member = lfirst(lc);
		bool		falls;
		Node	   *expr;

		expr = skx_plan_strip_casts_and_sign((Node *) member->em_expr, &falls);
		if (falls != skx_compat_pathkey_ascends(key) &&
			skx_plan_is_distance(index, expr, key->pk_opfamily) &&
			(!key->pk_nulls_first ||
			 skx_plan_is_never_null(root, index, (OpExpr *) expr)))
			return (OpExpr *) expr;
	}
	return NULL;
}

/*
 * Returns the btree operator family of numbers, by which distances are sorted,
 * too.
 */
static Oid
skx_plan_float_family(void)
{
	return lookup_type_cache(FLOAT8OID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

bool
skx_plan_is_bound(Node *clause, const OpExpr *distance)
{
	OpExpr	   *op = (OpExpr *) clause;
	Oid			operator = op->opno;
	bool		falls;
	bool		left;
	int			strategy;

	if (!IsA(clause, OpExpr) || list_length(op->args) != 2)
		return false;
	left = equal(skx_plan_strip_casts_and_sign(linitial(op->args), &falls),
				 distance);
	if (!left)
	{
		operator = get_commutator(operator);
		if (!OidIsValid(operator) ||
			!equal(skx_plan_strip_casts_and_sign(lsecond(op->args), &falls),
				   distance))
			return false;
	}
	if (!skx_plan_is_simple(left ? lsecond(op->args) : linitial(op->args)))
		return false;
	strategy = get_op_opfamily_strategy(operator, skx_plan_float_family());
	if (falls)
		return strategy == BTGreaterStrategyNumber ||
			strategy == BTGreaterEqualStrategyNumber;
	return strategy == BTLessStrategyNumber ||
		strategy == BTLessEqualStrategyNumber;
}

double
skx_plan_least_score(PlannerInfo *root, Node *clause,
					 const OpExpr *distance)
{
	Node	   *left = linitial(((OpExpr *) clause)->args);
	Node	   *right = lsecond(((OpExpr *) clause)->args);
	bool		falls;
	bool		commuted = !equal(skx_plan_strip_casts_and_sign(left, &falls),
								  distance);
	Const	   *value;
	double		bound = 0;

	if (commuted)
		(void) skx_plan_strip_casts_and_sign(right, &falls);
	value = skx_cost_planned_value(root, commuted ? left : right);
	if (value == NULL || value->constisnull)
		return 0;
	if (value->consttype == FLOAT8OID)
		bound = DatumGetFloat8(value->constvalue);
	else if (value->consttype == FLOAT4OID)
		bound = DatumGetFloat4(value->constvalue);
	return Max(falls ? bound : -bound, 0);
}

OpExpr *
skx_plan_bounded_distance(const IndexOptInfo *index, Node *clause)
{
	ListCell   *lc;

	if (!IsA(clause, OpExpr))
		return NULL;
	foreach(lc, ((OpExpr *) clause)->args)
	{
		bool		falls;
		Node	   *expr = skx_plan_strip_casts_and_sign(lfirst(lc), &falls);

		if (IsA(expr, OpExpr) &&
			skx_plan_is_distance(index, expr, skx_plan_float_family()) &&
			skx_plan_is_bound(clause, (OpExpr *) expr))
			return (OpExpr *) expr;
	}
	return NULL;
}

static Node *
skx_plan_unscored_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (equal(node, context))
		return (Node *) makeConst(FLOAT4OID, -1, InvalidOid, sizeof(float4),
								  Float4GetDatum(0), false, true);
	return expression_tree_mutator(node, skx_plan_unscored_mutator,
								   context);
}

bool
skx_plan_needs_score(PlannerInfo *root, Node *clause, OpExpr *distance)
{
	Const	   *met = skx_cost_planned_value(root,
											 skx_plan_unscored_mutator(clause,
																	   distance));

	return met != NULL && (met->constisnull || !DatumGetBool(met->constvalue));
}
