/*
 * merge_map.c
 *	  New numbers of the documents of segments that are merged.
 *
 * Postings of a term ascend, so each term goes through the maps once, from low
 * numbers to high ones.  A term with many postings reads page after page.  A
 * map in the file keeps page p in slot p % nslots, which suits this order as
 * well as any other choice of slots.
 */
#include "postgres.h"

#include "storage/buffile.h"
#include "write/merge/merge_internal.h"

/* Documents on a page. */
#define SKX_MERGE_MAP_PAGE_DOCS		(BLCKSZ / sizeof(uint32))

typedef struct SkxMergeMap
{
	uint32		ndocs;
	bool		is_linear;
	uint32		first;			/* linear: new number of document 0 */
	uint32	   *docs;			/* all of them, or NULL */

	/* in the file */
	uint32		npages;
	uint32	   *page_blocks;	/* block of the file for each page */
	uint32		nslots;			/* pages in memory: page p in p % nslots */
	uint32	   *page_cache;
	uint32	   *page_numbers;	/* page in each slot, plus one */
	uint32		nput;			/* documents that have a number */
} SkxMergeMap;

struct SkxMergeMaps
{
	MemoryContext context;
	SkxMergeMap *maps;
	int			nmaps;
	BufFile    *file;
	uint32		file_pages;		/* pages in the file */
	struct SkxSharedMergeMap *shared;	/* NULL: only of this process */
};

/* Prepares a map that does not fit into memory. */
static void
skx_merge_map_spill(SkxMergeMap *map, Size memory)
{
	map->npages = (map->ndocs + SKX_MERGE_MAP_PAGE_DOCS - 1) /
		SKX_MERGE_MAP_PAGE_DOCS;
	map->page_blocks = palloc(map->npages * sizeof(uint32));
	map->nslots = Max(Min(memory / BLCKSZ, map->npages), 1);
	map->page_cache = palloc_extended((Size) map->nslots * BLCKSZ,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	map->page_numbers = palloc0(map->nslots * sizeof(uint32));
}

SkxMergeMaps *
skx_merge_maps_create(const uint32 *ndocs, int nmaps, const bool *linear,
					  Size memory)
{
	SkxMergeMaps *maps = palloc0(sizeof(SkxMergeMaps));
	uint64		total = 0;
	int			i;

	maps->context = CurrentMemoryContext;
	maps->maps = palloc0(nmaps * sizeof(SkxMergeMap));
	maps->nmaps = nmaps;
	for (i = 0; i < nmaps; i++)
		total += linear[i] ? 0 : (uint64) ndocs[i] * sizeof(uint32);
	for (i = 0; i < nmaps; i++)
	{
		SkxMergeMap *map = &maps->maps[i];
		Size		size = (Size) ndocs[i] * sizeof(uint32);

		map->ndocs = ndocs[i];
		map->is_linear = linear[i];
		if (map->is_linear)
			continue;
		if (total <= memory)
			map->docs = MemoryContextAllocHuge(CurrentMemoryContext, size);
		else
			skx_merge_map_spill(map, (double) memory / total * size);
	}
	return maps;
}

/*
 * A map in shared memory.  The arrays of the maps that are not linear follow
 * behind all of these, in order.
 */
typedef struct SkxSharedMergeMap
{
	uint32		ndocs;
	uint32		first;
	bool		linear;
} SkxSharedMergeMap;

Size
skx_merge_maps_size(const uint32 *ndocs, int nmaps, const bool *linear)
{
	Size		size = MAXALIGN(nmaps * sizeof(SkxSharedMergeMap));
	int			i;

	for (i = 0; i < nmaps; i++)
		size += linear[i] ? 0 : (Size) ndocs[i] * sizeof(uint32);
	return size;
}

SkxMergeMaps *
skx_merge_maps_attach(int nmaps, void *shared)
{
	SkxMergeMaps *maps = palloc0(sizeof(SkxMergeMaps));
	SkxSharedMergeMap *all = shared;
	uint32	   *docs = (uint32 *) ((char *) shared +
								   MAXALIGN(nmaps *
											sizeof(SkxSharedMergeMap)));
	int			i;

	maps->context = CurrentMemoryContext;
	maps->maps = palloc0(nmaps * sizeof(SkxMergeMap));
	maps->nmaps = nmaps;
	maps->shared = all;
	for (i = 0; i < nmaps; i++)
	{
		SkxMergeMap *map = &maps->maps[i];

		map->ndocs = all[i].ndocs;
		map->is_linear = all[i].linear;
		map->first = all[i].first;
		if (map->is_linear)
			continue;
		map->docs = docs;
		docs += map->ndocs;
	}
	return maps;
}

SkxMergeMaps *
skx_merge_maps_create_shared(const uint32 *ndocs, int nmaps,
							 const bool *linear, void *shared)
{
	SkxSharedMergeMap *all = shared;
	int			i;

	for (i = 0; i < nmaps; i++)
	{
		all[i].ndocs = ndocs[i];
		all[i].linear = linear[i];
		all[i].first = 0;
	}
	return skx_merge_maps_attach(nmaps, shared);
}

/* Appends a complete page of a map to the file. */
static void
skx_merge_map_write(SkxMergeMaps *maps, SkxMergeMap *map, uint32 page)
{
	uint32	   *slot = map->page_cache + (Size) (page % map->nslots) *
		SKX_MERGE_MAP_PAGE_DOCS;

	if (maps->file == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(maps->context);

		maps->file = BufFileCreateTemp(false);
		MemoryContextSwitchTo(old);
	}
	BufFileWrite(maps->file, slot, BLCKSZ);
	map->page_blocks[page] = maps->file_pages++;
	map->page_numbers[page % map->nslots] = page + 1;
}

void
skx_merge_maps_add(SkxMergeMaps *maps, int which, uint32 doc)
{
	SkxMergeMap *map = &maps->maps[which];
	uint32		old = map->nput++;
	uint32		page;

	Assert(old < map->ndocs);
	if (map->is_linear)
	{
		if (old == 0)
			map->first = doc;
		if (old == 0 && maps->shared != NULL)
			maps->shared[which].first = doc;
		Assert(doc == map->first + old);
		return;
	}
	if (map->docs != NULL)
	{
		map->docs[old] = doc;
		return;
	}
	page = old / SKX_MERGE_MAP_PAGE_DOCS;
	map->page_cache[(Size) (page % map->nslots) * SKX_MERGE_MAP_PAGE_DOCS +
					old % SKX_MERGE_MAP_PAGE_DOCS] = doc;
	if (map->nput % SKX_MERGE_MAP_PAGE_DOCS == 0 || map->nput == map->ndocs)
		skx_merge_map_write(maps, map, page);
}

void
skx_merge_maps_check_complete(SkxMergeMaps *maps)
{
	int			i;

	for (i = 0; i < maps->nmaps; i++)
	{
		if (maps->maps[i].nput != maps->maps[i].ndocs)
			elog(ERROR, "a merge left out documents");
	}
}

/*
 * Returns a page of a map, which it reads from the file if it is not in a
 * slot.
 */
static const uint32 *
skx_merge_map_page(SkxMergeMaps *maps, SkxMergeMap *map, uint32 page)
{
	uint32		at = page % map->nslots;
	uint32	   *slot = map->page_cache + (Size) at * SKX_MERGE_MAP_PAGE_DOCS;

	if (map->page_numbers[at] == page + 1)
		return slot;
	map->page_numbers[at] = 0;
	if (BufFileSeekBlock(maps->file, map->page_blocks[page]) != 0 ||
		BufFileRead(maps->file, slot, BLCKSZ) != BLCKSZ)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read temporary file of an index merge: %m")));
	map->page_numbers[at] = page + 1;
	return slot;
}

void
skx_merge_maps_get(SkxMergeMaps *maps, int which, const uint32 *docs,
				   int n, uint32 *to)
{
	SkxMergeMap *map = &maps->maps[which];
	int			i = 0;

	if (map->is_linear)
	{
		for (i = 0; i < n; i++)
			to[i] = docs[i] + map->first;
		return;
	}
	if (map->docs != NULL)
	{
		for (i = 0; i < n; i++)
			to[i] = map->docs[docs[i]];
		return;
	}
	while (i < n)
	{
		uint32		page = docs[i] / SKX_MERGE_MAP_PAGE_DOCS;
		const uint32 *slot = skx_merge_map_page(maps, map, page);

		for (; i < n && docs[i] / SKX_MERGE_MAP_PAGE_DOCS == page; i++)
			to[i] = slot[docs[i] % SKX_MERGE_MAP_PAGE_DOCS];
	}
}

void
skx_merge_maps_free(SkxMergeMaps *maps)
{
	if (maps->file != NULL)
		BufFileClose(maps->file);
	maps->file = NULL;
}
