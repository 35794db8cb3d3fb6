/*
 * facets_row.c
 *	  Values of index columns, computed from rows of the table.
 *
 * The rows are visible to the snapshot, so they exist.  All versions of a row
 * in one chain have the same values in the columns of an index.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/tableam.h"
#include "answer/facets/facets_internal.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "index/document/document.h"
#include "pgstat.h"
#include "support/compat/compat.h"
#include "support/compat/compat_planner.h"

struct SkxFacetRows
{
	const SkxFacetsRequest *request;
	IndexInfo  *info;
	EState	   *estate;
	IndexFetchTableData *fetch;
	TupleTableSlot *row;
};

static bool
skx_facets_rows_wants(const SkxFacetsRequest *request, int column)
{
	int			i;

	for (i = 0; i < request->ncolumns; i++)
		if (request->columns[i] == column)
			return true;
	return false;
}

/*
 * Replaces each column that was not requested by one that costs nothing.  Its
 * expression may be slow.  It may also be unsafe in a parallel query, which
 * requests plain columns only.
 */
static void
skx_facets_rows_skip_columns(IndexInfo *info, const SkxFacetsRequest *request)
{
	List	   *expressions = info->ii_Expressions;
	ListCell   *lc = list_head(expressions);
	int			i;

	info->ii_Expressions = NIL;
	for (i = 0; i < info->ii_NumIndexAttrs; i++)
	{
		bool		has = skx_facets_rows_wants(request, i);

		if (info->ii_IndexAttrNumbers[i] == 0)
		{
			if (has)
				info->ii_Expressions = lappend(info->ii_Expressions,
											   lfirst(lc));
			lc = lnext(expressions, lc);
		}
		if (!has)
			info->ii_IndexAttrNumbers[i] = TableOidAttributeNumber;
	}
}

SkxFacetRows *
skx_facets_rows_begin(const SkxFacetsRequest *request)
{
	SkxFacetRows *r = palloc(sizeof(SkxFacetRows));

	r->request = request;
	r->info = BuildIndexInfo(request->rows.index);
	skx_facets_rows_skip_columns(r->info, request);
	skx_document_check_caller(request->rows.heap, request->rows.index,
							  r->info->ii_Expressions);
	r->estate = CreateExecutorState();
	r->fetch = skx_compat_fetch_begin(request->rows.heap);
	r->row = table_slot_create(request->rows.heap, NULL);
	return r;
}

/*
 * Errors out because a row is missing.  The only valid reason is that the
 * snapshot is too old.
 */
SKX_NORETURN static void
skx_facets_rows_missing(const SkxRequest *request,
						const ItemPointerData *tid)
{
	skx_compat_check_snapshot(request->snapshot, request->index);
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" has a row that table \"%s\" has not",
					RelationGetRelationName(request->index),
					RelationGetRelationName(request->heap)),
			 errdetail("It should be at (%u,%u).",
					   ItemPointerGetBlockNumberNoCheck(tid),
					   ItemPointerGetOffsetNumberNoCheck(tid)),
			 errhint("Run skipidx_check() on the index, and REINDEX it.")));
}

void
skx_facets_rows_get(SkxFacetRows *r, const ItemPointerData *tid,
					Datum *values, bool *isnull)
{
	const SkxRequest *request = &r->request->rows;
	ItemPointerData place = *tid;
	SkxDocumentOwnerState owner;
	bool		again = false;
	int			i;

	if (!table_index_fetch_tuple(r->fetch, &place, request->snapshot, r->row,
								 &again, NULL))
		skx_facets_rows_missing(request, tid);
	pgstat_count_heap_fetch(request->index);
	ResetPerTupleExprContext(r->estate);
	GetPerTupleExprContext(r->estate)->ecxt_scantuple = r->row;
	skx_document_owner_begin(&owner, request->heap);
	FormIndexDatum(r->info, r->row, r->estate, values, isnull);
	skx_document_owner_end(&owner);
	for (i = 0; i < r->info->ii_NumIndexAttrs; i++)
		if (r->info->ii_IndexAttrNumbers[i] == TableOidAttributeNumber)
			isnull[i] = true;
}

void
skx_facets_rows_end(SkxFacetRows *r)
{
	ExecDropSingleTupleTableSlot(r->row);
	table_index_fetch_end(r->fetch);
	FreeExecutorState(r->estate);
	pfree(r);
}
