/*
 * highlight_keeping.c
 *	  Finds the token types whose dictionaries keep the first characters of
 *	  tokens.
 *
 * The English stemmers and the dictionary "simple" fold case and only remove
 * or change endings.  So the lexeme of a token that begins with two ASCII
 * letters or digits begins with the same two in lower case.  Exceptions of
 * the stemmer keep the first character, and the second one unless it is 'y'
 * ("dying" becomes "die").  In some locales the lower-case form of 'I' is not
 * ASCII.  Some stemmers of other languages remove or rewrite the beginning of
 * a token.
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

/*
 * Returns true if the function is that of the server's stemmers.  It is found
 * by name, since it has no fixed OID.
 */
static bool
skx_highlight_is_stemmer(Oid function)
{
	char	   *name = get_func_name(function);

	return name != NULL && strcmp(name, "dsnowball_lexize") == 0 &&
		get_func_namespace(function) == PG_CATALOG_NAMESPACE;
}

/* Returns true if the options of a stemmer select an English one. */
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

/*
 * Returns true if a dictionary with these options never leaves a word to the
 * next dictionary.
 */
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

/*
 * Returns the lexize function of a dictionary template, from the catalog alone
 * and without loading it.
 */
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

/*
 * Returns true if a dictionary knows all tokens and keeps their first
 * characters.  Does not load the dictionary, which may not be needed at all.
 */
static bool
skx_highlight_keeps_first_chars(Oid dictionary)
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
skx_highlight_keeping_types(const TSConfigCacheEntry *config)
{
	uint32		types = 0;
	Oid			last = InvalidOid;
	bool		keeps = false;
	int			type;

	for (type = 1; type < config->lenmap &&
		 type < SKX_HIGHLIGHT_TOKEN_TYPES; type++)
	{
		const ListDictionary *list = &config->map[type];

		if (list->len != 1)
			continue;
		if (list->dictIds[0] != last)
		{
			last = list->dictIds[0];
			keeps = skx_highlight_keeps_first_chars(last);
		}
		if (keeps)
			types |= (uint32) 1 << type;
	}
	return types;
}
