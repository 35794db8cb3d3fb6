"""show.py: prints what bench-machines has measured; imported by report.py, and
by measure.py for its names of series and modes."""
from harness.report_base import (collected, expect, median, of, print_head,
                                 quantile)

ONE, TWO = "one table", "two servers"
PREPARED = (ONE + ", prepared", TWO + ", prepared")
ASKED = (ONE + ", ranking made", TWO + ", ranking made")
SERIES = (ONE, TWO) + PREPARED + ASKED
RANKED = ("AND10", "AND100", "OR10", "OR100")
COUNTS = ("AND", "OR")
MODES = "AND10 AND100 OR10 OR100 AND OR NEWEST20"
ROWS_FACTOR = 1.25     # bytes received, to those of the rows of one fetch


def is_on_servers(series):
    return series.startswith(TWO)


def figures(run, **wanted):
    """The median of its rounds of each query, in us."""
    return list(collected(of(run["times"], **wanted), "us").values())


def bytes_of(run, mode, field):
    return [one[field] for one in of(run["bytes"], mode=mode) if field in one]


def wrong_answers(run):
    return ["%s by %s, query %d" % (one["mode"], one["series"], one["query"])
            for one in run["wrong"]]


def tables(run):
    print_head(run, "%d servers, %d rows a fetch" % (run["servers"],
                                                     run["fetch"]))
    print("\nus of a statement, seen by the client\n%-9s %-26s %10s %10s"
          % ("", "", "p50", "p99"))
    for mode in run["modes"]:
        for series in run["series"]:
            us = figures(run, mode=mode, series=series)
            if us:
                print("%-9s %-26s %10.1f %10.1f" % (mode, series, median(us),
                                                    quantile(us, .99)))
    print("\nbytes of a statement between the servers, planning included\n"
          "%-9s %10s %10s %10s %12s" % ("", "from, p50", "from, p99",
                                        "to, p50", "rows, p50"))
    for mode in run["modes"]:
        received, rows = bytes_of(run, mode, "received"), bytes_of(run, mode,
                                                                   "rows")
        print("%-9s %10d %10d %10d %12s" % (
            mode, median(received), quantile(received, .99),
            median(bytes_of(run, mode, "sent")),
            "%d" % median(rows) if rows else ""))
    print("\nplans")
    for one in run["plans"]:
        print("  %s, %s" % (one["mode"], one["series"]))
        for node in one["nodes"]:
            print("    " + node[:150])


def expectations(run):
    """Bytes are those of the rows of one fetch of each server, whatever
    matches."""
    lines = []
    for mode in run["modes"]:
        rows = bytes_of(run, mode, "rows")
        if rows and sum(rows):
            lines.append(expect(
                "machines.%s.%s_bytes_vs_rows" % (run["corpus"], mode),
                sum(bytes_of(run, mode, "received")) / sum(rows), ROWS_FACTOR,
                "x", False))
    return lines


def plots(run):
    """The tables say it all."""
    return []
