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
 * writer_plane.c : the planes of a segment
 *
 * A plane grows page by page.  The planes of a segment share page buffers, and
 * their last, partial blocks share blocks.
 */
typedef struct SkxPlaneWriter SkxPlaneWriter;

/* Creates nplanes writers, one for each plane of a segment. */
extern void skx_writer_planes_begin(SkxPlaneWriter **planes, int nplanes,
									const SkxSegmentBuildOptions *options);

/*
 * Copies, seals and writes a page with `used` bytes of content.  This is an
 * SkxPageSink; arg is the SkxPlaneWriter.
 */
extern void skx_writer_plane_put(void *arg, uint32 ordinal, char *page,
								 uint32 used);

/*
 * Makes a plane of npages pages with `used` bytes of zeros each; the first page
 * begins with nfirst bytes from `first`.  The pages have no seal, because they
 * will have an LSN.  They are written now, so that a full disk is found here
 * and not by a checkpoint.
 */
extern void skx_writer_plane_put_zeros(SkxPlaneWriter *plane, uint32 npages,
									   uint32 used, const void *first,
									   uint32 nfirst);

/*
 * Stretches: ranges of pages of one plane, written by several processes
 *
 * A process begins a stretch where another one ends its own, in ascending
 * order, and numbers its pages from 0.  The pages at the end of a stretch that
 * do not fill a block are its tail.  They are sealed, and the caller writes
 * them.
 */

/* The tail of a stretch. */
typedef struct SkxPlaneTail
{
	uint32		first;			/* ordinal in the plane of the first page */
	char	  **pages;			/* buffers of the writer */
} SkxPlaneTail;

/* All stretches of a plane that one process wrote. */
typedef struct SkxPlaneFragments
{
	SkxDiskRun *runs;
	int			nruns;
	BlockNumber unused;			/* first of nunused pages to give back */
	uint32		nunused;
} SkxPlaneFragments;

/* Begins a stretch whose first page has ordinal `base` in the plane. */
extern void skx_writer_fragment_begin(SkxPlaneWriter *plane, uint32 base);

/*
 * Ends a stretch, fills in *tail and returns its number of pages.  Raises an
 * error if a page of the stretch is missing.
 */
extern int	skx_writer_fragment_end(SkxPlaneWriter *plane, SkxPlaneTail *tail);

/* Takes the buffers of the tail back. */
extern void skx_writer_fragment_free_tail(SkxPlaneWriter *plane);

/* Fills in *all with the stretches that have ended. */
extern void skx_writer_fragments_end(SkxPlaneWriter *plane,
									 SkxPlaneFragments *all);

/*
 * Begins a plane with pages that others have written, where the runs say; it
 * sorts these.  Pages put later are numbered from 0 behind them.  Raises an
 * error if a page is missing.
 */
extern void skx_writer_plane_begin_from(SkxPlaneWriter *plane,
										SkxDiskRun *runs, int nruns);

/*
 * Ends the first nplanes planes, and writes their partial blocks, so that they
 * can be read before the segment ends.  Sets planes and nruns of the header,
 * and returns their runs, palloc'd.  Returns NULL if there are too many runs.
 */
extern SkxDiskRun *skx_writer_planes_place(SkxPlaneWriter **planes,
										   int nplanes,
										   SkxDiskSegment *header);

/*
 * Ends all planes: writes their partial blocks and the segment header behind
 * them.  Planes that were placed stay where they are.  Fills in planes and
 * nruns of the header, and *ref.
 */
extern void skx_writer_planes_finish(SkxPlaneWriter **planes, int nplanes,
									 SkxDiskSegment *header,
									 SkxDiskSegmentRef *ref);

/*
 * writer_documents.c : TIDs and norms of the documents, in document order
 */
typedef struct SkxDocumentsWriter
{
	SkxPlaneWriter *norm_plane;
	uint32		ndocs;
	uint8	   *all_norms;		/* of all documents; NULL: pages are written
								 * as they fill */
	Size		norms_size;		/* capacity of norms */
	char	   *norm_page;		/* if norms is NULL: page being filled */
	uint32		tid_pages;		/* data pages, set at the end */
	struct SkxTidWriter *tids;
} SkxDocumentsWriter;

/* Initializes *docs for these two planes; norms are kept in memory. */
extern void skx_writer_documents_init(SkxDocumentsWriter *docs,
									  SkxPlaneWriter *tids,
									  SkxPlaneWriter *norms);

/*
 * Announces ndocs documents, before the first one.  With keep_norms their norms
 * stay in memory until the end.
 */
extern void skx_writer_documents_announce(SkxDocumentsWriter *docs,
										  uint32 ndocs, bool keep_norms);

/* Does the same, and keeps the norms in the caller's array of ndocs bytes. */
extern void skx_writer_documents_keep_norms(SkxDocumentsWriter *docs,
											uint8 *norms, uint32 ndocs);

/* Adds the next document.  TIDs ascend. */
extern void skx_writer_documents_add(SkxDocumentsWriter *docs,
									 ItemPointer tid, uint8 norm);

/* Writes what is left of TIDs and norms, and the directory of TIDs. */
extern void skx_writer_documents_end(SkxDocumentsWriter *docs);

/*
 * writer_keys.c : keys of columns, in document order
 */
typedef struct SkxKeysWriter SkxKeysWriter;

/* Creates a writer for the keys of these columns. */
extern SkxKeysWriter *skx_writer_keys_begin(SkxPlaneWriter *plane,
											const SkxKeyColumns *columns);

/* Adds the keys of the next document, one a column. */
extern void skx_writer_keys_add(SkxKeysWriter *w, const SkxKey *keys);

/* Writes what is left, and the page that describes the columns. */
extern void skx_writer_keys_end(SkxKeysWriter *w);

/*
 * writer_positions.c : positions in blocks of SKX_SUBBLOCK
 */
typedef struct SkxPositionsWriter SkxPositionsWriter;

/* Creates a writer that hands full pages to the sink. */
extern SkxPositionsWriter *skx_writer_positions_begin(SkxPageSink sink,
													  void *arg);

/* Returns the ordinal of the page being filled. */
extern uint32 skx_writer_positions_page(const SkxPositionsWriter *w);

/*
 * Sets *mark to the address of the next position.  The page and offset in it
 * are filled in when the block of that position is placed.
 */
extern void skx_writer_positions_next_address(SkxPositionsWriter *w,
											  SkxPositionAddress *mark);

/* Adds the n positions of one posting, with their labels. */
extern void skx_writer_positions_add(SkxPositionsWriter *w,
									 const uint16 *positions, int n);

/* Places the block being filled: the next list begins a block of its own. */
extern void skx_writer_positions_end_block(SkxPositionsWriter *w);

/* Hands the last page to the sink; returns the number of pages. */
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
	uint8		norm;			/* read if the writer was given no norms */
	bool		has_labels;		/* some position has a label other than D */
	uint16		positions[SKX_TF_MAX];
} SkxPosting;

/* What a number of terms takes. */
typedef struct SkxTermTotals
{
	uint32		nterms;
	uint64		npostings;
	uint64		npositions;
	uint32		postings_pages;
	uint32		positions_pages;
	uint32		dict_leaves;
} SkxTermTotals;

/* Where the pages of three planes go: the sink, and its arg for each. */
typedef struct SkxTermSinks
{
	SkxPageSink sink;
	void	   *dict;
	void	   *postings;
	void	   *positions;
} SkxTermSinks;

/*
 * Creates a term writer.  norms (or NULL) and average length are those of the
 * whole segment.  Several writers, each with its own range of lexemes, make one
 * segment: skx_writer_dict_relocate() moves the leaves of each behind the ones
 * before, and the postings of each begin with a block.
 */
extern SkxTermWriter *skx_writer_terms_begin(const SkxTermSinks *sinks,
											 const SkxSegmentBuildOptions *options,
											 const uint8 *norms,
											 double average);

/*
 * Begins a term with df postings and npositions positions in all.  Lexemes
 * ascend.  flags: SKX_TERM_LABELS, SKX_TERM_NO_POSITIONS.
 */
extern void skx_writer_term_begin(SkxTermWriter *w, const char *lexeme,
								  int len, uint32 df, uint64 npositions,
								  uint8 flags);

/*
 * Adds the next posting of the term.  More postings or positions than were
 * announced raise an error.
 */
extern void skx_writer_term_posting(SkxTermWriter *w,
									const SkxPosting *posting);

/*
 * Adds the next postings of the term.  Each batch but the last one has
 * SKX_SUBBLOCK of them.
 */
extern void skx_writer_term_batch(SkxTermWriter *w,
								  const SkxPostingBatch *batch);

/*
 * Adds the next n postings of a term without positions, SKX_SUBBLOCK but for
 * the last ones.  Frequencies are from 1 to SKX_TF_MAX.  The writer was given
 * no norms.
 */
extern void skx_writer_term_counts(SkxTermWriter *w, const uint32 *docs,
								   const uint16 *tfs, const uint8 *norms,
								   int n);

/* Ends the term; fewer postings or positions than announced raise an error. */
extern void skx_writer_term_end(SkxTermWriter *w);

/*
 * Ends all planes, but writes of the dictionary only the leaves.  Fills in
 * *totals and the keys of the leaves.
 */
extern void skx_writer_terms_leaves(SkxTermWriter *w, SkxTermTotals *totals,
									SkxDictLeaves *leaves);

/*
 * Ends all planes.  Fills in *totals, and returns the page ordinal of the
 * dictionary's root.
 */
extern uint32 skx_writer_terms_end(SkxTermWriter *w, SkxTermTotals *totals);

/*
 * writer_output.c : one segment, from a build or a merge
 *
 * The caller adds all documents in order, then all terms in order, and then
 * finishes.  It adds up total_length before the terms begin.
 */
typedef struct SkxSegmentOutput
{
	SkxSegmentBuildOptions options;
	SkxPlaneWriter *planes[SKX_SEGMENT_NPLANES];
	SkxDocumentsWriter docs;
	SkxKeysWriter *keys;
	SkxTermWriter *terms;
	Size		fixed_bytes;	/* bytes of memory taken, without the norms */
	uint32		nnull;			/* documents that are NULL */
	uint64		total_length;	/* sum of the documents' lengths */
} SkxSegmentOutput;

/* Initializes *out. */
extern void skx_writer_output_init(SkxSegmentOutput *out,
								   const SkxSegmentBuildOptions *options);

/*
 * Adds the next document.  TIDs ascend; the norm of a NULL is SKX_NORM_NULL.
 */
extern void skx_writer_output_document(SkxSegmentOutput *out,
									   ItemPointer tid, uint8 norm,
									   const SkxKey *keys);

/* Ends the documents, and returns the writer of the terms. */
extern SkxTermWriter *skx_writer_output_terms(SkxSegmentOutput *out);

/* Ends the terms, writes the header and fills in *ref. */
extern void skx_writer_output_finish(SkxSegmentOutput *out,
									 SkxDiskSegmentRef *ref);

/* Writes the header and fills in *ref, for terms that others have written. */
extern void skx_writer_output_close(SkxSegmentOutput *out,
									const SkxTermTotals *totals,
									uint32 dict_root,
									SkxDiskSegmentRef *ref);

/* Returns the bytes of memory that an output takes beside the norms. */
extern Size skx_writer_output_fixed(const SkxSegmentBuildOptions *options);

/*
 * writer_prefixes.c : lists of the prefixes that many documents have
 *
 * Makes the lists of a segment whose other planes can be read: of each prefix
 * of one or two characters that several lexemes have, and a sixteenth of the
 * documents.  Sets the fields of the header that tell of them.
 */
extern void skx_writer_prefixes_make(SkxSegmentOutput *out,
									 SkxDiskSegment *header);

/* writer_build.c : one segment by one process */

/* Writes all terms of a merge of runs. */
extern void skx_writer_terms_merge(SkxTermWriter *w, SkxRunMerge *m);

/*
 * Returns true if ndocs documents or run_bytes of runs make a segment of the
 * largest size.
 */
extern bool skx_writer_segment_is_full(uint64 ndocs, uint64 run_bytes);

#endif							/* SKX_WRITER_H */
