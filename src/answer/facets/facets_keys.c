/*
 * facets_keys.c
 *	  Counts the values of rows of a segment by the keys of a column, if that
 *	  costs less than its posting lists.
 *
 * A key that is not coarse determines a value (index/column/column_key.h).  So
 * the cost depends on the number of rows, not on that of values.  If a column
 * has as many values as the table has rows, its lists take as long for a
 * hundred rows as for all.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "index/segment/segment_keys.h"
#include "miscadmin.h"

/* Number of rows whose keys are sorted together. */
#define SKX_FACETS_SORTED_KEYS		4096

typedef struct SkxFacetKey
{
	uint64		value;
	uint32		doc;
	bool		is_null;
} SkxFacetKey;

struct SkxFacetKeys
{
	const SkxFacetInput *input;
	SkxKeyReader *reader;
	uint32		word;			/* next word of the input's bits */
	uint32		docs[SKX_FACETS_SORTED_KEYS];
	SkxKey		found[SKX_FACETS_SORTED_KEYS];
	SkxFacetKey keys[SKX_FACETS_SORTED_KEYS];
};

static inline int
skx_facets_compare_keys(const SkxFacetKey *a, const SkxFacetKey *b)
{
	if (a->is_null != b->is_null)
		return a->is_null ? -1 : 1;
	return a->value < b->value ? -1 : a->value > b->value;
}

#define ST_SORT skx_facets_sort_keys
#define ST_ELEMENT_TYPE SkxFacetKey
#define ST_COMPARE(a, b) skx_facets_compare_keys(a, b)
#define ST_CHECK_FOR_INTERRUPTS
#define ST_SCOPE static
#define ST_DEFINE
#include "lib/sort_template.h"

SkxFacetKeys *
skx_facets_keys_begin(const SkxFacetInput *input, int column)
{
	SkxKeyReader *reader;
	SkxFacetKeys *k;

	if (!skx_facets_keys_are_cheaper(input, column) ||
		(reader = skx_segment_keys_open(input->seg, column)) == NULL)
		return NULL;
	if (skx_column_key_is_coarse(skx_segment_keys_column(reader)))
	{
		skx_segment_keys_close(reader);
		return NULL;
	}
	k = palloc(sizeof(SkxFacetKeys));
	k->input = input;
	k->reader = reader;
	k->word = 0;
	return k;
}

/* Counts n rows with the same key. */
static void
skx_facets_keys_add(SkxFacetKeys *k, SkxFacetHash *loose,
					const SkxFacetKey *key, int n)
{
	const SkxKeyColumn *column = skx_segment_keys_column(k->reader);
	char		bytes[SKX_VALUE_HEAD_BYTES + SKX_KEY_FORM_BYTES_MAX] = {'\0',
	(char) (column->column + 1)};
	SkxLexeme	value = {bytes, SKX_VALUE_HEAD_BYTES};

	bytes[2] = (char) (key->is_null ? SKX_VALUE_NULL : SKX_VALUE_PRESENT);
	if (!key->is_null)
		value.len += skx_column_key_form(column, key->value,
										 bytes + SKX_VALUE_HEAD_BYTES);
	skx_facets_hash_add(loose, value, n,
						skx_facets_document_row(k->input, key->doc));
}

bool
skx_facets_keys_next(SkxFacetKeys *k, SkxFacetHash *loose)
{
	int			n = skx_facets_input_rows(k->input, &k->word, k->docs,
										  SKX_FACETS_SORTED_KEYS);
	int			first = 0;
	int			i;

	if (n == 0)
		return false;
	skx_segment_keys_read_docs(k->reader, k->docs, n, k->found);
	for (i = 0; i < n; i++)
		k->keys[i] = (SkxFacetKey)
	{
		k->found[i].value, k->docs[i], k->found[i].is_null != 0
	};
	skx_facets_sort_keys(k->keys, n);
	for (i = 1; i <= n; i++)
	{
		if (i < n && skx_facets_compare_keys(&k->keys[first], &k->keys[i]) == 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		skx_facets_keys_add(k, loose, &k->keys[first], i - first);
		first = i;
	}
	skx_facets_work.key_rows += n;
	return true;
}

void
skx_facets_keys_end(SkxFacetKeys *k)
{
	skx_segment_keys_close(k->reader);
	pfree(k);
}
