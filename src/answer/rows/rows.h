/*
 * rows.h
 *	  Collectors of rows that match: one that holds them a batch at a time, in no
 *	  order, and one that finds the first of them by their places.
 */
#ifndef SKX_ROWS_H
#define SKX_ROWS_H

#include "answer/exec/exec.h"

typedef struct SkxRows
{
	SkxCollector collector;		/* first */
	int			n;				/* rows of the batch */
	ItemPointerData *tids;		/* their places in the table */
	const SkxSegment *segment;	/* the one that they are of; NULL: pending */
	const uint32 *docs;			/* their documents in that segment */
	SkxSourcePlace *pending;	/* those of pending rows; NULL: no batch had
								 * any yet */
} SkxRows;

/* A collector, in the current memory context; wants_all: see SkxCollector. */
extern SkxRows *skx_rows_make(bool wants_all);

/*
 * Puts the next batch in the place of the last one, whose documents are gone
 * then; false: there are no more rows.
 */
extern bool skx_rows_next(SkxRows *rows, SkxExec *exec);

/* The document of row i of the batch. */
extern void skx_rows_place(const SkxRows *rows, int i, SkxSourcePlace *place);

/* Places in the table as numbers that ascend with them. */
static inline uint64
skx_rows_key(const ItemPointerData *place)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(place) << 16 |
		ItemPointerGetOffsetNumberNoCheck(place);
}

static inline void
skx_rows_key_place(uint64 key, ItemPointerData *place)
{
	ItemPointerSet(place, (BlockNumber) (key >> 16),
				   (OffsetNumber) (key & 0xFFFF));
}

/*
 * Blocks of the table that belong to one slice together: 2 MB.  Tokens and the
 * slices of other connections rely on it.
 */
#define SKX_ROWS_CHUNK		256

typedef struct SkxRowsSlice
{
	int32		slice;			/* from 0 */
	int32		slices;			/* at least 1 */
	uint32		shift;			/* which slice the table begins with, so that
								 * small partitions are shared out, too */
} SkxRowsSlice;

/*
 * The first matches by their places.  What they take is 16 bytes for each that
 * is wanted.
 */
typedef struct SkxRowPlaces
{
	SkxCollector collector;		/* first */
	SkxRowsSlice slice;
	bool		nulls;			/* of segments only those whose tsvector is
								 * NULL, */
	bool		(*wants) (const SkxPendingDoc *doc, void *arg); /* and of pending ones
																 * these; NULL: all */
	void	   *arg;
	uint64		from;			/* places from here on are wanted, as keys; */
	int			most;			/* so many, at least 1 */
	uint64	   *keys;			/* found so far, */
	int			n;
	int			room;			/* for so many */
	uint64		beyond;			/* places from here on are not wanted any more */
	ItemPointerData *tids;		/* of a batch of matches */
} SkxRowPlaces;

/*
 * Makes a collector of it, in the current memory context.  What comes before
 * `keys` is its caller's, all else is zeroed.
 */
extern void skx_rows_places_begin(SkxRowPlaces *places);

/*
 * Finds the first `most` places of matches from `from` on, ascending, in
 * `keys`; n is less where there are no more.
 */
extern void skx_rows_places(SkxRowPlaces *places, const SkxRequest *request);

#endif							/* SKX_ROWS_H */
