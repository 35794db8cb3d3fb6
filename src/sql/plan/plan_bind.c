/*
 * plan_bind.c
 *	  Replaces `tsvector <@> tsquery` by `tsvector <@> skipidx_ref`.
 *
 * A score needs the statistics of an index.  While the planner simplifies an
 * expression, the support function of the unbound operator looks for the index
 * of its left operand.  It returns the operator that the index's operator
 * class has for ORDER BY, with a reference to the index as right operand.
 *
 * `tsvector <@> skipidx_query(query, 'name')` becomes the same if the planner
 * could have chosen the named index itself.  What is bound here needs no
 * rights but those that the plan checks: in a view, those of its owner.  All
 * other calls of skipidx_query() check the caller's rights at run time.
 *
 * Rows of a distributed table are in shards, each of which has an index of its
 * own.  So a distance of such a table is left as it was written, and is bound
 * where the shard is.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "sql/plan/plan_words.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(skipidx_distance);
PG_FUNCTION_INFO_V1(skipidx_distance_support);

/* Raises an error: the operator was not bound, because no index was found. */
Datum
skipidx_distance(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no skipidx index was found for the left operand of <@>"),
			 errdetail("It must be a column or an expression that has a valid skipidx index, which tells how common words are."),
			 errhint("Name the index, as in tsv <@> skipidx_query(query, 'name_of_index'). A foreign or distributed table has none here: rank by a value, as in tsv <@> (SELECT skipidx_ranking('name_of_index', query)), of a distributed one by skipidx_ranking_of_shards().")));
	PG_RETURN_NULL();
}

Oid
skx_plan_function(Oid namespace, const char *name, const Oid *types, int n)
{
	oidvector  *key = buildoidvector(types, n);

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name), PointerGetDatum(key),
						   ObjectIdGetDatum(namespace));
}

/* Returns the function of (tsquery, `second`) with this name. */
static Oid
skx_plan_query_function(Oid namespace, const char *name, Oid second)
{
	Oid			types[2] = {TSQUERYOID, second};

	return skx_plan_function(namespace, name, types, lengthof(types));
}

static Node *
skx_plan_const_ref(Oid type, SkxRef *ref)
{
	return (Node *) makeConst(type, -1, InvalidOid, -1, PointerGetDatum(ref),
							  false, false);
}

/*
 * Returns the right operand of the bound operator.  For a constant query it is
 * a constant, else a call of skx_bind(), which makes the reference at run
 * time.  Returns NULL if that function does not exist.
 */
static Node *
skx_plan_bound_query(const SkxBinding *binding, Oid namespace, Node *query)
{
	Oid			bind;

	if (IsA(query, Const) && !((Const *) query)->constisnull)
		return skx_plan_const_ref(binding->type,
								  skx_score_ref(binding->index,
												binding->others,
												DatumGetTSQuery(((Const *) query)->constvalue),
												SKX_REF_PLAN));
	bind = skx_plan_query_function(namespace, "skx_bind", binding->type);
	if (!OidIsValid(bind))
		return NULL;
	return (Node *) makeFuncExpr(bind, binding->type,
								 list_make2(query,
											skx_plan_const_ref(binding->type,
															   skx_score_ref(binding->index,
																			 binding->others,
																			 NULL,
																			 SKX_REF_PLAN))),
								 InvalidOid, InvalidOid,
								 COERCE_EXPLICIT_CALL);
}

/*
 * Returns the query to rank by, taken from the right operand, and sets
 * binding->name if an index is named.  Returns NULL if the operand is bound
 * already, or if the named index is known at run time only.
 */
static Node *
skx_plan_query(SkxBinding *binding, Oid namespace, const FuncExpr *distance)
{
	Node	   *right = lsecond(distance->args);
	FuncExpr   *call = (FuncExpr *) right;
	Const	   *name;

	if (exprType(right) == TSQUERYOID)
		return right;
	if (!skx_plan_is_unbound(distance->funcid, right) ||
		call->funcid != skx_plan_query_function(namespace, "skipidx_query",
												TEXTOID))
		return NULL;
	name = lsecond(call->args);
	if (!IsA(name, Const) || name->constisnull)
		return NULL;
	binding->name = textToQualifiedNameList(DatumGetTextPP(name->constvalue));
	return linitial(call->args);
}

void
skx_plan_warn_of_shards(Oid table)
{
	static TimestampTz warned;
	TimestampTz statement = GetCurrentStatementStartTimestamp();

	if (statement == warned)
		return;
	warned = statement;
	ereport(WARNING,
			(errmsg("each shard of table \"%s\" ranks by its own statistics",
					get_rel_name(table)),
			 errdetail("The best rows of several shards together need not be the best rows of the table."),
			 errhint("Rank by a skipidx_ranking, the same for all shards, as skipidx_ranking_of_shards('name_of_index', query) makes it.")));
}

Oid
skx_plan_reference_type(Oid namespace)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
						   CStringGetDatum("skipidx_ref"),
						   ObjectIdGetDatum(namespace));
}

bool
skx_plan_find_binding(PlannerInfo *root, FuncExpr *call, SkxBinding *binding,
					  Node **unbound)
{
	bool		early = skx_plan_lacks_outer_query(root, call->funcid);

	*unbound = NULL;
	if (skx_plan_find_ranking_index(root, early, linitial(call->args),
									binding))
		return early || !skx_plan_may_be_in_exists(root, call, binding);
	if (early)
		*unbound = skx_plan_defer_binding(root, call);
	return false;
}

Node *
skx_plan_bound_distance(PlannerInfo *root, const SkxBinding *binding,
						const FuncExpr *call, Node *document, Node *query)
{
	Node	   *ref = skx_plan_bound_query(binding,
										   get_func_namespace(call->funcid),
										   query);
	OpExpr	   *op;

	if (ref == NULL)
		return NULL;
	op = (OpExpr *) make_opclause(binding->operator, FLOAT4OID, false,
								  (Expr *) document, (Expr *) ref,
								  InvalidOid, call->inputcollid);
	op->opfuncid = get_opcode(op->opno);

	/*
	 * A cached plan must be made again if the name comes to mean another
	 * index,
	 */
	if (binding->name != NIL)
		root->glob->relationOids = lappend_oid(root->glob->relationOids,
											   binding->index);
	/* and if the options of the arms' indexes become equal, or differ. */
	root->glob->relationOids = list_concat(root->glob->relationOids,
										   binding->arm_indexes);
	return (Node *) op;
}

static Node *
skx_plan_bind(PlannerInfo *root, FuncExpr *call)
{
	Oid			namespace = get_func_namespace(call->funcid);
	SkxBinding	binding = {0};
	Node	   *query;
	Node	   *unbound;

	binding.type = skx_plan_reference_type(namespace);
	if (!OidIsValid(binding.type))
		return NULL;
	query = skx_plan_query(&binding, namespace, call);
	if (query == NULL)
		return NULL;
	if (!skx_plan_find_binding(root, call, &binding, &unbound))
	{
		if (OidIsValid(binding.apart) && binding.name == NIL)
			skx_plan_warn_of_shards(binding.apart);
		return unbound;
	}
	return skx_plan_bound_distance(root, &binding, call, linitial(call->args),
								   query);
}

/*
 * Answers requests to simplify a call, by binding it, and requests for its
 * cost.  Outside of a query (index expressions, constraints) calls are not
 * bound, since nothing tells which table a column belongs to.
 */
Datum
skipidx_distance_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Node	   *answer = NULL;

	if (IsA(request, SupportRequestCost) &&
		skx_plan_distance_cost((SupportRequestCost *) request))
		answer = request;
	if (IsA(request, SupportRequestSimplify) &&
		((SupportRequestSimplify *) request)->root != NULL)
		answer = skx_plan_bind(((SupportRequestSimplify *) request)->root,
							   ((SupportRequestSimplify *) request)->fcall);
	PG_RETURN_POINTER(answer);
}
