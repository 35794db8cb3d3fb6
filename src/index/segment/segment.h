/*
 * segment.h
 *	  Reading one immutable segment: dictionary, posting lists with their
 *	  positions, documents, deletes.
 */
#ifndef SKX_SEGMENT_H
#define SKX_SEGMENT_H

#include "format/disk/disk_dict.h"
#include "format/disk/disk_page.h"
#include "format/disk/disk_segment.h"
#include "index/column/column_value.h"
#include "index/manifest/manifest.h"
#include "index/skiplist/skiplist.h"
#include "storage/blkio/blkio_glance.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"
#include "support/compat/compat.h"

/* What a backend keeps of a segment from one use to the next. */
typedef struct SkxSegmentKept
{
	uint32	   *tid_directory;	/* first group of each data page, or NULL */
	uint64		reads;			/* skx_segment_reads after a search that had
								 * to read nothing */
	uint32		norms_refused;	/* batches of norms that were not to be had
								 * without a read */
} SkxSegmentKept;

/* An open segment.  Lives in the memory context it was opened in. */
typedef struct SkxSegment
{
	Relation	rel;
	SkxBlkFile *file;
	uint64		incarnation;
	SkxDiskSegment header;
	SkxBlkPlane planes[SKX_SEGMENT_NPLANES];
	SkxBlkRun  *runs;

	/* state of the readers below, so that the next call finds its page */
	SkxBlkRef	dict_ref;
	SkxBlkRef	tid_ref;
	SkxBlkRef	norm_ref;
	SkxBlkGlance norm_glance;	/* at the norms of documents */
	uint32		norm_first;		/* from this one on, */
	uint32		norm_count;		/* so many; 0: there is no such glance */
	uint32		norm_loads;		/* pages of norms that were wanted and had to
								 * be read */
	uint32		norm_asked;		/* pages before it were brought in groups, */
	uint32		norm_run;		/* the last of so many */
	bool		norm_all;		/* all were brought */
	bool		norm_refused;	/* some were done without */
	SkxSegmentKept *kept;
	uint64		reads;			/* skx_segment_reads when it was opened */
	uint32		tid_page;
	Buffer		deletes;		/* pinned page of the deletes plane */
	uint32		deletes_page;
	uint32		deletes_clean;	/* 1 + page last seen without bits, or 0 */
	uint32		deletes_groups; /* of pages that may have bits; 0: not read */
	bool		dead_asked;		/* these are known: */
	uint64		dead_groups;	/* of documents that are known to be dead */
	int			ahead;			/* units that may be in flight, 0: none */
	uint64		tid_reads;		/* for skx_segment_cold */
	uint32		tid_from;		/* pages of documents from here on */
	uint32		tid_asked;		/* and before this one were asked for */
	int			tid_window;		/* further pages asked for with these */
} SkxSegment;

/* segment_open.c */

/*
 * Opens an index for reading segment pages; every page is checked for
 * identity and CRC once per load.
 */
extern SkxBlkFile *skx_segment_file(Relation rel, uint64 incarnation);

/* Segment number `which` of the view; ask for the headers of several. */
extern SkxSegment *skx_segment_open(SkxBlkFile *file, Relation rel,
									const SkxView *view, int which);
extern void skx_segment_close(SkxSegment *seg);

/*
 * searched: call at the end of a search of the segment.  warm: the last search
 * found all its pages cached, did without no norms, and this backend has loaded
 * nothing since, so that prefetching a few pages is not worth it.
 */
extern void skx_segment_searched(SkxSegment *seg);
extern bool skx_segment_warm(const SkxSegment *seg);

extern void skx_segment_ask_headers(SkxBlkFile *file, const SkxView *view,
									int first, int n);

/* Lets go of all pages that the readers below hold. */
extern void skx_segment_relax(SkxSegment *seg);

/* File block of a page of a plane; errors out when there is none. */
extern BlockNumber skx_segment_block(const SkxSegment *seg,
									 SkxSegmentPlane plane, uint32 ordinal);

/* Pins a page of a plane and checks that the plane has it. */
extern const char *skx_segment_pin(SkxSegment *seg, SkxSegmentPlane plane,
								   uint32 ordinal, SkxBlkRef *ref);
SKX_NORETURN extern void skx_segment_damaged(const SkxSegment *seg,
											 SkxSegmentPlane plane,
											 uint32 ordinal,
											 const char *what);

/*
 * segment_dict_reader.c
 */

/* A dictionary entry, decoded (disk_dict.h). */
typedef struct SkxTerm
{
	uint32		ordinal;
	uint32		check;			/* SKX_TERM_LONG: what is on its pages */
	uint32		df;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_* */
	uint8		inline_size;	/* SKX_TERM_INLINE: bytes in `bytes` */
	uint8		bytes[64];
	uint32		short_size;		/* SKX_TERM_SHORT: where and how long */
	uint32		short_page;
	uint16		short_offset;
	uint16		kth[3];			/* tf code << 8 | norm; for k 10, 100, 1000 */
	SkxListAddress list;		/* SKX_TERM_LONG */
	uint32		pos_page;		/* positions plane */
	uint16		pos_offset;
} SkxTerm;

extern bool skx_segment_find(SkxSegment *seg, const char *lexeme, int len,
							 SkxTerm *term);

/*
 * Looks up n lexemes, ascending and distinct, in several segments, the pages
 * of each level at once.  terms[i] is for segs[i]; df 0: it is not there.
 */
extern void skx_segment_find_all(SkxSegment *const *segs, int nsegs,
								 const SkxLexeme *lexemes, int n,
								 SkxTerm **terms);

/*
 * segment_dict_visit.c
 *
 * Calls `visit` for each term that starts with the prefix (empty: all words),
 * or from a lexeme on and below another one, in lexeme order, until it returns
 * false.  The callback must not look up terms in the same segment.
 * reads_ahead: it is likely to go on for more than a few.
 *
 * bits: NULL, or where the documents of terms go whose lists stand in their
 * dictionary entries (is_put); these terms are not visited.  The callback may
 * begin that.
 */
typedef struct SkxTermBits
{
	uint64	   *bits;			/* NULL: all are visited */
	uint32		from;			/* the document of bit 0 */
	uint32		ndocs;			/* those of others are left out */
	uint64		put;			/* documents of these terms, left out or not */
} SkxTermBits;

static inline bool
skx_segment_is_put(const SkxTerm *term)
{
	return term->df < SKX_SUBBLOCK && term->npositions < 0x80 &&
		(term->flags & (SKX_TERM_PLACE | SKX_TERM_OWN_POSITIONS)) ==
		(SKX_TERM_INLINE | SKX_TERM_OWN_POSITIONS);
}

typedef bool (*SkxTermVisit) (const SkxTerm *term, const char *lexeme,
							  int len, void *arg);
extern void skx_segment_prefix(SkxSegment *seg, const char *prefix, int len,
							   bool reads_ahead, SkxTermBits *bits,
							   SkxTermVisit visit, void *arg);
extern void skx_segment_between(SkxSegment *seg, const SkxLexeme *from,
								const SkxLexeme *to, bool reads_ahead,
								SkxTermBits *bits, SkxTermVisit visit,
								void *arg);

/*
 * How many terms that would be, by two look-ups; for a prefix also on how many
 * leaves of the dictionary they are, and how many pages the lists of these take,
 * about, 0 for a single leaf.
 */
typedef struct SkxTermExtent
{
	uint32		leaves;
	uint32		pages;
} SkxTermExtent;

extern uint32 skx_segment_terms_between(SkxSegment *seg,
										const SkxLexeme *from,
										const SkxLexeme *to);
extern uint32 skx_segment_terms_prefixed(SkxSegment *seg, const char *prefix,
										 int len, SkxTermExtent *extent);

/*
 * segment_ahead.c : asks for pages before they are pinned
 *
 * prefetch is skx_blkio_prefetch, counted in `asked`.  ask takes pages of a
 * plane in any order, sorts them, and asks for them if they are of `least`
 * units.
 */
#define SKX_AHEAD_MAX		64	/* units of one kind in flight at most */

extern PGDLLIMPORT uint64 skx_segment_asked;

extern void skx_segment_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
								 const uint32 *ordinals, int n);
extern void skx_segment_ask(SkxSegment *seg, SkxSegmentPlane plane,
							uint32 *pages, int n, int least);

/*
 * For a reader of pages [at, end) in turn: has the next ones in flight.
 * *asked is zero at first.
 */
extern void skx_segment_ask_next(SkxSegment *seg, SkxSegmentPlane plane,
								 uint32 at, uint32 end, uint32 *asked);

/*
 * reads: how many loads this backend has made so far.  cold: has that changed
 * since *seen, which is updated?  (PG_UINT64_MAX: it has.)  While it has not,
 * all is in the cache and planning page by page can be left.
 */
extern uint64 skx_segment_reads(void);
extern bool skx_segment_cold(uint64 *seen);

/*
 * Every ranked search will ask for some pages of the plane, which is small
 * beside the cache, and not all of it is there (16 pages are looked for).
 */
extern bool skx_segment_brings(SkxSegment *seg, SkxSegmentPlane plane);

/* Is more than an eighth of its pages not in the cache, by that many? */
extern bool skx_segment_lacks(SkxSegment *seg, SkxSegmentPlane plane);

/*
 * segment_documents_reader.c; ask_tids: for the pages that tids_of reads;
 * bring_tids: all of them, if skx_segment_brings()
 */
extern void skx_segment_tids(SkxSegment *seg, uint32 first, int n,
							 ItemPointerData *tids);
extern void skx_segment_tids_of(SkxSegment *seg, const uint32 *docs, int n,
								ItemPointerData *tids);
extern void skx_segment_ask_tids(SkxSegment *seg, const uint32 *docs, int n);
extern void skx_segment_bring_tids(SkxSegment *seg);

/* Keeps those whose tsvector is NULL, or is not; returns how many. */
extern int	skx_segment_keep_null(SkxSegment *seg, uint32 *docs, int n,
								  bool is_null);
extern uint8 skx_segment_norm(SkxSegment *seg, uint32 doc);

/*
 * segment_norms.c : norms read in place, without a pin, by searches
 *
 * norms reads those of ascending documents, SKX_SUBBLOCK at most.  want has the
 * pages of such documents read, together, of which only some will be asked for
 * their norms.  has: are they to be had without a read?  A caller that does
 * without them where they are not spends time on it: when that has been so as
 * often as the plane has pages, all of it is read.  bring: all of them, if
 * skx_segment_brings().
 */
extern void skx_segment_norms(SkxSegment *seg, const uint32 *docs, int n,
							  uint8 *norms);
extern void skx_segment_want_norms(SkxSegment *seg, const uint32 *docs, int n);
extern bool skx_segment_has_norms(SkxSegment *seg, const uint32 *docs, int n);
extern void skx_segment_bring_norms(SkxSegment *seg);
extern uint8 skx_segment_norm_slow(SkxSegment *seg, uint32 doc);

static inline uint8
skx_segment_norm_in_place(SkxSegment *seg, uint32 doc)
{
	if (doc - seg->norm_first < seg->norm_count)
	{
		uint8		norm = (uint8) seg->norm_glance.page
			[SKX_PAGE_START + (doc - seg->norm_first)];

		if (skx_blkio_glance_holds(&seg->norm_glance))
			return norm;
	}
	return skx_segment_norm_slow(seg, doc);
}

/*
 * segment_deletes.c : ascending documents; returns how many are live.  expect:
 * they will be asked for, when much else will have been read.  forget:
 * what was seen without bits is to be looked at again.
 */
extern void skx_segment_expect_deletes(const SkxSegment *seg);
extern int	skx_segment_drop_deleted(SkxSegment *seg, uint32 *docs, int n);
extern void skx_segment_forget_deletes(SkxSegment *seg);
extern uint64 skx_segment_ndeleted(SkxSegment *seg);

/*
 * segment_dead.c : documents whose rows are dead to all, and which VACUUM has
 * not come to yet
 *
 * note: this one is, as its row was just seen.  drop_dead is part of
 * drop_deleted, for documents of one page of delete bits.
 */
extern void skx_segment_note_dead(const SkxSegment *seg, uint32 doc);
extern int	skx_segment_drop_dead(SkxSegment *seg, uint32 page, uint32 *docs,
								  int n);

#endif							/* SKX_SEGMENT_H */
