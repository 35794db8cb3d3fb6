/*
 * writer_build.h
 *	  One segment from documents in document order, and its dictionary.
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
	/* allocates nblocks consecutive blocks; returns the first page's number */
	BlockNumber (*allocate) (void *arg, uint32 nblocks);
	/* takes back pages [block, block + npages) that stayed unused */
	void		(*give_back) (void *arg, BlockNumber block, uint32 npages);
	/* writes finished pages to consecutive file blocks */
	void		(*write) (void *arg, BlockNumber block, char **pages,
						  int npages);
	/* makes what was written readable; NULL: that is not possible */
	void		(*sync) (void *arg);
	/* called for each page when it is full; or NULL */
	void		(*filled) (void *arg, uint8 plane, uint32 ordinal);
	void	   *arg;
} SkxSegmentStore;

/* What a segment is built with. */
typedef struct SkxSegmentBuildOptions
{
	SkxDiskFormat format;		/* of the segment */
	uint64		incarnation;
	uint32		segment;		/* its id */
	uint64		salt;			/* random, for its reference and header */
	uint32		block_size;		/* bytes */
	Size		memory;			/* bytes, for everything the builder holds */
	SkxKeyColumns keys;			/* columns whose values have a plane */
	double		k1;				/* of BM25, for the k-th best impacts */
	double		b;				/* of BM25 */
	const SkxSegmentStore *store;
	Relation	prefixes_of;	/* index that gets lists of prefixes; NULL: it
								 * gets none */
	bool		is_new_file;	/* of the index; the page cache has it */
	void		(*progress) (int phase, uint64 done, uint64 total); /* or NULL */
} SkxSegmentBuildOptions;

/* Phases told to `progress`. */
#define SKX_BUILD_INVERT	1	/* done, total: documents */
#define SKX_BUILD_MERGE		2	/* done, total: bytes of the runs, or postings
								 * of segments that are merged */

typedef struct SkxSegmentBuilder SkxSegmentBuilder;

/* Creates a builder, with a memory context of its own. */
extern SkxSegmentBuilder *skx_writer_build_begin(Relation index,
												 const SkxSegmentBuildOptions *options);

/*
 * Adds a document.  A value of NULL is an SQL NULL.  TIDs must ascend strictly,
 * otherwise it raises an error.
 */
extern void skx_writer_build_add(SkxSegmentBuilder *b, ItemPointer tid,
								 TSVector value);

/*
 * Returns true if the segment should end here: its estimated size has reached
 * SKX_SEGMENT_BYTES_MAX, its documents SKX_SEGMENT_DOCS_MAX, or its norms a
 * quarter of the memory.
 */
extern bool skx_writer_build_is_full(const SkxSegmentBuilder *b);

/*
 * Writes the segment, fills in *ref and frees the builder.  Returns false, and
 * writes nothing, if no document was added.
 */
extern bool skx_writer_build_finish(SkxSegmentBuilder *b,
									SkxDiskSegmentRef *ref);

/*
 * writer_dict.c : the dictionary
 *
 * The leaves are written first, by one writer or by several, each with its own
 * range of lexemes.  The levels above follow from the keys of all leaves.
 */
typedef struct SkxDictWriter SkxDictWriter;

/* A term in a leaf.  Pages are ordinals as the sinks get them. */
typedef struct SkxDictEntry
{
	uint32		postings_page;	/* page being filled when the term began: none
								 * of its postings lies before */
	uint32		positions_page; /* the same for its positions */
	uint32		df;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_* */
	const uint8 *bytes;			/* SKX_TERM_INLINE: the list */
	uint32		nbytes;			/* bytes of a short list, inline or not */
	SkxListAddress list;		/* SKX_TERM_SHORT: page and offset only */
	uint16		kths[SKX_NKTH_BEST];	/* SKX_TERM_LONG: tf code << 8 | norm */
	int			nkths;
	SkxPositionAddress positions;	/* without SKX_TERM_OWN_POSITIONS */
} SkxDictEntry;

/* A leaf, or a page of a level above, before its key. */
typedef struct SkxDictChild
{
	uint32		ordinal;		/* of the page */
	uint32		len;			/* bytes of the key, which follows */
} SkxDictChild;

/* All leaves that a writer has written. */
typedef struct SkxDictLeaves
{
	uint32		n;
	StringInfoData keys;		/* an SkxDictChild and its key for each */
} SkxDictLeaves;

/* Creates a writer that hands full leaves to the sink. */
extern SkxDictWriter *skx_writer_dict_begin(SkxPageSink sink, void *arg);

/* Adds a term.  Lexemes ascend in the order of memcmp, then of their length. */
extern void skx_writer_dict_add(SkxDictWriter *dict, const char *lexeme,
								int len, const SkxDictEntry *entry);

/*
 * Ends the last leaf and fills in *leaves; without lexemes there are none.  The
 * first key is empty.
 */
extern void skx_writer_dict_leaves(SkxDictWriter *dict,
								   SkxDictLeaves *leaves);

/*
 * Appends the leaves of the writer with the lexemes that come next.  Its first
 * key, which is empty, becomes `key`, which separates the two writers.
 */
extern void skx_writer_dict_join(SkxDictLeaves *leaves,
								 const SkxDictLeaves *after,
								 const char *key, int len);

/*
 * Writes the levels above leaves 0 to n - 1, on pages n and up.  Returns the
 * page ordinal of the root.
 */
extern uint32 skx_writer_dict_levels(SkxPageSink sink, void *arg,
									 const SkxDictLeaves *leaves);

/*
 * Changes a leaf of a writer whose counts start from 0, so that it stands
 * behind so many terms, pages of postings and pages of positions.  The page is
 * not sealed, and its content begins at SKX_PAGE_START.
 */
extern void skx_writer_dict_relocate(char *page, uint32 terms,
									 uint32 postings, uint32 positions);

/* Size of a segment at which a build ends it. */
#define SKX_SEGMENT_BYTES_MAX	(UINT64CONST(5) * 1024 * 1024 * 1024)

/*
 * Documents at which a build ends a segment.  Numbers remain for the documents
 * of one more page of the table, which are added before the builder looks, so
 * that a merge can still take the segment.
 */
#define SKX_SEGMENT_DOCS_MAX	(SKX_DOC_MAX - PG_UINT16_MAX)

#endif							/* SKX_WRITER_BUILD_H */
