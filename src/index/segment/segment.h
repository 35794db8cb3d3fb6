/*
 * segment.h
 *	  Reads one immutable segment: dictionary, norms, TIDs, deletes.  Pins
 *	  and prefetches its pages.
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
#include "support/sessioncache/sessioncache.h"

typedef struct SkxKnownTerms SkxKnownTerms;

/* What a session keeps of a segment from one use to the next. */
typedef struct SkxSegmentSession
{
	SkxSessionEntry entry;
	uint32	   *tid_directory;	/* first group of each data page, or NULL */
	SkxKnownTerms *known_terms; /* looked up by skx_segment_find_all_cached(),
								 * or NULL */
	uint64		warm_reads;		/* skx_segment_nloads after the last search,
								 * if it was warm, else PG_UINT64_MAX */
	uint32		norms_refused;	/* batches whose norms were not cached, since
								 * the plane was last read for that reason */
} SkxSegmentSession;

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
	SkxBlkOptimisticRead norm_page; /* page of norms that was read last */
	uint32		norm_first;		/* first document with norms in norm_glance */
	uint32		norm_count;		/* number of norms in norm_glance; 0 if it is
								 * empty */
	uint32		norm_page_loads;	/* pages of norms that were wanted and had
									 * to be read */
	uint32		norm_prefetched_to; /* page after the last range of pages read */
	uint32		norm_prefetch_pages;	/* pages that are read together or in
										 * advance, doubled while requests are
										 * sequential */
	bool		norms_read_all; /* all pages of norms were read */
	bool		norms_refused;	/* skx_segment_has_norms returned false */
	SkxSegmentSession *session;
	struct SkxSegment *prefixes;	/* skx_segment_prefixes(), or NULL */
	uint64		reads_at_open;	/* skx_segment_nloads when it was opened */
	uint32		tid_page;		/* data page of TIDs that was read last */
	Buffer		deletes;		/* pinned page of the deletes plane */
	uint32		deletes_page;	/* its ordinal */
	uint32		deletes_clean_page; /* 1 + page last seen without bits, or 0 */
	uint32		deletes_groups; /* groups of pages that may have deleted bits;
								 * 0: not read */
	bool		dead_groups_read;	/* dead_groups is set */
	uint64		dead_page_groups;	/* groups of pages of the deletes plane
									 * with documents noted as dead */
	int			prefetch_units; /* units that may be in flight, 0: none */
	uint64		tid_reads;		/* for skx_segment_has_read */
	uint32		tid_prefetched_from;	/* first document whose TIDs were
										 * prefetched */
	uint32		tid_prefetched_to;	/* document after the last of these */
	int			tid_prefetch_pages; /* pages after those of the requested
									 * documents that were prefetched, too */
} SkxSegment;

/* segment_open.c : opens segments and pins their pages */

/*
 * Opens an index for reading segment pages; every page is checked for
 * identity and CRC once per load.  The result is palloc'd, and rel must stay
 * open while it is used.
 */
extern SkxBlkFile *skx_segment_file(Relation rel, uint64 incarnation);

/*
 * Opens segment number `which` of the view, in the current memory context.
 * Reads its header, unless the backend keeps that from an earlier use.
 * Raises an error if the header is damaged.
 */
extern SkxSegment *skx_segment_open(SkxBlkFile *file, Relation rel,
									const SkxView *view, int which);

/*
 * Unpins the pages of a segment and frees it.  If the method can prefetch,
 * pages may be in flight: the segment then stays in its memory context.
 */
extern void skx_segment_close(SkxSegment *seg);

/*
 * Records at the end of a search of the segment whether the search was warm.
 * It was if the backend has read no page since the segment was opened, and
 * skx_segment_has_norms() never returned false.
 */
extern void skx_segment_record_warmth(SkxSegment *seg);

/*
 * Returns true if the last recorded search was warm and this backend has read
 * no page since.  Prefetching a few pages is then not worth its cost.
 */
extern bool skx_segment_is_warm(const SkxSegment *seg);

/*
 * Prefetches the headers of segments first to first + n - 1 of the view,
 * before they are opened.  Leaves out headers that the backend keeps.  Does
 * nothing if n is 1.
 */
extern void skx_segment_prefetch_headers(SkxBlkFile *file, Relation rel,
										 const SkxView *view, int first,
										 int n);

/*
 * Returns the segment's lists of prefixes: an SkxSegment of the same documents
 * whose terms are the prefixes that have lists, valid as long as seg.  Their
 * lists have no positions; the frequency in a document is the sum over all
 * lexemes with the prefix.  Only its terms, cursors and pages may be used.
 * Returns NULL if the segment has none.
 */
extern SkxSegment *skx_segment_prefixes(SkxSegment *seg);

/* Unpins all pages that the readers below hold. */
extern void skx_segment_unpin_all(SkxSegment *seg);

/*
 * Returns the file block of page `ordinal` of a plane; raises an error if the
 * plane has no such page.
 */
extern BlockNumber skx_segment_block(const SkxSegment *seg,
									 SkxSegmentPlane plane, uint32 ordinal);

/*
 * Pins page `ordinal` of a plane through ref and returns the page.  Releases
 * what ref held before.  Raises an error if the plane has no such page, or
 * the page is damaged.
 */
extern const char *skx_segment_pin(SkxSegment *seg, SkxSegmentPlane plane,
								   uint32 ordinal, SkxBlkRef *ref);

/*
 * Raises ERRCODE_INDEX_CORRUPTED with the file block of page `ordinal` of a
 * plane, and `what` as detail.
 */
SKX_NORETURN extern void skx_segment_damaged(const SkxSegment *seg,
											 SkxSegmentPlane plane,
											 uint32 ordinal,
											 const char *what);

/* segment_dict_reader.c : looks up terms */

/* A dictionary entry, decoded (disk_dict.h). */
typedef struct SkxTerm
{
	uint32		ordinal;		/* number of the term in the segment */
	uint32		list_check;		/* SKX_TERM_LONG: check value of the lexeme
								 * that the pages of its list repeat */
	uint32		df;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_* */
	uint8		inline_size;	/* SKX_TERM_INLINE: bytes in `bytes` */
	uint8		bytes[64];		/* SKX_TERM_INLINE: the encoded list */
	uint32		short_size;		/* SKX_TERM_SHORT: bytes of the list */
	uint32		short_page;		/* SKX_TERM_SHORT: in the postings plane;
								 * SKX_TERM_INLINE: in the dictionary */
	uint16		short_offset;
	uint16		kth_best[3];	/* tf code << 8 | norm of the posting with the
								 * k-th best score; for k 10, 100, 1000 */
	SkxListAddress long_list;	/* SKX_TERM_LONG */
	uint32		pos_page;		/* positions plane */
	uint16		pos_offset;
} SkxTerm;

/*
 * Looks up a lexeme.  Returns true and fills *term if the segment has it;
 * otherwise returns false, with *term undefined.
 */
extern bool skx_segment_find(SkxSegment *seg, const char *lexeme, int len,
							 SkxTerm *term);

/*
 * Looks up n lexemes, ascending and distinct, in several segments, and
 * prefetches the pages of each level together.  terms[i][k] is set for lexeme
 * k in segs[i]; its df is 0 if the segment does not have the lexeme.
 */
extern void skx_segment_find_all(SkxSegment *const *segs, int nsegs,
								 const SkxLexeme *lexemes, int n,
								 SkxTerm **terms);

/*
 * segment_terms.c : does the same as skx_segment_find_all(), but does not look
 * lexemes up again in a segment if the session has looked up all n of them.
 */
extern void skx_segment_find_all_cached(SkxSegment *const *segs, int nsegs,
										const SkxLexeme *lexemes, int n,
										SkxTerm **terms);

/* segment_dict_visit.c : visits ranges of terms */

/*
 * A bitset of documents.  A visit with such bits sets those of the documents
 * of all terms that satisfy skx_segment_list_is_inline(), instead of visiting
 * these terms.
 */
typedef struct SkxTermBits
{
	uint64	   *bits;			/* NULL: all terms are visited */
	uint32		first_doc;		/* document of bit 0 */
	uint32		ndocs;			/* number of bits; other documents are left
								 * out */
	uint64		nput;			/* incremented by the df of each such term,
								 * including documents left out */
} SkxTermBits;

/*
 * Returns true if the list of a term is stored in its dictionary entry with
 * its positions, so that a visit can put its documents into SkxTermBits.
 */
static inline bool
skx_segment_list_is_inline(const SkxTerm *term)
{
	return term->df < SKX_SUBBLOCK && term->npositions < 0x80 &&
		(term->flags & (SKX_TERM_FORM_MASK | SKX_TERM_OWN_POSITIONS)) ==
		(SKX_TERM_INLINE | SKX_TERM_OWN_POSITIONS);
}

/*
 * Callback for each visited term; returns false to end the visit.  It must
 * not look up terms in the same segment.  term and lexeme are valid until it
 * returns.
 */
typedef bool (*SkxTermVisit) (const SkxTerm *term, const char *lexeme,
							  int len, void *arg);

/*
 * Calls `visit` for each term that starts with the prefix, in lexeme order,
 * until it returns false.  The empty prefix stands for all words, without the
 * values of columns.  With reads_ahead further leaves are prefetched: set it
 * if many terms are likely.  bits is NULL, or collects the documents of some
 * terms (SkxTermBits); `visit` may set bits->bits during the visit.
 */
extern void skx_segment_visit_prefix(SkxSegment *seg, const char *prefix,
									 int len, bool reads_ahead,
									 SkxTermBits *bits, SkxTermVisit visit,
									 void *arg);

/*
 * Does the same as skx_segment_visit_prefix() for each term that is >= `from`
 * and below `to`.  If `from` is empty, values of columns are left out.
 */
extern void skx_segment_visit_range(SkxSegment *seg, const SkxLexeme *from,
									const SkxLexeme *to, bool reads_ahead,
									SkxTermBits *bits, SkxTermVisit visit,
									void *arg);

/* Pages that the terms of a prefix take. */
typedef struct SkxTermPages
{
	uint32		leaf_pages;		/* of the dictionary */
	uint32		list_pages;		/* of their lists, estimated; 0 if there is a
								 * single leaf */
} SkxTermPages;

/*
 * Returns the number of terms that are >= `from` and below `to`.  Looks up
 * both ends and visits no term in between.
 */
extern uint32 skx_segment_count_range(SkxSegment *seg,
									  const SkxLexeme *from,
									  const SkxLexeme *to);

/*
 * Returns the number of terms that start with the prefix, by two look-ups,
 * and fills *extent.  The empty prefix stands for all terms here, values of
 * columns included.
 */
extern uint32 skx_segment_count_prefix(SkxSegment *seg, const char *prefix,
									   int len, SkxTermPages *extent);

/* segment_ahead.c : prefetches pages before they are pinned */

#define SKX_PREFETCH_UNITS_MAX		64	/* units of one kind in flight at most */

/* Pages passed to skx_segment_prefetch; per backend, never reset. */
extern PGDLLIMPORT uint64 skx_segment_asked;

/*
 * Calls skx_blkio_prefetch() for n pages of a plane and adds n to
 * skx_segment_asked.  The plane must stay in memory until the file is closed.
 */
extern void skx_segment_prefetch(SkxBlkFile *file, const SkxBlkPlane *plane,
								 const uint32 *ordinals, int n);

/*
 * Prefetches n pages of a plane, given in any order, if they lie in `least`
 * or more different units.  Sorts the array and removes all but one page of
 * each unit from it.  Does nothing if the method cannot prefetch.
 */
extern void skx_segment_prefetch_pages(SkxSegment *seg, SkxSegmentPlane plane,
									   uint32 *pages, int n, int least);

/*
 * Keeps the next units in flight for a reader of pages [at, end) in turn,
 * which is at page `at`.  *asked is the unit after the last one prefetched;
 * the caller sets it to 0 at first, and this function updates it.
 */
extern void skx_segment_prefetch_next(SkxSegment *seg, SkxSegmentPlane plane,
									  uint32 at, uint32 end, uint32 *asked);

/*
 * Returns how many loads, with and without prefetch, this backend has made so
 * far, of any index.
 */
extern uint64 skx_segment_nloads(void);

/*
 * Returns true if skx_segment_nloads() differs from *seen, and sets *seen to
 * it.  PG_UINT64_MAX in *seen gives true.  As long as the result is false,
 * all pages in use are cached, and prefetching need not be planned page by
 * page.
 */
extern bool skx_segment_has_read(uint64 *seen);

/*
 * Returns true if a plane of which every ranked search needs some pages
 * should be read as a whole.  That is so if it takes at most a quarter of
 * skx_blkio_warmable_pages() (a sixteenth of the cache), and of at most 16 of
 * its pages some are not cached.  Returns false if the method cannot prefetch.
 */
extern bool skx_segment_should_read_all(SkxSegment *seg,
										SkxSegmentPlane plane);

/*
 * Returns true if more than an eighth of the pages of a plane are not in the
 * cache, estimated from at most 16 of them.
 */
extern bool skx_segment_is_mostly_uncached(SkxSegment *seg,
										   SkxSegmentPlane plane);

/* segment_documents_reader.c : reads TIDs and norms of documents */

/* Reads the TIDs of documents first to first + n - 1 into tids. */
extern void skx_segment_read_tids(SkxSegment *seg, uint32 first, int n,
								  ItemPointerData *tids);

/* Reads the TIDs of n ascending documents into tids. */
extern void skx_segment_read_tids_of(SkxSegment *seg, const uint32 *docs,
									 int n, ItemPointerData *tids);

/*
 * Prefetches the pages that skx_segment_read_tids_of() reads for n ascending
 * documents, at least one.  Does nothing if the last prefetch of TIDs
 * included the first document, or if the backend has read no page since then.
 */
extern void skx_segment_prefetch_tids(SkxSegment *seg, const uint32 *docs,
									  int n);

/*
 * Reads all pages of TIDs into the cache if skx_segment_should_read_all() says
 * so.
 */
extern void skx_segment_read_all_tids(SkxSegment *seg);

/*
 * Keeps those of n documents whose tsvector is NULL, or, without is_null,
 * those whose tsvector is not.  Returns how many are left in docs.
 */
extern int	skx_segment_filter_null(SkxSegment *seg, uint32 *docs, int n,
									bool is_null);

/* Returns the norm of a document, and leaves its page pinned. */
extern uint8 skx_segment_norm(SkxSegment *seg, uint32 doc);

/* segment_norms.c : reads norms for searches, in place and without a pin */

/*
 * Reads the norms of n ascending documents, SKX_SUBBLOCK at most, into
 * norms.  Pages that are not cached are read together; once a large part of
 * the plane was wanted, the rest of it is read, too.
 */
extern void skx_segment_norms(SkxSegment *seg, const uint32 *docs, int n,
							  uint8 *norms);

/*
 * Reads the pages with the norms of n ascending documents, SKX_SUBBLOCK at
 * most, together, unless the segment is warm.  Call it before single norms of
 * only some of the documents are read.
 */
extern void skx_segment_load_norms(SkxSegment *seg, const uint32 *docs, int n);

/*
 * Returns true if the norms of n documents are available without a read,
 * judged by at most 16 of them.  A caller that gets false does without norms,
 * which takes it more time.  Once this has happened as often as the plane has
 * pages, the whole plane is read if skx_blkio_warmable_pages() allows it, and
 * the result is true.
 */
extern bool skx_segment_has_norms(SkxSegment *seg, const uint32 *docs, int n);

/*
 * Reads all pages of norms into the cache if skx_segment_should_read_all()
 * says so.
 */
extern void skx_segment_read_all_norms(SkxSegment *seg);

/*
 * Returns the norm of a document for skx_segment_norm_unpinned(), and makes
 * its page that of norm_glance if possible.  Reads the page if it is not
 * cached.
 */
extern uint8 skx_segment_norm_pinned(SkxSegment *seg, uint32 doc);

/* Returns the norm of a document, without a pin if norm_glance has it. */
static inline uint8
skx_segment_norm_unpinned(SkxSegment *seg, uint32 doc)
{
	if (doc - seg->norm_first < seg->norm_count)
	{
		uint8		norm = (uint8) seg->norm_page.page
			[SKX_PAGE_START + (doc - seg->norm_first)];

		if (skx_blkio_optimistic_is_valid(&seg->norm_page))
			return norm;
	}
	return skx_segment_norm_pinned(seg, doc);
}

/* segment_deletes.c : reads the deleted bits of documents */

/*
 * Prefetches the first page of deleted bits into shared buffers, unless it
 * was read before.  Call it if skx_segment_drop_deleted() will follow after
 * many other reads.
 */
extern void skx_segment_prefetch_first_deletes(const SkxSegment *seg);

/*
 * Keeps the live ones of n ascending documents and returns how many are left
 * in docs.  Drops documents with a deleted bit and those that are noted as
 * dead.  Takes a share lock on one page of bits at a time.  A page or group
 * of pages that was seen without bits may not be read again.
 */
extern int	skx_segment_drop_deleted(SkxSegment *seg, uint32 *docs, int n);

/*
 * Forgets which pages were seen without deleted bits, so that these are read
 * again.
 */
extern void skx_segment_reread_deletes(SkxSegment *seg);

/*
 * Returns the current number of deleted bits of the segment, without
 * documents that are only noted as dead.  Forgets first which pages had no
 * bits.
 */
extern uint64 skx_segment_ndeleted(SkxSegment *seg);

/*
 * segment_dead.c : notes documents whose rows are dead to all snapshots, and
 * whose deleted bits VACUUM has not set yet.  Notes are in the cache only.
 */

/*
 * Notes that no snapshot sees the row of a document any more.  A caller whose
 * snapshot was taken during recovery must not call it.
 */
extern void skx_segment_remember_dead(const SkxSegment *seg, uint32 doc);

/*
 * Drops those of n ascending documents that are noted as dead, and returns
 * how many are left in docs.  All of them have their deleted bits on page
 * `page` of the deletes plane.  Notes made after the first call for seg may
 * be missed.
 */
extern int	skx_segment_drop_dead(SkxSegment *seg, uint32 page, uint32 *docs,
								  int n);

#endif							/* SKX_SEGMENT_H */
