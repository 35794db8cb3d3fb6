/*
 * am_columns.c
 *	  Checks that an index may have its columns.
 *
 * The error for every column that is refused says what works instead.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "index/column/column.h"
#include "sql/am/am.h"
#include "tsearch/ts_cache.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

/* Returns the input type of the operator class of a column. */
static Oid
skx_am_column_type(Relation index, int column)
{
	return index->rd_opcintype[column];
}

/*
 * Raises an error unless an index can have arrays of these elements.
 * Operators of arrays compare elements by the operator = of their type.  It
 * must be that of the operator class for skipidx.  That class may belong to
 * another type, as text_ops does for citext.
 */
static void
skx_am_check_elements(Oid element)
{
	Oid			class = GetDefaultOpClass(element,
										  get_index_am_oid("skipidx", false));
	Oid			equal = lookup_type_cache(element, TYPECACHE_EQ_OPR)->eq_opr;

	if (OidIsValid(equal) &&
		get_op_opfamily_strategy(equal, get_opclass_family(class)) ==
		SKX_STRATEGY_EQUAL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("a skipidx index cannot have arrays of type %s",
					format_type_be(element)),
			 errdetail("Its own operator = is not the one of its operator class for skipidx, which is another type's."),
			 errhint("Index an expression whose elements are of another type, or create a default operator class for the type.")));
}

/*
 * Returns the name of a column as a statement writes it; "..." for an
 * expression.
 */
static const char *
skx_am_column_name(Relation index, int column)
{
	if (index->rd_index->indkey.values[column] == 0)
		return "...";
	return quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(index),
												  column)->attname));
}

char *
skx_am_session_config(void)
{
	Oid			config = getTSCurrentConfig(false);

	if (!OidIsValid(config))
		return "english";
	return DatumGetCString(DirectFunctionCall1(regconfigout,
											   ObjectIdGetDatum(config)));
}

/*
 * Raises an error: the first column is not a tsvector.  The hint says how to
 * make one.
 */
static void
skx_am_refuse_first(Relation index)
{
	Oid			type = getBaseType(TupleDescAttr(RelationGetDescr(index),
												 0)->atttypid);
	char		category;
	bool		preferred;

	get_type_category_preferred(type, &category, &preferred);
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("the first column of a skipidx index must be a tsvector, not %s",
					format_type_be(TupleDescAttr(RelationGetDescr(index),
												 0)->atttypid)),
			 category == TYPCATEGORY_STRING || skx_am_type_is_refused(type) ?
			 errhint("Index its words: CREATE INDEX ... USING skipidx (to_tsvector('%s', %s)).",
					 skx_am_session_config(), skx_am_column_name(index, 0)) :
			 errhint("Name a tsvector first, and other columns after it, or index them with btree.")));
}

/*
 * Raises an error unless the values of a column, or the elements of its
 * arrays, have a canonical form, by which they are stored.
 */
static void
skx_am_check_canonical(Relation index, int column)
{
	Oid			element = skx_column_element_type(index, column);

	if (OidIsValid(skx_column_canonical(index, column, InvalidOid)))
	{
		if (OidIsValid(element))
			skx_am_check_elements(element);
		return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 OidIsValid(element) ?
			 errmsg("a skipidx index cannot have arrays of type %s",
					format_type_be(element)) :
			 errmsg("a skipidx index cannot have a column of type %s",
					format_type_be(skx_am_column_type(index, column))),
			 skx_am_type_is_refused(skx_am_column_type(index, column)) ?
			 errhint("Index what conditions ask for, as in (%s ->> 'key'), or all of it with GIN.",
					 skx_am_column_name(index, column)) :
			 errhint("Its operator class needs support function %d, the canonical form of a value as bytea.",
					 SKX_SUPPORT_CANONICAL)));
}

/*
 * Raises an error for a collation by which values with different bytes may be
 * equal.
 */
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
		skx_am_refuse_first(index);
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
