/*
 * segment_build.h
 *	  Building one segment from documents in document order.
 */
#ifndef SKX_SEGMENT_BUILD_H
#define SKX_SEGMENT_BUILD_H

#include "format/format_meta.h"
#include "storage/itemptr.h"
#include "tsearch/ts_type.h"
#include "utils/relcache.h"

/* Where a builder puts its pages. */
typedef struct SkxSegmentStore
{
	/* gives `nblocks` consecutive blocks of block_size: first page's number */
	BlockNumber (*allocate) (void *arg, uint32 nblocks);
	/* takes back pages [block, block + npages) that stayed unused */
	void		(*give_back) (void *arg, BlockNumber block, uint32 npages);
	/* writes finished pages to consecutive file blocks */
	void		(*write) (void *arg, BlockNumber block, char **pages,
						  int npages);
	void	   *arg;
} SkxSegmentStore;

typedef struct SkxSegmentBuildOptions
{
	uint64		incarnation;
	uint32		segment;		/* its id */
	uint32		block_size;		/* bytes */
	Size		memory;			/* bytes, for everything the builder holds */
	double		k1;				/* BM25's, for the k-th best impacts */
	double		b;
	const SkxSegmentStore *store;
	void		(*progress) (int phase, uint64 done, uint64 total); /* or NULL */
} SkxSegmentBuildOptions;

/* Phases told to `progress`. */
#define SKX_BUILD_INVERT	1	/* done: documents */
#define SKX_BUILD_MERGE		2	/* done, total: bytes of the runs */

typedef struct SkxSegmentBuilder SkxSegmentBuilder;

extern SkxSegmentBuilder *skx_segment_build_begin(Relation index,
												  const SkxSegmentBuildOptions *options);

/* Documents must come in strictly ascending TID order; value NULL: NULL. */
extern void skx_segment_build_add(SkxSegmentBuilder *b, ItemPointer tid,
								  TSVector value);

/*
 * True when the segment should end here: its estimated size nears
 * SKX_SEGMENT_BYTES_MAX, or its norms a quarter of the memory.
 */
extern bool skx_segment_build_full(const SkxSegmentBuilder *b);

/* Writes everything; false, and nothing written, without documents. */
extern bool skx_segment_build_finish(SkxSegmentBuilder *b,
									 SkxDiskSegmentRef *ref);

#define SKX_SEGMENT_BYTES_MAX	(UINT64CONST(5) * 1024 * 1024 * 1024)

#endif							/* SKX_SEGMENT_BUILD_H */
