/*
 * functions_open.c
 *	  Opens an index for functions that read through it, and checks rights.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/table.h"
#include "am/am.h"
#include "catalog/index.h"
#include "compat/compat.h"
#include "functions/functions_internal.h"
#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/rls.h"
#include "utils/snapmgr.h"

/* Columns of the table that the index is made of; NULL index expressions. */
static Bitmapset *
skx_functions_columns(Relation index)
{
	Bitmapset  *columns = NULL;
	int			i;

	for (i = 0; i < index->rd_index->indnatts; i++)
	{
		AttrNumber	attno = index->rd_index->indkey.values[i];

		if (attno != 0)
			columns = bms_add_member(columns,
									 attno - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos((Node *) RelationGetIndexExpressions(index), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(index), 1, &columns);
	return columns;
}

/* May the user select all of these columns? */
static bool
skx_functions_may_select(Oid table, const Bitmapset *columns)
{
	int			column = -1;

	if (pg_class_aclcheck(table, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return true;
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber	attno = column + FirstLowInvalidHeapAttributeNumber;
		AclResult	result;

		if (attno == InvalidAttrNumber)
			result = pg_attribute_aclcheck_all(table, GetUserId(), ACL_SELECT,
											   ACLMASK_ALL);
		else
			result = pg_attribute_aclcheck(table, attno, GetUserId(),
										   ACL_SELECT);
		if (result != ACLCHECK_OK)
			return false;
	}
	return !bms_is_empty(columns);
}

static void
skx_functions_check_rights(Relation heap, Relation index)
{
	Oid			table = RelationGetRelid(heap);

	if (!skx_functions_may_select(table, skx_functions_columns(index)))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE,
					   RelationGetRelationName(heap));
	if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security applies to table \"%s\"",
						RelationGetRelationName(heap)),
				 errdetail("Statistics and rows of its index are not filtered by policies."),
				 errhint("Use the operators @@ and <@> in a query on the table.")));
}

static void
skx_functions_check_index(Relation index, bool parts)
{
	if (index->rd_rel->relkind != RELKIND_PARTITIONED_INDEX)
	{
		skx_maint_check_index(index);
		skx_maint_check_valid(index);
	}
	else if (!skx_am_is_ours(index))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a skipidx index",
						RelationGetRelationName(index))));
	else if (!parts)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("index \"%s\" is partitioned",
						RelationGetRelationName(index)),
				 errdetail("The place of a row does not tell its partition."),
				 errhint("Name the index of a partition.")));
	else if (!index->rd_index->indisvalid)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("index \"%s\" is not valid",
						RelationGetRelationName(index)),
				 errdetail("Some partition of the table has no valid index that is attached to it."),
				 errhint("Attach one of each partition with ALTER INDEX ... ATTACH PARTITION.")));
}

void
skx_functions_open(Oid oid, bool parts, Relation *heap, Relation *index)
{
	Oid			table = IndexGetRelation(oid, true);

	*heap = OidIsValid(table) ?
		try_relation_open(table, AccessShareLock) : NULL;
	*index = skx_maint_open(oid, AccessShareLock);
	if ((*index)->rd_index == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not an index",
						RelationGetRelationName(*index))));
	skx_maint_check_table(*heap, *index);
	skx_functions_check_index(*index, parts);
	skx_functions_check_rights(*heap, *index);
}

/*
 * Was the snapshot taken before the index was made?  In a transaction that has
 * one snapshot for all it does, what that transaction itself makes is younger.
 */
static bool
skx_functions_is_younger(Relation index, Snapshot snapshot)
{
	HeapTupleHeader tuple = index->rd_indextuple->t_data;
	TransactionId made = HeapTupleHeaderGetXmin(tuple);

	if (TransactionIdIsCurrentTransactionId(made))
		return IsolationUsesXactSnapshot() ||
			HeapTupleHeaderGetCmin(tuple) >= snapshot->curcid;
	return XidInMVCCSnapshot(made, snapshot);
}

/*
 * The planner leaves such an index out.  An update that changed nothing which
 * was indexed then left a chain (HOT) of which the index has the last row only;
 * a snapshot for which the index is there sees no row before that.
 */
void
skx_functions_check_age(Relation index)
{
	if (!index->rd_index->indcheckxmin ||
		!skx_functions_is_younger(index, GetActiveSnapshot()))
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
