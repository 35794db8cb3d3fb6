/*
 * plan_policy.c
 *	  Conditions `@@` that an index answers before a policy is tested.
 *
 * A condition of a query waits for the policies of its table, unless it is
 * leakproof.  `@@` is not marked so, though it raises no error that shows a
 * value.  The marking is the server's, for every database and statement.  An
 * operator of our own with such a marking could be written by any role.  So a
 * setting makes the planner ask the index for `@@` as if it were leakproof.
 * Filters keep their places: whatever is tested on rows waits as before.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "sql/plan/plan_internal.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"

bool		skx_plan_under_policy = false;

void
skx_plan_under_policy_assign(bool value, void *extra)
{
	if (value != skx_plan_under_policy)
		ResetPlanCache();
}

/* Returns true if the operator calls the server's own `@@`. */
static bool
skx_plan_calls_match(Oid operator)
{
	Oid			function = get_opcode(operator);

	return function == F_TS_MATCH_VQ || function == F_TS_MATCH_QV;
}

/*
 * Returns the operands of NOT, AND, OR, `@@` and `@@ ANY`; NIL for others.
 */
static List *
skx_plan_harmless_args(Node *expr)
{
	switch (nodeTag(expr))
	{
		case T_BoolExpr:
			return ((BoolExpr *) expr)->args;
		case T_OpExpr:
			return skx_plan_calls_match(((OpExpr *) expr)->opno) ?
				((OpExpr *) expr)->args : NIL;
		case T_ScalarArrayOpExpr:
			return skx_plan_calls_match(((ScalarArrayOpExpr *) expr)->opno) ?
				((ScalarArrayOpExpr *) expr)->args : NIL;
		default:
			return NIL;
	}
}

bool
skx_plan_leaks(Node *expr)
{
	List	   *args = skx_plan_under_policy ?
		skx_plan_harmless_args(expr) : NIL;
	ListCell   *lc;

	if (args == NIL)
		return contain_leaked_vars(expr);
	check_stack_depth();
	foreach(lc, args)
	{
		if (skx_plan_leaks(lfirst(lc)))
			return true;
	}
	return false;
}

bool
skx_plan_is_promotable(RestrictInfo *rinfo, RelOptInfo *rel)
{
	return restriction_is_securely_promotable(rinfo, rel) ||
		(skx_plan_under_policy && !skx_plan_leaks((Node *) rinfo->clause));
}

static void skx_plan_promote(List *clauses, RelOptInfo *rel,
							 List **promoted);

/* Does so for a RestrictInfo, or for those in a conjunction. */
static void
skx_plan_promote_one(Node *clause, RelOptInfo *rel, List **promoted)
{
	RestrictInfo *rinfo = (RestrictInfo *) clause;

	if (IsA(clause, BoolExpr))
		skx_plan_promote(((BoolExpr *) clause)->args, rel, promoted);
	if (!IsA(clause, RestrictInfo))
		return;
	if (!restriction_is_securely_promotable(rinfo, rel) &&
		skx_plan_is_promotable(rinfo, rel))
	{
		rinfo->leakproof = true;
		*promoted = lappend(*promoted, rinfo);
	}
	if (rinfo->orclause != NULL)
		skx_plan_promote(((BoolExpr *) rinfo->orclause)->args, rel, promoted);
}

/*
 * Marks the conditions that only the setting promotes as leakproof, and those
 * in arms of disjunctions.  Adds them to *promoted.
 */
static void
skx_plan_promote(List *clauses, RelOptInfo *rel, List **promoted)
{
	ListCell   *lc;

	CHECK_FOR_INTERRUPTS();
	check_stack_depth();
	foreach(lc, clauses)
		skx_plan_promote_one(lfirst(lc), rel, promoted);
}

/*
 * Lets the server make index paths.  If `again` is true, it does so only where
 * there are conditions to promote.  They are marked only meanwhile: filters
 * that are leakproof may be tested before others.
 */
static void
skx_plan_make_paths(PlannerInfo *root, RelOptInfo *rel, bool again)
{
	List	   *promoted = NIL;
	ListCell   *lc;

	if (skx_plan_under_policy)
	{
		skx_plan_promote(rel->baserestrictinfo, rel, &promoted);
		skx_plan_promote(rel->joininfo, rel, &promoted);
	}
	if (!again || promoted != NIL)
		create_index_paths(root, rel);
	foreach(lc, promoted)
		lfirst_node(RestrictInfo, lc)->leakproof = false;
}

void
skx_plan_add_index_paths(PlannerInfo *root, RelOptInfo *rel)
{
	skx_plan_make_paths(root, rel, false);
}

void
skx_plan_add_promoted(PlannerInfo *root, RelOptInfo *rel)
{
	skx_plan_make_paths(root, rel, true);
}
