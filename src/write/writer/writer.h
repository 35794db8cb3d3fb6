/*
 * writer.h
 *	  The parts of a segment in the making: planes, dictionary, positions,
 *	  terms, documents.
 *
 * Documents become sorted runs (invert/), which are merged term by term into
 * an SkxTermWriter; this fills the planes.  A merge of segments brings
 * documents and terms from these instead.
 */
#ifndef SKX_WRITER_H
#define SKX_WRITER_H

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "format/disk/disk_keys.h"
#include "format/disk/disk_page.h"
#include "format/disk/disk_postings.h"
#include "format/disk/disk_segment.h"
#include "format/rank/rank.h"
#include "index/segment/segment.h"
#include "index/skiplist/skiplist.h"
#include "write/invert/invert.h"
#include "write/writer/writer_build.h"

/*
 * writer_plane.c
 *
 * A plane grows page by page; the planes of a segment share page buffers, and
 * in the end blocks.
 */
typedef struct SkxPlaneWriter SkxPlaneWriter;

extern void skx_writer_planes_begin(SkxPlaneWriter **planes, int nplanes,
									const SkxSegmentBuildOptions *options);

/* Takes a page with `used` bytes of content; arg is the SkxPlaneWriter. */
extern void skx_writer_plane_put(void *arg, uint32 ordinal, char *page,
								 uint32 used);

/*
 * Adds pages with `used` bytes of zeros, but for the nfirst bytes that the first
 * begins with.  They are written, since a checkpoint that fills holes must not
 * be the one to find the disk full, and have an LSN.
 */
extern void skx_writer_plane_blank(SkxPlaneWriter *plane, uint32 npages,
								   uint32 used, const void *first,
								   uint32 nfirst);

/*
 * Stretches of a plane that several processes write
 *
 * Each begins stretches where the others end theirs, in ascending order, and
 * numbers their pages from 0.  Those that do not fill a block at the end of
 * one are its tail: sealed, but for the caller to place.
 */
typedef struct SkxPlaneTail
{
	uint32		first;			/* ordinal in the plane */
	char	  **pages;
} SkxPlaneTail;

/* Where the stretches of one process lie, and blocks that it did not need. */
typedef struct SkxPlaneStretches
{
	SkxDiskRun *runs;
	int			nruns;
	BlockNumber unused;
	uint32		nunused;
} SkxPlaneStretches;

extern void skx_writer_stretch_begin(SkxPlaneWriter *plane, uint32 base);

/* Returns the pages of the tail; tail_done gives their buffers back. */
extern int	skx_writer_stretch_end(SkxPlaneWriter *plane, SkxPlaneTail *tail);
extern void skx_writer_stretch_tail_done(SkxPlaneWriter *plane);
extern void skx_writer_stretches_end(SkxPlaneWriter *plane,
									 SkxPlaneStretches *all);

/*
 * Begins a plane with pages that lie where the runs (in any order) say; what
 * is put then is numbered from 0 after them.
 */
extern void skx_writer_plane_adopt(SkxPlaneWriter *plane, SkxDiskRun *runs,
								   int nruns);

/*
 * Ends all planes: writes what is left of them with the segment header behind
 * it.  header->planes and nruns are filled in here.
 */
extern void skx_writer_planes_finish(SkxPlaneWriter **planes, int nplanes,
									 SkxDiskSegment *header,
									 SkxDiskSegmentRef *ref);

/*
 * writer_documents.c
 */
typedef struct SkxDocumentsWriter
{
	SkxPlaneWriter *norm_plane;
	uint32		ndocs;
	uint8	   *norms;			/* NULL: they leave page by page */
	Size		norms_size;
	char	   *norm_page;		/* without norms: being filled */
	uint32		tid_pages;		/* without the directory */
	struct SkxTidWriter *tids;
} SkxDocumentsWriter;

extern void skx_writer_documents_init(SkxDocumentsWriter *docs,
									  SkxPlaneWriter *tids,
									  SkxPlaneWriter *norms);

/* Before the first document: how many come; are their norms to be kept? */
extern void skx_writer_documents_reserve(SkxDocumentsWriter *docs,
										 uint32 ndocs, bool keep_norms);

/* The same, and the norms are kept at `norms`, which has room for them. */
extern void skx_writer_documents_keep(SkxDocumentsWriter *docs,
									  uint8 *norms, uint32 ndocs);
extern void skx_writer_documents_add(SkxDocumentsWriter *docs,
									 ItemPointer tid, uint8 norm);
extern void skx_writer_documents_end(SkxDocumentsWriter *docs);

/*
 * writer_keys.c : of each document one key a column
 */
typedef struct SkxKeysWriter SkxKeysWriter;

extern SkxKeysWriter *skx_writer_keys_begin(SkxPlaneWriter *plane,
											const SkxKeyColumns *columns);
extern void skx_writer_keys_add(SkxKeysWriter *w, const SkxKey *keys);
extern void skx_writer_keys_end(SkxKeysWriter *w);

/*
 * writer_positions.c
 */
typedef struct SkxPositionsWriter SkxPositionsWriter;

extern SkxPositionsWriter *skx_writer_positions_begin(SkxPageSink sink,
													  void *arg);

/* The page being filled: nothing will lie before it. */
extern uint32 skx_writer_positions_page(const SkxPositionsWriter *w);

/* Has *mark filled in when the block that takes the next position is placed. */
extern void skx_writer_positions_mark(SkxPositionsWriter *w,
									  SkxPositionAddress *mark);
extern void skx_writer_positions_add(SkxPositionsWriter *w,
									 const uint16 *positions, int n);

/* Closes the block in hand; a list must not go on into the next one's. */
extern void skx_writer_positions_close(SkxPositionsWriter *w);

/* Hands over what is left; returns the number of pages. */
extern uint32 skx_writer_positions_end(SkxPositionsWriter *w);

/*
 * writer_term.c : one term after the other into the planes
 */
typedef struct SkxTermWriter SkxTermWriter;

/* A posting between inversion and encoding. */
typedef struct SkxPosting
{
	uint32		doc;
	uint16		tf;
	uint8		norm;			/* where the writer was given no norms */
	bool		labelled;		/* some position has a label other than D */
	uint16		positions[SKX_TF_MAX];
} SkxPosting;

typedef struct SkxTermTotals
{
	uint32		nterms;
	uint64		npostings;
	uint64		npositions;
	uint32		postings_pages;
	uint32		positions_pages;
	uint32		dict_leaves;
} SkxTermTotals;

/* Where the pages of the three planes go: of each the sink's arg. */
typedef struct SkxTermSinks
{
	SkxPageSink sink;
	void	   *dict;
	void	   *postings;
	void	   *positions;
} SkxTermSinks;

/*
 * norms (or NULL) and average length are those of the whole segment.  The
 * pages of several writers, each with its own range of lexemes, make a segment
 * when leaves are relocated and the postings plane of each starts with a
 * block.
 */
extern SkxTermWriter *skx_writer_terms_begin(const SkxTermSinks *sinks,
											 const SkxSegmentBuildOptions *options,
											 const uint8 *norms,
											 double average);
extern void skx_writer_term_begin(SkxTermWriter *w, const char *lexeme,
								  int len, uint32 df, uint64 npositions,
								  uint8 flags);
extern void skx_writer_term_posting(SkxTermWriter *w,
									const SkxPosting *posting);
extern void skx_writer_term_batch(SkxTermWriter *w,
								  const SkxPostingBatch *batch);
extern void skx_writer_term_end(SkxTermWriter *w);

/* Ends all but the dictionary's levels above the leaves. */
extern void skx_writer_terms_leaves(SkxTermWriter *w, SkxTermTotals *totals,
									SkxDictLeaves *leaves);

/* Ends it all.  Returns the page ordinal of the dictionary's root. */
extern uint32 skx_writer_terms_end(SkxTermWriter *w, SkxTermTotals *totals);

/*
 * writer_output.c : a segment, whatever its documents and terms come from
 *
 * First all documents in order, then all terms in order, then finish, which
 * writes the header and fills in the reference.  total_length is the caller's
 * to add up before terms begin.
 */
typedef struct SkxSegmentOutput
{
	SkxSegmentBuildOptions options;
	SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
	SkxDocumentsWriter docs;
	SkxKeysWriter *keys;
	SkxTermWriter *terms;
	Size		fixed;			/* bytes that all this takes, without norms */
	uint32		nnull;
	uint64		total_length;
} SkxSegmentOutput;

extern void skx_writer_output_init(SkxSegmentOutput *out,
								   const SkxSegmentBuildOptions *options);
extern void skx_writer_output_document(SkxSegmentOutput *out,
									   ItemPointer tid, uint8 norm,
									   const SkxKey *keys);
extern SkxTermWriter *skx_writer_output_terms(SkxSegmentOutput *out);
extern void skx_writer_output_finish(SkxSegmentOutput *out,
									 SkxDiskSegmentRef *ref);

/* The same for terms that others have written. */
extern void skx_writer_output_close(SkxSegmentOutput *out,
									const SkxTermTotals *totals,
									uint32 dict_root,
									SkxDiskSegmentRef *ref);

/* Bytes that the writers take beside the norms. */
extern Size skx_writer_output_fixed(const SkxSegmentBuildOptions *options);

/*
 * writer_build.c
 */

/* Sends all terms of a merge of runs to the writer. */
extern void skx_writer_terms_merge(SkxTermWriter *w, SkxRunMerge *m);

/* Are so many documents and bytes of runs a segment? */
extern bool skx_writer_enough(uint64 ndocs, uint64 run_bytes);

#endif							/* SKX_WRITER_H */
