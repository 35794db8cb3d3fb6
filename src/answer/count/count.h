/*
 * count.h
 *	  Counts the rows that match, without fetching those that are visible
 *	  according to the visibility map.
 */
#ifndef SKX_COUNT_H
#define SKX_COUNT_H

#include "answer/exec/exec.h"

/*
 * Callbacks that receive the rows that are counted, for callers that need
 * more than their number.  They receive the documents of a segment, each once
 * and ascending, then the end of the segment; pending documents come last.
 * The documents of a segment with at most `max_undo_docs` documents may be
 * taken back, all together, and are then passed again.  With other processes
 * the same holds for parts of segments, and each part is announced first.
 *
 * If `is_batched` is set, each call of skx_count_next() passes at most
 * SKX_QUERY_BATCH_DOCS documents or SKX_WINDOW_DOCS pending ones, then
 * returns.  No document is taken back, and the segment stays open in between.
 */
typedef struct SkxCountReceiver
{
	bool		is_batched;
	bool		wants_all;		/* with `is_batched`: all rows will be wanted */
	uint32		max_undo_docs;	/* 0 if it pauses */
	void		(*begin_range) (SkxSegment *seg, uint32 from, uint32 to,
								void *arg); /* NULL: not wanted */
	void		(*receive_documents) (SkxSegment *seg, const uint32 *docs,
									  int n, void *arg);
	void		(*undo_segment) (SkxSegment *seg, void *arg);	/* NULL if it pauses */
	void		(*end_segment) (SkxSegment *seg, void *arg);	/* NULL: not wanted */
	void		(*receive_pending) (TSVector document,
									const ItemPointerData *tid, void *arg);
	void	   *arg;			/* passed to all callbacks */
} SkxCountReceiver;

typedef struct SkxCountShared SkxCountShared;

/*
 * Number of rows by the way in which their visibility was determined.  Only
 * `fetched_rows` includes rows that turned out to be invisible.
 */
typedef struct SkxCountWork
{
	uint64		fetched_rows;	/* looked up in the table */
	uint64		vm_page_rows;	/* by the map's bit for the page of the row */
	uint64		vm_table_rows;	/* by the map's bits for all pages */
	uint64		df_rows;		/* by all bits, too, and taken from the df of
								 * a word: no match was read */
} SkxCountWork;

/*
 * Counts the rows of a request, whose heap and snapshot must be set.  Sets
 * *rows to the number that this process has counted, and adds to *work.  With
 * a taker that is not NULL, passes it the rows; it must not pause.  share is
 * NULL if this process is alone; otherwise request->share is that of `share`.
 * Returns true if all rows have been counted with this call: by this process
 * alone, or as the last of several.  In the latter case
 * skx_count_share_total() returns their sum.
 */
extern bool skx_count_rows(const SkxRequest *request,
						   const SkxCountReceiver *taker,
						   SkxCountShared *share, SkxCountWork *work,
						   uint64 *rows);

/* A count that is executed a batch at a time. */
typedef struct SkxCount SkxCount;

/*
 * Begins a count that passes its rows to a taker that pauses, in the current
 * memory context.  All arguments must stay valid until skx_count_close();
 * those that skx_count_rows() has, too, have the same meaning.
 */
extern SkxCount *skx_count_open(const SkxRequest *request,
								const SkxCountReceiver *taker,
								SkxCountShared *share, SkxCountWork *work);

/*
 * Counts until the taker was passed some rows.  Returns false if there are no
 * more.
 */
extern bool skx_count_next(SkxCount *count);

/*
 * Frees a count, at any time.  Adds to *work of skx_count_open(), and adds
 * what this process has counted to its share, unless that is NULL.
 */
extern void skx_count_close(SkxCount *count);

#endif							/* SKX_COUNT_H */
