/*
 * maint_policy.h
 *	  The merge policy: which segments to merge next.  Builds without a
 *	  server.
 */
#ifndef SKX_MAINT_POLICY_H
#define SKX_MAINT_POLICY_H

/*
 * The smallest and the largest key of a column in a segment.  If the segment
 * has no key of the column, `min` is above `max`.
 */
typedef struct SkxPolicyRange
{
	uint64		min;
	uint64		max;
} SkxPolicyRange;

/* A segment of the index. */
typedef struct SkxPolicySegment
{
	uint64		bytes;			/* size of its pages */
	uint32		ndocs;			/* documents, with deleted ones */
	uint32		ndeleted;
	uint32		id;
	const SkxPolicyRange *ranges;	/* SkxPolicyLimits.nranges of them */
} SkxPolicySegment;

/* Most inputs of one merge. */
#define SKX_POLICY_INPUTS_MAX	64

/* Bounds of one merge, and what makes it worth its cost. */
typedef struct SkxPolicyLimits
{
	uint64		bytes;			/* most live bytes of the inputs */
	uint64		ndocs;			/* most documents of the inputs, with deleted
								 * ones */
	int			tier_segments;	/* segments of one tier at which these are
								 * merged; 2 to SKX_POLICY_INPUTS_MAX */
	int			deleted_percent;	/* a segment with more percent of deleted
									 * documents is written anew */
	uint32		purge_up_to;	/* segments with ids up to this are written
								 * anew if they have deleted documents; 0:
								 * none is */
	int			nranges;		/* columns that have keys */
	bool		many_likely_dead;	/* many documents are likely to be dead
									 * without a deleted bit */
	uint64		result_bytes_max;	/* bytes that the file can give to the
									 * result; 0: no bound */
	uint64		waiting_bytes;	/* bytes of free pages that wait for
								 * transactions */
} SkxPolicyLimits;

/*
 * maint_policy.c : choices among n segments
 *
 * A function that chooses returns how many segments are to become one, and
 * writes their ids to `chosen`, which has capacity for SKX_POLICY_INPUTS_MAX.
 * 0: no segment is to be merged.  A single segment is written anew without its
 * deleted documents.  Segments without live documents are dropped.
 */

/*
 * Chooses by tiers, that is by sizes.  Sorts `segments`.  The ids are those
 * of the smallest segments first, or of neighbours in the order of a column.
 * If choices are carried out one after the other, the result becomes 0 in the
 * end.
 */
extern int	skx_maint_policy_choose_tiers(SkxPolicySegment *segments, int n,
										  const SkxPolicyLimits *limits,
										  uint32 *chosen);

/*
 * Chooses so that at most `most` segments are left in the end, none of them
 * with many deleted documents.  Sorts `segments`; the smallest come first in
 * `chosen`.  If choices are carried out one after the other, the result
 * becomes 0 in the end.
 */
extern int	skx_maint_policy_choose_count(SkxPolicySegment *segments, int n,
										  int most,
										  const SkxPolicyLimits *limits,
										  uint32 *chosen);

/*
 * Returns how many pages a file of nblocks pages can give to the result of a
 * merge while readers keep it from becoming shorter.  `free` is the number of
 * free pages, `live` that of pages with live documents, `largest` that of the
 * largest segment.
 *
 * The result is `free`, and as many more as make the file 1.5 times as long
 * as `live`.  If one segment has most of `live`, that is up to twice as long.
 * It is at least a 16th of `live`, and 1 MB, so that merges go on.  In an
 * index of more than 64 MB in which no segment has more than a quarter of
 * `live`, it is at most that quarter.
 */
extern uint64 skx_maint_policy_max_result(uint64 nblocks, uint64 free,
										  uint64 live, uint64 largest);

/*
 * Chooses for a file that cannot grow and has `left` free bytes: the segment
 * that gives back most pages when it is written without its deleted documents,
 * of those whose live documents fit into the free bytes.  Returns 1 or 0.
 */
extern int	skx_maint_policy_choose_fitting(SkxPolicySegment *segments, int n,
											uint64 left, uint32 *chosen);

/* Most pages of a small file: to write all of it costs little. */
#define SKX_MOVE_SMALL_FILE_PAGES		(64 * 1024 * 1024 / BLCKSZ)

/*
 * Returns true if it is worth it to write npages pages anew, so that a segment
 * ends at block `to` instead of `from`, in a file of nblocks pages.
 */
extern bool skx_maint_policy_is_worth_move(uint32 nblocks, uint64 npages,
										   uint32 from, uint32 to);

#endif							/* SKX_MAINT_POLICY_H */
