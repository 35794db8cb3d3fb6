/*
 * blkio_contents.c
 *	  Lists what the cache has, so that it can be read back after a restart.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/blkio/blkio_warmer.h"
#include "utils/memutils.h"

static int
skx_blkio_known_compare(const void *a, const void *b)
{
	const SkxBlkKnownIndex *x = a;
	const SkxBlkKnownIndex *y = b;

	if (x->incarnation != y->incarnation)
		return x->incarnation < y->incarnation ? -1 : 1;
	if (x->database != y->database)
		return x->database < y->database ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

SkxBlkKnownIndex *
skx_blkio_known_indexes(int *n)
{
	SkxBlkKnownIndex *list =
		palloc(SKX_BLK_PATHS_SHARED * sizeof(SkxBlkKnownIndex));
	int			found = 0;

	StaticAssertStmt(SKX_BLK_PATHS_SHARED <= SKX_BLK_KNOWN_INDEXES_MAX,
					 "more files than indexes in the notes");
	*n = 0;
	if (skx_blkio_cache.header == NULL)
		return list;
	for (int i = 0; i < SKX_BLK_PATHS_SHARED; i++)
	{
		SkxBlkPathEntry *entry = &skx_blkio_cache.header->paths[i];
		uint64		index;

		if (pg_atomic_read_u64(&entry->answer) == 0)
			continue;
		index = pg_atomic_read_u64(&entry->index);
		list[found].incarnation = pg_atomic_read_u64(&entry->incarnation);
		list[found].database = (Oid) (index >> 32);
		list[found].index = (Oid) index;
		found++;
	}
	qsort(list, found, sizeof(SkxBlkKnownIndex), skx_blkio_known_compare);

	/* an index that was moved has an entry for each of its files */
	for (int i = 0; i < found; i++)
	{
		if (*n == 0 || skx_blkio_known_compare(&list[*n - 1], &list[i]) != 0)
			list[(*n)++] = list[i];
	}
	return list;
}

static int
skx_blkio_contents_compare(const void *a, const void *b)
{
	const SkxBlkContent *x = a;
	const SkxBlkContent *y = b;

	if (x->uses != y->uses)
		return x->uses > y->uses ? -1 : 1;
	if (x->key.incarnation != y->key.incarnation)
		return x->key.incarnation < y->key.incarnation ? -1 : 1;
	if (x->key.salt != y->key.salt)
		return x->key.salt < y->key.salt ? -1 : 1;
	if (x->key.segment != y->key.segment)
		return x->key.segment < y->key.segment ? -1 : 1;
	if (x->key.plane != y->key.plane)
		return x->key.plane < y->key.plane ? -1 : 1;
	return (x->key.ordinal > y->key.ordinal) -
		(x->key.ordinal < y->key.ordinal);
}

/*
 * Copies the key of a frame with pages of a file, and its use count.  Returns
 * false if it has none, or if it was evicted meanwhile: no lock is taken.
 */
static bool
skx_blkio_contents_copy(int32 i, SkxBlkContent *content)
{
	SkxBlkFrame *frame = skx_blkio_cache_frame(i);
	uint64		state = pg_atomic_read_u64(&frame->state);
	uint64		again;

	if ((state & (SKX_BLK_HAS_KEY | SKX_BLK_VALID)) !=
		(SKX_BLK_HAS_KEY | SKX_BLK_VALID))
		return false;
	pg_read_barrier();
	content->key = frame->key;
	pg_read_barrier();
	again = pg_atomic_read_u64(&frame->state);
	content->npages = skx_blkio_frame_pages(skx_blkio_cache_class(i));
	content->uses = (state & SKX_BLK_USE_MASK) / SKX_BLK_USE_ONE;
	return (state & SKX_BLK_VERSION_MASK) == (again & SKX_BLK_VERSION_MASK) &&
		content->key.plane < SKX_BLK_PLANES;
}

/* Returns the number of frames with each use count, about. */
static void
skx_blkio_contents_count(uint64 *counts)
{
	int32		i = -1;

	memset(counts, 0, (SKX_BLK_USE_COUNT_MAX + 1) * sizeof(*counts));
	while ((i = skx_blkio_cache_next(i)) >= 0)
	{
		if (pg_atomic_read_u64(&skx_blkio_cache_frame(i)->state) &
			SKX_BLK_VALID)
			counts[skx_blkio_cache_uses(i)]++;
	}
}

SkxBlkContent *
skx_blkio_contents(int most, int *n)
{
	uint64		counts[SKX_BLK_USE_COUNT_MAX + 1];
	uint64		total = 0;
	int			least = SKX_BLK_USE_COUNT_MAX;
	int64		room;
	SkxBlkContent *list;
	int32		i = -1;

	*n = 0;
	if (!skx_blkio_anchor_attach())
		return NULL;
	skx_blkio_contents_count(counts);
	while (least > 0 && total + counts[least] < most)
		total += counts[least--];

	/* of the frames used least there may be too many */
	room = most - (int64) total;
	total += counts[least];
	most = (int) Min(total + total / 8 + 64, most);
	list = palloc_extended(most * sizeof(SkxBlkContent), MCXT_ALLOC_HUGE);
	while (*n < most && (i = skx_blkio_cache_next(i)) >= 0)
	{
		if (skx_blkio_contents_copy(i, &list[*n]) &&
			(list[*n].uses > least || (list[*n].uses == least && room-- > 0)))
			(*n)++;
	}
	qsort(list, *n, sizeof(SkxBlkContent), skx_blkio_contents_compare);
	return list;
}
