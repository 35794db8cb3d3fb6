/*
 * highlight_keeping.c
 *	  Whether the first characters of a token tell that it is no word of a query.
 *
 * What the English stemmers and the dictionary "simple" make of a token that
 * begins with ASCII letters or digits begins with the first two of them, made
 * small: they take endings off.  The stemmer's exceptions keep the first one,
 * and the second one if it is not 'y' ("dying" is "die").  In some locales the
 * small letter of 'I' is none of ASCII.  Of other languages' stemmers some take
 * a beginning off, or write it in another way.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_ts_dict.h"
#include "catalog/pg_ts_template.h"
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

/* The function of a template, which is not loaded for that. */
static Oid
skx_highlight_lexize_of(Oid template)
{
	HeapTuple	tuple = SearchSysCache1(TSTEMPLATEOID,
										ObjectIdGetDatum(template));
	Oid			function;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	function = ((Form_pg_ts_template) GETSTRUCT(tuple))->tmpllexize;
	ReleaseSysCache(tuple);
	return function;
}

/* Nor is the dictionary, of which there may be no token. */
static bool
skx_highlight_keeps(Oid dictionary)
{
	HeapTuple	tuple = SearchSysCache1(TSDICTOID,
										ObjectIdGetDatum(dictionary));
	List	   *options = NIL;
	Oid			function;
	Datum		datum;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	function = skx_highlight_lexize_of(((Form_pg_ts_dict) GETSTRUCT(tuple))->dicttemplate);
	datum = SysCacheGetAttr(TSDICTOID, tuple,
							Anum_pg_ts_dict_dictinitoption, &isnull);
	if (!isnull)
		options = deserialize_deflist(datum);
	ReleaseSysCache(tuple);
	if (function == F_DSIMPLE_LEXIZE)
		return skx_highlight_accepts_all(options);
	return OidIsValid(function) && skx_highlight_is_stemmer(function) &&
		skx_highlight_is_english(options);
}

uint32
skx_highlight_keeping(const TSConfigCacheEntry *config)
{
	uint32		types = 0;
	Oid			last = InvalidOid;
	bool		keeps = false;
	int			type;

	for (type = 1; type < config->lenmap && type < SKX_HIGHLIGHT_TYPES; type++)
	{
		const ListDictionary *list = &config->map[type];

		if (list->len != 1)
			continue;
		if (list->dictIds[0] != last)
		{
			last = list->dictIds[0];
			keeps = skx_highlight_keeps(last);
		}
		if (keeps)
			types |= (uint32) 1 << type;
	}
	return types;
}
