/*
 * inspect_internal.h
 *	  Declarations that the files of skipidx_check() share.
 *
 * The checker reads every page itself, one at a time into memory of its own,
 * and takes nothing that it reads for granted.  It uses the readers of
 * segment/ only to compare their results with its own.  All checks raise an
 * error (skx_damage_report()) for the first damage that they find.
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

/* A copy of one page of the file. */
typedef struct SkxCheckPage
{
	BlockNumber block;
	char	   *data;			/* BLCKSZ, aligned */
	char	   *memory;			/* the allocation that has `data` */
} SkxCheckPage;

/* The check of an index, as it was at one moment. */
typedef struct SkxCheck
{
	Relation	index;
	Relation	heap;
	struct SkxColumns *columns; /* other than the tsvector */
	bool		want_entries;	/* compute fingerprints of all documents, to
								 * compare them with the table */
	SkxView    *view;			/* its `meta` is that of the moment */
	SkxDiskStripe *stripes;		/* copies of the stripe pages of the view */
	BlockNumber file_pages;		/* length of the file */
	SkxBlkFile *file;
	SkxCheckSegment **segments;
	struct SkxCheckOwners *owners;	/* of all pages below meta.nblocks */
	HTAB	   *pending;		/* SkxCheckEntry: live pending documents */
	SkxCheckPage page;			/* scratch page, used within one function */
	MemoryContext scratch;		/* reset after each long list */
} SkxCheck;

/* A live pending document. */
typedef struct SkxCheckEntry
{
	ItemPointerData tid;		/* key */
	uint64		fingerprint;	/* 0 unless want_entries */
} SkxCheckEntry;

/* Reads pages of a plane of a segment, and keeps the one read last. */
typedef struct SkxCheckReader
{
	SkxCheck   *check;
	const SkxSegment *seg;
	SkxSegmentPlane plane;
	uint32		ordinal;		/* of the page, in the plane */
	bool		valid;			/* `page` is that page */
	int			run;			/* run of the plane where the next page is
								 * looked for first */
	uint32		lower;			/* pd_lower: where its content ends */
	SkxCheckPage page;
} SkxCheckReader;

/* Reads the positions plane of a segment from beginning to end. */
typedef struct SkxCheckPositions
{
	SkxCheckReader reader;
	uint32		next_page;		/* page where the next block starts */
	uint32		next_offset;	/* and its offset there */
	SkxPositionAddress block;	/* of the decoded block; index is not used */
	int			n;				/* number of positions in it */
	int			i;				/* number of these that were taken */
	uint32		deltas[SKX_SUBBLOCK];	/* of these positions */
} SkxCheckPositions;

/* A segment under check. */
struct SkxCheckSegment
{
	SkxCheck   *check;
	SkxSegment *seg;
	uint32		ndocs;
	uint32		ngroups;
	ItemPointerData *groups;	/* first TID of each group */
	uint64	   *deleted;		/* one deleted bit per document */
	uint8	   *norms;			/* freed after the check of the lists */
	uint32	   *lengths;		/* summed up from postings; likewise */
	uint64	   *fingerprints;	/* NULL unless want_entries */

	/*
	 * Columns with keys.  key_sums has for each the sum of the hashes of its
	 * keys, less those of its values in the dictionary.
	 */
	SkxKeyColumns keys;
	uint64	   *key_sums;

	/* the group of TIDs read last (inspect_check_unique.c) */
	uint32		group;			/* its number plus one; 0: none */
	int			ntids;
	ItemPointerData tids[SKX_TID_GROUP_DOCS];

	/* of a check of prefixes, else NULL */
	SkxSegment *lexemes_of;		/* segment of their lexemes */
	uint16	   *prefix_tfs;		/* sums of the prefix's lexemes by document */

	/* state of the pass over the dictionary */
	SkxCheckReader postings;
	SkxCheckPositions positions;
	uint32		post_page;		/* page where the next list may start */
	uint32		post_offset;	/* and its offset there */
	uint32		post_lower;		/* where the content of that page ends */
	uint32		nterms;			/* so far, as are those below */
	uint32		nnull_term;		/* documents in the list of the term of texts
								 * that are NULL */
	uint64		npostings;
	uint64		npositions;
};

/* inspect_check_pages.c : pages of the file */

/* Allocates memory for a page, in the current memory context. */
extern void skx_inspect_page_alloc(SkxCheckPage *page);

/*
 * Reads a page of the file, from shared buffers if it is there, else from
 * disk.  Returns false if the server's own check refuses the page; one from
 * shared buffers is not checked again.  Raises an error if the file ends
 * before that block.
 */
extern bool skx_inspect_page_read(SkxCheck *check, BlockNumber block,
								  SkxCheckPage *page);

/*
 * Raises an error if the server does not find the page sound.  Overwrites
 * check->page.
 */
extern void skx_inspect_check_checksum(SkxCheck *check, BlockNumber block);

/* Copies a page by way of shared buffers to `data`, of BLCKSZ bytes. */
extern void skx_inspect_page_copy(SkxCheck *check, BlockNumber block,
								  char *data);

/*
 * Every page of the file must be zero or a whole page of this index, whatever
 * owns it.  Returns what is wrong with a page; NULL if nothing is.
 */
extern const char *skx_inspect_page_is_foreign(const SkxCheck *check,
											   const char *page);

/*
 * Reads a page into check->page and returns what is wrong with it, as
 * skx_inspect_page_is_foreign() does or by the server's own check; NULL if
 * nothing is.  Reads it again a few times, since a write under way can tear
 * it.
 */
extern const char *skx_inspect_page_problem(SkxCheck *check,
											BlockNumber block);

/*
 * Begins to read a plane of a segment.  The memory for a page comes from the
 * current memory context.
 */
extern void skx_inspect_reader_init(SkxCheckReader *r, SkxCheck *check,
									const SkxSegment *seg,
									SkxSegmentPlane plane);

/*
 * Returns a page of the plane, valid until the next call.  Raises an error if
 * the plane has no such page, or if the page is damaged or is not that page.
 * A page of the deletes plane may be zero.
 */
extern const char *skx_inspect_reader_page(SkxCheckReader *r, uint32 ordinal);

/* Frees the memory of a reader. */
extern void skx_inspect_reader_free(SkxCheckReader *r);

/*
 * Checks the pages of the header of segment number `which` of the view, and
 * opens the segment.  The caller closes it with skx_segment_close().
 */
extern SkxSegment *skx_inspect_check_header(SkxCheck *check, int which);

/* Checks every page of all planes of a segment, each by itself. */
extern void skx_inspect_check_pages(SkxCheckSegment *cs);

/* Reports damage in the page that a reader holds. */
#define skx_inspect_damaged(r, ...) \
	skx_damage_report_detail((r)->check->index, (r)->page.block, __VA_ARGS__)

/* inspect_check_view.c */

/*
 * Checks metapage, root and stripes, and sets view, stripes and file_pages
 * of the check as of one moment.  Waits as long as other processes change
 * the root meanwhile.
 */
extern void skx_inspect_check_view(SkxCheck *check);

/* inspect_check_extents.c */

/*
 * Checks that every page of the file has exactly one owner, and sets
 * check->owners.  Warns of pages that are not sound and that nothing refers
 * to.
 */
extern void skx_inspect_check_extents(SkxCheck *check);

/* Returns the number of the stripe that a page belongs to; -1 for none. */
extern int	skx_inspect_page_owner(const SkxCheck *check, BlockNumber block);

/* inspect_check_documents.c */

/*
 * Checks TIDs, norms and deleted bits of a segment.  Sets ngroups, groups,
 * norms and deleted, allocated in the current memory context.
 */
extern void skx_inspect_check_documents(SkxCheckSegment *cs);

/*
 * Checks the norms, and the totals of the segment, against the lengths that
 * the postings add up to.  Must be called after skx_inspect_check_dict().
 */
extern void skx_inspect_check_lengths(SkxCheckSegment *cs);

/* inspect_check_keys.c : the keys of columns */

/*
 * Checks the keys plane of a segment and sets keys and key_sums.  Must be
 * called before skx_inspect_check_dict().
 */
extern void skx_inspect_check_keys(SkxCheckSegment *cs);

/*
 * Accounts for a document in the posting list of a value, whose key is `key`.
 * `column` is the number of the column among those with keys.
 */
extern void skx_inspect_add_key(SkxCheckSegment *cs, int column,
								uint32 doc, const SkxKey *key);

/*
 * Checks that each document has the same keys in the keys plane as in the
 * posting lists of values.  Must be called after skx_inspect_check_dict().
 */
extern void skx_inspect_check_key_sums(SkxCheckSegment *cs);

/* inspect_check_dict.c */

/* Checks the dictionary of a segment, and every posting list in it. */
extern void skx_inspect_check_dict(SkxCheckSegment *cs);

/* inspect_check_list.c : posting lists */

/* A posting list under check, with the sums of its postings so far. */
typedef struct SkxCheckList
{
	SkxCheckSegment *cs;
	const SkxTerm *term;
	BlockNumber block;			/* that damage is reported in */
	uint64		hash;			/* of the lexeme */
	bool		is_value;		/* of a column other than the tsvector */
	int			key_column;		/* number of that column among those with
								 * keys, or -1 */
	SkxKey		key;			/* of the value, if key_column is not -1 */
	bool		is_null_term;	/* the term of texts that are NULL */
	uint32		last;			/* last document; SKX_NO_DOC: none yet */
	uint64		npostings;
	uint64		npositions;
	uint8		flags;			/* SKX_TERM_LABELS, SKX_TERM_NO_POSITIONS */
	bool		kth[SKX_NKTH_BEST]; /* a posting has the impacts that the term
									 * gives for that k */
} SkxCheckList;

/*
 * Checks the posting list of a term.  `block` is that of the term's entry in
 * the dictionary.  Lists must be checked in the order of their terms.
 */
extern void skx_inspect_check_list(SkxCheckSegment *cs, const SkxTerm *term,
								   const char *lexeme, int len,
								   BlockNumber block);

/*
 * Checks the postings of a sub-block and adds them to the sums.  Their
 * positions are the bytes from `own` to `own_end`, or, if own is NULL, the
 * next ones of the positions plane.  Returns where they end; NULL if own is
 * NULL.
 */
extern const uint8 *skx_inspect_postings(SkxCheckList *l,
										 const SkxPostings *p,
										 const uint8 *own,
										 const uint8 *own_end);

/*
 * Checks that a list, node or portion may begin at `offset` of a page of the
 * postings plane.  It must be where the one before it ended, rounded up to
 * `align`, or at the start of a later page.  Returns the page; the caller
 * sets post_offset to where the new one ends.
 */
extern const char *skx_inspect_check_address(SkxCheckSegment *cs, uint32 page,
											 uint32 offset, uint32 align);

/* Checks that the postings plane has nothing after the last list. */
extern void skx_inspect_end_postings_plane(SkxCheckSegment *cs);

/* Reports damage in a list. */
#define skx_inspect_list_damaged(l, ...) \
	skx_damage_report_detail((l)->cs->check->index, (l)->block, __VA_ARGS__)

/* inspect_check_prefixes.c : the lists of prefixes */

/* Adds up the frequencies of the lexemes of a prefix. */
extern void skx_inspect_prefix_begin(SkxCheckSegment *cs, const char *prefix,
									 int len);

/* Checks postings of its list against them. */
extern void skx_inspect_prefix_postings(SkxCheckList *l,
										const SkxPostings *p);

/* Checks that the list had all documents of the lexemes. */
extern void skx_inspect_prefix_end(SkxCheckList *l);

/* inspect_check_nodes.c */

/* Checks the nodes of a long posting list, and its postings. */
extern void skx_inspect_check_nodes(SkxCheckList *l);

/* inspect_check_positions.c : the positions plane, read once in order */

/* Begins at the start of the positions plane of a segment. */
extern void skx_inspect_positions_init(SkxCheckPositions *pos,
									   SkxCheckSegment *cs);

/* Sets *address to where the next position lies. */
extern void skx_inspect_positions_at(SkxCheckPositions *pos,
									 SkxPositionAddress *address);

/*
 * Reads the next n positions, those of one posting, into `positions` as
 * WordEntryPos.  Raises an error unless they ascend.
 */
extern void skx_inspect_positions_read(SkxCheckPositions *pos, int n,
									   uint16 *positions);

/* Checks that the current block ends with the list that was read. */
extern void skx_inspect_positions_list_end(SkxCheckPositions *pos);

/* Checks that the plane has no positions after those of the last list. */
extern void skx_inspect_positions_end(SkxCheckPositions *pos);

/*
 * inspect_check_hash.c : fingerprints of documents
 *
 * The fingerprint of a document is the sum of a hash of each of its lexemes,
 * so it can be added up in any order.
 */

/* Returns the hash of a lexeme without its positions. */
extern uint64 skx_inspect_hash_lexeme(const char *lexeme, int len);

/*
 * Returns what a lexeme adds to the fingerprint of a document that has it at
 * n positions.
 */
extern uint64 skx_inspect_hash_positions(uint64 lexeme_hash,
										 const uint16 *positions, int n);

/* Returns the fingerprint of a document. */
extern uint64 skx_inspect_hash_vector(TSVector value);

/* inspect_check_pending.c */

/* Checks the pending lists of all stripes and sets check->pending. */
extern void skx_inspect_check_pending(SkxCheck *check);

/* inspect_check_unique.c : no row is live in two places */

/*
 * Checks that no row is a live document twice, in segments or pending lists.
 * A row that is pending twice is found by skx_inspect_check_pending().
 */
extern void skx_inspect_check_unique(SkxCheck *check);

/*
 * Returns the number of a row's document in a segment, if it is not deleted;
 * else SKX_NO_DOC.  Sets *deleted to true if the row has a deleted document
 * there, and else leaves it as it is; `deleted` may be NULL.
 */
extern uint32 skx_inspect_find_live(SkxCheckSegment *cs, ItemPointer tid,
									bool *deleted);

/* inspect_check_heap.c */

/*
 * Checks that every row of the table that the snapshot sees is in the index,
 * as the same document.  Needs want_entries.
 */
extern void skx_inspect_check_heap(SkxCheck *check, Snapshot snapshot);

#endif							/* SKX_INSPECT_INTERNAL_H */
