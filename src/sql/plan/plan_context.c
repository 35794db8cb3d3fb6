/*
 * plan_context.c
 *	  The query that the columns of an expression belong to.
 *
 * When the planner simplifies an expression it passes the PlannerInfo of the
 * query that the expression belongs to.  In two cases it passes that of
 * another query, which matters to this module only.
 *
 * 1.  Functions in FROM are simplified before the rest of a query.  Those of a
 * subquery that is being pulled up are simplified with the subquery's
 * PlannerInfo.  At that time the queries around it cannot be followed.  A call
 * that needs them is marked as seen and left unbound.  Functions in FROM that
 * may refer to other tables are simplified a second time, with the rest of the
 * query.
 *
 * 2.  The condition of an EXISTS is simplified with the PlannerInfo of the
 * query around it, to see whether it can be converted to an IN.  If it can, it
 * is simplified again.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "sql/cost/cost.h"
#include "sql/plan/plan_words.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The location of a call that was marked as seen. */
#define SKX_CONTEXT_VISITED_LOCATION	(-2)

/* Returns true if the function takes words as its second argument. */
static bool
skx_plan_takes_words(Oid function)
{
	Oid		   *types;
	int			n;

	(void) get_func_signature(function, &types, &n);
	return n >= 2 && OidIsValid(types[1]) &&
		types[1] == GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
									CStringGetDatum("skipidx_words"),
									ObjectIdGetDatum(get_func_namespace(function)));
}

bool
skx_plan_is_unbound(Oid function, Node *right)
{
	return exprType(right) == TSQUERYOID || skx_plan_takes_words(function) ||
		(IsA(right, FuncExpr) &&
		 list_length(((FuncExpr *) right)->args) == 2 &&
		 exprType(lsecond(((FuncExpr *) right)->args)) == TEXTOID);
}

/*
 * Returns the operands of a call of `function`, as a function or as an
 * operator, if it could be bound and was not seen; else NIL.
 */
static List *
skx_plan_operands(Node *node, Oid function)
{
	List	   *args = NIL;

	if (IsA(node, OpExpr) && get_opcode(((OpExpr *) node)->opno) == function)
		args = ((OpExpr *) node)->args;
	else if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == function &&
			 ((FuncExpr *) node)->location != SKX_CONTEXT_VISITED_LOCATION)
		args = ((FuncExpr *) node)->args;
	return args != NIL && skx_plan_is_unbound(function, lsecond(args)) ? args : NIL;
}

static bool
skx_plan_unvisited_walker(Node *node, void *context)
{
	if (node == NULL || IsA(node, Query))
		return false;
	return skx_plan_operands(node, *(Oid *) context) != NIL ||
		expression_tree_walker(node, skx_plan_unvisited_walker, context);
}

/*
 * Returns true if a function in FROM has a call that was not seen.  The
 * function is simplified first, since calls may be hidden in functions that
 * are inlined.
 */
static bool
skx_plan_has_unvisited(const RangeTblEntry *rte, Oid function)
{
	return rte->rtekind == RTE_FUNCTION &&
		skx_plan_unvisited_walker(skx_plan_simplify((Node *) rte->functions),
								  &function);
}

bool
skx_plan_lacks_outer_query(PlannerInfo *root, Oid function)
{
	ListCell   *lc;

	foreach(lc, root->parse->rtable)
	{
		if (skx_plan_has_unvisited(lfirst(lc), function))
			return true;
	}
	return false;
}

Node *
skx_plan_defer_binding(PlannerInfo *root, FuncExpr *call)
{
	FuncExpr   *seen = copyObject(call);
	ListCell   *lc;

	foreach(lc, root->parse->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		if (skx_plan_has_unvisited(rte, call->funcid))
			rte->lateral = true;
	}
	seen->location = SKX_CONTEXT_VISITED_LOCATION;
	return (Node *) seen;
}

/* A call that might be in the condition of an EXISTS. */
typedef struct SkxExistsCall
{
	PlannerInfo *root;
	Oid			function;
	Node	   *document;		/* its left operand */
	SkxBinding *binding;		/* its index, if its columns belong to `root` */
	Query	   *query;			/* subquery of the EXISTS that is searched */
} SkxExistsCall;

/*
 * Returns true at this very call, and at a call that cannot be told from it
 * and would be bound to another index.  Calls are told apart by their location
 * in the statement, which is missing in expressions from the catalogs.
 */
static bool
skx_plan_same_walker(Node *node, void *context)
{
	SkxExistsCall *call = context;
	SkxBinding	other = *call->binding;
	List	   *operands;

	if (node == NULL || IsA(node, Query))
		return false;
	operands = skx_plan_operands(node, call->function);
	if (operands != NIL && equal(linitial(operands), call->document))
	{
		int			here = exprLocation(call->document);

		if (here != exprLocation(linitial(operands)))
			return false;
		if (here >= 0 ||
			!skx_plan_find_in_subquery(call->root, call->query,
									   call->document, &other) ||
			other.index != call->binding->index ||
			!equal(other.others, call->binding->others) ||
			(other.is_text &&
			 !skx_plan_same_form(&other.form, &call->binding->form)))
			return true;
		call->binding->is_near = call->binding->is_near && other.is_near;
		return false;
	}
	return expression_tree_walker(node, skx_plan_same_walker, context);
}

static bool
skx_plan_exists_walker(Node *node, void *context)
{
	SkxExistsCall *call = context;

	if (node == NULL || IsA(node, Query))
		return false;
	if (IsA(node, SubLink) &&
		((SubLink *) node)->subLinkType == EXISTS_SUBLINK)
	{
		Node	   *quals;

		call->query = castNode(Query, ((SubLink *) node)->subselect);
		quals = call->query->jointree->quals;
		if (skx_plan_same_walker(skx_plan_simplify(quals), context))
			return true;
	}
	return expression_tree_walker(node, skx_plan_exists_walker, context);
}

bool
skx_plan_may_be_in_exists(PlannerInfo *root, const FuncExpr *call,
						  SkxBinding *binding)
{
	SkxExistsCall exists = {root, call->funcid, linitial(call->args), binding};

	return root->parse->hasSubLinks &&
		(query_tree_walker(root->parse, skx_plan_exists_walker, &exists,
						   QTW_IGNORE_RT_SUBQUERIES |
						   QTW_IGNORE_CTE_SUBQUERIES |
						   QTW_IGNORE_JOINALIASES) ||
		 skx_plan_exists_walker((Node *) root->append_rel_list, &exists));
}
