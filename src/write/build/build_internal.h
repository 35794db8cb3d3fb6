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
 *	"docs"	an SkxParallelDoc a document
 *	"runs"	the runs of postings
 *	"list"	the SkxRun of each run, then the marks
 *	"done"	what build_writer.c leaves for member 0
 * Member 0 also has "plan": per member the number of its SkxDocNumberRange and
 * these; then an SkxMergePlanRun for each run; then per task an
 * SkxMergePlanTask and the offset in each run where it begins (uint64).
 */

/* A document in "docs". */
typedef struct SkxParallelDoc
{
	ItemPointerData tid;
	uint8		norm;
	SkxKey		keys[INDEX_MAX_KEYS];	/* as many as there are columns */
} SkxParallelDoc;

#define SKX_PARALLEL_DOC_SIZE(nkeys) \
	(offsetof(SkxParallelDoc, keys) + (nkeys) * sizeof(SkxKey))

/* A run in "plan". */
typedef struct SkxMergePlanRun
{
	uint32		source;			/* member that made it */
	uint32		number;			/* among the runs of the member */
	SkxRun		run;
} SkxMergePlanRun;

/* A task in "plan": the lexemes from this one up to that of the next task. */
typedef struct SkxMergePlanTask
{
	uint16		len;
	char		lexeme[SKX_RUN_MARK_LEXEME_MAX];	/* where it begins */
} SkxMergePlanTask;

/* What a member brings to the segment. */
typedef struct SkxParallelTotals
{
	uint32		ndocs;
	uint32		nruns;
	uint32		runs_file;		/* number of the file that holds the runs */
	uint32		nmarks;
	uint32		mark_bytes;
	uint64		total_length;
	uint64		run_bytes;
} SkxParallelTotals;

/* Bytes of the message of a member that has failed, with its final zero. */
#define SKX_PARALLEL_MESSAGE_SIZE	256

struct SkxParallel
{
	SharedFileSet files;
	int			nparticipants;
	uint32		most_docs;
	uint32		inverted_round; /* of the shares being inverted */
	uint32		encoded_round;	/* of the segment being encoded */
	pg_atomic_uint64 ndocs;		/* documents that members have added so far */
	pg_atomic_uint64 run_bytes; /* bytes of their postings */
	pg_atomic_uint32 is_full;	/* 1: the segment is full, and all members end
								 * it */

	dsm_handle	norms;			/* one byte a document of a segment */
	uint32		norms_size;		/* capacity in documents */
	uint32		norms_initial;	/* capacity at first */
	uint32		norms_max;		/* largest capacity */
	uint32		docs_over;		/* documents added once a segment is full */

	/* set when documents are in order */
	uint32		ordered_docs;	/* documents */
	double		average_length; /* length */
	uint32		nruns;
	uint64		to_read;		/* bytes of runs */
	uint32		ntasks;

	/* encoding */
	pg_atomic_uint64 run_bytes_read;	/* bytes of runs */
	pg_atomic_uint32 next_task;
	slock_t		mutex;			/* for the two below */
	uint32		placed_tasks;	/* number of tasks summed up in base */
	SkxTermTotals placed_totals;	/* terms and pages before task
									 * `placed_tasks` */
	ConditionVariable placed_cv;	/* broadcast when either changes */
	pg_atomic_uint32 has_failed;	/* 1: a member has failed */
	int			failed_code;	/* its SQLSTATE; 0 if it had no error */
	char		failed_message[SKX_PARALLEL_MESSAGE_SIZE];	/* its message */

	SkxParallelTotals partitions[FLEXIBLE_ARRAY_MEMBER];
};

/*
 * build_task.c, build_writer.c : the file "done" of a member
 *
 * It is a sequence of records, each after its SkxTaskRecordKind: per task an
 * SkxTaskRecord and the keys of its leaves; per tail of a plane an
 * SkxTailRecord and its pages; at the end per plane an SkxPlaneRecord and its
 * runs.
 */
typedef enum SkxTaskRecordKind
{
	SKX_TASK_RECORD,
	SKX_TAIL_RECORD,
	SKX_PLANE_RECORD,
	SKX_END_RECORD
} SkxTaskRecordKind;

/* A task that is encoded. */
typedef struct SkxTaskRecord
{
	uint32		task;			/* its number */
	uint32		nleaves;		/* leaves of the dictionary */
	uint32		nkeys;			/* bytes of their keys, which follow */
	uint32		len;			/* of lexeme */
	char		lexeme[SKX_RUN_MARK_LEXEME_MAX];	/* first lexeme of the
													 * task */
} SkxTaskRecord;

/* Pages at the end of a task that do not fill a block. */
typedef struct SkxTailRecord
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		first;			/* ordinal of the first page */
	uint32		npages;			/* which follow */
} SkxTailRecord;

/* Pages of a plane that the member wrote in all its tasks. */
typedef struct SkxPlaneRecord
{
	uint32		plane;			/* SkxSegmentPlane */
	uint32		nruns;			/* SkxDiskRun, which follow */
	BlockNumber unused;			/* first of nunused pages to give back */
	uint32		nunused;
} SkxPlaneRecord;

/* Creates the file `what` of a member.  The caller exports or closes it. */
extern BufFile *skx_build_file(SkxParallel *team, uint32 round,
							   int member, const char *what);

/*
 * Opens the file `what` of a member to read.  With missing_ok it returns NULL
 * if there is none, otherwise it raises an error.
 */
extern BufFile *skx_build_open(SkxParallel *team, uint32 round,
							   int member, const char *what, bool missing_ok);

/* Opens file number `file` with runs of a member. */
extern SkxRunFile *skx_build_runs_open(SkxParallel *team, uint32 round,
									   int member, uint32 file);

/* Deletes that file, if it exists. */
extern void skx_build_runs_delete(SkxParallel *team, uint32 round, int member,
								  uint32 file);

/* Deletes the file `what` of a member, if it exists. */
extern void skx_build_delete_file(SkxParallel *team, uint32 round, int member,
								  const char *what);

/* Writes the name of the file `what` of a member into `to`. */
extern void skx_build_name(char to[MAXPGPATH], uint32 round,
						   int member, const char *what);

/* Reads n bytes; a file that ends before is reported as damaged. */
extern void skx_build_read(BufFile *file, void *to, Size n);

/* build_order.c : returns how many tasks `bytes` of postings are cut into */
extern uint32 skx_build_ntasks(SkxParallel *team, uint64 bytes,
							   const SkxSegmentBuildOptions *options);

/*
 * build_writer.c : where a member writes tasks
 *
 * The pages of a task begin where those of the task before end.  Until that is
 * known, the member keeps finished pages in memory.
 */
#define SKX_PARALLEL_KEPT_PAGES_MAX	((Size) 256 * 1024 * 1024)	/* more gains nothing */

typedef struct SkxTaskWriter SkxTaskWriter;

/* Creates a writer that keeps at most kept_most bytes of finished pages. */
extern SkxTaskWriter *skx_build_writer_begin(SkxParallel *team, int member,
											 const SkxSegmentBuildOptions *options,
											 Size kept_most);

/* Claims the next task and sets *task; returns false if none is left. */
extern bool skx_build_writer_next_task(SkxTaskWriter *w, uint32 *task);

/* Returns the sinks for a term writer that writes the claimed task. */
extern SkxTermSinks skx_build_writer_sinks(SkxTaskWriter *w);

/*
 * Ends the term writer and the task, whose first lexeme is given.  Waits until
 * the tasks before it have told how many pages they take.
 */
extern void skx_build_writer_end_task(SkxTaskWriter *w, SkxTermWriter *terms,
									  const char *lexeme, int len);

/* Completes the file "done" of the member. */
extern void skx_build_writer_end(SkxTaskWriter *w);

/* The segment in the making, in member 0, from step 2 to step 4. */
struct SkxBuildSegment
{
	MemoryContext context;
	SkxParallel *group;
	uint32		round;
	uint32	   *runs_files;		/* runs_file of each member; NULL in a merge */
	SkxSegmentOutput *out;
	SkxTermTotals totals;
};

#endif							/* SKX_BUILD_INTERNAL_H */
