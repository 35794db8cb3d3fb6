"""show.py: prints what bench-count has measured; imported by report.py, and by
measure.py for its names of series."""
from harness.levels import LEVELS
from harness.report_base import (MB, collected, expect, median, of, print_head,
                                 quantile)

SUBJECT, ROWS = "skipidx", "skipidx, rows"
YARDSTICK = "gin"
SERIES = {SUBJECT: "skipidx", "skipidx, prepared": "skipidx",
          ROWS: "skipidx", YARDSTICK: "gin"}
PEER, PREPARED = "lucene", "skipidx, prepared"
FACTOR, WORD_US = 20.0, 100.0


def figures(run, **wanted):
    """The median of its rounds of each query that was run, in us."""
    return collected(of(run["times"], **wanted), "us")


def wrong_answers(run):
    """Series that counted other rows than those before them."""
    return ["%s by %s, query %d: %s" % (
        one["kind"], one["series"], one["query"],
        " or ".join(map(str, one["rows"]))) for one in run["wrong"]]


def ratio(values, base):
    """Of the times of the same queries."""
    same = [number for number in values if number in base]
    return (sum(values[number] for number in same) /
            sum(base[number] for number in same)) if same else 0


def tables(run):
    print_head(run, "each the least of %d times" % run["repetitions"])
    print("indexes  " + ", ".join("%s %.1f MB" % (
        one["index"], one["bytes"] / MB) for one in run["indexes"]))
    print("\ncount(*), us, p50 (queries that were run), and the time of all"
          " of them as often as skipidx's\n%-8s %9s %9s" % ("", "rows", "p99")
          + "".join("%32s" % series for series in run["series"]))
    for kind in run["kinds"]:
        base = figures(run, kind=kind, series=SUBJECT)
        line = "%-8s %9d %9.1f" % (kind, run["matches"][kind], quantile(
            list(base.values()), .99))
        for series in run["series"]:
            values = figures(run, kind=kind, series=series)
            if not values:
                line += " " * 32
                continue
            line += "%14.1f (%4d) %9.1fx" % (
                median(list(values.values())), len(values),
                ratio(values, base))
        print(line)
    print("\nplans, made with the words known")
    for one in run["plans"]:
        print("  %-8s %-16s %s" % (one["kind"], one["series"], one["nodes"]))


def expectations(run):
    lines = []
    for kind in run["kinds"]:
        base = figures(run, kind=kind, series=SUBJECT)
        if kind in dict(LEVELS):
            lines.append(expect("count.%s.word_%s" % (run["corpus"], kind),
                                median(list(base.values())), WORD_US, "us",
                                False))
        if PEER in run["series"] and figures(run, kind=kind, series=PEER):
            lines.append(expect(
                "count.%s.%s_vs_lucene" % (run["corpus"], kind),
                ratio(figures(run, kind=kind, series=PREPARED),
                      figures(run, kind=kind, series=PEER)), 1, "x", False))
        if YARDSTICK in run["series"]:
            values = figures(run, kind=kind, series=YARDSTICK)
            lines.append(expect(
                "count.%s.%s_vs_gin" % (run["corpus"], kind),
                ratio(values, base), FACTOR, "x", True))
    return lines


def plots(run):
    """The table says it all."""
    return []
