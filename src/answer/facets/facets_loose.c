/*
 * facets_loose.c
 *	  Values that are counted one by one, in a hash table.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

struct SkxFacetLooses
{
	MemoryContext context;		/* owns all that follows */
	HTAB	   *values;
};

static uint32
skx_facets_hash(const void *key, Size size)
{
	const SkxLexeme *lexeme = key;

	return hash_bytes((const unsigned char *) lexeme->bytes, lexeme->len);
}

static int
skx_facets_match(const void *a, const void *b, Size size)
{
	return skx_column_compare_lexeme(a, b);
}

SkxFacetLooses *
skx_facets_loose_begin(void)
{
	SkxFacetLooses *l = palloc(sizeof(SkxFacetLooses));
	HASHCTL		ctl = {0};

	l->context = AllocSetContextCreate(CurrentMemoryContext,
									   "skipidx counted values",
									   ALLOCSET_DEFAULT_SIZES);
	ctl.keysize = sizeof(SkxLexeme);
	ctl.entrysize = sizeof(SkxFacetLoose);
	ctl.hash = skx_facets_hash;
	ctl.match = skx_facets_match;
	ctl.hcxt = l->context;
	l->values = hash_create("skipidx counted values", 256, &ctl,
							HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
							HASH_CONTEXT);
	return l;
}

void
skx_facets_loose_add(SkxFacetLooses *l, SkxLexeme value, uint64 count,
					 uint64 place)
{
	SkxFacetLoose *loose = hash_search(l->values, &value, HASH_FIND, NULL);

	if (loose == NULL)
	{
		char	   *copy = MemoryContextAlloc(l->context, value.len);

		memcpy(copy, value.bytes, value.len);
		value.bytes = copy;
		loose = hash_search(l->values, &value, HASH_ENTER, NULL);
		loose->count = 0;
		loose->place = place;
	}
	loose->count += count;
}

Size
skx_facets_loose_bytes(const SkxFacetLooses *l)
{
	return MemoryContextMemAllocated(l->context, true);
}

int
skx_facets_loose_sort(SkxFacetLooses *l, const SkxFacetLoose **sorted)
{
	long		n = hash_get_num_entries(l->values);
	SkxFacetLoose *values =
		MemoryContextAllocHuge(l->context, sizeof(SkxFacetLoose) * (Size) (n + 1));
	HASH_SEQ_STATUS status;
	SkxFacetLoose *loose;
	int			i = 0;

	hash_seq_init(&status, l->values);
	while ((loose = hash_seq_search(&status)) != NULL)
		values[i++] = *loose;
	qsort(values, n, sizeof(SkxFacetLoose), skx_column_compare_lexeme);
	*sorted = values;
	return (int) n;
}

void
skx_facets_loose_end(SkxFacetLooses *l)
{
	MemoryContextDelete(l->context);
	pfree(l);
}
