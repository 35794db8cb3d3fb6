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
 * A width is 0, or modulo SKX_PHRASE_END_BITS in 1 to SKX_PHRASE_END_BITS, or
 * SKX_PHRASE_WIDTH_VARIES if it is not known.
 */
#define SKX_PHRASE_WIDTH_VARIES	(SKX_PHRASE_END_BITS + 1)

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
		return right == 0 ? 0 : SKX_PHRASE_WIDTH_VARIES;
	left = width[item->qoperator.left];
	if (item->qoperator.oper != OP_PHRASE)
		return left == 0 && right == 0 ? 0 : SKX_PHRASE_WIDTH_VARIES;
	if (left == SKX_PHRASE_WIDTH_VARIES || right == SKX_PHRASE_WIDTH_VARIES)
		return SKX_PHRASE_WIDTH_VARIES;
	sum = item->qoperator.distance + left + right;
	return sum == 0 ? 0 : (sum - 1) % SKX_PHRASE_END_BITS + 1;
}

/* Sets the uses of an operator's operands; its own use is known. */
static void
skx_query_bind_operands(const QueryItem *item, const uint8 *width,
						SkxPhraseUse *use)
{
	SkxPhraseUse operand = *use;

	if (item->qoperator.oper == OP_NOT || item->qoperator.oper == OP_OR)
		operand.is_required = false;
	if (item->qoperator.oper != OP_PHRASE && width[0] != 0)
		operand.has_offset = false;
	use[1] = operand;
	if (item->qoperator.oper == OP_NOT)
		return;
	if (item->qoperator.oper == OP_PHRASE)
	{
		operand.has_offset &= width[1] != SKX_PHRASE_WIDTH_VARIES;
		operand.offset_to_end =
			(operand.offset_to_end + item->qoperator.distance +
			 width[1]) % SKX_PHRASE_END_BITS;
	}
	use[item->qoperator.left] = operand;
}

/* Operands lie behind their operators, so loops do without recursion. */
void
skx_query_phrase_uses(const QueryItem *root, int nitems, SkxPhraseUse *uses)
{
	uint8	   *widths = palloc_extended(nitems, MCXT_ALLOC_HUGE);
	int			i;

	for (i = nitems - 1; i >= 0; i--)
		widths[i] = skx_query_item_width(&root[i], &widths[i]);
	uses[0].is_required = true;
	uses[0].has_offset = true;
	uses[0].offset_to_end = 0;
	uses[0].labels = 0;
	for (i = 0; i < nitems; i++)
	{
		if (i % 1024 == 0)
			CHECK_FOR_INTERRUPTS();
		if (root[i].type == QI_OPR)
			skx_query_bind_operands(&root[i], &widths[i], &uses[i]);
		else
			uses[i].labels = root[i].qoperand.weight;
	}
	pfree(widths);
}
