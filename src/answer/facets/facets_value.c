/*
 * facets_value.c
 *	  Makes values from their lexemes: from the canonical form if that
 *	  determines them, or else from a row.
 */
#include "postgres.h"

#include "answer/facets/facets_internal.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

typedef struct SkxFacetType
{
	Oid			type;			/* of the values, or of the elements of an
								 * array */
	int32		typmod;
	bool		is_array;
	FmgrInfo	canonical;
	int16		len;
	bool		byval;
	char		align;
} SkxFacetType;

struct SkxFacetValues
{
	const SkxFacetsRequest *request;
	SkxFacetType types[INDEX_MAX_KEYS]; /* of the requested columns */
	SkxFacetRows *rows;			/* NULL: no row has been read */
	MemoryContext context;		/* memory of one value */
};

SkxFacetValues *
skx_facets_values_begin(const SkxFacetsRequest *request)
{
	SkxFacetValues *v = palloc0(sizeof(SkxFacetValues));
	Relation	index = request->rows.index;
	int			i;

	v->request = request;
	v->context = AllocSetContextCreate(CurrentMemoryContext,
									   "skipidx facet value",
									   ALLOCSET_DEFAULT_SIZES);
	for (i = 0; i < request->ncolumns; i++)
	{
		int			column = request->columns[i];
		SkxFacetType *type = &v->types[column];

		type->type = skx_column_element_type(index, column);
		type->is_array = OidIsValid(type->type);
		type->typmod = TupleDescAttr(RelationGetDescr(index),
									 column)->atttypmod;
		if (!type->is_array)
			type->type = TupleDescAttr(RelationGetDescr(index),
									   column)->atttypid;
		fmgr_info(skx_column_canonical(index, column, InvalidOid),
				  &type->canonical);
		get_typlenbyvalalign(type->type, &type->len, &type->byval,
							 &type->align);
	}
	return v;
}

Oid
skx_facets_values_type(const SkxFacetValues *v, int column)
{
	return v->types[column].type;
}

/* Returns the element of an array that has the canonical form. */
static Datum
skx_facets_element(SkxFacetType *type, Datum array, const SkxLexeme *lexeme)
{
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(DatumGetArrayTypeP(array), type->type, type->len,
					  type->byval, type->align, &elements, &nulls, &n);
	for (i = 0; i < n; i++)
	{
		const bytea *form;

		if (nulls[i])
			continue;
		form = DatumGetByteaPP(FunctionCall1(&type->canonical, elements[i]));
		if (VARSIZE_ANY_EXHDR(form) == lexeme->len - SKX_VALUE_HEAD_BYTES &&
			memcmp(VARDATA_ANY(form), lexeme->bytes + SKX_VALUE_HEAD_BYTES,
				   lexeme->len - SKX_VALUE_HEAD_BYTES) == 0)
			return elements[i];
	}
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("a row does not have the value that the index has of it"),
			 errhint("A function of the index is not immutable, or the index is damaged: REINDEX it.")));
}

/*
 * Makes a value from its canonical form.  Returns false if equal values may be
 * written differently, as 0 and -0 are.
 */
static bool
skx_facets_form_value(const SkxFacetType *type, const SkxLexeme *lexeme,
					  Datum *value)
{
	return skx_column_form_value(type->canonical.fn_addr, type->type,
								 type->typmod,
								 lexeme->bytes + SKX_VALUE_HEAD_BYTES,
								 lexeme->len - SKX_VALUE_HEAD_BYTES,
								 value) &&
		(type->type != FLOAT4OID || DatumGetFloat4(*value) != 0) &&
		(type->type != FLOAT8OID || DatumGetFloat8(*value) != 0);
}

Datum
skx_facets_values_get(SkxFacetValues *v, const SkxLexeme *lexeme,
					  const ItemPointerData *tid)
{
	int			column = (uint8) lexeme->bytes[1] - 1;
	SkxFacetType *type = &v->types[column];
	MemoryContext old;
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	Datum		value;

	MemoryContextReset(v->context);
	old = MemoryContextSwitchTo(v->context);
	if (!skx_facets_form_value(type, lexeme, &value))
	{
		if (v->rows == NULL)
		{
			MemoryContextSwitchTo(old);
			v->rows = skx_facets_rows_begin(v->request);
			MemoryContextSwitchTo(v->context);
		}
		skx_facets_rows_get(v->rows, tid, values, isnull);
		value = values[column];
		if (isnull[column])
			elog(ERROR, "a value of a row is gone");
		if (type->is_array)
			value = skx_facets_element(type, value, lexeme);
	}
	MemoryContextSwitchTo(old);
	return value;
}

void
skx_facets_values_end(SkxFacetValues *v)
{
	if (v->rows != NULL)
		skx_facets_rows_end(v->rows);
	MemoryContextDelete(v->context);
}
