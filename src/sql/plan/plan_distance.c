/*
 * plan_distance.c
 *	  What it costs to compute a distance from a row.
 *
 * That goes through all of the tsvector, since a score needs the number of words
 * of the document, and looks up each word of the query.  Paths that sort rows by
 * their distances pay it for each of them; a search of the index does not.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "sql/am/am.h"
#include "sql/plan/plan_internal.h"
#include "tsearch/ts_type.h"

/*
 * In units of cpu_operator_cost (of 6.5 ns): statistics, once, where they are known
 * to the session; and of each row what is the same for all, a word of the query, a
 * byte in the row, and one that is kept elsewhere and compressed.  Of 15,000 rows
 * in memory, with tsvectors of 71 bytes a row took .2 us with one word and .4 with
 * three; with 664 bytes 1.2 and 1.5, and 3.6 with 27 words; with 2,125 and 5,570
 * bytes that are kept elsewhere 6 to 8 and 13.
 */
#define SKX_DISTANCE_BEGIN		1000.0
#define SKX_DISTANCE_ROW		20.0
#define SKX_DISTANCE_WORD		12.0
#define SKX_DISTANCE_BYTE		0.18
#define SKX_DISTANCE_BYTE_AWAY	0.45

/* The index of ours whose first column the operand is; NULL: there is none. */
static IndexOptInfo *
skx_plan_index_of(PlannerInfo *root, Node *operand)
{
	const Var  *var = (const Var *) operand;
	const RelOptInfo *rel;
	ListCell   *lc;

	if (root == NULL || root->simple_rel_array == NULL || !IsA(operand, Var) ||
		var->varlevelsup > 0 || var->varno >= root->simple_rel_array_size)
		return NULL;
	rel = root->simple_rel_array[var->varno];
	if (rel == NULL)
		return NULL;
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_plan_is_ours(index) &&
			match_index_to_operand(operand, 0, index))
			return index;
	}
	return NULL;
}

/* Words of the query, as far as it is known; it may be one that no index ranks. */
static double
skx_plan_distance_words(Node *right)
{
	const Const *value = (const Const *) right;
	TSQuery		query;
	const QueryItem *items;
	double		n = 0;
	int			i;

	if (!IsA(right, Const) || value->constisnull)
		return 1;
	query = value->consttype == TSQUERYOID ?
		DatumGetTSQuery(value->constvalue) :
		SkxRefQuery((SkxRef *) PG_DETOAST_DATUM(value->constvalue));
	items = GETQUERY(query);
	for (i = 0; i < query->size; i++)
		n += items[i].type == QI_VAL;
	return n;
}

bool
skx_plan_distance_cost(SupportRequestCost *request)
{
	IndexOptInfo *index;
	List	   *args;

	if (request->node == NULL || !IsA(request->node, OpExpr))
		return false;
	args = ((OpExpr *) request->node)->args;
	index = skx_plan_index_of(request->root, linitial(args));
	if (index == NULL)
		return false;
	request->startup = SKX_DISTANCE_BEGIN * cpu_operator_cost;
	request->per_tuple = cpu_operator_cost *
		(SKX_DISTANCE_ROW +
		 SKX_DISTANCE_WORD * skx_plan_distance_words(lsecond(args))) +
		skx_plan_value_cost(request->root, index, SKX_DISTANCE_BYTE,
							SKX_DISTANCE_BYTE_AWAY);
	return true;
}
