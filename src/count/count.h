/*
 * count.h
 *	  How many rows match, without fetching those that the visibility map
 *	  knows to be visible.
 */
#ifndef SKX_COUNT_COUNT_H
#define SKX_COUNT_COUNT_H

#include "executor/tuptable.h"
#include "query/query.h"
#include "utils/snapshot.h"

typedef struct SkxCountRequest
{
	Relation	index;
	Relation	heap;
	Snapshot	snapshot;
	const SkxView *view;		/* taken after the snapshot */
	const SkxQuery *query;
	bool		(*recheck) (TupleTableSlot *row, void *arg);	/* NULL: the index is
																 * exact */
	void	   *arg;
} SkxCountRequest;

/* Rows by what told that they are visible, and if they were, of those fetched. */
typedef struct SkxCountWork
{
	uint64		fetched;		/* looked up in the table */
	uint64		mapped;			/* the bit of the row's page */
	uint64		whole;			/* the bits of all pages */
	uint64		totals;			/* likewise, and no match was looked at: it is
								 * the df of a word */
} SkxCountWork;

/* Adds to `work`. */
extern uint64 skx_count_rows(const SkxCountRequest *request,
							 SkxCountWork *work);

#endif							/* SKX_COUNT_COUNT_H */
