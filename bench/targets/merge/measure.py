"""measure.py FILE: times searches before, during and after a merge of all
segments of an index that is larger than the server's memory; see README.md
beside it.

The segments are made once, in the database postgres; each merge is of a copy
of it, so that all merges are the same work.
"""
import glob
import mmap
import os
import select
import subprocess
import time

from harness.cgroup import Group, restart
from harness.record import in_turns, keep, option, step, temporary
from harness.report_base import MB, quantile
from harness.server import (command, load_docs, pin, settings_of, sql,
                            version)
from harness.watch import TICK, Process
from harness.words import text
from targets.merge.show import DIRECT, METHODS, PHASES

INDEX, BASE, COPY = "docs_tsv", "postgres", "merging"
CHUNKS, SEGMENTS = 16, 8
OTHERS = 16 * MB          # of files other than the index
PERIOD = .02              # s between looks at the merge's memory
SPARE = 12 * MB           # of shared buffers, beside the table
FILE, UNIT = 256 * MB, MB
IDLE, IOWAIT = 3, 4       # of a processor's times in /proc/stat
APPLICATION = "search.pgbench"
SETTINGS = ("skipidx.%", "shared_buffers", "maintenance_work_mem", "fsync",
            "wal_level", "full_page_writes")
# The rows found must be those that are known, in their order, whatever the
# segments are at the time: else the statement fails, and with it the run.
SEARCH = """\\set n random_zipfian(1, {0}, {2})
SELECT CASE WHEN coalesce(array_agg(f.ctid), '{{}}') = (SELECT answer FROM
searches WHERE n = :n) THEN 1 ELSE 1 / (count(*) - count(*)) END
FROM skipidx_search('{1}', (SELECT q FROM searches WHERE n = :n), 10) f;
"""


# ---- the index ----

def create_table(copies):
    """The table docs has numbers only, so that it fits into shared buffers,
    and reads are of the index; what is indexed of a number is a row of the
    text.  The function is as immutable as the table vectors is."""
    sql("ALTER TABLE docs RENAME TO parsed",
        "CREATE UNLOGGED TABLE vectors AS SELECT (row_number() OVER (ORDER BY"
        " id))::int AS n, tsv FROM parsed", "DROP TABLE parsed",
        "ALTER TABLE vectors ADD PRIMARY KEY (n)", "ANALYZE vectors",
        "CREATE TABLE docs (id int)")
    rows = int(sql("SELECT count(*) FROM vectors")[0])
    sql("CREATE FUNCTION vector_of(id int) RETURNS tsvector IMMUTABLE"
        " LANGUAGE plpgsql AS $$BEGIN RETURN (SELECT tsv FROM public.vectors"
        " WHERE n = (id - 1) %% %d + 1); END$$" % rows)
    return rows * copies


def insert(first, last):
    sql("INSERT INTO docs SELECT generate_series(%d, %d)" % (first, last))


def build_segments(rows):
    """Half of the rows by CREATE INDEX, the others by inserts and flushes."""
    half = rows // 2
    memory = "SET maintenance_work_mem = '%s'" % option("MEMORY", "32MB")
    insert(1, half)
    sql(memory, "CREATE INDEX %s ON docs USING skipidx (vector_of(id))" %
        INDEX)
    for chunk in range(CHUNKS):
        insert(half + chunk * (rows - half) // CHUNKS + 1,
               half + (chunk + 1) * (rows - half) // CHUNKS)
        sql("SELECT skipidx_flush('%s')" % INDEX)
    sql("VACUUM (FREEZE, ANALYZE) docs")
    sql(memory, "SELECT skipidx_merge('%s', %d)" % (INDEX, SEGMENTS))
    sql("VACUUM docs")


def create_searches(count):
    """Three words of a row each, drawn by hashes, joined by OR; and what the
    index finds before any merge."""
    sql("SET client_min_messages = error",
        "CREATE TABLE searches AS SELECT row_number() OVER ()::int AS n, q"
        " FROM (SELECT (SELECT string_agg(w, ' | ')::tsquery FROM (SELECT w"
        " FROM unnest(tsvector_to_array(tsv)) w WHERE w ~ '^[a-z]{3,}$'"
        " ORDER BY md5(w || n) LIMIT 3) s) AS q FROM vectors ORDER BY"
        " md5(n::text) LIMIT %d) v WHERE q IS NOT NULL" % count,
        "ALTER TABLE searches ADD answer tid[]",
        "UPDATE searches SET answer = coalesce((SELECT array_agg(f.ctid) FROM"
        " skipidx_search('%s', q, 10) f), '{}')" % INDEX,
        "ALTER TABLE searches ADD PRIMARY KEY (n)")
    sql("VACUUM (FULL, ANALYZE) searches")
    return int(sql("SELECT count(*) FROM searches")[0])


def answers(method):
    """Rows and scores of each search, as one line."""
    return sql("SET skipidx.io_method = '%s'" % method,
               "SELECT (SELECT string_agg(f.ctid || ' ' || f.score, ' ') FROM"
               " skipidx_search('%s', q, 10) f) FROM searches ORDER BY n" %
               INDEX)


def bytes_of(relation):
    return int(sql("SELECT pg_table_size('%s')" % relation)[0])


def live_bytes():
    """Of the segments, without what is free."""
    return int(sql("SELECT sum(pages) * current_setting('block_size')::int"
                   " FROM skipidx_segments('%s') WHERE kind = 'segment'" %
                   INDEX)[0])


# ---- the server's memory and device ----

def share_of_index(run, option_name, default):
    share = run["index_bytes"] // int(option(option_name, default))
    return max(share // MB, 1) * MB


def set_memory(run):
    """Shared buffers for the table, and as little for the index as is
    wanted."""
    run["memory"] = {
        "cache_bytes": share_of_index(run, "CACHE_SHARE", 8),
        "pages_bytes": share_of_index(run, "PAGES_SHARE", 6),
        "buffers_bytes": (bytes_of("docs") + bytes_of("searches") + SPARE) //
                         MB * MB,
        "others_bytes": OTHERS}
    sql("ALTER SYSTEM SET shared_buffers = '%dkB'" %
        (run["memory"]["buffers_bytes"] // 1024))
    sql("ALTER SYSTEM SET maintenance_work_mem = '%s'" %
        option("MEMORY", "32MB"))


def set_cache(run, series):
    """Where searches read past the page cache, its share as well."""
    memory = run["memory"]
    cache = memory["cache_bytes"] + (
        memory["pages_bytes"] if METHODS[series][0] == DIRECT else 0)
    sql("ALTER SYSTEM SET skipidx.cache_size = '%dkB'" % (cache // 1024))


def transfer(descriptor, unit, move):
    began = time.monotonic()
    for offset in range(0, FILE, UNIT):
        move(descriptor, [unit], offset)
    os.fsync(descriptor)
    return round(time.monotonic() - began, 4)


def device_speed(run, turn):
    """Of a file beside the server's, one megabyte after the other, past the
    page cache."""
    path = temporary("sequential")
    unit = mmap.mmap(-1, UNIT)
    unit.write(os.urandom(UNIT))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT)
    try:
        transfer(descriptor, unit, os.pwritev)     # which gives it its space
        run["device"].append({
            "round": turn, "bytes": FILE,
            "write_seconds": transfer(descriptor, unit, os.pwritev),
            "read_seconds": transfer(descriptor, unit, os.preadv)})
    finally:
        os.close(descriptor)
        os.remove(path)


def io_of(pid):
    with open("/proc/%d/io" % pid, encoding="ascii") as lines:
        return {name.rstrip(":"): int(number)
                for name, number in map(str.split, lines)}


# ---- searches and the merge ----

class Searcher:
    """pgbench with one client, on the first processor with its backend."""

    def __init__(self, method, searches):
        script = temporary(APPLICATION)
        with open(script, "w", encoding="utf-8") as file:
            file.write(SEARCH.format(searches, INDEX,
                                     option("SKEW", "1.2")))
        self.prefix = script + ".latency"
        self.process = subprocess.Popen(
            ["pgbench", "-n", "-M", "prepared", "-c", "1", "-T", "86400",
             "-l", "--random-seed=1", "--log-prefix=" + self.prefix, "-f",
             script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, env=dict(os.environ, PGAPPNAME=APPLICATION, PGOPTIONS=
                                "-c skipidx.io_method=" + method))
        time.sleep(1)
        found = sql("SELECT pid FROM pg_stat_activity WHERE application_name"
                    " = '%s'" % APPLICATION)
        self.check()
        self.backend = int(found[0])
        os.sched_setaffinity(self.process.pid, {0})
        os.sched_setaffinity(0, set(range(1, os.cpu_count())) or {0})
        pin(self.backend, True)

    def check(self):
        if self.process.poll() is not None:
            raise RuntimeError("a search failed, or found other rows: " +
                               self.process.stderr.read()[-1000:])

    def run_for(self, seconds):
        time.sleep(seconds)
        return self.state()

    def state(self):
        """Counters: bytes that the backend has had from the device; CPU
        seconds of backend and client, and of their processor."""
        self.check()
        with open("/proc/stat", encoding="ascii") as lines:
            fields, = (line.split()[1:] for line in lines
                       if line.startswith("cpu0 "))
        spent = [int(field) for field in fields[:8]]
        return {"time": time.monotonic(),
                "read_bytes": io_of(self.backend)["read_bytes"],
                "own": sum(Process(pid).cpu() for pid in
                           (self.backend, self.process.pid)),
                "busy": (sum(spent) - spent[IDLE] - spent[IOWAIT]) / TICK}

    def end(self):
        """(time of its end, us) of each search.  pgbench writes down all of
        them when its only client has lost its server."""
        self.check()
        sql("SELECT pg_terminate_backend(%d)" % self.backend)
        self.process.communicate()
        times = []
        for path in glob.glob(self.prefix + ".*"):
            with open(path, encoding="ascii") as lines:
                for fields in map(str.split, lines):
                    times.append((int(fields[4]) + int(fields[5]) / 1e6,
                                  int(fields[2])))
            os.remove(path)
        return times


def merge(method, follow):
    """In a session of its own, on another processor than the searches; what
    it took and did.  `follow` is told of the bytes that it has come to have
    for itself, again and again."""
    with subprocess.Popen(command(), stdin=subprocess.PIPE, text=True,
                          stdout=subprocess.PIPE) as session:
        session.stdin.write("SET skipidx.io_method = '%s';\n"
                            "SELECT pg_backend_pid();\n" % method)
        session.stdin.flush()
        backend = int(session.stdout.readline())
        process = Process(backend)
        before, lsn, cpu = io_of(backend), wal(), process.cpu()
        own = [process.anonymous()]
        began = time.time()
        session.stdin.write("SELECT skipidx_merge('%s', 1);\n" % INDEX)
        session.stdin.flush()
        while not select.select([session.stdout], [], [], PERIOD)[0]:
            own.append(process.anonymous())
            follow(own[-1] - own[0])
        segments = int(session.stdout.readline())
        ended = time.time()
        after, cpu = io_of(backend), process.cpu() - cpu
        process.close()
    if segments != 1:
        raise RuntimeError("%d segments after the merge" % segments)
    line, = sql("SELECT sum(bytes_read), sum(bytes_written), sum(segments)"
                " FROM skipidx_merges WHERE pid = %d" % backend)
    read, written, merged = map(int, line.split("|"))
    return began, ended, {
        "seconds": round(ended - began, 3), "segments": merged,
        "cpu_seconds": round(cpu, 2), "memory_bytes": max(own) - own[0],
        "bytes_read": read, "bytes_written": written,
        "device_read": after["read_bytes"] - before["read_bytes"],
        "device_written": after["write_bytes"] - before["write_bytes"],
        "wal_bytes": wal() - lsn}


def wal():
    return int(sql("SELECT pg_current_wal_insert_lsn() - '0/0'")[0])


def keep_times(run, entry, times, marks):
    """By phase and second, which is counted from the beginning of the
    merge."""
    found = {}
    for ended, us in times:
        passed = [name for name, began in marks if began <= ended]
        if passed and passed[-1]:
            second = int((ended - dict(marks)["merge"]) // 1)
            found.setdefault((passed[-1], second), []).append(us)
    for (phase, second), values in found.items():
        run["times"].append(dict(entry, phase=phase, second=second,
                                 us=values))
        print("  %-8s %-6s %4d s %6d searches, p50 %8.0f us, p99 %8.0f" % (
            entry["series"], phase, second, len(values),
            quantile(values, .5), quantile(values, .99)), flush=True)


def phase_of(before, after):
    """What the searches read, and the share of their processor's time that
    others took: interrupts, the hypervisor, other processes."""
    passed = {name: after[name] - before[name] for name in after}
    return {"read_bytes": passed["read_bytes"], "others": round(
        (passed["busy"] - passed["own"]) / passed["time"], 3)}


def search_phases(run, group, searcher, merge_method):
    """The states of the searcher between phases, the phases with the times of
    their beginnings, and what the merge did.  The memory that the merge works
    in is its own: it comes from no page of a file."""
    after = float(option("AFTER", 10))
    limit = sum(run["memory"].values()) + (group.own() if group.limit else 0)
    group.allow(limit)
    states = [searcher.run_for(float(option("WARM", 20)))]
    marks = [("alone", time.time())]
    states.append(searcher.run_for(float(option("SECONDS", 20))))
    done = {"limit_bytes": limit, "page_cache_bytes": group.page_cache()}
    began, ended, more = merge(
        merge_method, lambda own: group.allow(limit + own))
    done.update(more, page_cache_after=group.page_cache())
    group.allow(limit)
    states.append(searcher.state())
    marks += [("merge", began), ("after", ended)]
    for following in ("later", ""):
        states.append(searcher.run_for(after))
        marks.append((following, time.time()))
    return states, marks, done


def search_beside(run, group, entry):
    """One series once, in a server begun for it."""
    search_method, merge_method = METHODS[entry["series"]]
    sql("SELECT pg_prewarm(oid) FROM pg_class WHERE oid = ANY (ARRAY['docs',"
        " 'searches', 'searches_pkey']::regclass[])")
    searcher = Searcher(search_method, run["searches"])
    try:
        states, marks, done = search_phases(run, group, searcher,
                                            merge_method)
        times = searcher.end()
    finally:
        searcher.process.kill()
        searcher.process.wait()
        os.sched_setaffinity(0, range(os.cpu_count()))
        pin(0, False)
    run["merges"].append(dict(entry, **done, searcher=dict(zip(
        PHASES, map(phase_of, states, states[1:])))))
    keep_times(run, entry, times, marks)
    for number, (one, other) in enumerate(zip(run["answers"],
                                              answers(search_method))):
        if one != other:
            run["wrong"].append(dict(entry, query=number, rows=[one, other]))


def measure_entry(run, group, turn, series):
    step("%s, round %d" % (series, turn + 1))
    set_cache(run, series)
    restart()
    subprocess.run(command(
        "-d", "template1", "-c", "CREATE DATABASE %s TEMPLATE %s STRATEGY"
        " file_copy" % (COPY, BASE), "-c", "CHECKPOINT"), check=True)
    group.restart()
    os.environ["PGDATABASE"] = COPY
    search_beside(run, group, {"series": series, "round": turn})
    os.environ["PGDATABASE"] = BASE
    sql("DROP DATABASE " + COPY)


# ---- the run ----

def prepare(run):
    path, limit = text()
    step("load", run["corpus"])
    load_docs(path, limit, ["skipidx"])
    run["rows"] = create_table(run["copies"])
    run["server"] = version()
    step("build")
    build_segments(run["rows"])
    run["file_bytes"], run["index_bytes"] = bytes_of(INDEX), live_bytes()
    run["segments"] = int(sql("SELECT segments FROM skipidx_stats('%s')" %
                              INDEX)[0])
    run["searches"] = create_searches(int(option("QUERIES", 1000)))
    # Neither searches nor merges call the function: copies are short.
    sql("DROP TABLE vectors", "CREATE EXTENSION pg_prewarm")
    set_memory(run)
    set_cache(run, "buffered")
    restart()
    run["answers"] = answers(METHODS["buffered"][0])
    run["settings"] = settings_of(*SETTINGS)


def measure(run):
    run.update(series=option("SERIES", " ".join(METHODS)).split(),
               copies=int(option("COPIES", 2)), times=[], merges=[],
               device=[], wrong=[])
    prepare(run)
    group = Group()
    run["limited"] = bool(group.limit)
    try:
        for turn, series in in_turns(run["series"], run["rounds"]):
            if series == run["series"][0]:
                device_speed(run, turn)
            measure_entry(run, group, turn, series)
    finally:
        group.remove()
    del run["answers"]


if __name__ == "__main__":
    keep(measure, "merge")
