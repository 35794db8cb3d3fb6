/*
 * blkio_release.c
 *	  Releases plans, reads ahead and pins when a resource owner or the
 *	  process ends.
 */
#include "postgres.h"

#include "storage/blkio/blkio_cache.h"
#include "storage/ipc.h"
#include "utils/resowner.h"

static void
skx_blkio_release_owner(ResourceReleasePhase phase, bool commit,
						bool top_level, void *arg)
{
	if (phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	skx_blkio_prefetch_forget(CurrentResourceOwner, NULL);
	if (top_level)
		skx_blkio_private_trim();
	skx_blkio_pins_end(CurrentResourceOwner, commit);
}

/* Frames in shared memory must not keep pins of a process that has ended. */
static void
skx_blkio_release_process(int code, Datum arg)
{
	skx_blkio_prefetch_forget(NULL, NULL);
	skx_blkio_pins_end_process();
	skx_blkio_counters_publish();
}

void
skx_blkio_release_register(void)
{
	static bool registered = false;

	if (registered)
		return;
	RegisterResourceReleaseCallback(skx_blkio_release_owner, NULL);
	before_shmem_exit(skx_blkio_release_process, (Datum) 0);
	registered = true;
}
