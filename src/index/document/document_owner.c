/*
 * document_owner.c
 *	  Evaluates an index's expressions as the owner of its table.
 *
 * The expression of an index is code of its owner.  A function of this
 * extension that evaluated it would lend it the rights of the caller.  So it
 * is evaluated only between skx_document_owner_begin() and
 * skx_document_owner_end().  In builds the server does likewise itself, and in
 * inserts it evaluates expressions as the user of the statement.
 *
 * A caller must not get the rights of the owner either.  The source of a
 * function that is not compiled names types, tables and functions.  A caller
 * has many ways to choose which they are: temporary objects, whatever the
 * search path, and plans of the session that were made under another path.  So
 * such functions are not evaluated for callers with fewer rights than the
 * owner (skx_document_check_caller()).
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "index/document/document.h"
#include "nodes/nodeFuncs.h"
#include "support/compat/compat.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

/*
 * Returns true if the function is not compiled.  Only superusers can create
 * compiled functions.
 */
static bool
skx_document_is_interpreted(Oid function, void *arg)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	ReleaseSysCache(tuple);
	return language != INTERNALlanguageId && language != ClanguageId;
}

/*
 * Returns true if the expression calls such functions, or checks a domain,
 * whose constraints may call some.
 */
static bool
skx_document_is_untrusted(Node *node, void *arg)
{
	if (node == NULL)
		return false;
	if (IsA(node, CoerceToDomain) ||
		check_functions_in_node(node, skx_document_is_interpreted, NULL))
		return true;
	/* the comparison function of a type, which is not in the node itself */
	if (IsA(node, MinMaxExpr))
	{
		TypeCacheEntry *type = lookup_type_cache(((MinMaxExpr *) node)->minmaxtype,
												 TYPECACHE_CMP_PROC);

		if (OidIsValid(type->cmp_proc) &&
			skx_document_is_interpreted(type->cmp_proc, NULL))
			return true;
	}
	return expression_tree_walker(node, skx_document_is_untrusted, NULL);
}

static bool
skx_document_may_evaluate(Relation heap, List *expressions)
{
	return has_privs_of_role(GetUserId(), heap->rd_rel->relowner) ||
		!skx_document_is_untrusted((Node *) expressions, NULL);
}

bool
skx_document_may_read(Relation heap, Relation index)
{
	return skx_document_may_evaluate(heap, RelationGetIndexExpressions(index));
}

void
skx_document_check_caller(Relation heap, Relation index, List *expressions)
{
	if (skx_document_may_evaluate(heap, expressions))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("expressions of index \"%s\" cannot be evaluated for a role without the rights of the owner of table \"%s\"",
					RelationGetRelationName(index),
					RelationGetRelationName(heap)),
			 errdetail("They call functions that are not written in C, or check a domain."),
			 errhint("Index a generated column in place of the expression, or have a function of the owner with SECURITY DEFINER call this one.")));
}

/*
 * The search path is restricted so that a caller with fewer rights than the
 * owner cannot choose what the owner's code calls.
 */
void
skx_document_owner_begin(SkxDocumentOwnerState *state, Relation heap)
{
	Oid			owner = heap->rd_rel->relowner;

	GetUserIdAndSecContext(&state->user, &state->context);
	SetUserIdAndSecContext(owner,
						   state->context | SECURITY_RESTRICTED_OPERATION);
	state->guc_nest_level = NewGUCNestLevel();
	skx_compat_restrict_search_path(has_privs_of_role(state->user, owner));
}

void
skx_document_owner_end(const SkxDocumentOwnerState *state)
{
	AtEOXact_GUC(false, state->guc_nest_level);
	SetUserIdAndSecContext(state->user, state->context);
}

TSVector
skx_document_read(Relation heap, Relation index, TupleTableSlot *slot)
{
	EState	   *estate = CreateExecutorState();
	SkxDocumentOwnerState owner;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	TSVector	vector = NULL;
	IndexInfo  *info = BuildIndexInfo(index);

	skx_document_check_caller(heap, index, info->ii_Expressions);
	GetPerTupleExprContext(estate)->ecxt_scantuple = slot;
	skx_document_owner_begin(&owner, heap);
	FormIndexDatum(info, slot, estate, values, isnull);
	skx_document_owner_end(&owner);
	if (!isnull[0])
	{
		Datum		copy = PointerGetDatum(PG_DETOAST_DATUM_COPY(values[0]));

		vector = skx_document_datum(copy, false, &slot->tts_tid);
	}
	FreeExecutorState(estate);
	return vector;
}
