/*
 * disk_postings.h
 *	  The postings plane: short lists, and block skip lists made of nodes.
 *
 * A short list (df below SKX_SUBBLOCK) is the bytes of skx_codec_short_put,
 * anywhere within a page.
 *
 * A longer list is a row of nodes.  A node is the part of the list inside one
 * block: node 0 starts anywhere (8-byte aligned) in a block, node i > 0 at the
 * start of the i-th block after that; a node ends with its block or with the
 * list; one whose page columns are all taken ends before its block does.  A
 * node has a portion, of one sub-block at least, on each page that it touches:
 * on its first page the node header (SkxDiskNode and its columns) precedes
 * the portion.
 *
 * Portion: SkxDiskPortion, then its columns, then sub-block bodies
 * (skx_codec_subblock_put), all on the same page.  Columns, each nsub long:
 *	  uint64 impacts, uint32 last document, uint16 body (page offset),
 *	  uint16 pos_page (plus the portion's), uint16 pos_offset, uint8 pos_index.
 * A sub-block's positions start at position pos_index of the position block
 * at (pos_page, pos_offset), where pages count from that of the list's first
 * position block, which its dictionary entry has; of a sub-block without
 * positions the three are meaningless.  Every sub-block has SKX_SUBBLOCK
 * postings but the last of a list.
 *
 * Node header columns, in this order:
 *	  uint64 page_impacts[page_slots]; uint64 forward_impacts[forward_slots];
 *	  uint64 table_impacts[table_slots];
 *	  uint32 page_last[page_slots]; uint32 forward_last[forward_slots];
 *	  uint32 table_last[table_slots]; uint16 page_nsub[page_slots]
 * page_* describe the node's own pages.  forward_*[i] describe node i + 1
 * nodes further on: its last document and its impacts; a destination that
 * does not exist has no entry (nforward).  table_* in node 0 describe every
 * node of the list when table_nodes > 0.
 *
 * forward_slots is SKX_NODE_LINEAR, or 0 in a node 0 that was expected to be
 * the only one of its list, and in others that are the last.  A list has no
 * table pages when the table in node 0 or the forward pointers of node 0
 * describe all of it; then every node's forward pointers reach to the end of
 * the list or as far as they can. Otherwise SKX_TERM_TABLE is set in its
 * dictionary entry and the same table stands on pages of its own right after
 * the list: SkxDiskNodeTable, then uint64 impacts[nnodes] and uint32
 * last[nnodes] of the page's nodes, SKX_NODE_TABLE_MAX to a page, page after
 * page of the plane.
 *
 * Nothing on these pages tells where they are in their plane, or which term of
 * the segment a list is that of: that is up to the dictionary alone.  So they
 * can be made before it is known what comes before them, as long as node 0
 * stays in its place within a block.  `check` stands for the term.
 */
#ifndef SKX_DISK_POSTINGS_H
#define SKX_DISK_POSTINGS_H

#include "format/disk/disk_page.h"

#define SKX_NODE_LINEAR		8	/* forward pointers of a node */
#define SKX_NODE_TABLE_SLOTS	64	/* most nodes a node-0 table describes */

typedef struct SkxDiskNode
{
	uint32		check;			/* of the lexeme (skx_disk_lexeme_check) */
	uint32		node;			/* number in the list */
	uint32		npostings;		/* of this node */
	uint32		base;			/* last document before it, SKX_NO_DOC: none */
	uint32		last;			/* last document in it */
	uint16		npages;			/* touched by the node */
	uint16		page_slots;		/* length of the page columns */
	uint8		nforward;		/* forward pointers in use */
	uint8		is_last;		/* 1 in the last node of the list */
	uint8		table_slots;	/* length of the table columns */
	uint8		table_nodes;	/* entries in use: 0, or all of the list's */
	uint8		forward_slots;	/* length of the forward columns */
	uint8		reserved1;
	uint16		reserved2;
	uint64		impacts;		/* of the whole node */
} SkxDiskNode;

StaticAssertDecl(sizeof(SkxDiskNode) == 40, "node header size");

#define SKX_NODE_HEADER_SIZE(page_slots, forward_slots, table_slots) \
	SKX_ALIGN(sizeof(SkxDiskNode) + (page_slots) * 14 + \
			  (forward_slots) * 12 + (table_slots) * 12)

typedef struct SkxDiskPortion
{
	uint32		check;			/* as in the node */
	uint32		base;			/* last document before the portion */
	uint32		pos_page;		/* added to the pos_page column */
	uint16		nsub;
	uint16		tail;			/* postings of its last sub-block */
} SkxDiskPortion;

StaticAssertDecl(sizeof(SkxDiskPortion) == 16, "portion size");

/* Column bytes of one sub-block. */
#define SKX_PORTION_COLUMNS	19

typedef struct SkxDiskNodeTable
{
	uint32		check;			/* as in the node */
	uint32		first_node;
	uint32		nnodes;			/* on this page */
	uint32		reserved;
} SkxDiskNodeTable;

StaticAssertDecl(sizeof(SkxDiskNodeTable) == 16, "node table size");

#define SKX_NODE_TABLE_MAX \
	((SKX_PAGE_CAPACITY - sizeof(SkxDiskNodeTable)) / 12)

/*
 * disk_page.c (pure): the CRC-32C of a lexeme.  It is defined outside of the
 * server, whatever the machine, and of up to four bytes no two are alike.
 */
extern uint32 skx_disk_lexeme_check(const char *lexeme, int len);

/*
 * Positions plane: position blocks (skx_codec_positions_put) of one list
 * after the other; a block lies within a page; the one that does not fit in
 * the rest of a page (pd_lower) opens the next page of the plane.  Any block
 * may be short (it tells its count), though few but the last of a list are.
 * Lists share pages, not blocks.
 */

#endif							/* SKX_DISK_POSTINGS_H */
