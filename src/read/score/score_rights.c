/*
 * score_rights.c
 *	  The right to see rows, scores and statistics through an index.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "optimizer/optimizer.h"
#include "read/score/score.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

/*
 * Returns the columns of the table that the index's columns, expressions and
 * predicate use.
 */
static Bitmapset *
skx_score_columns(Relation index)
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

/*
 * Returns true if the current user may select all of these columns, of which
 * there is at least one.
 */
static bool
skx_score_may_select(Oid table, const Bitmapset *columns)
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

void
skx_score_check_rights(Relation index)
{
	Oid			table = index->rd_index->indrelid;

	if (!skx_score_may_select(table, skx_score_columns(index)))
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(table));
	if (check_enable_rls(table, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security applies to table \"%s\"",
						get_rel_name(table)),
				 errdetail("Statistics and rows of its index are not filtered by policies."),
				 errhint("Use the operators @@ and <@> in a query on the table, or a SECURITY DEFINER function of its owner.")));
}
