/*
 * segment_keys_values.c
 *	  Reads the values of a column with their documents, from either end of a
 *	  range of keys.
 *
 * The dictionary has the values of a column in their order.  Its entries are
 * front-coded and can only be decoded forward.  So the entries from one
 * restart entry to the next are read together, and then returned in the
 * wanted order.
 */
#include "postgres.h"

#include "format/codec/codec.h"
#include "index/segment/segment_dict_internal.h"
#include "index/segment/segment_keys_internal.h"
#include "miscadmin.h"

/* Leaves that are prefetched together, once a walk goes beyond its first. */
#define SKX_VALUES_PREFETCH_LEAVES	4

struct SkxKeyValues
{
	SkxDictCursor cursor;
	SkxKeyColumn column;
	SkxKeyRange range;
	const SkxLexeme *from;		/* values are >= *from; NULL: keys decide */
	const SkxLexeme *to;		/* values are below *to */
	bool		backward;
	uint32		leaf;			/* leaf of the entries to load next */
	int			restart;		/* restart entry that these begin with */
	bool		at_last_entry;	/* there are no entries to load */
	uint32		left_leaves;	/* leaves that the walk has left */
	uint64		page_reads;		/* for skx_segment_has_read */
	int			n;				/* values that are loaded */
	int			nreturned;		/* number of these that were returned */
	SkxKeyValue values[SKX_DICT_RESTART_ENTRIES];
};

/*
 * Compares the value of the current entry with v->from and v->to.  Returns
 * -1, 0 or 1 as skx_values_compare_range() does.
 */
static int
skx_values_compare_bounds(const SkxKeyValues *v)
{
	SkxLexeme	value = {v->cursor.key, v->cursor.keylen};

	if (skx_column_compare_lexeme(&value, v->from) < 0)
		return -1;
	return skx_column_compare_lexeme(&value, v->to) >= 0;
}

/*
 * Returns a negative number if the current entry is before the range, 0 if it
 * is in it, and a positive number if it is after it.  Sets *key if the entry
 * is a value of the column.
 */
static int
skx_values_compare_range(const SkxKeyValues *v, uint64 *key)
{
	const SkxDictCursor *c = &v->cursor;
	const char	head[SKX_VALUE_HEAD_BYTES] = {'\0',
		(char) (v->column.column + 1),
	SKX_VALUE_PRESENT};
	int			cmp = memcmp(c->key, head,
							 Min(c->keylen, SKX_VALUE_HEAD_BYTES));
	SkxKey		at;

	if (cmp != 0)
		return cmp;
	if (c->keylen < SKX_VALUE_HEAD_BYTES)
		return -1;
	skx_column_key(&v->column, c->key, c->keylen, &at);
	*key = at.value;
	if (at.value < v->range.least || at.value > v->range.most)
		return at.value < v->range.least ? -1 : 1;
	return v->from == NULL ? 0 : skx_values_compare_bounds(v);
}

/* Reads the documents, or else the term, of the current entry into *value. */
static void
skx_values_read_entry(SkxKeyValues *v, SkxKeyValue *value)
{
	value->n = skx_segment_dict_documents(&v->cursor, value->docs);
	if (value->n == 0)
		skx_segment_dict_term(&v->cursor, &value->term);
}

/*
 * Moves to the leaf before the one that the cursor is on.  Returns false if
 * there is none.
 */
static bool
skx_values_previous_leaf(SkxDictCursor *c)
{
	while (c->ordinal > 0)
	{
		skx_segment_dict_pin_page(c, c->ordinal - 1);
		if (c->head->level == 0)
			return true;
	}
	return false;
}

/*
 * Prefetches the leaves that the walk reaches next, at every
 * SKX_VALUES_PREFETCH_LEAVES-th leaf that it leaves.
 */
static void
skx_values_prefetch(SkxKeyValues *v)
{
	SkxSegment *seg = v->cursor.seg;
	uint32		npages = seg->planes[SKX_SEGMENT_DICT].npages;
	uint32		pages[SKX_VALUES_PREFETCH_LEAVES];
	int			n = 0;
	int			i;

	if (v->left_leaves++ % SKX_VALUES_PREFETCH_LEAVES != 0 ||
		seg->prefetch_units == 0 ||
		!skx_segment_has_read(&v->page_reads))
		return;
	for (i = 1; i <= SKX_VALUES_PREFETCH_LEAVES; i++)
	{
		uint32		page = v->backward ? v->leaf - i : v->leaf + i;

		/* a page below 0 wraps around, and is not below npages either */
		if (page < npages)
			pages[n++] = page;
	}
	skx_segment_prefetch_pages(seg, SKX_SEGMENT_DICT, pages, n, 1);
}

/*
 * Moves to the next restart entry in the direction of the walk, on this leaf
 * or the next one.  Sets v->at_last_entry if there is none.
 */
static void
skx_values_next_restart(SkxKeyValues *v)
{
	SkxDictCursor *c = &v->cursor;

	v->restart += v->backward ? -1 : 1;
	if (v->restart >= 0 && v->restart < c->head->nrestarts)
		return;
	skx_values_prefetch(v);
	v->at_last_entry = v->backward ? !skx_values_previous_leaf(c) :
		!skx_segment_dict_next_leaf(c);
	v->leaf = c->ordinal;
	v->restart = v->backward ? c->head->nrestarts - 1 : 0;
}

/*
 * Loads the values in the range among the entries from the current restart
 * entry to the next one.  Returns false if the walk is at its end.
 */
static bool
skx_values_load_entries(SkxKeyValues *v)
{
	SkxDictCursor *c = &v->cursor;
	int			place;

	if (v->at_last_entry)
		return false;
	CHECK_FOR_INTERRUPTS();
	v->n = v->nreturned = 0;
	skx_segment_dict_pin_page(c, v->leaf);
	if (c->head->level != 0 || v->restart >= c->head->nrestarts)
		skx_segment_dict_damaged(c, "dictionary page is not the one it was");
	skx_segment_dict_restart(c, v->restart);
	do
	{
		SkxKeyValue *value = &v->values[v->n];

		place = skx_values_compare_range(v, &value->key);
		v->at_last_entry |= v->backward ? place < 0 : place > 0;
		if (place > 0)
			break;
		skx_values_read_entry(v, value);
		v->n += place == 0;
	} while (v->n < SKX_DICT_RESTART_ENTRIES &&
			 c->entry % SKX_DICT_RESTART_ENTRIES != SKX_DICT_RESTART_ENTRIES -
			 1 &&
			 skx_segment_dict_next_entry(c));
	if (!v->at_last_entry)
		skx_values_next_restart(v);
	return true;
}

/*
 * Completes *start, which points to `bytes`, with the lexeme where the walk
 * begins: the form of the range's least key, or of its most key if the walk
 * is backward.  Several values can have the same coarse key, so that a
 * backward walk then begins after all of them.
 */
static void
skx_values_start_lexeme(const SkxKeyValues *v, SkxLexeme *start, char *bytes)
{
	uint64		key = v->backward ? v->range.most : v->range.least;

	if (v->backward && skx_column_key_is_coarse(&v->column))
	{
		if (key == PG_UINT64_MAX)
		{
			bytes[2] = SKX_VALUE_PRESENT + 1;
			return;
		}
		key++;
	}
	start->len += skx_column_key_form(&v->column, key,
									  bytes + SKX_VALUE_HEAD_BYTES);
}

SkxKeyValues *
skx_segment_values_begin(const SkxKeyReader *reader, const SkxKeyRange *range,
						 const SkxLexeme *from, const SkxLexeme *to,
						 bool backward)
{
	SkxKeyValues *v = palloc(sizeof(SkxKeyValues));
	char		bytes[SKX_VALUE_HEAD_BYTES + SKX_KEY_FORM_BYTES_MAX] = {'\0',
	(char) (reader->key.column + 1), SKX_VALUE_PRESENT};
	SkxLexeme	start = {bytes, SKX_VALUE_HEAD_BYTES};
	SkxLexeme	ends[2];

	v->cursor.seg = reader->seg;
	v->column = reader->key;
	v->range = *range;
	v->from = from;
	v->to = to;
	v->backward = backward;
	v->left_leaves = 0;
	v->page_reads = PG_UINT64_MAX;
	v->n = v->nreturned = 0;
	v->at_last_entry = reader->seg->header.nterms == 0;
	if (v->at_last_entry)
		return v;
	skx_values_start_lexeme(v, &start, bytes);
	ends[0] = ends[1] = start;
	(void) skx_segment_dict_range(&v->cursor, ends, 3);
	skx_segment_dict_bisect_restarts(&v->cursor, start.bytes, start.len);
	v->leaf = v->cursor.ordinal;
	v->restart = v->cursor.entry / SKX_DICT_RESTART_ENTRIES;
	return v;
}

const SkxKeyValue *
skx_segment_values_next(SkxKeyValues *v)
{
	while (v->nreturned == v->n)
		if (!skx_values_load_entries(v))
			return NULL;
	v->nreturned++;
	return &v->values[v->backward ? v->n - v->nreturned : v->nreturned - 1];
}

void
skx_segment_values_end(SkxKeyValues *v)
{
	skx_segment_dict_unpin_if_crowded(v->cursor.seg);
	pfree(v);
}
