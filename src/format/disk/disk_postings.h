/*
 * disk_postings.h
 *	  The postings plane: short lists, and block skip lists made of nodes.
 *
 * A short list (df below SKX_SUBBLOCK) is the bytes of skx_codec_short_put,
 * anywhere within a page.
 *
 * A longer list is a sequence of nodes.  A node is the part of the list inside
 * one block.  Node 0 starts anywhere (8-byte aligned) in a block, node i > 0
 * at the start of the i-th block after that.  A node ends with its block or
 * with the list; one whose page columns are all taken ends before its block
 * does.  A node has a portion, of one sub-block at least, on each page that it
 * touches.  On its first page the node header (SkxDiskNode and its columns)
 * precedes the portion.
 *
 * A portion is SkxDiskPortion, then its columns, then sub-block bodies
 * (skx_codec_subblock_put), all on the same page.  Columns, each nsub long:
 *	  uint64 impacts, uint32 last document, uint16 body (page offset),
 *	  uint16 pos_page (plus the portion's), uint16 pos_offset, uint8 pos_index.
 * A sub-block's positions start at position pos_index of the position block at
 * (pos_page, pos_offset).  Pages count from the page of the list's first
 * position block, which the dictionary entry has.  The three columns are
 * meaningless in a sub-block without positions.  Every sub-block has
 * SKX_SUBBLOCK postings but the last of a list.
 *
 * Node header columns, in this order:
 *	  uint64 page_impacts[page_slots]; uint64 forward_impacts[forward_slots];
 *	  uint64 table_impacts[table_slots];
 *	  uint32 page_last[page_slots]; uint32 forward_last[forward_slots];
 *	  uint32 table_last[table_slots]; uint16 page_nsub[page_slots]
 * page_* describe the node's own pages.  forward_*[i] describe the node i + 1
 * nodes further on: its last document and its impacts.  A destination that
 * does not exist has no entry (nforward).  table_* in node 0 describe every
 * node of the list when table_nodes > 0.
 *
 * forward_slots is SKX_NODE_FORWARD_SLOTS.  It is 0 in a node 0 that was
 * expected to be the only one of its list, and in other nodes that are the
 * last.  A list has no table pages when the table in node 0 or the forward
 * pointers of node 0 describe all of it; then every node's forward pointers
 * reach to the end of the list or as far as they can.  Otherwise
 * SKX_TERM_TABLE_PAGES is set in its dictionary entry, and the same table
 * stands on pages of its own right after the list: SkxDiskNodeTable, then
 * uint64 impacts[nnodes] and uint32 last[nnodes] of the page's nodes,
 * SKX_NODE_TABLE_MAX to a page, page after page of the plane.
 *
 * Nothing on these pages tells where they are in their plane, or to which term
 * of the segment a list belongs: only the dictionary does.  So they can be
 * written before it is known what precedes them, as long as node 0 keeps its
 * page within a block.  `check` is a checksum of the term's lexeme.
 */
#ifndef SKX_DISK_POSTINGS_H
#define SKX_DISK_POSTINGS_H

#include "format/disk/disk_page.h"

#define SKX_NODE_FORWARD_SLOTS	8	/* most forward pointers of a node */
#define SKX_NODE_TABLE_SLOTS	64	/* most nodes in the table of node 0 */

/* Header of a node; its columns follow. */
typedef struct SkxDiskNode
{
	uint32		check;			/* skx_disk_lexeme_check() of the term's
								 * lexeme */
	uint32		node;			/* number in the list, from 0 */
	uint32		npostings;		/* of this node */
	uint32		base;			/* last document before the node; SKX_NO_DOC:
								 * none */
	uint32		last;			/* last document of the node */
	uint16		npages;			/* pages that the node touches */
	uint16		page_slots;		/* length of the page columns */
	uint8		nforward;		/* forward pointers in use */
	uint8		is_last;		/* 1 in the last node of the list */
	uint8		table_slots;	/* length of the table columns */
	uint8		table_nodes;	/* entries in use: 0, or all nodes of the list */
	uint8		forward_slots;	/* length of the forward columns */
	uint8		reserved1;
	uint16		reserved2;
	uint64		impacts;		/* of the whole node */
} SkxDiskNode;

StaticAssertDecl(sizeof(SkxDiskNode) == 40, "node header size");

/* Bytes of a node header with its columns. */
#define SKX_NODE_HEADER_SIZE(page_slots, forward_slots, table_slots) \
	SKX_ALIGN(sizeof(SkxDiskNode) + (page_slots) * 14 + \
			  (forward_slots) * 12 + (table_slots) * 12)

/* Header of a portion; its columns and sub-blocks follow. */
typedef struct SkxDiskPortion
{
	uint32		check;			/* as in the node */
	uint32		base;			/* last document before the portion */
	uint32		pos_page;		/* added to the pos_page column */
	uint16		nsub;			/* sub-blocks */
	uint16		tail;			/* postings of the last sub-block */
} SkxDiskPortion;

StaticAssertDecl(sizeof(SkxDiskPortion) == 16, "portion size");

/* Bytes of all columns for one sub-block. */
#define SKX_PORTION_COLUMNS	19

/* Header of a page of a node table; its columns follow. */
typedef struct SkxDiskNodeTable
{
	uint32		check;			/* as in the node */
	uint32		first_node;		/* number of the first node on this page */
	uint32		nnodes;			/* nodes on this page */
	uint32		reserved;
} SkxDiskNodeTable;

StaticAssertDecl(sizeof(SkxDiskNodeTable) == 16, "node table size");

/* Most nodes on a page of a node table. */
#define SKX_NODE_TABLE_MAX \
	((SKX_PAGE_CAPACITY - sizeof(SkxDiskNodeTable)) / 12)

/*
 * disk_page.c : returns the CRC-32C of a lexeme of len bytes, the same on
 * every machine.  Two different lexemes of the same length, up to four bytes,
 * have different checksums.
 */
extern uint32 skx_disk_lexeme_check(const char *lexeme, int len);

/*
 * Positions plane: position blocks (skx_codec_positions_put) of one list after
 * the other.  A block lies within a page.  A block that does not fit into the
 * rest of a page (pd_lower) starts the next page of the plane.  Any block may
 * be short, and has its count then, though few but the last of a list are.
 * Lists share pages, but not blocks.
 */

#endif							/* SKX_DISK_POSTINGS_H */
