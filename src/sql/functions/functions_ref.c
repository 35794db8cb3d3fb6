/*
 * functions_ref.c
 *	  References: a ranking query together with the index that ranks.
 *
 * The planner and skipidx_query() make them.  Users cannot forge one, and no
 * expression of a user ever gets a reference that the planner has made.  So
 * the plan's own check of privileges is enough for these.  Those made by
 * skipidx_query() are values that may outlive a privilege, so they give none:
 * each use of one is checked as that call was.  The score of a row by a
 * reference is the same in every plan, since it goes by the frozen statistics
 * of the snapshot.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "fmgr.h"
#include "index/document/document.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "read/score/score.h"
#include "sql/am/am.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat.h"
#include "tsearch/ts_utils.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/varlena.h"

PG_FUNCTION_INFO_V1(skipidx_ref_in);
PG_FUNCTION_INFO_V1(skipidx_ref_recv);
PG_FUNCTION_INFO_V1(skipidx_ref_out);
PG_FUNCTION_INFO_V1(skipidx_bind);
PG_FUNCTION_INFO_V1(skipidx_query);
PG_FUNCTION_INFO_V1(skipidx_distance_bound);

#define SKX_GETARG_REF(n)	((SkxRef *) PG_GETARG_VARLENA_P(n))

static void
skx_functions_refuse_input(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("cannot accept a value of type %s", "skipidx_ref"),
			 errhint("Make one with skipidx_query(query, 'name_of_index').")));
}

Datum
skipidx_ref_in(PG_FUNCTION_ARGS)
{
	skx_functions_refuse_input();
	PG_RETURN_NULL();
}

Datum
skipidx_ref_recv(PG_FUNCTION_ARGS)
{
	skx_functions_refuse_input();
	PG_RETURN_NULL();
}

static void
skx_functions_show_index(StringInfo out, const char *before, Oid index)
{
	appendStringInfo(out, "%s%s", before,
					 DatumGetCString(DirectFunctionCall1(regclassout,
														 ObjectIdGetDatum(index))));
}

/* Output for EXPLAIN, as in: 'cat' & 'dog' by docs_idx, notes_idx */
Datum
skipidx_ref_out(PG_FUNCTION_ARGS)
{
	SkxRef	   *ref = SKX_GETARG_REF(0);
	TSQuery		query = SkxRefQuery(ref);
	StringInfoData out;
	uint32		i;

	initStringInfo(&out);
	if (query->size > 0)
		appendStringInfo(&out, "%s ",
						 DatumGetCString(DirectFunctionCall1(tsqueryout,
															 TSQueryGetDatum(query))));
	skx_functions_show_index(&out, "by ", ref->index);
	for (i = 0; i < ref->nindexes; i++)
		skx_functions_show_index(&out, ", ", ref->indexes[i]);
	PG_RETURN_CSTRING(out.data);
}

/* Returns a reference with another query and the index of a reference. */
Datum
skipidx_bind(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(0);
	SkxRef	   *ref = SKX_GETARG_REF(1);

	PG_RETURN_POINTER(skx_score_rebind_ref(ref, query));
}

Datum
skipidx_query(PG_FUNCTION_ARGS)
{
	TSQuery		query = PG_GETARG_TSQUERY(0);
	List	   *name = textToQualifiedNameList(PG_GETARG_TEXT_PP(1));
	Relation	table;
	Relation	index;
	SkxRef	   *ref;

	skx_functions_open(RangeVarGetRelid(makeRangeVarFromNameList(name), NoLock,
										false),
					   true, &table, &index);
	ref = skx_score_ref(RelationGetRelid(index), NIL, query, SKX_REF_FUNCTION);
	skx_functions_close(table, index);
	PG_RETURN_POINTER(ref);
}

/* A scorer for calls with the same reference under the same snapshot. */
typedef struct SkxDistance
{
	bool		constant;		/* all calls have the same reference */
	Oid			user;			/* role whose right was checked, if any was */
	MemoryContext context;		/* of the next two members */
	SkxRef	   *ref;
	SkxScorer  *scorer;
} SkxDistance;

static void
skx_functions_open_scorer(SkxDistance *d, const SkxRef *ref, Snapshot snapshot)
{
	MemoryContext old;
	SkxRankOptions options;
	Relation	index;

	d->scorer = NULL;
	MemoryContextReset(d->context);
	old = MemoryContextSwitchTo(d->context);
	d->ref = palloc(VARSIZE(ref));
	memcpy(d->ref, ref, VARSIZE(ref));
	d->user = GetUserId();
	index = skx_am_open_referenced(ref);
	skx_am_rank_options(index, &options);
	d->scorer = skx_score_open(index, d->ref, snapshot, &options,
							   SkxRefQuery(d->ref));
	relation_close(index, NoLock);
	MemoryContextSwitchTo(old);
}

/* Returns what is kept in fn_extra, with a scorer for this call. */
static SkxDistance *
skx_functions_distance(FmgrInfo *flinfo, const SkxRef *ref)
{
	SkxDistance *d = flinfo->fn_extra;
	Snapshot	snapshot = GetActiveSnapshot();

	if (d == NULL)
	{
		d = MemoryContextAllocZero(flinfo->fn_mcxt, sizeof(SkxDistance));
		d->context = AllocSetContextCreate(flinfo->fn_mcxt, "skipidx distance",
										   ALLOCSET_SMALL_SIZES);
		d->constant = skx_functions_is_constant(flinfo, 1);
		flinfo->fn_extra = d;
	}
	if (d->scorer == NULL ||
		(!d->constant && (VARSIZE(d->ref) != VARSIZE(ref) ||
						  memcmp(d->ref, ref, VARSIZE(ref)) != 0)) ||
		(ref->origin != SKX_REF_PLAN && d->user != GetUserId()) ||
		!skx_score_is_current(d->scorer, snapshot))
		skx_functions_open_scorer(d, ref, snapshot);
	return d;
}

Datum
skipidx_distance_bound(PG_FUNCTION_ARGS)
{
	TSVector	document = skx_document_datum(PG_GETARG_DATUM(0), false, NULL);
	SkxRef	   *ref = SKX_GETARG_REF(1);
	SkxDistance *d = skx_functions_distance(fcinfo->flinfo, ref);
	float4		distance;

	distance = skx_score_distance(d->scorer,
								  skx_score_document(d->scorer, document,
													 NULL));
	skx_document_free(document, PG_GETARG_DATUM(0));
	PG_FREE_IF_COPY(ref, 1);
	PG_RETURN_FLOAT4(distance);
}
