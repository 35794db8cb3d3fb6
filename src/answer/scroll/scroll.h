/*
 * scroll.h
 *	  All rows that match, in the order of their tids, page by page.
 */
#ifndef SKX_SCROLL_H
#define SKX_SCROLL_H

#include "answer/rows/rows.h"
#include "read/continuation/continuation.h"

/* A request for one page of a scroll over one table. */
typedef struct SkxScrollRequest
{
	SkxRequest	rows_request;	/* with heap and snapshot; no recheck */
	SkxRowsSlice slice;
	uint64		from_key;		/* least key of the rows (skx_rows_tid_key()) */
	uint64		max_rows;		/* number of rows wanted */

	/* called for each row, with the tid that the index has of it */
	void		(*receive_row) (const ItemPointerData *place,
								TupleTableSlot *row, void *arg);
	void	   *arg;			/* passed to `receive_row` */
} SkxScrollRequest;

/* scroll_rows.c : fetches the rows of a page */

/*
 * Passes the first request->max_rows rows that match, and that the snapshot
 * sees, to request->receive_row.  Returns their number, which is less than
 * request->max_rows only if there are no more.
 */
extern uint64 skx_scroll_rows(const SkxScrollRequest *request);

/* scroll_token.c : tokens, which tell where a scroll continues */

/*
 * A token as the user gets it.  Numbers from `table` to `offset` have the
 * high byte first, so that the tokens of a call ascend as its rows do.
 */
typedef struct SkxScrollToken
{
	SkxTokenOrigin origin;
	int32		slice;
	int32		slices;
	uint32		table;			/* OID of the table of the row */
	uint32		file;			/* file number of that table */
	BlockNumber block;			/* tid of the row, */
	uint32		offset;			/* which the scroll continues after */
	uint32		reserved;		/* 0 */
	uint32		crc;			/* of all members before it */
} SkxScrollToken;

/* The place at which a scroll continues, as read from a token. */
typedef struct SkxScrollStart
{
	Oid			table;			/* InvalidOid: the beginning */
	uint32		file;			/* file number of the table */
	uint64		key;			/* least key of the rows still to come */
} SkxScrollStart;

/*
 * Initializes the token of a call from its tables, query and slice.  heap and
 * index are those that the user named, which may be partitioned.
 */
extern void skx_scroll_token_begin(SkxScrollToken *token, Relation heap,
								   Relation index, TSQuery query,
								   const SkxRowsSlice *slice);

/*
 * Sets the table whose rows the following tokens stand for: the table of the
 * index, or a partition of it.
 */
extern void skx_scroll_token_set_table(SkxScrollToken *token, Relation table);

/* Returns a new token, which continues after the row with this tid. */
extern bytea *skx_scroll_token_make(SkxScrollToken *token,
									const ItemPointerData *place);

/*
 * Reads a token that came from the user, which may have any content.  Errors
 * out (skx_continuation_refuse(), skx_continuation_check()) unless it is
 * intact and of the same call as `token`.  Sets *place.
 */
extern void skx_scroll_token_read(const SkxScrollToken *token,
								  const bytea *given, SkxScrollStart *place);

/*
 * Sets *from to the key at which the scroll continues in a table.  Tables are
 * scrolled in the order of their OIDs.  Returns false if the table comes
 * before that of *place, so that none of its rows is left; sets *from to 0 if
 * it comes after that.  Errors out if the table of *place has been rewritten
 * since.
 */
extern bool skx_scroll_token_start_key(const SkxScrollStart *place,
									   Relation table, uint64 *from);

#endif							/* SKX_SCROLL_H */
