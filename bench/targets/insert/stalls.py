"""stalls.py: single updates beside merges and a reader: which of them wait, and
how long the file becomes; imported by measure.py.

A probe writes 8 kB and syncs it once a second, as a commit does: an update that
waits while that takes long waits for the disk, and is listed apart.  So is one
that is seen to wait for the server's log to be written or synced, and for
nothing else.
"""
import glob
import os
import subprocess
import threading
import time

from harness.record import option, step, temporary
from harness.server import sql

RATE = 1000                   # updates a second
LONG = .1                     # seconds: an update that is listed
SLOW = .05                    # seconds: the probe
PROBED = 8192                 # bytes
LOOK = .04                    # seconds: between two looks at what updates wait for
LOG = {"WALInitSync", "WALInitWrite", "WALSync", "WALWrite"}
WAITS = """SELECT extract(epoch FROM clock_timestamp()),
coalesce(wait_event, 'none') FROM pg_stat_activity WHERE state = 'active'
AND query LIKE 'UPDATE docs_skipidx %%' AND clock_timestamp() - query_start >
interval '20 ms' \\watch %g
""" % LOOK


class Probe(threading.Thread):
    """Writes and syncs once a second until told to stop."""

    def __init__(self):
        super().__init__()
        self.ending = threading.Event()
        self.slow = []        # of slow ones: when each began and ended
        self.worst = 0

    def run(self):
        fd = os.open(temporary("probe"), os.O_WRONLY | os.O_CREAT, 0o600)
        while not self.ending.wait(1):
            began = time.time()
            os.pwrite(fd, b"x" * PROBED, 0)
            os.fsync(fd)
            ended = time.time()
            self.worst = max(self.worst, ended - began)
            if ended - began > SLOW:
                self.slow.append((began, ended))
        os.close(fd)

    def slow_within(self, began, ended):
        return any(first < ended and last > began
                   for first, last in self.slow)


class Waits:
    """Looks at what updates wait for that have gone on for a while."""

    def __init__(self):
        path = temporary("waits.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(WAITS)
        self.lines = open(temporary("waits"), "w+", encoding="utf-8")
        self.process = subprocess.Popen(["psql", "-qAtXF", " ", "-f", path],
                                        stdout=self.lines)
        self.seen = []        # when, and the event

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.lines.seek(0)
        for line in self.lines:
            if len(line.split()) == 2:
                when, event = line.split()
                self.seen.append((float(when), event))
        self.lines.close()

    def within(self, began, ended):
        return {event for when, event in self.seen if began <= when <= ended}


def long_ones(prefix):
    """Updates, those that took long (when they began and ended), and how late
    each began that began late, in seconds: all clients, or the processors,
    were busy."""
    updates, found, late = 0, [], []
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                fields = line.split()
                lag = int(fields[6]) / 1e6
                seconds = int(fields[2]) / 1e6 - lag
                ended = int(fields[4]) + int(fields[5]) / 1e6
                updates += 1
                if seconds > LONG:
                    found.append((ended - seconds, ended))
                if lag > LONG:
                    late.append(lag)
        os.remove(path)
    return updates, found, late


def stalls_of(found):
    """Those that overlap are one stall: when it began and ended, and its
    updates."""
    ones = []
    for began, ended in sorted(found):
        if ones and began < ones[-1][1]:
            first, last, updates = ones.pop()
            ones.append((first, max(last, ended), updates + [(began, ended)]))
        else:
            ones.append((began, ended, [(began, ended)]))
    return ones


def pgbench(script, clients, seconds, *more):
    return subprocess.Popen(
        ["pgbench", "-n", "-c", str(clients), "-j", "1", "-T", str(seconds),
         *more, "-f", script],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def index_bytes():
    return int(sql("SELECT pg_relation_size('docs_skipidx_tsv')")[0])


def stall(run, seconds):
    """One run, with the scripts that beside() in measure.py has written."""
    prefix = temporary("stall.latency")
    sql("CHECKPOINT")
    probe, waits, most = Probe(), Waits(), 0
    probe.start()
    reading = pgbench(temporary("search.pgbench"), 2, seconds)
    updating = pgbench(temporary("update.pgbench"), 4, seconds, "-R",
                       str(RATE), "-l", "--log-prefix=" + prefix)
    while updating.poll() is None:
        most = max(most, index_bytes())
        time.sleep(.5)
    reading.wait()
    probe.ending.set()
    probe.join()
    waits.end()
    updates, found, late = long_ones(prefix)
    ms = {True: [], False: []}
    events = set()
    for began, ended, ones in stalls_of(found):
        seen = waits.within(began, ended)
        events |= seen
        disk = probe.slow_within(began, ended) or (bool(seen) and seen <= LOG)
        ms[disk] += [round((last - first) * 1000) for first, last in ones]
    run["stalls"].append({
        "seconds": seconds, "updates": updates, "most_bytes": most,
        "probe_ms": round(probe.worst * 1000, 1), "waits": sorted(events),
        "long_ms": ms[False], "long_ms_slow_disk": ms[True],
        "late": len(late), "late_ms": round(max(late, default=0) * 1000)})


def stalls(run):
    """Three runs, and the size of the same index made anew."""
    seconds = int(option("STALL_SECONDS", 230))
    for turn in range(3 if seconds else 0):
        step("updates beside merges, round", turn + 1)
        stall(run, seconds)
    if not run["stalls"]:
        return
    sql("SET maintenance_work_mem = '1GB'",
        "CREATE INDEX docs_anew ON docs_skipidx USING skipidx (tsv)")
    run["stalls_anew_bytes"] = int(
        sql("SELECT pg_relation_size('docs_anew')")[0])
    sql("DROP INDEX docs_anew")
