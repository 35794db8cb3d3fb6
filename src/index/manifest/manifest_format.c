/*
 * manifest_format.c
 *	  Which release can read an index, and what it writes.
 *
 * All readers of a metapage or of a segment's header come by
 * skx_manifest_check_format(), and all writers by
 * skx_manifest_check_writable().
 *
 * A new index is written in the form that the release of the installed SQL
 * objects had, so that until ALTER EXTENSION UPDATE the library of that
 * release can take over again.  manifest_operation.c does the same for a new
 * segment.
 */
#include "postgres.h"

#include "index/manifest/manifest_internal.h"
#include "support/damage/damage.h"
#include "utils/rel.h"

static void
skx_manifest_needs_later(Relation rel, const SkxDiskFormat *format)
{
	uint32		needed = format->oldest_reader > SKX_RELEASE ?
		format->oldest_reader : format->writer;
	char		least[SKX_RELEASE_TEXT];
	char		own[SKX_RELEASE_TEXT];

	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" needs skipidx %s or later",
					RelationGetRelationName(rel),
					skx_disk_release_print(needed, least)),
			 errdetail("This is skipidx %s.",
					   skx_disk_release_print(SKX_RELEASE, own)),
			 errhint("Install that release of skipidx, or a later one, and restart the server.")));
}

void
skx_manifest_check_format(Relation rel, BlockNumber block,
						  const SkxDiskFormat *format)
{
	switch (skx_disk_format_use(format))
	{
		case SKX_FORMAT_WRITE:
		case SKX_FORMAT_READ:
			break;
		case SKX_FORMAT_LATER:
			skx_manifest_needs_later(rel, format);
			break;
		case SKX_FORMAT_EARLY:
			ereport(ERROR,
					(errcode(ERRCODE_INDEX_CORRUPTED),
					 errmsg("index \"%s\" has format %u, which is of before release 1.0 of skipidx",
							RelationGetRelationName(rel), format->number),
					 errhint("Rebuild it with REINDEX.")));
			break;
		case SKX_FORMAT_DAMAGED:
			skx_damage_report(rel, block, "the format is damaged");
	}
}

void
skx_manifest_check_writable(Relation rel, const SkxDiskMeta *meta)
{
	char		writer[SKX_RELEASE_TEXT];
	char		own[SKX_RELEASE_TEXT];

	if (skx_disk_format_use(&meta->format) != SKX_FORMAT_READ)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("index \"%s\" cannot be written to by skipidx %s",
					RelationGetRelationName(rel),
					skx_disk_release_print(SKX_RELEASE, own)),
			 errdetail("Skipidx %s has written to it, and this release can only read what that wrote.",
					   skx_disk_release_print(meta->format.writer, writer)),
			 errhint("Install that release of skipidx, or a later one, and restart the server.")));
}

void
skx_manifest_new_format(Relation rel, SkxDiskFormat *format)
{
	skx_disk_format_of(skx_manifest_installed_release(rel->rd_rel->relam,
													  false),
					   SKX_FORMAT_NEWEST, format);
}
