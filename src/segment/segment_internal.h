/*
 * segment_internal.h
 *	  What the files that build a segment share.
 *
 * Documents go into an SkxInverter; its terms leave it sorted, as a run, in
 * memory or in a temporary file; runs are merged term by term into an
 * SkxTermWriter, which fills the planes.
 */
#ifndef SKX_SEGMENT_INTERNAL_H
#define SKX_SEGMENT_INTERNAL_H

#include "codec/codec.h"
#include "format/format_dict.h"
#include "format/format_page.h"
#include "format/format_postings.h"
#include "format/format_segment.h"
#include "rank/rank.h"
#include "segment/segment_build.h"
#include "skiplist/skiplist.h"
#include "storage/buffile.h"

/*
 * segment_plane.c
 */

/* Pages written together. */
#define SKX_PLANE_BATCH		16

/* Page buffers and what else the planes of one segment have in common. */
typedef struct SkxSegmentSpace
{
	MemoryContext context;
	const SkxSegmentStore *store;
	uint64		incarnation;
	uint32		segment;
	uint32		block_pages;
	char	  **spare;			/* page buffers not in use */
	int			nspare;
	int			spare_size;
} SkxSegmentSpace;

/* A plane that grows page by page. */
typedef struct SkxPlaneWriter
{
	SkxSegmentSpace *space;
	uint8		plane;
	uint32		npages;			/* largest ordinal put, plus one */
	SkxDiskRun *runs;
	int			nruns;
	int			runs_size;
	uint32		allocated;		/* blocks */
	BlockNumber next;			/* next block of the last allocation ... */
	uint32		nleft;			/* ... and how many are left of it */
	uint32		block;			/* number of the block being filled */
	char	  **pages;			/* its pages, NULL where not there yet */
	char	   *batch[SKX_PLANE_BATCH];
	BlockNumber batch_at;
	int			nbatch;
} SkxPlaneWriter;

extern void skx_segment_space_init(SkxSegmentSpace *space,
								   const SkxSegmentBuildOptions *options);
extern void skx_segment_plane_init(SkxPlaneWriter *plane,
								   SkxSegmentSpace *space, uint8 kind);

/* Takes a page with `used` bytes of content; arg is the SkxPlaneWriter. */
extern void skx_segment_plane_put(void *arg, uint32 ordinal, char *page,
								  uint32 used);

/*
 * Adds pages of zeros.  They are written, because a hole in the file would be
 * filled by a checkpoint, which must not be the one to find the disk full.
 */
extern void skx_segment_plane_zero(SkxPlaneWriter *plane, uint32 npages);

/*
 * Ends all planes: writes what is left of them with the segment header behind
 * it.  header->planes and nruns are filled in here.
 */
extern void skx_segment_plane_finish(SkxPlaneWriter *planes, int nplanes,
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
	SkxPlaneWriter *tids;
	SkxPlaneWriter *norm_plane;
	MemoryContext context;
	uint32		ndocs;
	uint8	   *norms;
	Size		norms_size;
	ItemPointerData group[SKX_TID_GROUP];
	char	   *page;			/* TID page being filled */
	uint32		ngroups;		/* on it */
	uint32		nbody;			/* bytes of bodies on it */
	SkxDiskTidGroup *groups;
	uint8	   *body;
	uint32		tid_pages;
	uint32		first_group;	/* of the page */
	uint32	   *directory;		/* first group of each page */
	uint32		directory_size;
} SkxDocumentsWriter;

extern void skx_segment_documents_init(SkxDocumentsWriter *docs,
									   SkxPlaneWriter *tids,
									   SkxPlaneWriter *norms);
extern void skx_segment_documents_add(SkxDocumentsWriter *docs,
									  ItemPointer tid, uint8 norm);
extern void skx_segment_documents_end(SkxDocumentsWriter *docs);

/*
 * segment_positions_writer.c
 */
typedef struct SkxPositionsWriter
{
	SkxPlaneWriter *plane;
	char	   *page;
	uint32		ordinal;		/* of `page` */
	uint32		used;			/* page offset where its content ends */
	int			n;				/* positions in hand */
	uint16		positions[SKX_SUBBLOCK];
	uint64		starts[2];
	SkxPositionAddress *marks[4];	/* wait for the block's address */
	int			nmarks;
} SkxPositionsWriter;

extern void skx_segment_positions_init(SkxPositionsWriter *w,
									   SkxPlaneWriter *plane);

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
	bool		labelled;		/* some position has a label other than D */
	uint16		positions[SKX_TF_MAX];
} SkxPosting;

typedef struct SkxTermTotals
{
	uint32		nterms;
	uint64		npostings;
	uint64		npositions;
} SkxTermTotals;

/* norms and average length are those of the whole segment. */
extern SkxTermWriter *skx_segment_terms_begin(SkxPlaneWriter *dict,
											  SkxPlaneWriter *postings,
											  SkxPlaneWriter *positions,
											  const uint8 *norms,
											  double average,
											  double k1, double b);
extern void skx_segment_term_begin(SkxTermWriter *w, const char *lexeme,
								   int len, uint32 df, uint64 npositions,
								   uint8 flags);
extern void skx_segment_term_posting(SkxTermWriter *w,
									 const SkxPosting *posting);
extern void skx_segment_term_end(SkxTermWriter *w);

/* Returns the page ordinal of the dictionary's root. */
extern uint32 skx_segment_terms_end(SkxTermWriter *w, SkxTermTotals *totals);

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

/*
 * Merges all runs, and those of a sorted inverter when there are none, into
 * the writer.
 */
extern void skx_segment_runs_merge(SkxRuns *runs, SkxInverter *inv,
								   SkxTermWriter *w,
								   void (*progress) (int phase, uint64 done,
													 uint64 total));

#endif							/* SKX_SEGMENT_INTERNAL_H */
