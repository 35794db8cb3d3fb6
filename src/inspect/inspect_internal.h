/*
 * inspect_internal.h
 *	  What the files of skipidx_check() share.
 *
 * The checker reads every page itself, one at a time into memory of its own,
 * and takes nothing that it reads for granted.  The readers of segment/ are
 * used only to compare what they say.
 */
#ifndef SKX_INSPECT_INTERNAL_H
#define SKX_INSPECT_INTERNAL_H

#include "support/damage/damage.h"
#include "format/disk/disk_dict.h"
#include "format/disk/disk_page.h"
#include "index/column/column_key.h"
#include "index/pending/pending.h"
#include "index/segment/segment.h"
#include "utils/hsearch.h"

typedef struct SkxCheckSegment SkxCheckSegment;

/* One page of the file, somewhere in the check. */
typedef struct SkxCheckPage
{
	BlockNumber block;
	char	   *data;			/* BLCKSZ, aligned */
	char	   *memory;			/* what was allocated */
} SkxCheckPage;

/* The index as it was at one moment. */
typedef struct SkxCheck
{
	Relation	index;
	Relation	heap;
	struct SkxColumns *columns; /* beside the text */
	bool		want_entries;	/* fingerprints of all documents */
	SkxView    *view;			/* meta is that of the moment */
	SkxDiskStripe *stripes;		/* as many as in the view */
	BlockNumber file_pages;		/* length of the file */
	SkxBlkFile *file;
	SkxCheckSegment **segments;
	struct SkxOwners *owners;	/* of all pages below meta.nblocks */
	HTAB	   *pending;		/* SkxCheckEntry, live ones */
	SkxCheckPage page;			/* scratch page, used within one function */
	MemoryContext scratch;		/* reset per term and per document */
} SkxCheck;

/* A live pending document. */
typedef struct SkxCheckEntry
{
	ItemPointerData tid;		/* key */
	uint64		fingerprint;	/* want_entries */
} SkxCheckEntry;

/* The page of a plane that was read last. */
typedef struct SkxCheckReader
{
	SkxCheck   *check;
	const SkxSegment *seg;
	SkxSegmentPlane plane;
	uint32		ordinal;
	bool		valid;
	int			run;			/* of the plane, that the page lies in */
	uint32		lower;			/* pd_lower: where its content ends */
	SkxCheckPage page;
} SkxCheckReader;

/* Goes through the positions plane, list after list. */
typedef struct SkxCheckPositions
{
	SkxCheckReader reader;
	uint32		next_page;		/* where the block after this one starts */
	uint32		next_offset;
	SkxPositionAddress block;	/* the decoded block; index not used */
	int			n;				/* positions in it */
	int			i;				/* of them, taken */
	uint32		deltas[SKX_SUBBLOCK];
} SkxCheckPositions;

/* A segment under check. */
struct SkxCheckSegment
{
	SkxCheck   *check;
	SkxSegment *seg;
	uint32		ndocs;
	uint32		ngroups;
	ItemPointerData *groups;	/* first TID of each group */
	uint8	   *deleted;		/* one bit a document */
	uint8	   *norms;			/* freed after the lists */
	uint32	   *lengths;		/* from postings; freed after the lists */
	uint64	   *fingerprints;	/* NULL unless wanted */

	/*
	 * columns with keys, and the sums of hashes of all of theirs, less those
	 * of the values in the dictionary
	 */
	SkxKeyColumns keys;
	uint64	   *key_sums;

	/* the group of TIDs looked at last (inspect_check_unique.c) */
	uint32		group;			/* its number plus one; 0: none */
	int			ntids;
	ItemPointerData tids[SKX_TID_GROUP];

	/* going through the dictionary */
	SkxCheckReader postings;
	SkxCheckPositions positions;
	uint32		post_page;		/* where the next list may start */
	uint32		post_offset;
	uint32		post_lower;		/* where that page's content ends */
	uint32		nterms;
	uint32		nmarked;		/* documents by the term of texts that are
								 * NULL */
	uint64		npostings;
	uint64		npositions;
};

/*
 * inspect_check_pages.c
 *
 * page_read gets a page of the file, from shared buffers if it is there, else
 * from disk, and returns whether the server finds it sound; page_sound reports
 * it if not.  reader_page gets a page of a segment, valid until the next call,
 * and reports whatever is wrong with it.  All live in the memory context that
 * they are made in.
 */
extern void skx_inspect_page_alloc(SkxCheckPage *page);
extern bool skx_inspect_page_read(SkxCheck *check, BlockNumber block,
								  SkxCheckPage *page);
extern void skx_inspect_page_sound(SkxCheck *check, BlockNumber block);
extern void skx_inspect_page_copy(SkxCheck *check, BlockNumber block,
								  char *data);

/*
 * What every page must be, whatever owns it: zero, or a whole page of this
 * index.  strange says what is wrong, NULL if nothing; whole reads the page
 * first.
 */
extern const char *skx_inspect_page_strange(const SkxCheck *check,
											const char *page);
extern const char *skx_inspect_page_whole(SkxCheck *check, BlockNumber block);
extern void skx_inspect_reader_init(SkxCheckReader *r, SkxCheck *check,
									const SkxSegment *seg,
									SkxSegmentPlane plane);
extern const char *skx_inspect_reader_page(SkxCheckReader *r, uint32 ordinal);
extern void skx_inspect_reader_free(SkxCheckReader *r);

/* All pages of a segment: those of its header, and opens it; the others. */
extern SkxSegment *skx_inspect_check_header(SkxCheck *check, int which);
extern void skx_inspect_check_pages(SkxCheckSegment *cs);

/* Reports damage in the page that a reader holds. */
#define skx_inspect_damaged(r, ...) \
	skx_damage_report_detail((r)->check->index, (r)->page.block, __VA_ARGS__)

/* inspect_check_view.c: fills view and stripes */
extern void skx_inspect_check_view(SkxCheck *check);

/* inspect_check_extents.c */
extern void skx_inspect_check_extents(SkxCheck *check);

/* Number of the stripe that a page belongs to, -1: none. */
extern int	skx_inspect_owner(const SkxCheck *check, BlockNumber block);

/* inspect_check_documents.c: fills groups, deleted and norms */
extern void skx_inspect_check_documents(SkxCheckSegment *cs);
extern void skx_inspect_check_lengths(SkxCheckSegment *cs);

/*
 * inspect_check_keys.c : the keys plane, before the dictionary; then, that
 * values of posting lists (`column` is number among those with keys) and keys
 * are the same
 */
extern void skx_inspect_check_keys(SkxCheckSegment *cs);
extern void skx_inspect_account_key(SkxCheckSegment *cs, int column,
									uint32 doc, const SkxKey *key);
extern void skx_inspect_check_key_sums(SkxCheckSegment *cs);

/* inspect_check_dict.c: the dictionary, and every list in it */
extern void skx_inspect_check_dict(SkxCheckSegment *cs);

/*
 * inspect_check_list.c
 *
 * A list under check: what its postings so far add up to.
 */
typedef struct SkxCheckList
{
	SkxCheckSegment *cs;
	const SkxTerm *term;
	BlockNumber block;			/* where damage is, if there is some */
	uint64		hash;			/* of the lexeme */
	bool		is_value;		/* of a column beside the text */
	int			key_column;		/* number among those with keys, or -1 */
	SkxKey		key;
	bool		marks_null;		/* texts that are NULL */
	uint32		last;			/* last document */
	uint64		npostings;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_LABELS, SKX_TERM_BARE */
	bool		kth[SKX_NKTHS]; /* a posting with those impacts was seen */
} SkxCheckList;

extern void skx_inspect_check_list(SkxCheckSegment *cs, const SkxTerm *term,
								   const char *lexeme, int len,
								   BlockNumber block);

/*
 * Takes the postings of a sub-block into account.  With `own`, positions come
 * from there, and where they end is returned; else from the positions plane.
 */
extern const uint8 *skx_inspect_postings(SkxCheckList *l,
										 const SkxPostings *p,
										 const uint8 *own,
										 const uint8 *own_end);

/*
 * Something begins at `offset` of a postings page: it must be where what came
 * before it ended, give or take `align`, or at the start of a later page.
 * Returns the page; the caller sets post_offset to where the thing ends.
 */
extern const char *skx_inspect_place(SkxCheckSegment *cs, uint32 page,
									 uint32 offset, uint32 align);
extern void skx_inspect_place_end(SkxCheckSegment *cs);

/* Reports damage in a list. */
#define skx_inspect_list_damaged(l, ...) \
	skx_damage_report_detail((l)->cs->check->index, (l)->block, __VA_ARGS__)

/* inspect_check_nodes.c: long lists */
extern void skx_inspect_check_nodes(SkxCheckList *l);

/* inspect_check_positions.c */
extern void skx_inspect_positions_init(SkxCheckPositions *pos,
									   SkxCheckSegment *cs);
extern void skx_inspect_positions_at(SkxCheckPositions *pos,
									 SkxPositionAddress *address);
extern void skx_inspect_positions_take(SkxCheckPositions *pos, int n,
									   uint16 *positions);
extern void skx_inspect_positions_list_end(SkxCheckPositions *pos);
extern void skx_inspect_positions_end(SkxCheckPositions *pos);

/*
 * inspect_check_hash.c: fingerprints
 *
 * That of a document is the sum over its lexemes, so that it can be added up
 * in any order.
 */
extern uint64 skx_inspect_hash_lexeme(const char *lexeme, int len);
extern uint64 skx_inspect_hash_positions(uint64 lexeme_hash,
										 const uint16 *positions, int n);
extern uint64 skx_inspect_hash_vector(TSVector value);

/* inspect_check_pending.c: fills check->pending */
extern void skx_inspect_check_pending(SkxCheck *check);

/*
 * inspect_check_unique.c
 *
 * find_live looks for a row among the documents of a segment that are not
 * deleted; SKX_NO_DOC: not there.  With `deleted`, says whether a deleted one
 * was.
 */
extern void skx_inspect_check_unique(SkxCheck *check);
extern uint32 skx_inspect_find_live(SkxCheckSegment *cs, ItemPointer tid,
									bool *deleted);

/* inspect_check_heap.c */
extern void skx_inspect_check_heap(SkxCheck *check, Snapshot snapshot);

#endif							/* SKX_INSPECT_INTERNAL_H */
