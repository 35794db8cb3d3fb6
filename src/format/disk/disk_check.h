/*
 * disk_check.h
 *	  Is what stands on a page what a sound writer could have put there?
 *
 * Pure: every count and offset is checked before it is used, nothing past the
 * page is read, no memory is taken.  Each function returns NULL when the page
 * is fine, else what is wrong with it, as a constant string.  `page` is a
 * whole page whose identity and header skx_disk_page_check has accepted;
 * `seg` is the segment's header (its page counts and ndocs bound what pages
 * may point at).  A page that passes can be read without further checks of
 * its structure; whether pages agree with each other is skipidx_check's
 * business.
 */
#ifndef SKX_DISK_CHECK_H
#define SKX_DISK_CHECK_H

#include "format/disk/disk_dict.h"
#include "format/disk/disk_keys.h"
#include "format/disk/disk_meta.h"
#include "format/disk/disk_pending.h"
#include "format/disk/disk_postings.h"
#include "format/disk/disk_segment.h"

/* A tier's segments are at least twice those of the one below. */
#define SKX_LEVEL_MAX	32

/* disk_check_mutable.c */
extern const char *skx_disk_check_meta(const char *page);
extern const char *skx_disk_check_root(const char *page);

/* The stream of all root pages, `nbytes` of it; alignment does not matter. */
extern const char *skx_disk_check_root_stream(const char *stream,
											  Size nbytes,
											  const SkxDiskMeta *meta);
extern const char *skx_disk_check_stripe(const char *page,
										 BlockNumber nblocks);
extern const char *skx_disk_check_pending(const char *page,
										  BlockNumber nblocks);
extern const char *skx_disk_check_chain(const char *page,
										BlockNumber nblocks);

/* Page `ordinal` of a deletes plane; a zero page is fine. */
extern const char *skx_disk_check_deletes(const char *page, uint32 ordinal,
										  const SkxDiskSegment *seg);

/* disk_check_segment.c */

/* The stream of all header pages; 64-bit aligned. */
extern const char *skx_disk_check_segment(const char *stream, Size nbytes,
										  uint32 segment,
										  BlockNumber nblocks);
extern const char *skx_disk_check_tids(const char *page, uint32 ordinal,
									   const SkxDiskSegment *seg);
extern const char *skx_disk_check_norms(const char *page, uint32 ordinal,
										const SkxDiskSegment *seg);
extern const char *skx_disk_check_keys(const char *page, uint32 ordinal,
									   const SkxDiskSegment *seg);

/* disk_check_dict.c */
extern const char *skx_disk_check_dict(const char *page,
									   const SkxDiskSegment *seg);

/*
 * disk_check_lists.c : a postings page cannot be told apart by itself;
 * `offset` is where a node or a portion is known to start.
 */
extern const char *skx_disk_check_node(const char *page, uint32 offset,
									   const SkxDiskSegment *seg);
extern const char *skx_disk_check_portion(const char *page, uint32 offset,
										  const SkxDiskSegment *seg);
extern const char *skx_disk_check_node_table(const char *page,
											 const SkxDiskSegment *seg);
extern const char *skx_disk_check_positions(const char *page);

#endif							/* SKX_DISK_CHECK_H */
