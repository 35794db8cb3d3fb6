"""show.py: prints what bench-policies has measured; imported by report.py, and
by measure.py for its names of tasks and series."""
from harness.report_base import MB, expect, median, of, print_head

UNDER_POLICY = "policy"
BY_CONDITION = "condition"
# What is selected, and in which order.
TASKS = {
    "count": ("count(*)", ""),
    "best": ("id", " ORDER BY tsv <@> {0} LIMIT 10"),
    "newest": ("id", " ORDER BY arrived DESC LIMIT 20"),
}
SHARE = 1.2
TIMES = ("planning_ms", "execution_ms")


def spent(one, times=TIMES):
    """Median over the turns, in ms."""
    return median([sum(turn) for turn in zip(*(one[name] for name in times))])


def figure(run, task, series, times=TIMES):
    """Median over the queries."""
    return median([spent(one, times) for one in
                   of(run["times"], task=task, series=series)])


def ratio(run, task):
    """Median over the queries of policy to condition."""
    pairs = zip(of(run["times"], task=task, series=UNDER_POLICY),
                of(run["times"], task=task, series=BY_CONDITION))
    return median([spent(one) / spent(other) for one, other in pairs])


def tables(run):
    print_head(run, "%d tenants, %d turns" % (run["tenants"], run["turns"]))
    print("index    %.1f MB" % (run["bytes"] / MB))
    print("\n%-8s%-12s%14s%14s%10s  %s" % (
        "", "", "planning, us", "execution, us", "ratio", "plan"))
    for task in run["tasks"]:
        for series in (UNDER_POLICY, BY_CONDITION):
            one = of(run["times"], task=task, series=series)[0]
            print("%-8s%-12s%14.0f%14.0f%10s  %s" % (
                task, series,
                1000 * figure(run, task, series, TIMES[:1]),
                1000 * figure(run, task, series, TIMES[1:]),
                "%.2f" % ratio(run, task) if series == UNDER_POLICY else "",
                one["nodes"]))


def wrong_answers(run):
    return ["%s: query %d" % (one["task"], one["query"])
            for one in run["wrong"]]


def expectations(run):
    return [expect("policies." + task, ratio(run, task), SHARE, "x", False)
            for task in run["tasks"]]


def plots(run):
    return []
