"""show.py: prints and draws what bench-scale has measured; imported by
report.py, and by measure.py for its names of series."""
import math

from harness.report_base import (MB, POINTS, collected, expect, median, of,
                                 print_machine, quantile)

SUBJECT, REFERENCE = "skipidx", "lucene"
PLAIN, NEAR = "skipidx", "skipidx near"
MODES = "AND10 OR10 PHRASE10 OR100 OR1000"
LONG, PREFIXES = "50 words", "50 prefixes"
MEMORY_MODES = ("AND10", "OR10", "PHRASE10", "OR1000", LONG, PREFIXES)
# Of the reference's p50 and p99, at most.
RATIOS = {"AND10": (.60, .80), "PHRASE10": (.70, .80), "OR10": (.70, .85),
          "OR100": (.70, .85), "OR1000": (.85, .95)}
GROWTH_MB = 8             # of a session that ranks
READS = {"AND10": (40, 120), "OR10": (60, 200)}     # cold: median, p95
CLIENTS = (1, 2, 4, 8)
LINEAR = .8               # of what one session does, in the cores there are
TIGHT_MODES = ("AND10", "OR10")
TIGHT_METHODS = ("uring_direct", "buffered")
TIGHT_READS = (40, 500)   # with caches of a tenth of the index: median, p99
TIGHT_MS = 50             # p99
INDEX_MB = 2              # of the index, cold, median
ROUNDS = 7                # of reads that depend on each other, median
CURVES = (("p50", .50), ("p99", .99))


def as_made(peer):
    """Its series with the segments that came of building."""
    return peer + " segments"


# ---- figures ----

def numbers_of(run, file):
    return [number for number, query in enumerate(run["queries"])
            if query["file"] == file]


def figures(run, text, mode, series, file):
    """The median of its rounds, in us, of each query of a file."""
    values = collected(of(run["times"], text=text, mode=mode, series=series),
                       "us")
    return [values[number] for number in numbers_of(run, file)
            if number in values]


def series_of(run, **wanted):
    return list(dict.fromkeys(one["series"] for one in
                              of(run["times"], **wanted)))


def groups(run):
    """Texts that differ in size alone, by their name."""
    found = {}
    for text in run["texts"]:
        name = ("short rows" if text["row_words"] else "rows") + ", " + (
            text["order"])
        found.setdefault(name, []).append(text)
    return found


def slope(points):
    """Of the line nearest to points (x, y) on logarithmic axes."""
    xs, ys = ([math.log(one) for one in ones] for ones in zip(*points))
    middle = sum(xs) / len(xs)
    return (sum((x - middle) * y for x, y in zip(xs, ys)) /
            sum((x - middle) ** 2 for x in xs))


def points_of(run, texts, mode, series, file, share):
    """(rows, us)"""
    found = []
    for text in texts:
        values = figures(run, text["text"], mode, series, file)
        if values:
            found.append((text["rows"], quantile(values, share)))
    return found


def exponents(run, texts, mode, series, file):
    """Of p50 and p99, None where there are not two sizes."""
    found = []
    for _, share in CURVES:
        points = points_of(run, texts, mode, series, file, share)
        found.append(slope(points) if len(points) > 1 else None)
    return tuple(found)


# ---- tables ----

def print_texts(run):
    print("\n%-18s %11s %13s %11s %9s %9s %9s %11s %9s" % (
        "text", "rows", "words", "distinct", "exponent", "text MB",
        "table MB", "loaded, s", "in all"))
    for texts in groups(run).values():
        last = None
        for text in texts:
            exponent = "-" if last is None else "%.3f" % slope(
                [(one["rows"], one["distinct"]) for one in (last, text)])
            print("  %-16s %11d %13d %11d %9s %9.0f %9.0f %11d %9d" % (
                text["text"], text["rows"], text["words"], text["distinct"],
                exponent, text["bytes"] / MB, text["heap_bytes"] / MB,
                text["made_seconds"], text["seconds"]))
            last = text


def print_builds(run):
    print("\n%-18s %-9s %9s %9s %9s %9s %9s %9s %9s" % (
        "build", "", "seconds", "CPU s", "peak MB", "segments", "MB",
        "merging s", "MB"))
    for build in run["builds"]:
        print("  %-16s %-9s %9.1f %9.1f %9.0f %9d %9.0f %9.1f %9.0f" % (
            build["text"], build["engine"], build["commit_seconds"],
            build["cpu_seconds"], build["peak_bytes"] / MB,
            build["segments"], build["bytes"] / MB, build["merge_seconds"],
            build["merged_bytes"] / MB))


def print_times(run, text, file):
    print("\n%s, queries of the %s: us, p50, p99 of it / %s\n%-20s" % (
        text, file, REFERENCE, "") + "".join("%10s" % name
                                             for name, _ in POINTS))
    for mode in run["modes"]:
        base = figures(run, text, mode, REFERENCE, file)
        for series in series_of(run, text=text, mode=mode):
            values = figures(run, text, mode, series, file)
            if not values:
                continue
            line = "  %-9s%-18s" % (mode, series) + "".join(
                "%10.1f" % quantile(values, share) for _, share in POINTS)
            if base:
                line += "   " + " ".join(
                    "%6.2f" % (quantile(values, share) / quantile(base, share))
                    for _, share in CURVES)
            print(line)


def print_growth(run):
    for name, texts in groups(run).items():
        if len(texts) < 2:
            continue
        for file in run["files"]:
            print("\n%s, %s to %s, queries of the %s: p50 and p99 grow as N to "
                  "the\n%-20s" % (name, texts[0]["text"], texts[-1]["text"],
                                  file, "") + "".join(
                      "%15s" % mode for mode in run["modes"]))
            for series in series_of(run):
                print("  %-18s" % series + "".join(
                    "%15s" % ("-" if None in found else "%.2f %.2f" % found)
                    for found in [exponents(run, texts, mode, series, file)
                                  for mode in run["modes"]]))


def print_memory(run):
    if run["memory"]:
        print("\n%-18s" % "session grows, MB" + "".join(
            "%18s" % mode for mode in MEMORY_MODES))
    for text in run["texts"]:
        print("  %-16s" % text["text"] + "".join(
            "%10.1f (%5.1f)" % (one["most_bytes"] / MB, one["last_bytes"] / MB)
            for mode in MEMORY_MODES
            for one in of(run["memory"], text=text["text"], mode=mode)))


def cold_of(run, text, mode, series, field):
    """Of its searches; fields of `io` by their own name."""
    return [one[field] if field in one else one["io"].get(field, 0)
            for one in of(run["cold"], text=text, mode=mode, series=series)]


def cold_keys(run):
    return list(dict.fromkeys((one["text"], one["mode"], one["series"])
                              for one in run["cold"]))


def print_cold(run):
    if run["cold"]:
        print("\n%-18s %-6s %-13s" % ("cold: median, p95", "", "") + "".join(
            "%17s" % name for name in ("ms", "requests", "index requests",
                                       "index MB", "device MB", "calls",
                                       "waits")) + "%8s" % "sorted")
    for key in cold_keys(run):
        print("  %-16s %-6s %-13s" % key + "".join(
            "%9.*f %7.*f" % (digits, median(values) / scale, digits,
                             quantile(values, .95) / scale)
            for field, scale, digits in (
                ("ms", 1, 1), ("requests", 1, 0), ("io_requests", 1, 0),
                ("index_bytes", MB, 2), ("device_bytes", MB, 2),
                ("batches", 1, 0), ("waits", 1, 0))
            for values in [cold_of(run, *key, field)]
            ) + "%8d" % sum("Sort" in plan for plan in
                            cold_of(run, *key, "plan")))


def print_tight(run):
    found = run.get("tight", [])
    if found:
        print("\n%-42s" % "caches a tenth of the index: median, p99" + "".join(
            "%17s" % name for name in ("ms", "reads", "MB")) +
              "%12s %12s" % ("cache MB", "page cache"))
    for one in found:
        print("  %-16s %-13s %-9s" % (one["text"], one["method"],
                                      one["mode"]) + "".join(
            "%10.*f %6.*f" % (digits, median(one[field]) / scale, digits,
                              quantile(one[field], .99) / scale)
            for field, scale, digits in (("us", 1000, 1), ("requests", 1, 0),
                                         ("bytes", MB, 2))) +
              "%12.0f %12s" % (
                  (one["cache_bytes"] + one["shared_buffers"]) / MB,
                  "-" if one["page_cache_bytes"] is None else
                  "%.0f MB" % (one["page_cache_bytes"] / MB)))


def rates(run, text, mode):
    """Searches a second, by the number of sessions."""
    return {one["clients"]: one["searches"] / one["seconds"]
            for one in of(run.get("clients", []), text=text, mode=mode)}


def print_clients(run):
    if run.get("clients"):
        print("\n%-25s" % "searches a second" + "".join(
            "%12s" % ("%d at a time" % one) for one in CLIENTS))
    for text in run["texts"]:
        for mode in TIGHT_MODES:
            found = rates(run, text["text"], mode)
            if found:
                print("  %-16s %-6s" % (text["text"], mode) + "".join(
                    "%12.0f" % found[one] for one in CLIENTS))


def tables(run):
    print()
    print_machine(run)
    print("corpus   %s; skipidx %s, server %s; %d rounds, medians; %s queries,"
          " each the least of %d times" % (
              run["corpus"], run["skipidx"], run["server"].split()[0],
              run["rounds"], " and ".join("%d of the %s" % (
                  len(numbers_of(run, file)), file) for file in run["files"]),
              run["repetitions"]))
    for name in run["peers_missing"]:
        print("         %s is not available" % name)
    print("cache    %s in force" % run["cache_in_force"])
    if not run["limit_told"]:
        print("note: scans without the executor were not told the limit")
    print_texts(run)
    print_builds(run)
    for text in run["texts"]:
        for file in run["files"]:
            print_times(run, text["text"], file)
    print_growth(run)
    print_memory(run)
    print_cold(run)
    print_tight(run)
    print_clients(run)


# ---- expectations ----

def label(run, text, *more):
    return ".".join(("scale", run["corpus"], text.replace(" ", "_")) + more)


def ratio_expectations(run):
    """Of rows as long as the corpus has them."""
    lines = []
    for text in of(run["texts"], row_words=0):
        for mode in run["modes"]:
            for file in run["files"]:
                ours, base = (figures(run, text["text"], mode, series, file)
                              for series in (PLAIN, REFERENCE))
                if not ours or not base or mode not in RATIOS:
                    continue
                lines += [expect(
                    label(run, text["text"], file, mode + "_" + name),
                    quantile(ours, share) / quantile(base, share), wanted,
                    "x", False) for (name, share), wanted in
                          zip(CURVES, RATIOS[mode])]
    return lines


def growth_expectations(run):
    lines = []
    for name, texts in groups(run).items():
        for mode in run["modes"]:
            for file in run["files"]:
                ours, base = (exponents(run, texts, mode, series, file)[0]
                              for series in (PLAIN, REFERENCE))
                if ours is not None and base is not None:
                    lines.append(expect(
                        label(run, name.replace(",", ""), file,
                              mode + "_growth"), ours, base, "", False))
    return lines


def memory_expectations(run):
    """Of the mode that takes most."""
    return [expect(label(run, text["text"], "memory"),
                   max(one["most_bytes"] for one in found) / MB, GROWTH_MB,
                   "MB", False)
            for text in run["texts"]
            for found in [of(run["memory"], text=text["text"])] if found]


def cold_expectations(run):
    lines = []
    for text, mode, series in cold_keys(run):
        requests, pages, rounds = (
            cold_of(run, text, mode, series, field)
            for field in ("requests", "index_bytes", "rounds"))
        name = label(run, text, series.replace(" ", "_"), mode + "_cold_")
        wanted, wanted_p95 = READS[mode]
        lines += [expect(name + "reads_median", median(requests), wanted, "",
                         False),
                  expect(name + "reads_p95", quantile(requests, .95),
                         wanted_p95, "", False),
                  expect(name + "index", median(pages) / MB, INDEX_MB, "MB",
                         False)]
        if any(rounds):
            lines.append(expect(name + "rounds", median(rounds), ROUNDS, "",
                                False))
    return lines


def tight_expectations(run):
    lines = []
    for one in run.get("tight", []):
        name = label(run, one["text"], "tight_" + one["method"],
                     one["mode"] + "_")
        lines += [expect(name + "reads_median", median(one["requests"]),
                         TIGHT_READS[0], "", False),
                  expect(name + "reads_p99", quantile(one["requests"], .99),
                         TIGHT_READS[1], "", False),
                  expect(name + "median", median(one["bytes"]) / MB, INDEX_MB,
                         "MB", False),
                  expect(name + "p99", quantile(one["us"], .99) / 1000,
                         TIGHT_MS, "ms", False)]
    return lines


def client_expectations(run):
    lines = []
    for text in run["texts"]:
        for mode in TIGHT_MODES:
            found = rates(run, text["text"], mode)
            lines += [expect(label(run, text["text"], mode, "%d_clients" % one),
                             found[one] / found[1] /
                             min(one, run["hardware"]["cores"]), LINEAR, "x",
                             True) for one in CLIENTS[1:] if found]
    return lines


def expectations(run):
    return [line for kind in (ratio_expectations, growth_expectations,
                              memory_expectations, cold_expectations,
                              tight_expectations, client_expectations)
            for line in kind(run)]


def plots(run):
    """p50 over the rows, one panel a mode; a plot for each file of queries and
    for each kind of texts of several sizes."""
    drawn = []
    for name, texts in groups(run).items():
        if len(texts) < 2:
            continue
        for file in run["files"]:
            panels = []
            for mode in run["modes"]:
                curves = [(series, *zip(*points)) for series in series_of(run)
                          for points in [points_of(run, texts, mode, series,
                                                   file, .5)] if points]
                panels.append({"title": mode, "x": "rows", "y": "us, p50",
                               "ticks": [(text["rows"], text["text"])
                                         for text in texts],
                               "curves": curves})
            suffix = "" if name == "rows, article" else "-" + name.replace(
                ", ", "-").replace(" ", "-")
            drawn.append((suffix + ("-log" if file == "log" else ""),
                          "searches for the best rows as the text grows: %s, "
                          "queries of the %s" % (name, file), panels))
    return drawn


def wrong_answers(run):
    """Series that found another number of rows than those before them, and
    indexes that have not the words of their text."""
    return ["%s, %s by %s, %s: %s" % (
        one["text"], one["mode"], one["series"],
        " ".join(run["queries"][one["query"]]["words"])
        if one["query"] is not None else "all", " or ".join(str(count) for count in one["rows"]))
            for one in run["wrong"]]
