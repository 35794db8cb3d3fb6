/*
 * disk_dict.h
 *	  The dictionary of a segment: lexemes in memcmp order, front-coded, as a
 *	  tree of pages.
 *
 * A page is SkxDiskDictPage, then entries, then (2-byte aligned, at
 * `restarts`) nrestarts uint16 page offsets of the entries that share
 * nothing: entry 0, SKX_DICT_RESTART, 2 * SKX_DICT_RESTART, ...
 * Entry: varint bytes shared with the entry before (0 at a restart), varint
 * further bytes, those bytes, value.
 *
 * Value above the leaves: varint page ordinal of the child, whose lexemes are
 * all >= the key and below the next entry's; the first key of a level is
 * empty.  The keys of level 1 are the shortest that separate two leaves, or
 * any that separates them.
 *
 * Leaves have the page ordinals 0, 1, ... in the order of their lexemes; the
 * levels above follow, the root is the last page.  A segment without terms has
 * no dictionary pages.
 *
 * Leaves can be made before it is known what comes before them: pages of the
 * postings and positions planes are numbered in a leaf from those that stand
 * in its header, which are the ones that were being filled when its first
 * list began, and may be added to as may first_term.
 *
 * Value in a leaf (pages less the leaf's postings_page or positions_page):
 *	  varint df (>= 1); byte of SKX_TERM_* flags; varint total positions;
 *	  place SKX_TERM_INLINE: varint length, that many bytes of short list
 *	  place SKX_TERM_SHORT: varint postings page, varint page offset, varint
 *		  length of the short list there
 *	  place SKX_TERM_LONG: varint postings page, varint page offset of the
 *		  first node; varint number of nodes; 8 bytes of list maxima
 *		  (SkxImpacts, little-endian); for each k of SKX_KTHS that is <= df
 *		  two bytes, tf code and norm of the posting with the k-th best score
 *		  under the statistics of the build; with SKX_TERM_TABLE varint page
 *		  of the first node-table page
 *	  without SKX_TERM_OWN_POSITIONS, and total positions > 0: varint page,
 *		  varint page offset in the positions plane, where the list's first
 *		  position block starts
 */
#ifndef SKX_DISK_DICT_H
#define SKX_DISK_DICT_H

typedef struct SkxDiskDictPage
{
	uint16		nentries;
	uint16		level;			/* 0: leaf */
	uint16		nrestarts;
	uint16		restarts;		/* page offset of the restart array */
	/* in leaves, above these 0 */
	uint32		first_term;		/* ordinal of entry 0 in the segment */
	uint32		postings_page;	/* added to all pages of that plane ... */
	uint32		positions_page; /* ... and of that one */
} SkxDiskDictPage;

StaticAssertDecl(sizeof(SkxDiskDictPage) == 20, "dictionary page size");

#define SKX_DICT_RESTART	16

/* Of a long list the k-th best posting is known for these k, ascending. */
#define SKX_NKTHS			3
#define SKX_KTH_MAX			1000
#define SKX_KTHS			{10, 100, SKX_KTH_MAX}

/* A lexeme is at most this long (MAXSTRLEN of tsearch/ts_type.h). */
#define SKX_LEXEME_MAX		2047

#define SKX_TERM_PLACE		0x03	/* mask */
#define SKX_TERM_INLINE		0x00
#define SKX_TERM_SHORT		0x01
#define SKX_TERM_LONG		0x02
#define SKX_TERM_OWN_POSITIONS	0x04	/* the short list carries them */
#define SKX_TERM_LABELS		0x08	/* some position has a label other than D */
#define SKX_TERM_BARE		0x10	/* some posting has no positions */
#define SKX_TERM_TABLE		0x20	/* the node table has pages of its own */

/*
 * Short lists up to this df live in their dictionary entry, and so do those
 * without any position (of values), when they are no longer than so many bytes,
 * positions included.
 */
#define SKX_INLINE_DF		2
#define SKX_INLINE_BYTES	64
/* Short lists up to this many bytes carry their positions. */
#define SKX_OWN_POSITIONS_BYTES	1024

#endif							/* SKX_DISK_DICT_H */
