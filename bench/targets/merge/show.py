"""show.py: prints and draws what bench-merge has measured; imported by
report.py, and by measure.py for its names of series."""
from harness.report_base import (MB, expect, median, of, print_machine,
                                 quantile)

DIRECT = "uring_direct"
METHODS = {               # skipidx.io_method of the searches, of the merge
    "direct": (DIRECT, DIRECT),
    "mixed": ("buffered", DIRECT),
    "buffered": ("buffered", "buffered"),
}
PHASES = ("alone", "merge", "after", "later")
P99 = 1.2                 # times that of alone


# ---- figures ----

def times_of(run, series, turn, phase):
    return [us for entry in of(run["times"], series=series, round=turn,
                               phase=phase) for us in entry["us"]]


def rounds_of(run, series):
    return [entry["round"] for entry in of(run["merges"], series=series)]


def point(run, series, phase, share):
    """The median of the rounds' own, in us."""
    return median([quantile(times_of(run, series, turn, phase), share)
                   for turn in rounds_of(run, series)])


def slower(run, series, phase):
    """p99 over that of the same server before the merge."""
    return median([quantile(times_of(run, series, turn, phase), .99) /
                   quantile(times_of(run, series, turn, "alone"), .99)
                   for turn in rounds_of(run, series)])


def seconds_of(run, one, phase):
    """What there was of a phase, by its searches: one follows the other."""
    return sum(times_of(run, one["series"], one["round"], phase)) / 1e6


def read_by_search(run, series, phase):
    """Bytes from the device."""
    return median([one["searcher"][phase]["read_bytes"] /
                   len(times_of(run, series, one["round"], phase))
                   for one in of(run["merges"], series=series)])


def others(run, series, phase):
    return median([one["searcher"][phase]["others"]
                   for one in of(run["merges"], series=series)])


def rate(run, series, phase):
    return median([len(times_of(run, series, one["round"], phase)) /
                   seconds_of(run, one, phase)
                   for one in of(run["merges"], series=series)])


def device(run, kind):
    """Bytes a second."""
    return median([one["bytes"] / one[kind + "_seconds"]
                   for one in run["device"]])


def merge_rate(run, series):
    """Bytes read and written in a second."""
    return median([(one["bytes_read"] + one["bytes_written"]) /
                   one["seconds"] for one in of(run["merges"],
                                                series=series)])


def of_device(run, series):
    """The share of the merge's time in which the device would have read and
    written as much, one after the other."""
    return median([(one["bytes_read"] / device(run, "read") +
                    one["bytes_written"] / device(run, "write")) /
                   one["seconds"] for one in of(run["merges"],
                                                series=series)])


def wrong_answers(run):
    return ["%s, round %d, search %d: %s" % (
        one["series"], one["round"] + 1, one["query"] + 1,
        " or ".join(str(found) for found in one["rows"]))
            for one in run["wrong"]]


# ---- tables ----

def print_memory(run):
    memory = run["memory"]
    held = [one["page_cache_bytes"] for one in run["merges"]
            if one["page_cache_bytes"] is not None]
    print("index    %.1f MB in %d segments (its file: %.1f MB)" % (
        run["index_bytes"] / MB, run["segments"], run["file_bytes"] / MB))
    print("memory   for the index %.1f MB of skipidx's cache and %.1f MB of "
          "page cache, shared buffers %.1f MB" % (
              memory["cache_bytes"] / MB, memory["pages_bytes"] / MB,
              memory["buffers_bytes"] / MB))
    print("         " + (
        "in a cgroup of %.0f MB; page cache before a merge %.1f to %.1f MB" % (
            median([one["limit_bytes"] for one in run["merges"]]) / MB,
            min(held) / MB, max(held) / MB) if run["limited"] else
        "NO LIMIT, for want of a cgroup: the page cache holds what it likes"))
    print("device   %.0f MB/s read, %.0f MB/s written, one megabyte after "
          "the other" % (device(run, "read") / MB,
                         device(run, "write") / MB))


def print_searches(run):
    print("\n%-18s %9s %9s %9s %9s %9s %9s %14s %12s" % (
        "searches, us", "searches", "per s", "p50", "p99", "max", "p99/alone",
        "read a search", "others' CPU"))
    for series in run["series"]:
        for phase in PHASES:
            every = [us for turn in rounds_of(run, series)
                     for us in times_of(run, series, turn, phase)]
            print("  %-9s %-6s %9d %9.0f %9.0f %9.0f %9.0f %9.2f %11.1f kB"
                  " %10.0f %%" % (
                series, phase, len(every), rate(run, series, phase),
                point(run, series, phase, .5), point(run, series, phase, .99),
                max(every), slower(run, series, phase),
                read_by_search(run, series, phase) / 1024,
                max(0, others(run, series, phase)) * 100))


def print_merges(run):
    print("\n%-18s %9s %9s %9s %9s %9s %9s %10s %9s %9s %9s" % (
        "merges", "segments", "seconds", "CPU", "read MB", "written", "WAL MB",
        "to device", "own MB", "MB/s", "of device"))
    for series in run["series"]:
        entries = of(run["merges"], series=series)
        row = [median([one[name] for one in entries]) / unit
               for name, unit in (("segments", 1), ("seconds", 1),
                                  ("cpu_seconds", 1), ("bytes_read", MB),
                                  ("bytes_written", MB), ("wal_bytes", MB),
                                  ("device_written", MB),
                                  ("memory_bytes", MB))]
        print("  %-16s %9d %9.2f %9.2f %9.1f %9.1f %9.1f %10.1f %9.1f %9.1f"
              " %9.2f" % (
            series, *row, merge_rate(run, series) / MB,
            of_device(run, series)))


def tables(run):
    print()
    print_machine(run)
    print("corpus   %s: %d rows (%d copies); skipidx %s, server %s; "
          "%d rounds, medians" % (
              run["corpus"], run["rows"], run["copies"], run["skipidx"],
              run["server"].split()[0], run["rounds"]))
    print_memory(run)
    print_searches(run)
    print_merges(run)


# ---- expectations and plots ----

def tells(run, series):
    """Whether its merge is direct, and memory what it should be."""
    search, merge = METHODS[series]
    return merge == DIRECT and (run["limited"] or search == DIRECT)


def expectations(run):
    return [expect("merge.%s.%s_p99_%s" % (run["corpus"], series, phase),
                   slower(run, series, phase), P99, "x", False)
            for series in run["series"] if tells(run, series)
            for phase in PHASES[1:3]]


def by_second(run, series, turn):
    """Sorted pairs of a second and its times; the first and the last are not
    whole."""
    found = {}
    for entry in of(run["times"], series=series, round=turn):
        found.setdefault(entry["second"], []).extend(entry["us"])
    return sorted(found.items())[1:-1]


def plots(run):
    """The first round of each series, on one scale."""
    panels = []
    for series in run["series"]:
        one = of(run["merges"], series=series)[0]
        seconds = by_second(run, series, one["round"])
        xs = [second + .5 for second, _ in seconds]
        panels.append({
            "title": "%s: searches by %s, merge by %s" % (
                (series,) + METHODS[series]),
            "x": "s; the merge is between the lines", "y": "us",
            "over_time": [0, one["seconds"]],
            "curves": [(name, xs, [quantile(us, share) for _, us in seconds])
                       for name, share in (("p50", .5), ("p99", .99))]})
    return [("", "searches beside a merge, %s" % run["corpus"], panels)]
