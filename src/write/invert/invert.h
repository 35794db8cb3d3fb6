/*
 * invert.h
 *	  From documents to postings: inversion in memory, sorted runs in files,
 *	  and their merge, term by term.
 *
 * Documents go into an SkxInverter.  Its terms leave it sorted, as a run.
 * Runs lie in a file one after the other; a merge of them, or of the inverter
 * alone, gives each term once with all its postings in document order.
 *
 * Documents may be inverted by several processes, each of which numbers its
 * own from 0.  Then a merge is told, by stretches of documents that stay
 * together, what their numbers are in the whole.
 */
#ifndef SKX_INVERT_H
#define SKX_INVERT_H

#include "format/codec/codec.h"
#include "format/disk/disk_dict.h"
#include "lib/stringinfo.h"
#include "storage/fd.h"
#include "storage/fileset.h"
#include "tsearch/ts_type.h"

/*
 * invert_memory.c
 *
 * Postings in memory and in runs: varint64 (gap - 1) << 2 | c, the first gap
 * of a run counting from SKX_NO_DOC; c 0: one position, label D; 1: no
 * positions; 2: varint tf, all D; 3: varint tf, labels.  Then per position a
 * varint of the difference less one modulo 2^14, in form 3 shifted left by 2
 * with the label below it.
 */
#define SKX_RUN_POSTING_MAX \
	(SKX_VARINT64_MAX + SKX_VARINT32_MAX + 3 * SKX_TF_MAX)

/* What a run knows of a term; its bytes of postings follow. */
typedef struct SkxRunTerm
{
	uint64		nbytes;
	uint64		npositions;
	uint32		df;
	uint32		last;			/* last document */
	uint16		len;			/* of the lexeme */
	uint8		flags;			/* SKX_TERM_LABELS, SKX_TERM_BARE */
	uint8		reserved[5];
} SkxRunTerm;

typedef struct SkxInverter SkxInverter;

/* Its addresses have 32 bits; there must be room for one more document. */
#define SKX_INVERT_MAX		(UINT64CONST(3584) * 1024 * 1024)

extern SkxInverter *skx_invert_memory_create(Size memory);

/* Returns the length of the document. */
extern uint64 skx_invert_memory_add(SkxInverter *inv, uint32 doc,
									TSVector value);

/* Bytes in use, and how many it could be when a document is added. */
extern Size skx_invert_memory_used(const SkxInverter *inv);
extern Size skx_invert_memory_need(const SkxInverter *inv, TSVector value);

/* Sorts; then one can go through the terms, once. */
extern void skx_invert_memory_sort(SkxInverter *inv);

/* The next term, false after the last one. */
extern bool skx_invert_memory_next(SkxInverter *inv, SkxRunTerm *term,
								   const char **lexeme);

/*
 * Copies the next bytes, at most `n`, of the current term's postings; returns
 * how many.
 */
extern uint32 skx_invert_memory_read(SkxInverter *inv, uint8 *to, uint32 n);

/* Forgets all documents. */
extern void skx_invert_memory_reset(SkxInverter *inv);

/*
 * invert_file.c : a file that runs are written to once and then read
 */
typedef struct SkxRunFile
{
	File		file;
	uint64		size;			/* without what is in the buffer */
	char	   *buffer;			/* while it is written */
	uint32		used;			/* bytes of it */
} SkxRunFile;

#define SKX_RUN_FILE_BUFFER	(64 * 1024)

/* A temporary file of this process, or with `set` one that others can open. */
extern SkxRunFile *skx_invert_file_create(FileSet *set, const char *name);
extern SkxRunFile *skx_invert_file_open(FileSet *set, const char *name);

/* Nothing is written after that; now it can be read, and by others. */
extern void skx_invert_file_complete(SkxRunFile *f);
extern void skx_invert_file_read(SkxRunFile *f, uint64 at, void *to,
								 uint32 n);
extern void skx_invert_file_close(SkxRunFile *f);

/* Reports what a temporary file of a build should not hold. */
extern void skx_invert_file_damaged(const char *what);

/*
 * invert_runs.c : runs and the file they are in
 */
typedef struct SkxRun
{
	uint64		offset;			/* where it starts in the file */
	uint64		nbytes;
} SkxRun;

/* A term of a run, noted so that a merge can begin there. */
typedef struct SkxRunMark
{
	uint64		at;				/* bytes from the run's start */
	uint32		run;
	uint16		len;			/* of the lexeme, which follows */
	uint16		reserved;
} SkxRunMark;

/*
 * A mark is made at the first term after so many bytes whose lexeme is not
 * longer than that.
 */
#define SKX_RUN_MARK_STEP	(128 * 1024)
#define SKX_RUN_MARK_LEXEME	64

typedef struct SkxRuns
{
	Size		memory;			/* bytes, for merging them */
	MemoryContext context;
	FileSet    *set;			/* NULL: a temporary file of this process */
	const char *name;			/* what the names of files in `set` begin with */
	uint32		nfiles;			/* made so far; the last one is `file` */
	SkxRunFile *file;
	SkxRun	   *runs;
	int			nruns;
	int			runs_size;
	uint64		nbytes;			/* of all runs */
	StringInfo	marks;			/* SkxRunMark and lexeme; NULL: not wanted */
	uint32		nmarks;
	uint64		marked;			/* bytes of the run before its last mark */
} SkxRuns;

/* Runs in a temporary file, or with `set` in files of it, with marks. */
extern SkxRuns *skx_invert_runs_create(Size memory, FileSet *set,
									   const char *name);

/* Writes a sorted inverter out as the next run. */
extern void skx_invert_runs_spill(SkxRuns *runs, SkxInverter *inv);

/*
 * invert_documents.c : documents into runs
 *
 * Documents come in ascending order.  Before one that might not fit into
 * `room` bytes beside those in memory, these become a run; one that is too
 * large by itself takes more.
 */
typedef struct SkxInvertDocuments SkxInvertDocuments;

extern SkxInvertDocuments *skx_invert_documents_begin(Size memory,
													  SkxRuns *runs);

/* Returns the length of the document. */
extern uint64 skx_invert_documents_add(SkxInvertDocuments *d, uint32 doc,
									   TSVector value, Size room);

/* Bytes of runs, with those to come from what is in memory. */
extern uint64 skx_invert_documents_bytes(const SkxInvertDocuments *d);

/* Makes a run of what is in memory, if anything is. */
extern void skx_invert_documents_spill(SkxInvertDocuments *d);

/* What is in memory, sorted: without runs it is all. */
extern SkxInverter *skx_invert_documents_sorted(SkxInvertDocuments *d);
extern void skx_invert_documents_end(SkxInvertDocuments *d);

/* Told how many bytes of runs have been read. */
typedef struct SkxRunProgress
{
	void		(*read) (void *arg, uint32 nbytes);
	void	   *arg;
} SkxRunProgress;

/*
 * Turns groups of neighbours into longer runs until `most` are left.  No run
 * comes after that, and they can be read.
 */
extern void skx_invert_runs_reduce(SkxRuns *runs, int most,
								   const SkxRunProgress *progress);
extern void skx_invert_runs_close(SkxRuns *runs);

/* Name of file `number` of a collection of runs, into `to`. */
extern void skx_invert_runs_name(char to[MAXPGPATH], const char *name,
								 uint32 number);

/*
 * invert_cursor.c : reads one run
 */
#define SKX_RUN_BUFFER_MIN	(32 * 1024)
#define SKX_RUN_BUFFER_MAX	(512 * 1024)

typedef struct SkxRunCursor SkxRunCursor;

/*
 * `number` orders the runs of one source (process); sources are numbered from
 * 0.  A cursor on an inverter is on the only run there is.
 */
extern SkxRunCursor *skx_invert_cursor_open(SkxRunFile *file,
											const SkxRun *run,
											int source, int number,
											uint32 buffer_size,
											const SkxRunProgress *progress);
extern SkxRunCursor *skx_invert_cursor_memory(SkxInverter *inv);
extern void skx_invert_cursor_close(SkxRunCursor *c);

/*
 * Confines it to the lexemes from `low` on and below `high` (NULL: to the
 * end).  `at` is that of a mark whose lexeme is not above `low`, or 0.
 */
extern void skx_invert_cursor_range(SkxRunCursor *c, uint64 at,
									const char *low, int low_len,
									const char *high, int high_len);

/*
 * invert_merge.c
 */

/* Documents `local`, local + 1, ... of a source are `merged`, merged + 1, ... */
typedef struct SkxRunStretch
{
	uint32		local;
	uint32		merged;
} SkxRunStretch;

/*
 * All of a source, ascending by both numbers; the first is that of local 0.
 * index[doc >> shift] is a stretch at or soon before that of a document.
 */
typedef struct SkxRunMap
{
	const SkxRunStretch *stretches;
	uint32		nstretches;
	const uint32 *index;
	int			shift;
	uint32		ndocs;			/* of the source: local 0 .. ndocs - 1 */
} SkxRunMap;

/* Makes the index, for documents 0 .. ndocs - 1; 8 to 16 bytes a stretch. */
extern void skx_invert_map_index(SkxRunMap *map, uint32 ndocs);

/* Postings of one term, in document order. */
typedef struct SkxPostingBatch
{
	int			n;
	uint32		docs[SKX_SUBBLOCK];
	uint16		tf[SKX_SUBBLOCK];
	bool		labelled;		/* some position has a label other than D */
	uint32		npositions;
	uint16		positions[SKX_SUBBLOCK * SKX_TF_MAX];
} SkxPostingBatch;

typedef struct SkxRunMerge SkxRunMerge;

/* maps[source]; NULL: one source, whose final numbers are below `ndocs`. */
extern SkxRunMerge *skx_invert_merge_begin(SkxRunCursor **cursors, int n,
										   const SkxRunMap *maps,
										   uint32 ndocs);

/*
 * The next term, false after the last one: its numbers over all runs (`last`
 * is meaningless when there are maps).  The lexeme is valid until the next
 * call.  All postings of the term before must have been taken.
 */
extern bool skx_invert_merge_next(SkxRunMerge *m, SkxRunTerm *term,
								  const char **lexeme);

/*
 * The term's next postings: SKX_SUBBLOCK of them, or those that are left;
 * false when none is.
 */
extern bool skx_invert_merge_postings(SkxRunMerge *m,
									  SkxPostingBatch *batch);

/* Sends the current term on as part of the run that is being written. */
extern void skx_invert_merge_copy(SkxRunMerge *m, const SkxRunTerm *term,
								  const char *lexeme, SkxRuns *to);
extern void skx_invert_merge_end(SkxRunMerge *m);

/* How many runs can be merged at once within `memory`. */
extern int	skx_invert_merge_fan(Size memory);

/* Bytes of a buffer for each of `n` cursors. */
extern uint32 skx_invert_merge_buffer(Size memory, int n);

#endif							/* SKX_INVERT_H */
