/*
 * facets_loose.c
 *	  Values that are counted one by one, in a hash table.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

struct SkxFacetHash
{
	MemoryContext context;		/* owns all that follows */
	HTAB	   *entries;
};

SkxFacetHash *
skx_facets_hash_create(void)
{
	SkxFacetHash *l = palloc(sizeof(SkxFacetHash));

	l->context = AllocSetContextCreate(CurrentMemoryContext,
									   "skipidx counted values",
									   ALLOCSET_DEFAULT_SIZES);
	l->entries = skx_column_create_table("skipidx counted values",
										 sizeof(SkxFacetHashEntry),
										 l->context);
	return l;
}

void
skx_facets_hash_add(SkxFacetHash *l, SkxLexeme value, uint64 count,
					uint64 place)
{
	SkxFacetHashEntry *loose = hash_search(l->entries, &value, HASH_FIND,
										   NULL);

	if (loose == NULL)
	{
		char	   *copy = MemoryContextAlloc(l->context, value.len);

		memcpy(copy, value.bytes, value.len);
		value.bytes = copy;
		loose = hash_search(l->entries, &value, HASH_ENTER, NULL);
		loose->count = 0;
		loose->row = place;
	}
	loose->count += count;
}

uint64
skx_facets_hash_count(const SkxFacetHash *l, const SkxLexeme *value)
{
	const SkxFacetHashEntry *loose = hash_search(l->entries, value, HASH_FIND,
												 NULL);

	return loose == NULL ? 0 : loose->count;
}

Size
skx_facets_hash_bytes(const SkxFacetHash *l)
{
	return MemoryContextMemAllocated(l->context, true);
}

int
skx_facets_hash_sort(SkxFacetHash *l, const SkxFacetHashEntry **sorted)
{
	long		n = hash_get_num_entries(l->entries);
	SkxFacetHashEntry *values =
		MemoryContextAllocHuge(l->context,
							   sizeof(SkxFacetHashEntry) * (Size) (n + 1));
	HASH_SEQ_STATUS status;
	SkxFacetHashEntry *loose;
	int			i = 0;

	hash_seq_init(&status, l->entries);
	while ((loose = hash_seq_search(&status)) != NULL)
		values[i++] = *loose;
	qsort(values, n, sizeof(SkxFacetHashEntry), skx_column_compare_lexeme);
	*sorted = values;
	return (int) n;
}

void
skx_facets_hash_free(SkxFacetHash *l)
{
	MemoryContextDelete(l->context);
	pfree(l);
}
