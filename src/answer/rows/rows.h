/*
 * rows.h
 *	  Collectors of rows that match: one that holds them a batch at a time, in
 *	  no order, and one that finds the first of them in the order of tids.
 */
#ifndef SKX_ROWS_H
#define SKX_ROWS_H

#include "answer/exec/exec.h"

/*
 * A collector that holds one batch of rows: either documents of one segment,
 * or pending documents.
 */
typedef struct SkxRows
{
	SkxCollector collector;		/* first */
	int			n;				/* number of rows in the batch */
	ItemPointerData *tids;		/* tids of the rows */
	const SkxSegment *segment;	/* segment of the rows; NULL: pending */
	const uint32 *docs;			/* documents of the rows in that segment */
	SkxDocAddress *pending;		/* documents of pending rows; NULL: no batch
								 * has had any yet */
} SkxRows;

/*
 * Makes a collector in the current memory context.  wants_all is that of
 * SkxCollector.
 */
extern SkxRows *skx_rows_collector_create(bool wants_all);

/*
 * Replaces the batch by the next one, and invalidates rows->docs of the last
 * one.  Returns false if there are no more rows.
 */
extern bool skx_rows_next_batch(SkxRows *rows, SkxExec *exec);

/* Sets *place to the document of row i of the batch. */
extern void skx_rows_document(const SkxRows *rows, int i,
							  SkxDocAddress *place);

/* Returns the key of a tid: a number that ascends as tids do. */
static inline uint64
skx_rows_tid_key(const ItemPointerData *place)
{
	return (uint64) ItemPointerGetBlockNumberNoCheck(place) << 16 |
		ItemPointerGetOffsetNumberNoCheck(place);
}

/* Sets *place to the tid of a key: the inverse of skx_rows_tid_key(). */
static inline void
skx_rows_key_tid(uint64 key, ItemPointerData *place)
{
	ItemPointerSet(place, (BlockNumber) (key >> 16),
				   (OffsetNumber) (key & 0xFFFF));
}

/*
 * Number of blocks in a chunk of the table: 2 MB.  Each chunk belongs to one
 * slice as a whole.  Tokens and the slices of other connections rely on it.
 */
#define SKX_ROWS_CHUNK_BLOCKS		256

/*
 * One slice of a table: every slices-th chunk of it.  Chunk i belongs to
 * slice (i + shift) % slices.
 */
typedef struct SkxRowsSlice
{
	int32		number;			/* from 0 */
	int32		nslices;		/* at least 1 */
	uint32		shift;			/* differs by partition, to distribute small
								 * partitions among the slices, too */
} SkxRowsSlice;

/*
 * A collector of the first `max_rows` matches in the order of their tids.  It
 * takes up to 16 bytes for each of them.  Members before `keys`, except
 * `collector`, are arguments.
 */
typedef struct SkxTidCollector
{
	SkxCollector collector;		/* first */
	SkxRowsSlice slice;
	bool		only_nulls;		/* of segments only documents whose tsvector
								 * is NULL are wanted */
	bool		(*wants_pending) (const SkxPendingDoc *doc, void *arg); /* pending documents
																		 * wanted; NULL: all */
	void	   *arg;			/* passed to `wants_pending` */
	uint64		from_key;		/* least key that is wanted */
	int			max_rows;		/* number of rows wanted, at least 1 */
	uint64	   *keys;			/* keys of the rows found so far */
	int			n;				/* number of them */
	int			keys_size;		/* capacity of `keys` */
	uint64		end_key;		/* keys from this one on are not wanted */
	ItemPointerData *tids;		/* tids of a batch of matches */
} SkxTidCollector;

/*
 * Initializes the collector, with memory of the current memory context.  The
 * caller has set the arguments and zeroed all other members.
 */
extern void skx_rows_tids_begin(SkxTidCollector *places);

/*
 * Finds the first `max_rows` matches whose keys are not below `from_key`.
 * Puts their keys into places->keys, ascending, and their number into
 * places->n.  The number is less than `max_rows` if there are no more.
 */
extern void skx_rows_first_tids(SkxTidCollector *places,
								const SkxRequest *request);

#endif							/* SKX_ROWS_H */
