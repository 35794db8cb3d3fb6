"""show.py: prints what bench-parallel has measured; imported by report.py, and
by measure.py for its tasks."""
from harness.report_base import MB, expect, median, of, print_head

SIZES = (3, 30, 300)
# Of how many words; to read all rows with any of 300 takes minutes.
TASKS = {"best 10": SIZES, "best 10000": SIZES, "count": SIZES,
         "read": SIZES[:2]}
LONG_MS, SHORT_MS, SHARE = 100.0, 30.0, .65


def wrong_answers(run):
    return ["%s by %d processes, query %d: %s" % (
        one["task"], one["processes"], one["query"], " or ".join(one["rows"]))
            for one in run["wrong"]]


def figures(run, **wanted):
    """The median of its rounds of each query, in ms."""
    found = {}
    for one in of(run["times"], **wanted):
        found.setdefault(one["query"], []).append(one["ms"])
    return {query: median(times) for query, times in found.items()}


def workers(run, **wanted):
    """Of each query, the most of its rounds."""
    found = {}
    for one in of(run["times"], **wanted):
        found[one["query"]] = max(found.get(one["query"], 0), one["workers"])
    return found


def share(run, task, processes, queries):
    """Of the time of these queries by one process."""
    alone = figures(run, task=task, processes=1)
    several = figures(run, task=task, processes=processes)
    return (sum(several[query] for query in queries) /
            sum(alone[query] for query in queries))


def cell(run, task, words, processes):
    times = figures(run, task=task, words=words, processes=processes)
    if processes == 1:
        return "%12.1f" % median(list(times.values()))
    taken = workers(run, task=task, words=words, processes=processes)
    return "%12.1f (%d of %d) %5.2f" % (
        median(list(times.values())), sum(n > 0 for n in taken.values()),
        len(taken), share(run, task, processes, times))


def tables(run):
    print_head(run, "each the least of %d times" % run["repetitions"])
    print("index    %.1f MB" % (run["bytes"] / MB))
    print("\nms, p50; queries that had workers; time of all by that of one"
          " process\n%-11s %5s" % ("", "words") + "".join(
              "%12s" % ("%d process%s" % (n, "es" if n > 1 else "")) +
              " " * (15 if n > 1 else 0) for n in run["processes"]))
    for task in TASKS:
        for words in TASKS[task]:
            print("%-11s %5d" % (task, words) + "".join(
                cell(run, task, words, n) for n in run["processes"]))
    print("\nplans")
    seen = set()
    for one in run["times"]:
        line = "  %-11s %d  %s" % (one["task"], one["processes"],
                                   one["nodes"])
        if line not in seen:
            seen.add(line)
            print(line)


def expectations(run):
    """Of two processes, if these were measured."""
    lines = []
    if not {1, 2} <= set(run["processes"]):
        return lines
    for task in TASKS:
        alone = figures(run, task=task, processes=1)
        taken = workers(run, task=task, processes=2)
        slow = [query for query, ms in alone.items() if ms >= LONG_MS]
        fast = [query for query, ms in alone.items() if ms < SHORT_MS]
        name = "parallel.%s.%s" % (run["corpus"], task.replace(" ", "_"))
        if slow:
            lines.append(expect(name + "_share", share(run, task, 2, slow),
                                SHARE, "x", False))
        if fast:
            lines.append(expect(name + "_short_with_workers", sum(
                taken[query] > 0 for query in fast), 0, "", False))
    return lines


def plots(run):
    """The table says it all."""
    return []
