/*
 * segment_dead.c
 *	  Documents that are known to be dead before VACUUM has marked them.
 *
 * A row that is updated often leaves versions behind that are as good an answer
 * as the row itself, and every search would fetch all of them from the table to
 * find that they are dead.  The first that does so notes it, as a B-tree does
 * in its pages (LP_DEAD).
 *
 * What is noted is that no snapshot of this server sees the row any more, and
 * that is true for ever: a document is of one row version only, whatever becomes
 * of its TID.  It is not true on a standby, whose snapshots may be older than
 * those of the primary.  So it is kept in memory and neither in the file nor in
 * the log; a server in recovery notes nothing.  Marks of VACUUM, and what merges
 * leave out (maint_dead.c), go by the table alone.
 */
#include "postgres.h"

#include "index/segment/segment.h"
#include "storage/blkio/blkio_marks.h"

StaticAssertDecl(SKX_BLK_MARKS == SKX_DELETES_PER_PAGE,
				 "pages of notes and of delete bits are of the same documents");

static void
skx_segment_dead_marks(const SkxSegment *seg, SkxBlkMarks *marks)
{
	marks->locator = SKX_REL_LOCATOR(seg->rel);
	marks->incarnation = seg->incarnation;
	marks->salt = seg->header.salt;
	marks->segment = seg->header.segment;
	marks->plane = SKX_PLANE_DELETES;
}

void
skx_segment_note_dead(const SkxSegment *seg, uint32 doc)
{
	SkxBlkMarks marks;

	skx_segment_dead_marks(seg, &marks);
	skx_blkio_marks_set(&marks, doc);
}

/* What is noted after the first call is not looked for. */
int
skx_segment_drop_dead(SkxSegment *seg, uint32 page, uint32 *docs, int n)
{
	SkxBlkMarks marks;

	if (seg->dead_asked && (seg->dead_groups & SkxBlkMarksGroup(page)) == 0)
		return n;
	skx_segment_dead_marks(seg, &marks);
	if (!seg->dead_asked)
		seg->dead_groups = skx_blkio_marks_groups(&marks);
	seg->dead_asked = true;
	return seg->dead_groups & SkxBlkMarksGroup(page) ?
		skx_blkio_marks_drop(&marks, page, docs, n) : n;
}
