/*
 * plan_words.h
 *	  Words that are searched for in columns of text (plan_words.c), and the
 *	  documents that an index has of such columns (plan_document.c).
 */
#ifndef SKX_PLAN_WORDS_H
#define SKX_PLAN_WORDS_H

#include "sql/plan/plan_internal.h"
#include "utils/relcache.h"

/* plan_bind.c : what distances by queries and by words have in common */

/*
 * Returns the function with this name and n arguments of these types in the
 * schema; InvalidOid if there is none.
 */
extern Oid	skx_plan_function(Oid namespace, const char *name,
							  const Oid *types, int n);

/* Returns the type of references in the schema; InvalidOid: there is none. */
extern Oid	skx_plan_reference_type(Oid namespace);

/*
 * Finds the index for the left operand of the call, and fills in the binding.
 * Returns false if there is none, or if it cannot be told yet; then what is to
 * be put in place of the call is in `unbound`, which is NULL for the call
 * itself.
 */
extern bool skx_plan_find_binding(PlannerInfo *root, FuncExpr *call,
								  SkxBinding *binding, Node **unbound);

/*
 * Returns the distance of the document by the query, a tsquery, and the index
 * of the binding, in place of the call.  Returns NULL if the extension lacks a
 * function that this needs.
 */
extern Node *skx_plan_bound_distance(PlannerInfo *root,
									 const SkxBinding *binding,
									 const FuncExpr *call, Node *document,
									 Node *query);

/*
 * Warns that no distance compares rows of different shards.  A statement may
 * be planned several times, and in parts; it gets one warning.
 */
extern void skx_plan_warn_of_shards(Oid table);

/* plan_document.c */

/*
 * Returns the columns that an operand is made of, one or those of a row,
 * without relabelling: a list of expressions that share memory with it.
 */
extern List *skx_plan_operand_parts(Node *operand);

/*
 * Returns the numbers of these columns, if all of them are columns of a table,
 * as a list of ints; else NIL.
 */
extern List *skx_plan_operand_columns(Node *operand);

/*
 * Returns true, and fills in the form, if the documents of the index's first
 * column are made of these columns of its table by to_tsvector(), or by
 * skipidx_document() beside `operator`, with a constant configuration.  It may
 * be in setweight(), with others of its kind, and with `||` between them; so
 * may texts in it, and these in coalesce().  The columns are those of the
 * whole document, in its order, or one of them that has a label of its own.
 * Returns false for an empty list.
 */
extern bool skx_plan_document_form(Relation table, Relation index,
								   Oid operator, const List *columns,
								   SkxDocumentForm *form);

/*
 * Returns true if documents of operands are made alike by both, and words are
 * parsed alike.
 */
extern bool skx_plan_same_form(const SkxDocumentForm *a,
							   const SkxDocumentForm *b);

/*
 * Returns the document that the index has for an operand of text: the
 * expression of the index, or its generated column where the operand is of the
 * table itself.  Returns NULL if it needs other columns of the table, and the
 * operand comes from a subquery.
 */
extern Node *skx_plan_document(PlannerInfo *root, const SkxBinding *binding,
							   Node *operand);

#endif							/* SKX_PLAN_WORDS_H */
