/*
 * scroll.h
 *	  All rows that match, by their place in the table, page by page.
 */
#ifndef SKX_SCROLL_H
#define SKX_SCROLL_H

#include "answer/rows/rows.h"
#include "read/continuation/continuation.h"

typedef struct SkxScrollRequest
{
	SkxRequest	of;				/* which looks rows up, without recheck */
	SkxRowsSlice slice;
	uint64		from;			/* rows at or behind this place, a key */
	uint64		size;			/* so many rows */

	/* called for each: the place that its documents have, the row */
	void		(*row) (const ItemPointerData *place, TupleTableSlot *row,
						void *arg);
	void	   *arg;
} SkxScrollRequest;

/* scroll_rows.c : returns how many rows there were; fewer than asked for: all */
extern uint64 skx_scroll_rows(const SkxScrollRequest *request);

/*
 * scroll_token.c : where to go on
 *
 * enter tells the table that rows are of, the one of the index or a partition.
 * make is called with the place of a row, and gives a bytea.  read checks what
 * came from the user, whatever it is, against what make would have put there,
 * errors out if anything else is there, and tells the table and the key in it to
 * go on from.  from: the key for a table, which is 0 for one behind that of the
 * token; tables come by OID; false: none of its rows is left.
 * SkxScrollToken is to be zeroed, and begun once.
 */
typedef struct SkxScrollToken
{
	SkxTokenOrigin origin;
	int32		slice;
	int32		slices;
	uint32		table;			/* high byte first, as all that follows: */
	uint32		file;			/* of the table, */
	BlockNumber block;			/* and of the last row given: */
	uint32		offset;			/* tokens of a call ascend as these do */
	uint32		reserved;		/* 0 */
	uint32		crc;			/* of all that */
} SkxScrollToken;

typedef struct SkxScrollPlace
{
	Oid			table;			/* InvalidOid: the beginning */
	uint32		file;
	uint64		key;
} SkxScrollPlace;

extern void skx_scroll_token_begin(SkxScrollToken *token, Relation heap,
								   Relation index, TSQuery query,
								   const SkxRowsSlice *slice);
extern void skx_scroll_token_enter(SkxScrollToken *token, Relation table);
extern bytea *skx_scroll_token_make(SkxScrollToken *token,
									const ItemPointerData *place);
extern void skx_scroll_token_read(const SkxScrollToken *token,
								  const bytea *given, SkxScrollPlace *place);
extern bool skx_scroll_token_from(const SkxScrollPlace *place, Relation table,
								  uint64 *from);

#endif							/* SKX_SCROLL_H */
