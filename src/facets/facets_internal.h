/*
 * facets_internal.h
 *	  Between the files of facets/.
 */
#ifndef SKX_FACETS_FACETS_INTERNAL_H
#define SKX_FACETS_FACETS_INTERNAL_H

#include "facets/facets.h"
#include "lib/binaryheap.h"
#include "segment/segment_build.h"
#include "source/source.h"

/*
 * facets_loose.c : values that are counted one by one
 *
 * place: of a row with the value.  sort: ascending, until end, and after the
 * last add; returns how many.  bytes: of memory.
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
								 uint64 place);
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
	SkxTermWalk *walk;
	SkxCursor  *cursor;
	SkxTerm		term;			/* of `lexeme` */
	const SkxFacetLoose *loose;
	int			nloose;
	int			next;
	SkxLexeme	lexeme;			/* that it has come to */
} SkxFacetInput;

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
 * facets_row.c : what the index has of a row, as the owner of the table;
 * valid until the next call
 */
typedef struct SkxFacetRows SkxFacetRows;

extern SkxFacetRows *skx_facets_rows_begin(const SkxCountRequest *request);
extern void skx_facets_rows_get(SkxFacetRows *r, const ItemPointerData *tid,
								Datum *values, bool *isnull);
extern void skx_facets_rows_end(SkxFacetRows *r);

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

#endif							/* SKX_FACETS_FACETS_INTERNAL_H */
