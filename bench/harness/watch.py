"""watch.py: memory, CPU and temporary files of a backend and its parallel
workers, sampled from outside while they work; imported by measure.py of build
and scale.

Memory is what is theirs alone (RssAnon of /proc/PID/status, which is resident
less shared of statm, one short line) above what each had when it began, and
the dynamic shared memory that one of them has mapped, once.  A worker
begins as a fork of the postmaster, with what is resident there.  Processes are
read as root or as the server's user only.
"""
import os
import select
import subprocess
import time

from harness.record import temporary
from harness.server import command, measured_build

PAGE = os.sysconf("SC_PAGESIZE")
TICK = os.sysconf("SC_CLK_TCK")
SHARED = "/dev/shm"
PERIOD = 0.004        # s between samples
GLIMPSE = 0.001       # s between those of memory alone
LOOK = 4              # samples from one look at what changes slowly to the next
LOOKS = 50            # in which a process or segment may turn out ours
WALK = 25             # samples from one walk of the temporary files to the next


class Process:
    """One that is sampled; the files stay open, which halves the cost."""

    def __init__(self, pid, base=0):
        self.base = base
        self.seconds = 0.0
        self.memory = os.open("/proc/%d/statm" % pid, os.O_RDONLY)
        self.times = os.open("/proc/%d/stat" % pid, os.O_RDONLY)

    def anonymous(self):
        """0 once it has ended, though it may not have been waited for yet."""
        fields = os.pread(self.memory, 128, 0).split()
        return (int(fields[1]) - int(fields[2])) * PAGE

    def cpu(self):
        """User and system, of all its threads: those of the kernel that work
        for io_uring are among them."""
        fields = os.pread(self.times, 1024, 0).rpartition(b")")[2].split()
        self.seconds = (int(fields[11]) + int(fields[12])) / TICK
        return self.seconds

    def close(self):
        os.close(self.memory)
        os.close(self.times)


def parent_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def resident_anonymous(pid):
    process = Process(pid)
    try:
        return process.anonymous()
    finally:
        process.close()


def files_below(directory):
    """Bytes."""
    total = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.stat(os.path.join(folder, name)).st_size
            except FileNotFoundError:
                pass
    return total


class Watch:
    """Of the backend `leader`, from now on; sample() as often as possible,
    then figures()."""

    def __init__(self, leader, temporary):
        postmaster = parent_of(leader)
        self.leader = leader
        self.temporary = temporary
        self.children = "/proc/%d/task/%d/children" % (postmaster, postmaster)
        self.title = b"parallel worker for PID %d" % leader
        self.worker_base = resident_anonymous(postmaster)
        self.alive = {leader: Process(leader)}
        self.workers = {}
        # How often they were looked at and not found to be ours
        self.others = dict.fromkeys(self.children_now(), LOOKS)
        self.files = dict.fromkeys(os.listdir(SHARED), LOOKS)
        self.shared = {}
        self.mapped_bytes = 0
        self.samples = []     # time, own by process, shared, leader's CPU
        self.temporary_bytes = []     # time, bytes
        self.own_cpu = time.process_time()

    def children_now(self):
        with open(self.children, encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]

    def find_workers(self):
        for pid in self.children_now():
            if pid in self.workers or self.others.get(pid, 0) >= LOOKS:
                continue
            self.others[pid] = self.others.get(pid, 0) + 1
            try:
                with open("/proc/%d/cmdline" % pid, "rb") as file:
                    if self.title not in file.read():
                        continue
                self.alive[pid] = self.workers[pid] = Process(
                    pid, self.worker_base)
            except (FileNotFoundError, ProcessLookupError):
                pass

    def is_mapped(self, name):
        """By one of the processes."""
        wanted = os.path.join(SHARED, name).encode()
        for pid in self.alive:
            try:
                with open("/proc/%d/maps" % pid, "rb") as file:
                    if wanted in file.read():
                        return True
            except (FileNotFoundError, ProcessLookupError):
                pass
        return False

    def shared_now(self):
        """Bytes in use, since a segment may be made larger than it is."""
        total = 0
        for name in os.listdir(SHARED):
            if name not in self.shared:
                if self.files.get(name, 0) >= LOOKS:
                    continue
                self.files[name] = self.files.get(name, 0) + 1
                if not self.is_mapped(name):
                    continue
                self.shared[name] = True
            try:
                total += os.stat(os.path.join(SHARED, name)).st_blocks * 512
            except FileNotFoundError:
                pass
        return total

    def sample(self):
        look = len(self.samples) % LOOK == 0
        if look:
            self.find_workers()
            self.mapped_bytes = self.shared_now()
        own = {}
        for pid, process in list(self.alive.items()):
            try:
                resident = process.anonymous()
                if look or not resident:
                    process.cpu()
            except ProcessLookupError:
                resident = 0
            if resident:
                own[pid] = resident - process.base
            else:
                process.close()
                del self.alive[pid]
        leader = self.alive.get(self.leader)
        if leader:
            self.samples.append((time.time(), own, self.mapped_bytes,
                                 leader.seconds))
        if len(self.samples) % WALK == 1:
            self.temporary_bytes.append((time.time(),
                                         files_below(self.temporary)))

    def until(self, done):
        """Samples until done() is true."""
        while not done():
            self.sample()
            time.sleep(PERIOD)

    def figures(self, began, ended):
        """Of the time between the two, in seconds of time.time()."""
        before = ([entry for entry in self.samples if entry[0] <= began] or
                  self.samples[:1])
        during = [entry for entry in self.samples if began < entry[0] <= ended]
        after = [entry for entry in self.samples if entry[0] > ended]
        base = before[-1][1][self.leader]
        most, most_own, most_shared = 0, 0, 0
        for _, own, shared, _ in during:
            total = sum(own.values()) - base
            most = max(most, total + shared)
            most_own = max(most_own, own[self.leader] - base)
            most_shared = max(most_shared, shared)
        last = (after or during or before)
        cpu = (last[0] if after else last[-1])[3] - before[-1][3]
        return {"peak_bytes": most, "leader_bytes": most_own,
                "shared_bytes": most_shared,
                "workers_launched": len(self.workers),
                "cpu_seconds": round(cpu + sum(
                    worker.seconds for worker in self.workers.values()), 2),
                "temp_peak_bytes": max(
                    [size for when, size in self.temporary_bytes
                     if began < when <= ended] or [0]),
                "samples": len(during),
                "watch_cpu_seconds": round(
                    time.process_time() - self.own_cpu, 2)}


def watched_build(engine, workers, memory, directory):
    """One CREATE INDEX and what was seen of it; `directory` is of the server's
    temporary files."""
    watches = []

    def watch(backend, ended):
        watches.append(Watch(backend, directory))
        watches[0].until(ended)

    result = measured_build(engine, memory, workers, watch)
    result.update(watches[0].figures(result.pop("began"), result.pop("ended")))
    return result


def growth(before, statements):
    """Of the memory of a session that has run the statements `before`, while
    it runs the others: bytes, at most and in the end."""
    path = temporary("growth.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(one + ";\n" for one in statements)
    with subprocess.Popen(command("-o", "/dev/null"), stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as session:

        def send(*lines):
            session.stdin.write("".join(line + "\n" for line in lines))
            session.stdin.flush()

        send(*(one + ";" for one in before), "\\o",
             "SELECT pg_backend_pid();", "\\o /dev/null")
        process = Process(int(session.stdout.readline()))
        base = process.anonymous()
        send("\\i " + path, "\\o", "SELECT 'done';")
        most = base
        while not select.select([session.stdout], [], [], GLIMPSE)[0]:
            most = max(most, process.anonymous())
        last = process.anonymous()
        process.close()
        session.stdin.close()
    if session.returncode:
        raise RuntimeError("a session failed")
    return {"most_bytes": max(most, last) - base, "last_bytes": last - base}
