/*
 * segment.h
 *	  Reading one immutable segment: dictionary, posting lists with their
 *	  positions, documents, deletes.
 */
#ifndef SKX_SEGMENT_SEGMENT_H
#define SKX_SEGMENT_SEGMENT_H

#include "blkio/blkio.h"
#include "compat/compat.h"
#include "format/format_segment.h"
#include "manifest/manifest.h"
#include "skiplist/skiplist.h"
#include "storage/bufmgr.h"
#include "storage/itemptr.h"

/* What a backend keeps of a segment from one use to the next. */
typedef struct SkxSegmentKept
{
	uint32	   *tid_directory;	/* first group of each data page, or NULL */
	uint64		reads;			/* skx_skiplist_reads after a search that had
								 * to read nothing */
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
	SkxSegmentKept *kept;
	uint64		reads;			/* skx_skiplist_reads when it was opened */
	uint32		tid_page;
	Buffer		deletes;		/* pinned page of the deletes plane */
	uint32		deletes_page;
	uint32		deletes_clean;	/* 1 + page last seen without bits, or 0 */
	int			ahead;			/* units that may be under way, 0: none */
	uint64		tid_reads;		/* for skx_skiplist_cold */
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
 * A search of the segment has ended.  Has nothing been read since one that had
 * to read nothing?  Then a few pages need not be asked for.
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

/* A dictionary entry, decoded (format_dict.h). */
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
typedef struct SkxLexeme
{
	const char *bytes;
	int			len;
} SkxLexeme;
extern void skx_segment_find_all(SkxSegment **segs, int nsegs,
								 const SkxLexeme *lexemes, int n,
								 SkxTerm **terms);

/*
 * Calls `visit` for each term that starts with the prefix (empty: all), in
 * lexeme order, until it returns false.  The callback must not look up terms
 * in the same segment.
 */
typedef bool (*SkxTermVisit) (const SkxTerm *term, const char *lexeme,
							  int len, void *arg);
extern void skx_segment_prefix(SkxSegment *seg, const char *prefix, int len,
							   SkxTermVisit visit, void *arg);

/*
 * segment_list.c : any posting list, short or long, as a forward cursor
 */
typedef struct SkxList
{
	SkxSegment *seg;
	SkxTerm		term;
	bool		keep;			/* for all lists of a segment in turn: pages
								 * stay pinned, and are read ahead */
	bool		whole;			/* with keep: each list to its end */
	bool		is_long;
	bool		done;
	SkxSkiplistCursor cursor;	/* long lists */
	SkxBlkRef	short_ref;		/* short lists, with keep */

	/* the decoded sub-block (a short list is one sub-block) */
	SkxPostings p;
	int			i;				/* current posting */
	uint32		last;			/* last document of the sub-block */
	bool		decoded;		/* documents are in p */
	bool		has_tf;
	bool		has_labels;
	uint16		tf_part;		/* where frequencies start in its body */

	/* short lists with positions of their own */
	uint8	   *own;			/* copy of the positions part */
	uint32		own_size;		/* bytes allocated there */
	const uint8 *own_end;
	const uint8 *own_src;		/* where those of posting own_i start */
	int			own_i;

	/* positions of long lists, and of short ones without their own */
	SkxBlkRef	pos_ref;
	uint32		pos_ahead;		/* with keep: pages before it were asked for */
	uint32		own_ahead;		/* ditto, units of the lists themselves */
	SkxPositionAddress pos_place;	/* of the sub-block */
	bool		pos_ready;		/* that is known, and the next two */
	int			pos_i;
	uint32		pos_first;		/* positions from pos_place on to posting
								 * pos_i */
	uint32		pos_from_page;	/* block that was read from */
	uint16		pos_from_offset;
	uint32		pos_page;
	uint16		pos_offset;		/* of the block after the decoded one */
	uint32		pos_start;		/* positions before the decoded block, from
								 * the one that was read from on */
	int			pos_n;			/* in the decoded block; 0: none decoded */
	uint32	   *pos_deltas;
	uint32		pos_asked;		/* pages before it were asked for or passed */
	uint32		pos_last;		/* of the places asked for last */
	int			pos_window;		/* pages wanted after it, 0: skipping */
} SkxList;

extern SkxList *skx_segment_list_open(SkxSegment *seg, const SkxTerm *term);
extern void skx_segment_list_close(SkxList *list);

/*
 * The same in a struct of the caller's, all zero at first (`keep` apart), for
 * one list of a segment after the other: begin makes use of the memory and
 * the pins that the list before left in it, end gives them up.
 */
extern void skx_segment_list_begin(SkxList *list, SkxSegment *seg,
								   const SkxTerm *term);
extern void skx_segment_list_end(SkxList *list);

/* decode: the documents of the sub-block that a long list's cursor is on. */
extern void skx_segment_list_decode(SkxList *list);
extern uint32 skx_segment_list_move(SkxList *list, uint32 target);

/*
 * Moves to the first document >= target at or after the current one and
 * returns it; SKX_NO_DOC past the end.
 */
static inline uint32
skx_segment_list_seek(SkxList *list, uint32 target)
{
	if (list->decoded && target <= list->last)
	{
		const uint32 *docs = list->p.docs;

		if (docs[list->i] < target)
			list->i = skx_skiplist_first_from(docs, list->i, list->p.n,
											  target);
		return docs[list->i];
	}
	return skx_segment_list_move(list, target);
}

/*
 * A lower bound of the next document >= target, exact or close enough for a
 * window; SKX_NO_DOC when the list is known to be done.
 */
extern uint32 skx_segment_list_bound(SkxList *list, uint32 target);

/* Sets bits of documents in [window, window + 64 * nwords). */
extern void skx_segment_list_fill(SkxList *list, uint32 window, uint64 *bits,
								  int nwords);

/* Decodes term frequencies, and labels, of the current sub-block. */
extern void skx_segment_list_tfs(SkxList *list);
extern void skx_segment_list_labels(SkxList *list);

/*
 * segment_positions_reader.c
 *
 * Positions of the current posting as WordEntryPos values, at most 256;
 * returns their number, 0 for a lexeme without positions.  Or in two steps:
 * where they are, of postings one after the other, and in the same order what
 * they are.  In between, ask has the pages of some places read: of [i, n);
 * returns the first place left out.
 */
#define SKX_POSITIONS_MAX	256
typedef struct SkxPositionPlace
{
	uint32		page;			/* of a position block */
	uint16		offset;
	uint16		tf;				/* how many there are */
	uint32		first;			/* which one from there on; of a list with
								 * positions of its own, which posting */
} SkxPositionPlace;

extern int	skx_segment_list_positions(SkxList *list, uint16 *positions);
extern void skx_segment_list_place(SkxList *list, SkxPositionPlace *place);
extern int	skx_segment_list_positions_at(SkxList *list,
										  const SkxPositionPlace *place,
										  uint16 *positions);
extern int	skx_segment_ask_positions(SkxList *list,
									  const SkxPositionPlace *places, int i,
									  int n);

/*
 * segment_ahead.c : asks for pages before they are pinned
 *
 * Where the list of a term starts; false: in its dictionary entry.
 */
extern bool skx_segment_term_page(const SkxTerm *term, uint32 *page);

/* Asks for pages in any order, if of `least` units; sorts them. */
extern void skx_segment_ask(SkxSegment *seg, SkxSegmentPlane plane,
							uint32 *pages, int n, int least);

/*
 * For who reads pages [at, end) in turn: has the next ones under way.  *asked
 * is zero at first.
 */
extern void skx_segment_ask_next(SkxSegment *seg, SkxSegmentPlane plane,
								 uint32 at, uint32 end, uint32 *asked);

/* segment_documents_reader.c; ask_tids: for the pages that tids_of reads */
extern void skx_segment_tids(SkxSegment *seg, uint32 first, int n,
							 ItemPointerData *tids);
extern void skx_segment_tids_of(SkxSegment *seg, const uint32 *docs, int n,
								ItemPointerData *tids);
extern void skx_segment_ask_tids(SkxSegment *seg, const uint32 *docs, int n);

/* Drops those whose tsvector is NULL; returns how many are left. */
extern int	skx_segment_drop_null(SkxSegment *seg, uint32 *docs, int n);
extern uint8 skx_segment_norm(SkxSegment *seg, uint32 doc);

/* segment_deletes.c : ascending documents; returns how many are live */
extern int	skx_segment_drop_deleted(SkxSegment *seg, uint32 *docs, int n);
extern uint64 skx_segment_ndeleted(SkxSegment *seg);

#endif							/* SKX_SEGMENT_SEGMENT_H */
