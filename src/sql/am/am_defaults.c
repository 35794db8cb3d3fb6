/*
 * am_defaults.c
 *	  The defaults of the parameters that scores depend on, by release.
 *
 * A release may have better defaults than the one before, but the scores of an
 * index must not change with the library.  So an index has the storage
 * parameter `defaults`, which names the release whose defaults it has.  The
 * server takes it along where it makes the index again: in a dump, for REINDEX
 * CONCURRENTLY, after a change of a type, for the partitions of a partitioned
 * index.  Pages of the index could not tell: it gets new ones, and a partitioned
 * index has none.
 *
 * The server tells of a new index by a hook, before it is built.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "format/disk/disk_format.h"
#include "index/manifest/manifest.h"
#include "nodes/makefuncs.h"
#include "sql/am/am.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

/*
 * k1, b, proximity and weights, in the order of releases.  A new one comes
 * behind the others, of which none changes.
 */
static const SkxDefaults skx_am_defaults[] = {
	{"1.0", {1.2, 0.75, 0.1, {1, 1, 1, 1}}},
#ifdef SKX_NEXT_DEFAULTS		/* for tests: those of a later release */
	{SKX_RELEASE_NAME, {2, 0.3, 1, {0.5, 2, 3, 4}}},
#endif
};

const SkxDefaults *
skx_am_find_defaults(const char *release)
{
	int			i;

	if (release == NULL)
		return &skx_am_defaults[0];
	for (i = 0; i < lengthof(skx_am_defaults); i++)
		if (strcmp(skx_am_defaults[i].release, release) == 0)
			return &skx_am_defaults[i];
	return NULL;
}

/*
 * Returns the defaults of new indexes of the access method: the newest that
 * are not newer than the objects of this database.  Until these are updated,
 * the library before may come back, and must know the index.
 */
static const SkxDefaults *
skx_am_new_defaults(Oid am)
{
	uint32		objects = skx_manifest_installed_release(am, false);
	int			i = lengthof(skx_am_defaults) - 1;

	for (; i > 0; i--)
	{
		if (skx_disk_release_parse(skx_am_defaults[i].release) <= objects)
			break;
	}
	return &skx_am_defaults[i];
}

/* Returns true if these storage parameters say which defaults there are. */
static bool
skx_am_names_defaults(Datum reloptions)
{
	List	   *options = untransformRelOptions(reloptions);
	ListCell   *lc;

	foreach(lc, options)
	{
		if (strcmp(lfirst_node(DefElem, lc)->defname, SKX_DEFAULTS_OPTION) == 0)
			return true;
	}
	return false;
}

/*
 * The row of a new index cannot be changed by the command that has made it, so
 * that one ends here.  An update of a row of pg_class takes a lock of it, since
 * others may be written to in their place.  No other session knows of a new one,
 * but a server with assertions warns of an update without the lock.
 */
void
skx_am_note_defaults(Oid index)
{
	Datum		values[Natts_pg_class] = {0};
	bool		nulls[Natts_pg_class] = {0};
	bool		replaces[Natts_pg_class] = {0};
	Relation	rel;
	HeapTuple	tuple;
	Datum		options;
	bool		none;

	CommandCounterIncrement();
	rel = table_open(RelationRelationId, RowExclusiveLock);
	tuple = SearchSysCacheCopy1(RELOID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for index %u", index);
	options = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &none);
	if (none || !skx_am_names_defaults(options))
	{
		Oid			am = ((Form_pg_class) GETSTRUCT(tuple))->relam;
		char	   *release = pstrdup(skx_am_new_defaults(am)->release);
		DefElem    *named = makeDefElem(SKX_DEFAULTS_OPTION,
										(Node *) makeString(release), -1);
		const int	at = Anum_pg_class_reloptions - 1;
		ItemPointerData place = tuple->t_self;

		values[at] = transformRelOptions(none ? (Datum) 0 : options,
										 list_make1(named), NULL, NULL,
										 false, false);
		replaces[at] = true;
		tuple = heap_modify_tuple(tuple, RelationGetDescr(rel), values, nulls,
								  replaces);
		LockTuple(rel, &place, ExclusiveLock);
		CatalogTupleUpdate(rel, &place, tuple);
		UnlockTuple(rel, &place, ExclusiveLock);
	}
	table_close(rel, RowExclusiveLock);
}
