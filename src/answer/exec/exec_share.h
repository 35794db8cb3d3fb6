/*
 * exec_share.h
 *	  What the processes of one parallel scan have in common: the view that
 *	  they read, and which documents are taken.
 */
#ifndef SKX_EXEC_SHARE_H
#define SKX_EXEC_SHARE_H

#include "index/manifest/manifest.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"

/* In dynamic shared memory, aligned to 8 bytes. */
typedef struct SkxShare
{
	slock_t		mutex;			/* of `has_view` and `view` */
	bool		has_view;
	SkxView		view;			/* meta, bound and ends of it */
	pg_atomic_uint64 next;		/* the part that is taken next */
	pg_atomic_uint64 done;		/* parts that are done */
	ConditionVariable all_done; /* all are */
} SkxShare;

/*
 * Parts of a segment have at least so many documents.  They are a whole number
 * of the windows that queries go by.
 */
#define SKX_SHARE_STEP		(1 << 15)

/* Documents [from, to) of a segment, or (segment -1) what is pending. */
typedef struct SkxSharePart
{
	int			segment;
	uint32		from;
	uint32		to;
} SkxSharePart;

/* One process's way through the parts. */
typedef struct SkxShareReader
{
	SkxShare   *share;
	int			nsegments;
	const uint32 *ndocs;		/* of the segments */
	uint32		parts;			/* of a segment, at most */
	int			segment;		/* where it is, */
	uint64		first;			/* and that segment's first part */
} SkxShareReader;

/*
 * exec_share.c
 *
 * init prepares the memory; restart lets a further scan begin, when no process
 * uses it.  view is the one view of all processes, in the current memory
 * context: of a process that asks first it becomes `own`, or, where that is
 * NULL, one taken now.  begin keeps `ndocs`, which is the same in every process,
 * as is `parts`.  take gives the next part; false: there is none left.  The
 * parts of a process ascend, and what is pending is the last of all.  done tells
 * that n parts that were taken are done; true: now all are, which one process
 * is told.  wait returns when all are.
 */
extern void skx_exec_share_init(SkxShare *share);
extern void skx_exec_share_restart(SkxShare *share);
extern const SkxView *skx_exec_share_view(SkxShare *share, Relation index,
										  const SkxView *own);
extern void skx_exec_share_begin(SkxShareReader *reader, SkxShare *share,
								 const uint32 *ndocs, int nsegments,
								 uint32 parts);
extern bool skx_exec_share_take(SkxShareReader *reader, SkxSharePart *part);
extern bool skx_exec_share_done(SkxShareReader *reader, uint64 n);
extern void skx_exec_share_wait(const SkxShareReader *reader);

#endif							/* SKX_EXEC_SHARE_H */
