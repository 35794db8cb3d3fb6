/*
 * build_internal.h
 *	  What the members of a team have in common, and its files.
 */
#ifndef SKX_BUILD_INTERNAL_H
#define SKX_BUILD_INTERNAL_H

#include "storage/buffile.h"
#include "storage/condition_variable.h"
#include "storage/sharedfileset.h"
#include "write/build/build.h"
#include "write/invert/invert.h"
#include "write/writer/writer.h"

/*
 * build_share.c : a team in shared memory, and its files by name
 *
 * Of each member and round (segment) "docs" with SkxTeamDoc, "runs", "list"
 * with runs and marks, "done" with what build_task.c leaves; of member 0
 * "plan": per member the number of stretches and these, then SkxPlanRun of all
 * runs, then per task SkxPlanTask and where it begins in each run (uint64).
 */
typedef struct SkxTeamDoc
{
	ItemPointerData tid;
	uint8		norm;
	SkxKey		keys[INDEX_MAX_KEYS];	/* as many as there are columns */
} SkxTeamDoc;

#define SKX_TEAM_DOC_SIZE(nkeys) \
	(offsetof(SkxTeamDoc, keys) + (nkeys) * sizeof(SkxKey))

typedef struct SkxPlanRun
{
	uint32		source;
	uint32		number;
	SkxRun		run;
} SkxPlanRun;

typedef struct SkxPlanTask
{
	uint16		len;
	char		lexeme[SKX_RUN_MARK_LEXEME];	/* where it begins */
} SkxPlanTask;

/* What a member brings to the segment. */
typedef struct SkxTeamTotals
{
	uint32		ndocs;
	uint32		nruns;
	uint32		runs_file;		/* the last one of its files, which has them */
	uint32		nmarks;
	uint32		mark_bytes;
	uint64		total_length;
	uint64		run_bytes;
} SkxTeamTotals;

/* Bytes of an error that others are told. */
#define SKX_TEAM_MESSAGE	256

struct SkxTeam
{
	SharedFileSet files;
	int			nmembers;
	uint32		most_docs;
	uint32		share_round;	/* of the shares being inverted */
	uint32		round;			/* of the segment being encoded */
	pg_atomic_uint64 ndocs;		/* of all shares so far, as told */
	pg_atomic_uint64 run_bytes;
	pg_atomic_uint32 full;		/* a member has found it so: all go on to the
								 * next segment */

	dsm_handle	norms;			/* one byte a document of a segment */
	uint32		norms_size;
	uint32		norms_given;	/* their size at first */
	uint32		norms_most;		/* .. and at most */
	uint32		overshoot;		/* documents added once a segment is full */

	/* set when documents are in order */
	uint32		nordered;		/* documents */
	double		average;		/* length */
	uint32		nruns;
	uint64		to_read;		/* bytes of runs */
	uint32		ntasks;

	/* encoding */
	pg_atomic_uint64 read;		/* bytes of runs */
	pg_atomic_uint32 next_task;
	slock_t		mutex;			/* for the two below */
	uint32		settled;		/* tasks that are in `base` */
	SkxTermTotals base;			/* before the next task: its pages and terms
								 * begin there */
	ConditionVariable settled_cv;
	pg_atomic_uint32 failed;	/* a member cannot go on: */
	int			failed_code;	/* SQLSTATE, 0: it has not said, .. */
	char		failed_message[SKX_TEAM_MESSAGE];	/* .. and why */

	SkxTeamTotals shares[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * build_task.c : what a member leaves in its file "done"
 *
 * Of each task SkxDoneTask, and as it says the keys of its leaves; of each
 * tail of a plane SkxDoneTail and its pages; in the end per plane SkxDonePlane
 * and its runs.  An SkxDoneKind stands before each.
 */
typedef enum SkxDoneKind
{
	SKX_DONE_TASK,
	SKX_DONE_TAIL,
	SKX_DONE_PLANE,
	SKX_DONE_END
} SkxDoneKind;

typedef struct SkxDoneTask
{
	uint32		task;
	uint32		nleaves;
	uint32		nkeys;			/* bytes */
	uint32		len;			/* of the lexeme where it begins */
	char		lexeme[SKX_RUN_MARK_LEXEME];
} SkxDoneTask;

typedef struct SkxDoneTail
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		first;			/* ordinal */
	uint32		npages;
} SkxDoneTail;

typedef struct SkxDonePlane
{
	uint32		plane;
	uint32		nruns;
	BlockNumber unused;			/* pages to give back */
	uint32		nunused;
} SkxDonePlane;

extern BufFile *skx_build_file(SkxTeam *team, uint32 round,
							   int member, const char *what);
extern BufFile *skx_build_open(SkxTeam *team, uint32 round,
							   int member, const char *what, bool missing_ok);
extern SkxRunFile *skx_build_runs_open(SkxTeam *team, uint32 round,
									   int member, uint32 file);
extern void skx_build_runs_drop(SkxTeam *team, uint32 round, int member,
								uint32 file);
extern void skx_build_drop(SkxTeam *team, uint32 round, int member,
						   const char *what);
extern void skx_build_name(char to[MAXPGPATH], uint32 round,
						   int member, const char *what);
extern void skx_build_read(BufFile *file, void *to, Size n);

/* build_order.c : how many tasks so many bytes should be cut into */
extern uint32 skx_build_ntasks(SkxTeam *team, uint64 bytes,
							   const SkxSegmentBuildOptions *options);

/*
 * build_writer.c : where a member writes tasks
 *
 * begin: at most so many bytes of pages wait for their place.  next takes a
 * task; false: there is none left.  Its terms go to a writer with these sinks;
 * done ends that, and tells where the task begins.
 */
#define SKX_TEAM_KEPT_MAX	((Size) 256 * 1024 * 1024)	/* more gains nothing */

typedef struct SkxTeamWriter SkxTeamWriter;

extern SkxTeamWriter *skx_build_writer_begin(SkxTeam *team, int member,
											 const SkxSegmentBuildOptions *options,
											 Size kept_most);
extern bool skx_build_writer_next(SkxTeamWriter *w, uint32 *task);
extern SkxTermSinks skx_build_writer_sinks(SkxTeamWriter *w);
extern void skx_build_writer_done(SkxTeamWriter *w, SkxTermWriter *terms,
								  const char *lexeme, int len);
extern void skx_build_writer_end(SkxTeamWriter *w);

/* In member 0, from order to finish. */
struct SkxTeamSegment
{
	MemoryContext context;
	SkxTeam    *team;
	uint32		round;
	uint32	   *runs_files;		/* of the members; NULL: there are no runs */
	SkxSegmentOutput *out;
	SkxTermTotals totals;
};

#endif							/* SKX_BUILD_INTERNAL_H */
