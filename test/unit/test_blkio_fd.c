/*
 * test_blkio_fd.c
 *	  Descriptors of segment files: how many are open, which one goes, and
 *	  what happens while reads are under way on all of them.
 *
 * All files are /dev/null, and the ring is a list of handles.
 *
 * Holds: none
 */
#include "unit.h"
#include "server.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "storage/blkio/blkio_cache.h"
#include "utils/inval.h"

#define MOST		16			/* a quarter of max_safe_fds */

/* ---- the world ---- */

static int	external;			/* descriptors that the server knows of */
static int	opened;				/* files */
static int	by_server;			/* tried by the server's own function */
static int	under_way[200];
static int	nunder_way;
static int	reaped;
static RelcacheCallbackFunction invalidate;

int			max_safe_fds = 4 * MOST;

bool
AcquireExternalFD(void)
{
	external++;
	return true;
}

void
ReserveExternalFD(void)
{
	external++;
}

void
ReleaseExternalFD(void)
{
	external--;
	CHECK(external >= 0);
}

int
BasicOpenFile(const char *name, int flags)
{
	by_server++;
	return open(name, flags);
}

void
CacheRegisterRelcacheCallback(RelcacheCallbackFunction function, Datum arg)
{
	invalidate = function;
}

char *
skx_compat_relation_path(SkxLocator locator)
{
	opened++;
	return strdup("/dev/null");
}

char *
psprintf(const char *format,...)
{
	return strdup("/dev/null");
}

void
pfree(void *pointer)
{
	free(pointer);
}

bool
skx_blkio_note_limit(SkxBlkRefusal what)
{
	return false;
}

/* The log is not asked for. */
bool
errstart(int elevel, const char *domain)
{
	abort();
}

bool
errstart_cold(int elevel, const char *domain)
{
	abort();
}

int
errmsg(const char *format,...)
{
	abort();
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	abort();
}

int
skx_blkio_ring_depth(void)
{
	return nunder_way;
}

/* The oldest read ends; every other time a signal comes first. */
int
skx_blkio_ring_reap(bool wait)
{
	CHECK(wait && nunder_way > 0);
	if (reaped++ % 2 == 0)
		return 0;
	skx_blkio_fd_put(under_way[0]);
	nunder_way--;
	memmove(under_way, under_way + 1, nunder_way * sizeof(int));
	return 1;
}

/* ---- tests ---- */

static RelationData relation;

static int
get(Oid number, BlockNumber segment, int *handle)
{
	relation.rd_id = number;
	memset(&SKX_REL_LOCATOR(&relation), 0, sizeof(SkxLocator));
#if PG_VERSION_NUM >= 160000
	SKX_REL_LOCATOR(&relation).relNumber = number;
#else
	SKX_REL_LOCATOR(&relation).relNode = number;
#endif
	return skx_blkio_fd_wait(&relation, segment * RELSEG_SIZE, 0, handle);
}

/* Where the process may not open more, one of ours makes room. */
static void
test_limit(void)
{
	struct rlimit before;
	struct rlimit limit;
	int			handle;
	int			first;

	for (Oid i = 101; i <= 104; i++)
	{
		CHECK(get(i, 0, &handle) >= 0);
		skx_blkio_fd_put(handle);
	}
	first = open("/dev/null", O_RDONLY);
	close(first);
	CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
	limit = before;
	limit.rlim_cur = first;
	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	for (Oid i = 105; i <= 140; i++)
	{
		CHECK(get(i, 0, &handle) >= 0);
		skx_blkio_fd_put(handle);
		CHECK(external == 4);
	}
	CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
	CHECK(by_server == 0);
	opened = 0;
}

/* Up to MOST stay open; the one used longest ago goes. */
static void
test_oldest(void)
{
	int			handle;

	for (Oid i = 1; i <= 3 * MOST; i++)
	{
		CHECK(get(i, 0, &handle) >= 0);
		skx_blkio_fd_put(handle);
		CHECK(get(1, 0, &handle) >= 0);
		skx_blkio_fd_put(handle);
		CHECK(external <= MOST);
	}
	CHECK(external == MOST);
	CHECK(opened == 3 * MOST);
	CHECK(get(3 * MOST, 1, &handle) >= 0);
	skx_blkio_fd_put(handle);
	CHECK(opened == 3 * MOST + 1);
}

/* With reads under way on all of them, the next file waits for one to end. */
static void
test_all_in_use(void)
{
	int			handle;

	for (Oid i = 100; i < 200; i++)
	{
		CHECK(get(i, 0, &handle) >= 0);
		under_way[nunder_way++] = handle;
		CHECK(external == MOST);
	}
	CHECK(nunder_way == MOST);
	while (nunder_way > 0)
		(void) skx_blkio_ring_reap(true);

	/* Nobody's read will end: what cannot be waited for is an error. */
	for (Oid i = 300; i < 300 + MOST; i++)
		CHECK(get(i, 0, &handle) >= 0);
	errno = 0;
	CHECK(get(400, 0, &handle) == -1 && errno == EMFILE);
	for (int i = 0; i < MOST; i++)
		skx_blkio_fd_put(i);
}

/* Closed by an invalidation, but not under a read. */
static void
test_invalidated(void)
{
	int			handle;
	int			again;
	int			before = external;
	int			fd = get(300, 0, &handle);

	CHECK(external == before);
	invalidate((Datum) 0, 300);
	CHECK(external == before && fcntl(fd, F_GETFD) >= 0);
	invalidate((Datum) 0, 301);
	CHECK(external == before - 1);
	CHECK(get(300, 0, &again) != fd && again != handle);
	skx_blkio_fd_put(handle);
	CHECK(fcntl(fd, F_GETFD) < 0);
	skx_blkio_fd_put(again);
	invalidate((Datum) 0, InvalidOid);
	CHECK(external == 0);
}

int
main(void)
{
	unit_seed(4);
	test_limit();
	test_oldest();
	test_all_in_use();
	test_invalidated();
	return unit_done("blkio_fd");
}
