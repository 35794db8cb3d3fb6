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
 * A segment whose documents all stay next to each other needs only an offset:
 * its map is linear.  Another map takes four bytes a document.  SKX_NO_DOC
 * stands for a document that is left out.
 */
typedef struct SkxMergeMaps SkxMergeMaps;

/*
 * Creates maps for nmaps segments with ndocs[i] documents each.  If they would
 * take more than `memory` bytes they go to a temporary file, and each keeps
 * some pages of it in memory.
 */
extern SkxMergeMaps *skx_merge_maps_create(const uint32 *ndocs, int nmaps,
										   const bool *linear, Size memory);

/*
 * Returns the bytes of shared memory that skx_merge_maps_create_shared()
 * fills.
 */
extern Size skx_merge_maps_size(const uint32 *ndocs, int nmaps,
								const bool *linear);

/* Creates maps in shared memory. */
extern SkxMergeMaps *skx_merge_maps_create_shared(const uint32 *ndocs,
												  int nmaps,
												  const bool *linear,
												  void *shared);

/* Attaches another process to maps in shared memory, when they are filled. */
extern SkxMergeMaps *skx_merge_maps_attach(int nmaps, void *shared);

/*
 * Sets the new number of the next document of segment `which`.  Old numbers of
 * a segment ascend from 0; calls for several segments may alternate.
 */
extern void skx_merge_maps_add(SkxMergeMaps *maps, int which, uint32 doc);

/* Raises an error unless all documents of all segments have a number. */
extern void skx_merge_maps_check_complete(SkxMergeMaps *maps);

/* Reads the new numbers of n documents of segment `which` into `to`. */
extern void skx_merge_maps_get(SkxMergeMaps *maps, int which,
							   const uint32 *docs, int n, uint32 *to);

/* Closes the temporary file; the memory is that of the current context. */
extern void skx_merge_maps_free(SkxMergeMaps *maps);

/*
 * merge_dead.c : what deleted documents take from terms
 *
 * It is counted before the terms are merged.  A term begins with the number of
 * its live postings, and impacts need the average length of live documents.
 */

/* What deleted documents take from one term. */
typedef struct SkxDeadTerm
{
	uint32		ordinal;		/* in the dictionary of the segment */
	uint32		df;				/* postings of deleted documents */
	uint64		npositions;		/* positions in these */
	uint8		flags;			/* SKX_TERM_LABELS, _BARE of live postings */
} SkxDeadTerm;

typedef struct SkxDeadTerms SkxDeadTerms;

/*
 * Creates the counts of nsegments segments.  files is NULL if one process
 * needs them, else it takes a file that others can open.
 */
extern SkxDeadTerms *skx_merge_dead_create(int nsegments, FileSet *files);

/* Returns the bytes that skx_merge_dead_share() fills. */
extern Size skx_merge_dead_size(int nsegments);

/* Ends counting, and fills `shared` with where each segment's counts lie. */
extern void skx_merge_dead_share(SkxDeadTerms *d, void *shared);

/* Opens the counts in another process. */
extern SkxDeadTerms *skx_merge_dead_attach(int nsegments, FileSet *files,
										   const void *shared);

/*
 * Counts what the documents with a bit set in `dead` take from the terms of
 * segment `which`.  Returns the sum of their lengths.
 */
extern uint64 skx_merge_dead_count(SkxDeadTerms *d, int which,
								   SkxSegment *seg, const uint8 *dead);

/*
 * Fills in *term for the term with this ordinal.  Ordinals of a segment must
 * ascend from call to call.  Returns false if no deleted document has the term.
 */
extern bool skx_merge_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
								SkxDeadTerm *term);

/* Closes the temporary file; the memory is that of the current context. */
extern void skx_merge_dead_free(SkxDeadTerms *d);

/* Makes `ordinal`, in any order, the next one for skx_merge_dead_term(). */
extern void skx_merge_dead_seek(SkxDeadTerms *d, int which, uint32 ordinal);

/*
 * merge_terms.c : terms that one process merges
 */

/* What a merge of terms reads; all of it stays valid until it is closed. */
typedef struct SkxMergeTermSource
{
	SkxSegment **inputs;
	int			ninputs;
	SkxMergeMaps *maps;
	const uint8 *norms;			/* of the result; NULL: the inputs' are read */
	SkxDeadTerms *dead_terms;
	pg_atomic_uint64 *merged_postings;	/* postings of the inputs merged so
										 * far */
	uint64		total_postings; /* postings of the inputs */
	void		(*progress) (int phase, uint64 done, uint64 total);
} SkxMergeTermSource;

/* Opens the terms of all inputs. */
extern SkxMergeTerms *skx_merge_terms_open(const SkxMergeTermSource *basis);

/*
 * merge_run.c : the steps before the terms
 */

/* An input, and the next document of it to be merged. */
typedef struct SkxMergeInput
{
	SkxSegment *seg;
	int			number;
	uint8	   *deleted;		/* deleted bits as of skx_merge_begin(); NULL
								 * if none is set */
	uint32	   *page_ndeleted;	/* number of bits set on each of their pages */
	uint32		ndeleted;		/* deleted documents */

	/* documents */
	uint32		next_doc;		/* first document behind those in tids */
	ItemPointerData tids[SKX_TID_GROUP_DOCS];
	int			ntids;
	int			tid;			/* index in tids of the current document */
	SkxKeyReader **readers;		/* one a column with keys */
	SkxKey	   *keys;			/* SKX_TID_GROUP_DOCS a column: keys of tids */
} SkxMergeInput;

struct SkxMerge
{
	MemoryContext context;
	Relation	index;
	SkxSegmentOutput out;
	SkxMergeInput *inputs;
	SkxSegment **segments;		/* the inputs as the caller passed them */
	int			ninputs;
	uint64		ndocs;			/* documents of all inputs */
	uint64		nlive;			/* those that are not deleted */
	SkxMergeMaps *maps;
	SkxDeadTerms *dead_terms;
	ItemPointerData last_tid;
	uint32	   *input_docs;		/* number of documents of each input */
	bool	   *is_linear;		/* true: they stay next to each other */
	uint64		total;			/* postings of the inputs */
};

/* Fills in input_docs and linear. */
extern void skx_merge_plan_maps(SkxMerge *m);

/* Returns the bytes of memory that the maps may take. */
extern Size skx_merge_map_memory(SkxMerge *m);

/* Returns true if the norms of the result may be kept in memory. */
extern bool skx_merge_keeps_norms(const SkxMerge *m);

/*
 * Writes the documents in the order of their TIDs and fills the maps, which
 * the caller has created.
 */
extern void skx_merge_documents(SkxMerge *m);

/*
 * Counts what deleted documents take from terms, and the length of the live
 * documents.  files: see skx_merge_dead_create().
 */
extern void skx_merge_count(SkxMerge *m, FileSet *files);

#endif							/* SKX_MERGE_INTERNAL_H */
