/*
 * plan_words.c
 *	  Replaces words that are searched for in columns of text by queries on the
 *	  documents that an index has of these columns.
 *
 * Where an index is on to_tsvector('english', body), `body @@@ 'words'` becomes
 *
 *		to_tsvector('english', body) @@ websearch_to_tsquery('english', 'words')
 *
 * and `body <@> 'words'` the distance of that document by any of the words.
 * This is done while the planner simplifies the expression, as for
 * `tsvector <@> tsquery` (plan_bind.c).  All else sees the condition on an
 * expression that people write by hand.  Both stand for what the index has, so
 * they need one, also where rows are tested.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "sql/plan/plan_words.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(skipidx_words_distance);
PG_FUNCTION_INFO_V1(skipidx_words_match);
PG_FUNCTION_INFO_V1(skipidx_passages);
PG_FUNCTION_INFO_V1(skipidx_words_support);

/*
 * Raises an error: no index was found, or the call is not one of a query.
 * Calls with NULL return that.
 */
static void
skx_plan_fail_unbound(const char *operand, const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no skipidx index was found for the %s of %s",
					operand, name),
			 errdetail("It must be a column of text, or a row of columns, of which a valid skipidx index has the documents; the index tells how words are parsed."),
			 errhint("Create one, as in CREATE INDEX ON table_name USING skipidx (to_tsvector('%s', column_name)); of several columns, each in to_tsvector(), with || between them.",
					 skx_am_session_config())));
}

Datum
skipidx_words_distance(PG_FUNCTION_ARGS)
{
	if (!PG_ARGISNULL(0) && !PG_ARGISNULL(1))
		skx_plan_fail_unbound("left operand", "<@>");
	PG_RETURN_NULL();
}

Datum
skipidx_words_match(PG_FUNCTION_ARGS)
{
	if (!PG_ARGISNULL(0) && !PG_ARGISNULL(1))
		skx_plan_fail_unbound("left operand", "@@@");
	PG_RETURN_NULL();
}

Datum
skipidx_passages(PG_FUNCTION_ARGS)
{
	skx_plan_fail_unbound("document", "skipidx_passages()");
	PG_RETURN_NULL();
}

static Node *
skx_plan_config(const SkxDocumentForm *form)
{
	return (Node *) makeConst(REGCONFIGOID, -1, InvalidOid, sizeof(Oid),
							  ObjectIdGetDatum(form->config), false, true);
}

/*
 * Returns the query by the words: any of them, or what a web search means by
 * them.  It is a constant if the words are, else a call.  Returns NULL if the
 * function does not exist.
 */
static Node *
skx_plan_words_query(Oid namespace, bool any, const SkxDocumentForm *form,
					 Node *words)
{
	Oid			types[3] = {REGCONFIGOID, exprType(words), INT4OID};
	Oid			function =
		skx_plan_function(namespace, any ? "skx_any_words" : "skx_web_words",
						  types, lengthof(types));
	Node	   *labels = (Node *) makeConst(INT4OID, -1, InvalidOid,
											sizeof(int32),
											Int32GetDatum(form->labels),
											false, true);
	Node	   *query;

	if (!OidIsValid(function))
		return NULL;
	query = (Node *) makeFuncExpr(function, TSQUERYOID,
								  list_make3(skx_plan_config(form), words, labels),
								  InvalidOid, InvalidOid,
								  COERCE_EXPLICIT_CALL);
	return IsA(words, Const) ? skx_plan_simplify(query) : query;
}

static Node *
skx_plan_match_clause(const SkxBinding *binding, const FuncExpr *call,
					  Node *document, Node *query)
{
	OpExpr	   *op = (OpExpr *) make_opclause(binding->match, BOOLOID, false,
											  (Expr *) document,
											  (Expr *) query, InvalidOid,
											  call->inputcollid);

	op->opfuncid = get_opcode(op->opno);
	return (Node *) op;
}

/*
 * Returns a call of skipidx_highlight() with the text of the operand and the
 * remaining arguments of the call.  Returns NULL for several columns, or if the
 * function does not exist.
 */
static Node *
skx_plan_highlight_call(Oid namespace, const SkxDocumentForm *form,
						const FuncExpr *call, Node *query)
{
	List	   *args = list_copy_tail(call->args, 2);
	Node	   *document = linitial(call->args);
	Oid			types[FUNC_MAX_ARGS] = {REGCONFIGOID, TEXTOID, TSQUERYOID};
	int			n = 3;
	Oid			function;
	ListCell   *lc;

	foreach(lc, args)
		types[n++] = exprType(lfirst(lc));
	function = skx_plan_function(namespace, "skipidx_highlight", types, n);
	if (!OidIsValid(function) || IsA(document, RowExpr))
		return NULL;
	if (exprType(document) != TEXTOID)
		document = (Node *) makeRelabelType((Expr *) document, TEXTOID, -1,
											exprCollation(document),
											COERCE_IMPLICIT_CAST);
	args = list_concat(list_make3(skx_plan_config(form), document, query),
					   args);
	return (Node *) makeFuncExpr(function, TEXTOID, args, call->funccollid,
								 call->inputcollid, COERCE_EXPLICIT_CALL);
}

static Node *
skx_plan_replace_words_call(PlannerInfo *root, FuncExpr *call)
{
	Oid			namespace = get_func_namespace(call->funcid);
	bool		is_distance = call->funcresulttype == FLOAT4OID;
	SkxBinding	binding = {0};
	Node	   *unbound;
	Node	   *document;
	Node	   *query;

	binding.is_text = true;
	binding.type = skx_plan_reference_type(namespace);
	if (!OidIsValid(binding.type))
		return NULL;
	if (!skx_plan_find_binding(root, call, &binding, &unbound))
	{
		if (OidIsValid(binding.apart) && is_distance)
			skx_plan_warn_of_shards(binding.apart);
		return unbound;
	}
	if (call->funcresulttype == TEXTOID)
		binding.form.labels = 0;
	query = skx_plan_words_query(namespace, is_distance, &binding.form,
								 lsecond(call->args));
	if (query == NULL)
		return NULL;
	if (call->funcresulttype == TEXTOID)
		return skx_plan_highlight_call(namespace, &binding.form, call, query);
	document = skx_plan_document(root, &binding, linitial(call->args));
	if (document == NULL)
		return NULL;
	if (is_distance)
		return skx_plan_bound_distance(root, &binding, call, document, query);
	return skx_plan_match_clause(&binding, call, document, query);
}

/* Answers requests to simplify a call, by putting a query in its place. */
Datum
skipidx_words_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *answer = NULL;

	if (IsA(request, SupportRequestSimplify) &&
		((SupportRequestSimplify *) request)->root != NULL)
		answer = skx_plan_replace_words_call(((SupportRequestSimplify *)
											  request)->root,
											 ((SupportRequestSimplify *)
											  request)->fcall);
	PG_RETURN_POINTER(answer);
}
