/*
 * plan_index.c
 *	  The index that ranks a column.
 *
 * The choice determines scores, so it depends only on the query and on the
 * existing indexes, not on the plan.  Only valid indexes count.  An index of
 * all rows is preferred to a partial one.  A partial one needs a WHERE of the
 * query itself that implies its predicate.  Of several, the oldest is taken.
 * A condition with a parameter implies nothing here, so that the plan for one
 * value of it ranks as the plan for any value.
 *
 * A name given with skipidx_query() chooses among the indexes that may be
 * chosen without it.  It gives no access to the statistics of another index.
 * The ranked column may have come through a view, whose reader knows only the
 * rows and columns that the view shows.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/prep.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteManip.h"
#include "sql/am/am.h"
#include "sql/plan/plan_words.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "write/maint/maint.h"

/* Ways in which an index serves, the less the better. */
#define SKX_INDEX_PARTIAL	2
#define SKX_INDEX_UNFIT		4

static Node *
skx_plan_plain_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
		return skx_plan_plain_mutator((Node *)
									  ((PlaceHolderVar *) node)->phexpr,
									  context);
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		skx_compat_plain_var(var);
		return (Node *) var;
	}
	return expression_tree_mutator(node, skx_plan_plain_mutator, context);
}

/*
 * Adds a condition to an implicit AND.  One that was not preprocessed is an
 * expression, else it is a list.  It is simplified without a planner's root,
 * so that nothing is bound again and parameters stay as they are.
 */
static List *
skx_plan_add_condition(List *clauses, Node *condition)
{
	List	   *list;

	if (condition == NULL)
		return clauses;
	condition = skx_plan_simplify(condition);
	if (IsA(condition, List))
		list = (List *) condition;
	else
		list = make_ands_implicit(canonicalize_qual((Expr *) condition,
													false));
	return list_concat(clauses, list);
}

/*
 * Adds the conditions that every row of the query's result meets: those of
 * WHERE and of inner joins.
 */
static List *
skx_plan_add_where(List *clauses, Node *from)
{
	ListCell   *lc;

	check_stack_depth();
	if (from == NULL)
		return clauses;
	if (IsA(from, FromExpr))
	{
		foreach(lc, ((FromExpr *) from)->fromlist)
		{
			clauses = skx_plan_add_where(clauses, lfirst(lc));
		}
		clauses = skx_plan_add_condition(clauses,
										 ((FromExpr *) from)->quals);
	}
	else if (IsA(from, JoinExpr) && ((JoinExpr *) from)->jointype == JOIN_INNER)
	{
		clauses = skx_plan_add_where(clauses, ((JoinExpr *) from)->larg);
		clauses = skx_plan_add_where(clauses, ((JoinExpr *) from)->rarg);
		clauses = skx_plan_add_condition(clauses,
										 ((JoinExpr *) from)->quals);
	}
	return clauses;
}

/*
 * Returns true if all rows of the table that the query sees have an entry in
 * the index.
 */
static bool
skx_plan_index_covers_rows(Relation index, Query *query, int varno)
{
	List	   *predicate = RelationGetIndexPredicate(index);
	RangeTblEntry *rte = rt_fetch(varno, query->rtable);
	List	   *clauses = NIL;
	ListCell   *lc;

	foreach(lc, rte->securityQuals)
	{
		clauses = skx_plan_add_condition(clauses, lfirst(lc));
	}
	clauses = skx_plan_add_where(clauses, (Node *) query->jointree);
	clauses = (List *) skx_plan_plain_mutator((Node *) clauses, NULL);
	if (varno != 1)
		ChangeVarNodes((Node *) predicate, 1, varno, 0);
	return predicate_implied_by(predicate, clauses, false);
}

/*
 * Returns true if the expression, of range table entry `varno`, is the first
 * key of the index.
 */
static bool
skx_plan_is_first_key(Relation index, Node *expr, int varno)
{
	AttrNumber	column = index->rd_index->indkey.values[0];
	Node	   *key;

	if (column != 0)
		return IsA(expr, Var) && ((Var *) expr)->varattno == column;
	key = skx_plan_unrelabel(linitial(RelationGetIndexExpressions(index)));
	if (varno != 1)
		ChangeVarNodes(key, 1, varno, 0);
	return equal(key, expr);
}

/*
 * Returns true if the index has that name.  One without a schema is looked up
 * in the search path.  USAGE of a given schema is not checked: to read a view,
 * none is needed on the schemas of its tables.
 */
static bool
skx_plan_index_has_name(Relation index, List *name)
{
	char	   *schema;
	char	   *relation;

	if (name == NIL)
		return true;
	DeconstructQualifiedName(name, &schema, &relation);
	if (strcmp(relation, RelationGetRelationName(index)) != 0)
		return false;
	if (schema == NULL)
		return RelationIsVisible(RelationGetRelid(index));
	return strcmp(schema,
				  get_namespace_name(RelationGetNamespace(index))) == 0;
}

/* Returns true if the index can rank at all, and fills in the operators. */
static bool
skx_plan_can_rank(Relation index, SkxBinding *binding)
{
	if (!skx_am_is_skipidx(index) || !index->rd_index->indisvalid ||
		index->rd_opcintype[0] != TSVECTOROID)
		return false;
	binding->operator = get_opfamily_member(index->rd_opfamily[0],
											TSVECTOROID, binding->type,
											SKX_STRATEGY_RANK);
	binding->match = get_opfamily_member(index->rd_opfamily[0], TSVECTOROID,
										 TSQUERYOID, SKX_STRATEGY_MATCH);
	return OidIsValid(binding->operator) && OidIsValid(binding->match);
}

/*
 * Returns true if the index has the documents that are searched: its first key
 * is the expression, or is made of these columns.
 */
static bool
skx_plan_has_documents(Relation table, Relation index, Node *expr, int varno,
					   SkxBinding *binding)
{
	if (!binding->is_text)
		return skx_plan_is_first_key(index, expr, varno);
	return skx_plan_document_form(table, index, binding->operator,
								  skx_plan_operand_columns(expr),
								  &binding->form);
}

/*
 * Returns how an index serves that has the documents: 0 if it has all rows and
 * no other columns, more the less it is preferred, SKX_INDEX_UNFIT if it does
 * not.
 */
static int
skx_plan_index_rank(Relation index, Query *query, int varno,
					const SkxBinding *binding, int best)
{
	int			rank = binding->is_text && binding->form.labels != 0;

	if (RelationGetIndexPredicate(index) == NIL)
		return rank;
	rank += SKX_INDEX_PARTIAL;
	return rank < best && skx_plan_index_covers_rows(index, query, varno) ?
		rank : SKX_INDEX_UNFIT;
}

/*
 * Returns true if the rows of the table are in shards, and notes that.  The
 * server that has a shard binds what it gets.
 */
static bool
skx_plan_is_distributed(Oid table, SkxOriginSearch *search)
{
	char		method = skx_maint_distribution(table);

	if (method == SKX_MAINT_NOT_DISTRIBUTED)
		return false;
	search->is_distributed = true;
	if (method == 'h' || method == 'r' || method == 'a')
		search->apart = table;
	return true;
}

bool
skx_plan_choose_index(Query *query, int varno, Node *expr, SkxBinding *binding)
{
	Oid			relid = rt_fetch(varno, query->rtable)->relid;
	Relation	table = table_open(relid, NoLock);
	SkxBinding	found = *binding;
	int			best = SKX_INDEX_UNFIT;
	ListCell   *lc;

	binding->index = InvalidOid;
	/* in the order of their OIDs */
	foreach(lc, RelationGetIndexList(table))
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);
		int			rank = SKX_INDEX_UNFIT;

		found.index = RelationGetRelid(index);
		if (skx_plan_can_rank(index, &found) &&
			skx_plan_index_has_name(index, binding->name) &&
			skx_plan_has_documents(table, index, expr, varno, &found))
			rank = skx_plan_index_rank(index, query, varno, &found, best);
		if (rank < best)
		{
			*binding = found;
			best = rank;
		}
		index_close(index, NoLock);
		if (best == 0)
			break;
	}
	table_close(table, NoLock);
	return OidIsValid(binding->index) &&
		!skx_plan_is_distributed(relid, binding->search);
}

static void
skx_plan_options(Oid oid, SkxRankOptions *options)
{
	Relation	index = index_open(oid, AccessShareLock);

	skx_am_rank_options(index, options);
	index_close(index, NoLock);
}

List *
skx_plan_same_ranking_indexes(Oid index, const List *arms)
{
	SkxRankOptions first;
	List	   *others = NIL;
	ListCell   *lc;

	skx_plan_options(index, &first);
	foreach(lc, arms)
	{
		SkxRankOptions options;

		CHECK_FOR_INTERRUPTS();
		if (lfirst_oid(lc) == index)
			continue;
		skx_plan_options(lfirst_oid(lc), &options);
		if (memcmp(&options, &first, sizeof(options)) != 0)
			return NIL;
		others = list_append_unique_oid(others, lfirst_oid(lc));
	}
	list_sort(others, list_oid_cmp);
	return others;
}
