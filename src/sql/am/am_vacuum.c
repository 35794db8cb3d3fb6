/*
 * am_vacuum.c
 *	  The two callbacks of VACUUM.
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
 * Documents are counted again even after ambulkdelete.  Some may have been
 * added since, and merges change the number of pages.
 */
IndexBulkDeleteResult *
skxvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	SkxMaintOptions options;

	if (info->analyze_only)
		return stats;
	skx_am_maint_options(info->index, SKX_REQUESTER_VACUUM, &options);
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	skx_maint_cleanup(info->index, &options, stats);
	return stats;
}
