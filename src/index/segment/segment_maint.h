/*
 * segment_maint.h
 *	  What only the code that merges, vacuums and verifies segments reads of
 *	  them.
 */
#ifndef SKX_SEGMENT_MAINT_H
#define SKX_SEGMENT_MAINT_H

#include "format/disk/disk_meta.h"
#include "index/segment/segment.h"

/*
 * segment_open.c
 */

/* skx_segment_open for a segment that no view has yet. */
extern SkxSegment *skx_segment_open_ref(SkxBlkFile *file, Relation rel,
										uint64 incarnation, uint32 block_size,
										const SkxDiskSegmentRef *ref);

/*
 * All pages of the file that are the segment's, header too, as few extents as
 * possible, ascending; palloc'd.  What freeing it frees.
 */
extern SkxDiskExtent *skx_segment_extents(const SkxSegment *seg,
										  const SkxDiskSegmentRef *ref,
										  int *n);

/*
 * segment_dict_visit.c
 *
 * All terms in lexeme order, pulled one by one.  The walk has a copy of the
 * page it is on: no pin is held between two calls, and other readers of the
 * segment may be used.  The lexeme is valid until the next call; false after
 * the last term.
 */
typedef struct SkxTermWalk SkxTermWalk;
extern SkxTermWalk *skx_segment_walk_begin(SkxSegment *seg);

/*
 * Goes on with the first lexeme that is not below ends[0]; of pages none is
 * read ahead that comes after the one of ends[1].
 */
extern void skx_segment_walk_range(SkxTermWalk *walk,
								   const SkxLexeme ends[2]);
extern bool skx_segment_walk_next(SkxTermWalk *walk, SkxTerm *term,
								  const char **lexeme, int *len);
extern void skx_segment_walk_end(SkxTermWalk *walk);

/*
 * segment_dict_reader.c
 *
 * Where a dictionary could be cut: what the first lexeme of a leaf begins with,
 * at most `most` bytes of it, and how many pages of postings and positions
 * belong to the terms before, about.  False: the page is no leaf.
 */
extern bool skx_segment_dict_mark(SkxSegment *seg, uint32 ordinal,
								  char *lexeme, int most, int *len,
								  uint64 *before);

/*
 * segment_deletes.c
 */

/* Copies SKX_DELETES_BYTES of bits; returns how many are set. */
extern uint32 skx_segment_read_deletes(SkxSegment *seg, uint32 ordinal,
									   uint8 *bits);

/*
 * Sets the bits given, in addition to those set, in one WAL record.  The
 * caller holds the lock on the metapage.
 */
extern void skx_segment_add_deletes(SkxSegment *seg, uint32 ordinal,
									const uint8 *bits);

#endif							/* SKX_SEGMENT_MAINT_H */
