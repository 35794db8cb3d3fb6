/*
 * segment_keys.h
 *	  Reading the keys of a column: values of a segment's documents.
 *
 * Ranges are from a least to a most key, both in it.  No NULL is in one.
 */
#ifndef SKX_SEGMENT_KEYS_H
#define SKX_SEGMENT_KEYS_H

#include "index/column/column_key.h"
#include "index/segment/segment.h"

typedef struct SkxKeyRange
{
	uint64		least;
	uint64		most;
} SkxKeyRange;

/*
 * segment_keys_reader.c, segment_keys_range.c
 *
 * open: of a column of the index, from 0; NULL: the segment has no keys of it.
 * made: only of one whose forms become keys in that way; needed: errors out where
 * it would be NULL.  column: in which.
 * read: of documents first, first + 1, ...; of: of ascending ones.
 * quantiles puts those of the keys, ascending, SKX_KEY_QUANTILES, and returns how
 * many: none, if all are NULL.
 * share: of the documents, how many are in the range, about; 0: none is.  met:
 * documents whose keys would have to be looked at to find those, about.
 * next: the first document from `doc` on that may be in the range, SKX_NO_DOC:
 * none is.  take: those of the group of `doc` from there on that are, ascending,
 * below `limit`; returns the first document of the next group.  filter keeps
 * those of n ascending documents that are.  fill sets the bits of a window
 * (bit of document window + i is i) of those that are; restrict clears those of
 * documents that are not.  A window begins with a multiple of 64.
 */
typedef struct SkxKeyReader SkxKeyReader;

/*
 * Documents first to end - 1 of a segment, with what their keys lie between; of
 * NULLs alone the least is above the most.  root has all; children takes one
 * apart, and returns how many there are, SKX_KEY_NODE_CHILDREN at most: those of
 * a leaf (level 0) are its groups, which have none.
 */
typedef struct SkxKeyNode
{
	uint64		least;
	uint64		most;
	uint32		first;
	uint32		end;
	uint32		page;
	int			level;			/* -1: a group */
} SkxKeyNode;

#define SKX_KEY_NODE_CHILDREN	340

extern void skx_segment_keys_root(const SkxKeyReader *reader,
								  SkxKeyNode *root);
extern int	skx_segment_keys_children(SkxKeyReader *reader,
									  const SkxKeyNode *node,
									  SkxKeyNode *children);

extern SkxKeyReader *skx_segment_keys_open(SkxSegment *seg, int column);
extern SkxKeyReader *skx_segment_keys_made(SkxSegment *seg,
										   const SkxKeyColumn *column);
extern SkxKeyReader *skx_segment_keys_needed(Relation index, SkxSegment *seg,
											 const SkxKeyColumn *column);
extern void skx_segment_keys_close(SkxKeyReader *reader);

/* Errors out: a segment has no such keys of a column of the index, from 0. */
SKX_NORETURN extern void skx_segment_keys_missing(Relation index, int column);
extern const SkxKeyColumn *skx_segment_keys_column(const SkxKeyReader *reader);

/* Do they differ in so few bits that eight are tested at once? */
extern bool skx_segment_keys_narrow(const SkxKeyReader *reader);
extern void skx_segment_keys_read(SkxKeyReader *reader, uint32 first, int n,
								  SkxKey *keys);
extern void skx_segment_keys_of(SkxKeyReader *reader, const uint32 *docs,
								int n, SkxKey *keys);
extern int	skx_segment_keys_quantiles(const SkxKeyReader *reader,
									   uint64 *quantiles);
extern double skx_segment_keys_share(const SkxKeyReader *reader,
									 const SkxKeyRange *range);

/* Keys that ranges were tested on; counted per backend and never reset. */
extern PGDLLIMPORT uint64 skx_segment_keys_tested;

extern uint32 skx_segment_keys_met(SkxKeyReader *reader,
								   const SkxKeyRange *range);
extern uint32 skx_segment_keys_next(SkxKeyReader *reader,
									const SkxKeyRange *range, uint32 doc);
extern uint32 skx_segment_keys_take(SkxKeyReader *reader,
									const SkxKeyRange *range, uint32 doc,
									uint32 limit, uint32 *docs, int *n);
extern int	skx_segment_keys_filter(SkxKeyReader *reader,
									const SkxKeyRange *range, uint32 *docs,
									int n);
extern void skx_segment_keys_fill(SkxKeyReader *reader,
								  const SkxKeyRange *range, uint32 window,
								  uint64 *bits, int nwords);
extern void skx_segment_keys_restrict(SkxKeyReader *reader,
									  const SkxKeyRange *range, uint32 window,
									  uint64 *bits, int nwords);

/*
 * segment_keys_values.c : the values whose keys are in a range, from the least
 * one up, or from the most down
 *
 * from, to: where keys are coarse, values from one on and below the other; else
 * NULL.  next: NULL, there is none any more; valid until the next call.  A value has its
 * documents where they stand in the dictionary, else the term of its list.
 */
typedef struct SkxKeyValue
{
	uint64		key;
	int			n;				/* documents; 0: look at the term */
	uint32		docs[SKX_SUBBLOCK];
	SkxTerm		term;
} SkxKeyValue;

typedef struct SkxKeyValues SkxKeyValues;

extern SkxKeyValues *skx_segment_values_begin(const SkxKeyReader *reader,
											  const SkxKeyRange *range,
											  const SkxLexeme *from,
											  const SkxLexeme *to,
											  bool backward);
extern const SkxKeyValue *skx_segment_values_next(SkxKeyValues *values);
extern void skx_segment_values_end(SkxKeyValues *values);

#endif							/* SKX_SEGMENT_KEYS_H */
