/*
 * writer_build.h
 *	  Making one segment from documents in document order; the parts of this
 *	  that stand by themselves; and what only the code that makes and changes
 *	  segments reads of them.
 */
#ifndef SKX_WRITER_BUILD_H
#define SKX_WRITER_BUILD_H

#include "format/disk/disk_dict.h"
#include "format/disk/disk_meta.h"
#include "index/column/column_key.h"
#include "index/segment/segment.h"
#include "index/skiplist/skiplist.h"
#include "lib/stringinfo.h"
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
	/* is told of each page when it is full (plane: of its identity); or NULL */
	void		(*filled) (void *arg, uint8 plane, uint32 ordinal);
	void	   *arg;
} SkxSegmentStore;

typedef struct SkxSegmentBuildOptions
{
	uint64		incarnation;
	uint32		segment;		/* its id */
	uint64		salt;			/* random, for its reference and header */
	uint32		block_size;		/* bytes */
	Size		memory;			/* bytes, for everything the builder holds */
	SkxKeyColumns keys;			/* columns whose values have a plane */
	double		k1;				/* BM25's, for the k-th best impacts */
	double		b;
	const SkxSegmentStore *store;
	void		(*progress) (int phase, uint64 done, uint64 total); /* or NULL */
} SkxSegmentBuildOptions;

/* Phases told to `progress`. */
#define SKX_BUILD_INVERT	1	/* done, total: documents */
#define SKX_BUILD_MERGE		2	/* done, total: bytes of the runs, or postings
								 * of segments that are merged */

typedef struct SkxSegmentBuilder SkxSegmentBuilder;

extern SkxSegmentBuilder *skx_writer_build_begin(Relation index,
												 const SkxSegmentBuildOptions *options);

/* Documents must come in strictly ascending TID order; value NULL: NULL. */
extern void skx_writer_build_add(SkxSegmentBuilder *b, ItemPointer tid,
								 TSVector value);

/*
 * True when the segment should end here: its estimated size nears
 * SKX_SEGMENT_BYTES_MAX, its documents SKX_SEGMENT_DOCS_MAX, or its norms a
 * quarter of the memory.
 */
extern bool skx_writer_build_full(const SkxSegmentBuilder *b);

/* Writes everything; false, and nothing written, without documents. */
extern bool skx_writer_build_finish(SkxSegmentBuilder *b,
									SkxDiskSegmentRef *ref);

/*
 * writer_dict.c
 *
 * Leaves first, in one go or by several writers one after the other; then,
 * from all their keys, the levels above.
 */
typedef struct SkxDictWriter SkxDictWriter;

/* What a leaf has of a lexeme.  Pages are those that the sinks are told. */
typedef struct SkxDictEntry
{
	uint32		postings_page;	/* no page of the entry lies before these: */
	uint32		positions_page; /* they were being filled when it began */
	uint32		df;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_* */
	const uint8 *bytes;			/* SKX_TERM_INLINE: the list */
	uint32		nbytes;			/* of a short list, inline or not */
	SkxListAddress list;		/* SKX_TERM_SHORT: page and offset only */
	uint16		kths[SKX_NKTHS];	/* SKX_TERM_LONG: tf code << 8 | norm */
	int			nkths;
	SkxPositionAddress positions;	/* without SKX_TERM_OWN_POSITIONS */
} SkxDictEntry;

/* The keys that lead to leaves: of each an SkxDictChild, and its key. */
typedef struct SkxDictChild
{
	uint32		ordinal;
	uint32		len;
} SkxDictChild;

typedef struct SkxDictLeaves
{
	uint32		n;
	StringInfoData keys;
} SkxDictLeaves;

extern SkxDictWriter *skx_writer_dict_begin(SkxPageSink sink, void *arg);
extern void skx_writer_dict_add(SkxDictWriter *dict, const char *lexeme,
								int len, const SkxDictEntry *entry);

/* Ends the last leaf; no lexemes, no leaves.  The first key is empty. */
extern void skx_writer_dict_leaves(SkxDictWriter *dict,
								   SkxDictLeaves *leaves);

/*
 * Adds the leaves of the writer that came after: its first key, empty by
 * itself, becomes `key`, which separates the two.
 */
extern void skx_writer_dict_join(SkxDictLeaves *leaves,
								 const SkxDictLeaves *after,
								 const char *key, int len);

/*
 * Writes the levels above leaves 0 .. n-1, on pages n and up.  Returns the
 * page ordinal of the root.
 */
extern uint32 skx_writer_dict_levels(SkxPageSink sink, void *arg,
									 const SkxDictLeaves *leaves);

/*
 * Moves a leaf made by a writer of its own, whose counts start from 0, behind
 * so many terms and pages.  Its content is at SKX_PAGE_START, not sealed.
 */
extern void skx_writer_dict_relocate(char *page, uint32 terms,
									 uint32 postings, uint32 positions);

#define SKX_SEGMENT_BYTES_MAX	(UINT64CONST(5) * 1024 * 1024 * 1024)

/*
 * Documents of a segment that is full: those that a page of the table has, and
 * which come before a builder looks, still have numbers, and a merge can take
 * the segment.
 */
#define SKX_SEGMENT_DOCS_MAX	(SKX_DOC_MAX - PG_UINT16_MAX)

#endif							/* SKX_WRITER_BUILD_H */
