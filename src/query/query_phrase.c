/*
 * query_phrase.c
 *	  Decides which of the admitted documents really match a phrase.
 *
 * A chain of plain lexemes, a <d1> b <d2> c ..., is the business of
 * query_chain.c.  Anything else (negations, ORs, prefixes, nesting to the
 * right) is handed to the server's own evaluator, TS_execute, with the
 * positions from the index, so that every corner of its semantics is its own.
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

/* A place of a term with a short list. */
typedef struct SkxPlace
{
	uint32		doc;
	uint16		position;		/* WordEntryPos */
	bool		bare;			/* the lexeme is there without positions */
} SkxPlace;

/*
 * What is behind one operand: a list, or those of its prefix.  Most terms of
 * a prefix are in few documents: all their places are read at once, so that
 * a document meets those that it has and is not looked for in all lists.
 */
typedef struct SkxOperand
{
	int			nlists;
	int			max_lists;
	SkxList   **lists;
	int64		nplaces;
	int64		max_places;
	int64		next_place;		/* those before it are of earlier documents */
	SkxPlace   *places;			/* ascending */
} SkxOperand;

struct SkxPhrase
{
	SkxSegment *seg;
	const SkxQueryNode *node;
	SkxChain   *chain;			/* or all that follows */
	int			noperands;		/* items of the phrase */
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

/*
 * Adds all places of a short list.
 */
static void
skx_query_operand_places(SkxOperand *operand, SkxList *list)
{
	uint16		positions[SKX_POSITIONS_MAX];
	uint32		doc = 0;

	while ((doc = skx_segment_list_seek(list, doc)) != SKX_NO_DOC)
	{
		int			n = skx_segment_list_positions(list, positions);
		bool		bare = n == 0;
		int			i;

		if (operand->nplaces + SKX_POSITIONS_MAX > operand->max_places)
		{
			operand->max_places *= 2;
			operand->places = repalloc_huge(operand->places,
											operand->max_places *
											sizeof(SkxPlace));
		}
		for (i = 0; i < n || (bare && i == 0); i++)
		{
			SkxPlace   *place = &operand->places[operand->nplaces++];

			place->doc = doc;
			place->position = bare ? 0 : positions[i];
			place->bare = bare;
		}
		doc++;
	}
}

static int
skx_query_compare_place(const void *a, const void *b)
{
	uint32		x = ((const SkxPlace *) a)->doc;
	uint32		y = ((const SkxPlace *) b)->doc;

	return x < y ? -1 : x > y;
}

/* For the callback below. */
typedef struct SkxOperandVisit
{
	SkxPhrase  *phrase;
	SkxOperand *operand;
} SkxOperandVisit;

static bool
skx_query_operand_visit(const SkxTerm *term, const char *lexeme, int len,
						void *arg)
{
	SkxOperandVisit *visit = arg;

	if (term->df < SKX_SUBBLOCK)
	{
		SkxList    *list = skx_segment_list_open(visit->phrase->seg, term);

		skx_query_operand_places(visit->operand, list);
		skx_segment_list_close(list);
	}
	else
		skx_query_operand_add(visit->phrase, visit->operand, term);
	return true;
}

static void
skx_query_operand_open(const SkxOpening *o, SkxPhrase *phrase,
					   SkxOperand *operand, const QueryOperand *val)
{
	const char *lexeme = GETOPERAND(phrase->node->query) + val->distance;
	SkxOperandVisit visit = {phrase, operand};

	if (!val->prefix)
	{
		int			slot = skx_query_lexeme(o->query, lexeme, val->length);

		if (o->terms[slot].df > 0)
			skx_query_operand_add(phrase, operand, &o->terms[slot]);
		return;
	}
	operand->max_places = 4 * SKX_POSITIONS_MAX;
	operand->places = palloc(sizeof(SkxPlace) * operand->max_places);
	skx_segment_prefix(phrase->seg, lexeme, val->length,
					   skx_query_operand_visit, &visit);
	qsort(operand->places, operand->nplaces, sizeof(SkxPlace),
		  skx_query_compare_place);
}

/*
 * Opens the operands of a general phrase; they are kept by item number, since
 * that is what TS_execute's callback is given.
 */
static void
skx_query_phrase_operands(const SkxOpening *o, SkxPhrase *phrase,
						  QueryItem *item)
{
	check_stack_depth();
	while (item->type == QI_OPR)
	{
		if (item->qoperator.oper != OP_NOT)
			skx_query_phrase_operands(o, phrase,
									  item + item->qoperator.left);
		item++;
	}
	skx_query_operand_open(o, phrase,
						   &phrase->operands[item - phrase->node->item],
						   &item->qoperand);
}

/*
 * The items of a subtree follow its root, those of the left operand last.
 */
static int
skx_query_phrase_items(QueryItem *root)
{
	QueryItem  *item = root;

	while (item->type == QI_OPR)
		item += item->qoperator.oper == OP_NOT ? 1 : item->qoperator.left;
	return item - root + 1;
}

SkxPhrase *
skx_query_phrase_open(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxPhrase  *phrase = palloc0(sizeof(SkxPhrase));

	phrase->seg = o->seg;
	phrase->node = node;
	if (node->nlinks > 0)
	{
		phrase->chain = skx_query_chain_open(o, node);
		return phrase;
	}
	phrase->context = CurrentMemoryContext;
	phrase->noperands = skx_query_phrase_items(node->item);
	phrase->operands = palloc0(sizeof(SkxOperand) * phrase->noperands);
	skx_query_phrase_operands(o, phrase, node->item);
	phrase->temp = AllocSetContextCreate(CurrentMemoryContext,
										 "skipidx phrase",
										 ALLOCSET_SMALL_SIZES);
	return phrase;
}

void
skx_query_phrase_close(SkxPhrase *phrase)
{
	int			i;
	int			j;

	if (phrase->chain != NULL)
		skx_query_chain_close(phrase->chain);
	for (i = 0; i < phrase->noperands; i++)
	{
		for (j = 0; j < phrase->operands[i].nlists; j++)
			skx_segment_list_close(phrase->operands[i].lists[j]);
		if (phrase->operands[i].lists != NULL)
			pfree(phrase->operands[i].lists);
		if (phrase->operands[i].places != NULL)
			pfree(phrase->operands[i].places);
	}
	if (phrase->operands != NULL)
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
skx_query_list_positions(SkxList *list, uint32 doc, uint8 weights,
						 uint16 *positions)
{
	int			n;

	if (skx_segment_list_seek(list, doc) != doc)
		return 0;
	n = skx_segment_list_positions(list, positions);
	return n > 0 ? skx_query_positions(positions, n, weights) : -1;
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
	int			n = skx_query_list_positions(list, phrase->doc, weights,
											 positions);

	MemoryContextSwitchTo(old);
	return n;
}

/* Positions of an operand in a document, without labels. */
typedef struct SkxFound
{
	WordEntryPos *positions;
	int			n;
	int			size;
} SkxFound;

static void
skx_query_found_add(SkxFound *found, const uint16 *positions, int n)
{
	if (found->n + n > found->size)
	{
		found->size = Max(found->n + n, found->size * 2);
		if (found->positions == NULL)
			found->positions = palloc(sizeof(WordEntryPos) * found->size);
		else
			found->positions = repalloc(found->positions,
										sizeof(WordEntryPos) * found->size);
	}
	memcpy(found->positions + found->n, positions, sizeof(uint16) * n);
	found->n += n;
}

static void
skx_query_found_sort(SkxFound *found)
{
	int			unique = 1;
	int			i;

	qsort(found->positions, found->n, sizeof(WordEntryPos),
		  skx_query_compare_position);
	for (i = 1; i < found->n; i++)
		if (found->positions[i] != found->positions[unique - 1])
			found->positions[unique++] = found->positions[i];
	found->n = unique;
}

/*
 * Adds the places of the document; false when a lexeme is there without
 * positions.
 */
static bool
skx_query_check_places(SkxOperand *operand, uint32 doc, uint8 weights,
					   SkxFound *found)
{
	int64		low = operand->next_place;
	int64		high = operand->nplaces;

	while (low < high)
	{
		int64		mid = (low + high) / 2;

		if (operand->places[mid].doc < doc)
			low = mid + 1;
		else
			high = mid;
	}
	operand->next_place = low;
	for (; low < operand->nplaces && operand->places[low].doc == doc; low++)
	{
		uint16		position = operand->places[low].position;

		if (operand->places[low].bare)
			return false;
		if (weights != 0 && (SKX_LABEL_BIT(position) & weights) == 0)
			continue;
		position = SKX_POSITION(position);
		skx_query_found_add(found, &position, 1);
	}
	return true;
}

/*
 * TS_execute's question: where is the operand in the document?
 */
static TSTernaryValue
skx_query_check_operand(void *arg, QueryOperand *val, ExecPhraseData *data)
{
	SkxPhrase  *phrase = arg;
	SkxOperand *operand =
		&phrase->operands[(QueryItem *) val - phrase->node->item];
	uint16		positions[SKX_POSITIONS_MAX];
	SkxFound	found = {0};
	int			i;

	if (!skx_query_check_places(operand, phrase->doc, val->weight, &found))
		return data != NULL ? TS_MAYBE : TS_YES;
	for (i = 0; i < operand->nlists; i++)
	{
		int			n = skx_query_check_positions(phrase, operand->lists[i],
												  val->weight, positions);

		if (n < 0)
			return data != NULL ? TS_MAYBE : TS_YES;
		skx_query_found_add(&found, positions, n);
	}
	if (found.n == 0)
		return TS_NO;
	if (data == NULL)
		return TS_YES;
	if (val->prefix)
		skx_query_found_sort(&found);
	data->npos = found.n;
	data->pos = found.positions;
	data->allocated = true;
	return TS_YES;
}

static bool
skx_query_phrase_matches(SkxPhrase *phrase, uint32 doc)
{
	MemoryContext old;
	bool		result;

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

	if (phrase->chain != NULL)
		return skx_query_chain_filter(phrase->chain, docs, n);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		docs[kept] = docs[i];
		kept += skx_query_phrase_matches(phrase, docs[i]);
	}
	return kept;
}
