/*
 * manifest_installed.c
 *	  Looks up which release's SQL objects a database has.
 *
 * It is the version of the extension to which the access method belongs, as
 * ALTER EXTENSION UPDATE sets it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_am.h"
#include "catalog/pg_extension.h"
#include "index/manifest/manifest_internal.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

/*
 * Returns the release that a row of pg_extension names.  One that this
 * transaction has installed may be taken back with it, which a published
 * segment is not.
 */
static uint32
skx_manifest_extension_release(Relation extensions, HeapTuple tuple,
							   bool committed)
{
	bool		isnull;
	Datum		version;

	if (committed &&
		TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
		return 0;
	version = heap_getattr(tuple, Anum_pg_extension_extversion,
						   RelationGetDescr(extensions), &isnull);
	return isnull ? 0 : skx_disk_release_parse(TextDatumGetCString(version));
}

uint32
skx_manifest_installed_release(Oid am, bool committed)
{
	Oid			extension = getExtensionOfObject(AccessMethodRelationId, am);
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	uint32		release = 0;

	if (!OidIsValid(extension))
		return 0;
	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(extension));
	scan = systable_beginscan(extensions, ExtensionOidIndexId, true, NULL, 1,
							  &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		release = skx_manifest_extension_release(extensions, tuple, committed);
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return release;
}
