/*
 * highlight_query.c
 *	  Collects the words and phrases of a query.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "highlight/highlight_internal.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "tsearch/ts_utils.h"

/* A word of a query: an entry of the hash table of words. */
typedef struct SkxHighlightKey
{
	const char *bytes;			/* the first three are the key */
	int			len;
	bool		prefix;
	int			id;
} SkxHighlightKey;

/* Bits for an item of a query: it is below a negation, or in a phrase. */
#define SKX_ITEM_NEGATED	0x01
#define SKX_ITEM_PHRASE		0x02

static uint32
skx_highlight_key_hash(const void *key, Size size)
{
	const SkxHighlightKey *k = key;

	return hash_bytes((const unsigned char *) k->bytes, k->len) + k->prefix;
}

static int
skx_highlight_key_match(const void *a, const void *b, Size size)
{
	const SkxHighlightKey *x = a;
	const SkxHighlightKey *y = b;

	return x->len != y->len || x->prefix != y->prefix ||
		memcmp(x->bytes, y->bytes, x->len) != 0;
}

/* Adds the first characters of a word to q->second_chars. */
static void
skx_highlight_query_begins(SkxHighlightQuery *q, const SkxHighlightKey *key)
{
	int			first = key->len > 0 ?
		skx_highlight_char_number(key->bytes[0]) : -1;
	int			second = key->len > 1 ?
		skx_highlight_char_number(key->bytes[1]) : -1;

	if (key->len == 0)
		memset(q->second_chars, 0xFF, sizeof(q->second_chars));
	else if (first >= 0)
		q->second_chars[first] |= second >= 0 ? skx_bitset_mask_bit(second) :
			PG_UINT64_MAX;
}

/* Adds an operand of the query to its words. */
static void
skx_highlight_query_add(SkxHighlightQuery *q, int item, bool *lengths)
{
	QueryOperand *operand = &GETQUERY(q->query)[item].qoperand;
	SkxHighlightKey key = {GETOPERAND(q->query) + operand->distance,
	operand->length, operand->prefix};
	SkxHighlightKey *word;
	bool		found;

	word = hash_search(q->words, &key, HASH_ENTER, &found);
	if (!found)
		word->id = q->nwords++;
	q->ids[item] = word->id;
	if (operand->prefix)
		lengths[operand->length] = true;
	skx_highlight_query_begins(q, &key);
}

/*
 * Adds all words and phrases of the query.  An operator comes before its
 * operands in the array of items, so that one pass can hand its bits down.
 */
static void
skx_highlight_query_walk(SkxHighlightQuery *q, bool *lengths)
{
	QueryItem  *items = GETQUERY(q->query);
	int			n = q->query->size;
	uint8	   *state = palloc0(n + 1);
	int			i;

	for (i = 0; i < n; i++)
	{
		uint8		below = state[i];
		int			left;

		CHECK_FOR_INTERRUPTS();
		q->ids[i] = -1;
		if (items[i].type == QI_VAL && (state[i] & SKX_ITEM_NEGATED) == 0)
			skx_highlight_query_add(q, i, lengths);
		if (items[i].type != QI_OPR)
			continue;
		if (items[i].qoperator.oper == OP_NOT)
			below ^= SKX_ITEM_NEGATED;
		else if (items[i].qoperator.oper == OP_PHRASE)
		{
			if (below == 0 && q->nphrases < SKX_HIGHLIGHT_PHRASES_MAX)
				q->phrases[q->nphrases++] = i;
			below |= SKX_ITEM_PHRASE;
		}
		if (i + 1 < n)
			state[i + 1] = below;
		left = i + items[i].qoperator.left;
		if (items[i].qoperator.oper != OP_NOT && left > i && left < n)
			state[left] = below;
	}
	pfree(state);
}

SkxHighlightQuery *
skx_highlight_query(TSQuery query)
{
	SkxHighlightQuery *q = palloc0(sizeof(SkxHighlightQuery));
	bool	   *lengths = palloc0(MAXSTRLEN + 1);
	HASHCTL		ctl = {0};
	int			i;

	q->query = palloc(VARSIZE(query));
	memcpy(q->query, query, VARSIZE(query));
	q->ids = palloc_extended(sizeof(int) * ((Size) query->size + 1),
							 MCXT_ALLOC_HUGE);
	ctl.keysize = offsetof(SkxHighlightKey, id);
	ctl.entrysize = sizeof(SkxHighlightKey);
	ctl.hash = skx_highlight_key_hash;
	ctl.match = skx_highlight_key_match;
	ctl.hcxt = CurrentMemoryContext;
	q->words = hash_create("skipidx words to mark", 16, &ctl,
						   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
						   HASH_CONTEXT);
	skx_highlight_query_walk(q, lengths);
	q->lengths = palloc(sizeof(int) * (MAXSTRLEN + 1));
	for (i = 0; i <= MAXSTRLEN; i++)
		if (lengths[i])
			q->lengths[q->nlengths++] = i;
	pfree(lengths);
	return q;
}

/* Adds the number of the word with this key to ids, if the query has it. */
static int
skx_highlight_lookup_one(const SkxHighlightQuery *query, const char *lexeme,
						 int len, bool prefix, int *ids, int nids)
{
	SkxHighlightKey key = {lexeme, len, prefix};
	SkxHighlightKey *word = hash_search(query->words, &key, HASH_FIND, NULL);
	int			i;

	if (word == NULL || nids == SKX_HIGHLIGHT_TOKEN_IDS_MAX)
		return nids;
	for (i = 0; i < nids; i++)
		if (ids[i] == word->id)
			return nids;
	ids[nids] = word->id;
	return nids + 1;
}

int
skx_highlight_lookup(const SkxHighlightQuery *query, const char *lexeme,
					 int len, int *ids, int nids)
{
	int			i;

	nids = skx_highlight_lookup_one(query, lexeme, len, false, ids, nids);
	for (i = 0; i < query->nlengths && query->lengths[i] <= len; i++)
		nids = skx_highlight_lookup_one(query, lexeme, query->lengths[i],
										true, ids, nids);
	return nids;
}
