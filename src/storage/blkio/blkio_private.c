/*
 * blkio_private.c
 *	  Frames in this backend's own memory.
 *
 * A page that cannot go to the cache, or should not, is read into a frame that
 * only this backend has, for as long as it is pinned.  A merge goes from list
 * to list, and from input to input, and comes back to the same block time
 * after time, so frames that were given up are kept for a while with what is in
 * them, and go to other pages in the order they came.  As in the cache, pages
 * of a segment never change, so what is in a frame is good for ever.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "utils/memutils.h"

/* Frames kept during a transaction, and after it, of each class. */
#define SKX_BLK_SPARES			128
#define SKX_BLK_SPARES_IDLE		4

typedef struct SkxBlkSpare
{
	char	   *memory;
	bool		filled;			/* with the pages of the key */
	SkxBlkKey	key;
} SkxBlkSpare;

/* Those given up last are last. */
static SkxBlkSpare skx_blkio_spares[SKX_BLK_NCLASSES][SKX_BLK_SPARES];
static int	skx_blkio_nspares[SKX_BLK_NCLASSES];

/* The spare frame with these pages, or -1. */
static int
skx_blkio_private_search(SkxBlkClass class, const SkxBlkKey *key)
{
	const SkxBlkSpare *spares = skx_blkio_spares[class];
	int			i = skx_blkio_nspares[class];

	while (--i >= 0)
	{
		if (spares[i].filled && skx_blkio_same_key(&spares[i].key, key))
			break;
	}
	return i;
}

/* Takes a spare frame out of the list. */
static char *
skx_blkio_private_remove(SkxBlkClass class, int i)
{
	SkxBlkSpare *spare = &skx_blkio_spares[class][i];
	char	   *memory = spare->memory;
	int			after = --skx_blkio_nspares[class] - i;

	memmove(spare, spare + 1, after * sizeof(SkxBlkSpare));
	return memory;
}

static void
skx_blkio_private_free(char *memory)
{
	char	   *base;

	memcpy(&base, memory - sizeof(char *), sizeof(char *));
	pfree(base);
}

bool
skx_blkio_private_has(SkxBlkClass class, const SkxBlkKey *key)
{
	return skx_blkio_private_search(class, key) >= 0;
}

char *
skx_blkio_private_find(SkxBlkClass class, const SkxBlkKey *key)
{
	int			i = skx_blkio_private_search(class, key);

	return i < 0 ? NULL : skx_blkio_private_remove(class, i);
}

/*
 * Aligned memory.  The address that palloc gave lies just below the frame.
 */
char *
skx_blkio_private_take(SkxBlkClass class)
{
	Size		size = (Size) skx_blkio_frame_pages(class) * BLCKSZ;
	char	   *base;
	char	   *memory;

	if (skx_blkio_nspares[class] == SKX_BLK_SPARES ||
		(skx_blkio_nspares[class] > 0 && !skx_blkio_spares[class][0].filled))
		return skx_blkio_private_remove(class, 0);
	base = MemoryContextAlloc(TopMemoryContext,
							  size + SKX_IO_ALIGN + sizeof(char *));
	memory = (char *) TYPEALIGN(SKX_IO_ALIGN, base + sizeof(char *));
	memcpy(memory - sizeof(char *), &base, sizeof(char *));
	return memory;
}

void
skx_blkio_private_give(SkxBlkClass class, char *memory, const SkxBlkKey *key)
{
	SkxBlkSpare *spare;

	if (skx_blkio_nspares[class] == SKX_BLK_SPARES)
		skx_blkio_private_free(skx_blkio_private_remove(class, 0));
	spare = &skx_blkio_spares[class][skx_blkio_nspares[class]];
	if (key == NULL)
	{
		/* Nothing to keep: the first to be used for something else. */
		spare = skx_blkio_spares[class];
		memmove(spare + 1, spare,
				skx_blkio_nspares[class] * sizeof(SkxBlkSpare));
	}
	spare->memory = memory;
	spare->filled = key != NULL;
	if (key != NULL)
		spare->key = *key;
	skx_blkio_nspares[class]++;
}

void
skx_blkio_private_trim(void)
{
	for (int class = 0; class < SKX_BLK_NCLASSES; class++)
	{
		while (skx_blkio_nspares[class] > SKX_BLK_SPARES_IDLE)
			skx_blkio_private_free(skx_blkio_private_remove(class, 0));
	}
}
