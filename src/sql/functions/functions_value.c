/*
 * functions_value.c
 *	  A value of a column of an index, as a condition on its documents.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "read/condition/condition_place.h"
#include "sql/functions/functions_internal.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

/* Returns the value that a text stands for, by the input function of `type`. */
static Datum
skx_functions_input(Oid type, Datum value)
{
	Oid			function;
	Oid			parameter;

	getTypeInputInfo(type, &function, &parameter);
	return OidInputFunctionCall(function, TextDatumGetCString(value), parameter,
								-1);
}

/*
 * Returns the type as which a value of `type` is compared with the column,
 * whose own values or elements are of type `own`; InvalidOid if it cannot be.
 * A column of varchar is compared as one of text, its operator class's type.
 */
static Oid
skx_functions_comparable(Relation index, int column, Oid own, Oid type)
{
	Oid			family = index->rd_opfamily[column];
	Oid			class = index->rd_opcintype[column];

	/* an array of any type, as catalogs have them, is of no type */
	if (!OidIsValid(type) || IsPolymorphicType(type))
		return InvalidOid;
	if (class == ANYARRAYOID)
		return IsBinaryCoercible(type, own) ? own : InvalidOid;
	if (OidIsValid(skx_column_canonical(index, column, type)) ||
		OidIsValid(skx_condition_cross_type_function(family, class, type)))
		return type;
	return IsBinaryCoercible(type, own) ? class : InvalidOid;
}

/* column = value, or of an array column column @> ARRAY[value] */
static void
skx_functions_set_condition(Relation index, int column, Oid type, Datum value,
							SkxCondition *condition)
{
	ScanKeyData key = {
		.sk_attno = column + 1,
		.sk_strategy = SKX_STRATEGY_EQUAL,
		.sk_subtype = type,
		.sk_argument = value
	};
	int16		len;
	bool		byval;
	char		align;

	if (index->rd_opcintype[column] == ANYARRAYOID)
	{
		get_typlenbyvalalign(type, &len, &byval, &align);
		key.sk_strategy = SKX_STRATEGY_CONTAINS;
		key.sk_subtype = ANYARRAYOID;
		key.sk_argument = PointerGetDatum(construct_array(&value, 1, type, len,
														  byval, align));
	}
	skx_condition_of_key(index, &key, condition);
}

void
skx_functions_has_value(Relation heap, Relation index, Datum name, Oid type,
						Datum value, SkxCondition *condition)
{
	int			column = skx_functions_find_column(heap, index, name);
	Oid			own = skx_column_element_type(index, column);
	Oid			as;

	if (!OidIsValid(own))
		own = TupleDescAttr(RelationGetDescr(index), column)->atttypid;
	own = getBaseType(own);
	if (OidIsValid(type))
		type = getBaseType(type);
	if (type == TEXTOID)
	{
		value = skx_functions_input(own, value);
		type = own;
	}
	as = skx_functions_comparable(index, column, own, type);
	if (!OidIsValid(as))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("a value of type %s cannot be compared with column \"%s\" of index \"%s\"",
						OidIsValid(type) ? format_type_be(type) : "unknown",
						TextDatumGetCString(name),
						RelationGetRelationName(index)),
				 errhint("Cast the value to the type of the column, or to text.")));
	skx_functions_set_condition(index, column, as, value, condition);
}
