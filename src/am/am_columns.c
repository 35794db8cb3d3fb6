/*
 * am_columns.c
 *	  Which columns an index may have.
 *
 * Every refusal says what does work.
 */
#include "postgres.h"

#include "am/am.h"
#include "catalog/pg_type.h"
#include "intake/intake_column.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Type that the opclass of a key column takes. */
static Oid
skx_am_column_type(Relation index, int column)
{
	return index->rd_opcintype[column];
}

/* Values are stored by their canonical form: those of the elements of arrays. */
static void
skx_am_check_canonical(Relation index, int column)
{
	Oid			element = skx_intake_element_type(index, column);

	if (OidIsValid(skx_intake_canonical(index, column, InvalidOid)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 OidIsValid(element) ?
			 errmsg("a skipidx index cannot have arrays of type %s",
					format_type_be(element)) :
			 errmsg("a skipidx index cannot have a column of type %s",
					format_type_be(skx_am_column_type(index, column))),
			 errhint("Its operator class needs support function %d, the canonical form of a value as bytea.",
					 SKX_SUPPORT_CANONICAL)));
}

/* What a collation takes for equal must be the same bytes. */
static void
skx_am_check_collation(Relation index, int column)
{
	Oid			collation = index->rd_indcollation[column];

	if (!OidIsValid(collation) || get_collation_isdeterministic(collation))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a skipidx index cannot have a column with nondeterministic collation \"%s\"",
					get_collation_name(collation)),
			 errhint("Index the column under another collation (COLLATE), and use that in conditions.")));
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
						format_type_be(TupleDescAttr(RelationGetDescr(index),
													 0)->atttypid)),
				 errhint("Name a tsvector first, and other columns after it, or index them with btree.")));
	for (i = 1; i < nkeys; i++)
	{
		if (skx_am_column_type(index, i) == TSVECTOROID)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("a skipidx index cannot have a second tsvector column"),
					 errhint("Join them with || in an expression index, with setweight() to tell them apart, or create one index for each.")));
		skx_am_check_canonical(index, i);
		skx_am_check_collation(index, i);
	}
}
