/*
 * am_build.h
 *	  What the files of CREATE INDEX share.
 */
#ifndef SKX_AM_BUILD_H
#define SKX_AM_BUILD_H

#include "format/disk/disk_meta.h"
#include "sql/am/am.h"
#include "write/writer/writer_build.h"

/* Subphases after the server's own first one. */
#define SKX_SUBPHASE_SCAN		2
#define SKX_SUBPHASE_WRITE		3

/*
 * am_build.c
 */
typedef struct SkxBuild
{
	Relation	index;
	uint32		block_pages;
	Size		memory;			/* bytes, for all processes together */

	/* segments */
	SkxSegmentStore store;
	SkxSegmentBuildOptions options;
	SkxSegmentBuilder *builder;
	SkxDiskSegmentRef *segments;
	int			nsegments;
	uint64		tuples;

	/* the file */
	uint32		head_pages;		/* kept for the head */
	BlockNumber nblocks;		/* given out */
	BlockNumber nwritable;		/* the file is this long */
	SkxDiskExtent *extents;
	int			nextents;
	SkxDiskPoolExtent pool[SKX_META_POOL];
	int			npool;
} SkxBuild;

extern void skx_am_build_begin(SkxBuild *b, Relation index,
							   uint64 incarnation);

/* Number and salt of the segment that comes next. */
extern void skx_am_build_next_segment(SkxBuild *b);
extern void skx_am_build_add_segment(SkxBuild *b,
									 const SkxDiskSegmentRef *ref);

/* Callbacks of the store and of segment builders; arg is the SkxBuild. */
extern void skx_am_build_write(void *arg, BlockNumber block, char **pages,
							   int npages);
extern void skx_am_build_progress(int phase, uint64 done, uint64 total);

/* Notes that pages of the file are free. */
extern void skx_am_build_free(SkxBuild *b, BlockNumber block, uint32 npages);
extern void skx_am_build_sort_extents(SkxBuild *b);

/*
 * am_build_documents.c : the rows of a table scan in TID order
 */
typedef struct SkxBuildSink
{
	/* a row, as a document */
	void		(*document) (void *arg, ItemPointer tid, TSVector value);
	/* all rows of a page of the table, so many, have been handed over */
	void		(*page) (void *arg, BlockNumber block, int ndocs);
	void	   *arg;
} SkxBuildSink;

typedef struct SkxBuildDocuments SkxBuildDocuments;

/* Rows of one page of the table, at most. */
#define SKX_AM_PAGE_DOCS	MaxHeapTuplesPerPage

/* `memory` bytes of one page's values are kept, the rest goes to a file. */
extern SkxBuildDocuments *skx_am_documents_begin(Relation index,
												 const SkxBuildSink *sink,
												 Size memory);

/* For table_index_build_scan; arg is the SkxBuildDocuments. */
extern void skx_am_documents_callback(Relation index, ItemPointer tid,
									  Datum *values, bool *isnull,
									  bool alive, void *arg);
extern void skx_am_documents_end(SkxBuildDocuments *documents);

/*
 * am_build_team.c
 *
 * Builds with parallel workers; false, and nothing is done, when none could be
 * started.  *heap_tuples is the number of rows of the table.
 */
extern bool skx_am_build_together(SkxBuild *b, Relation heap,
								  IndexInfo *info, int nworkers,
								  double *heap_tuples);

#endif							/* SKX_AM_BUILD_H */
