#!/usr/bin/env python3
"""build.py measure FILE.json: measures CREATE INDEX by skipidx with 0, 1 and 2
parallel workers, by GIN and by RUM, with several sizes of maintenance_work_mem,
and the same text through Lucene and Tantivy; keeps, prints and draws it;
run_build.sh calls it.
build.py show FILE.json ...: prints and draws files again.
"""
import json
import os
import subprocess
import sys

from targets.lookup.measure import choose_queries
from peers.peers import measure_peers, peer_medians, print_peers
from harness.plot import beside, draw
from harness.record import (available, begin, command_line, in_turns, keep, numbers,
                    of, option, print_machine, step)
from targets.boolean.show import expect, median
from harness.scan import (ENGINES, load_docs, matches_of, matches_without,
                          sql)
from harness.watch import Watch
from harness.words import frequencies, sample

SUBJECT, YARDSTICK, REFERENCE = "skipidx", "gin", "lucene"
MEMORY = "64MB 256MB 1GB"
WORKERS = "0 1 2"
GIN_PARALLEL = 180000       # server version
SPEEDUP, SPEEDUP_WORKERS, SPEEDUP_MEMORY = 1.8, 2, "256MB"
SIZE_MB = {("enwiki_1m", 1000000): 190}     # corpus, rows
MEMORY_SHARE = 1.10
COMMON = 10                 # words, one of which most rows have
SETTINGS = ("shared_buffers max_wal_size wal_level wal_compression fsync"
            " full_page_writes max_parallel_workers max_worker_processes"
            " dynamic_shared_memory_type io_method data_checksums")
HERE = os.path.dirname(os.path.abspath(__file__))
MB = 1 << 20


def bytes_of(memory):
    """As the server reads it: 64MB, 1GB."""
    return int(memory[:-2]) << {"kB": 10, "MB": 20, "GB": 30}[memory[-2:]]


# ---- measuring ----

def workers_of(engine, version):
    """How many workers to ask for: GIN has none before 18, RUM never."""
    counts = [int(count) for count in option("WORKERS", WORKERS).split()]
    if engine == SUBJECT or engine == YARDSTICK and version >= GIN_PARALLEL:
        return counts
    return [0]


def series_of_run(run):
    """What to build; RUM, which no expectation is about, with the last of the
    sizes only, and once."""
    sizes = option("MEMORY", MEMORY).split()
    return [{"engine": engine, "workers": workers, "memory": memory}
            for memory in sizes for engine in run["engines"]
            if engine != "rum" or memory == sizes[-1]
            for workers in workers_of(engine, run["version_num"])]


def watched_build(engine, workers, memory, temporary):
    """One CREATE INDEX and what was seen of it."""
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1",
               "-v", "index=docs_" + engine,
               "-v", "clause=" + ENGINES[engine][1], "-v", "memory=" + memory,
               "-v", "workers=%d" % workers,
               "-f", os.path.join(HERE, "watched_build.sql")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as psql:
        watch = Watch(int(psql.stdout.readline()), temporary)
        watch.until(lambda: psql.poll() is not None)
        lines = psql.stdout.read().split("\n", 1)
    if psql.returncode:
        raise RuntimeError("building docs_%s failed" % engine)
    result = json.loads(" ".join(lines))
    result.update(watch.figures(result.pop("began"), result.pop("ended")))
    return result


def build_rounds(run, rounds, temporary):
    for turn, entry in in_turns(series_of_run(run), rounds):
        if entry["engine"] == "rum" and turn > 0:
            continue
        build = dict(entry, round=turn, **watched_build(
            temporary=temporary, **entry))
        build["matches"] = matches_of("docs_" + entry["engine"],
                                      run["queries"])
        run["builds"].append(build)
        print("  %-8s %d workers, %d launched, %-6s %7.1f s, %6.1f MB, peak "
              "%6.1f MB" % (
                  build["engine"], build["workers"], build["workers_launched"],
                  build["memory"], build["seconds"], build["bytes"] / MB,
                  build["peak_bytes"] / MB), flush=True)


def queries_of(rows, corpus):
    """Those of bench-lookup, which are about few rows or words, and one that
    most rows match."""
    common = [word for word, _ in frequencies(rows).most_common(COMMON)]
    kinds = choose_queries(rows, corpus)
    return [" | ".join(common)] + [query for kind in kinds.values()
                                   for query in kind]


def measure(path):
    text, limit = option("TEXT", ""), numbers("LIMIT", "1G")[0]
    rounds = int(option("ROUNDS", 3))
    run = begin("build")
    run.update(corpus=option("CORPUS", ""), rounds=rounds, builds=[], peers=[],
               engines=available(option("ENGINES", "gin rum skipidx").split(),
                                 ENGINES, sql))
    run["queries"] = queries_of(sample(text, limit), run["corpus"])
    step("load", run["corpus"])
    run["rows"] = load_docs(text, limit, run["engines"])
    run["server"] = sql("SHOW server_version")[0]
    run["version_num"] = int(sql("SHOW server_version_num")[0])
    run["settings"] = dict(line.split("|") for line in sql(
        "SELECT name, current_setting(name) FROM pg_settings WHERE name ="
        " ANY (string_to_array('%s', ' '))" % SETTINGS))
    run["matches"] = matches_without(run["queries"])
    run["heap_bytes"] = int(sql("SELECT pg_table_size('docs')")[0])
    step("build")
    build_rounds(run, rounds, os.path.join(sql("SHOW data_directory")[0],
                                           "base", "pgsql_tmp"))
    measure_peers(run)
    keep(run, path, ("builds", "peers"))
    return show(run, path)


# ---- printing ----

def series(run):
    """The different builds, in the order they were first made."""
    seen = []
    for build in run["builds"]:
        entry = {key: build[key] for key in ("engine", "workers", "memory")}
        if entry not in seen:
            seen.append(entry)
    return seen


def figure(run, field, **wanted):
    """The median of its rounds, None if there were none."""
    values = [build[field] for build in of(run["builds"], **wanted)]
    return median(values) if values else None


def name_of(entry):
    return entry["engine"] + (" +%d" % entry["workers"]
                              if entry["workers"] else "")


def print_builds(run):
    print("\n%-10s %-6s %8s %8s %8s %20s %8s %8s %8s %8s %8s %8s %8s" % (
        "build", "memory", "workers", "launched", "seconds", "each", "flush s",
        "CPU s", "WAL MB", "size MB", "peak MB", "shared", "temp MB"))
    for entry in series(run):
        builds = of(run["builds"], **entry)
        print("%-10s %-6s %8d %8s %8.1f %20s %8.1f %8.1f %8.1f %8.1f %8.1f "
              "%8.1f %8.1f" % (
                  entry["engine"], entry["memory"], entry["workers"],
                  "/".join(str(count) for count in sorted(
                      {build["workers_launched"] for build in builds})),
                  figure(run, "seconds", **entry),
                  " ".join("%.1f" % build["seconds"] for build in builds),
                  figure(run, "flush_seconds", **entry),
                  figure(run, "cpu_seconds", **entry),
                  figure(run, "wal_bytes", **entry) / MB,
                  figure(run, "bytes", **entry) / MB,
                  figure(run, "peak_bytes", **entry) / MB,
                  figure(run, "shared_bytes", **entry) / MB,
                  temporary_of(run, entry) / MB))


def temporary_of(run, entry):
    """Written, as the server counts; it does not count what is removed with
    its whole directory, of which at least the most that was seen at once."""
    return median([max(build["temp_bytes"], build["temp_peak_bytes"])
                   for build in of(run["builds"], **entry)])


def sizes_of(run):
    return list(dict.fromkeys(build["memory"] for build in run["builds"]))


def wrong_answers(run):
    return [build for build in run["builds"]
            if build["matches"] != run["matches"]]


def best_of(run, workers):
    """Seconds with the memory that is best for it."""
    return min(figure(run, "seconds", engine=SUBJECT, workers=workers,
                      memory=memory) for memory in sizes_of(run))


def print_missing_workers(run):
    for entry in series(run):
        least = min(build["workers_launched"]
                    for build in of(run["builds"], **entry))
        if least < entry["workers"]:
            print("note: %s with %s: %d workers asked for, %d launched" % (
                entry["engine"], entry["memory"], entry["workers"], least))


def serial_expectations(run, label):
    lines = []
    for memory in sizes_of(run):
        ours, base = (figure(run, "seconds", engine=engine, workers=0,
                             memory=memory) for engine in (SUBJECT, YARDSTICK))
        if ours and base:
            lines.append(expect(label + "serial_" + memory, ours, base, "s",
                                False))
    return lines


def parallel_expectations(run, label):
    """Speed is compared only where the workers were there: two serial builds
    differ by as much on a busy machine."""
    lines = []
    parallel = of(run["builds"], engine=SUBJECT, workers=SPEEDUP_WORKERS)
    if not parallel or not of(run["builds"], engine=SUBJECT, workers=0):
        return lines
    name = label + "workers_%d_" % SPEEDUP_WORKERS
    launched = min(build["workers_launched"] for build in parallel)
    lines.append(expect(name + "launched", launched, SPEEDUP_WORKERS, "", True))
    if launched < SPEEDUP_WORKERS:
        return lines
    lines.append(expect(
        name + "best_memory", best_of(run, 0) / best_of(run, SPEEDUP_WORKERS),
        SPEEDUP, "x", True))
    if SPEEDUP_MEMORY in sizes_of(run):
        times = [figure(run, "seconds", engine=SUBJECT, workers=workers,
                        memory=SPEEDUP_MEMORY)
                 for workers in (0, SPEEDUP_WORKERS)]
        lines.append(expect(name + SPEEDUP_MEMORY, times[0] / times[1],
                            SPEEDUP, "x", True))
    return lines


def expectations(run):
    builds = of(run["builds"], engine=SUBJECT)
    if not builds:
        return []
    label = "build.%s." % run["corpus"]
    lines = serial_expectations(run, label) + parallel_expectations(run, label)
    wanted = SIZE_MB.get((run["corpus"], run["rows"]))
    if wanted:
        lines.append(expect(label + "size",
                            max(build["bytes"] for build in builds) / MB,
                            wanted, "MB", False))
    for memory in sizes_of(run):
        lines.append(expect(
            label + "peak_" + memory,
            max(build["peak_bytes"] for build in of(builds, memory=memory))
            / MB, MEMORY_SHARE * bytes_of(memory) / MB, "MB", False))
    return lines


def print_reference(run):
    counts = sorted({build["workers"] for build in
                     of(run["builds"], engine=SUBJECT)})
    for peer in of(peer_medians(run), engine=REFERENCE):
        print("ratio to %s, %d threads, %.1f s: skipidx, best memory, takes %s" % (
            REFERENCE, peer["threads"], peer["commit_seconds"],
            ", ".join("%.2fx with %d workers" % (
                best_of(run, count) / peer["commit_seconds"], count)
                      for count in counts)))


def plots(run, path):
    curves = {}
    for entry in series(run):
        curves.setdefault(name_of(entry), []).append(entry)
    sizes = sizes_of(run)
    panels = []
    for title, field, scale in (
            ("CREATE INDEX", "seconds", 1), ("CPU, all processes",
                                             "cpu_seconds", 1),
            ("peak memory, all processes", "peak_bytes", MB),
            ("WAL", "wal_bytes", MB)):
        lines = [(name, [bytes_of(entry["memory"]) for entry in entries],
                  [figure(run, field, **entry) / scale for entry in entries])
                 for name, entries in curves.items()]
        if field in ("seconds", "cpu_seconds"):
            name = "commit_seconds" if field == "seconds" else field
            lines += [("%s, %d threads" % (peer["engine"], peer["threads"]),
                       [bytes_of(size) for size in sizes],
                       [peer[name]] * len(sizes)) for peer in peer_medians(run)]
        panels.append({"title": title, "x": "maintenance_work_mem",
                       "y": "s" if scale == 1 else "MB", "curves": lines,
                       "ticks": [(bytes_of(size), size) for size in sizes]})
    draw(beside(path), "builds of an index, %s" % run["corpus"], panels)


def show(run, path):
    """Returns whether every index found the rows that the table has."""
    print()
    print_machine(run)
    print("corpus   %s: %d rows, table %.0f MB; skipidx %s, server %s; "
          "%d rounds, medians" % (
              run["corpus"], run["rows"], run["heap_bytes"] / MB,
              run["skipidx"], run["server"].split()[0], run["rounds"]))
    print_builds(run)
    print_missing_workers(run)
    print_peers(run)
    print()
    plots(run, path)
    wrong = wrong_answers(run)
    for build in wrong:
        print("WRONG %s, %d workers, %s, round %d: %s, wanted %s" % (
            build["engine"], build["workers"], build["memory"],
            build["round"], build["matches"], run["matches"]))
    for line in expectations(run):
        print(line)
    print_reference(run)
    return not wrong


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
