/*
 * inspect_check_heap.c
 *	  Checks that every row of the table is in the index, with the same
 *	  content.
 *
 * The table is scanned as by CREATE INDEX, which evaluates the index's
 * expression and predicate.  But the scan has an ordinary snapshot, which was
 * taken before the index was read.  Every row that the snapshot sees was in
 * the index then, and is not removed from it while the snapshot exists.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "index/column/column.h"
#include "index/document/document.h"
#include "inspect/inspect_internal.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Returns true if a row is a live document of the index, and sets *fingerprint
 * to that of the document.  There is at most one, as was checked before.
 * Otherwise sets *deleted to true if a deleted document has the TID.
 */
static bool
skx_inspect_find_row(SkxCheck *check, ItemPointer tid, uint64 *fingerprint,
					 bool *deleted)
{
	const SkxCheckEntry *entry;
	int			i;

	*deleted = false;
	for (i = 0; i < check->view->nsegments; i++)
	{
		SkxCheckSegment *cs = check->segments[i];
		uint32		doc = skx_inspect_find_live(cs, tid, deleted);

		if (doc != SKX_NO_DOC)
		{
			*fingerprint = cs->fingerprints[doc];
			return true;
		}
	}
	entry = hash_search(check->pending, tid, HASH_FIND, NULL);
	if (entry != NULL)
		*fingerprint = entry->fingerprint;
	return entry != NULL;
}

/* Callback for each row that the index must have: checks its document. */
static void
skx_inspect_row_present(Relation index, ItemPointer tid, Datum *values,
						bool *isnull, bool alive, void *arg)
{
	SkxCheck   *check = arg;
	TSVector	value = skx_document_make(check->columns, values, isnull,
										  tid);
	uint64		want = skx_inspect_hash_vector(value);
	uint64		fingerprint = 0;
	bool		deleted;
	const char *what = NULL;

	if (!skx_inspect_find_row(check, tid, &fingerprint, &deleted))
		what = deleted ? "is marked deleted in the index" :
			"is not in the index";
	else if (fingerprint != want)
		what = "has other lexemes, positions, labels or values in the index";
	if (what != NULL)
		skx_damage_report_detail(index, InvalidBlockNumber, "row (%u,%u) of table \"%s\" %s",
								 ItemPointerGetBlockNumber(tid),
								 ItemPointerGetOffsetNumber(tid),
								 RelationGetRelationName(check->heap), what);
	skx_document_release(value, values, isnull);
}

/*
 * Raises an error if the snapshot is too old: one that is older than the index
 * can see rows that were not indexed because their HOT chains were broken.
 */
static void
skx_inspect_check_snapshot(SkxCheck *check, Snapshot snapshot)
{
	Relation	index = check->index;

	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   snapshot->xmin))
		ereport(ERROR,
				(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
				 errmsg("index \"%s\" cannot be checked against its table using this transaction's snapshot",
						RelationGetRelationName(index)),
				 errhint("Retry it in a new transaction.")));
}

void
skx_inspect_check_heap(SkxCheck *check, Snapshot snapshot)
{
	IndexInfo  *info = BuildIndexInfo(check->index);
	TableScanDesc scan;
	SkxDocumentOwnerState owner;

	skx_inspect_check_snapshot(check, snapshot);
	check->columns = skx_column_all(check->index);
	skx_document_owner_begin(&owner, check->heap);
	/* without a synchronized scan, rows come in the order of documents */
	scan = table_beginscan_strat(check->heap, snapshot, 0, NULL, true, false);
	info->ii_Concurrent = true;
	info->ii_Unique = false;
	/* allow_sync must be true for a scan that is passed in; no effect on it */
	table_index_build_scan(check->heap, check->index, info, true, false,
						   skx_inspect_row_present, check, scan);
	skx_document_owner_end(&owner);
}
