/*
 * shm_limits.c
 *	  Finds out how much dynamic shared memory is free, and how much to take.
 *
 * The server puts the hash tables of parallel joins there, too, and their
 * queries fail if none is left.  So a quarter of the free memory is taken.  Of
 * memory set aside for such use at server start, half is taken: a segment that
 * does not fit there is made elsewhere, as it would be without.  Either way,
 * an allocation of half of what was free still succeeds.
 *
 * A cgroup counts the pages of files that its processes have read as used.
 * But the kernel drops these first, so they count as free here.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/ipc.h>
#include <sys/shm.h>
#endif

#include "support/shm/shm.h"

/*
 * Capacity for the contents of a file; more than any file that is read here
 * has.
 */
#define SKX_SHM_FILE_SIZE		(8 * 1024)

uint64
skx_shm_choose_bytes(uint64 wanted, const SkxShmFree *room,
					 SkxShmLimit *limit, uint64 *elsewhere)
{
	uint64		size = wanted;
	uint64		aside = Min(wanted, room->reserved / 2);

	*limit = SKX_SHM_LIMIT_NONE;
	*elsewhere = room->segments == SKX_SHM_UNLIMITED ?
		SKX_SHM_GRANT_UNKNOWN_MAX :
		room->segments / 4;
	if (*elsewhere < wanted)
	{
		size = Max(*elsewhere, aside);
		if (size < wanted)
			*limit = aside > *elsewhere ? SKX_SHM_LIMIT_RESERVED :
				room->segments == SKX_SHM_UNLIMITED ? SKX_SHM_LIMIT_UNKNOWN :
				SKX_SHM_LIMIT_SEGMENTS;
	}
	if (room->memory != SKX_SHM_UNLIMITED && room->memory / 4 < size)
	{
		size = room->memory / 4;
		*limit = SKX_SHM_LIMIT_MEMORY;
	}
	if (size < Min(wanted, SKX_SHM_GRANT_MIN))
		size = 0;
	return size;
}

/*
 * Files
 */

/* Reads a file as a string; returns false if it cannot be read. */
static bool
skx_shm_read(const char *dir, const char *name, char *text)
{
	char		path[2 * MAXPGPATH];
	int			length = 0;
	ssize_t		n;
	int			fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	do
	{
		n = read(fd, text + length, SKX_SHM_FILE_SIZE - 1 - length);
		if (n > 0)
			length += n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
	text[length] = '\0';
	return length > 0;
}

/*
 * Returns the number in a file. "max", or a file that is missing, is no limit.
 */
static uint64
skx_shm_number(const char *dir, const char *name)
{
	char		text[SKX_SHM_FILE_SIZE];

	if (!skx_shm_read(dir, name, text) ||
		text[0] < '0' || text[0] > '9')
		return SKX_SHM_UNLIMITED;
	return strtoull(text, NULL, 10);
}

/*
 * Returns the number after a word at the beginning of a line, or 0 if there is
 * none.
 */
static uint64
skx_shm_field(const char *text, const char *word)
{
	size_t		length = strlen(word);

	while (text != NULL)
	{
		if (strncmp(text, word, length) == 0)
			return strtoull(text + length, NULL, 10);
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return 0;
}

uint64
skx_shm_free_in_directory(const char *dir)
{
	struct statvfs fs;

	/* a tmpfs without a limit has no blocks */
	if (statvfs(dir, &fs) != 0 || fs.f_blocks == 0)
		return SKX_SHM_UNLIMITED;
	return (uint64) fs.f_bavail * fs.f_frsize;
}

uint64
skx_shm_free_in_machine(const char *root)
{
	char		text[SKX_SHM_FILE_SIZE];
	char		dir[MAXPGPATH];
	uint64		kb;

	snprintf(dir, sizeof(dir), "%s/proc", root);
	if (!skx_shm_read(dir, "meminfo", text))
		return SKX_SHM_UNLIMITED;
	kb = skx_shm_field(text, "MemAvailable:");
	return kb == 0 ? SKX_SHM_UNLIMITED : kb * 1024;
}

uint64
skx_shm_sysv_segment_max(void)
{
#ifdef SHM_INFO
	struct shminfo most;
	struct shm_info now;
	uint64		page = sysconf(_SC_PAGESIZE);
	uint64		left;

	if (shmctl(0, IPC_INFO, (struct shmid_ds *) &most) < 0 ||
		shmctl(0, SHM_INFO, (struct shmid_ds *) &now) < 0)
		return SKX_SHM_UNLIMITED;
	left = most.shmall > now.shm_tot ? most.shmall - now.shm_tot : 0;
	left = left > PG_UINT64_MAX / page ? PG_UINT64_MAX : left * page;
	return Min(left, (uint64) most.shmmax);
#else
	return SKX_SHM_UNLIMITED;
#endif
}

/*
 * The cgroup
 */

/* Names of the files with the memory of a cgroup, by version. */
typedef struct SkxShmCgroupFiles
{
	const char *limit_file;
	const char *high_file;		/* use above which the kernel slows it down */
	const char *usage_file;
	const char *stat_words[2];	/* words of memory.stat for pages of files */
} SkxShmCgroupFiles;

static const SkxShmCgroupFiles skx_shm_names_v1 = {
	"memory.limit_in_bytes", "memory.limit_in_bytes",
	"memory.usage_in_bytes", {"total_inactive_file ", "total_active_file "}
};
static const SkxShmCgroupFiles skx_shm_names_v2 = {
	"memory.max", "memory.high",
	"memory.current", {"inactive_file ", "active_file "}
};

static uint64
skx_shm_free_in_group(const char *dir, const SkxShmCgroupFiles *names)
{
	char		text[SKX_SHM_FILE_SIZE];
	uint64		most = Min(skx_shm_number(dir, names->limit_file),
						   skx_shm_number(dir, names->high_file));
	uint64		used = skx_shm_number(dir, names->usage_file);
	uint64		files = 0;

	if (most == SKX_SHM_UNLIMITED)
		return SKX_SHM_UNLIMITED;
	if (used == SKX_SHM_UNLIMITED)
		used = 0;
	if (skx_shm_read(dir, "memory.stat", text))
		files = skx_shm_field(text, names->stat_words[0]) +
			skx_shm_field(text, names->stat_words[1]);
	used -= Min(used, files);
	return most - Min(most, used);
}

/*
 * Returns the least free memory of a group and those around it.  In a
 * container the path may be that of the host, while the tree begins at the
 * container's own group.
 */
static uint64
skx_shm_free_in_groups(const char *tree, const char *path,
					   const SkxShmCgroupFiles *names)
{
	char		dir[2 * MAXPGPATH];
	size_t		top = strlen(tree);
	uint64		least = SKX_SHM_UNLIMITED;

	snprintf(dir, sizeof(dir), "%s%s", tree, path);
	if (strstr(path, "/..") != NULL || access(dir, F_OK) != 0)
		dir[top] = '\0';
	for (;;)
	{
		uint64		left = skx_shm_free_in_group(dir, names);

		least = Min(least, left);
		if (strlen(dir) <= top)
			return least;
		*strrchr(dir, '/') = '\0';
	}
}

/*
 * Returns true if `word` is in a list of `length` characters, separated by
 * commas.
 */
static bool
skx_shm_is_listed(const char *list, size_t length, const char *word)
{
	size_t		n = strlen(word);

	while (length >= n)
	{
		const char *comma = memchr(list, ',', length);
		size_t		item = comma == NULL ? length : comma - list;

		if (item == n && memcmp(list, word, n) == 0)
			return true;
		if (comma == NULL)
			break;
		list += item + 1;
		length -= item + 1;
	}
	return false;
}

/*
 * Returns the free memory for one line of /proc/self/cgroup, which has number,
 * controllers and path.
 */
static uint64
skx_shm_free_of_line(const char *root, const char *line)
{
	const char *list = strchr(line, ':');
	const char *path = list == NULL ? NULL : strchr(list + 1, ':');
	char		tree[MAXPGPATH];
	uint64		least;

	if (path == NULL)
		return SKX_SHM_UNLIMITED;
	list++;
	path++;
	if (path == list + 1)		/* no controllers: version 2 */
	{
		snprintf(tree, sizeof(tree), "%s/sys/fs/cgroup/unified", root);
		least = skx_shm_free_in_groups(tree, path, &skx_shm_names_v2);
		snprintf(tree, sizeof(tree), "%s/sys/fs/cgroup", root);
		return Min(least,
				   skx_shm_free_in_groups(tree, path,
										  &skx_shm_names_v2));
	}
	if (!skx_shm_is_listed(list, path - 1 - list, "memory"))
		return SKX_SHM_UNLIMITED;
	snprintf(tree, sizeof(tree), "%s/sys/fs/cgroup/memory", root);
	return skx_shm_free_in_groups(tree, path, &skx_shm_names_v1);
}

uint64
skx_shm_free_in_cgroup(const char *root)
{
	char		text[SKX_SHM_FILE_SIZE];
	char		dir[MAXPGPATH];
	char	   *line = text;
	uint64		least = SKX_SHM_UNLIMITED;

	snprintf(dir, sizeof(dir), "%s/proc/self", root);
	if (!skx_shm_read(dir, "cgroup", text))
		return SKX_SHM_UNLIMITED;
	while (line != NULL && *line != '\0')
	{
		char	   *end = strchr(line, '\n');
		uint64		left;

		if (end != NULL)
			*end++ = '\0';
		left = skx_shm_free_of_line(root, line);
		least = Min(least, left);
		line = end;
	}
	return least;
}
