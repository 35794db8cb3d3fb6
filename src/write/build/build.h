/*
 * build.h
 *	  One segment, built by several processes.
 *
 * The members of a team first invert a share of the documents each, numbering
 * them from 0.  When all have ended their shares, member 0 puts the documents
 * in order and cuts the lexemes into tasks.  Then all encode tasks, and when
 * they are through member 0 finishes the segment.  It is what one process
 * would have built, but for pages that are partly empty where a task ends.
 * The caller keeps the steps apart, with barriers.
 *
 * The team lies in dynamic shared memory; its files go away with that.
 */
#ifndef SKX_BUILD_H
#define SKX_BUILD_H

#include "storage/condition_variable.h"
#include "storage/dsm.h"
#include "storage/fileset.h"
#include "write/merge/merge.h"
#include "write/writer/writer_build.h"

typedef struct SkxTeam SkxTeam;

extern Size skx_build_size(int nmembers);

/*
 * By member 0, before any document is read: shared memory for the norms of a
 * segment's documents.  Less where there is less room; then *docs is how many it
 * is for.  NULL: there is too little.
 */
extern dsm_segment *skx_build_reserve(uint32 *docs);

/*
 * By member 0, with norms that are for so many documents.  They are enlarged on
 * the way, up to `most`, where there is room.  A segment ends when there is room
 * for `overshoot` more, which members add before they know.
 */
extern void skx_build_create(SkxTeam *team, int nmembers, dsm_segment *norms,
							 uint32 given, uint32 most, uint32 overshoot,
							 dsm_segment *seg);

/* What member 0 has to detach in the end. */
extern dsm_segment *skx_build_norms(SkxTeam *team);
extern void skx_build_join(SkxTeam *team, dsm_segment *seg);

/* The same without norms, for a merge. */
extern void skx_build_init(SkxTeam *team, int nmembers, dsm_segment *seg);

/* Files that go away with the team; where members wait for one another. */
extern FileSet *skx_build_files(SkxTeam *team);
extern ConditionVariable *skx_build_news(SkxTeam *team);

/*
 * Tells all members that this one cannot go on: those that wait for it, or
 * check, end with its error (SQLSTATE and message; 0: it has none).  A parallel
 * worker of the server need not.
 */
extern void skx_build_fail(SkxTeam *team, int code, const char *message);
extern void skx_build_check(SkxTeam *team);

/* Step 1.  options->memory is the member's part, here and below. */
typedef struct SkxBuildShare SkxBuildShare;

extern SkxBuildShare *skx_build_share_begin(SkxTeam *team, int member,
											const SkxSegmentBuildOptions *options);

/* As skx_writer_build_add. */
extern void skx_build_share_add(SkxBuildShare *share, ItemPointer tid,
								TSVector value);

/* Should the segment end here?  All members are told so sooner or later. */
extern bool skx_build_share_full(SkxBuildShare *share);
extern void skx_build_share_end(SkxBuildShare *share);

/* Step 2; NULL: there are no documents. */
typedef struct SkxTeamSegment SkxTeamSegment;

extern SkxTeamSegment *skx_build_order(SkxTeam *team,
									   const SkxSegmentBuildOptions *options);

/* Step 3; does nothing without documents. */
extern void skx_build_encode(SkxTeam *team, int member,
							 const SkxSegmentBuildOptions *options);

/* Step 4; then the next segment may begin, which others may have done. */
extern void skx_build_finish(SkxTeamSegment *segment,
							 SkxDiskSegmentRef *ref);

/*
 * build_merge.c : segments that become one (write/merge/merge.h)
 *
 * plan, by member 0, does what comes before the terms, of about so many bytes;
 * then all encode, each with inputs that it has opened itself; when all are
 * through, skx_build_finish().
 */
extern SkxTeamSegment *skx_build_merge_plan(SkxTeam *team, SkxMerge *merge,
											SkxSegment **inputs, int ninputs,
											uint64 nbytes, void *common,
											const SkxSegmentBuildOptions *options);
extern void skx_build_merge_encode(SkxTeam *team, int member,
								   SkxSegment **inputs, int ninputs,
								   void *common,
								   const SkxSegmentBuildOptions *options);

#endif							/* SKX_BUILD_H */
