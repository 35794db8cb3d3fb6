/*
 * facets_internal.h
 *	  Declarations that the files of facets/ share.
 */
#ifndef SKX_FACETS_INTERNAL_H
#define SKX_FACETS_INTERNAL_H

#include "answer/facets/facets.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "support/bitset/bitset.h"

/* facets_loose.c : values that are counted one by one, in a hash table */

/* A hash table of values with their counts. */
typedef struct SkxFacetHash SkxFacetHash;

/* A value in the hash table, with the number of its rows. */
typedef struct SkxFacetHashEntry
{
	SkxLexeme	lexeme;			/* first: the key of the hash table */
	uint64		count;
	uint64		row;			/* one of the rows, as in SkxFacet */
} SkxFacetHashEntry;

/* Makes an empty hash table, in the current memory context. */
extern SkxFacetHash *skx_facets_hash_create(void);

/*
 * Adds `count` rows that have the value, one of which is at `place`.  Copies
 * the value.
 */
extern void skx_facets_hash_add(SkxFacetHash *l, SkxLexeme value,
								uint64 count, uint64 place);

/* Returns how many rows with a value were added. */
extern uint64 skx_facets_hash_count(const SkxFacetHash *l,
									const SkxLexeme *value);

/* Returns the memory of the hash table in bytes. */
extern Size skx_facets_hash_bytes(const SkxFacetHash *l);

/*
 * Sets *sorted to an array of all values, ascending by their lexemes, and
 * returns their number.  The array is valid until skx_facets_hash_free(), and
 * lacks values that are added later.
 */
extern int	skx_facets_hash_sort(SkxFacetHash *l,
								 const SkxFacetHashEntry **sorted);

/* Frees the hash table, and with it the array of sorted values. */
extern void skx_facets_hash_free(SkxFacetHash *l);

/*
 * An input of the merge of values.  It is either a range of documents of a
 * segment, whose rows are set bits, or the sorted values that were counted
 * one by one.
 */
typedef struct SkxFacetInput
{
	SkxSegment *seg;			/* NULL: values counted one by one */
	int			number;			/* of the segment in the view */
	uint32		from;			/* first document, a multiple of 64 */
	uint32		to;				/* end of the documents */
	uint32		n;				/* number of rows */
	uint64	   *bits;			/* bit i: document from + i is a row */
	uint32		counted_columns;	/* bit i: values of column i were counted
									 * one by one */
	SkxTermWalk *term_walk;
	SkxCursor  *cursor;
	SkxTerm		term;			/* term of `lexeme` */
	const SkxFacetHashEntry *hashed;	/* values counted one by one */
	int			nhashed;
	int			next;			/* index in `hashed` behind that of `lexeme` */
	SkxLexeme	lexeme;			/* current value of the input */
} SkxFacetInput;

/*
 * Puts the next documents that are rows of the input into docs, and returns
 * their number, or 0 if there are no more.  Begins at word *word of the bits,
 * which is 0 at first, and advances it.  `most` is the capacity of docs, at
 * least 64.
 */
static inline int
skx_facets_input_rows(const SkxFacetInput *input, uint32 *word, uint32 *docs,
					  int most)
{
	return skx_bitset_list(input->bits,
						   SKX_BITSET_WORDS(input->to - input->from), word,
						   input->from, docs, most);
}

/* Least number of documents that have bits, however small work_mem is. */
#define SKX_FACETS_BITMAP_MIN	65536

/* Returns how many documents have bits at most: these are half of work_mem. */
static inline uint32
skx_facets_max_bits(void)
{
	return (uint32) Min(Max((uint64) work_mem * 1024 / 2 * 8,
							SKX_FACETS_BITMAP_MIN), PG_UINT32_MAX / 2);
}

/* facets_list.c : counts rows by a posting list */

/*
 * Returns how many rows of the input have its current term, and sets *first
 * to the document of one of them, if there is any.
 */
extern uint64 skx_facets_count_term(SkxFacetInput *input, uint32 *first);

/*
 * Flag of a place that holds the tid of a pending document.  Other places
 * hold the number of a segment and a document of it.
 */
#define SKX_FACETS_PENDING_ROW	(UINT64CONST(1) << 63)

/* Returns the place of the row of a document of the input. */
static inline uint64
skx_facets_document_row(const SkxFacetInput *input, uint32 doc)
{
	return (uint64) input->number << 32 | doc;
}

/* facets_row.c : values of index columns, computed from rows of the table */

/* A reader of rows. */
typedef struct SkxFacetRows SkxFacetRows;

/*
 * Opens a reader for the columns of a request, which must stay valid.  Errors
 * out if the user may not have the expressions of these columns evaluated
 * (skx_document_check_caller()).
 */
extern SkxFacetRows *skx_facets_rows_begin(const SkxFacetsRequest *request);

/*
 * Sets values and isnull, which have an entry for each column of the index,
 * to those of a row.  Columns that were not requested are NULL.  Expressions
 * are evaluated as the owner of the table.  Values are valid until the next
 * call.  Errors out (ERRCODE_INDEX_CORRUPTED) if the snapshot sees no row at
 * `tid`.
 */
extern void skx_facets_rows_get(SkxFacetRows *r, const ItemPointerData *tid,
								Datum *values, bool *isnull);

/* Closes a reader and frees it. */
extern void skx_facets_rows_end(SkxFacetRows *r);

/* facets_cost.c : estimates of what costs less than posting lists */

/*
 * Returns true if it costs less to read the keys of the input's rows in a
 * column than to read the posting lists of the column.
 */
extern bool skx_facets_keys_are_cheaper(const SkxFacetInput *input,
										int column);

/*
 * Returns true if it costs less to fetch the input's rows from the table than
 * to read the posting lists of all requested columns that are not in
 * input->counted_columns.
 */
extern bool skx_facets_rows_are_cheaper(const SkxFacetInput *input,
										const SkxFacetsRequest *request);

/* facets_keys.c : values of an input's rows in a column, by their keys */

/* An iterator over the rows of an input that reads their keys. */
typedef struct SkxFacetKeys SkxFacetKeys;

/*
 * Begins to read the keys of a column.  Returns NULL if the segment has none,
 * if they are coarse, or if the posting lists of the column cost less.
 */
extern SkxFacetKeys *skx_facets_keys_begin(const SkxFacetInput *input,
										   int column);

/*
 * Adds the values of some rows to `loose`.  Returns false if none are left.
 */
extern bool skx_facets_keys_next(SkxFacetKeys *k, SkxFacetHash *loose);

/* Closes the keys and frees the iterator. */
extern void skx_facets_keys_end(SkxFacetKeys *k);

/* facets_merge.c : merges the values of several inputs */

/*
 * A merge of inputs, which returns their values column by column, each once.
 * The caller sets inputs and columns.
 */
typedef struct SkxFacetMerge
{
	SkxFacetInput *inputs;
	int			ninputs;
	int			ncolumns;
	const int  *columns;		/* as in SkxFacetsRequest */
	int			current_column; /* index of the current column */
	binaryheap *heap;			/* inputs that have values of it left, that
								 * with the least value first */
	char		bytes[MAXSTRLEN];	/* of the value returned last */
} SkxFacetMerge;

/* Begins a merge, in the current memory context. */
extern void skx_facets_merge_begin(SkxFacetMerge *m);

/*
 * Sets *facet to the next value that rows of the inputs have.  Returns false
 * if there are no more.  Leaves out columns of an input that are in its
 * `counted_columns`.
 */
extern bool skx_facets_merge_next(SkxFacetMerge *m, SkxFacet *facet);

/*
 * Closes what skx_facets_merge_begin() has opened.  Does not free the inputs.
 */
extern void skx_facets_merge_end(SkxFacetMerge *m);

/*
 * The range of the lexemes of a column, without the empty array: from
 * ends[0], its NULL, to below ends[1].
 */
typedef struct SkxFacetBounds
{
	char		bytes[2][SKX_VALUE_HEAD_BYTES]; /* bytes of `ends` */
	SkxLexeme	ends[2];
} SkxFacetBounds;

/* Sets *bounds to those of a column, which is counted from 0. */
static inline void
skx_facets_column_bounds(int column, SkxFacetBounds *bounds)
{
	static const uint8 kinds[2] = {SKX_VALUE_NULL, SKX_VALUE_EMPTY};
	int			i;

	for (i = 0; i < 2; i++)
	{
		bounds->bytes[i][0] = '\0';
		bounds->bytes[i][1] = (char) (column + 1);
		bounds->bytes[i][2] = (char) kinds[i];
		bounds->ends[i].bytes = bounds->bytes[i];
		bounds->ends[i].len = SKX_VALUE_HEAD_BYTES;
	}
}

#endif							/* SKX_FACETS_INTERNAL_H */
