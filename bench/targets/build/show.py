"""show.py: prints and draws what bench-build has measured; imported by
report.py."""
from harness.report_base import MB, expect, median, of, print_head
from peers.peers import peer_medians, print_peers

SUBJECT, YARDSTICK, REFERENCE = "skipidx", "gin", "lucene"
SPEEDUP, SPEEDUP_WORKERS, SPEEDUP_MEMORY = 1.8, 2, "256MB"
SIZE_MB = {("enwiki_1m", 1000000): 190}     # corpus, rows
MEMORY_SHARE = 1.10


def bytes_of(memory):
    """As the server reads it: 64MB, 1GB."""
    return int(memory[:-2]) << {"kB": 10, "MB": 20, "GB": 30}[memory[-2:]]


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
    """Indexes that did not find the rows that the table has."""
    return ["%s, %d workers, %s, round %d: %s, wanted %s" % (
        build["engine"], build["workers"], build["memory"], build["round"],
        build["matches"], run["matches"])
            for build in run["builds"] if build["matches"] != run["matches"]]


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
    lines.append(expect(name + "launched", launched, SPEEDUP_WORKERS, "",
                        True))
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
        print("ratio to %s, %d threads, %.1f s: skipidx, best memory, takes "
              "%s" % (REFERENCE, peer["threads"], peer["commit_seconds"],
            ", ".join("%.2fx with %d workers" % (
                best_of(run, count) / peer["commit_seconds"], count)
                      for count in counts)))


def curves_of(run, field, scale):
    """One for each engine and number of workers, over the sizes of memory;
    level ones for peers, which are told no size."""
    entries, sizes = {}, sizes_of(run)
    for entry in series(run):
        entries.setdefault(name_of(entry), []).append(entry)
    curves = [(name, [bytes_of(entry["memory"]) for entry in found],
               [figure(run, field, **entry) / scale for entry in found])
              for name, found in entries.items()]
    name = {"seconds": "commit_seconds",
            "cpu_seconds": "cpu_seconds"}.get(field)
    if name:
        curves += [("%s, %d threads" % (peer["engine"], peer["threads"]),
                    [bytes_of(size) for size in sizes],
                    [peer[name]] * len(sizes)) for peer in peer_medians(run)]
    return curves


def plots(run):
    panels = [{
        "title": title, "x": "maintenance_work_mem",
        "y": "s" if scale == 1 else "MB",
        "curves": curves_of(run, field, scale),
        "ticks": [(bytes_of(size), size) for size in sizes_of(run)]}
        for title, field, scale in (
            ("CREATE INDEX", "seconds", 1),
            ("CPU, all processes", "cpu_seconds", 1),
            ("peak memory, all processes", "peak_bytes", MB),
            ("WAL", "wal_bytes", MB))]
    return [("", "builds of an index, %s" % run["corpus"], panels)]


def tables(run):
    print_head(run, "table %.0f MB" % (run["heap_bytes"] / MB))
    print_builds(run)
    print_missing_workers(run)
    print_peers(run)
    print_reference(run)
