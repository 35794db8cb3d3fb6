/*
 * blkio_private.c
 *	  Frames in this backend's own memory.
 *
 * A page that cannot or should not go to the cache is read into a frame that
 * only this backend has, as long as it is pinned.  A merge goes from list to
 * list and from input to input, and returns to the same block many times.  So
 * frames that are given back are kept for a while with their pages, and are
 * reused in the order in which they came.  As in the cache, pages of a segment
 * never change, so the pages in a frame stay valid.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "utils/memutils.h"

/* Most spare frames of each class during a transaction, and after it. */
#define SKX_BLK_SPARES_MAX			128
#define SKX_BLK_SPARE_FRAMES_IDLE		4

typedef struct SkxBlkSpareFrame
{
	char	   *memory;
	bool		is_filled;		/* has the pages of the key */
	SkxBlkKey	key;
} SkxBlkSpareFrame;

/* The spare frames; those given back last are at the end. */
static SkxBlkSpareFrame skx_blkio_spares[SKX_BLK_NCLASSES][SKX_BLK_SPARES_MAX];
static int	skx_blkio_nspares[SKX_BLK_NCLASSES];

/* Returns the index of the spare frame with the pages of the key, or -1. */
static int
skx_blkio_private_search(SkxBlkClass class, const SkxBlkKey *key)
{
	const SkxBlkSpareFrame *spares = skx_blkio_spares[class];
	int			i = skx_blkio_nspares[class];

	while (--i >= 0)
	{
		if (spares[i].is_filled && skx_blkio_same_key(&spares[i].key, key))
			break;
	}
	return i;
}

/* Removes a spare frame from the list and returns its memory. */
static char *
skx_blkio_private_remove(SkxBlkClass class, int i)
{
	SkxBlkSpareFrame *spare = &skx_blkio_spares[class][i];
	char	   *memory = spare->memory;
	int			after = --skx_blkio_nspares[class] - i;

	memmove(spare, spare + 1, after * sizeof(SkxBlkSpareFrame));
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

/* The address that palloc returned is stored just below the frame. */
char *
skx_blkio_private_take(SkxBlkClass class)
{
	Size		size = (Size) skx_blkio_frame_pages(class) * BLCKSZ;
	char	   *base;
	char	   *memory;

	if (skx_blkio_nspares[class] == SKX_BLK_SPARES_MAX ||
		(skx_blkio_nspares[class] > 0 &&
		 !skx_blkio_spares[class][0].is_filled))
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
	SkxBlkSpareFrame *spare;

	if (skx_blkio_nspares[class] == SKX_BLK_SPARES_MAX)
		skx_blkio_private_free(skx_blkio_private_remove(class, 0));
	spare = &skx_blkio_spares[class][skx_blkio_nspares[class]];
	if (key == NULL)
	{
		/* without pages to keep it is reused first */
		spare = skx_blkio_spares[class];
		memmove(spare + 1, spare,
				skx_blkio_nspares[class] * sizeof(SkxBlkSpareFrame));
	}
	spare->memory = memory;
	spare->is_filled = key != NULL;
	if (key != NULL)
		spare->key = *key;
	skx_blkio_nspares[class]++;
}

void
skx_blkio_private_trim(void)
{
	for (int class = 0; class < SKX_BLK_NCLASSES; class++)
	{
		while (skx_blkio_nspares[class] > SKX_BLK_SPARE_FRAMES_IDLE)
			skx_blkio_private_free(skx_blkio_private_remove(class, 0));
	}
}
