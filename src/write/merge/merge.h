/*
 * merge.h
 *	  One segment from several.
 */
#ifndef SKX_MERGE_H
#define SKX_MERGE_H

#include "storage/fileset.h"
#include "write/writer/writer.h"

/*
 * merge_run.c
 *
 * Interleaves the documents of the inputs by TID, and leaves deleted ones out.
 * The result is what a build from the live documents makes, bit for bit, but
 * for where its pages lie.  A merge takes about 16 kB an input and one bit a
 * document, whatever options->memory says.  The maps from old document numbers
 * to new ones spill to temporary files if they would exceed that.  A TID that
 * is live in two inputs is reported as damage.
 */
typedef struct SkxMerge SkxMerge;

/*
 * Begins a merge, and reads the deleted bits of the inputs as they are.  The
 * inputs stay open until skx_merge_end().
 */
extern SkxMerge *skx_merge_begin(Relation index,
								 const SkxSegmentBuildOptions *options,
								 SkxSegment **inputs,
								 int ninputs);

/*
 * Writes the segment and fills in *ref.  Returns false, and writes nothing, if
 * no document is live.
 */
extern bool skx_merge_run(SkxMerge *m, SkxDiskSegmentRef *ref);

/*
 * Calls visit with the new number of each document that was deleted in an
 * input since its bits were read, by skx_merge_begin() or the last call of
 * this.  It may visit a document again if its page of bits has changed.
 * Returns the number of pages of deleted bits that have changed.  To be called
 * after the segment is written.
 */
extern uint32 skx_merge_visit_new_deletes(SkxMerge *m,
										  void (*visit) (uint32 doc,
														 void *arg),
										  void *arg);

/* Frees the merge, its maps and temporary files. */
extern void skx_merge_end(SkxMerge *m);

/*
 * merge_together.c : several processes write the terms of a merge
 *
 * These functions stand in place of skx_merge_run().  build/ calls them, and
 * decides where the pages of each process go.
 */

/* What one process needs to merge terms. */
typedef struct SkxMergeTerms SkxMergeTerms;

/*
 * Returns the bytes of shared memory that skx_merge_common_create() fills.  0
 * means that this merge may not use so much, or has no live document: then
 * skx_merge_run() is to be called.
 */
extern Size skx_merge_common_size(SkxMerge *m);

/*
 * Writes the documents, and puts maps, norms and what deleted documents take
 * from terms into `shared` and `files`.  One process calls it once.
 */
extern void skx_merge_common_create(SkxMerge *m, void *shared, FileSet *files);

/* Returns the output of the merge, which the caller closes. */
extern SkxSegmentOutput *skx_merge_get_output(SkxMerge *m);

/*
 * Attaches a process, with inputs that it has opened itself in the order of
 * skx_merge_begin().
 */
extern SkxMergeTerms *skx_merge_terms_attach(SkxSegment **inputs, int ninputs,
											 void *shared, FileSet *files,
											 const SkxSegmentBuildOptions *options);

/* Creates a term writer for the norms and average length of the result. */
extern SkxTermWriter *skx_merge_terms_writer(const SkxTermSinks *sinks,
											 const SkxSegmentBuildOptions *options,
											 void *shared);

/*
 * Merges the terms from range[0] up to, but without, range[1] into writer.  A
 * range of NULL means all terms.
 */
extern void skx_merge_terms_write(SkxMergeTerms *t, SkxTermWriter *writer,
								  const SkxLexeme *range);

/* Frees t, and closes its temporary files; the inputs stay open. */
extern void skx_merge_terms_close(SkxMergeTerms *t);

#endif							/* SKX_MERGE_H */
