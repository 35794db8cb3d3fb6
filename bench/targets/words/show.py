"""show.py: prints what bench-words has measured; imported by report.py, and by
measure.py for its names of series."""
from harness.report_base import (MB, POINTS, collected, expect, of, print_head,
                                 quantile)

SUBJECT, REFERENCE = "skipidx", "lucene"
MODE = "OR10"
SIZES = "3 30"
# Series of skipidx: whether pairs of words count.
VARIANTS = {"skipidx": {"proximity": False}, "skipidx near": {"proximity": True}}
MORE_TIME = 8.0           # of many words, compared with the first size
SHARE_OF_REFERENCE = .8
SHARES = [POINTS[0], POINTS[2]]         # p50 and p99


def figure(run, series, size, share):
    """Of the queries of so many words, in us; None: not measured."""
    values = [us for number, us in
              collected(of(run["times"], series=series), "us").items()
              if number // per_size(run) == run["sizes"].index(size)]
    return quantile(values, share) if values else None


def per_size(run):
    """Queries of each size, which stand together."""
    return len(run["queries"]) // len(run["sizes"])


def print_series(run, series):
    first = run["sizes"][0]
    for size in run["sizes"]:
        line = "  %-14s %6d" % (series, size)
        for _, share in SHARES:
            us = figure(run, series, size, share)
            line += " %10.1f (%5.2f)" % (us, us / figure(run, series, first,
                                                         share))
        print(line)


def tables(run):
    print_head(run, "%d queries of each size" % per_size(run))
    for name, size in run["indexes"].items():
        print("index    %-10s %.1f MB" % (name, size / MB))
    print("\n%-16s %6s %18s %18s" % (
        "ten best, us", "words", "p50 (to first)", "p99 (to first)"))
    for series in run["series"]:
        print_series(run, series)
    for one in of(run["times"], series=SUBJECT, round=0):
        print("work of %s: %.0f scored, %.0f candidates a query" % (
            SUBJECT, one["work"]["scored"] / len(one["us"]),
            one["work"]["candidates"] / len(one["us"])))


def wrong_answers(run):
    return ["%s: query %d: %s rows" % (one["series"], one["query"],
                                       one["rows"]) for one in run["wrong"]]


def expectations(run):
    first, lines = run["sizes"][0], []
    for size in run["sizes"][1:]:
        for name, share in SHARES:
            ours = figure(run, SUBJECT, size, share)
            lines.append(expect(
                "words.%d.%s" % (size, name),
                ours / figure(run, SUBJECT, first, share), MORE_TIME, "x",
                False))
            theirs = figure(run, REFERENCE, size, share)
            if theirs:
                lines.append(expect(
                    "words.%d.%s.%s" % (size, name, REFERENCE), ours / theirs,
                    SHARE_OF_REFERENCE, "x", False))
    return lines


def plots(run):
    return []
