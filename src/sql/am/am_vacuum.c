/*
 * am_vacuum.c
 *	  VACUUM's two calls.
 */
#include "postgres.h"

#include "sql/am/am.h"
#include "write/maint/maint.h"

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
 * Documents are counted again after a bulkdelete, too: since then some may
 * have been added, and what was merged takes other pages.
 */
IndexBulkDeleteResult *
skxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	SkxMaintOptions options;

	if (info->analyze_only)
		return stats;
	skx_am_maint_options(info->index, SKX_ASKER_VACUUM, &options);
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	skx_maint_cleanup(info->index, &options, stats);
	return stats;
}
