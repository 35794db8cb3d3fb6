/*
 * maint_policy.h
 *	  Which segments to merge next.  Pure: builds without a server.
 */
#ifndef SKX_MAINT_POLICY_H
#define SKX_MAINT_POLICY_H

/* What the keys of a column lie between; of none the least is above the most. */
typedef struct SkxPolicyRange
{
	uint64		least;
	uint64		most;
} SkxPolicyRange;

typedef struct SkxPolicySegment
{
	uint64		bytes;			/* of its pages */
	uint32		ndocs;			/* with deleted ones */
	uint32		ndeleted;
	uint32		id;
	const SkxPolicyRange *ranges;	/* as many as limits say */
} SkxPolicySegment;

/* Inputs of one merge, at most. */
#define SKX_POLICY_INPUTS_MAX	64

/* What may become one segment, and what makes a merge worth while. */
typedef struct SkxPolicyLimits
{
	uint64		bytes;			/* live */
	uint64		ndocs;			/* with deleted ones */
	int			fan;			/* segments of one tier, from 2 up to
								 * SKX_POLICY_INPUTS_MAX */
	int			deleted;		/* percent of a segment, to be exceeded */
	uint32		purged;			/* segments of ids up to this keep no deleted
								 * document at all; 0: none is so */
	int			nranges;		/* columns that have keys */
	bool		dying;			/* many documents are likely to be dead that
								 * are not marked */
	uint64		room;			/* bytes that the file has for the result; 0:
								 * as many as are wanted */
	uint64		waiting;		/* bytes of pages that wait for transactions */
} SkxPolicyLimits;

/*
 * maint_policy.c
 *
 * Both choose among n segments, which they sort, and return how many are to
 * become one; their ids go to `chosen`, which has room for
 * SKX_POLICY_INPUTS_MAX, the smallest first, or by tiers neighbours in the
 * order of a column.  It may be a single one, to be written without its deleted
 * documents; when no document of the choice is live it is to be dropped.  0:
 * leave all as they are.  Carrying the choice out and asking again comes to an
 * end.
 */

/* By tiers. */
extern int	skx_maint_policy_tiers(SkxPolicySegment *segments, int n,
								   const SkxPolicyLimits *limits,
								   uint32 *chosen);

/* Towards at most `most` segments, none of them with many deletes. */
extern int	skx_maint_policy_most(SkxPolicySegment *segments, int n, int most,
								  const SkxPolicyLimits *limits,
								  uint32 *chosen);

/*
 * How many pages a file of `nblocks` has for the result of a merge, beside
 * readers that keep it from becoming shorter: those that are free, and as many
 * more as make it 1.5 times as long as what is live, or up to twice where one
 * segment has most of it; and a 16th of what is live, so that merges go on.
 */
extern uint64 skx_maint_policy_room(uint64 nblocks, uint64 free, uint64 live,
									uint64 largest);

/*
 * Where no more than `left` bytes are free: the segment that gives back most
 * without its deleted documents, of those whose live ones fit there.
 */
extern int	skx_maint_policy_fit(SkxPolicySegment *segments, int n,
								 uint64 left, uint32 *chosen);

/* To write the whole of a file of so many pages costs little. */
#define SKX_MOVE_SMALL		(64 * 1024 * 1024 / BLCKSZ)

/*
 * Is a segment of a file of `nblocks` written anew, which takes `npages`, so
 * that it ends at block `to` instead of `from`?
 */
extern bool skx_maint_policy_moves(uint32 nblocks, uint64 npages, uint32 from,
								   uint32 to);

#endif							/* SKX_MAINT_POLICY_H */
