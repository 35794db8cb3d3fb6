/*
 * am_columns.c
 *	  Which columns an index may have.
 *
 * Every refusal says what does work.
 */
#include "postgres.h"

#include "am/am.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"

/* Type that the opclass of a key column takes. */
static Oid
skx_am_column_type(Relation index, int column)
{
	return index->rd_opcintype[column];
}

void
skx_am_check_columns(Relation index)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);
	int			i;

	if (skx_am_column_type(index, 0) != TSVECTOROID)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("the first column of a skipidx index must be a tsvector, not %s",
						format_type_be(skx_am_column_type(index, 0))),
				 errhint("Index the tsvector here, and other columns with an index of their own.")));
	for (i = 1; i < nkeys; i++)
		if (skx_am_column_type(index, i) == TSVECTOROID)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a skipidx index cannot have a second tsvector column"),
					 errhint("Join them with || in an expression index, with setweight() to tell them apart, or create one index for each.")));
	if (nkeys > 2)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a skipidx index cannot have more than two columns"),
				 errhint("Index the tsvector here, and other columns with an index of their own.")));
	if (nkeys > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("a sort column is not supported yet by skipidx"),
				 errdetail("The second column, of type %s, is reserved for it.",
						   format_type_be(skx_am_column_type(index, 1))),
				 errhint("Leave it out of this index, and index it with btree.")));
}
