"""show.py: prints and draws what bench-filter has measured; imported by
report.py, and by measure.py for its names of series and filters."""
from harness.report_base import (MB, collected, expect, median, of, print_head,
                                 quantile)

SUBJECT, ORDERED, TEXT = "skipidx", "skipidx ordered", "skipidx text"
PEER = "lucene"
YARDSTICK = "gin"
MODES = "AND10 OR10"
TASKS = ("count", "rank")
COLUMNS = ("tenant", "category", "level", "tags", "price", "published_at")
COUNTS = (0, 1, 2, 4, 6)           # columns in an index beside the text
SINGLE = dict.fromkeys(COLUMNS, "btree")    # what one of the column alone is
SINGLE["tags"] = "gin"
# Indexes that each series may use.
SERIES = {
    SUBJECT: ("skipidx_6",),
    TEXT: ("skipidx_0",),
    "gin": ("gin_6",),
    "gin + btree": ("gin_0",) + COLUMNS,
    ORDERED: ("skipidx_6",),       # never sorts
}
NONE = "none"
# Of a level: its name, the share of rows, ranked p50 at most as many times
# that of no filter.
LEVELS = (("half", .5, 1.5), ("1e-1", .1, 3.0), ("1e-2", .01, 6.0),
          ("1e-3", .001, 6.0), ("1e-4", 1e-4, 1.0), ("1e-5", 1e-5, 1.0))
FILTERS = {NONE: ""}
FILTERS.update((name, "level = %d" % number)
               for number, (name, _, _) in enumerate(LEVELS, 1))
FILTERS.update({
    "tenant": "tenant = 1",
    "rare": "tenant = 900",
    "tag": "tags @> ARRAY['t12']",
    "in": "category IN ('c2', 'c3', 'c5')",
    "price": "price < 10000",
    "newest": "published_at >= '{newest}'",
})
# The same for Lucene, see SearchLucene.java.
CONDITIONS = {NONE: ""}
CONDITIONS.update((name, "level:k:%d" % number)
                  for number, (name, _, _) in enumerate(LEVELS, 1))
CONDITIONS.update({
    "tenant": "tenant:k:1",
    "rare": "tenant:k:900",
    "tag": "tags:k:t12",
    "in": "category:k:c2,c3,c5",
    "price": "price:i:*:9999",
    "newest": "published_at:l:{newest_us}:*",
})
WORK = ("Passes", "Scored Postings", "Candidates")     # names in EXPLAIN
BUILD_PERCENT = 10.0               # a column
PEER_SHARE = .7                    # of the time of Lucene, ranked
WORST = 20


def engine_of(series):
    return series.split()[0]


def fast(series):
    """Whether it runs all queries in each round."""
    return series == PEER or SERIES[series] == SERIES[SUBJECT]


def measured(series, task):
    """A count has no order to be forced."""
    return task == "rank" or series != ORDERED


# ---- figures ----

def figures(run, **wanted):
    """The median of its rounds of each query that was run, in us."""
    return collected(of(run["times"], **wanted), "us")


def middle(values):
    return median(list(values.values()))


def build_of(run, index, field):
    return median([one[field] for one in of(run["builds"], index=index)])


def against_peer(run, share, **wanted):
    """A quantile of skipidx's times over that of Lucene's, of the queries that
    both have run; None where there are none."""
    ours = figures(run, series=SUBJECT, **wanted)
    theirs = figures(run, series=PEER, **wanted)
    same = [number for number in ours if number in theirs]
    if not same:
        return None
    return (quantile([ours[number] for number in same], share) /
            quantile([theirs[number] for number in same], share))


def has_index(run, index):
    return bool(of(run["builds"], index=index))


def growth(run, engine, count):
    """Of an index by each column, in MB, and in percent of the index."""
    base, size = (build_of(run, "%s_%d" % (engine, n), "bytes")
                  for n in (0, count))
    return (size - base) / count / MB, (size - base) / count / base * 100


def slower(run, engine, count):
    """Of a build by each column, in percent: the median of its rounds, so that
    builds are compared that were made one soon after the other."""
    base, seconds = ({build["round"]: build["seconds"] for build in
                      of(run["builds"], index="%s_%d" % (engine, n))}
                     for n in (0, count))
    return median([(seconds[turn] / base[turn] - 1) / count * 100
                   for turn in base])


def wrong_answers(run):
    """Series that found other rows than those before them."""
    return ["%s %s, %s, by %s, %s: %s" % (
        one["task"], one["mode"], one["filter"], one["series"],
        run["queries"][one["query"]]["words"], " or ".join(
            str(found) for found in one["rows"])) for one in run["wrong"]]


# ---- tables ----

def print_builds(run):
    print("\n%-14s %-6s %9s %22s %9s   %s" % (
        "build", "memory", "seconds", "each", "size MB", "a column"))
    for one in of(run["builds"], round=0):
        index = one["index"]
        engine, _, count = index.rpartition("_")
        line = "  %-12s %-6s %9.2f %22s %9.1f" % (
            index, one["memory"], build_of(run, index, "seconds"),
            " ".join("%.2f" % build["seconds"]
                     for build in of(run["builds"], index=index)),
            build_of(run, index, "bytes") / MB)
        if count.isdigit() and count != "0" and has_index(run, engine + "_0"):
            line += "   %+6.1f MB, %+5.1f %%, build %+5.1f %%" % (
                growth(run, engine, int(count)) +
                (slower(run, engine, int(count)),))
        print(line)
    if run.get("peer_bytes"):
        print("  %-12s %-6s %9s %22s %9.1f" % (PEER, "", "", "",
                                               run["peer_bytes"] / MB))
    if PEER in run.get("peers_missing", ()):
        print("  %-12s not available" % PEER)


def print_peer(run):
    """Beside Lucene: times, their ratios, and how many of the best rows of
    each are the other's, too."""
    print("\n%-22s %21s %21s %9s %9s %14s" % (
        "beside Lucene, us", "skipidx p50, p99", "lucene p50, p99",
        "p50 ratio", "p99 ratio", "rows in common"))
    for task in TASKS:
        for mode in run["modes"]:
            for name in run["filters"]:
                wanted = {"task": task, "mode": mode, "filter": name}
                if against_peer(run, .5, **wanted) is None:
                    continue
                times = [quantile(list(figures(run, series=series,
                                               **wanted).values()), part)
                         for series in (SUBJECT, PEER) for part in (.5, .99)]
                common = of(run.get("common", ()), **wanted)
                print("  %-5s %-6s %-7s %10.1f %10.1f %10.1f %10.1f %9.2f"
                      " %9.2f %14s" % (
                          task, mode, name, *times,
                          against_peer(run, .5, **wanted),
                          against_peer(run, .99, **wanted),
                          "%.1f %%" % (100 * common[0]["share"])
                          if common else ""))


def cell(values, base, series):
    """p50, how many were run, and their time over skipidx's for the same."""
    if not values:
        return "%28s" % "-"
    text = "%11.1f (%4d)" % (middle(values), len(values))
    same = [number for number in values if number in base]
    if (fast(series) and series != PEER) or not same:
        return text + " " * 10
    return text + " %8.1fx" % (sum(values[number] for number in same) /
                               sum(base[number] for number in same))


def print_task(run, task, mode):
    shown = [series for series in run["series"] if measured(series, task)]
    print("\n%-11s %9s %9s %9s " % ("%s %s" % (task, mode), "rows", "p99",
                                     "p50/none") +
          "".join("%-28s" % ("%18s" % (series + ", p50")) for series in shown))
    for name in run["filters"]:
        wanted = {"task": task, "mode": mode, "filter": name}
        base = figures(run, series=SUBJECT, **wanted)
        none = figures(run, task=task, mode=mode, filter=NONE, series=SUBJECT)
        line = "  %-9s %9d " % (name, run["filter_rows"][name])
        line += ("%9.1f " % quantile(list(base.values()), .99) if base
                 else "%9s " % "-")
        line += ("%9.2f " % (middle(base) / middle(none)) if base and none
                 else "%9s " % "-")
        for series in shown:
            line += cell(figures(run, series=series, **wanted), base, series)
        print(line.rstrip())


def print_work(run):
    """Of one search on average, as EXPLAIN (ANALYZE) has it."""
    print("\n%-32s" % ("work of " + ORDERED) + "".join(
        "%16s" % name for name in WORK))
    for one in run["work"]:
        print("  %-7s %-22s" % (one["mode"], one["filter"]) + "".join(
            "%16.1f" % one[name] for name in WORK))


def print_plans(run):
    """One line for all filters that have the same plan."""
    print("\nplans, made without knowledge of the words")
    kinds = {}
    for one in run["plans"]:
        kinds.setdefault((one["task"], one["series"], one["nodes"] + (
            ", rows looked at for the condition" if one["filter_rows"]
            else "")), []).append("%s %s" % (one["mode"], one["filter"]))
    for (task, series, nodes), where in kinds.items():
        print("  %-5s %-15s %s: %s" % (task, series, nodes, ", ".join(where)))


def tables(run):
    print_head(run, "%d queries, each the least of %d times" % (
        len(run["queries"]), run["repetitions"]))
    print_builds(run)
    for task in TASKS:
        for mode in run["modes"]:
            print_task(run, task, mode)
    if PEER in run["series"]:
        print_peer(run)
    if run["work"]:
        print_work(run)
    print_plans(run)


# ---- expectations ----

def ranked_expectations(run):
    lines = []
    for mode in run["modes"]:
        none, *filtered = (figures(run, task="rank", mode=mode, filter=name,
                                   series=SUBJECT)
                           for name in [NONE] + [one for one, _, _ in LEVELS])
        for (name, _, wanted), values in zip(LEVELS, filtered):
            if none and values:
                lines.append(expect(
                    "filter.%s.%s_%s" % (run["corpus"], mode, name),
                    middle(values) / middle(none), wanted, "x", False))
    return lines


def peer_expectations(run):
    """Ranked, whatever the condition."""
    lines = []
    for mode in run["modes"]:
        for name in run["filters"]:
            ratio = against_peer(run, .5, task="rank", mode=mode, filter=name)
            if name != NONE and ratio is not None:
                lines.append(expect("filter.%s.%s_%s_vs_lucene" % (
                    run["corpus"], mode, name), ratio, PEER_SHARE, "x",
                                    False))
    return lines


def inside_expectations(run):
    """That conditions are answered by the index, in all plans."""
    plans = of(run["plans"], series=SUBJECT)
    if not plans:
        return []
    return [expect("filter.%s.plans_with_filter" % run["corpus"],
                   sum(one["filter_rows"] for one in plans), 0, "", False)]


def index_expectations(run):
    lines = []
    label = "filter.%s." % run["corpus"]
    for count in COUNTS[1:]:
        if not has_index(run, "%s_%d" % (SUBJECT, count)):
            continue
        if has_index(run, "%s_%d" % (YARDSTICK, count)):
            lines.append(expect(label + "growth_%d" % count,
                                growth(run, SUBJECT, count)[0],
                                growth(run, YARDSTICK, count)[0], "MB",
                                False))
        lines.append(expect(label + "build_%d" % count,
                            slower(run, SUBJECT, count), BUILD_PERCENT, "%",
                            False))
    return lines


def expectations(run):
    return (ranked_expectations(run) + peer_expectations(run) +
            inside_expectations(run) + index_expectations(run))


def curve_of(run, places, **wanted):
    """Over the levels that were measured, at their places on the axis."""
    points = [(place, figures(run, filter=name, **wanted))
              for place, name in places]
    points = [(place, middle(values)) for place, values in points if values]
    return (wanted["series"], [place for place, _ in points],
            [us for _, us in points])


def plots(run):
    """Curves over the shares, which are 1, 2, 4 ... on the axis."""
    places = [(1 << number, name) for number, (name, _, _) in enumerate(LEVELS)
              if name in run["filters"]]
    if not places:
        return []
    panels = [{
        "title": "%s, %s" % (task, mode), "x": "rows with the value",
        "y": "us, p50", "ticks": places,
        "curves": [curve_of(run, places, task=task, mode=mode, series=series)
                   for series in run["series"] if measured(series, task)]}
        for task in TASKS for mode in run["modes"]]
    return [("", "a condition beside the words, %s" % run["corpus"], panels)]


def worst(run, name):
    """Of a filter: the ranked queries that take skipidx longest."""
    for mode in run["modes"]:
        table = [figures(run, task="rank", mode=mode, filter=name,
                         series=series) for series in run["series"]]
        ours = figures(run, task="rank", mode=mode, filter=name,
                       series=SUBJECT)
        print("%-36s" % (mode + ", us") + "".join(
            "%18s" % series for series in run["series"]))
        for number in sorted(ours, key=lambda one: -ours[one])[:WORST]:
            print("%-36s" % run["queries"][number]["words"] + "".join(
                "%18.1f" % values[number] if number in values else
                "%18s" % "-" for values in table))
