/*
 * merge_internal.h
 *	  New numbers of documents, and what deleted ones take from terms.
 */
#ifndef SKX_MERGE_INTERNAL_H
#define SKX_MERGE_INTERNAL_H

#include "index/cursor/cursor.h"
#include "index/segment/segment_keys.h"
#include "port/atomics.h"
#include "write/merge/merge.h"
#include "write/writer/writer.h"

/*
 * merge_map.c : new numbers of the documents of segments
 *
 * A segment whose documents stay next to each other needs an offset only
 * (`linear`), others four bytes a document: in memory as far as `memory`
 * goes, the rest in a temporary file, of which each segment has a few pages
 * in memory.  Numbers are put in the order of the old ones, segment by segment
 * or mixed; SKX_NO_DOC for a document that is left out.
 */
typedef struct SkxMergeMaps SkxMergeMaps;

extern SkxMergeMaps *skx_merge_maps_create(const uint32 *ndocs, int nmaps,
										   const bool *linear, Size memory);

/* In shared memory of so many bytes, and in another process. */
extern Size skx_merge_maps_size(const uint32 *ndocs, int nmaps,
								const bool *linear);
extern SkxMergeMaps *skx_merge_maps_shared(const uint32 *ndocs, int nmaps,
										   const bool *linear, void *shared);
extern SkxMergeMaps *skx_merge_maps_attach(int nmaps, void *shared);
extern void skx_merge_maps_put(SkxMergeMaps *maps, int which, uint32 doc);
extern void skx_merge_maps_filled(SkxMergeMaps *maps);

/* New numbers of `n` documents of segment `which`. */
extern void skx_merge_maps_get(SkxMergeMaps *maps, int which,
							   const uint32 *docs, int n, uint32 *to);
extern void skx_merge_maps_free(SkxMergeMaps *maps);

/*
 * merge_dead.c : what the documents left out take from terms
 *
 * Counted before the merge, since a term must be announced with the numbers
 * of its live postings, and its scores need the average length of the live
 * documents.
 */
typedef struct SkxDeadTerm
{
	uint32		ordinal;		/* in the dictionary of the segment */
	uint32		df;				/* dead postings */
	uint64		npositions;		/* theirs */
	uint8		flags;			/* of the live postings */
} SkxDeadTerm;

typedef struct SkxDeadTerms SkxDeadTerms;

extern SkxDeadTerms *skx_merge_dead_create(int nsegments, FileSet *files);

/* The same in another process: shared is what share has filled in. */
extern Size skx_merge_dead_size(int nsegments);
extern void skx_merge_dead_share(SkxDeadTerms *d, void *shared);
extern SkxDeadTerms *skx_merge_dead_attach(int nsegments, FileSet *files,
										   const void *shared);

/* Counts for the bits set in `dead`; returns the documents' length. */
extern uint64 skx_merge_dead_count(SkxDeadTerms *d, int which,
								   SkxSegment *seg, const uint8 *dead);

/* Terms of a segment are asked for in ascending order.  False: all live. */
extern bool skx_merge_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
								SkxDeadTerm *term);
extern void skx_merge_dead_free(SkxDeadTerms *d);

/* Records with ordinals below that were not asked for, or are asked anew. */
extern void skx_merge_dead_from(SkxDeadTerms *d, int which, uint32 ordinal);

/*
 * merge_terms.c : of one process; see merge.h
 *
 * What the basis refers to stays until close.  A range of NULL are all terms.
 */
typedef struct SkxMergeBasis
{
	SkxSegment **inputs;
	int			ninputs;
	SkxMergeMaps *maps;
	const uint8 *norms;			/* of the result; NULL: the inputs' are read */
	SkxDeadTerms *dead;
	pg_atomic_uint64 *done;		/* postings of the inputs, .. */
	uint64		total;			/* .. of so many */
	void		(*progress) (int phase, uint64 done, uint64 total);
} SkxMergeBasis;

extern SkxMergeTerms *skx_merge_terms_open(const SkxMergeBasis *basis);

/*
 * merge_run.c : the steps before the terms
 */

/* An input, and where the merge is in it. */
typedef struct SkxMergeInput
{
	SkxSegment *seg;
	int			number;
	uint8	   *dead;			/* delete bits as of begin; NULL: none */
	uint32	   *npage_dead;		/* how many on each page of them */
	uint32		ndead;

	/* documents */
	uint32		next;			/* the one after those in tids */
	ItemPointerData tids[SKX_TID_GROUP];
	int			ntids;
	int			tid;			/* current one */
	SkxKeyReader **readers;		/* of columns with keys, */
	SkxKey	   *keys;			/* SKX_TID_GROUP of each, those of tids */
} SkxMergeInput;

struct SkxMerge
{
	MemoryContext context;
	Relation	index;
	SkxSegmentOutput out;
	SkxMergeInput *inputs;
	SkxSegment **segments;		/* they, as the caller has them */
	int			ninputs;
	uint64		ndocs;			/* of all inputs */
	uint64		nlive;
	SkxMergeMaps *maps;
	SkxDeadTerms *dead_terms;
	ItemPointerData last_tid;
	uint32	   *input_docs;		/* of each input how many, .. */
	bool	   *linear;			/* .. and whether they stay together */
	uint64		total;			/* postings of the inputs */
};

/* Which documents of the inputs stay together. */
extern void skx_merge_plan_maps(SkxMerge *m);

/* Memory that there is for the maps; may the norms be in memory? */
extern Size skx_merge_map_memory(SkxMerge *m);
extern bool skx_merge_keeps_norms(const SkxMerge *m);

/* With maps, and room for the norms; files: see skx_merge_dead_create. */
extern void skx_merge_documents(SkxMerge *m);
extern void skx_merge_count(SkxMerge *m, FileSet *files);

#endif							/* SKX_MERGE_INTERNAL_H */
