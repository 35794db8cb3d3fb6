/*
 * segment_dead.c
 *	  Notes documents whose rows are dead before VACUUM sets their deleted
 *	  bits.
 *
 * A row that is updated often leaves dead versions in the index.  They match
 * the same queries as the row itself, so every search would fetch all of them
 * from the table only to find them dead.  The first search that does so notes
 * them, as a B-tree does in its pages (LP_DEAD).
 *
 * A note says that no snapshot of this server sees the row.  It stays true
 * for ever: a document belongs to one row version, even if another row takes
 * its TID.  On a standby it need not be true, since snapshots there may be
 * older than those of the primary.  So notes are in memory, neither in the
 * file nor in the WAL, and a server in recovery makes none.  VACUUM, when it
 * sets deleted bits, and merges, when they leave documents out
 * (maint_dead.c), rely on the table alone and not on notes.
 */
#include "postgres.h"

#include "index/segment/segment.h"
#include "storage/blkio/blkio_marks.h"

StaticAssertDecl(SKX_BLK_BITS_PER_PAGE == SKX_DELETES_PER_PAGE,
				 "pages of notes and of delete bits are of the same documents");

static void
skx_segment_dead_bitmap(const SkxSegment *seg, SkxBlkBitsKey *marks)
{
	marks->locator = SKX_REL_LOCATOR(seg->rel);
	marks->incarnation = seg->incarnation;
	marks->salt = seg->header.salt;
	marks->segment = seg->header.segment;
	marks->plane = SKX_PLANE_DELETES;
}

void
skx_segment_remember_dead(const SkxSegment *seg, uint32 doc)
{
	SkxBlkBitsKey marks;

	skx_segment_dead_bitmap(seg, &marks);
	skx_blkio_bits_set(&marks, doc);
}

/*
 * The groups of pages with notes are read at the first call only: this saves
 * later calls a look-up in shared memory.
 */
int
skx_segment_drop_dead(SkxSegment *seg, uint32 page, uint32 *docs, int n)
{
	SkxBlkBitsKey marks;

	if (seg->dead_groups_read &&
		!skx_bitset_word_has(seg->dead_page_groups, page))
		return n;
	skx_segment_dead_bitmap(seg, &marks);
	if (!seg->dead_groups_read)
		seg->dead_page_groups = skx_blkio_bits_groups(&marks);
	seg->dead_groups_read = true;
	return skx_bitset_word_has(seg->dead_page_groups, page) ?
		skx_blkio_bits_drop_numbers(&marks, page, docs, n) : n;
}
