/*
 * document.h
 *	  What an index has of a row: its tsvector, in the one form that the rest
 *	  knows, the values of other columns with it, and the evaluation of an
 *	  index's expressions.
 */
#ifndef SKX_DOCUMENT_H
#define SKX_DOCUMENT_H

#include "index/column/column.h"
#include "storage/itemptr.h"
#include "tsearch/ts_type.h"
#include "utils/rel.h"

/*
 * document_vector.c
 *
 * Returns `value`, or what the index takes in its stead, in the current memory
 * context: lexemes ascend and differ, positions of a lexeme ascend and differ,
 * and are 1 to MAXNUMPOS where it has any.  What cannot be read so is an
 * error; it names the row, unless `tid` is NULL.
 */
extern TSVector skx_document_vector(TSVector value,
									const ItemPointerData *tid);

/* Of a column or an argument; NULL for NULL, else as above and detoasted. */
extern TSVector skx_document_datum(Datum value, bool isnull,
								   const ItemPointerData *tid);

/* Frees what skx_document_datum returned, if that is not `value` itself. */
extern void skx_document_free(TSVector vector, Datum value);

/*
 * What is wrong with `nbytes` bytes that should be the tsvector itself: words
 * to follow "tsvector ", or NULL.  Set *as_taken if skx_document_vector would
 * return it as it is.
 */
extern const char *skx_document_vector_wrong(const char *bytes, Size nbytes,
											 bool *as_taken);

/*
 * document_owner.c
 *
 * Between the two, whatever code an index's expressions and predicate run is
 * run as the owner of the table, and can neither keep settings nor leave
 * anything to be run later.  An error ends it, too.
 */
typedef struct SkxOwnerState
{
	Oid			user;
	int			context;
	int			nest;
} SkxOwnerState;

extern void skx_document_owner_begin(SkxOwnerState *state, Relation heap);
extern void skx_document_owner_end(const SkxOwnerState *state);

/*
 * Refuses (42501) to have expressions of an index evaluated for a caller that
 * has less rights than the owner, unless all they call is compiled.  Before
 * owner_begin, by functions that a caller needs no more than SELECT for.
 */
extern void skx_document_check_caller(Relation heap, Relation index,
									  List *expressions);

/*
 * What the index has, or would have, of the row in `slot`: its one column, in
 * the current memory context; NULL: that is NULL.  As the owner.
 */
struct TupleTableSlot;
extern TSVector skx_document_read(Relation heap, Relation index,
								  struct TupleTableSlot *slot);

/*
 * document_row.c
 *
 * document: of a row's values (NULL: none) and its text (NULL: that is NULL);
 * the text itself if there is nothing to add.  row_document: of what the index
 * has of a row; free returns what it took.  without_values: the text alone; the
 * document itself if it has no value.
 */
extern TSVector skx_document_join(TSVector values, TSVector text);
extern TSVector skx_document_make(const SkxColumns *columns,
								  const Datum *values,
								  const bool *isnull,
								  const ItemPointerData *tid);
extern void skx_document_release(TSVector document, const Datum *values,
								 const bool *isnull);
extern TSVector skx_document_without_values(TSVector document);

#endif							/* SKX_DOCUMENT_H */
