/*
 * document.h
 *	  The document that an index has of a row: the tsvector of its text, in the
 *	  one form that the rest of the code expects, with the values of the other
 *	  columns.  Also the evaluation of an index's expressions.
 */
#ifndef SKX_DOCUMENT_H
#define SKX_DOCUMENT_H

#include "index/column/column.h"
#include "storage/itemptr.h"
#include "tsearch/ts_type.h"
#include "utils/rel.h"

/*
 * document_vector.c : the form of a tsvector in the index
 *
 * In this form lexemes ascend and differ.  Positions of a lexeme ascend and
 * differ, and are 1 to MAXNUMPOS where it has any.
 */

/*
 * Returns `value` itself if it has that form, else a copy that has it, in the
 * current memory context.  Raises an error if the value is malformed, has a
 * lexeme that begins with a zero byte, or needs a copy that is too long.  An
 * error for a malformed value names the row `tid`, unless tid is NULL.
 */
extern TSVector skx_document_vector(TSVector value,
									const ItemPointerData *tid);

/* Does the same for a datum, which it detoasts.  Returns NULL if isnull. */
extern TSVector skx_document_datum(Datum value, bool isnull,
								   const ItemPointerData *tid);

/*
 * Frees a result of skx_document_datum(), unless that is `value` itself or
 * NULL.
 */
extern void skx_document_free(TSVector vector, Datum value);

/*
 * Checks nbytes bytes that should be a tsvector.  Returns NULL if they are
 * one, else words that follow "tsvector " in a message.  Sets *as_taken to
 * true if skx_document_vector() would return the value as it is.
 */
extern const char *skx_document_check_vector(const char *bytes, Size nbytes,
											 bool *as_taken);

/*
 * Writes entry `at` of a vector that is zero there: a lexeme that begins at
 * offset `used`, with npos positions, or none.  Returns the offset where these
 * end.  The vector must have size and memory.  Raises an error if `used` is
 * more than a tsvector can have.
 */
extern Size skx_document_put_entry(TSVector to, int at, Size used,
								   const SkxLexeme *lexeme,
								   const WordEntryPos *positions, int npos);

/* document_owner.c : evaluation of an index's expressions and predicate */

/* User and settings before skx_document_owner_begin(). */
typedef struct SkxDocumentOwnerState
{
	Oid			user;
	int			context;
	int			guc_nest_level;
} SkxDocumentOwnerState;

/*
 * Switches to the owner of the table, in a security-restricted operation with
 * its own level of settings and a restricted search path.  Code that runs
 * until skx_document_owner_end() cannot keep settings, nor leave anything to
 * run later.  An error ends that state, too.
 */
extern void skx_document_owner_begin(SkxDocumentOwnerState *state,
									 Relation heap);

/*
 * Switches back to the user and the settings before
 * skx_document_owner_begin().
 */
extern void skx_document_owner_end(const SkxDocumentOwnerState *state);

/*
 * Raises an error (42501) if a caller with fewer rights than the table's owner
 * wants an index's expressions evaluated.  Expressions that call only compiled
 * functions, and check no domain, are allowed.  A function that requires only
 * SELECT of its caller must call this before skx_document_owner_begin().
 */
extern void skx_document_check_caller(Relation heap, Relation index,
									  List *expressions);

/* Returns true if the caller may have all the index's expressions evaluated. */
extern bool skx_document_may_read(Relation heap, Relation index);

/* A row of the table, see executor/tuptable.h. */
struct TupleTableSlot;

/*
 * Evaluates the index's text column for the row in `slot`, as the owner of the
 * table.  Returns it in the current memory context, without values of other
 * columns, or NULL if it is NULL.  Raises the errors of
 * skx_document_check_caller() and skx_document_vector().
 */
extern TSVector skx_document_read(Relation heap, Relation index,
								  struct TupleTableSlot *slot);

/* document_row.c : a row as one document */

/*
 * Returns the document with the lexemes of `values` (NULL: none) and of `text`
 * (NULL: the text is NULL), in the current memory context.  Returns `text`
 * itself if `values` is NULL and the text is not.  Raises an error if the
 * document is too long.
 */
extern TSVector skx_document_join(TSVector values, TSVector text);

/*
 * Returns the document of a row, given the values of all index columns;
 * values[0] is the text.  `tid` names the row in error messages.  The result
 * may be values[0] itself.  skx_document_release() frees it.
 */
extern TSVector skx_document_make(const SkxColumns *columns,
								  const Datum *values,
								  const bool *isnull,
								  const ItemPointerData *tid);

/* Frees a result of skx_document_make() for the same values. */
extern void skx_document_release(TSVector document, const Datum *values,
								 const bool *isnull);

/*
 * Returns a document's text alone, in the current memory context.  Returns the
 * document itself if it has no values.
 */
extern TSVector skx_document_without_values(TSVector document);

#endif							/* SKX_DOCUMENT_H */
