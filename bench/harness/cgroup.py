"""cgroup.py: a memory cgroup for the private server, so that what it and the
page cache hold for it is less than its files; imported by measure.py of merge.

The group is made below this process's own (version 1), or, since version 2
allows no processes in a group that has others below it, beside it.  A machine
that lets this process make none has no limit, and the record says so.
"""
import os
import subprocess

from harness.server import sql

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = "/sys/fs/cgroup"
NAME = "skipidx-bench-%d"
# The limit and what counts towards it, in versions 1 and 2
USED = {"memory.limit_in_bytes": "memory.usage_in_bytes",
        "memory.max": "memory.current"}
UNLIMITED = 1 << 40


def own_groups():
    """Directories of the groups of this process that may control memory."""
    with open("/proc/self/cgroup", encoding="utf-8") as lines:
        for line in lines:
            _, controllers, path = line.rstrip("\n").split(":", 2)
            if "memory" in controllers.split(","):
                yield TREE + "/memory" + path
            elif not controllers:
                yield os.path.dirname(TREE + path)


def put(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def numbers_in(path):
    """Of a file with a name and a number a line."""
    with open(path, encoding="ascii") as lines:
        return {name: int(number) for name, number in map(str.split, lines)}


def restart():
    subprocess.run(["bash", os.path.join(HERE, "restart.sh")], check=True)


def drop_pages():
    """Has the page cache forget the databases' files, which may be held for
    another group than that of the next one to read them."""
    base = os.path.join(sql("SHOW data_directory")[0], "base")
    for folder, _, names in os.walk(base):
        for name in names:
            descriptor = os.open(os.path.join(folder, name), os.O_RDONLY)
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


class Group:
    """`limit` is the name of the file of its limit, None where there is no
    group."""

    def __init__(self):
        self.limit, self.allowed = None, UNLIMITED
        for parent in own_groups():
            self.path = os.path.join(parent, NAME % os.getpid())
            try:
                os.mkdir(self.path)
            except OSError:
                continue
            self.parent = parent
            found = [name for name in USED
                     if os.path.exists(os.path.join(self.path, name))]
            if found:
                self.limit = os.path.join(self.path, found[0])
                return
            os.rmdir(self.path)

    def restart(self):
        """The server, in the group, cold, and without a limit as yet."""
        if not self.limit:
            restart()
        else:
            self.allow(UNLIMITED)
            subprocess.run(["sh", "-c", "echo $$ >\"$1\" && exec bash \"$2\"",
                            "sh", os.path.join(self.path, "cgroup.procs"),
                            os.path.join(HERE, "restart.sh")], check=True)
        drop_pages()

    def kinds(self):
        """Bytes of files and of shared memory, which counts as such."""
        found = numbers_in(os.path.join(self.path, "memory.stat"))
        if "total_cache" in found:
            return (found["total_cache"] - found["total_shmem"],
                    found["total_shmem"])
        return found["file"] - found["shmem"], found["shmem"]

    def page_cache(self):
        """Bytes; None where there is no group."""
        return self.kinds()[0] if self.limit else None

    def own(self):
        """Bytes that processes have for themselves, and the kernel for
        them."""
        with open(os.path.join(self.path, USED[os.path.basename(self.limit)]),
                  encoding="ascii") as file:
            return int(file.read()) - sum(self.kinds())

    def allow(self, limit):
        """In whole megabytes: the kernel looks for pages to take away each
        time that it is told."""
        if self.limit and limit >> 20 != self.allowed >> 20:
            put(self.limit, limit)
            self.allowed = limit

    def remove(self):
        """The server goes on without."""
        if self.limit:
            restart()
            os.rmdir(self.path)
