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
skx_shm_place(uint64 *bytes)
{
	const char *place;
	uint64		machine;

	switch (dynamic_shared_memory_type)
	{
		case DSM_IMPL_MMAP:
			*bytes = skx_shm_free(PG_DYNSHMEM_DIR);
			return "free in " PG_DYNSHMEM_DIR;
		case DSM_IMPL_POSIX:
			*bytes = skx_shm_free("/dev/shm");
			if (*bytes != SKX_ROOM_UNLIMITED || access("/dev/shm", F_OK) != 0)
				return "free in /dev/shm";
			place = "";
			break;
		case DSM_IMPL_SYSV:
			*bytes = skx_shm_sysv();
			place = "left of System V shared memory";
			break;
		default:
			*bytes = SKX_ROOM_UNLIMITED;
			return "";
	}
	machine = skx_shm_machine("");
	if (machine >= *bytes)
		return place;
	*bytes = machine;
	return "of available memory";
}

static void
skx_shm_explain(SkxRoomGrant *grant, const SkxRoom *room,
				const char *place)
{
	char	   *why = grant->why;

	switch (grant->limit)
	{
		case SKX_ROOM_LIMIT_NONE:
		case SKX_ROOM_LIMIT_REFUSED:
			why[0] = '\0';
			return;
		case SKX_ROOM_LIMIT_ASIDE:
			snprintf(why, SKX_ROOM_WHY,
					 "half of the %d MB free of min_dynamic_shared_memory",
					 (int) (room->aside / (1024 * 1024)));
			break;
		case SKX_ROOM_LIMIT_PLACE:
			snprintf(why, SKX_ROOM_WHY, "a quarter of the %d MB %s",
					 (int) (room->place / (1024 * 1024)), place);
			break;
		case SKX_ROOM_LIMIT_MEMORY:
			snprintf(why, SKX_ROOM_WHY,
					 "a quarter of the %d MB left of the cgroup's memory limit",
					 (int) (room->memory / (1024 * 1024)));
			break;
		case SKX_ROOM_LIMIT_UNKNOWN:
			strlcpy(why,
					"how much shared memory there is cannot be found out",
					SKX_ROOM_WHY);
			break;
	}
	if (grant->bytes == 0)
		strlcat(why, " is less than 4 MB", SKX_ROOM_WHY);
}

void
skx_shm_ask(uint64 wanted, SkxRoomGrant *grant)
{
	SkxRoom		room = {0};
	Size		aside;
	const char *place = skx_shm_place(&room.place);

	memset(grant, 0, sizeof(*grant));
	if (skx_compat_dsm_aside(&grant->aside, &grant->aside_bytes, &aside))
		room.aside = aside;
	room.memory = skx_shm_cgroup("");
	grant->bytes = skx_shm_choose(wanted, &room, &grant->limit,
								  &grant->elsewhere);
	skx_shm_explain(grant, &room, place);
}

/*
 * Another process may have taken the memory set aside; then the server
 * allocates the whole segment elsewhere.
 */
dsm_segment *
skx_shm_segment(const SkxRoomGrant *grant, Size bytes)
{
	dsm_segment *segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	const char *address;

	if (segment == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_RESOURCES),
				 errmsg("too many dynamic shared memory segments")));
	address = dsm_segment_address(segment);
	if (bytes > grant->elsewhere &&
		(grant->aside_bytes == 0 || address < grant->aside ||
		 address >= grant->aside + grant->aside_bytes))
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
skx_shm_hint(SkxRoomLimit limit)
{
	if (limit == SKX_ROOM_LIMIT_MEMORY)
		return "Raise the memory limit of the server's cgroup, preload skipidx, or lower skipidx.cache_size; then restart the server.";
	if (dynamic_shared_memory_type == DSM_IMPL_POSIX)
		return "Enlarge /dev/shm, raise min_dynamic_shared_memory, preload skipidx, or lower skipidx.cache_size; then restart the server.";
	return "Raise min_dynamic_shared_memory, preload skipidx, or lower skipidx.cache_size; then restart the server.";
}
