/*
 * scroll.h
 *	  All rows that match, by their place in the table, page by page.
 */
#ifndef SKX_SCROLL_SCROLL_H
#define SKX_SCROLL_SCROLL_H

#include "executor/tuptable.h"
#include "query/query.h"
#include "token/token.h"
#include "utils/snapshot.h"

/*
 * Blocks of the table that belong to one slice together: 2 MB.  Tokens and the
 * slices of other connections rely on it.
 */
#define SKX_SCROLL_CHUNK		256

typedef struct SkxScrollSlice
{
	int32		slice;			/* from 0 */
	int32		slices;			/* at least 1 */
} SkxScrollSlice;

typedef struct SkxScrollRequest
{
	Relation	index;
	Relation	heap;
	Snapshot	snapshot;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *query;
	SkxScrollSlice slice;
	uint64		from;			/* rows at or behind this place, a key */
	uint64		size;			/* so many rows */

	/* called for each: the place that its documents have, the row */
	void		(*row) (const ItemPointerData *place, TupleTableSlot *row,
						void *arg);
	void	   *arg;
} SkxScrollRequest;

/* Places as numbers that ascend with them. */
static inline uint64
skx_scroll_key(const ItemPointerData *place)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(place) << 16 |
		ItemPointerGetOffsetNumberNoCheck(place);
}

/* scroll_rows.c : returns how many rows there were; fewer than asked for: all */
extern uint64 skx_scroll_rows(const SkxScrollRequest *request);

/*
 * scroll_token.c : where to go on
 *
 * make is called with the place of a row, and gives a bytea.  read checks what
 * came from the user, whatever it is, against what make would have put there,
 * errors out if anything else is there, and returns the key to go on from.
 * SkxScrollToken is to be zeroed, and begun once.
 */
typedef struct SkxScrollToken
{
	SkxTokenOrigin origin;
	int32		slice;
	int32		slices;
	BlockNumber block;			/* of the last row given, high byte first: */
	uint32		offset;			/* tokens of a call ascend as places do */
	uint32		reserved;		/* 0 */
	uint32		crc;			/* of all that */
} SkxScrollToken;

extern void skx_scroll_token_begin(SkxScrollToken *token, Relation heap,
								   Relation index, TSQuery query,
								   const SkxScrollSlice *slice);
extern bytea *skx_scroll_token_make(SkxScrollToken *token,
									const ItemPointerData *place);
extern uint64 skx_scroll_token_read(const SkxScrollToken *token,
									const bytea *given);

#endif							/* SKX_SCROLL_SCROLL_H */
