/*
 * column.c
 *	  Makes lexemes of the values of a row's columns beside the text.
 *
 * Two values have the same lexeme exactly if they are equal by the operator
 * `=` of their operator family.  Support function 1 makes the canonical form
 * of a value, for all types of the family.  Elements of an array are values of
 * the default operator class of their type.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "index/column/column.h"
#include "miscadmin.h"
#include "support/compat/compat.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

typedef struct SkxColumn
{
	const char *name;
	FmgrInfo	canonical;
	Oid			element;		/* element type of an array column, or
								 * InvalidOid */
	int16		len;			/* these three are of the element type */
	bool		byval;
	char		align;
} SkxColumn;

struct SkxColumns
{
	int			n;				/* number of columns beside the text */
	SkxColumn	columns[INDEX_MAX_KEYS];
};

/* Lexemes that are being collected. */
typedef struct SkxValueList
{
	int			n;
	int			size;
	SkxLexeme  *lexemes;
	Size		nbytes;			/* of all of them */
	MemoryContext context;		/* their bytes, and what was allocated to make
								 * them */
} SkxValueList;

Oid
skx_column_element_type(Relation index, int column)
{
	Oid			type = TupleDescAttr(RelationGetDescr(index),
									 column)->atttypid;

	if (index->rd_opcintype[column] != ANYARRAYOID)
		return InvalidOid;
	return get_base_element_type(type);
}

Oid
skx_column_canonical_of_type(Oid am, Oid type)
{
	Oid			class = GetDefaultOpClass(type, am);

	if (OidIsValid(class) && get_opclass_input_type(class) == ANYARRAYOID)
		class = GetDefaultOpClass(get_base_element_type(type), am);
	if (!OidIsValid(class))
		return InvalidOid;
	type = get_opclass_input_type(class);
	return get_opfamily_proc(get_opclass_family(class), type, type,
							 SKX_SUPPORT_CANONICAL);
}

Oid
skx_column_canonical(Relation index, int column, Oid type)
{
	if (index->rd_opcintype[column] == ANYARRAYOID)
		return skx_column_canonical_of_type(index->rd_rel->relam,
											skx_column_element_type(index,
																	column));
	if (!OidIsValid(type) || IsPolymorphicType(type))
		type = index->rd_opcintype[column];
	return get_opfamily_proc(index->rd_opfamily[column], type, type,
							 SKX_SUPPORT_CANONICAL);
}

SkxColumns *
skx_column_all(Relation index)
{
	SkxColumns *columns = palloc0(sizeof(SkxColumns));
	int			i;

	columns->n = IndexRelationGetNumberOfKeyAttributes(index) - 1;
	for (i = 0; i < columns->n; i++)
	{
		SkxColumn  *column = &columns->columns[i];
		Oid			function = skx_column_canonical(index, i + 1, InvalidOid);

		if (!OidIsValid(function))
			elog(ERROR, "column %d of index \"%s\" has no canonical form",
				 i + 2, RelationGetRelationName(index));
		fmgr_info(function, &column->canonical);
		column->name = pstrdup(NameStr(TupleDescAttr(RelationGetDescr(index),
													 i + 1)->attname));
		column->element = skx_column_element_type(index, i + 1);
		if (OidIsValid(column->element))
			get_typlenbyvalalign(column->element, &column->len,
								 &column->byval, &column->align);
	}
	return columns;
}

SkxLexeme
skx_column_lexeme(int column, SkxValueKind kind, const char *form, int len)
{
	char	   *bytes = palloc(SKX_VALUE_HEAD_BYTES + len);
	SkxLexeme	lexeme = {bytes, SKX_VALUE_HEAD_BYTES + len};

	bytes[0] = '\0';
	bytes[1] = (char) (column + 1);
	bytes[2] = (char) kind;
	memcpy(bytes + SKX_VALUE_HEAD_BYTES, form, len);
	return lexeme;
}

SKX_NORETURN static void
skx_column_too_many(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("the columns of a row are too long for a skipidx index"),
			 errdetail("They take more than the %d bytes that are possible, with the text.",
					   MAXSTRPOS)));
}

/*
 * Sorts the lexemes and keeps one of equal ones.  Raises an error if they are
 * too long for a document.
 */
static void
skx_column_sort_unique(SkxValueList *list)
{
	int			i;

	list->n = skx_column_distinct(list->lexemes, list->n);
	list->nbytes = 0;
	for (i = 0; i < list->n; i++)
		list->nbytes += list->lexemes[i].len;
	if (list->nbytes > MAXSTRPOS)
		skx_column_too_many();
}

/*
 * Frees all memory except for the bytes of the lexemes.
 */
static void
skx_column_free_arrays(SkxValueList *list)
{
	MemoryContext context =
		AllocSetContextCreate(MemoryContextGetParent(list->context),
							  "skipidx lexemes", ALLOCSET_SMALL_SIZES);
	int			i;

	for (i = 0; i < list->n; i++)
	{
		SkxLexeme  *lexeme = &list->lexemes[i];
		char	   *bytes = MemoryContextAlloc(context, lexeme->len);

		lexeme->bytes = memcpy(bytes, lexeme->bytes, lexeme->len);
	}
	MemoryContextDelete(list->context);
	list->context = context;
}

/*
 * Adds a lexeme.  Lexemes of twice the bytes that fit into a document are
 * united at once, so that a long array is refused before all of it is copied.
 */
static void
skx_column_add_lexeme(SkxValueList *list, int column, SkxValueKind kind,
					  const char *form, int len)
{
	MemoryContext old;

	if (list->n == list->size)
	{
		list->size = Max(32, list->size * 2);
		if (list->lexemes == NULL)
			list->lexemes = palloc(sizeof(SkxLexeme) * list->size);
		else
			list->lexemes = repalloc_huge(list->lexemes,
										  sizeof(SkxLexeme) * list->size);
	}
	old = MemoryContextSwitchTo(list->context);
	list->lexemes[list->n++] = skx_column_lexeme(column, kind, form, len);
	MemoryContextSwitchTo(old);
	list->nbytes += SKX_VALUE_HEAD_BYTES + len;
	if (list->nbytes > 2 * MAXSTRPOS)
	{
		skx_column_sort_unique(list);
		skx_column_free_arrays(list);
	}
}

static void
skx_column_add_value(SkxValueList *list, const SkxColumns *columns, int column,
					 Datum value)
{
	const SkxColumn *c = &columns->columns[column - 1];
	MemoryContext old = MemoryContextSwitchTo(list->context);
	bytea	   *form = DatumGetByteaPP(FunctionCall1(unconstify(FmgrInfo *, &c->canonical),
													 value));

	MemoryContextSwitchTo(old);
	if (VARSIZE_ANY_EXHDR(form) > SKX_VALUE_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a value of column \"%s\" is too long for a skipidx index",
						c->name),
				 errdetail("It takes %zu bytes; %d are possible.",
						   (Size) VARSIZE_ANY_EXHDR(form), SKX_VALUE_MAX),
				 errhint("Index a hash of the column, or leave it out of the index.")));
	skx_column_add_lexeme(list, column, SKX_VALUE_PRESENT, VARDATA_ANY(form),
						  VARSIZE_ANY_EXHDR(form));
}

static void
skx_column_add_array(SkxValueList *list, const SkxColumns *columns, int column,
					 Datum value)
{
	const SkxColumn *c = &columns->columns[column - 1];
	ArrayType  *array = DatumGetArrayTypeP(value);
	Datum	   *elements;
	bool	   *nulls;
	int			n;
	int			i;

	deconstruct_array(array, c->element, c->len, c->byval, c->align,
					  &elements, &nulls, &n);
	if (n == 0)
		skx_column_add_lexeme(list, column, SKX_VALUE_EMPTY, "", 0);
	for (i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			skx_column_add_value(list, columns, column, elements[i]);
	}
}

/* Returns a tsvector of the lexemes, sorted, each once. */
static TSVector
skx_column_list_vector(SkxValueList *list)
{
	TSVector	vector;
	Size		used = 0;
	int			i;

	skx_column_sort_unique(list);
	vector = palloc0(CALCDATASIZE(list->n, list->nbytes));
	vector->size = list->n;
	for (i = 0; i < list->n; i++)
	{
		WordEntry  *entry = &ARRPTR(vector)[i];

		entry->len = list->lexemes[i].len;
		entry->pos = used;
		memcpy(STRPTR(vector) + used, list->lexemes[i].bytes, entry->len);
		used += entry->len;
	}
	SET_VARSIZE(vector, CALCDATASIZE(list->n, used));
	return vector;
}

TSVector
skx_column_values(const SkxColumns *columns, const Datum *values,
				  const bool *isnull)
{
	SkxValueList list = {0};
	MemoryContext context;
	MemoryContext old;
	TSVector	vector;
	int			i;

	if (columns->n == 0)
		return NULL;
	context = AllocSetContextCreate(CurrentMemoryContext, "skipidx values",
									ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(context);
	list.context = AllocSetContextCreate(context, "skipidx lexemes",
										 ALLOCSET_SMALL_SIZES);
	for (i = 1; i <= columns->n; i++)
	{
		if (isnull[i])
			skx_column_add_lexeme(&list, i, SKX_VALUE_NULL, "", 0);
		else if (OidIsValid(columns->columns[i - 1].element))
			skx_column_add_array(&list, columns, i, values[i]);
		else
			skx_column_add_value(&list, columns, i, values[i]);
	}
	vector = skx_column_list_vector(&list);
	MemoryContextSwitchTo(old);
	vector = memcpy(palloc(VARSIZE(vector)), vector, VARSIZE(vector));
	MemoryContextDelete(context);
	return vector;
}

int
skx_column_compare_lexeme(const void *a, const void *b)
{
	const SkxLexeme *x = a;
	const SkxLexeme *y = b;
	int			cmp = memcmp(x->bytes, y->bytes, Min(x->len, y->len));

	CHECK_FOR_INTERRUPTS();
	return cmp != 0 ? cmp : x->len - y->len;
}

static uint32
skx_column_hash_lexeme(const void *key, Size size)
{
	const SkxLexeme *lexeme = key;

	return hash_bytes((const unsigned char *) lexeme->bytes, lexeme->len);
}

static int
skx_column_match_lexeme(const void *a, const void *b, Size size)
{
	return skx_column_compare_lexeme(a, b);
}

HTAB *
skx_column_create_table(const char *name, Size entry_size,
						MemoryContext context)
{
	HASHCTL		ctl = {0};

	ctl.keysize = sizeof(SkxLexeme);
	ctl.entrysize = entry_size;
	ctl.hash = skx_column_hash_lexeme;
	ctl.match = skx_column_match_lexeme;
	ctl.hcxt = context;
	return hash_create(name, 256, &ctl,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE |
					   HASH_CONTEXT);
}

int
skx_column_distinct(SkxLexeme *lexemes, int n)
{
	int			kept = 0;
	int			i;

	if (n > 1)
		qsort(lexemes, n, sizeof(SkxLexeme), skx_column_compare_lexeme);
	for (i = 0; i < n; i++)
		if (kept == 0 || skx_column_compare_lexeme(&lexemes[kept - 1],
												   &lexemes[i]) != 0)
			lexemes[kept++] = lexemes[i];
	return kept;
}
