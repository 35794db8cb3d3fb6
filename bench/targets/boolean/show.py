#!/usr/bin/env python3
"""report.py collect RAWDIR FILE.json: gathers what one run measured into one
file, and prints it.
report.py show FILE.json ...: prints files again, of any measurement.
report.py worst FILE.json CLASS: the queries that take skipidx longest, with
where the time goes.
report.py summary [FILE.svg]: the table of the README at the top of the tree,
and its plot.

A file holds the single times, in the order they were taken; every figure
printed is computed from them here.  The exit code is 1 if engines gave
different answers, 0 otherwise, whether expectations are met or not.
"""
import importlib
import json
import os
import sys

from harness.record import write

YARDSTICK, SUBJECT = "gin", "skipidx"
CLASSES = ("and", "or", "phrase", "prefix")
POINTS = (("p50", .50), ("p95", .95), ("p99", .99))
PHRASE_FACTOR = 5.0
MB = 1 << 20          # as the server and its users count
WORST = 20


def load_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def collect(raw):
    run = {"bench": "boolean", "engines": [], "builds": [], "queries": []}
    run.update(load_json(os.path.join(raw, "run.json")))
    run["hardware"] = load_json(os.path.join(raw, "hardware.json"))
    run["load_average_after"] = load_json(
        os.path.join(raw, "hardware_after.json"))["load_average"]
    lists = {"engine": "engines", "build": "builds", "query": "queries"}
    with open(os.path.join(raw, "measured.jsonl"), encoding="utf-8") as lines:
        for line in lines:
            for kind, value in json.loads(line).items():
                if kind in lists:
                    run[lists[kind]].append(value)
                else:
                    run[kind] = value
    return run


def quantile(values, share):
    """Linear between neighbours, as SQL's percentile_cont."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def median(values):
    return quantile(values, .5)


def names_of(run):
    return [engine["name"] for engine in run["engines"]]


def times_of(run, name, engine):
    """The median of its rounds, for each query of a class, in us."""
    return [median(query["us"][engine]) for query in run["queries"]
            if query["class"] == name]


def scans_of(run, name, engine):
    """The same for the index scan alone."""
    return [median([scan[0] for scan in query["index"][engine]])
            for query in run["queries"] if query["class"] == name]


def build_of(run, engine, memory, field):
    values = [build[field] for build in run["builds"]
              if build["engine"] == engine and build["memory"] == memory]
    return median(values) if values else None


def wrong_answers(run):
    return [query for query in run["queries"]
            if len(set(query["matches"].values())) != 1 or
            len(query["matches"]) != len(run["engines"])]


def print_head(run):
    hardware, table = run["hardware"], run["table"]
    print("corpus   %s, %s order: %d rows, %.0f MB of text, %d lexemes; "
          "table %.0f MB, with its toast %.0f MB" % (
              run["corpus"], run["order"], table["rows"],
              run["text_bytes"] / MB, table["lexemes"] or 0,
              table["heap_bytes"] / MB, table["with_toast_bytes"] / MB))
    print("machine  %s, %d cores, %d MB; load %.1f before, %.1f after" % (
        hardware["cpu"], hardware["cores"], hardware.get("memory_mb", 0),
        hardware["load_average"][0], run["load_average_after"][0]))
    print("server   %s; skipidx %s" % (
        " ".join(run["server"]["version"].split()[:2]), run["skipidx"]))


def print_builds(run):
    print("\n%-10s %-8s %9s %22s %9s %9s %9s" % (
        "build", "memory", "seconds", "each", "flush s", "size MB", "WAL MB"))
    seen = []
    for build in run["builds"]:
        key = (build["engine"], build["memory"])
        if key in seen:
            continue
        seen.append(key)
        each = ["%.1f" % other["seconds"] for other in run["builds"]
                if (other["engine"], other["memory"]) == key]
        print("%-10s %-8s %9.1f %22s %9.1f %9.1f %9.1f" % (
            key + (build_of(run, *key, "seconds"), " ".join(each),
                   build_of(run, *key, "flush_seconds"),
                   build_of(run, *key, "bytes") / MB,
                   build_of(run, *key, "wal_bytes") / MB)))


def matched_line(queries):
    counts = [next(iter(query["matches"].values())) for query in queries]
    return "%d queries, %d with matches, median %d, most %d" % (
        len(counts), sum(count > 0 for count in counts), median(counts),
        max(counts))


def print_times(run, title, measure):
    print("\n%s, us%30s p50 %9s p95 %9s p99 %8s mean   %s/it p50, sum" % (
        title, "", "", "", "", YARDSTICK))
    for name in CLASSES:
        queries = [q for q in run["queries"] if q["class"] == name]
        if not queries:
            continue
        print("%s: %s" % (name, matched_line(queries)))
        base = measure(run, name, YARDSTICK) if YARDSTICK in names_of(run) else None
        for engine in names_of(run):
            times = measure(run, name, engine)
            row = "  %-30s" % engine
            for _, share in POINTS:
                row += " %13.0f" % quantile(times, share)
            row += " %13.0f" % (sum(times) / len(times))
            if base:
                row += "   %8.2f %8.2f" % (median(base) / max(median(times), 1),
                                           sum(base) / max(sum(times), 1))
            print(row)


def print_work(run):
    """What tells a bitmap that needs the heap from one that does not, and a
    run that read from disk from a warm one."""
    print("\nscan of all queries, sums  %13s %13s %13s %13s" % (
        "rows given", "rechecked out", "lossy blocks", "blocks read"))
    for engine in names_of(run):
        scans = [query["index"][engine][-1] for query in run["queries"]]
        print("  %-24s %13d %13d %13d %13d" % (
            (engine,) + tuple(sum(scan[column] or 0 for scan in scans)
                              for column in (1, 2, 3, 5))))


def expect(label, measured, wanted, unit, at_least):
    """Compared as measured; rounded only to be printed."""
    ok = measured >= wanted if at_least else measured <= wanted
    return "expect %s measured=%.2f%s wanted%s%.2f%s %s" % (
        label, measured, unit, ">=" if at_least else "<=", wanted, unit,
        "ok" if ok else "short")


def ratio_expectations(run, name, wanted, points):
    lines = []
    base = times_of(run, name, YARDSTICK)
    ours = times_of(run, name, SUBJECT)
    if not base:
        return lines
    label = "boolean.%s.%s_" % (run["corpus"], name)
    for point, share in points:
        lines.append(expect(label + point, quantile(base, share) /
                            max(quantile(ours, share), 1), wanted, "x", True))
    lines.append(expect(label + "sum", sum(base) / max(sum(ours), 1), wanted,
                        "x", True))
    return lines


def expectations(run):
    """Ratios are the yardstick's time over ours."""
    if not {YARDSTICK, SUBJECT} <= set(names_of(run)):
        return []
    lines = ratio_expectations(run, "phrase", PHRASE_FACTOR, POINTS[:1])
    lines += ratio_expectations(run, "and", 1.0, POINTS)
    lines += ratio_expectations(run, "or", 1.0, POINTS)
    label = "boolean.%s." % run["corpus"]
    lines.append(expect(label + "size",
                        build_of(run, SUBJECT, "1GB", "bytes") / MB,
                        build_of(run, YARDSTICK, "1GB", "bytes") / MB,
                        "MB", False))
    for memory in ("1GB", "64MB"):
        ours = build_of(run, SUBJECT, memory, "seconds")
        base = build_of(run, YARDSTICK, memory, "seconds")
        if ours and base:
            lines.append(expect(label + "build_" + memory, ours, base, "s",
                                False))
    return lines


def show(run):
    """Prints a run; returns whether all answers agree."""
    print_head(run)
    print_builds(run)
    print_times(run, "match (count)", times_of)
    print_times(run, "index scan   ", scans_of)
    print_work(run)
    wrong = wrong_answers(run)
    print("\nanswers: %d queries, %d on which engines differ" % (
        len(run["queries"]), len(wrong)))
    for query in wrong:
        print("WRONG %s %s: %s" % (query["class"], query["q"],
                                   json.dumps(query["matches"])))
    for line in expectations(run):
        print(line)
    return not wrong


def worst(run, name):
    """The rest of a statement's time is the heap's, alike for all engines but
    for rows that only one of them has to recheck."""
    rows = [query for query in run["queries"] if query["class"] == name]
    rows.sort(key=lambda query: -median(query["us"][SUBJECT]))
    print("%-40s %9s %9s %9s %9s %9s %9s" % (
        "us", "matches", YARDSTICK, "its scan", "its rows", SUBJECT, "its scan"))
    for query in rows[:WORST]:
        scans = {engine: median([scan[0] for scan in query["index"][engine]])
                 for engine in (YARDSTICK, SUBJECT)}
        print("%-40s %9d %9.0f %9.0f %9d %9.0f %9.0f" % (
            query["words"], query["matches"][SUBJECT],
            median(query["us"][YARDSTICK]), scans[YARDSTICK],
            query["index"][YARDSTICK][0][1],
            median(query["us"][SUBJECT]), scans[SUBJECT]))


def show_any(path):
    """By the program that measured it; only False says that it is invalid."""
    run = load_json(path)
    if run["bench"] == "boolean":
        return show(run)
    part = "show" if run["bench"] == "rank" else "measure"
    module = importlib.import_module("targets.%s.%s" % (run["bench"], part))
    return module.show(run, path) is not False


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "collect":
        run = collect(sys.argv[2])
        write(run, sys.argv[3], ("builds", "queries"))
        print("\nkept in %s" % os.path.relpath(sys.argv[3]))
        return 0 if show(run) else 1
    if len(sys.argv) == 4 and sys.argv[1] == "worst":
        worst(load_json(sys.argv[2]), sys.argv[3])
        return 0
    if len(sys.argv) > 2 and sys.argv[1] == "show":
        return 0 if all([show_any(path) for path in sys.argv[2:]]) else 1
    if len(sys.argv) in (2, 3) and sys.argv[1] == "summary":
        importlib.import_module("summary").show((sys.argv + [None])[2])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
