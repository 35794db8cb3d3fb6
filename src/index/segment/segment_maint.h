/*
 * segment_maint.h
 *	  Functions on segments that merges, VACUUM, verification and walks over
 *	  dictionaries call, and searches do not.
 */
#ifndef SKX_SEGMENT_MAINT_H
#define SKX_SEGMENT_MAINT_H

#include "format/disk/disk_meta.h"
#include "index/segment/segment.h"

/* segment_open.c : opens segments */

/*
 * Does the same as skx_segment_open() for a segment that is given by its
 * reference, since no view may have it yet.
 */
extern SkxSegment *skx_segment_open_ref(SkxBlkFile *file, Relation rel,
										uint64 incarnation, uint32 block_size,
										const SkxDiskSegmentRef *ref);

/*
 * Opens a segment that is being made: its planes are written but for those of
 * the prefixes, its header is not.  The session keeps nothing of it.
 */
extern SkxSegment *skx_segment_open_made(SkxBlkFile *file, Relation rel,
										 uint64 incarnation,
										 const SkxDiskSegment *header,
										 const SkxDiskRun *runs);

/*
 * Returns all pages of the file that belong to a segment, including its
 * header, as a palloc'd array of *n ascending extents.  Adjacent pages are in
 * one extent.  Freeing the segment frees these pages.  Raises an error if a
 * page belongs to the segment twice.
 */
extern SkxDiskExtent *skx_segment_extents(const SkxSegment *seg,
										  const SkxDiskSegmentRef *ref,
										  int *n);

/* segment_dict_visit.c : walks over terms */

/*
 * A walk over all terms of a segment in lexeme order.  It has a copy of its
 * current page: no pin is held between two calls, and other readers of the
 * segment may be used.
 */
typedef struct SkxTermWalk SkxTermWalk;

/* Begins a walk before the first term; the result is palloc'd. */
extern SkxTermWalk *skx_segment_walk_begin(SkxSegment *seg);

/*
 * Moves a walk before the first term that is >= ends[0].  The walk does not
 * end at ends[1], but pages after that of ends[1] are not prefetched.
 */
extern void skx_segment_walk_range(SkxTermWalk *walk,
								   const SkxLexeme ends[2]);

/*
 * Does the same for a walk that then seeks, so that it passes over terms.
 * Pages are prefetched as far as it has read pages in order.
 */
extern void skx_segment_walk_sparse(SkxTermWalk *walk,
									const SkxLexeme ends[2]);

/*
 * Moves a walk before the first term that is >= `from`.  The walk has a
 * current term, which is below that.  Is quick if the term is on its page.
 */
extern void skx_segment_walk_seek(SkxTermWalk *walk, const SkxLexeme *from);

/*
 * Moves to the next term, and returns false if there is none.  *lexeme is
 * valid until the next call.
 */
extern bool skx_segment_walk_lexeme(SkxTermWalk *walk, const char **lexeme,
									int *len);

/*
 * Reads df, flags and npositions of the term that skx_segment_walk_lexeme() has
 * moved to, and no other fields; or all of it.
 */
extern void skx_segment_walk_counts(SkxTermWalk *walk, SkxTerm *term);
extern void skx_segment_walk_term(SkxTermWalk *walk, SkxTerm *term);

/* Does both: reads the next term, and returns false if there is none. */
extern bool skx_segment_walk_next(SkxTermWalk *walk, SkxTerm *term,
								  const char **lexeme, int *len);

/* Frees a walk, at any time. */
extern void skx_segment_walk_end(SkxTermWalk *walk);

/* segment_dict_reader.c : reads leaves of the dictionary */

/*
 * Describes page `ordinal` of the dictionary, to cut the dictionary there.
 * Copies the first *len bytes of the first lexeme of a leaf, `most` at most.
 * Sets *before to the approximate number of pages that the postings and
 * positions of all terms before take.  Returns false if the page is no leaf.
 */
extern bool skx_segment_dict_first_lexeme(SkxSegment *seg, uint32 ordinal,
										  char *lexeme, int most, int *len,
										  uint64 *before);

/* segment_deletes.c : reads and sets deleted bits */

/*
 * Copies the SKX_DELETES_BYTES bytes of deleted bits of page `ordinal` into
 * bits, under a share lock on the page.  Returns how many of them are set.
 */
extern uint32 skx_segment_read_deletes(SkxSegment *seg, uint32 ordinal,
									   uint8 *bits);

/*
 * Sets the given deleted bits of page `ordinal`, SKX_DELETES_BYTES bytes, in
 * addition to those that are set, in one WAL record.  The caller holds the
 * lock on the metapage.  Locks the page exclusively, and then the first page
 * of the plane if that changes, too.
 */
extern void skx_segment_add_deletes(SkxSegment *seg, uint32 ordinal,
									const uint8 *bits);

#endif							/* SKX_SEGMENT_MAINT_H */
