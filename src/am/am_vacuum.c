/*
 * am_vacuum.c
 *	  VACUUM's two calls.
 */
#include "postgres.h"

#include "am/am.h"
#include "maint/maint.h"

IndexBulkDeleteResult *
skxbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			  IndexBulkDeleteCallback callback, void *state)
{
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	skx_maint_bulkdelete(info->index, stats, callback, state);
	return stats;
}

/*
 * Without a bulkdelete before, which has counted already, the documents are
 * counted here.
 */
IndexBulkDeleteResult *
skxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	if (info->analyze_only)
		return stats;
	if (stats == NULL)
	{
		stats = palloc0(sizeof(IndexBulkDeleteResult));
		skx_maint_count(info->index, stats);
	}
	return stats;
}
