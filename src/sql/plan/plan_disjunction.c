/*
 * plan_disjunction.c
 *	  A disjunction of conditions on several columns as one key of the index.
 *
 * In `owner = 5 OR shared @> '{5}'` each arm is a condition on a column of the
 * index, or a conjunction of such.  The server combines bitmaps of the arms,
 * which have no order.  Here the index is asked for all of them by one key,
 * `text @@| disjunction`, so that its searches, orders and counts have it,
 * too.  The first column stands there for the index as a whole.  A row cannot
 * be tested by the key, as EvalPlanQual would: rows are tested by the
 * condition itself.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "read/condition/condition_disjunction.h"
#include "read/query/query.h"
#include "sql/am/am.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_guard.h"
#include "sql/plan/plan_condition.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/*
 * What the arms ask of an index, as collected so far.  A gate is a condition
 * of an arm that has one value for all rows.
 */
typedef struct SkxDisjunctionState
{
	SkxIndexColumn key_column;
	int			arm_number;		/* number of the current arm */
	int			n;				/* number of conditions */
	StringInfoData packed;
	List	   *params;			/* values that are no constants */
	List	   *gates;			/* gates of the current arm */
	List	   *gate_only_arms; /* earlier arms that have only gates */
	bool		is_exact;		/* no row must be tested */
	Cost		gather_cost;	/* cost of gathering bits */
} SkxDisjunctionState;

/*
 * Returns the right operand of a condition on a column; NULL if it has none.
 * Fills in operator and flags.
 */
static Node *
skx_plan_right_operand(const Expr *qual, SkxPackedCondition *packed)
{
	if (IsA(qual, NullTest))
	{
		packed->flags = SK_ISNULL |
			(((const NullTest *) qual)->nulltesttype == IS_NULL ?
			 SK_SEARCHNULL : SK_SEARCHNOTNULL);
		return NULL;
	}
	if (IsA(qual, ScalarArrayOpExpr))
	{
		packed->operator = ((const ScalarArrayOpExpr *) qual)->opno;
		packed->flags = SK_SEARCHARRAY;
		return lsecond(((const ScalarArrayOpExpr *) qual)->args);
	}
	packed->operator = ((const OpExpr *) qual)->opno;
	return lsecond(((const OpExpr *) qual)->args);
}

/*
 * Adds a condition on a column of the index.  Returns false if it cannot be
 * added.  An example is the operator of the key itself, which a user may
 * write.
 */
static bool
skx_plan_add_qual(SkxDisjunctionState *arms, const Expr *qual)
{
	SkxPackedCondition packed = {arms->arm_number,
	arms->key_column.column + 1};
	Node	   *right = skx_plan_right_operand(qual, &packed);
	Datum		value = (Datum) 0;

	if (arms->n++ == SKX_DISJUNCTION_CONDITIONS_MAX ||
		(arms->key_column.column == 0 && right != NULL &&
		 !skx_plan_is_match_operator(packed.operator,
									 arms->key_column.index->opfamily[0])))
		return false;
	arms->is_exact &= !skx_plan_may_recheck(arms->key_column.index,
											arms->key_column.column, qual);
	if (right != NULL)
		packed.type = exprType(right);
	if (right != NULL && !IsA(right, Const))
	{
		packed.flags |= SKX_PACKED_PARAM;
		arms->params = lappend(arms->params,
							   skx_plan_guard_expr(right, arms->gate_only_arms,
												   arms->gates));
	}
	else if (right != NULL && ((Const *) right)->constisnull)
		packed.flags |= SK_ISNULL;
	else if (right != NULL)
		value = ((Const *) right)->constvalue;
	skx_condition_pack_append(&arms->packed, packed, value);
	return right == NULL || !contain_subplans(right);
}

/*
 * Returns the cost of gathering bits for a condition, which is that of a scan
 * by this condition alone.  Returns 0 if none are gathered.
 */
static Cost
skx_plan_gather_cost(SkxDisjunctionState *arms, RestrictInfo *qual)
{
	TSQuery		query = skx_plan_const_query(qual);
	IndexClause *clause;
	IndexPath  *path;

	if (query == NULL || !skx_query_may_gather(query))
		return 0;
	clause = makeNode(IndexClause);
	clause->rinfo = qual;
	clause->indexquals = list_make1(qual);
	path = create_index_path(arms->key_column.root, arms->key_column.index,
							 list_make1(clause), NIL, NIL, NIL,
							 ForwardScanDirection, false, NULL, 1.0, false);
	return path->indextotalcost;
}

/*
 * Adds a condition of an arm.  Returns false if the index has no equivalent
 * for it.
 */
static bool
skx_plan_add_arm_condition(SkxDisjunctionState *arms, Node *part)
{
	RestrictInfo *rinfo = make_simple_restrictinfo(arms->key_column.root,
												   (Expr *) part);
	List	   *quals;
	ListCell   *lc;
	bool		lossy = false;

	CHECK_FOR_INTERRUPTS();
	quals = skx_plan_first_quals(&arms->key_column, rinfo, &lossy);
	if (quals == NIL || lossy)
		return false;
	foreach(lc, quals)
	{
		RestrictInfo *qual = lfirst_node(RestrictInfo, lc);

		if (!skx_plan_add_qual(arms, qual->clause))
			return false;
		arms->gather_cost += skx_plan_gather_cost(arms, qual);
	}
	return true;
}

static bool
skx_plan_is_gate(SkxDisjunctionState *arms, Node *part)
{
	return skx_plan_is_comparand(&arms->key_column, part) &&
		!contain_subplans(part);
}

/* Adds a gate: no document meets the arm unless its value is true. */
static bool
skx_plan_add_gate(SkxDisjunctionState *arms, Node *gate)
{
	SkxPackedCondition packed = {arms->arm_number, 1, InvalidOid,
		SKX_PACKED_PARAM,
	BOOLOID};

	arms->params = lappend(arms->params,
						   skx_plan_guard_expr(gate, arms->gate_only_arms,
											   arms->gates));
	arms->gates = lappend(arms->gates, gate);
	skx_condition_pack_append(&arms->packed, packed, (Datum) 0);
	return arms->n++ < SKX_DISJUNCTION_CONDITIONS_MAX;
}

/*
 * Adds an arm with the conditions `parts`, and `more` unless that is NULL.
 * Gates come first, since they guard the values of the others.
 */
static bool
skx_plan_add_arm_conditions(SkxDisjunctionState *arms, List *parts, Node *more)
{
	List	   *others = NIL;
	ListCell   *lc;

	arms->gates = NIL;
	foreach(lc, parts)
	{
		if (!skx_plan_is_gate(arms, lfirst(lc)))
			others = lappend(others, lfirst(lc));
		else if (!skx_plan_add_gate(arms, lfirst(lc)))
			return false;
	}
	foreach(lc, others)
	{
		if (!skx_plan_add_arm_condition(arms, lfirst(lc)))
			return false;
	}
	if (more != NULL && !skx_plan_add_arm_condition(arms, more))
		return false;
	arms->arm_number++;
	return true;
}

/*
 * Adds an arm.  All documents meet one that has only gates, so it becomes two
 * arms: one for a text that is NULL, and one for a text that is not.
 */
static bool
skx_plan_add_arm(SkxDisjunctionState *arms, Node *arm)
{
	List	   *parts = is_andclause(arm) ?
		((BoolExpr *) arm)->args : list_make1(arm);
	ListCell   *lc;

	foreach(lc, parts)
	{
		if (!skx_plan_is_gate(arms, lfirst(lc)))
			return skx_plan_add_arm_conditions(arms, parts, NULL);
	}
	arms->key_column.column = 0;
	if (!skx_plan_add_arm_conditions(arms, parts, (Node *)
									 skx_plan_null_test(&arms->key_column,
														IS_NULL)->clause) ||
		!skx_plan_add_arm_conditions(arms, parts, (Node *)
									 skx_plan_null_test(&arms->key_column,
														IS_NOT_NULL)->clause))
		return false;
	arms->gate_only_arms = lappend(arms->gate_only_arms, arm);
	return true;
}

/*
 * Returns the operator `@@|` of the index's operator family, and sets *type to
 * the type of its right operand.  Returns InvalidOid if there is none.
 */
static Oid
skx_plan_meets_operator(const IndexOptInfo *index, Oid *type)
{
	CatCList   *list = SearchSysCacheList1(AMOPSTRATEGY,
										   ObjectIdGetDatum(index->opfamily[0]));
	Oid			operator = InvalidOid;
	int			i;

	for (i = 0; i < list->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop)
			GETSTRUCT(&list->members[i]->tuple);

		if (amop->amoplefttype == index->opcintype[0] &&
			amop->amopstrategy == SKX_STRATEGY_DISJUNCTION)
		{
			operator = amop->amopopr;
			*type = amop->amoprighttype;
		}
	}
	ReleaseCatCacheList(list);
	return operator;
}

/*
 * Returns the function that puts values into a disjunction, from the schema of
 * its type; InvalidOid if there is none.
 */
static Oid
skx_plan_bind_function(Oid type)
{
	Oid			types[2] = {type, ANYOID};
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Oid			namespace;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	namespace = ((Form_pg_type) GETSTRUCT(tuple))->typnamespace;
	ReleaseSysCache(tuple);
	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum("skx_bind_values"),
						   PointerGetDatum(buildoidvector(types, 2)),
						   ObjectIdGetDatum(namespace));
}

/*
 * Returns the disjunction as a constant, or as a call that fills in its open
 * values.  Returns NULL if there is no function for that.
 */
static Expr *
skx_plan_disjunction_value(SkxDisjunctionState *arms, Oid type)
{
	SkxDisjunction *disjunction = skx_condition_pack_end(&arms->packed,
														 arms->is_exact,
														 arms->gather_cost);
	Const	   *constant = makeConst(type, -1, InvalidOid, -1,
									 PointerGetDatum(disjunction), false,
									 false);
	Oid			bind;

	if (arms->params == NIL)
		return (Expr *) constant;
	bind = skx_plan_bind_function(type);
	if (!OidIsValid(bind))
		return NULL;
	return (Expr *) makeFuncExpr(bind, type, lcons(constant, arms->params),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/* Returns the condition `text @@| disjunction`; NULL if it cannot be made. */
static RestrictInfo *
skx_plan_disjunction_clause(SkxDisjunctionState *arms)
{
	const IndexOptInfo *index = arms->key_column.index;
	Node	   *text = skx_plan_column_expr(index, 0);
	Oid			type = InvalidOid;
	Oid			operator = skx_plan_meets_operator(index, &type);
	Expr	   *value = OidIsValid(operator) ?
		skx_plan_disjunction_value(arms, type) : NULL;

	if (value == NULL)
		return NULL;
	return make_simple_restrictinfo(arms->key_column.root,
									make_opclause(operator, BOOLOID, false,
												  (Expr *) text, value,
												  InvalidOid, InvalidOid));
}

RestrictInfo *
skx_plan_disjunction(PlannerInfo *root, IndexOptInfo *index,
					 RestrictInfo *rinfo)
{
	SkxDisjunctionState arms = {{root, index, 0},.is_exact = true};
	RestrictInfo *qual;
	ListCell   *lc;

	if (!is_orclause(rinfo->clause))
		return NULL;
	skx_condition_pack_begin(&arms.packed);
	foreach(lc, ((BoolExpr *) rinfo->clause)->args)
	{
		if (!skx_plan_add_arm(&arms, lfirst(lc)))
			return NULL;
	}
	qual = skx_plan_disjunction_clause(&arms);
	/* the operator's own estimate does not know the arms */
	if (qual != NULL && bms_membership(rinfo->clause_relids) == BMS_SINGLETON)
		qual->norm_selec = clause_selectivity(root, (Node *) rinfo, 0,
											  JOIN_INNER, NULL);
	return qual;
}

bool
skx_plan_needs_no_recheck(const IndexOptInfo *index, const IndexClause *clause)
{
	const SkxDisjunction *asked = skx_cost_disjunction(index, clause);

	return asked == NULL ? !clause->lossy : asked->is_exact != 0;
}

/*
 * Returns the IndexClauses without the disjunctions that bits are gathered
 * for, if `gathered` is true; else without those that have a condition on the
 * text.
 */
static List *
skx_plan_other_arms(const IndexOptInfo *index, List *clauses, bool gathered)
{
	List	   *others = NIL;
	ListCell   *lc;

	foreach(lc, clauses)
	{
		const SkxDisjunction *asked = skx_cost_disjunction(index, lfirst(lc));

		if (asked == NULL ||
			!(gathered ? asked->gather_cost > 0 : asked->has_query != 0))
			others = lappend(others, lfirst(lc));
	}
	return others;
}

List *
skx_plan_without_text_disjunctions(const IndexOptInfo *index, List *clauses)
{
	return skx_plan_other_arms(index, clauses, false);
}

List *
skx_plan_without_gathered_disjunctions(const IndexOptInfo *index,
									   List *clauses)
{
	return skx_plan_other_arms(index, clauses, true);
}
