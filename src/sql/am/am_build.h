/*
 * am_build.h
 *	  Declarations that the files of CREATE INDEX share.
 */
#ifndef SKX_AM_BUILD_H
#define SKX_AM_BUILD_H

#include "format/disk/disk_meta.h"
#include "sql/am/am.h"
#include "storage/blkio/blkio.h"
#include "write/writer/writer_build.h"

/* Subphases of progress reports; the server's own first one is 1. */
#define SKX_SUBPHASE_SCAN		2
#define SKX_SUBPHASE_WRITE		3

/* am_build.c */

/* The build of one index, in one of its processes. */
typedef struct SkxBuild
{
	Relation	index;
	uint32		block_pages;	/* pages of a block of the index */
	Size		memory;			/* bytes, for all processes together */

	/* segments */
	SkxSegmentStore store;
	SkxSegmentBuildOptions options;
	SkxSegmentBuilder *builder;
	SkxDiskSegmentRef *segments;	/* that have been written */
	int			nsegments;
	uint64		tuples;			/* rows that have been handed over */

	/* the file */
	SkxBlkWriter *writer;
	uint32		head_pages;		/* pages reserved for the head */
	BlockNumber nblocks;		/* pages given out so far */
	BlockNumber nwritable;		/* the file is at least this long */
	SkxDiskExtent *extents;		/* free pages that the root will name */
	int			nextents;
	SkxDiskPoolExtent pool[SKX_META_POOL_EXTENTS];	/* free pages that the
													 * metapage will name */
	int			npool;
} SkxBuild;

/*
 * Initializes a build, with options from the storage parameters of the index
 * and from maintenance_work_mem.  Each process of a parallel build calls it
 * with the same incarnation, gives the options the same format, and ends the
 * writer.  Allocates in the current memory context.
 */
extern void skx_am_build_begin(SkxBuild *b, Relation index,
							   uint64 incarnation);

/* Sets the number and the salt of the next segment in the options. */
extern void skx_am_build_next_segment(SkxBuild *b);

/*
 * Adds a copy of `ref`, of a segment that has been written, to the segments.
 */
extern void skx_am_build_add_segment(SkxBuild *b,
									 const SkxDiskSegmentRef *ref);

/*
 * Callback of the store: writes pages to consecutive blocks from `block` on,
 * and extends the file first if it ends before the last of them.  `arg` is the
 * SkxBuild.
 */
extern void skx_am_build_write(void *arg, BlockNumber block, char **pages,
							   int npages);

/*
 * Callback of the store: writes the pages that wait, so that all can be read.
 * `arg` is the SkxBuild.
 */
extern void skx_am_build_sync(void *arg);

/*
 * Callback of segment builders: reports `done` of `total` bytes of the segment
 * as progress.  `phase` is not used.
 */
extern void skx_am_build_progress(int phase, uint64 done, uint64 total);

/*
 * Notes that pages from `block` on are free.  Pages that follow on the last
 * free extent lengthen it.
 */
extern void skx_am_build_free_pages(SkxBuild *b, BlockNumber block,
									uint32 npages);

/*
 * Callback of the store: notes that pages from `block` on are free.  Blocks at
 * the end that were never written are taken off the file instead.  `arg` is
 * the SkxBuild.
 */
extern void skx_am_build_give_back(void *arg, BlockNumber block,
								   uint32 npages);

/* Sorts the free extents by their first block. */
extern void skx_am_build_sort_extents(SkxBuild *b);

/*
 * Builds all segments in this process, and returns how many rows the table
 * has.
 */
extern double skx_am_build_serial(SkxBuild *b, Relation heap,
								  struct IndexInfo *info);

/* am_build_documents.c : the rows of a table scan in TID order */

/* The receiver of the documents. */
typedef struct SkxBuildSink
{
	/* takes a row as a document; `value` is freed after the call */
	void		(*document) (void *arg, ItemPointer tid, TSVector value);
	/* called after all ndocs rows of a page of the table were handed over */
	void		(*page) (void *arg, BlockNumber block, int ndocs);
	void	   *arg;			/* handed to both */
} SkxBuildSink;

typedef struct SkxBuildDocuments SkxBuildDocuments;

/* The largest number of rows of one page of the table. */
#define SKX_AM_PAGE_DOCS	MaxHeapTuplesPerPage

/*
 * Begins to hand rows to the sink, of which it makes a copy.  Of the values of
 * one page of the table, `memory` bytes are kept in memory, and the rest goes
 * to a temporary file.  Returns an object for skx_am_documents_end().
 */
extern SkxBuildDocuments *skx_am_documents_begin(Relation index,
												 const SkxBuildSink *sink,
												 Size memory);

/*
 * Callback of table_index_build_scan(): keeps the row, and hands over the rows
 * of the page before if this row is the first of its page.  `arg` is the
 * SkxBuildDocuments.  Raises an error if a page has too many rows.
 */
extern void skx_am_documents_callback(Relation index, ItemPointer tid,
									  Datum *values, bool *isnull,
									  bool alive, void *arg);

/* Hands over the rows of the last page and frees the object. */
extern void skx_am_documents_end(SkxBuildDocuments *documents);

/* am_build_team.c */

/*
 * Scans the table and writes all segments together with up to nworkers
 * parallel workers.  Sets *heap_tuples to the number of rows of the table.
 * Returns false, with nothing done, if no worker could be started; without
 * enough shared memory a NOTICE says so.
 */
extern bool skx_am_build_parallel(SkxBuild *b, Relation heap,
								  IndexInfo *info, int nworkers,
								  double *heap_tuples);

#endif							/* SKX_AM_BUILD_H */
