/*
 * invert.h
 *	  From documents to postings: inversion in memory, sorted runs in files,
 *	  and their merge, term by term.
 *
 * An SkxInverter takes documents, and gives their terms sorted, as a run.  Runs
 * lie in a file one after the other.  A merge of runs, or of the inverter
 * alone, gives each term once with all its postings in document order.
 *
 * Several processes may invert documents; each numbers its own from 0.  Then a
 * merge maps these numbers to those of the segment, by stretches: ranges of
 * documents that stay next to each other.
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
 * invert_memory.c : documents in memory
 *
 * A posting, in memory and in runs, is a varint64 of (gap - 1) << 2 | form.
 * The first gap of a run counts from SKX_NO_DOC.  Form 0 has one position with
 * label D, form 1 no positions, form 2 a varint of tf and only labels D, form 3
 * a varint of tf and any labels.  Each position is a varint of its difference
 * less one modulo 2^14.  In form 3 that is shifted left by 2, and the label
 * takes the low bits.
 */
#define SKX_RUN_POSTING_BYTES_MAX \
	(SKX_VARINT64_MAX + SKX_VARINT32_MAX + 3 * SKX_TF_MAX)

/* Head of a term in a run; the lexeme and nbytes of postings follow. */
typedef struct SkxRunTerm
{
	uint64		nbytes;
	uint64		npositions;
	uint32		df;
	uint32		last_doc;		/* last document */
	uint16		len;			/* of the lexeme */
	uint8		flags;			/* SKX_TERM_LABELS, SKX_TERM_NO_POSITIONS */
	uint8		reserved[5];
} SkxRunTerm;

typedef struct SkxInverter SkxInverter;

/*
 * Most bytes in an inverter.  Its addresses have 32 bits, and one more document
 * must fit.
 */
#define SKX_INVERT_BYTES_MAX		(UINT64CONST(3584) * 1024 * 1024)

/* Creates an inverter that expects to use about `memory` bytes. */
extern SkxInverter *skx_invert_memory_create(Size memory);

/* Adds a document, after all with lower numbers; returns its length. */
extern uint64 skx_invert_memory_add(SkxInverter *inv, uint32 doc,
									TSVector value);

/* Returns the bytes in use. */
extern Size skx_invert_memory_used(const SkxInverter *inv);

/* Returns the most bytes that would be in use after value is added. */
extern Size skx_invert_memory_document_bytes(const SkxInverter *inv,
											 TSVector value);

/* Sorts the terms, which can then be read once. */
extern void skx_invert_memory_sort(SkxInverter *inv);

/*
 * Moves to the next term, and fills in *term and *lexeme.  Returns false after
 * the last one.
 */
extern bool skx_invert_memory_next(SkxInverter *inv, SkxRunTerm *term,
								   const char **lexeme);

/*
 * Copies at most n of the next bytes of the current term's postings.  Returns
 * the number copied, 0 at the end.
 */
extern uint32 skx_invert_memory_read(SkxInverter *inv, uint8 *to, uint32 n);

/* Removes all documents. */
extern void skx_invert_memory_reset(SkxInverter *inv);

/*
 * invert_file.c : a file that runs are written to once and then read
 */
typedef struct SkxRunFile
{
	File		file;
	uint64		size;			/* bytes in the file */
	char	   *buffer;			/* NULL once the file is complete */
	uint32		used;			/* bytes in the buffer */
} SkxRunFile;

#define SKX_RUN_FILE_BUFFER	(64 * 1024)

/*
 * Creates a file.  It is a temporary file of this process if set is NULL, else
 * file `name` of the set, which other processes can open.
 */
extern SkxRunFile *skx_invert_file_create(FileSet *set, const char *name);

/* Opens a complete file of a set; an error if it does not exist. */
extern SkxRunFile *skx_invert_file_open(FileSet *set, const char *name);

/* Ends writing; then this and other processes can read the file. */
extern void skx_invert_file_complete(SkxRunFile *f);

/* Reads n bytes from offset `at`; a shorter file is reported as damaged. */
extern void skx_invert_file_read(SkxRunFile *f, uint64 at, void *to,
								 uint32 n);

/* Closes the file and frees f. */
extern void skx_invert_file_close(SkxRunFile *f);

/* Raises the error for bytes that a temporary file of a build cannot have. */
extern void skx_invert_file_damaged(const char *what);

/*
 * invert_runs.c : runs and the file they are in
 */
typedef struct SkxRun
{
	uint64		offset;			/* where it starts in the file */
	uint64		nbytes;
} SkxRun;

/*
 * A mark: the start of a term in a run, where a merge of a range of lexemes
 * can begin.
 */
typedef struct SkxRunMark
{
	uint64		run_offset;		/* bytes from the run's start */
	uint32		run;
	uint16		len;			/* bytes of the lexeme, which follows */
	uint16		reserved;
} SkxRunMark;

/*
 * A mark is made at the first term that begins SKX_RUN_MARK_STEP bytes or
 * more behind the last mark, and whose lexeme has at most
 * SKX_RUN_MARK_LEXEME_MAX bytes.
 */
#define SKX_RUN_MARK_STEP	(128 * 1024)
#define SKX_RUN_MARK_LEXEME_MAX	64

/* Runs, all in one file. */
typedef struct SkxRuns
{
	Size		memory;			/* bytes that a merge of them may take */
	MemoryContext context;
	FileSet    *set;			/* NULL: a temporary file of this process */
	const char *name;			/* first part of the names of files in set */
	uint32		nfiles;			/* files made so far; the last one is `file` */
	SkxRunFile *file;
	SkxRun	   *runs;
	int			nruns;
	int			runs_size;
	uint64		nbytes;			/* of all runs */
	StringInfo	marks;			/* SkxRunMark and lexeme of each; or NULL */
	uint32		nmarks;
	uint64		last_mark;		/* offset in the run of its last mark */
} SkxRuns;

/*
 * Creates an empty set of runs in a temporary file of this process.  If set is
 * not NULL they go to files of it, and have marks.
 */
extern SkxRuns *skx_invert_runs_create(Size memory, FileSet *set,
									   const char *name);

/* Writes a sorted inverter out as the next run. */
extern void skx_invert_runs_spill(SkxRuns *runs, SkxInverter *inv);

/*
 * invert_documents.c : documents into runs
 */
typedef struct SkxInvertDocuments SkxInvertDocuments;

/* Begins; documents that do not fit into memory become runs. */
extern SkxInvertDocuments *skx_invert_documents_begin(Size memory,
													  SkxRuns *runs);

/*
 * Adds a document, after all with lower numbers; returns its length.  If the
 * documents in memory and this one might take more than `room` bytes, those in
 * memory become a run first.  A single large document may take more.
 */
extern uint64 skx_invert_documents_add(SkxInvertDocuments *d, uint32 doc,
									   TSVector value, Size room);

/* Returns the bytes of all runs and of the documents in memory. */
extern uint64 skx_invert_documents_bytes(const SkxInvertDocuments *d);

/* Makes the documents in memory, if any, a run. */
extern void skx_invert_documents_spill(SkxInvertDocuments *d);

/*
 * Sorts the documents in memory, and returns their inverter.  If there are no
 * runs it has all documents.
 */
extern SkxInverter *skx_invert_documents_sort(SkxInvertDocuments *d);

/* Frees d and the documents in memory; the runs remain. */
extern void skx_invert_documents_end(SkxInvertDocuments *d);

/* A function that counts the bytes of runs that are read. */
typedef struct SkxRunProgress
{
	void		(*read) (void *arg, uint32 nbytes); /* nbytes more are read */
	void	   *arg;
} SkxRunProgress;

/*
 * Merges groups of neighbouring runs until at most `most` are left, and
 * completes their file.  No run may be added after that.
 */
extern void skx_invert_runs_reduce(SkxRuns *runs, int most,
								   const SkxRunProgress *progress);

/* Closes the file of the runs. */
extern void skx_invert_runs_close(SkxRuns *runs);

/* Writes the name of file `number` of the runs called `name` into `to`. */
extern void skx_invert_runs_name(char to[MAXPGPATH], const char *name,
								 uint32 number);

/*
 * invert_cursor.c : reads one run
 */
#define SKX_RUN_BUFFER_MIN	(32 * 1024)
#define SKX_RUN_BUFFER_MAX	(512 * 1024)

typedef struct SkxRunCursor SkxRunCursor;

/*
 * Opens a cursor on a run of a file.  Sources (processes) are numbered from 0,
 * and `number` orders the runs of one source.
 */
extern SkxRunCursor *skx_invert_cursor_open(SkxRunFile *file,
											const SkxRun *run,
											int source, int number,
											uint32 buffer_size,
											const SkxRunProgress *progress);

/* Opens a cursor on a sorted inverter, whose terms are the only run. */
extern SkxRunCursor *skx_invert_cursor_memory(SkxInverter *inv);

/* Frees the cursor; the file stays open. */
extern void skx_invert_cursor_close(SkxRunCursor *c);

/*
 * Confines the cursor to lexemes from `low` up to, but without, `high`; a high
 * of NULL means the end.  at is the offset of a mark whose lexeme is not above
 * low, or 0.
 */
extern void skx_invert_cursor_set_range(SkxRunCursor *c, uint64 at,
										const char *low, int low_len,
										const char *high, int high_len);

/* invert_merge.c : merges runs term by term */

/*
 * A stretch: documents local, local + 1 and so on of a source have the numbers
 * merged, merged + 1 and so on in the segment.
 */
typedef struct SkxDocNumberRange
{
	uint32		source_doc;
	uint32		result_doc;
} SkxDocNumberRange;

/*
 * All stretches of a source, ascending by both numbers; the first one begins
 * with local 0.  index[doc >> shift] is the number of a stretch at or soon
 * before that of local document doc.
 */
typedef struct SkxDocNumberMap
{
	const SkxDocNumberRange *ranges;
	uint32		nranges;
	const uint32 *index;
	int			shift;
	uint32		ndocs;			/* documents of the source */
} SkxDocNumberMap;

/* Builds the index for ndocs documents; it takes 8 to 16 bytes a stretch. */
extern void skx_invert_map_index(SkxDocNumberMap *map, uint32 ndocs);

/* Postings of one term, in document order. */
typedef struct SkxPostingBatch
{
	int			n;
	uint32		docs[SKX_SUBBLOCK];
	uint16		tf[SKX_SUBBLOCK];
	bool		has_labels;		/* some position has a label other than D */
	uint32		npositions;
	uint16		positions[SKX_SUBBLOCK * SKX_TF_MAX];
} SkxPostingBatch;

typedef struct SkxRunMerge SkxRunMerge;

/*
 * Begins a merge of n cursors.  maps has one map a source.  It is NULL if there
 * is one source whose numbers are final; then they are below ndocs.
 */
extern SkxRunMerge *skx_invert_merge_begin(SkxRunCursor **cursors, int n,
										   const SkxDocNumberMap *maps,
										   uint32 ndocs);

/*
 * Moves to the next term; returns false after the last one.  Fills in *term
 * with its totals over all runs; with maps, term->last_doc means nothing.  The
 * lexeme is valid until the next call.  All postings of the term before must
 * have been taken.
 */
extern bool skx_invert_merge_next(SkxRunMerge *m, SkxRunTerm *term,
								  const char **lexeme);

/*
 * Reads the next SKX_SUBBLOCK postings of the term, or those that are left.
 * Returns false if none is left.
 */
extern bool skx_invert_merge_postings(SkxRunMerge *m,
									  SkxPostingBatch *batch);

/* Writes the current term to the run that `to` is writing. */
extern void skx_invert_merge_copy_postings(SkxRunMerge *m,
										   const SkxRunTerm *term,
										   const char *lexeme,
										   SkxRuns *to);

/* Frees the merge; its cursors stay open. */
extern void skx_invert_merge_end(SkxRunMerge *m);

/* Returns how many runs can be merged at once within `memory` bytes. */
extern int	skx_invert_merge_fanin(Size memory);

/* Returns the bytes of a buffer for each of n cursors. */
extern uint32 skx_invert_merge_buffer(Size memory, int n);

#endif							/* SKX_INVERT_H */
