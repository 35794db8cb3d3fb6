/*
 * query_phrase.c
 *	  Decides which of the admitted documents really match a phrase.
 *
 * A chain of plain lexemes, a <d1> b <d2> c ..., is matched by intersecting
 * position lists from left to right: what survives link i are the positions of
 * link i that complete the phrase so far.  Anything else (negations, ORs,
 * prefixes, nesting to the right) is handed to the server's own evaluator,
 * TS_execute, with the positions from the index, so that every corner of its
 * semantics is its own.
 *
 * A lexeme stored without positions answers "maybe", and a phrase operator
 * over a maybe is false (tsvector_op.c, TS_phrase_execute).
 */
#include "postgres.h"

#include "format/format_dict.h"
#include "miscadmin.h"
#include "query/query_internal.h"
#include "tsearch/ts_utils.h"
#include "utils/memutils.h"

#define SKX_POSITION(p)		((p) & 0x3FFF)
#define SKX_LABEL_BIT(p)	(1 << ((p) >> 14))

/* The lists behind one operand: one, or those of its prefix. */
typedef struct SkxOperand
{
	int			nlists;
	int			max_lists;
	SkxList   **lists;
} SkxOperand;

struct SkxPhrase
{
	SkxSegment *seg;
	const SkxQueryNode *node;
	QueryItem  *items;
	int			noperands;		/* links, or items of the whole query */
	SkxOperand *operands;
	uint32		doc;			/* being decided */
	MemoryContext context;		/* what lists keep from document to document */
	MemoryContext temp;			/* what TS_execute allocates for one of them */
};

static void
skx_query_operand_add(SkxPhrase *phrase, SkxOperand *operand,
					  const SkxTerm *term)
{
	if (operand->nlists == operand->max_lists)
	{
		operand->max_lists = Max(1, operand->max_lists * 4);
		if (operand->lists == NULL)
			operand->lists = palloc(sizeof(SkxList *) * operand->max_lists);
		else
			operand->lists = repalloc_huge(operand->lists,
										   sizeof(SkxList *) *
										   operand->max_lists);
	}
	operand->lists[operand->nlists++] = skx_segment_list_open(phrase->seg,
															  term);
}

/* Terms found first, lists opened later: visiting must not touch the segment. */
typedef struct SkxTermArray
{
	SkxTerm    *terms;
	int			n;
	int			size;
} SkxTermArray;

static bool
skx_query_operand_visit(const SkxTerm *term, const char *lexeme, int len,
						void *arg)
{
	SkxTermArray *a = arg;

	if (a->n == a->size)
	{
		a->size *= 2;
		a->terms = repalloc_huge(a->terms, sizeof(SkxTerm) * a->size);
	}
	a->terms[a->n++] = *term;
	return true;
}

static void
skx_query_operand_open(SkxPhrase *phrase, SkxOperand *operand,
					   const QueryOperand *val)
{
	const char *lexeme = GETOPERAND(phrase->node->query) + val->distance;
	SkxTerm		term;
	SkxTermArray a;
	int			i;

	if (!val->prefix)
	{
		if (skx_segment_find(phrase->seg, lexeme, val->length, &term))
			skx_query_operand_add(phrase, operand, &term);
		return;
	}
	a.n = 0;
	a.size = 16;
	a.terms = palloc(sizeof(SkxTerm) * a.size);
	skx_segment_prefix(phrase->seg, lexeme, val->length,
					   skx_query_operand_visit, &a);
	for (i = 0; i < a.n; i++)
		skx_query_operand_add(phrase, operand, &a.terms[i]);
	pfree(a.terms);
}

/*
 * Opens the operands of a general phrase; they are kept by item number, since
 * that is what TS_execute's callback is given.
 */
static void
skx_query_phrase_operands(SkxPhrase *phrase, QueryItem *item)
{
	check_stack_depth();
	while (item->type == QI_OPR)
	{
		if (item->qoperator.oper != OP_NOT)
			skx_query_phrase_operands(phrase,
									  item + item->qoperator.left);
		item++;
	}
	skx_query_operand_open(phrase, &phrase->operands[item - phrase->items],
						   &item->qoperand);
}

SkxPhrase *
skx_query_phrase_open(SkxSegment *seg, const SkxQueryNode *node)
{
	SkxPhrase  *phrase = palloc0(sizeof(SkxPhrase));
	int			i;

	phrase->seg = seg;
	phrase->node = node;
	phrase->context = CurrentMemoryContext;
	phrase->items = GETQUERY(node->query);
	phrase->noperands = node->nlinks > 0 ? node->nlinks : node->query->size;
	phrase->operands = palloc0(sizeof(SkxOperand) * phrase->noperands);
	if (node->nlinks > 0)
	{
		for (i = 0; i < node->nlinks; i++)
			skx_query_operand_open(phrase, &phrase->operands[i],
								   node->links[i]);
	}
	else
	{
		skx_query_phrase_operands(phrase, node->item);
		phrase->temp = AllocSetContextCreate(CurrentMemoryContext,
											 "skipidx phrase",
											 ALLOCSET_SMALL_SIZES);
	}
	return phrase;
}

void
skx_query_phrase_close(SkxPhrase *phrase)
{
	int			i;
	int			j;

	for (i = 0; i < phrase->noperands; i++)
	{
		for (j = 0; j < phrase->operands[i].nlists; j++)
			skx_segment_list_close(phrase->operands[i].lists[j]);
		if (phrase->operands[i].lists != NULL)
			pfree(phrase->operands[i].lists);
	}
	pfree(phrase->operands);
	if (phrase->temp != NULL)
		MemoryContextDelete(phrase->temp);
	pfree(phrase);
}

/*
 * Positions of the list in the document that have one of the labels; -1 when
 * the lexeme is there without any positions.
 */
static int
skx_query_positions(SkxList *list, uint32 doc, uint8 weights,
					uint16 *positions)
{
	int			n;
	int			kept = 0;
	int			i;

	if (skx_segment_list_seek(list, doc) != doc)
		return 0;
	n = skx_segment_list_positions(list, positions);
	if (n == 0)
		return -1;
	for (i = 0; i < n; i++)
	{
		if (weights != 0 && (SKX_LABEL_BIT(positions[i]) & weights) == 0)
			continue;
		positions[kept++] = SKX_POSITION(positions[i]);
	}
	return kept;
}

/*
 * Keeps the positions of `right` that lie `distance` after one of `left`.
 */
static int
skx_query_join(const uint16 *left, int nleft, uint16 *right, int nright,
			   int distance)
{
	int			kept = 0;
	int			i = 0;
	int			j;

	for (j = 0; j < nright; j++)
	{
		while (i < nleft && left[i] + distance < right[j])
			i++;
		if (i >= nleft)
			break;
		if (left[i] + distance == right[j])
			right[kept++] = right[j];
	}
	return kept;
}

static bool
skx_query_chain_matches(SkxPhrase *phrase, uint32 doc)
{
	const SkxQueryNode *node = phrase->node;
	uint16		a[SKX_POSITIONS_MAX];
	uint16		b[SKX_POSITIONS_MAX];
	uint16	   *left = a;
	uint16	   *right = b;
	int			nleft = 0;
	int			i;

	for (i = 0; i < node->nlinks; i++)
	{
		SkxOperand *operand = &phrase->operands[i];
		int			n;
		uint16	   *swap;

		if (operand->nlists == 0)
			return false;
		n = skx_query_positions(operand->lists[0], doc,
								node->links[i]->weight, right);
		if (n > 0 && i > 0)
			n = skx_query_join(left, nleft, right, n, node->distances[i]);
		if (n <= 0)
			return false;
		nleft = n;
		swap = left;
		left = right;
		right = swap;
	}
	return true;
}

static int
skx_query_compare_position(const void *a, const void *b)
{
	return (int) *(const WordEntryPos *) a - (int) *(const WordEntryPos *) b;
}

/*
 * Positions of one list for TS_execute, which runs in the context that is
 * reset with each document: what the list allocates must outlive it.
 */
static int
skx_query_check_positions(SkxPhrase *phrase, SkxList *list, uint8 weights,
						  uint16 *positions)
{
	MemoryContext old = MemoryContextSwitchTo(phrase->context);
	int			n = skx_query_positions(list, phrase->doc, weights, positions);

	MemoryContextSwitchTo(old);
	return n;
}

/*
 * TS_execute's question: where is the operand in the document?
 */
static TSTernaryValue
skx_query_check_operand(void *arg, QueryOperand *val, ExecPhraseData *data)
{
	SkxPhrase  *phrase = arg;
	SkxOperand *operand =
		&phrase->operands[(QueryItem *) val - phrase->items];
	uint16		positions[SKX_POSITIONS_MAX];
	WordEntryPos *all = NULL;
	int			total = 0;
	int			i;
	int			j;

	for (i = 0; i < operand->nlists; i++)
	{
		int			n = skx_query_check_positions(phrase, operand->lists[i],
												  val->weight, positions);

		if (n < 0)
			return data != NULL ? TS_MAYBE : TS_YES;
		if (n == 0)
			continue;
		if (data == NULL)
			return TS_YES;
		if (all == NULL)
			all = palloc(sizeof(WordEntryPos) * n);
		else
			all = repalloc(all, sizeof(WordEntryPos) * (total + n));
		for (j = 0; j < n; j++)
			all[total++] = positions[j];
	}
	if (total == 0)
		return TS_NO;
	if (operand->nlists > 1)
	{
		int			unique = 1;

		qsort(all, total, sizeof(WordEntryPos), skx_query_compare_position);
		for (i = 1; i < total; i++)
			if (all[i] != all[unique - 1])
				all[unique++] = all[i];
		total = unique;
	}
	data->npos = total;
	data->pos = all;
	data->allocated = true;
	return TS_YES;
}

static bool
skx_query_phrase_matches(SkxPhrase *phrase, uint32 doc)
{
	MemoryContext old;
	bool		result;

	if (phrase->node->nlinks > 0)
		return skx_query_chain_matches(phrase, doc);
	phrase->doc = doc;
	old = MemoryContextSwitchTo(phrase->temp);
	result = TS_execute(phrase->node->item, phrase, TS_EXEC_EMPTY,
						skx_query_check_operand);
	MemoryContextSwitchTo(old);
	MemoryContextReset(phrase->temp);
	return result;
}

int
skx_query_phrase_filter(SkxPhrase *phrase, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;

	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		docs[kept] = docs[i];
		kept += skx_query_phrase_matches(phrase, docs[i]);
	}
	return kept;
}
