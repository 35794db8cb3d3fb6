"""show.py: prints and draws what bench-rank has measured; imported by
report.py, and by measure.py for its names of series."""
from harness.report_base import (MB, POINTS, collected, expect, median, of,
                                 print_head, quantile)
from harness.searches import kind_of, rows_of

SUBJECT, REFERENCE, SLOW_PEER = "skipidx", "lucene", "rum"
MODES = "AND10 OR10 PHRASE10 OR100 OR1000"
# Series of skipidx, and what is different about them.
VARIANTS = {
    "skipidx": {},
    "skipidx near": {"proximity": True},
    "skipidx pinned": {"fresh": False},
    "skipidx rows": {"fetch": True},
    "skipidx statement": {"statement": True},
}
COMMON_SHARE = .01        # of all rows, the rarest word of a query
COMMON_FACTOR = 10.0
OVERHEAD_US = 150.0
OVERHEAD_ROWS = 10
WORST = 20


def fast(series):
    """Whether it runs all queries in each round."""
    return series not in ("rum", "gin")


# ---- figures ----

def common(run):
    """Numbers of the queries all of whose words are common."""
    return {number for number, query in enumerate(run["queries"])
            if query["rarest"] > COMMON_SHARE * run["rows"]}


def alternating(run):
    """Numbers of the queries, common words and others in turn: in this order
    they are run where there is not time for all."""
    kinds = [[], []]
    for number in range(len(run["queries"])):
        kinds[number not in common(run)].append(number)
    both = min(map(len, kinds))
    return ([number for pair in zip(*kinds) for number in pair] +
            kinds[0][both:] + kinds[1][both:])


def figures(run, mode, series):
    return collected(of(run["times"], mode=mode, series=series), "us")


def statement_figures(run, field="least", **wanted):
    return collected(of(run["statements"], **wanted), field)


def chosen(values, numbers):
    return [us for number, us in values.items() if number in numbers]


def weights(run, values):
    """Of each query that was run, how many it stands for: all those of its
    kind, common words or others."""
    frequent = common(run)
    kinds = (frequent, set(range(len(run["queries"]))) - frequent)
    share = [len(kind) / max(len(chosen(values, kind)), 1) for kind in kinds]
    return [share[number not in frequent] for number in values]


def spread(run, values):
    """Of all queries: p50, p95, p99, mean."""
    if len(values) == len(run["queries"]):
        ordered = list(values.values())
        return [quantile(ordered, share) for _, share in POINTS] + [
            sum(ordered) / len(ordered)]
    pairs = sorted(zip(values.values(), weights(run, values)))
    total = sum(weight for _, weight in pairs)
    found = []
    for _, share in POINTS:
        reached = 0
        for us, weight in pairs:
            reached += weight
            if reached >= share * total:
                break
        found.append(us)
    return found + [sum(us * weight for us, weight in pairs) / total]


def row_of(run, values):
    return "".join(" %10.1f" % figure for figure in spread(run, values))


# ---- tables ----

def print_mode(run, mode):
    hits = {one["series"]: one["hits"] for one in of(run["times"], mode=mode)}
    print("\n%-20s %6s %10s %10s %10s %10s   %s" % (
        mode + ", us", "run", "p50", "p95", "p99", "mean",
        "p50, p99, mean of it / " + REFERENCE))
    base = figures(run, mode, REFERENCE)
    for series in run["series"]:
        values = figures(run, mode, series)
        if not values:
            continue
        line = "  %-18s %6d" % (series, len(values)) + row_of(run, values)
        if base and series != REFERENCE:
            line += "   " + " ".join(
                "%8.2f" % (ours / theirs) for number, (ours, theirs) in
                enumerate(zip(spread(run, values), spread(run, base)))
                if number != 1)
        print(line)
    print_work(run, mode)
    whole = {count for series, count in hits.items() if fast(series)}
    print("  rows: " + " or ".join(str(count) for count in sorted(whole)))


def print_work(run, mode):
    """Of one search on average; of a statement it is not known."""
    for series in (SUBJECT, "skipidx near"):
        for one in of(run["times"], mode=mode, series=series, round=0):
            work, n = one["work"], len(one["us"])
            print("  work of %-13s %.1f passes, %.1f windows, %.0f scored, "
                  "%.0f candidates, %.0f positions" % (
                      series + ":", *(work[field] / n for field in (
                          "passes", "windows", "scored", "candidates",
                          "proximity"))))


def print_common(run):
    numbers = common(run)
    print("\ncommon words: %d queries whose rarest word is in more than %g %%"
          " of the rows; mean us" % (len(numbers), COMMON_SHARE * 100))
    print("  %-10s" % "" + "".join("%18s" % series
                                   for series in run["series"]))
    for mode in run["modes"]:
        row = "  %-10s" % mode
        for series in run["series"]:
            values = chosen(figures(run, mode, series), numbers)
            row += ("%10.0f (%5d)" % (sum(values) / len(values), len(values))
                    if values else "%18s" % "-")
        print(row)


def label_of(entry):
    return entry["name"] + (" near" if entry["proximity"] else "")


def print_statements(run):
    print("\n%-24s %6s %10s %10s %10s %10s %12s" % (
        "pgbench, us, least", "run", "p50", "p95", "p99", "mean",
        "p50, median"))
    for first in of(run["statements"], round=0):
        wanted = {key: first[key] for key in ("name", "mode", "proximity")}
        values = statement_figures(run, **wanted)
        if values:
            print("  %-9s %-12s %6d%s %12.1f" % (
                first["mode"], label_of(first), len(values),
                row_of(run, values),
                spread(run, statement_figures(run, "median", **wanted))[0]))
    nothing = [one["nothing"] for one in run["statements"]]
    if nothing:
        print("  SELECT 1 on the same connections: least %.1f, median %.1f" % (
            median([one[0] for one in nothing]),
            median([one[1] for one in nothing])))
    for entry in of(run["statements"], round=0):
        print("  plans of %-9s %-12s %s" % (
            entry["mode"], label_of(entry), "; ".join(
                "%d x %s" % (count, plan)
                for plan, count in sorted(entry["plans"].items()))))


def overheads(run, mode):
    """Of each query: through pgbench, less what the scan itself takes."""
    inside = figures(run, mode, SUBJECT)
    return [us - inside[number] for number, us in statement_figures(
        run, name=SUBJECT, mode=mode, proximity=False).items()
            if number in inside]


def print_overheads(run):
    for mode in run["modes"]:
        values = overheads(run, mode)
        if values:
            print("%s overhead of PostgreSQL, us: p50 %.1f, p95 %.1f, p99 %.1f"
                  % (mode, median(values), quantile(values, .95),
                     quantile(values, .99)))


# ---- expectations ----

def reference_expectations(run, mode):
    ours, base = (figures(run, mode, series)
                  for series in (SUBJECT, REFERENCE))
    if not ours or not base:
        return []
    return [expect("rank.%s.%s_%s" % (run["corpus"], mode, point), us, wanted,
                   "us", False)
            for (point, _), us, wanted in zip(POINTS, spread(run, ours),
                                              spread(run, base))
            if point != "p95"]


def common_expectation(run, mode):
    """Of the queries that the slow peer was given time for."""
    peer, ours = (figures(run, mode, series)
                  for series in (SLOW_PEER, SUBJECT))
    numbers = common(run) & set(peer) & set(ours)
    if not numbers:
        return []
    peer, ours = chosen(peer, numbers), chosen(ours, numbers)
    return [expect("rank.%s.%s_common_vs_%s" % (run["corpus"], mode,
                                                SLOW_PEER),
                   sum(peer) / sum(ours), COMMON_FACTOR, "x", True)]


def overhead_expectation(run, mode):
    values = overheads(run, mode)
    if not values or rows_of(mode) != OVERHEAD_ROWS:
        return []
    return [expect("rank.%s.%s_overhead" % (run["corpus"], mode),
                   median(values), OVERHEAD_US, "us", False)]


def expectations(run):
    return [line for kind in (reference_expectations, common_expectation,
                              overhead_expectation)
            for mode in run["modes"] for line in kind(run, mode)]


def plots(run):
    """Curves over the points, which are 1, 2, 4 on the axis."""
    places = [1 << number for number in range(len(POINTS))]
    drawn = [series for series in run["series"]
             if series in (SUBJECT, "skipidx near") or series not in VARIANTS]
    panels = []
    for mode in run["modes"]:
        curves = [(series, places, spread(run, values)[:-1])
                  for series in drawn
                  for values in [figures(run, mode, series)] if values]
        panels.append({"title": mode, "x": "of the queries", "y": "us",
                       "ticks": [(place, name) for place, (name, _) in
                                 zip(places, POINTS)], "curves": curves})
    return [("", "searches for the best rows, %s" % run["corpus"], panels)]


def wrong_answers(run):
    """Series that found another number of rows than those before them."""
    return ["%s by %s, %s: %s rows" % (
        one["mode"], one["series"], run["queries"][one["query"]]["words"],
        " or ".join(str(count) for count in one["rows"]))
            for one in run["wrong"]]


def print_indexes(run):
    print("indexes  " + ", ".join(
        "%s %.0f MB" % (name, size / MB)
        for name, size in run["indexes"].items()))
    for name in run["peers_missing"]:
        print("         %s is not available" % name)
    if not run["limit_told"]:
        print("note: scans without the executor were not told the limit")


def tables(run):
    print_head(run, "%d queries, each the least of %d times" % (
        len(run["queries"]), run["repetitions"]))
    print_indexes(run)
    for mode in run["modes"]:
        print_mode(run, mode)
    print_common(run)
    print_statements(run)
    print()
    print_overheads(run)


def worst(run, mode):
    """The queries of a mode that take skipidx longest."""
    table = [figures(run, mode, series) for series in run["series"]]
    ours = figures(run, mode, SUBJECT)
    print("%-36s %9s" % (mode + ", us", "rarest") +
          "".join("%18s" % series for series in run["series"]))
    for number in sorted(ours, key=lambda number: -ours[number])[:WORST]:
        query = run["queries"][number]
        print("%-36s %9d" % (query["words"], query["rarest"]) + "".join(
            "%18.1f" % values[number] if number in values else "%18s" % "-"
            for values in table))
