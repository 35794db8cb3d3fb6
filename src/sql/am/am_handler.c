/*
 * am_handler.c
 *	  Returns the capabilities of the access method, and its callbacks.
 *
 * amoptionalkey is true: every row is a document, also one with a NULL or
 * empty tsvector, so a scan without a condition is complete.  For count(*) the
 * planner would make it an index-only scan, which cost_scan.c prevents.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/vacuum.h"
#include "fmgr.h"
#include "sql/am/am.h"
#include "support/compat/compat.h"
#include "support/compat/compat_planner.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(skipidx_handler);

static void
skx_am_capabilities(IndexAmRoutine *am)
{
	am->amstrategies = SKX_NSTRATEGIES;
	am->amsupport = SKX_SUPPORT_FUNCTIONS;
	am->amoptsprocnum = 0;
	am->amcanorder = false;
	am->amcanorderbyop = true;
	am->amcanbackward = false;
	am->amcanunique = false;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
	am->amstorage = false;
	am->amclusterable = false;
	am->ampredlocks = true;
	am->amcanparallel = true;
	SKX_COMPAT_SET_BUILD_PARALLEL(am);
	am->amcaninclude = false;
	am->amusemaintenanceworkmem = true;
	am->amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_CLEANUP;
	am->amkeytype = InvalidOid;
}

/*
 * amproperty: tells that only the tsvector column of an index can be ordered
 * by distance.  By itself the server only knows what the access method can do
 * as a whole.
 */
static bool
skx_am_property(Oid index, int column, IndexAMProperty property,
				const char *name, bool *result, bool *isnull)
{
	Oid			opclass;
	Oid			family;
	Oid			type;

	if (property != AMPROP_DISTANCE_ORDERABLE || column == 0)
		return false;
	opclass = get_index_column_opclass(index, column);
	if (!OidIsValid(opclass) ||
		!get_opclass_opfamily_and_input_type(opclass, &family, &type))
		*isnull = true;
	else
		*result = type == TSVECTOROID;
	return true;
}

Datum
skipidx_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	skx_am_capabilities(am);
	am->ambuild = skxbuild;
	am->ambuildempty = skxbuildempty;
	am->aminsert = skxinsert;
	am->ambulkdelete = skxbulkdelete;
	am->amvacuumcleanup = skxvacuumcleanup;
	am->amcostestimate = skxcostestimate;
	am->amoptions = skxoptions;
	am->amproperty = skx_am_property;
	am->ambuildphasename = skxbuildphasename;
	am->amvalidate = skxvalidate;
	am->ambeginscan = skxbeginscan;
	am->amrescan = skxrescan;
	am->amgettuple = skxgettuple;
	am->amgetbitmap = skxgetbitmap;
	am->amendscan = skxendscan;
	am->amestimateparallelscan = skxestimateparallelscan;
	am->aminitparallelscan = skxinitparallelscan;
	am->amparallelrescan = skxparallelrescan;
	PG_RETURN_POINTER(am);
}
