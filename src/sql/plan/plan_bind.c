/*
 * plan_bind.c
 *	  `tsvector <@> tsquery` becomes `tsvector <@> skipidx_ref`.
 *
 * A score needs the statistics of an index, so while the planner simplifies
 * an expression, the support function of the unbound operator looks for the
 * index of its left operand and returns the operator that has it on its
 * right.  It is that operator that the operator class has for ORDER BY.
 *
 * `tsvector <@> skipidx_query(query, 'name')` becomes the same, if the planner
 * could have chosen the index of that name itself.  What is bound here needs no
 * rights but those that the plan checks: in a view, those of its owner.  All
 * other calls of skipidx_query() ask for the caller's rights at run time.
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "sql/plan/plan_internal.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(skipidx_distance);
PG_FUNCTION_INFO_V1(skipidx_distance_support);

/* Not bound: there was no index to be found. */
Datum
skipidx_distance(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("no skipidx index was found for the left operand of <@>"),
			 errdetail("It must be a column or an expression that has a valid skipidx index, which tells how common words are."),
			 errhint("Name the index, as in tsv <@> skipidx_query(query, 'name_of_index'). A foreign table has none here: rank its rows on its server, or by the index of a table of this database.")));
	PG_RETURN_NULL();
}

/* A function of the extension, whose first argument is a query. */
static Oid
skx_plan_function(Oid namespace, const char *name, Oid second)
{
	Oid			types[2] = {TSQUERYOID, second};
	oidvector  *key = buildoidvector(types, lengthof(types));

	return GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
						   CStringGetDatum(name), PointerGetDatum(key),
						   ObjectIdGetDatum(namespace));
}

static Node *
skx_plan_const_ref(Oid type, SkxRef *ref)
{
	return (Node *) makeConst(type, -1, InvalidOid, -1, PointerGetDatum(ref),
							  false, false);
}

/*
 * The right operand: of a constant query a constant, else a call that binds
 * what the query turns out to be.
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
	bind = skx_plan_function(namespace, "skx_bind", binding->type);
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
 * The query that is to be ranked by, from the right operand; NULL: what to do
 * about that is known at run time.  Sets the name of an index that is given.
 */
static Node *
skx_plan_query(SkxBinding *binding, Oid namespace, Node *right)
{
	FuncExpr   *call = (FuncExpr *) right;
	Const	   *name;

	if (exprType(right) == TSQUERYOID)
		return right;
	if (!skx_plan_is_open(right) ||
		call->funcid != skx_plan_function(namespace, "skipidx_query",
										  TEXTOID))
		return NULL;
	name = lsecond(call->args);
	if (!IsA(name, Const) || name->constisnull)
		return NULL;
	binding->name = textToQualifiedNameList(DatumGetTextPP(name->constvalue));
	return linitial(call->args);
}

static Node *
skx_plan_bind(PlannerInfo *root, FuncExpr *call)
{
	Oid			namespace = get_func_namespace(call->funcid);
	Node	   *document = linitial(call->args);
	SkxBinding	binding = {0};
	Node	   *query;
	bool		early;
	Node	   *ref;
	OpExpr	   *op;

	binding.type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
								   CStringGetDatum("skipidx_ref"),
								   ObjectIdGetDatum(namespace));
	if (!OidIsValid(binding.type))
		return NULL;
	query = skx_plan_query(&binding, namespace, lsecond(call->args));
	if (query == NULL)
		return NULL;
	early = skx_plan_is_early(root, call->funcid);
	if (!skx_plan_find(root, early, document, &binding))
		return early ? skx_plan_defer(root, call) : NULL;
	if (!early && skx_plan_is_of_exists(root, call, &binding))
		return NULL;
	ref = skx_plan_bound_query(&binding, namespace, query);
	if (ref == NULL)
		return NULL;
	op = (OpExpr *) make_opclause(binding.operator, FLOAT4OID, false,
								  (Expr *) document, (Expr *) ref,
								  InvalidOid, call->inputcollid);
	op->opfuncid = get_opcode(op->opno);
	/* a plan that is kept is made anew when the name is another's, */
	if (binding.name != NIL)
		root->glob->relationOids = lappend_oid(root->glob->relationOids,
											   binding.index);
	/* and when indexes of arms become alike, or differ */
	root->glob->relationOids = list_concat(root->glob->relationOids,
										   binding.arms);
	return (Node *) op;
}

/*
 * Binds, and tells costs.  Outside of a query (index expressions, constraints)
 * there is nothing that tells which table a column is of.
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
