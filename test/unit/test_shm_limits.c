/*
 * test_shm_limits.c
 *	  What dynamic shared memory there is, read from copies of a machine's
 *	  files, and what is taken of it.
 *
 * Holds: shm 1, 3
 */
#include "unit.h"

#include <sys/stat.h>

#include "support/shm/shm.h"

#define MB(n)	((uint64) (n) * 1024 * 1024)

/* ---- how much is taken ---- */

static uint64
choose(uint64 wanted, uint64 aside, uint64 place, uint64 memory,
	   SkxShmLimit limit)
{
	SkxShmFree		room = {aside, place, memory};
	SkxShmLimit got;
	uint64		elsewhere;
	uint64		bytes = skx_shm_choose_bytes(wanted, &room, &got, &elsewhere);

	CHECK(got == limit);
	CHECK(bytes <= wanted);
	CHECK(place == SKX_SHM_UNLIMITED ? elsewhere == SKX_SHM_GRANT_UNKNOWN_MAX :
		  elsewhere == place / 4);
	return bytes;
}

static void
check_choice(void)
{
	uint64		none = SKX_SHM_UNLIMITED;

	CHECK(choose(MB(128), 0, MB(512), none, SKX_SHM_LIMIT_NONE) == MB(128));
	CHECK(choose(MB(128), 0, MB(511), none,
				 SKX_SHM_LIMIT_SEGMENTS) == MB(511) / 4);
	CHECK(choose(MB(128), 0, MB(64), none, SKX_SHM_LIMIT_SEGMENTS) == MB(16));
	CHECK(choose(MB(128), 0, MB(16), none, SKX_SHM_LIMIT_SEGMENTS) == MB(4));
	CHECK(choose(MB(128), 0, MB(16) - 4, none, SKX_SHM_LIMIT_SEGMENTS) == 0);
	CHECK(choose(MB(128), 0, 0, none, SKX_SHM_LIMIT_SEGMENTS) == 0);

	/* a small cache is made where it fits, and not otherwise */
	CHECK(choose(MB(1), 0, MB(8), none, SKX_SHM_LIMIT_NONE) == MB(1));
	CHECK(choose(MB(1), 0, MB(3), none, SKX_SHM_LIMIT_SEGMENTS) == 0);

	CHECK(choose(MB(128), 0, none, none, SKX_SHM_LIMIT_UNKNOWN) == MB(16));
	CHECK(choose(MB(8), 0, none, none, SKX_SHM_LIMIT_NONE) == MB(8));

	CHECK(choose(MB(128), 0, MB(1024), MB(160),
				 SKX_SHM_LIMIT_MEMORY) == MB(40));
	CHECK(choose(MB(128), 0, MB(64), MB(160),
				 SKX_SHM_LIMIT_SEGMENTS) == MB(16));
	CHECK(choose(MB(128), 0, none, MB(40),
				 SKX_SHM_LIMIT_MEMORY) == MB(10));
	CHECK(choose(MB(128), 0, MB(1024), 0, SKX_SHM_LIMIT_MEMORY) == 0);
	CHECK(choose(MB(128), 0, MB(1024), MB(512),
				 SKX_SHM_LIMIT_NONE) == MB(128));

	/* memory set aside: half of it, where that is more */
	CHECK(choose(MB(128), MB(256), MB(16), none,
				 SKX_SHM_LIMIT_NONE) == MB(128));
	CHECK(choose(MB(128), MB(255), 0, none,
				 SKX_SHM_LIMIT_RESERVED) == MB(255) / 2);
	CHECK(choose(MB(128), MB(20), MB(64), none,
				 SKX_SHM_LIMIT_SEGMENTS) == MB(16));
	CHECK(choose(MB(128), MB(20), none, none,
				 SKX_SHM_LIMIT_UNKNOWN) == MB(16));
	CHECK(choose(MB(128), MB(256), MB(16), MB(64),
				 SKX_SHM_LIMIT_MEMORY) == MB(16));
}

/* Whatever needs half of what was free has it still. */
static void
check_promise(void)
{
	for (int i = 0; i < 100000; i++)
	{
		SkxShmFree		room = {unit_below(MB(512)), unit_below(MB(512)),
		i % 2 == 0 ? SKX_SHM_UNLIMITED : unit_below(MB(512))};
		uint64		wanted = unit_below(MB(256)) + 1;
		SkxShmLimit limit;
		uint64		elsewhere;
		uint64		bytes = skx_shm_choose_bytes(wanted, &room, &limit,
												 &elsewhere);

		CHECK(bytes == 0 || bytes >= Min(wanted, SKX_SHM_GRANT_MIN));
		CHECK((bytes == wanted) == (limit == SKX_SHM_LIMIT_NONE));
		CHECK(bytes <= elsewhere ? bytes <= room.segments / 2 :
			  bytes <= room.reserved / 2);
		CHECK(bytes <= room.memory / 2);
	}
}

/* ---- what a machine says ---- */

static char root[] = "/tmp/skx_shm_XXXXXX";

/* Writes a file below the root, and the directories that lead to it. */
static void
put(const char *name, const char *text)
{
	char		path[MAXPGPATH];
	FILE	   *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = strchr(path + sizeof(root), '/'); at != NULL;
		 at = strchr(at + 1, '/'))
	{
		*at = '\0';
		(void) mkdir(path, 0700);
		*at = '/';
	}
	file = fopen(path, "w");
	if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0)
	{
		perror(path);
		exit(1);
	}
}

static void
clear(void)
{
	char		command[MAXPGPATH];

	snprintf(command, sizeof(command), "rm -rf %s/*", root);
	CHECK(system(command) == 0);
}

static void
check_v2(void)
{
	clear();
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);
	put("proc/self/cgroup", "0::/a/b/c\n");
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);
	put("sys/fs/cgroup/a/b/c/memory.max", "max\n");
	put("sys/fs/cgroup/a/b/c/memory.current", "1000\n");
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);

	/* the least of what is left, not of the limits */
	put("sys/fs/cgroup/a/b/memory.max", "100000\n");
	put("sys/fs/cgroup/a/b/memory.current", "1500\n");
	CHECK(skx_shm_free_in_cgroup(root) == 98500);
	put("sys/fs/cgroup/a/memory.max", "200000\n");
	put("sys/fs/cgroup/a/memory.current", "150000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 50000);
	put("sys/fs/cgroup/a/memory.current", "250000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 0);

	/* pages of files make room; shared memory, which `file` counts, does not */
	put("sys/fs/cgroup/a/memory.stat", "anon 7\nfile 200000\n"
		"inactive_anon 50000\ninactive_file 60000\nactive_file 60000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 70000);
	put("sys/fs/cgroup/a/memory.high", "190000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 60000);
	put("sys/fs/cgroup/a/b/c/memory.max", "40000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 39000);

	/* other trees: of another container, or both versions side by side */
	put("proc/self/cgroup", "0::/../x\n");
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);
	put("sys/fs/cgroup/memory.max", "5000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 5000);
	put("proc/self/cgroup", "0::/host/docker/1234\n");
	CHECK(skx_shm_free_in_cgroup(root) == 5000);
	put("sys/fs/cgroup/unified/u/memory.max", "4000\n");
	put("proc/self/cgroup", "0::/u\n");
	CHECK(skx_shm_free_in_cgroup(root) == 4000);
}

static void
check_v1(void)
{
	clear();
	put("proc/self/cgroup",
		"9:name=systemd:/x\n4:cpu,memory:/d/e\n3:memoryx:/f\n0::/\n");
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);
	put("sys/fs/cgroup/memory/d/e/memory.limit_in_bytes",
		"9223372036854771712\n");
	put("sys/fs/cgroup/memory/f/memory.limit_in_bytes", "1\n");
	CHECK(skx_shm_free_in_cgroup(root) > MB(1024 * 1024));
	put("sys/fs/cgroup/memory/d/memory.limit_in_bytes", "9000\n");
	put("sys/fs/cgroup/memory/d/memory.usage_in_bytes", "2000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 7000);
	put("sys/fs/cgroup/memory/d/memory.stat",
		"inactive_file 1\ntotal_inactive_file 300\ntotal_active_file 200\n");
	CHECK(skx_shm_free_in_cgroup(root) == 7500);

	/* in a container: its group is the root of the tree */
	put("proc/self/cgroup", "4:memory:/docker/5678\n0::/");
	put("sys/fs/cgroup/memory/memory.limit_in_bytes", "6000\n");
	CHECK(skx_shm_free_in_cgroup(root) == 6000);
	put("proc/self/cgroup", "4:memory\n:\n\n");
	CHECK(skx_shm_free_in_cgroup(root) == SKX_SHM_UNLIMITED);
}

static void
check_rest(void)
{
	char		path[MAXPGPATH];

	clear();
	CHECK(skx_shm_free_in_machine(root) == SKX_SHM_UNLIMITED);
	put("proc/meminfo", "MemTotal:  4000 kB\nMemAvailable:    3000 kB\n");
	CHECK(skx_shm_free_in_machine(root) == 3000 * 1024);
	put("proc/meminfo", "MemTotal:  4000 kB\n");
	CHECK(skx_shm_free_in_machine(root) == SKX_SHM_UNLIMITED);
	CHECK(skx_shm_free_in_directory("/") > 0);
	snprintf(path, sizeof(path), "%s/nowhere", root);
	CHECK(skx_shm_free_in_directory(path) == SKX_SHM_UNLIMITED);
	CHECK(skx_shm_sysv_segment_max() > 0);
}

int
main(void)
{
	check_choice();
	check_promise();
	if (mkdtemp(root) == NULL)
	{
		perror(root);
		return 1;
	}
	check_v2();
	check_v1();
	check_rest();
	clear();
	(void) rmdir(root);
	return unit_done("shm_limits");
}
