/*
 * disk_dict.h
 *	  The dictionary of a segment: lexemes in memcmp order, front-coded, as a
 *	  tree of pages.
 *
 * A page is SkxDiskDictPage, then entries, then (2-byte aligned, at
 * `restarts`) nrestarts uint16 page offsets of the entries that share nothing:
 * entry 0, SKX_DICT_RESTART_ENTRIES, 2 * SKX_DICT_RESTART_ENTRIES, ...  An
 * entry is: varint number of bytes shared with the entry before (0 at a
 * restart), varint number of further bytes, those bytes, value.
 *
 * The value of an entry above the leaves is the varint page ordinal of the
 * child, whose lexemes are all >= the key and below the next entry's.  The
 * first key of a level is empty.  The keys of level 1 are the shortest that
 * separate two leaves, or any that separates them.
 *
 * Leaves have the page ordinals 0, 1, ... in the order of their lexemes.  The
 * levels above follow, and the root is the last page.  A segment without terms
 * has no dictionary pages.
 *
 * A leaf can be written before it is known what precedes it.  Its entries
 * count pages of the postings and positions planes from postings_page and
 * positions_page of its header: the pages that were being filled when its
 * first list began.  These two fields and first_term may be added to later.
 *
 * Value in a leaf (pages less the leaf's postings_page or positions_page):
 *	  varint df (>= 1); byte of SKX_TERM_* flags; varint total positions;
 *	  place SKX_TERM_INLINE: varint length, that many bytes of short list
 *	  place SKX_TERM_SHORT: varint postings page, varint page offset, varint
 *		  length of the short list there
 *	  place SKX_TERM_LONG: varint postings page, varint page offset of the
 *		  first node; varint number of nodes; 8 bytes of list maxima
 *		  (SkxImpacts,
		   little-endian); for each k of SKX_KTH_BEST_RANKS that is <= df
 *		  two bytes, tf code and norm of the posting with the k-th best score
 *		  under the statistics of the build; with SKX_TERM_TABLE_PAGES varint page
 *		  of the first node-table page
 *	  without SKX_TERM_OWN_POSITIONS, and total positions > 0: varint page,
 *		  varint page offset in the positions plane, where the list's first
 *		  position block starts
 */
#ifndef SKX_DISK_DICT_H
#define SKX_DISK_DICT_H

/* Header of a dictionary page. */
typedef struct SkxDiskDictPage
{
	uint16		nentries;
	uint16		level;			/* levels below it; 0: leaf */
	uint16		nrestarts;		/* entries of the restart array */
	uint16		restarts;		/* page offset of the restart array */
	/* the following three are 0 above the leaves */
	uint32		first_term;		/* ordinal of entry 0 in the segment */
	uint32		postings_page;	/* added to every postings page of the leaf */
	uint32		positions_page; /* added to every positions page of it */
} SkxDiskDictPage;

StaticAssertDecl(sizeof(SkxDiskDictPage) == 20, "dictionary page size");

/* Number of entries from one restart to the next. */
#define SKX_DICT_RESTART_ENTRIES	16

/*
 * The entry of a long list has its k-th best posting for these k, ascending.
 */
#define SKX_NKTH_BEST			3
#define SKX_KTH_BEST_MAX			1000
#define SKX_KTH_BEST_RANKS			{10, 100, SKX_KTH_BEST_MAX}

/* Most bytes of a lexeme (MAXSTRLEN of tsearch/ts_type.h). */
#define SKX_LEXEME_MAX		2047

/*
 * Flags of a leaf's entry.  The bits of the mask SKX_TERM_FORM_MASK tell where
 * the list is: in the entry, a short list in the postings plane, or a list of
 * nodes.
 */
#define SKX_TERM_FORM_MASK		0x03	/* mask of the next three */
#define SKX_TERM_INLINE		0x00
#define SKX_TERM_SHORT		0x01
#define SKX_TERM_LONG		0x02
#define SKX_TERM_OWN_POSITIONS	0x04	/* the short list has its positions
										 * inline */
#define SKX_TERM_LABELS		0x08	/* some position has a label other than D */
#define SKX_TERM_NO_POSITIONS		0x10	/* some posting has no positions */
#define SKX_TERM_TABLE_PAGES		0x20	/* the node table has pages of its
											 * own */

/*
 * A short list is stored in its dictionary entry if its df is at most
 * SKX_INLINE_DF, or if it has no positions at all, as those of column values.
 * Its bytes, positions included, are at most SKX_INLINE_BYTES.
 */
#define SKX_INLINE_DF		2
#define SKX_INLINE_BYTES	64
/* Most bytes of a short list that has its positions inline. */
#define SKX_OWN_POSITIONS_BYTES	1024

#endif							/* SKX_DISK_DICT_H */
