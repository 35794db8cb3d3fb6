/*
 * plan_origin.c
 *	  The way from an expression in a query to the table whose column it ranks.
 *
 * A column may be one of a subquery that was not pulled up, of a CTE, of a
 * UNION, of a join or of the grouping step.  It is replaced by what it stands
 * for there, until all columns are those of one table.  Rows of a set
 * operation may come from each of its arms.  The index of the first arm that
 * has one ranks them, together with those of the others.
 *
 * If any of these tables is distributed, no index ranks here.  The statement,
 * or a part of it, is sent to where the rows are, and bound there.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_relation.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "sql/plan/plan_words.h"
#include "support/compat/compat_planner.h"
#include "utils/memutils.h"

/*
 * Maximum number of parts of queries that one expression is followed to, which
 * takes some milliseconds in all; and maximum number of columns of the
 * expression on its way.
 */
#define SKX_ORIGIN_STEPS_MAX	10000
#define SKX_ORIGIN_COLUMNS_MAX	256

/* A query, and the one that it is part of. */
typedef struct SkxQueryLevel
{
	Query	   *query;
	struct SkxQueryLevel *parent;
} SkxQueryLevel;

static bool skx_plan_find_in_entry(SkxQueryLevel *level, Node *expr,
								   SkxBinding *binding);

static SkxQueryLevel *
skx_plan_outer_level(SkxQueryLevel *level, Index up)
{
	while (level != NULL && up-- > 0)
		level = level->parent;
	return level;
}

static RangeTblEntry *
skx_plan_rte_of_var(SkxQueryLevel *level, const Var *var)
{
	level = skx_plan_outer_level(level, var->varlevelsup);
	if (level == NULL || var->varno < 1 ||
		var->varno > list_length(level->query->rtable))
		return NULL;
	return rt_fetch(var->varno, level->query->rtable);
}

/*
 * Replaces columns of joins and of the grouping step by what they stand for,
 * which is of the same level.  Makes all columns plain.
 */
static Node *
skx_plan_flatten_mutator(Node *node, void *context)
{
	SkxQueryLevel *level = context;
	RangeTblEntry *rte;
	Node	   *alias = NULL;
	Var		   *var;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, PlaceHolderVar))
		return skx_plan_flatten_mutator((Node *)
										((PlaceHolderVar *) node)->phexpr,
										context);
	if (!IsA(node, Var))
		return expression_tree_mutator(node, skx_plan_flatten_mutator,
									   context);
	var = copyObject((Var *) node);
	skx_compat_plain_var(var);
	rte = skx_plan_rte_of_var(level, var);
	if (rte == NULL)
		return (Node *) var;
	if (rte->rtekind == RTE_JOIN && var->varattno > 0 &&
		var->varattno <= list_length(rte->joinaliasvars))
		alias = list_nth(rte->joinaliasvars, var->varattno - 1);
	else
		alias = skx_compat_group_column(rte, var->varattno);
	if (alias == NULL)
		return (Node *) var;
	alias = copyObject(alias);
	IncrementVarSublevelsUp(alias, var->varlevelsup, 0);
	return skx_plan_flatten_mutator(alias, context);
}

/* The range table entry to which all columns of an expression belong. */
typedef struct SkxOriginEntry
{
	int			varno;			/* 0: none yet */
	Index		levelsup;
	int			columns;
	bool		has_several;	/* several entries, or too many columns */
} SkxOriginEntry;

static bool
skx_plan_origin_walker(Node *node, void *context)
{
	SkxOriginEntry *source = context;
	Var		   *var = (Var *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, skx_plan_origin_walker,
									  context);
	if (source->varno == 0)
	{
		source->varno = var->varno;
		source->levelsup = var->varlevelsup;
	}
	if (source->varno != var->varno || source->levelsup != var->varlevelsup ||
		var->varattno < 0 || ++source->columns > SKX_ORIGIN_COLUMNS_MAX)
		source->has_several = true;
	return source->has_several;
}

/*
 * Replaces columns of a subquery by what its target list, the context, has for
 * them.  Without a list they become columns of their own level.  A column that
 * is not in the list becomes NULL, which leads nowhere: the planner may name
 * the wrong query.
 */
static Node *
skx_plan_replace_mutator(Node *node, void *context)
{
	List	   *targets = context;
	TargetEntry *target;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, skx_plan_replace_mutator,
									   context);
	CHECK_FOR_INTERRUPTS();
	if (targets == NIL)
	{
		Var		   *var = copyObject((Var *) node);

		var->varlevelsup = 0;
		return (Node *) var;
	}
	target = get_tle_by_resno(targets, ((Var *) node)->varattno);
	if (target == NULL)
		return (Node *) makeNullConst(((Var *) node)->vartype, -1, InvalidOid);
	return copyObject((Node *) target->expr);
}

static bool skx_plan_find_level(SkxQueryLevel *parent, Query *query,
								Node *expr, SkxBinding *binding);

/* Adds the indexes of an arm to those of the arms before it. */
static void
skx_plan_add_arms(SkxBinding *binding, const SkxBinding *other)
{
	if (binding->arm_indexes == NIL)
		binding->arm_indexes = list_make1_oid(binding->index);
	binding->arm_indexes = list_concat_unique_oid(binding->arm_indexes,
												  other->arm_indexes);
	binding->arm_indexes = list_append_unique_oid(binding->arm_indexes,
												  other->index);
}

/*
 * Looks for the index in each arm of a set operation, whose columns have the
 * same numbers.  An arm without an index is ranked by those of the others.  A
 * named index must be that of each arm.
 */
static bool
skx_plan_find_arms(SkxQueryLevel *level, Node *arm, Node *expr,
				   SkxBinding *binding)
{
	SkxBinding	other = *binding;
	bool		left;
	bool		right;

	check_stack_depth();
	if (binding->search->steps > SKX_ORIGIN_STEPS_MAX)
		return false;
	if (IsA(arm, RangeTblRef))
		return skx_plan_find_level(level,
								   rt_fetch(((RangeTblRef *) arm)->rtindex,
											level->query->rtable)->subquery,
								   expr, binding);
	left = skx_plan_find_arms(level, ((SetOperationStmt *) arm)->larg,
							  expr, binding);
	if (!left && binding->name != NIL)
		return false;
	right = skx_plan_find_arms(level, ((SetOperationStmt *) arm)->rarg,
							   expr, &other);
	if (binding->name != NIL)
		return right;
	if (left && right && binding->is_text &&
		!skx_plan_same_form(&binding->form, &other.form))
		return false;
	if (left && right)
		skx_plan_add_arms(binding, &other);
	else if (right)
		*binding = other;
	return left || right;
}

/*
 * Looks for the index of an expression of columns of `query`, which is part of
 * the parent.
 */
static bool
skx_plan_find_level(SkxQueryLevel *parent, Query *query, Node *expr,
					SkxBinding *binding)
{
	SkxQueryLevel level;

	if (query == NULL || query->commandType != CMD_SELECT)
		return false;
	level.query = query;
	level.parent = parent;
	if (query->setOperations != NULL)
		return skx_plan_find_arms(&level, query->setOperations, expr,
								  binding);
	return skx_plan_find_in_entry(&level,
								  skx_plan_replace_mutator(expr,
														   query->targetList),
								  binding);
}

/*
 * Looks for the index of an expression of columns of a CTE.  Its query may
 * refer to queries around the one that has it.
 */
static bool
skx_plan_find_cte(SkxQueryLevel *level, RangeTblEntry *rte, Node *expr,
				  SkxBinding *binding)
{
	ListCell   *lc;

	level = skx_plan_outer_level(level, rte->ctelevelsup);
	if (level == NULL || rte->self_reference)
		return false;
	foreach(lc, level->query->cteList)
	{
		CommonTableExpr *cte = lfirst(lc);

		if (strcmp(cte->ctename, rte->ctename) == 0)
			return IsA(cte->ctequery, Query) &&
				skx_plan_find_level(level, (Query *) cte->ctequery, expr,
									binding);
	}
	return false;
}

/*
 * Looks for the index of the value of a subquery that is used as an
 * expression.
 */
static bool
skx_plan_find_sublink(SkxQueryLevel *parent, SubLink *link,
					  SkxBinding *binding)
{
	Query	   *query = (Query *) link->subselect;
	SkxQueryLevel level;

	if (link->subLinkType != EXPR_SUBLINK || !IsA(query, Query) ||
		query->setOperations != NULL)
		return false;
	level.query = query;
	level.parent = parent;
	return skx_plan_find_in_entry(&level,
								  (Node *) ((TargetEntry *)
											linitial(query->targetList))->expr,
								  binding);
}

static bool
skx_plan_find_in_entry(SkxQueryLevel *level, Node *expr, SkxBinding *binding)
{
	SkxOriginEntry source = {0};
	RangeTblEntry *rte;

	check_stack_depth();
	CHECK_FOR_INTERRUPTS();
	if (++binding->search->steps > SKX_ORIGIN_STEPS_MAX)
		return false;
	if (IsA(expr, SubLink))
		return skx_plan_find_sublink(level, (SubLink *) expr, binding);
	if (contain_subplans(expr))
		return false;
	expr = skx_plan_unrelabel(skx_plan_flatten_mutator(expr, level));
	skx_plan_origin_walker(expr, &source);
	level = skx_plan_outer_level(level, source.levelsup);
	if (source.varno < 1 || source.has_several || level == NULL ||
		source.varno > list_length(level->query->rtable))
		return false;
	rte = rt_fetch(source.varno, level->query->rtable);
	switch (rte->rtekind)
	{
		case RTE_RELATION:

			/*
			 * Expressions of an index are kept simplified, but those of a
			 * query that was not planned yet are not.
			 */
			expr = skx_plan_replace_mutator(expr, NIL);
			expr = skx_plan_simplify(expr);
			binding->is_near = binding->search->steps == 1;
			return skx_plan_choose_index(level->query, source.varno, expr,
										 binding);
		case RTE_SUBQUERY:
			return skx_plan_find_level(level, rte->subquery, expr, binding);
		case RTE_CTE:
			return skx_plan_find_cte(level, rte, expr, binding);
		default:
			return false;
	}
}

/* Returns the levels from a query upwards; only its own if `alone` is true. */
static SkxQueryLevel *
skx_plan_query_levels(PlannerInfo *root, bool alone)
{
	SkxQueryLevel *first = NULL;
	SkxQueryLevel **last = &first;

	for (; root != NULL; root = alone ? NULL : root->parent_root)
	{
		*last = palloc0(sizeof(SkxQueryLevel));
		(*last)->query = root->parse;
		last = &(*last)->parent;
	}
	return first;
}

/*
 * Looks for the index in a memory context of its own, which frees the
 * expressions that are made on the way.
 */
static bool
skx_plan_find_from(SkxQueryLevel *level, Node *expr, SkxBinding *binding)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "skipidx origin of a column",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SkxOriginSearch search = {0};
	bool		found;

	binding->search = &search;
	binding->arm_indexes = NIL;
	found = skx_plan_find_in_entry(level, expr, binding) &&
		search.steps <= SKX_ORIGIN_STEPS_MAX && !search.is_distributed;
	binding->search = NULL;
	binding->apart = search.apart;
	MemoryContextSwitchTo(old);
	binding->form.document = found ? copyObject(binding->form.document) : NULL;
	binding->arm_indexes = found ? list_copy(binding->arm_indexes) : NIL;
	binding->others =
		found ? skx_plan_same_ranking_indexes(binding->index,
											  binding->arm_indexes) : NIL;
	MemoryContextDelete(context);
	return found;
}

bool
skx_plan_find_ranking_index(PlannerInfo *root, bool alone, Node *expr,
							SkxBinding *binding)
{
	return skx_plan_find_from(skx_plan_query_levels(root, alone), expr,
							  binding);
}

bool
skx_plan_find_in_subquery(PlannerInfo *root, Query *query, Node *expr,
						  SkxBinding *binding)
{
	SkxQueryLevel level;

	level.query = query;
	level.parent = skx_plan_query_levels(root, false);
	return skx_plan_find_from(&level, expr, binding);
}
