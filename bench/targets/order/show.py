"""show.py: prints what bench-order has measured; imported by report.py, and by
measure.py for its names of series and tasks."""
from harness.report_base import (MB, collected, expect, median, of, print_head,
                                 quantile)

SUBJECT = "skipidx"
MODES = "AND20 OR20"
COLUMNS = ("arrived", "day", "price")
INDEXES = {
    "skipidx_text": "skipidx (tsv)",
    "skipidx_all": "skipidx (tsv, arrived, day, price)",
    "gin_text": "gin (tsv)",
    "gin_arrived": "btree (arrived)",
    "gin_day": "btree (day)",
    "gin_price": "btree (price)",
}
# Indexes that each series may use.
SERIES = {
    SUBJECT: ("skipidx_all",),
    "gin": ("gin_text",),
    "gin + btree": ("gin_text", "gin_arrived", "gin_day", "gin_price"),
}
# A condition beside the words, and an order; without one rows are counted.
TASKS = {
    "newest": {"where": "", "order": "arrived DESC"},
    "oldest": {"where": "", "order": "arrived"},
    "page": {"where": " AND arrived < '{arrived}'", "order": "arrived DESC"},
    "latest_day": {"where": "", "order": "day DESC"},
    "cheapest": {"where": "", "order": "price"},
    "cheapest_above": {"where": " AND price >= {price}", "order": "price"},
    "count_half": {"where": " AND price < {price}", "order": ""},
    "count_1e-2": {"where": " AND price BETWEEN 100 AND 200", "order": ""},
    "count_1e-4": {"where": " AND price BETWEEN 100 AND 101", "order": ""},
    "count_newest": {"where": " AND arrived >= '{arrived}'", "order": ""},
}
WORK = ("Passes", "Stretches", "Values", "Compared Documents")   # names in EXPLAIN
NEWEST_US = 100.0


def engine_of(name):
    return name.split("_")[0].split()[0]


def figures(run, **wanted):
    """The median of its rounds of each query that was run, in us."""
    return collected(of(run["times"], **wanted), "us")


def middle(values):
    return median(list(values.values()))


def wrong_answers(run):
    """Series that found other rows than those before them."""
    return ["%s %s by %s, %s: %s" % (
        one["task"], one["mode"], one["series"],
        run["queries"][one["query"]]["words"],
        " or ".join(str(found) for found in one["rows"]))
            for one in run["wrong"]]


def cell(values, base, series):
    """p50, how many were run, and their time over skipidx's for the same."""
    if not values:
        return "%28s" % "-"
    shown = "%11.1f (%4d)" % (middle(values), len(values))
    same = [number for number in values if number in base]
    if series == SUBJECT or not same:
        return shown + " " * 10
    return shown + " %8.1fx" % (sum(values[number] for number in same) /
                                sum(base[number] for number in same))


def print_mode(run, mode):
    print("\n%-18s %9s " % (mode, "p99") + "".join(
        "%-28s" % ("%18s" % (series + ", p50")) for series in run["series"]))
    for task in run["tasks"]:
        base = figures(run, task=task, mode=mode, series=SUBJECT)
        line = "  %-16s " % task
        line += ("%9.1f " % quantile(list(base.values()), .99) if base
                 else "%9s " % "-")
        for series in run["series"]:
            line += cell(figures(run, task=task, mode=mode, series=series),
                         base, series)
        print(line.rstrip())


def tables(run):
    print_head(run, "%d queries, each the least of %d times" % (
        len(run["queries"]), run["repetitions"]))
    print("\n%-16s %9s %9s" % ("build", "seconds", "size MB"))
    for one in run["builds"]:
        print("  %-14s %9.2f %9.1f" % (one["index"], one["seconds"],
                                       one["bytes"] / MB))
    for mode in run["modes"]:
        print_mode(run, mode)
    print("\n%-24s" % "work of skipidx" + "".join("%20s" % name
                                                  for name in WORK))
    for one in run["work"]:
        print("  %-6s %-15s" % (one["mode"], one["task"]) + "".join(
            "%20.1f" % one[name] for name in WORK))
    print("\nplans, made without knowledge of the words")
    for one in run["plans"]:
        print("  %-15s %-6s %-12s %s" % (one["task"], one["mode"],
                                         one["series"], one["nodes"]))


def expectations(run):
    lines = []
    for mode in run["modes"]:
        for task in ("newest", "oldest", "page"):
            values = figures(run, task=task, mode=mode, series=SUBJECT)
            if values:
                lines.append(expect("order.%s.%s_%s" % (run["corpus"], mode,
                                                        task),
                                    middle(values), NEWEST_US, "us", False))
    return lines


def plots(run):
    """The table says it all."""
    return []
