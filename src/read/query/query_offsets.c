/*
 * query_offsets.c
 *	  Finds how the operands of a phrase are bound to the position where it
 *	  ends.
 *
 * This follows TS_phrase_execute().  A phrase ends where its right operand
 * does.  Its left operand ends before that, by the distance and the width of
 * the right operand.  AND and OR align what they join.  That depends on the
 * document unless no operand has a width.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_places.h"

/*
 * A width is 0, or modulo SKX_PLACE_BITS in 1 to SKX_PLACE_BITS, or
 * SKX_WIDTH_VARIES if it is not known.
 */
#define SKX_WIDTH_VARIES	(SKX_PLACE_BITS + 1)

/* Returns the width of an item, computed from those of its operands. */
static uint8
skx_query_item_width(const QueryItem *item, const uint8 *width)
{
	int			right;
	int			left;
	int			sum;

	if (item->type != QI_OPR)
		return 0;
	right = width[1];
	if (item->qoperator.oper == OP_NOT)
		return right == 0 ? 0 : SKX_WIDTH_VARIES;
	left = width[item->qoperator.left];
	if (item->qoperator.oper != OP_PHRASE)
		return left == 0 && right == 0 ? 0 : SKX_WIDTH_VARIES;
	if (left == SKX_WIDTH_VARIES || right == SKX_WIDTH_VARIES)
		return SKX_WIDTH_VARIES;
	sum = item->qoperator.distance + left + right;
	return sum == 0 ? 0 : (sum - 1) % SKX_PLACE_BITS + 1;
}

/* Sets the uses of an operator's operands; its own use is known. */
static void
skx_query_bind(const QueryItem *item, const uint8 *width, SkxPlaceUse *use)
{
	SkxPlaceUse operand = *use;

	if (item->qoperator.oper == OP_NOT || item->qoperator.oper == OP_OR)
		operand.required = false;
	if (item->qoperator.oper != OP_PHRASE && width[0] != 0)
		operand.known = false;
	use[1] = operand;
	if (item->qoperator.oper == OP_NOT)
		return;
	if (item->qoperator.oper == OP_PHRASE)
	{
		operand.known &= width[1] != SKX_WIDTH_VARIES;
		operand.before = (operand.before + item->qoperator.distance +
						  width[1]) % SKX_PLACE_BITS;
	}
	use[item->qoperator.left] = operand;
}

/* Operands lie behind their operators, so loops do without recursion. */
void
skx_query_place_uses(const QueryItem *root, int nitems, SkxPlaceUse *uses)
{
	uint8	   *widths = palloc_extended(nitems, MCXT_ALLOC_HUGE);
	int			i;

	for (i = nitems - 1; i >= 0; i--)
		widths[i] = skx_query_item_width(&root[i], &widths[i]);
	uses[0].required = true;
	uses[0].known = true;
	uses[0].before = 0;
	uses[0].labels = 0;
	for (i = 0; i < nitems; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (root[i].type == QI_OPR)
			skx_query_bind(&root[i], &widths[i], &uses[i]);
		else
			uses[i].labels = root[i].qoperand.weight;
	}
	pfree(widths);
}
