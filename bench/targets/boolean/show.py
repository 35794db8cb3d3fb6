"""show.py: prints and draws what bench-boolean has measured; imported by
report.py."""
import json

from harness.report_base import MB, expect, median, print_head, quantile

YARDSTICK, SUBJECT = "gin", "skipidx"
CLASSES = ("and", "or", "phrase", "prefix")
POINTS = (("p50", .50), ("p95", .95), ("p99", .99))
PHRASE_FACTOR = 5.0
WORST = 20


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
    """Queries on which engines differ."""
    return ["%s %s: %s" % (query["class"], query["q"],
                           json.dumps(query["matches"]))
            for query in run["queries"]
            if len(set(query["matches"].values())) != 1 or
            len(query["matches"]) != len(run["engines"])]


def print_table(run):
    table = run["table"]
    print("table    %s order, %.0f MB of text, %d lexemes; %.0f MB, with its "
          "toast %.0f MB" % (
              run["order"], run["text_bytes"] / MB, table["lexemes"] or 0,
              table["heap_bytes"] / MB, table["with_toast_bytes"] / MB))


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
        base = (measure(run, name, YARDSTICK)
                if YARDSTICK in run["engines"] else None)
        for engine in run["engines"]:
            times = measure(run, name, engine)
            row = "  %-30s" % engine
            for _, share in POINTS:
                row += " %13.0f" % quantile(times, share)
            row += " %13.0f" % (sum(times) / len(times))
            if base:
                row += "   %8.2f %8.2f" % (
                    median(base) / max(median(times), 1),
                    sum(base) / max(sum(times), 1))
            print(row)


def print_work(run):
    """What tells a bitmap that needs the heap from one that does not, and a
    run that read from disk from a warm one."""
    print("\nscan of all queries, sums  %13s %13s %13s %13s" % (
        "rows given", "rechecked out", "lossy blocks", "blocks read"))
    for engine in run["engines"]:
        scans = [query["index"][engine][-1] for query in run["queries"]]
        print("  %-24s %13d %13d %13d %13d" % (
            (engine,) + tuple(sum(scan[column] or 0 for scan in scans)
                              for column in (1, 2, 3, 5))))


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
    if not {YARDSTICK, SUBJECT} <= set(run["engines"]):
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


def plots(run):
    """Curves over the points, which are 1, 2, 4 on the axis."""
    places = [1 << number for number in range(len(POINTS))]
    measured = [name for name in CLASSES
                if times_of(run, name, run["engines"][0])]
    panels = [{
        "title": "%s, count(*)" % name, "x": "of the queries", "y": "us",
        "ticks": [(place, point) for place, (point, _) in zip(places, POINTS)],
        "curves": [(engine, places, [
            quantile(times_of(run, name, engine), share)
            for _, share in POINTS]) for engine in run["engines"]]}
        for name in measured]
    return [("", "boolean queries, %s" % run["corpus"], panels)]


def tables(run):
    print_head(run)
    print_table(run)
    print_builds(run)
    print_times(run, "match (count)", times_of)
    print_times(run, "index scan   ", scans_of)
    print_work(run)
    print("\nanswers: %d queries, %d on which engines differ" % (
        len(run["queries"]), len(wrong_answers(run))))


def worst(run, name):
    """The rest of a statement's time is the heap's, alike for all engines but
    for rows that only one of them has to recheck."""
    rows = [query for query in run["queries"] if query["class"] == name]
    rows.sort(key=lambda query: -median(query["us"][SUBJECT]))
    print("%-40s %9s %9s %9s %9s %9s %9s" % (
        "us", "matches", YARDSTICK, "its scan", "its rows", SUBJECT,
        "its scan"))
    for query in rows[:WORST]:
        scans = {engine: median([scan[0] for scan in query["index"][engine]])
                 for engine in (YARDSTICK, SUBJECT)}
        print("%-40s %9d %9.0f %9.0f %9d %9.0f %9.0f" % (
            query["words"], query["matches"][SUBJECT],
            median(query["us"][YARDSTICK]), scans[YARDSTICK],
            query["index"][YARDSTICK][0][1],
            median(query["us"][SUBJECT]), scans[SUBJECT]))
