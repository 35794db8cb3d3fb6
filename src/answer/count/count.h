/*
 * count.h
 *	  How many rows match, without fetching those that the visibility map
 *	  knows to be visible.
 */
#ifndef SKX_COUNT_H
#define SKX_COUNT_H

#include "answer/exec/exec.h"

/*
 * What is told of the rows that are counted, for more than their number: of a
 * segment its documents, each once and ascending, and that it is done; then
 * pending ones.  Of a segment of `most` documents at most those told so far may
 * be taken back, all together; they are told again.  With other processes, all
 * that is of parts of segments, each of which is told before.
 *
 * A taker that pauses is told of at most SKX_QUERY_DOCS documents, or
 * SKX_QUERY_BATCH pending ones, and then the count goes on with its next call;
 * nothing is taken back, and the segment is open meanwhile.
 */
typedef struct SkxCountTaker
{
	bool		pauses;
	bool		all;			/* and yet every row will be asked for */
	uint32		most;			/* 0 where it pauses */
	void		(*part) (SkxSegment *seg, uint32 from, uint32 to, void *arg);	/* NULL: not asked for */
	void		(*documents) (SkxSegment *seg, const uint32 *docs, int n,
							  void *arg);
	void		(*forget) (SkxSegment *seg, void *arg); /* unless it pauses */
	void		(*done) (SkxSegment *seg, void *arg);	/* NULL: not asked for */
	void		(*pending) (TSVector document, const ItemPointerData *tid,
							void *arg);
	void	   *arg;
} SkxCountTaker;

typedef struct SkxCountShare SkxCountShare;

/* Rows by what told that they are visible, and if they were, of those fetched. */
typedef struct SkxCountWork
{
	uint64		fetched;		/* looked up in the table */
	uint64		mapped;			/* the bit of the row's page */
	uint64		whole;			/* the bits of all pages */
	uint64		totals;			/* likewise, and no match was looked at: it is
								 * the df of a word */
} SkxCountWork;

/*
 * Counts the rows of a request that looks rows up, and adds to `work`.  taker:
 * NULL, the number is enough.  With other processes the request's share is that
 * of `share` (count_share.h), and *rows is what this process has counted.  True:
 * all has been counted now, by this process alone, or as the last of several
 * (then skx_count_share_total() has the sum).
 */
extern bool skx_count_rows(const SkxRequest *request,
						   const SkxCountTaker *taker, SkxCountShare *share,
						   SkxCountWork *work, uint64 *rows);

/*
 * The same a batch at a time, for a taker that pauses.  open: in the current
 * memory context; what it is given must stay.  next: true, the taker was told of
 * some rows; false: there are no more.  close, at any time: adds to `work`, and to
 * `share` what this process has counted.
 */
typedef struct SkxCount SkxCount;

extern SkxCount *skx_count_open(const SkxRequest *request,
								const SkxCountTaker *taker,
								SkxCountShare *share, SkxCountWork *work);
extern bool skx_count_next(SkxCount *count);
extern void skx_count_close(SkxCount *count);

#endif							/* SKX_COUNT_H */
