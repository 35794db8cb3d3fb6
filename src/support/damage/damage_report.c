/*
 * damage_report.c
 *	  Reports that an index file is damaged.
 *
 * All code that finds damage calls this.  So every report has the same
 * SQLSTATE, names the block, and says what to do.
 */
#include "postgres.h"

#include "support/damage/damage.h"
#include "utils/rel.h"

void
skx_damage_report(Relation rel, BlockNumber block, const char *what)
{
	if (BlockNumberIsValid(block))
		ereport(ERROR,
				(errcode(ERRCODE_INDEX_CORRUPTED),
				 errmsg("index \"%s\" is damaged in block %u",
						RelationGetRelationName(rel), block),
				 errdetail_internal("%s", what),
				 errhint("Rebuild it with REINDEX.")));
	ereport(ERROR,
			(errcode(ERRCODE_INDEX_CORRUPTED),
			 errmsg("index \"%s\" is damaged",
					RelationGetRelationName(rel)),
			 errdetail_internal("%s", what),
			 errhint("Rebuild it with REINDEX.")));
}

void
skx_damage_report_detail(Relation rel, BlockNumber block,
						 const char *format,...)
{
	char		what[256];
	va_list		args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	skx_damage_report(rel, block, what);
}
