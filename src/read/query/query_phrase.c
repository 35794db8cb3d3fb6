/*
 * query_phrase.c
 *	  Decides which of the admitted documents match a phrase.
 *
 * A chain of plain lexemes, a <d1> b <d2> c ..., is matched by query_chain.c.
 * Anything else (negations, ORs, prefixes, nesting to the right) is given to
 * the server's own TS_execute(), with the positions from the index.  So its
 * semantics are the server's in every case.
 *
 * A lexeme stored without positions answers "maybe", and a phrase operator
 * over a maybe is false (tsvector_op.c, TS_phrase_execute).
 *
 * Documents are decided on in batches.  Where the positions of a batch lie is
 * known before any of them is read.  Unless the whole answer is wanted, the
 * first batch is small, since one row may be enough; the following batches
 * grow.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "read/query/query_places.h"
#include "tsearch/ts_utils.h"
#include "utils/memutils.h"

/*
 * The number of documents in the first batch, and the largest number in a
 * batch.  If TS_execute() decides, the batches of all phrases of the query may
 * locate SKX_PHRASE_POSITION_REFS position lists together.  A batch has at
 * least one document.
 */
#define SKX_PHRASE_BATCH_INIT	8
#define SKX_PHRASE_BATCH_MAX		256
#define SKX_PHRASE_POSITION_REFS	4096

/*
 * The memory budget in kB for the positions of prefixes, in all phrases of a
 * query.  If the whole answer is wanted it is work_mem if that is more, up to
 * SKX_PHRASE_MEMORY_MAX_KB.  Each phrase has at least
 * SKX_PHRASE_MEMORY_MIN_KB.
 */
#define SKX_PHRASE_MEMORY_KB		4096
#define SKX_PHRASE_MEMORY_MAX_KB (64 * 1024)
#define SKX_PHRASE_MEMORY_MIN_KB 128

#define SKX_PHRASE_ABSENT		PG_UINT32_MAX

/* The list or the prefix of an operand. */
typedef struct SkxOperand
{
	int			list;			/* number of its list; -1 for a prefix, and
								 * for a lexeme that the segment lacks */
	int			word;			/* its number in `prefix_words`; -1 if the
								 * phrase has no prefixes */
} SkxOperand;

struct SkxPhrase
{
	SkxSegment *seg;
	const SkxQueryNode *node;
	int			batch;			/* number of documents in the next batch */
	int			max_batch;		/* largest number of documents in a batch */
	SkxPageReads page_reads;
	SkxPhraseChain *chain;		/* a chain of plain lexemes; NULL for other
								 * phrases, for which all that follows is set */
	int			noperands;		/* number of items of the phrase */
	SkxOperand *operands;
	SkxPhraseWords *prefix_words;	/* NULL if it has no prefixes */
	SkxPhraseUse *uses;			/* by item; only while the phrase is opened */
	int			nlists;			/* number of lists of all operands */
	SkxCursor **lists;
	SkxPositionsRef **position_refs;	/* by list: where positions in the
										 * documents of the batch are; `first`
										 * is SKX_PHRASE_ABSENT if a document
										 * lacks the lexeme */
	uint32		doc;			/* the document that is decided on */
	int			doc_number;		/* its number in the batch */
	MemoryContext context;		/* for what lists keep from document to
								 * document */
	MemoryContext temp_context; /* for what TS_execute() allocates for one
								 * document */
};

static const char *
skx_query_operand_lexeme(const SkxPhrase *phrase, const QueryOperand *val)
{
	return GETOPERAND(phrase->node->phrase->query) + val->distance;
}

/*
 * Compares operands.  Prefixes come first, and operands with the same lexeme
 * follow each other.
 */
static int
skx_query_compare_operand(const void *a, const void *b, void *arg)
{
	const QueryOperand *x = &(*(QueryItem *const *) a)->qoperand;
	const QueryOperand *y = &(*(QueryItem *const *) b)->qoperand;

	CHECK_FOR_INTERRUPTS();
	if (x->prefix != y->prefix)
		return x->prefix ? -1 : 1;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return memcmp(skx_query_operand_lexeme(arg, x),
				  skx_query_operand_lexeme(arg, y), x->length);
}

/*
 * Opens the list or prefix of an operand.  No operand before it has the same
 * lexeme.
 */
static void
skx_query_operand_open(const SkxOpening *o, SkxPhrase *phrase,
					   SkxOperand *operand, const QueryOperand *val)
{
	const char *lexeme = skx_query_operand_lexeme(phrase, val);
	const SkxTerm *term = NULL;

	CHECK_FOR_INTERRUPTS();
	operand->list = operand->word = -1;
	if (!val->prefix)
	{
		term = &o->terms[skx_query_lexeme(o->query, lexeme, val->length)];
		if (term->df > 0)
		{
			operand->list = phrase->nlists++;
			phrase->lists[operand->list] =
				skx_cursor_open(phrase->seg, term, SKX_CURSOR_PROBE);
		}
	}
	if (phrase->prefix_words != NULL)
		operand->word = skx_query_words_add(phrase->prefix_words, lexeme,
											val->length, term);
}

/* Opens the prefixes of the phrase, for at most `nwords` words. */
static void
skx_query_phrase_open_prefixes(const SkxOpening *o, SkxPhrase *phrase,
							   int nwords)
{
	Size		room = SKX_PHRASE_MEMORY_KB;

	if (o->wants_all && work_mem > SKX_PHRASE_MEMORY_KB)
		room = Min(work_mem, SKX_PHRASE_MEMORY_MAX_KB);
	room = Max(room / Max(o->nphrases, 1), SKX_PHRASE_MEMORY_MIN_KB) * 1024;
	phrase->prefix_words = skx_query_words_open(phrase->seg,
												&phrase->page_reads, nwords,
												room, o->wants_all);
	phrase->uses = palloc_extended(sizeof(SkxPhraseUse) *
								   (Size) phrase->noperands,
								   MCXT_ALLOC_HUGE);
	skx_query_phrase_uses(phrase->node->phrase->item, phrase->noperands,
						  phrase->uses);
}

/*
 * Opens the operands of a general phrase.  They are stored by item number,
 * since TS_execute() gives its callback the item.  Operands with the same
 * lexeme share a list, or an array of positions.
 */
static void
skx_query_phrase_open_operands(const SkxOpening *o, SkxPhrase *phrase)
{
	QueryItem  *root = phrase->node->phrase->item;
	QueryItem **items = palloc_extended(sizeof(QueryItem *) *
										(Size) phrase->noperands,
										MCXT_ALLOC_HUGE);
	int			n = 0;
	int			i;

	for (i = 0; i < phrase->noperands; i++)
		if (root[i].type == QI_VAL)
			items[n++] = &root[i];
	qsort_arg(items, n, sizeof(QueryItem *), skx_query_compare_operand, phrase);
	if (items[0]->qoperand.prefix)
		skx_query_phrase_open_prefixes(o, phrase, n);
	for (i = 0; i < n; i++)
	{
		SkxOperand *operand = &phrase->operands[items[i] - root];

		if (i > 0 && skx_query_compare_operand(&items[i - 1], &items[i],
											   phrase) == 0)
			*operand = phrase->operands[items[i - 1] - root];
		else
			skx_query_operand_open(o, phrase, operand, &items[i]->qoperand);
		if (operand->word >= 0)
			skx_query_words_add_use(phrase->prefix_words, operand->word,
									&phrase->uses[items[i] - root]);
	}
	pfree(items);
	if (phrase->uses != NULL)
		pfree(phrase->uses);
	phrase->uses = NULL;
}

/*
 * Returns the number of items of a subtree.  They follow its root, those of
 * the left operand last.
 */
static int
skx_query_phrase_nitems(QueryItem *root)
{
	QueryItem  *item = root;

	while (item->type == QI_OPR)
		item += item->qoperator.oper == OP_NOT ? 1 : item->qoperator.left;
	return item - root + 1;
}

/* Allocates the position places of a batch, and sets phrase->max_batch. */
static void
skx_query_phrase_reserve(SkxPhrase *phrase, uint32 nphrases)
{
	int			most = SKX_PHRASE_POSITION_REFS / Max(phrase->nlists, 1) /
		Max(nphrases, 1);
	Size		size;
	int			i;

	phrase->max_batch = Min(Max(most, 1), SKX_PHRASE_BATCH_MAX);
	size = sizeof(SkxPositionsRef) * phrase->max_batch;
	phrase->position_refs = palloc_extended(sizeof(SkxPositionsRef *) *
											(Size) Max(phrase->nlists, 1),
											MCXT_ALLOC_HUGE);
	phrase->position_refs[0] = MemoryContextAllocHuge(CurrentMemoryContext,
													  size *
													  (phrase->nlists +
													   (Size) 1));
	for (i = 1; i < phrase->nlists; i++)
		phrase->position_refs[i] = phrase->position_refs[i - 1] +
			phrase->max_batch;
}

static void
skx_query_phrase_open_general(const SkxOpening *o, SkxPhrase *phrase)
{
	phrase->context = CurrentMemoryContext;
	phrase->noperands = skx_query_phrase_nitems(phrase->node->phrase->item);
	phrase->operands = palloc_extended(sizeof(SkxOperand) *
									   (Size) phrase->noperands,
									   MCXT_ALLOC_HUGE);
	phrase->lists = palloc_extended(sizeof(SkxCursor *) *
									(Size) phrase->noperands,
									MCXT_ALLOC_HUGE);
	skx_query_phrase_open_operands(o, phrase);
	skx_query_phrase_reserve(phrase, o->nphrases);
	phrase->temp_context = AllocSetContextCreate(CurrentMemoryContext,
												 "skipidx phrase",
												 ALLOCSET_SMALL_SIZES);
}

/*
 * If all matches are wanted, there is no reason to begin with a small batch.
 */
SkxPhrase *
skx_query_phrase_open(const SkxOpening *o, const SkxQueryNode *node)
{
	SkxPhrase  *phrase = palloc0(sizeof(SkxPhrase));

	phrase->seg = o->seg;
	phrase->node = node;
	phrase->max_batch = SKX_PHRASE_BATCH_MAX;
	phrase->page_reads.current = o->reads;
	if (node->phrase->nlinks > 0)
		phrase->chain = skx_query_chain_open(o, node, &phrase->page_reads);
	else
		skx_query_phrase_open_general(o, phrase);
	phrase->batch = o->wants_all ? phrase->max_batch :
		Min(SKX_PHRASE_BATCH_INIT, phrase->max_batch);
	return phrase;
}

void
skx_query_phrase_close(SkxPhrase *phrase)
{
	int			i;

	if (phrase->chain != NULL)
		skx_query_chain_close(phrase->chain);
	for (i = 0; i < phrase->nlists; i++)
		skx_cursor_close(phrase->lists[i]);
	if (phrase->prefix_words != NULL)
		skx_query_words_close(phrase->prefix_words);
	if (phrase->operands != NULL)
	{
		pfree(phrase->operands);
		pfree(phrase->lists);
		pfree(phrase->position_refs[0]);
		pfree(phrase->position_refs);
	}
	if (phrase->temp_context != NULL)
		MemoryContextDelete(phrase->temp_context);
	pfree(phrase);
}

static int
skx_query_compare_position(const void *a, const void *b)
{
	return (int) *(const WordEntryPos *) a - (int) *(const WordEntryPos *) b;
}

/*
 * Reads the positions of a list in the current document that have one of the
 * labels.  Returns their number, or -1 if the lexeme is there without
 * positions.  TS_execute() runs in a context that is reset after each
 * document, but what the list allocates must outlive it.
 */
static int
skx_query_read_positions(SkxPhrase *phrase, int list, uint8 labels,
						 uint16 *positions)
{
	const SkxPositionsRef *place =
		&phrase->position_refs[list][phrase->doc_number];
	MemoryContext old;
	int			n;

	if (place->first_position == SKX_PHRASE_ABSENT)
		return 0;
	if (place->tf == 0)
		return -1;
	old = MemoryContextSwitchTo(phrase->context);
	n = skx_cursor_positions_at(phrase->lists[list], place, positions);
	MemoryContextSwitchTo(old);
	return skx_query_filter_positions(positions, n, labels);
}

/* The positions of an operand in a document, without labels. */
typedef struct SkxFoundPositions
{
	WordEntryPos *positions;
	int			n;
	int			size;
} SkxFoundPositions;

static void
skx_query_found_add(SkxFoundPositions *found, const uint16 *positions, int n)
{
	if (n == 0)
		return;
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
skx_query_found_sort(SkxFoundPositions *found)
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
 * Adds the positions that have one of the labels.  Returns false if a lexeme
 * is there without positions.
 */
static bool
skx_query_found_add_refs(SkxFoundPositions *found, const SkxOccurrence *places,
						 int64 n, uint8 labels)
{
	for (; n > 0; places++, n--)
	{
		uint16		position = SKX_POSITION_OF(places->position);

		if (places->has_no_positions)
			return false;
		if (labels != 0 && (SKX_LABEL_BIT(places->position) & labels) == 0)
			continue;
		skx_query_found_add(found, &position, 1);
	}
	return true;
}

/*
 * Adds the positions of a prefix in the document.  Returns false if a lexeme
 * is there without positions.
 */
static bool
skx_query_check_prefix(SkxPhrase *phrase, const SkxOperand *operand,
					   uint8 labels, SkxFoundPositions *found)
{
	const SkxOccurrence *places;
	int64		n;

	places = skx_query_words_positions(phrase->prefix_words, operand->word,
									   phrase->doc, &n);
	return skx_query_found_add_refs(found, places, n, labels);
}

/*
 * Adds the positions of a lexeme in the document.  Returns false if it is
 * there without positions.
 */
static bool
skx_query_check_list(SkxPhrase *phrase, const SkxOperand *operand,
					 uint8 labels, SkxFoundPositions *found)
{
	uint16		positions[SKX_POSITIONS_MAX];
	int			n;

	if (operand->list < 0)
		return true;
	n = skx_query_read_positions(phrase, operand->list, labels, positions);
	if (n < 0)
		return false;
	skx_query_found_add(found, positions, n);
	return true;
}

/*
 * A callback of TS_execute(): finds the positions of an operand in the
 * document.
 */
static TSTernaryValue
skx_query_check_operand(void *arg, QueryOperand *val, ExecPhraseData *data)
{
	SkxPhrase  *phrase = arg;
	SkxOperand *operand =
		&phrase->operands[(QueryItem *) val - phrase->node->phrase->item];
	SkxFoundPositions found = {0};

	if (!(val->prefix ?
		  skx_query_check_prefix(phrase, operand, val->weight, &found) :
		  skx_query_check_list(phrase, operand, val->weight, &found)))
		return data != NULL ? TS_MAYBE : TS_YES;
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
	old = MemoryContextSwitchTo(phrase->temp_context);
	result = TS_execute(phrase->node->phrase->item, phrase, TS_EXEC_EMPTY,
						skx_query_check_operand);
	MemoryContextSwitchTo(old);
	MemoryContextReset(phrase->temp_context);
	return result;
}

/* Finds where the positions of a list in the documents of a batch are. */
static void
skx_query_phrase_locate(SkxCursor *list, SkxPositionsRef *places,
						const uint32 *docs, int n)
{
	int			i;

	skx_cursor_set_targets(list, docs, n);
	for (i = 0; i < n; i++)
	{
		places[i].tf = 0;
		places[i].first_position = SKX_PHRASE_ABSENT;
		(void) skx_cursor_locate(list, docs[i], &places[i]);
	}
	skx_cursor_set_targets(list, NULL, 0);
}

/* Keeps the documents of a batch that match; returns how many. */
static int
skx_query_phrase_batch(SkxPhrase *phrase, uint32 *docs, int n)
{
	int			asked = 0;
	int			kept = 0;
	int			i;

	for (i = 0; i < phrase->nlists; i++)
		skx_query_phrase_locate(phrase->lists[i], phrase->position_refs[i],
								docs, n);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (i >= asked && i % SKX_PHRASE_CHECK_DOCS == 0)
		{
			bool		cold = skx_query_has_read(&phrase->page_reads);

			asked = skx_cursor_prefetch_positions(phrase->lists,
												  phrase->position_refs,
												  phrase->nlists, i, n,
												  cold);
		}
		phrase->doc_number = i;
		docs[kept] = docs[i];
		kept += skx_query_phrase_matches(phrase, docs[i]);
	}
	return kept;
}

/* Keeps those of n documents that match, batch by batch; returns how many. */
static int
skx_query_phrase_batches(SkxPhrase *phrase, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;
	int			some;

	for (i = 0; i < n; i += some)
	{
		int			left;

		CHECK_FOR_INTERRUPTS();
		some = Min(n - i, phrase->batch);
		skx_query_reads_begin(&phrase->page_reads);
		if (phrase->chain != NULL)
			left = skx_query_chain_batch(phrase->chain, docs + i, some);
		else
			left = skx_query_phrase_batch(phrase, docs + i, some);
		memmove(docs + kept, docs + i, sizeof(uint32) * left);
		kept += left;
		phrase->batch = Min(phrase->batch * 2, phrase->max_batch);
	}
	return kept;
}

int
skx_query_phrase_filter(SkxPhrase *phrase, uint32 *docs, int n)
{
	int			kept = 0;
	int			i;
	int			some;

	if (phrase->prefix_words == NULL)
		return skx_query_phrase_batches(phrase, docs, n);
	for (i = 0; i < n; i += some)
	{
		int			left;

		some = n - i;
		left = skx_query_words_filter(phrase->prefix_words, docs + i, &some);
		left = skx_query_phrase_batches(phrase, docs + i, left);
		memmove(docs + kept, docs + i, sizeof(uint32) * left);
		kept += left;
	}
	return kept;
}
