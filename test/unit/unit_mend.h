/*
 * unit_mend.h
 *	  Stands in for the mending of pages where no write fails.
 *
 * Included once, by a test that includes a writer's source.
 */
#ifndef SKX_TEST_UNIT_MEND_H
#define SKX_TEST_UNIT_MEND_H

#include "storage/blkio/blkio_internal.h"

ErrorData *
skx_blkio_mend_begin(MemoryContext context)
{
	return NULL;
}

bool
skx_blkio_mend(Relation rel, BlockNumber block, char **pages, int npages,
			   bool direct)
{
	abort();
}

void
skx_blkio_mend_end(ErrorData *error)
{
	abort();
}

#endif							/* SKX_TEST_UNIT_MEND_H */
