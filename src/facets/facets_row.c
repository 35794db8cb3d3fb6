/*
 * facets_row.c
 *	  What an index has of rows, from the rows.
 *
 * They are rows that the snapshot sees, so they are there; what the versions of
 * one chain have is the same in all columns of an index.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "facets/facets_internal.h"
#include "intake/intake.h"
#include "pgstat.h"

struct SkxFacetRows
{
	const SkxCountRequest *request;
	IndexInfo  *info;
	EState	   *estate;
	IndexFetchTableData *fetch;
	TupleTableSlot *row;
};

SkxFacetRows *
skx_facets_rows_begin(const SkxCountRequest *request)
{
	SkxFacetRows *r = palloc(sizeof(SkxFacetRows));

	r->request = request;
	r->info = BuildIndexInfo(request->index);
	r->estate = CreateExecutorState();
	r->fetch = table_index_fetch_begin(request->heap);
	r->row = table_slot_create(request->heap, NULL);
	return r;
}

void
skx_facets_rows_get(SkxFacetRows *r, const ItemPointerData *tid,
					Datum *values, bool *isnull)
{
	const SkxCountRequest *request = r->request;
	ItemPointerData place = *tid;
	SkxOwnerState owner;
	bool		again = false;

	if (!table_index_fetch_tuple(r->fetch, &place, request->snapshot, r->row,
								 &again, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" has a row that table \"%s\" has not",
						RelationGetRelationName(request->index),
						RelationGetRelationName(request->heap)),
				 errdetail("It should be at (%u,%u).",
						   ItemPointerGetBlockNumberNoCheck(tid),
						   ItemPointerGetOffsetNumberNoCheck(tid)),
				 errhint("Run skipidx_check() on the index, and REINDEX it.")));
	pgstat_count_heap_fetch(request->index);
	ResetPerTupleExprContext(r->estate);
	GetPerTupleExprContext(r->estate)->ecxt_scantuple = r->row;
	skx_intake_owner_begin(&owner, request->heap);
	FormIndexDatum(r->info, r->row, r->estate, values, isnull);
	skx_intake_owner_end(&owner);
}

void
skx_facets_rows_end(SkxFacetRows *r)
{
	ExecDropSingleTupleTableSlot(r->row);
	table_index_fetch_end(r->fetch);
	FreeExecutorState(r->estate);
	pfree(r);
}
