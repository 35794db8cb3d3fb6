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
 * Documents of the inputs are interleaved by TID, deleted ones left out; the
 * result is the same as building from the live documents, bit for bit but for
 * where its pages lie.  Memory: some 16 kB an input and a bit a document
 * whatever options->memory says; the maps from old documents to new ones are
 * spilled to temporary files when they would pass it.  The inputs stay open
 * until end.  A TID that is live in two inputs is reported as damage.
 */
typedef struct SkxMerge SkxMerge;

/*
 * Takes the delete bits of the inputs as they are now.  Returns false, and
 * nothing is written, when no document is live.
 */
extern SkxMerge *skx_merge_begin(Relation index,
								 const SkxSegmentBuildOptions *options,
								 SkxSegment **inputs,
								 int ninputs);
extern bool skx_merge_run(SkxMerge *m, SkxDiskSegmentRef *ref);

/*
 * After run: calls `visit` with the new number of every document that was
 * marked deleted in an input after begin, or the last call of this, read its
 * bits; and again with those that it was called with, on pages that have
 * changed since.  Returns how many pages of delete bits have; others are only
 * counted.
 */
extern uint32 skx_merge_late(SkxMerge *m,
							 void (*visit) (uint32 doc, void *arg),
							 void *arg);
extern void skx_merge_end(SkxMerge *m);

/*
 * merge_together.c : instead of run, where several processes write the terms
 *
 * size is how much shared memory they need; 0: it would be more than this merge
 * may have, so run it is.  common does all that comes before the terms.  Each
 * process attaches with inputs of its own, and writes ranges of terms, from
 * range[0] on and below range[1], to writers of its own; what becomes of these,
 * and of the output, is the caller's (build/).  After all that, late and end.
 */
typedef struct SkxMergeTerms SkxMergeTerms;

extern Size skx_merge_common_size(SkxMerge *m);
extern void skx_merge_common(SkxMerge *m, void *shared, FileSet *files);
extern SkxSegmentOutput *skx_merge_output(SkxMerge *m);
extern SkxMergeTerms *skx_merge_terms_attach(SkxSegment **inputs, int ninputs,
											 void *shared, FileSet *files,
											 const SkxSegmentBuildOptions *options);
extern SkxTermWriter *skx_merge_terms_writer(const SkxTermSinks *sinks,
											 const SkxSegmentBuildOptions *options,
											 void *shared);
extern void skx_merge_terms_write(SkxMergeTerms *t, SkxTermWriter *writer,
								  const SkxLexeme *range);
extern void skx_merge_terms_close(SkxMergeTerms *t);

#endif							/* SKX_MERGE_H */
