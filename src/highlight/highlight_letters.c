/*
 * highlight_letters.c
 *	  Whether the first letters of a token tell that it is no word of a query.
 *
 * What the English stemmers and the dictionary "simple" make of a word of ASCII
 * letters begins with its first two, made small: they take endings off.  The
 * stemmer's exceptions keep the first one, and the second one if it is not 'y'
 * ("dying" is "die").  In some locales the small letter of 'I' is none of ASCII.
 * Of other languages' stemmers some take a beginning off, or write it in another
 * way.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_ts_dict.h"
#include "commands/defrem.h"
#include "highlight/highlight_internal.h"
#include "tsearch/ts_cache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

/* The server's stemmers have no OID of their own. */
static bool
skx_highlight_is_stemmer(Oid function)
{
	char	   *name = get_func_name(function);

	return name != NULL && strcmp(name, "dsnowball_lexize") == 0 &&
		get_func_namespace(function) == PG_CATALOG_NAMESPACE;
}

static bool
skx_highlight_is_english(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		DefElem    *option = lfirst(lc);

		if (pg_strcasecmp(option->defname, "language") == 0)
			return pg_strcasecmp(defGetString(option), "english") == 0 ||
				pg_strcasecmp(defGetString(option), "porter") == 0;
	}
	return false;
}

/* Does it leave some words to other dictionaries? */
static bool
skx_highlight_accepts_all(List *options)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		if (pg_strcasecmp(((DefElem *) lfirst(lc))->defname, "accept") == 0)
			return false;
	}
	return true;
}

static List *
skx_highlight_options(Oid dictionary)
{
	HeapTuple	tuple = SearchSysCache1(TSDICTOID,
										ObjectIdGetDatum(dictionary));
	List	   *options = NIL;
	Datum		datum;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for text search dictionary %u",
			 dictionary);
	datum = SysCacheGetAttr(TSDICTOID, tuple,
							Anum_pg_ts_dict_dictinitoption, &isnull);
	if (!isnull)
		options = deserialize_deflist(datum);
	ReleaseSysCache(tuple);
	return options;
}

bool
skx_highlight_keeps_letters(const ListDictionary *list)
{
	Oid			function;

	if (list->len != 1)
		return false;
	function = lookup_ts_dictionary_cache(list->dictIds[0])->lexizeOid;
	if (function == F_DSIMPLE_LEXIZE)
		return skx_highlight_accepts_all(skx_highlight_options(list->dictIds[0]));
	return skx_highlight_is_stemmer(function) &&
		skx_highlight_is_english(skx_highlight_options(list->dictIds[0]));
}
