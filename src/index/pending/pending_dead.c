/*
 * pending_dead.c
 *	  Keeps a note of pending documents whose rows are known to be dead.
 *
 * It works as index/segment/segment_dead.c does for documents of segments.  A
 * number identifies a document, since a stripe gives it to one document only.
 */
#include "postgres.h"

#include "index/pending/pending_internal.h"
#include "support/bitset/bitset.h"

static void
skx_pending_dead_bitmap(Relation rel, const SkxView *view, int which,
						SkxBlkBitsKey *marks)
{
	marks->locator = SKX_REL_LOCATOR(rel);
	marks->incarnation = view->meta.incarnation;
	marks->salt = 0;
	marks->segment = (uint32) which;
	marks->plane = SKX_PLANE_PENDING;
}

void
skx_pending_remember_dead(Relation rel, const SkxView *view, int which,
						  uint64 sequence)
{
	SkxBlkBitsKey marks;

	skx_pending_dead_bitmap(rel, view, which, &marks);
	skx_blkio_bits_set(&marks, sequence);
}

void
skx_pending_dead_begin(SkxPendingDead *dead, Relation rel, const SkxView *view,
					   int which)
{
	skx_pending_dead_bitmap(rel, view, which, &dead->bits);
	dead->groups = skx_blkio_bits_groups(&dead->bits);
	dead->page = 0;
}

bool
skx_pending_dead_lookup(SkxPendingDead *dead, uint64 sequence)
{
	uint64		page = sequence / SKX_BLK_BITS_PER_PAGE;
	uint32		bit = sequence % SKX_BLK_BITS_PER_PAGE;

	if (!skx_bitset_word_has(dead->groups, (uint32) page))
		return false;
	if (dead->page != page + 1)
	{
		if (dead->words == NULL)
			dead->words = palloc(SKX_BLK_BITS_PAGE_BYTES);
		dead->page = page + 1;
		dead->page_has_bits = skx_blkio_bits_read_page(&dead->bits,
													   (uint32) page,
													   dead->words);
	}
	return dead->page_has_bits && skx_bitset_test(dead->words, bit);
}
