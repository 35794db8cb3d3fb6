/*
 * cost_query.c
 *	  Finds the queries of a scan, as far as the planner knows them, and their
 *	  words.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "sql/cost/cost_internal.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

/*
 * Returns the value of the right side of an index clause; NULL if it cannot be
 * known.
 */
static Const *
skx_cost_argument(PlannerInfo *root, Node *clause)
{
	if (IsA(clause, OpExpr))
		return skx_cost_planned_value(root, get_rightop((Expr *) clause));
	if (IsA(clause, ScalarArrayOpExpr))
		return skx_cost_planned_value(root,
									  lsecond(((ScalarArrayOpExpr *) clause)->args));
	return NULL;
}

/* Returns the operator family of the text; InvalidOid if it is not known. */
static Oid
skx_cost_family(const SkxCostState *c)
{
	if (c->path != NULL)
		return c->path->indexinfo->opfamily[0];
	return c->index->rel != NULL ? c->index->rel->rd_opfamily[0] : InvalidOid;
}

/*
 * Returns the query of a call that makes a reference or a ranking: its first
 * argument of that type.  Returns NULL if there is none.
 */
static Node *
skx_cost_query_of_call(Node *ranking)
{
	ListCell   *lc;

	if (!IsA(ranking, FuncExpr))
		return NULL;
	foreach(lc, ((FuncExpr *) ranking)->args)
	{
		if (exprType(lfirst(lc)) == TSQUERYOID)
			return lfirst(lc);
	}
	return NULL;
}

/*
 * The query of a call is evaluated instead of the call, since a condition may
 * have the same one, whose value is then known already.  Also, a ranking of
 * other servers' rows is not to be made for the planner.
 */
TSQuery
skx_cost_ranking(const SkxCostState *c, Node *distance)
{
	PlannerInfo *root = c->root;
	Node	   *ranking = get_rightop((Expr *) distance);
	Node	   *query = skx_cost_query_of_call(ranking);
	Const	   *value = skx_cost_planned_value(root, query != NULL ? query :
											   ranking);

	if (value == NULL || value->constisnull)
		return NULL;
	if (query != NULL)
		return DatumGetTSQuery(value->constvalue);
	if (!OidIsValid(skx_cost_family(c)))
		return NULL;
	if (skx_score_is_by_value(((OpExpr *) distance)->opno,
							  skx_cost_family(c)))
		return skx_score_any(skx_score_ranking_of(value->constvalue));
	return SkxRefQuery((SkxRef *) PG_DETOAST_DATUM(value->constvalue));
}

/*
 * Fills in the scan key of a clause on a column (from 0), as the executor
 * makes it.  Returns false if its value is not known.
 */
static bool
skx_cost_key(SkxCostState *c, Node *clause, int column, ScanKeyData *key)
{
	Oid			family = c->index->rel->rd_opfamily[column];
	Const	   *value = skx_cost_argument(c->root, clause);
	Oid			operator;
	int			strategy;
	Oid			left;

	memset(key, 0, sizeof(*key));
	key->sk_attno = column + 1;
	if (IsA(clause, NullTest))
	{
		key->sk_flags = SK_ISNULL |
			(((NullTest *) clause)->nulltesttype == IS_NULL ?
			 SK_SEARCHNULL : SK_SEARCHNOTNULL);
		return true;
	}
	if (value == NULL)
		return false;
	if (IsA(clause, ScalarArrayOpExpr))
	{
		key->sk_flags = SK_SEARCHARRAY;
		operator = ((ScalarArrayOpExpr *) clause)->opno;
	}
	else
		operator = ((OpExpr *) clause)->opno;
	get_op_opfamily_properties(operator, family, false, &strategy, &left,
							   &key->sk_subtype);
	key->sk_strategy = strategy;
	if (value->constisnull)
		key->sk_flags |= SK_ISNULL;
	key->sk_argument = value->constvalue;
	return true;
}

/* Returns true if the clause is a comparison such as `column < value`. */
static bool
skx_cost_is_range(const SkxCostState *c, Node *clause, int column)
{
	Oid			operator = InvalidOid;
	int			strategy;

	if (c->index->rel == NULL ||
		c->index->rel->rd_opcintype[column] == ANYARRAYOID)
		return false;
	if (IsA(clause, OpExpr))
		operator = ((OpExpr *) clause)->opno;
	else if (IsA(clause, ScalarArrayOpExpr))
		operator = ((ScalarArrayOpExpr *) clause)->opno;
	strategy = OidIsValid(operator) ?
		get_op_opfamily_strategy(operator,
								 c->index->rel->rd_opfamily[column]) : 0;
	return skx_column_is_range(strategy);
}

/*
 * Adds a qual to the range of its column.  The quals of a column come one
 * after the other.
 */
static void
skx_cost_add_range(SkxCostState *c, RestrictInfo *qual, int column)
{
	SkxCostRange *range = c->ranges != NIL ? llast(c->ranges) : NULL;

	if (range == NULL || range->column != column)
	{
		range = palloc0(sizeof(SkxCostRange));
		range->column = column;
		c->ranges = lappend(c->ranges, range);
	}
	range->quals = lappend(range->quals, qual);
}

/*
 * Adds a condition.  Those that follow from one NOT IN become one condition,
 * so that the rows in which the column is NULL are subtracted only once.
 */
static void
skx_cost_add_condition(SkxCostState *c, SkxCondition *condition)
{
	if (c->conditions == NIL ||
		!skx_condition_join_excluded(llast(c->conditions), condition))
		c->conditions = lappend(c->conditions, condition);
}

/*
 * Most queries of a condition that are estimated as their disjunction, and
 * most items that they may have together.  Adding a query to the disjunction
 * copies all items before it.
 */
#define SKX_COST_QUERIES		64
#define SKX_COST_QUERY_ITEMS	1024

/*
 * Returns the disjunction of a condition's queries; NULL if they are too many
 * or too long.
 */
static TSQuery
skx_cost_any_query(const SkxCondition *condition)
{
	TSQuery		any;
	int64		items = 0;
	int			i;

	for (i = 0; i < condition->n && i < SKX_COST_QUERIES; i++)
		items += condition->queries[i]->size;
	if (condition->n > SKX_COST_QUERIES || items > SKX_COST_QUERY_ITEMS)
		return NULL;
	any = condition->queries[0];
	for (i = 1; i < condition->n; i++)
		any = DatumGetTSQuery(DirectFunctionCall2(tsquery_or,
												  TSQueryGetDatum(any),
												  TSQueryGetDatum(condition->queries[i])));
	return any;
}

static void
skx_cost_condition(SkxCostState *c, RestrictInfo *qual, int column)
{
	TSQuery		any;
	SkxCondition *condition;
	ScanKeyData key;

	if (c->index->rel == NULL ||
		!skx_cost_key(c, (Node *) qual->clause, column, &key))
	{
		c->unknown = lappend(c->unknown, qual);
		return;
	}
	condition = palloc(sizeof(SkxCondition));
	skx_condition_of_key(c->index->rel, &key, condition);
	if (condition->kind == SKX_CONDITION_NEVER)
		c->is_empty = true;
	else if (condition->kind != SKX_CONDITION_QUERIES)
		skx_cost_add_condition(c, condition);
	else if ((any = skx_cost_any_query(condition)) != NULL)
		c->filters = lappend(c->filters, any);
	else
		c->unknown = lappend(c->unknown, qual);
}

void
skx_cost_conditions(SkxCostState *c, List *quals, int column)
{
	ListCell   *lc;

	foreach(lc, quals)
	{
		Node	   *clause = (Node *) lfirst_node(RestrictInfo, lc)->clause;
		Const	   *value;

		if (column > 0 && skx_cost_is_range(c, clause, column))
		{
			skx_cost_add_range(c, lfirst(lc), column);
			continue;
		}
		if (column > 0 || !IsA(clause, OpExpr))
		{
			skx_cost_condition(c, lfirst(lc), column);
			continue;
		}
		value = skx_cost_argument(c->root, clause);
		if (value == NULL || value->consttype != TSQUERYOID)
			c->unknown = lappend(c->unknown, lfirst(lc));
		else if (value->constisnull ||
				 DatumGetTSQuery(value->constvalue)->size == 0)
			c->is_empty = true;
		else
			c->filters = lappend(c->filters,
								 DatumGetTSQuery(value->constvalue));
	}
}

/*
 * If some of its values are known only at execution, the disjunction is the
 * first argument of a function, which adds them.
 */
const SkxDisjunction *
skx_cost_disjunction(const IndexOptInfo *index, const IndexClause *clause)
{
	const RestrictInfo *qual = linitial_node(RestrictInfo, clause->indexquals);
	const OpExpr *op = (const OpExpr *) qual->clause;
	Node	   *value;

	if (!clause->lossy || clause->indexcol != 0 || !IsA(op, OpExpr) ||
		get_op_opfamily_strategy(op->opno, index->opfamily[0]) !=
		SKX_STRATEGY_DISJUNCTION)
		return NULL;
	value = lsecond(op->args);
	if (IsA(value, FuncExpr))
		value = linitial(((FuncExpr *) value)->args);
	return (const SkxDisjunction *)
		DatumGetPointer(castNode(Const, value)->constvalue);
}

void
skx_cost_add_queries(SkxCostState *c)
{
	IndexPath  *path = c->path;
	ListCell   *lc;

	foreach(lc, path->indexclauses)
	{
		IndexClause *clause = lfirst_node(IndexClause, lc);
		const SkxDisjunction *any = skx_cost_disjunction(path->indexinfo,
														 clause);

		if (any == NULL)
		{
			skx_cost_conditions(c, clause->indexquals, clause->indexcol);
			continue;
		}

		/*
		 * The planner's estimate of the whole condition uses what the index
		 * knows of each arm.
		 */
		c->unknown = lappend(c->unknown, clause->rinfo);
		c->disjunction_cost += any->gather_cost;
	}
	if (path->indexorderbys != NIL)
		c->ranking = skx_cost_ranking(c, linitial(path->indexorderbys));
}

int
skx_cost_count_words(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			n = 0;
	int			i;

	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL && !items[i].qoperand.prefix;
	return n;
}

/*
 * Returns the number of the word that is looked up for word `at` of n: itself,
 * or in a long query one before it.  A run of neighbouring words that are
 * looked up stands for the runs that follow it.
 */
static int
skx_cost_substitute_word(int at, int n)
{
	int			step = (n + SKX_COST_QUERY_LOOKUPS_MAX - 1) /
		SKX_COST_QUERY_LOOKUPS_MAX;
	int			run = at / SKX_COST_PAIR_LOOKUPS_MAX;

	return (run - run % step) * SKX_COST_PAIR_LOOKUPS_MAX +
		at % SKX_COST_PAIR_LOOKUPS_MAX;
}

const QueryOperand **
skx_cost_lookup_words(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			n = skx_cost_count_words(query);
	const QueryOperand **plain = palloc_extended(sizeof(QueryOperand *) *
												 ((Size) n + 1),
												 MCXT_ALLOC_HUGE);
	int			at = 0;
	int			i;

	for (i = 0; i < query->size; i++)
	{
		if (items[i].type == QI_VAL && !items[i].qoperand.prefix)
			plain[at++] = &items[i].qoperand;
	}
	/* A word that stands for others is before them, so the end comes first. */
	for (at = n - 1; at >= 0; at--)
		plain[at] = plain[skx_cost_substitute_word(at, n)];
	return plain;
}

void
skx_cost_gather_words(SkxCostState *c, TSQuery query)
{
	int			n = skx_cost_count_words(query);
	const QueryOperand **plain = skx_cost_lookup_words(query);
	int			i;

	for (i = 0; i < n; i++)
	{
		SkxLexeme  *lexeme = &c->lexemes[c->nlexemes];

		if (c->nlexemes == SKX_COST_LEXEMES_MAX ||
			skx_cost_substitute_word(i, n) != i)
		{
			c->nskipped_words++;
			continue;
		}
		lexeme->bytes = GETOPERAND(query) + plain[i]->distance;
		lexeme->len = plain[i]->length;
		c->nlexemes++;
	}
	pfree(plain);
}

void
skx_cost_gather_condition(SkxCostState *c, const SkxCondition *condition)
{
	int			step = (condition->n + SKX_COST_LOOKUPS_MAX - 1) /
		SKX_COST_LOOKUPS_MAX;
	int			i;

	for (i = 0; i < condition->n; i++)
	{
		if (c->nlexemes == SKX_COST_LEXEMES_MAX || i % step != 0)
			c->nskipped_words++;
		else
			c->lexemes[c->nlexemes++] = condition->lexemes[i];
	}
}

bool
skx_cost_ranks_filter(const SkxCostState *c)
{
	return c->unknown == NIL && c->conditions == NIL && c->ranges == NIL &&
		list_length(c->filters) == 1 && c->ranking != NULL &&
		skx_score_same_query(linitial(c->filters), c->ranking);
}
