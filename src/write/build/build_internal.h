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
 * A round is one segment.  Each member has these files a round:
 *	"docs"	an SkxTeamDoc a document
 *	"runs"	the runs of postings
 *	"list"	the SkxRun of each run, then the marks
 *	"done"	what build_writer.c leaves for member 0
 * Member 0 also has "plan": per member the number of its SkxRunStretch and
 * these; then an SkxPlanRun for each run; then per task an SkxPlanTask and the
 * offset in each run where it begins (uint64).
 */

/* A document in "docs". */
typedef struct SkxTeamDoc
{
	ItemPointerData tid;
	uint8		norm;
	SkxKey		keys[INDEX_MAX_KEYS];	/* as many as there are columns */
} SkxTeamDoc;

#define SKX_TEAM_DOC_SIZE(nkeys) \
	(offsetof(SkxTeamDoc, keys) + (nkeys) * sizeof(SkxKey))

/* A run in "plan". */
typedef struct SkxPlanRun
{
	uint32		source;			/* member that made it */
	uint32		number;			/* among the runs of the member */
	SkxRun		run;
} SkxPlanRun;

/* A task in "plan": the lexemes from this one up to that of the next task. */
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
	uint32		runs_file;		/* number of the file that holds the runs */
	uint32		nmarks;
	uint32		mark_bytes;
	uint64		total_length;
	uint64		run_bytes;
} SkxTeamTotals;

/* Bytes of the message of a member that has failed, with its final zero. */
#define SKX_TEAM_MESSAGE	256

struct SkxTeam
{
	SharedFileSet files;
	int			nmembers;
	uint32		most_docs;
	uint32		share_round;	/* of the shares being inverted */
	uint32		round;			/* of the segment being encoded */
	pg_atomic_uint64 ndocs;		/* documents that members have added so far */
	pg_atomic_uint64 run_bytes; /* bytes of their postings */
	pg_atomic_uint32 full;		/* 1: the segment is full, and all members end
								 * it */

	dsm_handle	norms;			/* one byte a document of a segment */
	uint32		norms_size;		/* capacity in documents */
	uint32		norms_given;	/* capacity at first */
	uint32		norms_most;		/* largest capacity */
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
	uint32		settled;		/* number of tasks summed up in base */
	SkxTermTotals base;			/* terms and pages before task `settled` */
	ConditionVariable settled_cv;	/* broadcast when either changes */
	pg_atomic_uint32 failed;	/* 1: a member has failed */
	int			failed_code;	/* its SQLSTATE; 0 if it had no error */
	char		failed_message[SKX_TEAM_MESSAGE];	/* its message */

	SkxTeamTotals shares[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * build_task.c, build_writer.c : the file "done" of a member
 *
 * It is a sequence of records, each after its SkxDoneKind: per task an
 * SkxDoneTask and the keys of its leaves; per tail of a plane an SkxDoneTail
 * and its pages; at the end per plane an SkxDonePlane and its runs.
 */
typedef enum SkxDoneKind
{
	SKX_DONE_TASK,
	SKX_DONE_TAIL,
	SKX_DONE_PLANE,
	SKX_DONE_END
} SkxDoneKind;

/* A task that is encoded. */
typedef struct SkxDoneTask
{
	uint32		task;			/* its number */
	uint32		nleaves;		/* leaves of the dictionary */
	uint32		nkeys;			/* bytes of their keys, which follow */
	uint32		len;			/* of lexeme */
	char		lexeme[SKX_RUN_MARK_LEXEME];	/* first lexeme of the task */
} SkxDoneTask;

/* Pages at the end of a task that do not fill a block. */
typedef struct SkxDoneTail
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		first;			/* ordinal of the first page */
	uint32		npages;			/* which follow */
} SkxDoneTail;

/* Pages of a plane that the member wrote in all its tasks. */
typedef struct SkxDonePlane
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		nruns;			/* SkxDiskRun, which follow */
	BlockNumber unused;			/* first of nunused pages to give back */
	uint32		nunused;
} SkxDonePlane;

/* Creates the file `what` of a member.  The caller exports or closes it. */
extern BufFile *skx_build_file(SkxTeam *team, uint32 round,
							   int member, const char *what);

/*
 * Opens the file `what` of a member to read.  With missing_ok it returns NULL
 * if there is none, otherwise it raises an error.
 */
extern BufFile *skx_build_open(SkxTeam *team, uint32 round,
							   int member, const char *what, bool missing_ok);

/* Opens file number `file` with runs of a member. */
extern SkxRunFile *skx_build_runs_open(SkxTeam *team, uint32 round,
									   int member, uint32 file);

/* Deletes that file, if it exists. */
extern void skx_build_runs_drop(SkxTeam *team, uint32 round, int member,
								uint32 file);

/* Deletes the file `what` of a member, if it exists. */
extern void skx_build_drop(SkxTeam *team, uint32 round, int member,
						   const char *what);

/* Writes the name of the file `what` of a member into `to`. */
extern void skx_build_name(char to[MAXPGPATH], uint32 round,
						   int member, const char *what);

/* Reads n bytes; a file that ends before is reported as damaged. */
extern void skx_build_read(BufFile *file, void *to, Size n);

/* build_order.c : returns how many tasks `bytes` of postings are cut into */
extern uint32 skx_build_ntasks(SkxTeam *team, uint64 bytes,
							   const SkxSegmentBuildOptions *options);

/*
 * build_writer.c : where a member writes tasks
 *
 * The pages of a task begin where those of the task before end.  Until that is
 * known, the member keeps finished pages in memory.
 */
#define SKX_TEAM_KEPT_MAX	((Size) 256 * 1024 * 1024)	/* more gains nothing */

typedef struct SkxTeamWriter SkxTeamWriter;

/* Creates a writer that keeps at most kept_most bytes of finished pages. */
extern SkxTeamWriter *skx_build_writer_begin(SkxTeam *team, int member,
											 const SkxSegmentBuildOptions *options,
											 Size kept_most);

/* Claims the next task and sets *task; returns false if none is left. */
extern bool skx_build_writer_next(SkxTeamWriter *w, uint32 *task);

/* Returns the sinks for a term writer that writes the claimed task. */
extern SkxTermSinks skx_build_writer_sinks(SkxTeamWriter *w);

/*
 * Ends the term writer and the task, whose first lexeme is given.  Waits until
 * the tasks before it have told how many pages they take.
 */
extern void skx_build_writer_done(SkxTeamWriter *w, SkxTermWriter *terms,
								  const char *lexeme, int len);

/* Completes the file "done" of the member. */
extern void skx_build_writer_end(SkxTeamWriter *w);

/* The segment in the making, in member 0, from step 2 to step 4. */
struct SkxTeamSegment
{
	MemoryContext context;
	SkxTeam    *team;
	uint32		round;
	uint32	   *runs_files;		/* runs_file of each member; NULL in a merge */
	SkxSegmentOutput *out;
	SkxTermTotals totals;
};

#endif							/* SKX_BUILD_INTERNAL_H */
