/*
 * manifest_grow.c
 *	  New pages of the file: how many it can have, and how they are made empty.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "index/manifest/manifest_internal.h"
#include "storage/bufmgr.h"
#include "support/compat/compat.h"
#include "utils/rel.h"

Buffer
skx_manifest_unused_page(Relation rel, BlockNumber block)
{
	return ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_ZERO_AND_LOCK,
							  NULL);
}

void
skx_manifest_init_page(GenericXLogState *xlog, Buffer buffer,
					   uint64 incarnation, uint32 npages, BlockNumber previous)
{
	SkxPageIdentity id = {incarnation, npages, previous, SKX_PLANE_PENDING};

	Assert(skx_compat_buffer_locked(buffer));
	skx_disk_page_init((char *)
					   GenericXLogRegisterBuffer(xlog, buffer,
												 GENERIC_XLOG_FULL_IMAGE),
					   &id);
}

void
skx_manifest_check_growth(Relation rel, BlockNumber nblocks, uint64 npages)
{
	if (npages > MaxBlockNumber - nblocks)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("index \"%s\" cannot grow beyond %u blocks",
						RelationGetRelationName(rel), MaxBlockNumber)));
}
