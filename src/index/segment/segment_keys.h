/*
 * segment_keys.h
 *	  Reads the keys of a column: values of a segment's documents as 64 bits.
 */
#ifndef SKX_SEGMENT_KEYS_H
#define SKX_SEGMENT_KEYS_H

#include "index/column/column_key.h"
#include "index/segment/segment.h"

/* A range of keys, including both ends.  NULL is in no range. */
typedef struct SkxKeyRange
{
	uint64		least;
	uint64		most;
} SkxKeyRange;

/* segment_keys_reader.c : reads keys by document */

/* A reader of the keys of one column of a segment. */
typedef struct SkxKeyReader SkxKeyReader;

/*
 * A node of the tree of keys: documents first to end - 1 of a segment, with
 * their least and most key.  If all keys of a node are NULL, least is above
 * most; those of the root are then both 0.
 */
typedef struct SkxKeyNode
{
	uint64		least;
	uint64		most;
	uint32		first;
	uint32		end;
	uint32		page;			/* of the node; of a group, that of its leaf */
	int			level;			/* 0: a leaf; -1: a group of a leaf */
} SkxKeyNode;

/* Children of a node at most. */
#define SKX_KEY_NODE_CHILDREN	340

/* Sets *root to the node of all documents of the segment. */
extern void skx_segment_keys_root(const SkxKeyReader *reader,
								  SkxKeyNode *root);

/*
 * Sets children to the children of a node and returns how many there are,
 * SKX_KEY_NODE_CHILDREN at most.  The children of a leaf are its groups.  A
 * group has none.
 */
extern int	skx_segment_keys_children(SkxKeyReader *reader,
									  const SkxKeyNode *node,
									  SkxKeyNode *children);

/*
 * Opens the keys of a column of the index, counted from 0.  Returns NULL if
 * the segment has no keys of it.  The result is palloc'd;
 * skx_segment_keys_close() frees it.
 */
extern SkxKeyReader *skx_segment_keys_open(SkxSegment *seg, int column);

/*
 * Opens the keys of a column.  Returns NULL if the segment has no keys of it,
 * or these were made from values in another way than *column says.
 */
extern SkxKeyReader *skx_segment_keys_open_as(SkxSegment *seg,
											  const SkxKeyColumn *column);

/*
 * Does the same as skx_segment_keys_open_as(), but raises the error of
 * skx_segment_keys_raise_missing() instead of returning NULL.
 */
extern SkxKeyReader *skx_segment_keys_require(Relation index, SkxSegment *seg,
											  const SkxKeyColumn *column);

/* Unpins the pages of a reader and frees it. */
extern void skx_segment_keys_close(SkxKeyReader *reader);

/*
 * Raises ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE: a segment of the index has
 * no usable keys of the column, counted from 0.
 */
SKX_NORETURN extern void skx_segment_keys_raise_missing(Relation index,
														int column);

/* Returns the column of a reader; valid until the reader is closed. */
extern const SkxKeyColumn *skx_segment_keys_column(const SkxKeyReader *reader);

/*
 * Returns true if the keys span so few bits (SKX_BETWEEN_WIDTH_MAX) that a
 * range is tested on eight of them at once.  If the keys span more than 32
 * bits, only the bits above the low 32 count.
 */
extern bool skx_segment_keys_are_narrow(const SkxKeyReader *reader);

/* Reads the keys of documents first to first + n - 1 into keys. */
extern void skx_segment_keys_read(SkxKeyReader *reader, uint32 first, int n,
								  SkxKey *keys);

/*
 * Reads the keys of n ascending documents into keys.  Prefetches the leaves
 * with skx_segment_keys_prefetch().
 */
extern void skx_segment_keys_read_docs(SkxKeyReader *reader,
									   const uint32 *docs, int n,
									   SkxKey *keys);

/* segment_keys_range.c : finds the documents whose keys are in a range */

/*
 * Copies the quantiles of the column's keys, ascending, into quantiles and
 * returns how many: SKX_KEY_QUANTILES, or 0 if all keys are NULL.
 */
extern int	skx_segment_keys_quantiles(const SkxKeyReader *reader,
									   uint64 *quantiles);

/*
 * Returns the estimated share, 0 to 1, of the segment's documents whose keys
 * are in the range.  0 means that there are none.
 */
extern double skx_segment_keys_fraction(const SkxKeyReader *reader,
										const SkxKeyRange *range);

/* Number of keys that were tested on a range; per backend, never reset. */
extern PGDLLIMPORT uint64 skx_segment_keys_tested;

/*
 * Returns an estimate of the number of documents whose keys must be tested to
 * find those in the range.  It counts the groups whose least and most key
 * meet the range.  In large trees some inner pages are counted as a whole.
 */
extern uint32 skx_segment_keys_to_test(SkxKeyReader *reader,
									   const SkxKeyRange *range);

/*
 * Returns the first document from `doc` on whose key may be in the range,
 * judged by the least and most key of its group.  Returns SKX_NO_DOC if there
 * is none.
 */
extern uint32 skx_segment_keys_next_candidate(SkxKeyReader *reader,
											  const SkxKeyRange *range,
											  uint32 doc);

/*
 * Copies the documents of one group whose keys are in the range into docs,
 * ascending.  The group is that of `doc`, and only documents from `doc` on
 * and below `limit` are taken.  Sets *n to their number; docs has capacity
 * for SKX_KEY_GROUP_DOCS.  Returns the first document of the next group, or
 * the segment's number of documents after the last group.
 */
extern uint32 skx_segment_keys_next_docs(SkxKeyReader *reader,
										 const SkxKeyRange *range, uint32 doc,
										 uint32 limit, uint32 *docs, int *n);

/*
 * Keeps those of n ascending documents whose keys are in the range, and
 * returns how many are left in docs.
 */
extern int	skx_segment_keys_filter(SkxKeyReader *reader,
									const SkxKeyRange *range, uint32 *docs,
									int n);

/*
 * Sets bit i of `bits` if document window + i has a key in the range, for
 * nwords * 64 documents.  Leaves other bits alone.  window is a multiple of
 * 64.
 */
extern void skx_segment_keys_fill_window(SkxKeyReader *reader,
										 const SkxKeyRange *range,
										 uint32 window,
										 uint64 *bits, int nwords);

/*
 * Clears bit i of `bits` if the key of document window + i is not in the
 * range, for nwords * 64 documents.  window is a multiple of 64.
 */
extern void skx_segment_keys_clear_others(SkxKeyReader *reader,
										  const SkxKeyRange *range,
										  uint32 window,
										  uint64 *bits, int nwords);

/* segment_keys_values.c : reads the values whose keys are in a range */

/*
 * A value of a column with its documents.  These are in docs if the
 * dictionary entry of the value has them; otherwise n is 0, and term has the
 * value's list.
 */
typedef struct SkxKeyValue
{
	uint64		key;
	int			n;				/* documents in docs; 0: term is set */
	uint32		docs[SKX_SUBBLOCK];
	SkxTerm		term;			/* set only if n is 0 */
} SkxKeyValue;

/* A walk over the values of a column. */
typedef struct SkxKeyValues SkxKeyValues;

/*
 * Begins a walk over the values whose keys are in the range: ascending, or
 * descending with `backward`.  If keys are coarse, from and to can limit it
 * to values >= *from and below *to; otherwise both are NULL.  They must stay
 * valid until the end of the walk.  The result is palloc'd.
 */
extern SkxKeyValues *skx_segment_values_begin(const SkxKeyReader *reader,
											  const SkxKeyRange *range,
											  const SkxLexeme *from,
											  const SkxLexeme *to,
											  bool backward);

/* Returns the next value, valid until the next call; NULL after the last. */
extern const SkxKeyValue *skx_segment_values_next(SkxKeyValues *values);

/* Frees a walk, at any time. */
extern void skx_segment_values_end(SkxKeyValues *values);

#endif							/* SKX_SEGMENT_KEYS_H */
