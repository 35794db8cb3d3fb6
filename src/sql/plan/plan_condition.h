/*
 * plan_condition.h
 *	  What the index knows of a query: the index of an expression, the
 *	  conditions that an index answers, and the rows that meet them.
 */
#ifndef SKX_PLAN_CONDITION_H
#define SKX_PLAN_CONDITION_H

#include "nodes/parsenodes.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "tsearch/ts_type.h"

/* plan_simplify.c */

/*
 * Returns the expression with its constant parts evaluated.  It is simplified
 * without a query, so nothing is bound or marked and parameters stay as they
 * are.  Notices are suppressed: they come when the plan is made.
 */
extern Node *skx_plan_simplify(Node *expr);

/*
 * Returns the expression below casts that change no bytes; NULL if it is NULL.
 */
extern Node *skx_plan_unrelabel(Node *expr);

/* plan_index.c : the index that ranks a column */

/* How an index makes its documents of columns of text (plan_document.c). */
typedef struct SkxDocumentForm
{
	Node	   *document;		/* its expression; parameter i is the
								 * operand's i-th column, other columns are
								 * those of range table entry 1 */
	AttrNumber	stored;			/* the generated column that has its value; 0:
								 * none */
	Oid			config;			/* text search configuration of words */
	int			labels;			/* of words, as in a QueryOperand; 0: any */
} SkxDocumentForm;

/*
 * The index that ranks a column.  The caller sets type, name and is_text; the
 * search fills in the rest.  arms and others are set for set operations only.
 */
typedef struct SkxBinding
{
	Oid			type;			/* skipidx_ref, right operand of `<@>` */
	List	   *name;			/* of String: the only index that will do;
								 * NIL: any */
	bool		is_text;		/* the columns are those of the index's
								 * documents, not the documents */
	Oid			index;			/* InvalidOid: none was found */
	Oid			operator;		/* `<@>` of the index's operator class */
	Oid			match;			/* `@@` of it */
	SkxDocumentForm form;		/* if is_text */
	bool		is_near;		/* if is_text: the columns are those of the
								 * index's table, not of a subquery of it */
	List	   *arm_indexes;	/* of OIDs: indexes of all arms of a set
								 * operation; NIL: one arm at most has one */
	List	   *others;			/* of OIDs, ascending: the arms' other
								 * indexes, whose statistics are added; NIL:
								 * none, or they do not rank alike */
	Oid			apart;			/* a table that the columns lead to, each
								 * shard of which ranks by its own statistics;
								 * InvalidOid: none */
	struct SkxOriginSearch *search; /* of plan_origin.c, while it goes on */
} SkxBinding;

/* What a search for an index has come across so far. */
typedef struct SkxOriginSearch
{
	int			steps;
	bool		is_distributed; /* has come to a table with an index whose
								 * rows are in shards */
	Oid			apart;			/* see SkxBinding */
} SkxOriginSearch;

/*
 * Looks for an index with the key `expr` on the table that is range table
 * entry `varno` of `query`.  If binding->is_text, the index's documents are
 * made of `expr`, a column or a row of columns.  Columns in expr are of this
 * table, and plain (skx_compat_plain_var()).  Fills in index, operators and
 * form of the binding.  An index of all rows is preferred to a partial one,
 * then one of these columns alone to one of several, then the oldest.  Returns
 * false if there is none, or if the rows of the table are in shards, which is
 * noted in binding->search.  Indexes that are looked at stay locked with
 * AccessShareLock.
 */
extern bool skx_plan_choose_index(Query *query, int varno, Node *expr,
								  SkxBinding *binding);

/*
 * Returns the OIDs in `arms` except `index`, ascending and distinct, if all
 * of these indexes rank by equal options; else NIL.  Their locks are kept.
 */
extern List *skx_plan_same_ranking_indexes(Oid index, const List *arms);

/*
 * plan_origin.c : the index of an expression of any query level, whose
 * columns are followed to the table that they come from
 */

/*
 * Finds the index that ranks `expr`, an expression of the query of `root`,
 * and fills in the binding.  If `alone` is true, columns of outer queries
 * are not followed.  Returns false if there is no index, or if the search
 * takes too many steps: a query that is written twice in each of 30 others
 * comes from a billion places.  Also returns false, with binding->apart, if
 * one of the tables that the columns lead to is distributed.
 */
extern bool skx_plan_find_ranking_index(PlannerInfo *root, bool alone,
										Node *expr, SkxBinding *binding);

/*
 * Does the same for an expression of `query`, a subquery directly in the
 * query of `root`.
 */
extern bool skx_plan_find_in_subquery(PlannerInfo *root, Query *query,
									  Node *expr, SkxBinding *binding);

/* plan_context.c : the query that an expression belongs to */

/*
 * Returns true if a right operand of `function` is not bound yet: a tsquery, a
 * call of skipidx_query() with the name of an index, or words.
 */
extern bool skx_plan_is_unbound(Oid function, Node *right);

/*
 * Returns true if outer queries are not known yet: a function in FROM of the
 * query has an unbound call of `function` that was not deferred.
 */
extern bool skx_plan_lacks_outer_query(PlannerInfo *root, Oid function);

/*
 * Returns a marked copy of `call`, which replaces it until it is bound later.
 * Functions in FROM with such a call become LATERAL, so that the planner
 * simplifies them again.
 */
extern Node *skx_plan_defer_binding(PlannerInfo *root, FuncExpr *call);

/*
 * Returns true if `call` must not be bound to `binding` yet.  It belongs to
 * an EXISTS of the query, or cannot be told from a call that does and would
 * bind to another index.  The planner will simplify it again.  Clears is_near
 * of the binding if it is not that of such a call.
 */
extern bool skx_plan_may_be_in_exists(PlannerInfo *root, const FuncExpr *call,
									  SkxBinding *binding);

/* plan_rows.c : estimates of matching rows */

/*
 * Corrects the expected number of rows of the table and of its paths, and the
 * selectivity of its conditions, by what its indexes know.  Must be called
 * before other paths are added.  The rows of a table with partitions or other
 * children become the sum of the children's.
 */
extern void skx_plan_correct_rows(PlannerInfo *root, RelOptInfo *rel,
								  RangeTblEntry *rte);

/* Returns true if the index is a skipidx index. */
extern bool skx_plan_is_skipidx(const IndexOptInfo *index);

/* plan_column.c : a column of an index in conditions */

/* A column of an index that a condition is matched with. */
typedef struct SkxIndexColumn
{
	PlannerInfo *root;
	IndexOptInfo *index;
	int			column;			/* from 0 */
} SkxIndexColumn;

/* Returns true if the operand is what the index has in the column. */
extern bool skx_plan_is_column(const SkxIndexColumn *key, Node *operand);

/*
 * Returns true if the expression can be the right side of a condition on the
 * column: it is not volatile and has no column of the index's table.
 */
extern bool skx_plan_is_comparand(const SkxIndexColumn *key, Node *expr);

/*
 * Returns true if the operator is in the column's operator family, and its
 * collation is the column's.
 */
extern bool skx_plan_has_operator(const SkxIndexColumn *key, Oid operator,
								  Oid collation);

/*
 * Returns an array of type `type`, an array type, with these elements: a
 * constant if all of them are, else an ArrayExpr.
 */
extern Node *skx_plan_array(PlannerInfo *root, List *elements, Oid type,
							Oid collation);

/* Returns the condition `column IS [NOT] NULL`. */
extern RestrictInfo *skx_plan_null_test(const SkxIndexColumn *key,
										NullTestType type);

/*
 * Returns the table's column or the expression in a column (from 0) of the
 * index.
 */
extern Node *skx_plan_column_expr(const IndexOptInfo *index, int column);

/*
 * Returns true if the index may return rows that fail the condition on its
 * column (from 0), so that rows must be tested.
 */
extern bool skx_plan_may_recheck(const IndexOptInfo *index, int column,
								 const Expr *qual);

/* plan_quals.c : conditions of a table as conditions of one column */

/*
 * Returns what a condition asks of the first column that it applies to, as
 * RestrictInfos that are all to be met.  Sets key->column to that column.
 * *lossy becomes true if rows that meet them may fail the condition.  Returns
 * NIL if the condition applies to no column.
 */
extern List *skx_plan_first_quals(SkxIndexColumn *key, RestrictInfo *rinfo,
								  bool *lossy);

/* plan_clause.c : conditions of a table as conditions of an index */

/*
 * Returns a condition as one of the index, or as one that it implies, which
 * is then marked as lossy.  Returns NULL if there is none, or if the
 * condition may be tested only after others, as under row security.
 */
extern IndexClause *skx_plan_matching_clause(PlannerInfo *root,
											 IndexOptInfo *index,
											 RestrictInfo *rinfo);

/*
 * Returns the IndexClauses of those conditions (RestrictInfos) that
 * skx_plan_matching_clause() matches.
 */
extern List *skx_plan_matching_clauses(PlannerInfo *root,
									   IndexOptInfo *index,
									   List *conditions);

/* Returns the IndexClauses in the order of the index's columns. */
extern List *skx_plan_sort_by_column(const IndexOptInfo *index, List *clauses);

/*
 * Returns the IndexClauses of all conditions of the table that match the
 * index, in the order of its columns.
 */
extern List *skx_plan_index_clauses(PlannerInfo *root,
									IndexOptInfo *index);

/*
 * Returns true if one of the IndexClauses is of a kind that some version of
 * the server does not match with an index.
 */
extern bool skx_plan_has_own_clauses(IndexOptInfo *index, List *clauses);

/* plan_policy.c : conditions that need not wait for a policy */

/*
 * Returns true if evaluating the expression may tell of the values in a row
 * more than its result, as the server's contain_leaked_vars() does.  With
 * skipidx.index_under_policy `@@` itself does not.
 */
extern bool skx_plan_leaks(Node *expr);

/*
 * Returns true if an index may be asked for the condition before others of
 * the table are tested, as under a policy.
 */
extern bool skx_plan_is_promotable(RestrictInfo *rinfo, RelOptInfo *rel);

/* plan_arrays.c : conditions on columns of arrays */

/*
 * Returns the condition `column @> ARRAY[value]` for `value = ANY (column)`,
 * if strategy is SKX_STRATEGY_CONTAINS.  Returns `column !&& ARRAY[value]`
 * for `value <> ALL (column)`, if it is SKX_STRATEGY_DISJOINT; an array with
 * a NULL may fail the latter condition, so rows must be tested.  Returns
 * NULL if op is not of that form.  The caller has checked op->useOr.
 */
extern RestrictInfo *skx_plan_match_element(const SkxIndexColumn *key,
											ScalarArrayOpExpr *op,
											int strategy);

/*
 * Returns the condition `column !&& array` for one that forbids elements:
 * NOT with `&&`, NOT with `@>` of one element, or `value <> ALL (column)`.
 * *lossy becomes true if rows that meet the result may fail the condition.
 * Returns NULL for other conditions and for columns that are no arrays.
 */
extern RestrictInfo *skx_plan_disjoint(const SkxIndexColumn *key,
									   const RestrictInfo *rinfo,
									   bool *lossy);

/*
 * plan_light.c : conditions for which no bits of whole segments are gathered
 */

/*
 * Returns the query of `document @@ query` if it is a constant; NULL if it is
 * not, or if the condition is another one.
 */
extern TSQuery skx_plan_const_query(const RestrictInfo *qual);

/*
 * Returns true if the index gathers bits of whole segments for one of the
 * IndexClauses, as far as constants tell.  `ranked` is the distance whose
 * order the search has; NULL: a scan in any order.  A search gathers nothing
 * for a disjunction of the words that it ranks by.
 */
extern bool skx_plan_clauses_may_gather(const IndexOptInfo *index,
										const List *clauses,
										const OpExpr *ranked);

/*
 * Returns the IndexClauses for which no bits are gathered.  Each of the
 * others is replaced by a lossy one that it implies and that gathers
 * nothing, or left out if there is none.
 */
extern List *skx_plan_weakened_clauses(PlannerInfo *root,
									   const IndexOptInfo *index,
									   const List *clauses);

/* plan_derived.c : conditions on a column that a table's condition implies */

/*
 * Returns a condition on the column that the table's condition implies.
 * *lossy becomes false if both are true for the same rows.  Returns NULL if
 * there is none.
 */
extern RestrictInfo *skx_plan_derive(const SkxIndexColumn *key,
									 const RestrictInfo *rinfo,
									 bool *lossy);

/*
 * Returns conditions `column <> element`, which together are the table's
 * condition `column <> ALL array`.  Returns NIL for other conditions, and if
 * the elements are not known or one is a NULL constant.
 */
extern List *skx_plan_none_of(const SkxIndexColumn *key,
							  const RestrictInfo *rinfo);

/*
 * Returns true if the condition may be one that only this module matches
 * with an index: a comparison of rows, or one that can be reworded.
 */
extern bool skx_plan_is_derived(const RestrictInfo *rinfo);

/* plan_reworded.c : conditions in other words, which an index knows */

/*
 * Returns an equivalent of the condition: a disjunction of conditions or of
 * conjunctions of such, or a single condition.  It is true for the same rows;
 * for other rows it may be false or NULL.  Returns NULL if there is none that
 * differs from the condition.
 */
extern RestrictInfo *skx_plan_rewrite_condition(PlannerInfo *root,
												IndexOptInfo *index,
												const RestrictInfo *rinfo);

/*
 * Returns true if the condition is of a kind for which
 * skx_plan_rewrite_condition() may return something.
 */
extern bool skx_plan_may_rewrite(const Node *clause);

/*
 * plan_disjunction.c : a disjunction on several columns as one key of an
 * index
 */

/*
 * Returns the condition `text @@| disjunction` on the first column of the
 * index, which asks it for what an OR condition asks of its columns.  The
 * operator cannot test rows: they are to be tested by the condition itself.
 * Returns NULL if the condition is no OR, or if the index does not answer
 * each arm.
 */
extern RestrictInfo *skx_plan_disjunction(PlannerInfo *root,
										  IndexOptInfo *index,
										  RestrictInfo *rinfo);

/*
 * Returns true if the index alone answers the condition, so that no row has
 * to be tested.
 */
extern bool skx_plan_needs_no_recheck(const IndexOptInfo *index,
									  const IndexClause *clause);

/*
 * Returns the IndexClauses without the disjunctions for which the index
 * gathers bits of whole segments.
 */
extern List *skx_plan_without_gathered_disjunctions(const IndexOptInfo *index,
													List *clauses);

/*
 * Returns the IndexClauses without the disjunctions that have an arm on the
 * text, since testing rows by these takes long.
 */
extern List *skx_plan_without_text_disjunctions(const IndexOptInfo *index,
												List *clauses);

#endif							/* SKX_PLAN_CONDITION_H */
