/*
 * segment_internal.h
 *	  What the files that make a segment share.
 *
 * Documents go into an SkxInverter; its terms leave it sorted, as a run, in
 * memory or in a temporary file; runs are merged term by term into an
 * SkxTermWriter, which fills the planes.  A merge of segments brings documents
 * and terms from these instead.
 */
#ifndef SKX_SEGMENT_INTERNAL_H
#define SKX_SEGMENT_INTERNAL_H

#include "codec/codec.h"
#include "format/format_dict.h"
#include "format/format_page.h"
#include "format/format_postings.h"
#include "format/format_segment.h"
#include "rank/rank.h"
#include "segment/segment.h"
#include "segment/segment_build.h"
#include "skiplist/skiplist.h"
#include "storage/buffile.h"

/*
 * segment_plane.c
 *
 * A plane grows page by page; the planes of a segment share page buffers, and
 * in the end blocks.
 */
typedef struct SkxPlaneWriter SkxPlaneWriter;

extern void skx_segment_planes_begin(SkxPlaneWriter **planes, int nplanes,
									 const SkxSegmentBuildOptions *options);

/* Takes a page with `used` bytes of content; arg is the SkxPlaneWriter. */
extern void skx_segment_plane_put(void *arg, uint32 ordinal, char *page,
								  uint32 used);

/*
 * Adds pages with `used` bytes of zeros.  They are written, since a checkpoint
 * that fills holes must not be the one to find the disk full, and have an LSN.
 */
extern void skx_segment_plane_blank(SkxPlaneWriter *plane, uint32 npages,
									uint32 used);

/*
 * Ends all planes: writes what is left of them with the segment header behind
 * it.  header->planes and nruns are filled in here.
 */
extern void skx_segment_planes_finish(SkxPlaneWriter **planes, int nplanes,
									  SkxDiskSegment *header,
									  SkxDiskSegmentRef *ref);

/*
 * segment_dict_writer.c
 */
typedef struct SkxDictWriter SkxDictWriter;

/* Numbers of an entry with list maxima, or with an inline list. */
#define SKX_DICT_VALUE_MAX	(10 * SKX_VARINT64_MAX + SKX_INLINE_BYTES)

extern SkxDictWriter *skx_segment_dict_begin(SkxPlaneWriter *plane);
extern void skx_segment_dict_add(SkxDictWriter *dict, const char *lexeme,
								 int len, const uint8 *value, uint32 nvalue);

/* Returns the page ordinal of the root. */
extern uint32 skx_segment_dict_end(SkxDictWriter *dict);

/*
 * segment_documents_writer.c
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

extern void skx_segment_documents_init(SkxDocumentsWriter *docs,
									   SkxPlaneWriter *tids,
									   SkxPlaneWriter *norms);

/* Before the first document: how many come; are their norms to be kept? */
extern void skx_segment_documents_reserve(SkxDocumentsWriter *docs,
										  uint32 ndocs, bool keep_norms);
extern void skx_segment_documents_add(SkxDocumentsWriter *docs,
									  ItemPointer tid, uint8 norm);
extern void skx_segment_documents_end(SkxDocumentsWriter *docs);

/*
 * segment_positions_writer.c
 */
typedef struct SkxPositionsWriter SkxPositionsWriter;

extern SkxPositionsWriter *skx_segment_positions_begin(SkxPlaneWriter *plane);

/* The page being filled. */
extern uint32 skx_segment_positions_page(const SkxPositionsWriter *w);

/* Has *mark filled in when the block that takes the next position is placed. */
extern void skx_segment_positions_mark(SkxPositionsWriter *w,
									   SkxPositionAddress *mark);
extern void skx_segment_positions_add(SkxPositionsWriter *w,
									  const uint16 *positions, int n);

/* Closes the block in hand; a list must not go on into the next one's. */
extern void skx_segment_positions_close(SkxPositionsWriter *w);
extern void skx_segment_positions_end(SkxPositionsWriter *w);

/*
 * segment_term_writer.c : one term after the other into the planes
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
} SkxTermTotals;

/* norms (or NULL) and average length are those of the whole segment. */
extern SkxTermWriter *skx_segment_terms_begin(SkxPlaneWriter **planes,
											  const SkxSegmentBuildOptions *options,
											  const uint8 *norms,
											  double average);
extern void skx_segment_term_begin(SkxTermWriter *w, const char *lexeme,
								   int len, uint32 df, uint64 npositions,
								   uint8 flags);
extern void skx_segment_term_posting(SkxTermWriter *w,
									 const SkxPosting *posting);
extern void skx_segment_term_end(SkxTermWriter *w);

/* Returns the page ordinal of the dictionary's root. */
extern uint32 skx_segment_terms_end(SkxTermWriter *w, SkxTermTotals *totals);

/*
 * segment_output.c : a segment, whatever its documents and terms come from
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
	SkxTermWriter *terms;
	Size		fixed;			/* bytes that all this takes, without norms */
	uint32		nnull;
	uint64		total_length;
} SkxSegmentOutput;

extern void skx_segment_output_init(SkxSegmentOutput *out,
									const SkxSegmentBuildOptions *options);
extern void skx_segment_output_document(SkxSegmentOutput *out,
										ItemPointer tid, uint8 norm);
extern SkxTermWriter *skx_segment_output_terms(SkxSegmentOutput *out);
extern void skx_segment_output_finish(SkxSegmentOutput *out,
									  SkxDiskSegmentRef *ref);

/*
 * segment_merge_map.c : new numbers of the documents of segments
 *
 * A segment whose documents stay next to each other needs an offset only
 * (`linear`), others four bytes a document: in memory as far as `memory`
 * goes, the rest in a temporary file, of which each segment has a few pages
 * in memory.  Numbers are put in the order of the old ones, segment by segment
 * or mixed; SKX_NO_DOC for a document that is left out.
 */
typedef struct SkxMergeMaps SkxMergeMaps;

extern SkxMergeMaps *skx_segment_maps_create(const uint32 *ndocs, int nmaps,
											 const bool *linear, Size memory);
extern void skx_segment_maps_put(SkxMergeMaps *maps, int which, uint32 doc);
extern void skx_segment_maps_filled(SkxMergeMaps *maps);

/* New numbers of `n` documents of segment `which`. */
extern void skx_segment_maps_get(SkxMergeMaps *maps, int which,
								 const uint32 *docs, int n, uint32 *to);
extern void skx_segment_maps_free(SkxMergeMaps *maps);

/*
 * segment_merge_dead.c : what the documents left out take from terms
 *
 * Counted before the merge, since a term must be announced with the numbers
 * of its live postings, and its scores need the average length of the live
 * documents.
 */
typedef struct SkxDeadTerm
{
	uint32		ordinal;		/* in the dictionary of the segment */
	uint32		df;				/* dead postings */
	uint64		npositions;		/* theirs */
	uint8		flags;			/* of the live postings */
} SkxDeadTerm;

typedef struct SkxDeadTerms SkxDeadTerms;

extern SkxDeadTerms *skx_segment_dead_create(int nsegments);

/* Counts for the bits set in `dead`; returns the documents' length. */
extern uint64 skx_segment_dead_count(SkxDeadTerms *d, int which,
									 SkxSegment *seg, const uint8 *dead);

/* Terms of a segment are asked for in ascending order.  False: all live. */
extern bool skx_segment_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
								  SkxDeadTerm *term);
extern void skx_segment_dead_free(SkxDeadTerms *d);

/*
 * segment_invert.c
 *
 * Postings in memory and in runs: varint64 (gap - 1) << 2 | c, the first gap
 * of a run counting from SKX_NO_DOC; c 0: one position, label D; 1: no
 * positions; 2: varint tf, all D; 3: varint tf, labels.  Then per position a
 * varint of the difference less one modulo 2^14, in form 3 shifted left by 2
 * with the label below it.
 */
#define SKX_RUN_POSTING_MAX \
	(SKX_VARINT64_MAX + SKX_VARINT32_MAX + 3 * SKX_TF_MAX)

/* What a run knows of a term; its bytes of postings follow. */
typedef struct SkxRunTerm
{
	uint64		nbytes;
	uint64		npositions;
	uint32		df;
	uint32		last;			/* last document */
	uint16		len;			/* of the lexeme */
	uint8		flags;			/* SKX_TERM_LABELS, SKX_TERM_BARE */
	uint8		reserved[5];
} SkxRunTerm;

typedef struct SkxInverter SkxInverter;

/* Its addresses have 32 bits; there must be room for one more document. */
#define SKX_INVERT_MAX		(UINT64CONST(3584) * 1024 * 1024)

extern SkxInverter *skx_segment_invert_create(Size memory);

/* Returns the length of the document. */
extern uint64 skx_segment_invert_add(SkxInverter *inv, uint32 doc,
									 TSVector value);

/* Bytes in use, and how many it could be when a document is added. */
extern Size skx_segment_invert_used(const SkxInverter *inv);
extern Size skx_segment_invert_need(const SkxInverter *inv, TSVector value);

/* Sorts; then one can go through the terms, once. */
extern void skx_segment_invert_sort(SkxInverter *inv);

/* The next term, false after the last one. */
extern bool skx_segment_invert_next(SkxInverter *inv, SkxRunTerm *term,
									const char **lexeme);

/*
 * Copies the next bytes, at most `n`, of the current term's postings; returns
 * how many.
 */
extern uint32 skx_segment_invert_read(SkxInverter *inv, uint8 *to, uint32 n);

/* Forgets all documents. */
extern void skx_segment_invert_reset(SkxInverter *inv);

/*
 * segment_runs.c
 */
typedef struct SkxRuns SkxRuns;

extern SkxRuns *skx_segment_runs_create(Size memory);

/* Writes a sorted inverter out as the next run. */
extern void skx_segment_runs_spill(SkxRuns *runs, SkxInverter *inv);
extern uint64 skx_segment_runs_bytes(const SkxRuns *runs);

/* Merges all runs, or without any the inverter, into the writer. */
extern void skx_segment_runs_merge(SkxRuns *runs, SkxInverter *inv,
								   SkxTermWriter *w,
								   void (*progress) (int phase, uint64 done,
													 uint64 total));

#endif							/* SKX_SEGMENT_INTERNAL_H */
