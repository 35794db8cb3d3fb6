/*
 * plan_sum.c
 *	  ORDER BY a distance to which values of columns add.
 *
 * (tsv <@> query) + skipidx_recency(sent, ...) is float4 arithmetic on the
 * distance and on functions of a value of the row.  Where the index has the
 * value as a key, it finds the first rows by the whole expression.  Anything
 * that is not recognised here is sorted, as any other expression is.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "index/column/column_key.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "sql/plan/plan_custom.h"
#include "sql/plan/plan_sum.h"
#include "support/compat/compat_planner.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

/* Units of cpu_operator_cost for the values of one match. */
#define SKX_SUM_COST_TERM		10

/* A term of the expression. */
typedef struct SkxSumTerm
{
	int			column;			/* of the index, from 0 */
	Node	   *value;			/* as in SKX_SUM_TERMS and SKX_SUM_PEAKS */
	Node	   *peak;
} SkxSumTerm;

/* The expression while it is recognised. */
typedef struct SkxSumWalk
{
	const IndexOptInfo *index;
	Oid			family;			/* by which the sort key sorts */
	OpExpr	   *distance;		/* NULL: not found yet */
	bool		has_distance;	/* it is among the steps */
	int			nsteps;
	int			steps[SKX_PRIOR_STEPS_MAX];
	int			nterms;
	SkxSumTerm	terms[SKX_PRIOR_TERMS_MAX];
} SkxSumWalk;

/* Names of the functions whose values are terms. */
static const char *const skx_sum_functions[] = {
	"skipidx_recency", "skipidx_decay", "skipidx_near", "skipidx_saturation",
	"skipidx_log1p", "skipidx_boost"
};

#define SKX_SUM_DECAY	1
#define SKX_SUM_NEAR	2

/*
 * Returns the number in skx_sum_functions of the function that is called; -1
 * if it is none of them.
 */
static int
skx_sum_function(const FuncExpr *call)
{
	const char *name;
	int			i;

	if (call->funcid < FirstNormalObjectId ||
		call->funcresulttype != FLOAT4OID || list_length(call->args) < 2)
		return -1;
	name = get_func_name(call->funcid);
	for (i = 0; name != NULL && i < lengthof(skx_sum_functions); i++)
	{
		if (strcmp(name, skx_sum_functions[i]) == 0)
			return i;
	}
	return -1;
}

/*
 * Returns the column (from 0) of the index that the expression is, if its keys
 * tell its values; 0 if there is none.
 */
static int
skx_sum_column(const IndexOptInfo *index, Node *expr)
{
	int			i;

	for (i = 1; i < index->nkeycolumns; i++)
	{
		SkxKeyColumn keys;

		if (match_index_to_operand(expr, i, unconstify(IndexOptInfo *, index)))
			return skx_plan_fill_key_column(index, i, &keys) &&
				skx_column_key_decodes_equal(&keys,
											 getBaseType(exprType(expr))) ?
				i : 0;
	}
	return 0;
}

/* Returns true if the function is a cast that keeps the order of numbers. */
static bool
skx_sum_is_cast(const FuncExpr *call)
{
	return call->funcid == F_FLOAT8_INT2 || call->funcid == F_FLOAT8_INT4 ||
		call->funcid == F_FLOAT8_INT8 || call->funcid == F_FLOAT8_FLOAT4;
}

/* Returns a copy of a call with another first argument. */
static Node *
skx_sum_call_of(const FuncExpr *call, Node *argument)
{
	FuncExpr   *copy = (FuncExpr *) copyObject(call);

	linitial(copy->args) = copyObject(argument);
	return (Node *) copy;
}

/* Returns an expression for the value of a column. */
static Node *
skx_sum_placeholder(Node *column)
{
	CaseTestExpr *value = makeNode(CaseTestExpr);

	value->typeId = exprType(column);
	value->typeMod = exprTypmod(column);
	value->collation = exprCollation(column);
	return (Node *) value;
}

/*
 * Adds a call of one of the functions.  Returns false if its value is not that
 * of a column, or may differ in another way from row to row.
 */
static bool
skx_sum_add_term(SkxSumWalk *walk, const FuncExpr *call)
{
	int			function = skx_sum_function(call);
	SkxSumTerm *term = &walk->terms[walk->nterms];
	Node	   *value;
	Node	   *place;
	int			i;

	if (function < 0 || walk->nterms == SKX_PRIOR_TERMS_MAX ||
		get_func_namespace(call->funcid) !=
		get_func_namespace(get_opcode(walk->distance->opno)))
		return false;
	for (i = 1; i < list_length(call->args); i++)
	{
		if (!skx_plan_is_simple(list_nth(call->args, i)))
			return false;
	}
	value = linitial(call->args);
	term->column = skx_sum_column(walk->index, value);
	if (term->column == 0 && IsA(value, FuncExpr) &&
		skx_sum_is_cast((FuncExpr *) value))
	{
		Node	   *column = linitial(((FuncExpr *) value)->args);

		term->column = skx_sum_column(walk->index, column);
		place = skx_sum_call_of((FuncExpr *) value,
								skx_sum_placeholder(column));
	}
	else
		place = skx_sum_placeholder(value);
	if (term->column == 0)
		return false;
	term->value = skx_sum_call_of(call, place);
	term->peak = function != SKX_SUM_NEAR ? term->value :
		skx_sum_call_of(call, lsecond(call->args));
	walk->steps[walk->nsteps++] = SKX_PRIOR_TERM + walk->nterms++;
	return true;
}

/* Returns what the operator does as a step; SKX_PRIOR_TERM if it is none. */
static int
skx_sum_operator(const Node *expr)
{
	const OpExpr *op = (const OpExpr *) expr;

	if (!IsA(expr, OpExpr) || list_length(op->args) != 2)
		return SKX_PRIOR_TERM;
	switch (op->opfuncid)
	{
		case F_FLOAT4PL:
			return SKX_PRIOR_ADD;
		case F_FLOAT4MI:
			return SKX_PRIOR_SUBTRACT;
		case F_FLOAT4MUL:
			return SKX_PRIOR_MULTIPLY;
		default:
			return SKX_PRIOR_TERM;
	}
}

static bool
skx_sum_is_decay(const Node *expr)
{
	return IsA(expr, FuncExpr) &&
		skx_sum_function((const FuncExpr *) expr) == SKX_SUM_DECAY;
}

/*
 * Returns the distance in the expression, where a lower one makes the whole
 * lower; NULL if there is none.
 */
static OpExpr *
skx_sum_find_distance(const SkxSumWalk *walk, Node *expr)
{
	const List *args = ((OpExpr *) expr)->args;
	OpExpr	   *found;
	int			operator = skx_sum_operator(expr);

	check_stack_depth();
	if (operator == SKX_PRIOR_TERM)
		return skx_plan_is_distance(walk->index, expr, walk->family) ?
			(OpExpr *) expr : NULL;
	found = skx_sum_find_distance(walk, linitial(args));
	if (found != NULL || operator == SKX_PRIOR_SUBTRACT)
		return found;
	return skx_sum_find_distance(walk, lsecond(args));
}

/*
 * Adds the steps of the expression.  Returns false if they are not recognised.
 * Of a product the second operand becomes the decay; products commute.
 */
static bool
skx_sum_walk(SkxSumWalk *walk, Node *expr)
{
	int			operator = skx_sum_operator(expr);
	Node	   *left;
	Node	   *right;

	check_stack_depth();
	if (walk->nsteps == SKX_PRIOR_STEPS_MAX)
		return false;
	if (IsA(expr, FuncExpr))
		return skx_sum_add_term(walk, (FuncExpr *) expr);
	if (expr == (Node *) walk->distance && !walk->has_distance)
	{
		walk->has_distance = true;
		walk->steps[walk->nsteps++] = SKX_PRIOR_DISTANCE;
		return true;
	}
	if (operator == SKX_PRIOR_TERM)
		return false;
	left = linitial(((OpExpr *) expr)->args);
	right = lsecond(((OpExpr *) expr)->args);
	if (operator == SKX_PRIOR_MULTIPLY && !skx_sum_is_decay(right))
	{
		Node	   *decay = left;

		left = right;
		right = decay;
	}
	if ((operator == SKX_PRIOR_MULTIPLY && !skx_sum_is_decay(right)) ||
		!skx_sum_walk(walk, left) || !skx_sum_walk(walk, right) ||
		walk->nsteps == SKX_PRIOR_STEPS_MAX)
		return false;
	walk->steps[walk->nsteps++] = operator;
	return true;
}

/* Returns true if the index may order by the expression. */
static bool
skx_sum_recognise(SkxSumWalk *walk, Node *expr)
{
	walk->distance = skx_sum_find_distance(walk, expr);
	return walk->distance != NULL && skx_sum_walk(walk, expr);
}

/*
 * Recognises a sort key.  Returns its expression, or NULL if it is none of
 * these.
 */
static Node *
skx_sum_of_key(PlannerInfo *root, const IndexOptInfo *index,
			   const PathKey *key, SkxSumWalk *walk)
{
	ListCell   *lc;

	if (key->pk_eclass->ec_has_volatile || index->nkeycolumns == 1 ||
		!skx_compat_pathkey_ascends(key))
		return NULL;
	foreach(lc, skx_compat_class_members(key->pk_eclass, index->rel))
	{
		Node	   *expr = (Node *) ((EquivalenceMember *) lfirst(lc))->em_expr;

		if (skx_sum_operator(expr) == SKX_PRIOR_TERM)
			continue;
		memset(walk, 0, sizeof(*walk));
		walk->index = index;
		walk->family = key->pk_opfamily;
		if (skx_sum_recognise(walk, expr))
			return expr;
	}
	return NULL;
}

bool
skx_plan_is_sum_key(PlannerInfo *root, const IndexOptInfo *index,
					const PathKey *key)
{
	SkxSumWalk	walk;

	return skx_sum_of_key(root, index, key, &walk) != NULL;
}

/*
 * Orders the terms by their columns, as those of a document are.  There are
 * few.
 */
static void
skx_sum_sort_terms(SkxSumWalk *walk)
{
	int			order[SKX_PRIOR_TERMS_MAX];
	SkxSumTerm	sorted[SKX_PRIOR_TERMS_MAX];
	int			i;
	int			k;

	for (i = 0; i < walk->nterms; i++)
	{
		order[i] = 0;
		for (k = 0; k < walk->nterms; k++)
			order[i] += walk->terms[k].column < walk->terms[i].column ||
				(k < i && walk->terms[k].column == walk->terms[i].column);
		sorted[order[i]] = walk->terms[i];
	}
	memcpy(walk->terms, sorted, sizeof(SkxSumTerm) * walk->nterms);
	for (i = 0; i < walk->nsteps; i++)
	{
		if (walk->steps[i] >= SKX_PRIOR_TERM)
			walk->steps[i] = SKX_PRIOR_TERM +
				order[walk->steps[i] - SKX_PRIOR_TERM];
	}
}

/* Returns the expression in the form that a path has. */
static List *
skx_sum_form(const SkxSumWalk *walk, Node *expr)
{
	List	   *steps = NIL;
	List	   *columns = NIL;
	List	   *values = NIL;
	List	   *peaks = NIL;
	int			i;

	for (i = 0; i < walk->nsteps; i++)
		steps = lappend_int(steps, walk->steps[i]);
	for (i = 0; i < walk->nterms; i++)
	{
		columns = lappend_int(columns, walk->terms[i].column);
		values = lappend(values, walk->terms[i].value);
		peaks = lappend(peaks, walk->terms[i].peak);
	}
	return list_make5(expr, steps, columns, values, peaks);
}

/*
 * Returns true if a condition of the table is the ranking query, and no row
 * without a score meets it.
 */
static bool
skx_sum_excludes_unscored(const RelOptInfo *rel, const IndexOptInfo *index,
						  const OpExpr *distance)
{
	Oid			family = index->opfamily[0];
	ListCell   *lc;

	if (!IsA(lsecond(distance->args), Const))
		return false;
	foreach(lc, rel->baserestrictinfo)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;
		Node	   *query = skx_plan_matched_query(clause,
												   linitial(distance->args),
												   family);

		if (query != NULL && skx_plan_ref_ranks_by(query, distance, family))
			return true;
	}
	return false;
}

static bool
skx_sum_has_keys(PlannerInfo *root, const SkxSumWalk *walk)
{
	SkxKeyColumn keys;
	int			i;

	for (i = 0; i < walk->nterms; i++)
	{
		if (!skx_plan_has_order(root, walk->index, walk->terms[i].column,
								&keys))
			return false;
	}
	return true;
}

/*
 * Adds a path by an index, if a LIMIT counts its rows.  It costs what the
 * search by words does, and looking up values of a share of the matches.
 */
static void
skx_sum_add_path(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
				 PathKey *key)
{
	SkxRankedPlanParts planned = {0};
	SkxSumWalk	walk;
	Node	   *expr = skx_sum_of_key(root, index, key, &walk);
	Oid			family;
	CustomPath *custom;
	IndexPath  *path;
	Path		rows;
	Cost		values;

	if (expr == NULL ||
		!skx_sum_excludes_unscored(rel, index, walk.distance) ||
		!skx_sum_has_keys(root, &walk))
		return;
	skx_sum_sort_terms(&walk);
	family = get_op_opfamily_sortfamily(walk.distance->opno,
										index->opfamily[0]);
	path = create_index_path(root, index, skx_plan_index_clauses(root, index),
							 list_make1(walk.distance), list_make1_int(0),
							 list_make1(skx_compat_ascending_key(family)),
							 ForwardScanDirection, false, rel->lateral_relids,
							 1.0, false);
	path->path.total_cost += skx_plan_filter_cost(root, rel, &path->path);
	values = path->path.rows * walk.nterms * SKX_SUM_COST_TERM *
		cpu_operator_cost;
	rows = path->path;
	rows.pathkeys = skx_plan_ranked_order(root, rel, list_make1(key));
	rows.startup_cost += values;
	rows.total_cost += values;
	custom = skx_plan_custom_path(&rows, list_make1(path),
								  skx_sum_form(&walk, expr),
								  &skx_plan_sum_path_methods);
	skx_plan_fill_limit(root, rel, custom, &planned);
	if (planned.count != NULL)
		add_path(rel, &custom->path);
}

void
skx_plan_add_by_sum(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell   *lc;

	if (root->query_pathkeys == NIL || root->rowMarks != NIL ||
		root->parse->limitCount == NULL || !enable_indexscan ||
		!bms_is_empty(rel->lateral_relids))
		return;
	foreach(lc, rel->indexlist)
	{
		if (skx_plan_is_usable(lfirst(lc)))
			skx_sum_add_path(root, rel, lfirst(lc),
							 linitial(root->query_pathkeys));
	}
}
