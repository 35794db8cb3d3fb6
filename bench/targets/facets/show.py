"""show.py: prints what bench-facets has measured; imported by report.py, and by
measure.py for its names of series and tasks."""
from harness.report_base import (MB, collected, expect, median, of, print_head,
                                 quantile)

SUBJECT, GROUPED, ROWS = "skipidx", "skipidx, GROUP BY", "skipidx, rows"
YARDSTICK = "gin"
SERIES = {SUBJECT: "skipidx", GROUPED: "skipidx", ROWS: "skipidx",
          YARDSTICK: "gin"}
SCALARS = ("tenant", "category", "level", "year", "flag")
# Of a task: columns, and at most so many ms for the most rows.
TASKS = {"category": (("category",), None), "tenant": (("tenant",), None),
         "five": (SCALARS, 15.0), "tags": (("tags",), 30.0)}
FACTOR = 10.0


def measured(series, task):
    """GROUP BY is answered so for one column that is no array."""
    return series != GROUPED or task in ("category", "tenant")


def figures(run, **wanted):
    """The median of its rounds of each query that was run, in us."""
    return collected(of(run["times"], **wanted), "us")


def wrong_answers(run):
    """Series that counted other rows than those before them."""
    return ["%s, %s by %s, query %d: %s" % (
        one["task"], one["kind"], one["series"], one["query"],
        " or ".join(map(str, one["rows"]))) for one in run["wrong"]]


def middle(values):
    return median(list(values.values())) / 1000


def cell(run, task, kind, series):
    values = figures(run, task=task, kind=kind, series=series)
    return "%20.3f" % middle(values) if values else "%20s" % "-"


def tables(run):
    print_head(run, "each the least of %d times" % run["repetitions"])
    print("indexes  " + ", ".join("%s %.1f MB" % (
        one["index"], one["bytes"] / MB) for one in run["indexes"]))
    for task, (columns, _) in TASKS.items():
        print("\nthe 10 commonest values of %s, ms, p50\n%-8s %9s" % (
            ", ".join(columns), "", "rows") + "".join(
                "%20s" % series for series in run["series"]))
        for kind in run["kinds"]:
            print("%-8s %9d" % (kind, run["matches"][kind]) + "".join(
                cell(run, task, kind, series) for series in run["series"]))
    print("\nplans, made with the words known")
    for one in run["plans"]:
        print("  %-8s %-8s %-18s %s" % (one["task"], one["kind"],
                                        one["series"], one["nodes"]))


def expectations(run):
    lines = []
    for task, (_, wanted) in TASKS.items():
        for kind in ("all", "half"):
            values = figures(run, task=task, kind=kind, series=SUBJECT)
            if wanted:
                lines.append(expect(
                    "facets.%s.%s_%s" % (run["corpus"], task, kind),
                    quantile(list(values.values()), .5) / 1000, wanted, "ms",
                    False))
            other = figures(run, task=task, kind=kind, series=YARDSTICK)
            if other:
                lines.append(expect(
                    "facets.%s.%s_%s_vs_gin" % (run["corpus"], task, kind),
                    middle(other) / middle(values), FACTOR, "x", True))
    return lines


def plots(run):
    """The table says it all."""
    return []
