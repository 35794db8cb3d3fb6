/*
 * cost_query.c
 *	  The queries of a scan, as far as the planner knows them, and their words.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "cost/cost_internal.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"

/* Value of the right side of an index clause, NULL if it cannot be known. */
static Const *
skx_cost_argument(PlannerInfo *root, Node *clause)
{
	if (!IsA(clause, OpExpr))
		return NULL;
	return skx_cost_planned_value(root, get_rightop((Expr *) clause));
}

/*
 * In a call that makes a reference the query comes first, and may be that of a
 * condition, too.
 */
TSQuery
skx_cost_ranking(PlannerInfo *root, Node *distance)
{
	FuncExpr   *call = (FuncExpr *) get_rightop((Expr *) distance);
	bool		made = IsA(call, FuncExpr) && call->args != NIL &&
		exprType(linitial(call->args)) == TSQUERYOID;
	Const	   *value = skx_cost_planned_value(root, made ?
											   linitial(call->args) :
											   (Node *) call);

	if (value == NULL || value->constisnull)
		return NULL;
	if (made)
		return DatumGetTSQuery(value->constvalue);
	return SkxRefQuery((SkxRef *) PG_DETOAST_DATUM(value->constvalue));
}

/* What rows have to match. */
void
skx_cost_conditions(SkxCosting *c, List *quals)
{
	ListCell   *lc;

	foreach(lc, quals)
	{
		RestrictInfo *qual = lfirst_node(RestrictInfo, lc);
		Const	   *value = skx_cost_argument(c->root,
											  (Node *) qual->clause);

		if (value == NULL || value->consttype != TSQUERYOID)
			c->unknown++;
		else if (value->constisnull ||
				 DatumGetTSQuery(value->constvalue)->size == 0)
			c->nothing = true;
		else
			c->filters = lappend(c->filters,
								 DatumGetTSQuery(value->constvalue));
	}
}

void
skx_cost_queries(SkxCosting *c)
{
	IndexPath  *path = c->path;

	skx_cost_conditions(c, get_quals_from_indexclauses(path->indexclauses));
	if (path->indexorderbys != NIL)
		c->ranking = skx_cost_ranking(c->root,
									  linitial(path->indexorderbys));
}

int
skx_cost_plain(TSQuery query)
{
	const QueryItem *items = GETQUERY(query);
	int			n = 0;
	int			i;

	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL && !items[i].qoperand.prefix;
	return n;
}

void
skx_cost_gather(SkxCosting *c, TSQuery query)
{
	QueryItem  *items = GETQUERY(query);
	int			n = skx_cost_plain(query);
	int			step = (n + SKX_COST_LOOKUPS - 1) / SKX_COST_LOOKUPS;
	int			at = 0;
	int			i;

	for (i = 0; i < query->size; i++)
	{
		SkxLexeme  *lexeme = &c->lexemes[c->nlexemes];

		if (items[i].type != QI_VAL || items[i].qoperand.prefix)
			continue;
		if (c->nlexemes == SKX_COST_LEXEMES || at++ % step != 0)
		{
			c->left++;
			continue;
		}
		lexeme->bytes = GETOPERAND(query) + items[i].qoperand.distance;
		lexeme->len = items[i].qoperand.length;
		c->nlexemes++;
	}
}

void
skx_cost_distinct(SkxCosting *c)
{
	int			kept = 0;
	int			i;

	qsort(c->lexemes, c->nlexemes, sizeof(SkxLexeme), skx_query_compare_lexeme);
	for (i = 0; i < c->nlexemes; i++)
	{
		if (kept == 0 || skx_query_compare_lexeme(&c->lexemes[kept - 1],
												  &c->lexemes[i]) != 0)
			c->lexemes[kept++] = c->lexemes[i];
	}
	c->nlexemes = kept;
}

bool
skx_cost_ranks_filter(const SkxCosting *c)
{
	return c->unknown == 0 && list_length(c->filters) == 1 &&
		c->ranking != NULL &&
		skx_score_same_query(linitial(c->filters), c->ranking);
}
