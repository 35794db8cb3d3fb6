/*
 * compat_server.c
 *	  Shims of server calls that need a body.
 */
#include "postgres.h"

#include "catalog/catalog.h"
#include "common/relpath.h"
#include "compat/compat.h"
#include "pgstat.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#include "utils/wait_event.h"
#endif

char *
skx_compat_path(SkxLocator locator)
{
#if PG_VERSION_NUM >= 180000
	RelPathStr	path = relpathperm(locator, MAIN_FORKNUM);

	return pstrdup(path.str);
#else
	return relpathperm(locator, MAIN_FORKNUM);
#endif
}

bool
skx_compat_page_verified(char *page, BlockNumber block, SkxLocator locator)
{
#if PG_VERSION_NUM >= 180000
	bool		failed = false;
	bool		ok = PageIsVerified((Page) page, block, 0, &failed);

	if (failed)
	{
		pgstat_prepare_report_checksum_failure(SKX_LOCATOR_DATABASE(locator));
		pgstat_report_checksum_failures_in_db(SKX_LOCATOR_DATABASE(locator),
											  1);
	}
	return ok;
#else
	return PageIsVerifiedExtended((Page) page, block, PIV_REPORT_STAT);
#endif
}

void
skx_compat_extend(SMgrRelation smgr, BlockNumber from, BlockNumber to)
{
#if PG_VERSION_NUM >= 160000
	/* The argument for the number of blocks is an int. */
	while (from < to)
	{
		BlockNumber n = Min(to - from, (BlockNumber) RELSEG_SIZE);

		smgrzeroextend(smgr, MAIN_FORKNUM, from, (int) n, true);
		from += n;
	}
#else
	PGAlignedBlock zero;

	/*
	 * One block at the end of each segment file suffices: the file system
	 * reads a hole as zeros.
	 */
	memset(zero.data, 0, BLCKSZ);
	while (from < to)
	{
		BlockNumber next = (from / RELSEG_SIZE + 1) * (BlockNumber) RELSEG_SIZE;

		from = Min(next, to);
		smgrextend(smgr, MAIN_FORKNUM, from - 1, zero.data, true);
	}
#endif
}

uint32
skx_compat_wait_event(const char *name)
{
#if PG_VERSION_NUM >= 170000
	return WaitEventExtensionNew(name);
#else
	return PG_WAIT_EXTENSION;
#endif
}

void *
skx_compat_anchor(const char *name, Size size, void (*init) (void *area))
{
	bool		found;
	void	   *area;

#if PG_VERSION_NUM >= 170000
	area = GetNamedDSMSegment(name, size, init, &found);
#else
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	area = ShmemInitStruct(name, size, &found);
	if (!found)
		init(area);
	LWLockRelease(AddinShmemInitLock);
#endif
	return area;
}
