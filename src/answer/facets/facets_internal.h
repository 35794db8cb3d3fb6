/*
 * facets_internal.h
 *	  Between the files of facets/.
 */
#ifndef SKX_FACETS_INTERNAL_H
#define SKX_FACETS_INTERNAL_H

#include "answer/facets/facets.h"
#include "index/segment/segment_maint.h"
#include "index/snapshot/snapshot.h"
#include "lib/binaryheap.h"
#include "port/pg_bitutils.h"

/*
 * facets_loose.c : values that are counted one by one
 *
 * add: count rows, one of which is at place.  sort: ascending, until end, and
 * after the last add; returns how many.  bytes: of memory.
 */
typedef struct SkxFacetLooses SkxFacetLooses;

typedef struct SkxFacetLoose
{
	SkxLexeme	lexeme;			/* first: the key of a hash table */
	uint64		count;
	uint64		place;
} SkxFacetLoose;

extern SkxFacetLooses *skx_facets_loose_begin(void);
extern void skx_facets_loose_add(SkxFacetLooses *l, SkxLexeme value,
								 uint64 count, uint64 place);
extern Size skx_facets_loose_bytes(const SkxFacetLooses *l);
extern int	skx_facets_loose_sort(SkxFacetLooses *l,
								  const SkxFacetLoose **sorted);
extern void skx_facets_loose_end(SkxFacetLooses *l);

/*
 * Rows of a stretch of a segment, as bits: that of document from + i is i.  Or
 * values that were counted one by one, ascending.
 */
typedef struct SkxFacetInput
{
	SkxSegment *seg;			/* NULL: values counted one by one */
	int			number;			/* of the segment in the view */
	uint32		from;			/* a multiple of 64 */
	uint32		to;
	uint32		n;				/* rows */
	uint64	   *bits;
	uint32		counted;		/* columns, a bit each, whose values were
								 * counted one by one */
	SkxTermWalk *walk;
	SkxCursor  *cursor;
	SkxTerm		term;			/* of `lexeme` */
	const SkxFacetLoose *loose;
	int			nloose;
	int			next;
	SkxLexeme	lexeme;			/* that it has come to */
} SkxFacetInput;

/*
 * The next documents among the rows, from word *word of the bits on; at most
 * `most`, which is 64 at least.
 */
static inline int
skx_facets_rows_of(const SkxFacetInput *input, uint32 *word, uint32 *docs,
				   int most)
{
	uint32		nwords = (input->to - input->from + 63) / 64;
	int			n = 0;

	for (; *word < nwords && n <= most - 64; (*word)++)
	{
		uint64		bits = input->bits[*word];

		for (; bits != 0; bits &= bits - 1)
			docs[n++] = input->from + *word * 64 + pg_rightmost_one_pos64(bits);
	}
	return n;
}

/* One row for so many postings makes a seek cheaper than these. */
#define SKX_FACETS_PROBE	16

/*
 * facets_list.c : how many rows of the input its current term has; *first: one
 * of their documents, if there is any
 */
extern uint64 skx_facets_list(SkxFacetInput *input, uint32 *first);

/* A document's row in a place, and that of a pending one. */
#define SKX_FACETS_LOOSE	(UINT64CONST(1) << 63)

static inline uint64
skx_facets_place(const SkxFacetInput *input, uint32 doc)
{
	return (uint64) input->number << 32 | doc;
}

/*
 * facets_row.c : what the index has of a row, in the columns asked for, as the
 * owner of the table; valid until the next call.  Other columns are NULL.
 */
typedef struct SkxFacetRows SkxFacetRows;

extern SkxFacetRows *skx_facets_rows_begin(const SkxFacetsRequest *request);
extern void skx_facets_rows_get(SkxFacetRows *r, const ItemPointerData *tid,
								Datum *values, bool *isnull);
extern void skx_facets_rows_end(SkxFacetRows *r);

/*
 * facets_cost.c : what tells values for less than lists, of a column or of those
 * asked for that were not counted yet
 */
extern bool skx_facets_keys_cost_less(const SkxFacetInput *input, int column);
extern bool skx_facets_rows_cost_less(const SkxFacetInput *input,
									  const SkxFacetsRequest *request);

/*
 * facets_keys.c : values of an input's rows in a column, by their keys
 *
 * begin: NULL if the column has none, or if its lists cost less.  some: adds
 * those of some rows to what is counted one by one; false: none were left.
 */
typedef struct SkxFacetKeys SkxFacetKeys;

extern SkxFacetKeys *skx_facets_keys_begin(const SkxFacetInput *input,
										   int column);
extern bool skx_facets_keys_some(SkxFacetKeys *k, SkxFacetLooses *loose);
extern void skx_facets_keys_end(SkxFacetKeys *k);

/*
 * facets_merge.c : the values of several inputs, column by column, each once
 */
typedef struct SkxFacetMerge
{
	SkxFacetInput *inputs;
	int			ninputs;
	int			ncolumns;
	const int  *columns;
	int			at;				/* which column */
	binaryheap *heap;			/* inputs with values of it left, the least
								 * first */
	char		bytes[MAXSTRLEN];	/* of the value given last */
} SkxFacetMerge;

extern void skx_facets_merge_begin(SkxFacetMerge *m);
extern bool skx_facets_merge_next(SkxFacetMerge *m, SkxFacet *facet);
extern void skx_facets_merge_end(SkxFacetMerge *m);

/* The lexemes of a column from the first on, its NULL, and below the last. */
typedef struct SkxFacetBounds
{
	char		bytes[2][SKX_VALUE_HEAD];
	SkxLexeme	ends[2];
} SkxFacetBounds;

static inline void
skx_facets_bounds(int column, SkxFacetBounds *bounds)
{
	static const uint8 kinds[2] = {SKX_VALUE_NULL, SKX_VALUE_EMPTY};
	int			i;

	for (i = 0; i < 2; i++)
	{
		bounds->bytes[i][0] = '\0';
		bounds->bytes[i][1] = (char) (column + 1);
		bounds->bytes[i][2] = (char) kinds[i];
		bounds->ends[i].bytes = bounds->bytes[i];
		bounds->ends[i].len = SKX_VALUE_HEAD;
	}
}

#endif							/* SKX_FACETS_INTERNAL_H */
