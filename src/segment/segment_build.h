/*
 * segment_build.h
 *	  Making one segment: from documents in document order, or from segments;
 *	  and what only those who make and change segments read of them.
 */
#ifndef SKX_SEGMENT_BUILD_H
#define SKX_SEGMENT_BUILD_H

#include "format/format_meta.h"
#include "segment/segment.h"
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
	uint64		salt;			/* random, for its reference and header */
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

/*
 * segment_merge.c : one segment from several
 *
 * Documents of the inputs are interleaved by TID, deleted ones left out; the
 * result is the same as building from the live documents, bit for bit but for
 * where its pages lie.  Memory: some 16 kB an input and a bit a document
 * whatever options->memory says; the maps from old documents to new ones are
 * spilled to temporary files when they would pass it.  The inputs stay open
 * until end.  A TID that is live in two inputs is reported as damage.
 */
struct SkxSegment;
typedef struct SkxSegmentMerge SkxSegmentMerge;

/*
 * Takes the delete bits of the inputs as they are now.  Returns false, and
 * nothing is written, when no document is live.
 */
extern SkxSegmentMerge *skx_segment_merge_begin(Relation index,
												const SkxSegmentBuildOptions *options,
												struct SkxSegment **inputs,
												int ninputs);
extern bool skx_segment_merge_run(SkxSegmentMerge *m, SkxDiskSegmentRef *ref);

/*
 * After run: calls `visit` with the new number of every document that was
 * marked deleted in an input after begin read its bits, in ascending order
 * within an input.
 */
extern void skx_segment_merge_late(SkxSegmentMerge *m,
								   void (*visit) (uint32 doc, void *arg),
								   void *arg);
extern void skx_segment_merge_end(SkxSegmentMerge *m);

#define SKX_SEGMENT_BYTES_MAX	(UINT64CONST(5) * 1024 * 1024 * 1024)

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
 * segment_dict_reader.c
 *
 * All terms in lexeme order, pulled one by one.  The walk has a copy of the
 * page it is on: no pin is held between two calls, and other readers of the
 * segment may be used.  The lexeme is valid until the next call; false after
 * the last term.
 */
typedef struct SkxTermWalk SkxTermWalk;
extern SkxTermWalk *skx_segment_walk_begin(SkxSegment *seg);
extern bool skx_segment_walk_next(SkxTermWalk *walk, SkxTerm *term,
								  const char **lexeme, int *len);
extern void skx_segment_walk_end(SkxTermWalk *walk);

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

#endif							/* SKX_SEGMENT_BUILD_H */
