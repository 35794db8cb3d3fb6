/*
 * merge_internal.h
 *	  New numbers of documents, and what deleted ones take from terms.
 */
#ifndef SKX_MERGE_INTERNAL_H
#define SKX_MERGE_INTERNAL_H

#include "cursor/cursor.h"
#include "merge/merge.h"
#include "segment/segment_keys.h"
#include "segment/segment_writer.h"

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

extern SkxDeadTerms *skx_merge_dead_create(int nsegments);

/* Counts for the bits set in `dead`; returns the documents' length. */
extern uint64 skx_merge_dead_count(SkxDeadTerms *d, int which,
								   SkxSegment *seg, const uint8 *dead);

/* Terms of a segment are asked for in ascending order.  False: all live. */
extern bool skx_merge_dead_term(SkxDeadTerms *d, int which, uint32 ordinal,
								SkxDeadTerm *term);
extern void skx_merge_dead_free(SkxDeadTerms *d);

#endif							/* SKX_MERGE_INTERNAL_H */
