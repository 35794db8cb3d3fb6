/*
 * shm_segment.c
 *	  Makes dynamic segments that leave most of the free memory to other uses,
 *	  by the server's kind of shared memory, and describes the limits.
 *
 * Kind posix is a file in /dev/shm, and mmap one in pg_dynshmem, each in a
 * file system whose free space is known.  System V memory, and a tmpfs without
 * a size, are limited by the machine's memory.
 */
#include "postgres.h"

#include <unistd.h>

#include "storage/dsm_impl.h"
#include "storage/lwlock.h"
#include "support/compat/compat.h"
#include "support/shm/shm.h"
#include "utils/resowner.h"

/*
 * Sets *bytes to the free memory for segments that are not set aside, and
 * returns words for it.
 */
static const char *
skx_shm_free_for_segments(uint64 *bytes)
{
	const char *place;
	uint64		machine;

	switch (dynamic_shared_memory_type)
	{
		case DSM_IMPL_MMAP:
			*bytes = skx_shm_free_in_directory(PG_DYNSHMEM_DIR);
			return "free in " PG_DYNSHMEM_DIR;
		case DSM_IMPL_POSIX:
			*bytes = skx_shm_free_in_directory("/dev/shm");
			if (*bytes != SKX_SHM_UNLIMITED || access("/dev/shm", F_OK) != 0)
				return "free in /dev/shm";
			place = "";
			break;
		case DSM_IMPL_SYSV:
			*bytes = skx_shm_sysv_segment_max();
			place = "left of System V shared memory";
			break;
		default:
			*bytes = SKX_SHM_UNLIMITED;
			return "";
	}
	machine = skx_shm_free_in_machine("");
	if (machine >= *bytes)
		return place;
	*bytes = machine;
	return "of available memory";
}

static void
skx_shm_explain(SkxShmGrant *grant, const SkxShmFree *room,
				const char *place)
{
	char	   *why = grant->reason;

	switch (grant->limit)
	{
		case SKX_SHM_LIMIT_NONE:
		case SKX_SHM_LIMIT_REFUSED:
			why[0] = '\0';
			return;
		case SKX_SHM_LIMIT_RESERVED:
			snprintf(why, SKX_SHM_REASON_SIZE,
					 "half of the %d MB free of min_dynamic_shared_memory",
					 (int) (room->reserved / (1024 * 1024)));
			break;
		case SKX_SHM_LIMIT_SEGMENTS:
			snprintf(why, SKX_SHM_REASON_SIZE, "a quarter of the %d MB %s",
					 (int) (room->segments / (1024 * 1024)), place);
			break;
		case SKX_SHM_LIMIT_MEMORY:
			snprintf(why, SKX_SHM_REASON_SIZE,
					 "a quarter of the %d MB left of the cgroup's memory limit",
					 (int) (room->memory / (1024 * 1024)));
			break;
		case SKX_SHM_LIMIT_UNKNOWN:
			strlcpy(why,
					"how much shared memory there is cannot be found out",
					SKX_SHM_REASON_SIZE);
			break;
	}
	if (grant->bytes == 0)
		strlcat(why, " is less than 4 MB", SKX_SHM_REASON_SIZE);
}

void
skx_shm_request(uint64 wanted, SkxShmGrant *grant)
{
	SkxShmFree	room = {0};
	Size		aside;
	const char *place = skx_shm_free_for_segments(&room.segments);

	memset(grant, 0, sizeof(*grant));
	if (skx_compat_dsm_reserved(&grant->reserved, &grant->reserved_bytes,
								&aside))
		room.reserved = aside;
	room.memory = skx_shm_free_in_cgroup("");
	grant->bytes = skx_shm_choose_bytes(wanted, &room, &grant->limit,
										&grant->max_unreserved);
	skx_shm_explain(grant, &room, place);
}

/*
 * Another process may have taken the memory set aside; then the server
 * allocates the whole segment elsewhere.
 */
dsm_segment *
skx_shm_segment(const SkxShmGrant *grant, Size bytes)
{
	dsm_segment *segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	const char *address;

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too many dynamic shared memory segments")));
	address = dsm_segment_address(segment);
	if (bytes > grant->max_unreserved &&
		(grant->reserved_bytes == 0 || address < grant->reserved ||
		 address >= grant->reserved + grant->reserved_bytes))
	{
		dsm_detach(segment);
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("the memory of min_dynamic_shared_memory is in use")));
	}
	return segment;
}

/*
 * All LWLocks are released, as an abort does, which is possible since the
 * caller holds none.
 */
char *
skx_shm_attempt(void (*action) (void *arg), void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	uint32		holdoff = InterruptHoldoffCount;
	char	   *volatile why = NULL;

	CurrentResourceOwner = NULL;
	PG_TRY();
	{
		action(arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		/*
		 * errfinish has set the count to zero, and each release decrements it
		 */
		InterruptHoldoffCount = holdoff;
		LWLockReleaseAll();
		InterruptHoldoffCount = holdoff;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		why = pstrdup(error->message);
		FreeErrorData(error);
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return why;
}

const char *
skx_shm_hint(SkxShmLimit limit)
{
	if (limit == SKX_SHM_LIMIT_MEMORY)
		return "Raise the memory limit of the server's cgroup, preload skipidx, or lower skipidx.cache_size; then restart the server.";
	if (dynamic_shared_memory_type == DSM_IMPL_POSIX)
		return "Enlarge /dev/shm, raise min_dynamic_shared_memory, preload skipidx, or lower skipidx.cache_size; then restart the server.";
	return "Raise min_dynamic_shared_memory, preload skipidx, or lower skipidx.cache_size; then restart the server.";
}
