/*
 * disk_check.h
 *	  Validators: check that the content of a page is one that a sound writer
 *	  could have written.
 *
 * All functions are pure: they check every count and offset before they use
 * it, read nothing past the page, and allocate nothing.  Each returns NULL if
 * the page is sound, else a constant string that says what is wrong with it.
 *
 * `page` is a whole page whose identity and header skx_disk_page_check() has
 * accepted.  `seg` is the header of the page's segment; its page counts and
 * number of documents bound what the page may point to.  `nblocks` is the
 * number of blocks of the file.  A page that passes can be read without
 * further checks of its structure.  The agreement of pages with each other is
 * checked by skipidx_check.
 */
#ifndef SKX_DISK_CHECK_H
#define SKX_DISK_CHECK_H

#include "format/disk/disk_dict.h"
#include "format/disk/disk_format.h"
#include "format/disk/disk_keys.h"
#include "format/disk/disk_meta.h"
#include "format/disk/disk_pending.h"
#include "format/disk/disk_postings.h"
#include "format/disk/disk_segment.h"

/*
 * Largest merge tier (level) of a segment.  The segments of a tier are at
 * least twice as large as those of the tier below.
 */
#define SKX_SEGMENT_LEVEL_MAX	32

/* disk_check_mutable.c : pages that change in place */

/*
 * Checks the format of a file or segment, and the n reserved fields beside it,
 * which are 0 unless a later feature uses them.
 */
extern const char *skx_disk_check_format(const SkxDiskFormat *format,
										 const uint64 *reserved, int n);

/* Checks the metapage. */
extern const char *skx_disk_check_meta(const char *page);

/* Checks the length of one page of the root. */
extern const char *skx_disk_check_root(const char *page);

/*
 * Checks the root: the contents of all root pages one after the other, nbytes
 * in all, which need not be aligned.
 */
extern const char *skx_disk_check_root_stream(const char *stream,
											  Size nbytes,
											  const SkxDiskMeta *meta);

/* Checks a stripe page. */
extern const char *skx_disk_check_stripe(const char *page,
										 BlockNumber nblocks);

/* Checks a page of a pending list. */
extern const char *skx_disk_check_pending(const char *page,
										  BlockNumber nblocks);

/* Checks a page of a chain, which has a long pending document. */
extern const char *skx_disk_check_chain(const char *page,
										BlockNumber nblocks);

/*
 * Checks page `ordinal` of a segment's deletes plane.  A zero page is sound:
 * it has no deleted bits.
 */
extern const char *skx_disk_check_deletes(const char *page, uint32 ordinal,
										  const SkxDiskSegment *seg);

/* disk_check_segment.c : the header of a segment, and its documents */

/*
 * Checks the header of the segment with id `segment`: the contents of all its
 * header pages one after the other, nbytes in all, 64-bit aligned.
 */
extern const char *skx_disk_check_segment(const char *stream, Size nbytes,
										  uint32 segment,
										  BlockNumber nblocks);

/* Checks page `ordinal` of the TID plane: a data page or a directory page. */
extern const char *skx_disk_check_tids(const char *page, uint32 ordinal,
									   const SkxDiskSegment *seg);

/* Checks page `ordinal` of the norm plane. */
extern const char *skx_disk_check_norms(const char *page, uint32 ordinal,
										const SkxDiskSegment *seg);

/*
 * Checks page `ordinal` of the keys plane: a page of a tree, or the last page,
 * which has the key columns.
 */
extern const char *skx_disk_check_keys(const char *page, uint32 ordinal,
									   const SkxDiskSegment *seg);

/* disk_check_dict.c : the dictionary */

/* Checks a page of the dictionary. */
extern const char *skx_disk_check_dict(const char *page,
									   const SkxDiskSegment *seg);

/*
 * disk_check_lists.c : posting lists and positions
 *
 * A page of the postings plane does not tell what starts where.  The caller
 * passes the page offset at which a node or a portion is known to start.
 */

/* Checks the header of the node that starts at `offset` of the page. */
extern const char *skx_disk_check_node(const char *page, uint32 offset,
									   const SkxDiskSegment *seg);

/*
 * Checks the portion that starts at `offset` of the page: its columns and the
 * bounds of its sub-blocks, but not the bodies of these.
 */
extern const char *skx_disk_check_portion(const char *page, uint32 offset,
										  const SkxDiskSegment *seg);

/* Checks a page of a node table. */
extern const char *skx_disk_check_node_table(const char *page,
											 const SkxDiskSegment *seg);

/* Checks a page of the positions plane by decoding all its position blocks. */
extern const char *skx_disk_check_positions(const char *page);

#endif							/* SKX_DISK_CHECK_H */
