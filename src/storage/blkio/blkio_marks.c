/*
 * blkio_marks.c
 *	  Sets of bits that only the cache has.
 *
 * A page of a set is a frame of the cache that belongs to no file.  It is made
 * with zeros when the first of its bits is set, and the bits are lost when it
 * is evicted.  Bits change only under pins.  A pin lasts only while bits are
 * read or one is set.  Nothing that can fail happens meanwhile, so these pins
 * need no resource owner.
 *
 * The first page of a set tells which groups of pages have bits.  Therefore
 * callers find no bits while it is missing.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/blkio/blkio_marks.h"

/* A bit of planes in keys that no plane of a segment has. */
#define SKX_BLK_BITS_PLANE		0x100

/* Head of a page, before its bits. */
typedef struct SkxBlkBitsHead
{
	SkxLocator	locator;
	pg_atomic_uint64 groups;	/* used in the first page */
} SkxBlkBitsHead;

StaticAssertDecl(sizeof(SkxBlkBitsHead) <= BLCKSZ - SKX_BLK_BITS_PAGE_BYTES,
				 "bits begin behind the head");

/*
 * Number of the half with a bit, among the halves of the words of a page.
 * Bits are set in halves, since not all machines have atomic operations on 64
 * bits.
 */
#ifdef WORDS_BIGENDIAN
#define SKX_BLK_BITS_HALF(bit)	((bit) / 32 ^ 1)
#else
#define SKX_BLK_BITS_HALF(bit)	((bit) / 32)
#endif

static inline uint64 *
skx_blkio_bits_words(int32 frame)
{
	return (uint64 *) (skx_blkio_cache_pages(frame) +
					   (BLCKSZ - SKX_BLK_BITS_PAGE_BYTES));
}

static inline SkxBlkBitsHead *
skx_blkio_bits_head(int32 frame)
{
	return (SkxBlkBitsHead *) skx_blkio_cache_pages(frame);
}

/*
 * Sets `key` to the key of a page.  The file is part of the salt, so keys of
 * copies are most often different.  It is also in the head of the page, where
 * it always tells them apart.
 */
static void
skx_blkio_bits_page_key(const SkxBlkBitsKey *marks, uint32 page,
						SkxBlkKey *key)
{
	key->incarnation = marks->incarnation;
	key->salt = marks->salt +
		((uint64) SKX_LOCATOR_NUMBER(marks->locator) << 32 |
		 SKX_LOCATOR_DATABASE(marks->locator));
	key->segment = marks->segment;
	key->ordinal = page;
	key->plane = SKX_BLK_BITS_PLANE | marks->plane;
}

/* Returns true if a pinned frame is valid and has bits of this file. */
static bool
skx_blkio_bits_is_of_file(const SkxBlkBitsKey *marks, int32 frame)
{
	return skx_blkio_cache_valid(frame) &&
		SKX_LOCATOR_EQUALS(skx_blkio_bits_head(frame)->locator,
						   marks->locator);
}

/* Returns the frame of a page, pinned, or -1 if there is none. */
static int32
skx_blkio_bits_find_page(const SkxBlkBitsKey *marks, uint32 page)
{
	SkxBlkKey	key;
	int32		frame;

	if (skx_blkio_cache.header == NULL)
		return -1;
	skx_blkio_bits_page_key(marks, page, &key);
	frame = skx_blkio_cache_find(&key, skx_blkio_cache_hash(&key), true);
	if (frame >= 0 && !skx_blkio_bits_is_of_file(marks, frame))
	{
		skx_blkio_cache_unpin(frame);
		frame = -1;
	}
	return frame;
}

/*
 * Does the same, but makes the page if it is missing.  Returns -1 if the cache
 * has no free frame.
 */
static int32
skx_blkio_bits_make_page(const SkxBlkBitsKey *marks, uint32 page)
{
	SkxBlkKey	key;
	int32		frame = skx_blkio_bits_find_page(marks, page);
	bool		mine;

	if (frame >= 0 || skx_blkio_cache.header == NULL)
		return frame;
	skx_blkio_bits_page_key(marks, page, &key);
	frame = skx_blkio_cache_claim(&key, skx_blkio_cache_hash(&key),
								  SKX_BLK_CLASS_PAGE, false, false, &mine);
	if (mine)
	{
		memset(skx_blkio_cache_pages(frame), 0, BLCKSZ);
		skx_blkio_bits_head(frame)->locator = marks->locator;
		pg_atomic_init_u64(&skx_blkio_bits_head(frame)->groups, 0);
		pg_write_barrier();
		skx_blkio_cache_end_load(frame, true);
	}
	if (frame >= 0 && !skx_blkio_bits_is_of_file(marks, frame))
	{
		skx_blkio_cache_unpin(frame);
		frame = -1;
	}
	return frame;
}

uint64
skx_blkio_bits_groups(const SkxBlkBitsKey *marks)
{
	int32		frame = skx_blkio_bits_find_page(marks, 0);
	uint64		groups;

	if (frame < 0)
		return 0;
	groups = pg_atomic_read_u64(&skx_blkio_bits_head(frame)->groups);
	skx_blkio_cache_unpin(frame);
	return groups;
}

int
skx_blkio_bits_drop_numbers(const SkxBlkBitsKey *marks, uint32 page,
							uint32 *numbers, int n)
{
	int32		frame = skx_blkio_bits_find_page(marks, page);
	const uint64 *words;
	int			kept = 0;
	int			i;

	if (frame < 0)
		return n;
	words = skx_blkio_bits_words(frame);
	for (i = 0; i < n; i++)
	{
		Assert(numbers[i] / SKX_BLK_BITS_PER_PAGE == page);
		numbers[kept] = numbers[i];
		kept += !skx_bitset_test(words, numbers[i] % SKX_BLK_BITS_PER_PAGE);
	}
	skx_blkio_cache_unpin(frame);
	return kept;
}

bool
skx_blkio_bits_read_page(const SkxBlkBitsKey *marks, uint32 page,
						 uint64 *words)
{
	int32		frame = skx_blkio_bits_find_page(marks, page);

	if (frame < 0)
		return false;
	memcpy(words, skx_blkio_bits_words(frame), SKX_BLK_BITS_PAGE_BYTES);
	skx_blkio_cache_unpin(frame);
	return true;
}

void
skx_blkio_bits_set(const SkxBlkBitsKey *marks, uint64 number)
{
	uint64		page = number / SKX_BLK_BITS_PER_PAGE;
	int32		first;
	int32		frame;

	if (page > PG_UINT32_MAX)
		return;
	first = skx_blkio_bits_make_page(marks, 0);
	if (first < 0)
		return;
	frame = skx_blkio_bits_make_page(marks, (uint32) page);
	if (frame >= 0)
	{
		uint32		bit = number % SKX_BLK_BITS_PER_PAGE;
		uint32	   *halves = (uint32 *) skx_blkio_bits_words(frame);

		pg_atomic_fetch_or_u32((pg_atomic_uint32 *)
							   &halves[SKX_BLK_BITS_HALF(bit)],
							   (uint32) 1 << bit % 32);
		skx_blkio_cache_unpin(frame);
		pg_atomic_fetch_or_u64(&skx_blkio_bits_head(first)->groups,
							   skx_bitset_mask_bit((uint32) page));
	}
	skx_blkio_cache_unpin(first);
}
