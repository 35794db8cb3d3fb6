/*
 * functions_open.c
 *	  Opens an index for functions that read through it, and checks rights.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "read/score/score.h"
#include "sql/functions/functions_internal.h"
#include "support/compat/compat.h"
#include "utils/snapmgr.h"
#include "write/maint/maint.h"

void
skx_functions_open(Oid oid, bool parts, Relation *heap, Relation *index)
{
	skx_maint_open(oid, AccessShareLock, true, heap, index);
	if (!parts && (*index)->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is partitioned",
						RelationGetRelationName(*index)),
				 errdetail("The place of a row does not tell its partition."),
				 errhint("Name the index of a partition.")));
	skx_score_check_rights(*index);
}

/*
 * Returns true if the snapshot was taken before the index was made.  If a
 * transaction has one snapshot for all of its statements, an index that it has
 * made itself is younger.
 */
static bool
skx_functions_index_is_newer(Relation index, Snapshot snapshot)
{
	HeapTupleHeader tuple = index->rd_indextuple->t_data;
	TransactionId made = HeapTupleHeaderGetXmin(tuple);

	if (TransactionIdIsCurrentTransactionId(made))
		return IsolationUsesXactSnapshot() ||
			HeapTupleHeaderGetCmin(tuple) >= snapshot->curcid;
	return XidInMVCCSnapshot(made, snapshot);
}

/*
 * The planner does not use such an index either.  An update that changed no
 * column that was indexed at the time has left a HOT chain.  The index has
 * only the last row of that chain.  A snapshot that is not older than the
 * index sees no earlier row of it.
 */
void
skx_functions_check_index_age(Relation index)
{
	if (!index->rd_index->indcheckxmin ||
		!skx_functions_index_is_newer(index, GetActiveSnapshot()))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
			 errmsg("index \"%s\" is younger than this query's snapshot",
					RelationGetRelationName(index)),
			 errdetail("Rows that the snapshot sees were updated before the index was made, and it has only what they became."),
			 errhint("Retry it in a new transaction, or use a query on the table.")));
}

void
skx_functions_close(Relation heap, Relation index)
{
	relation_close(index, NoLock);
	table_close(heap, NoLock);
}
