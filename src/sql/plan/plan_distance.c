/*
 * plan_distance.c
 *	  The cost of computing a distance from a row.
 *
 * It takes reading all of the tsvector, since a score needs the number of
 * words of the document, and looking up each word of the query.  Paths that
 * sort rows by their distances pay it for each row; a search of the index does
 * not.
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
 * Costs in units of cpu_operator_cost (of 6.5 ns).  SKX_DISTANCE_BEGIN_COST is
 * paid once, for statistics that the session has already.  The others are paid
 * for each row: a fixed amount, and amounts for a word of the query, a byte in
 * the row, and a compressed byte in TOAST.
 *
 * Times are of 15,000 rows in memory.  With tsvectors of 71 bytes a row took
 * .2 us with one word and .4 us with three.  With 664 bytes it took 1.2 and
 * 1.5 us, and 3.6 us with 27 words.  With 2,125 and 5,570 bytes in TOAST it
 * took 6 to 8 us and 13 us.
 */
#define SKX_DISTANCE_BEGIN_COST		1000.0
#define SKX_DISTANCE_ROW_COST		20.0
#define SKX_DISTANCE_WORD_COST		12.0
#define SKX_DISTANCE_BYTE_COST		0.18
#define SKX_DISTANCE_TOAST_BYTE_COST	0.45

/*
 * Returns the skipidx index whose first column is the operand; NULL if there
 * is none.
 */
static IndexOptInfo *
skx_plan_index_of(PlannerInfo *root, Node *operand)
{
	const RelOptInfo *rel;
	int			varno;
	ListCell   *lc;

	if (root == NULL || root->simple_rel_array == NULL ||
		!bms_get_singleton_member(pull_varnos(root, operand), &varno) ||
		varno >= root->simple_rel_array_size)
		return NULL;
	rel = root->simple_rel_array[varno];
	if (rel == NULL)
		return NULL;
	foreach(lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (skx_plan_is_skipidx(index) &&
			match_index_to_operand(operand, 0, index))
			return index;
	}
	return NULL;
}

/*
 * Returns the number of words of the query or ranking; 1 if it is not known.
 * The operand may also be an unbound tsquery.
 */
static double
skx_plan_distance_words(const IndexOptInfo *index, const OpExpr *distance)
{
	Node	   *right = lsecond(distance->args);
	const Const *value = (const Const *) right;
	TSQuery		query;
	const QueryItem *items;
	double		n = 0;
	int			i;

	if (!IsA(right, Const) || value->constisnull)
		return 1;
	if (skx_score_is_by_value(distance->opno, index->opfamily[0]))
		return skx_score_ranking_of(value->constvalue)->nterms;
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
	request->startup = SKX_DISTANCE_BEGIN_COST * cpu_operator_cost;
	request->per_tuple = cpu_operator_cost *
		(SKX_DISTANCE_ROW_COST +
		 SKX_DISTANCE_WORD_COST *
		 skx_plan_distance_words(index, (OpExpr *) request->node)) +
		skx_plan_value_cost(request->root, index, SKX_DISTANCE_BYTE_COST,
							SKX_DISTANCE_TOAST_BYTE_COST);
	return true;
}
