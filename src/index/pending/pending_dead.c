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
skx_pending_dead_marks(Relation rel, const SkxView *view, int which,
					   SkxBlkMarks *marks)
{
	marks->locator = SKX_REL_LOCATOR(rel);
	marks->incarnation = view->meta.incarnation;
	marks->salt = 0;
	marks->segment = (uint32) which;
	marks->plane = SKX_PLANE_PENDING;
}

void
skx_pending_note_dead(Relation rel, const SkxView *view, int which,
					  uint64 sequence)
{
	SkxBlkMarks marks;

	skx_pending_dead_marks(rel, view, which, &marks);
	skx_blkio_marks_set(&marks, sequence);
}

void
skx_pending_dead_begin(SkxPendingDead *dead, Relation rel, const SkxView *view,
					   int which)
{
	skx_pending_dead_marks(rel, view, which, &dead->marks);
	dead->groups = skx_blkio_marks_groups(&dead->marks);
	dead->page = 0;
}

bool
skx_pending_dead_slow(SkxPendingDead *dead, uint64 sequence)
{
	uint64		page = sequence / SKX_BLK_MARKS;
	uint32		bit = sequence % SKX_BLK_MARKS;

	if (!skx_bitset_has(dead->groups, (uint32) page))
		return false;
	if (dead->page != page + 1)
	{
		if (dead->words == NULL)
			dead->words = palloc(SKX_BLK_MARKS_BYTES);
		dead->page = page + 1;
		dead->any = skx_blkio_marks_read(&dead->marks, (uint32) page,
										 dead->words);
	}
	return dead->any && skx_bitset_test(dead->words, bit);
}
