/*
 * build.h
 *	  One segment, built by several processes.
 *
 * A team of processes builds the segment in four steps.  Step 1: each member
 * inverts some of the documents, and numbers them from 0.  Step 2: member 0
 * puts the documents in order and cuts the range of lexemes into tasks.
 * Step 3: all members encode tasks.  Step 4: member 0 finishes the segment.
 * The caller separates the steps by barriers.  The result is what one process
 * would have built, but for partly empty pages where a task ends.
 *
 * The team lies in dynamic shared memory.  Its temporary files are deleted
 * when that memory is.
 */
#ifndef SKX_BUILD_H
#define SKX_BUILD_H

#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/fileset.h"
#include "write/merge/merge.h"
#include "write/writer/writer_build.h"

typedef struct SkxParallel SkxParallel;

/* Returns the bytes of shared memory that a team of nmembers takes. */
extern Size skx_build_shared_size(int nmembers);

/*
 * Allocates shared memory for the norms of *docs documents.  Member 0 calls it
 * before any document is read.  If there is too little memory, it tries less,
 * and sets *docs to the number of documents that the memory is for.  Returns
 * NULL if there is not enough for a segment worth several processes.
 */
extern dsm_segment *skx_build_reserve(uint32 *docs);

/*
 * Initializes a team in the shared memory seg.  Member 0 calls it, with norms
 * from skx_build_reserve() that hold `given` documents.  Member 0 enlarges the
 * norms up to `most` documents while the table is scanned.  A segment is full
 * when the norms have space for `overshoot` documents only: members may add
 * that many before they are told.
 */
extern void skx_build_create(SkxParallel *team, int nmembers,
							 dsm_segment *norms, uint32 given, uint32 most,
							 uint32 overshoot, dsm_segment *seg);

/*
 * Returns the segment with the norms as this process has mapped it; NULL if
 * it has not.  Member 0 detaches it in the end.
 */
extern dsm_segment *skx_build_norms(SkxParallel *team);

/* Attaches a member other than member 0 to the files of the team. */
extern void skx_build_join(SkxParallel *team, dsm_segment *seg);

/* Initializes a team without norms, for a merge.  Member 0 calls it. */
extern void skx_build_init(SkxParallel *team, int nmembers, dsm_segment *seg);

/* Returns the files of the team, which are deleted with its shared memory. */
extern FileSet *skx_build_attach_files(SkxParallel *team);

/*
 * Returns the variable that is broadcast when a member ends, fails, or tells
 * where its task ends.
 */
extern ConditionVariable *skx_build_has_news(SkxParallel *team);

/*
 * Tells all members that this one fails.  skx_build_check() then raises its
 * error in the others: code is its SQLSTATE, 0 if it ended without an error.
 * The first failure wins.  A parallel worker of the server need not call it,
 * because the server passes its error on.
 */
extern void skx_build_fail(SkxParallel *team, int code, const char *message);

/* Raises the error of a member that has failed, if one has. */
extern void skx_build_check(SkxParallel *team);

/*
 * Step 1: documents that one member inverts.  options->memory is what this
 * member may use, here and below.
 */
typedef struct SkxBuildPartition SkxBuildPartition;

/* Begins step 1 of the next segment. */
extern SkxBuildPartition *skx_build_partition_begin(SkxParallel *team,
													int member, const SkxSegmentBuildOptions *options);

/*
 * Adds a document.  TIDs must ascend within the member, else it raises an
 * error.  A value of NULL is an SQL NULL.
 */
extern void skx_build_partition_add(SkxBuildPartition *share, ItemPointer tid,
									TSVector value);

/*
 * Returns true if the segment should end here.  Once true for one member it is
 * so for all at their next call.
 */
extern bool skx_build_partition_is_full(SkxBuildPartition *share);

/* Ends step 1 of this member, and frees share. */
extern void skx_build_partition_end(SkxBuildPartition *share);

/* The segment in the making, in member 0, from step 2 to step 4. */
typedef struct SkxBuildSegment SkxBuildSegment;

/* Step 2, by member 0.  Returns NULL if there are no documents. */
extern SkxBuildSegment *skx_build_order(SkxParallel *team,
										const SkxSegmentBuildOptions *options);

/* Step 3, by each member.  Does nothing if there are no documents. */
extern void skx_build_encode(SkxParallel *team, int member,
							 const SkxSegmentBuildOptions *options);

/*
 * Step 4, by member 0: writes the rest, fills in *ref and frees segment.
 * Others may already be in step 1 of the next segment.
 */
extern void skx_build_finish(SkxBuildSegment *segment,
							 SkxDiskSegmentRef *ref);

/* build_merge.c : a merge of segments (write/merge/merge.h) by a team */

/*
 * Writes all that comes before the terms, and cuts terms of about nbytes into
 * tasks.  Member 0 calls it.  common is shared memory of
 * skx_merge_common_size() bytes.
 */
extern SkxBuildSegment *skx_build_merge_plan(SkxParallel *team,
											 SkxMerge *merge,
											 SkxSegment **inputs,
											 int ninputs, uint64 nbytes, void *common, const SkxSegmentBuildOptions *options);

/*
 * Encodes tasks until none is left.  Each member calls it with inputs that it
 * has opened itself.  When all have returned, member 0 calls
 * skx_build_finish().
 */
extern void skx_build_merge_encode(SkxParallel *team, int member,
								   SkxSegment **inputs, int ninputs,
								   void *common,
								   const SkxSegmentBuildOptions *options);

#endif							/* SKX_BUILD_H */
