"""show.py: prints and draws what bench-lookup has measured; imported by
report.py."""
from harness.report_base import (MB, expect, median, of, print_head,
                                 size_name)
from harness.scan import depth_of, pages_of, requests_of

PEERS = ("gin", "rum")
SUBJECT = "skipidx"
YARDSTICK = "shared_buffers"
COLD_FACTOR = 5.0
WARM_SHARE = 1.05


def runs_of(run, series, kind):
    return of(run["runs"], index=series["index"], method=series["method"],
              kind=kind)


def cold_of(run, series, kind, field="scan_ms"):
    return median([one["cold"].get(field, 0)
                   for one in runs_of(run, series, kind)])


def warm_of(run, series, kind, field="scan_ms"):
    return median([value for one in runs_of(run, series, kind)
                   for value in one["warm"][field]])


def series_of(run, **wanted):
    """The one series that is so, or None."""
    found = of(run["series"], **wanted)
    return found[0] if found else None


def print_table(run, title, kind, cell):
    """One line a size of blocks, one column a method."""
    print("\n%s\n%-14s" % (title, "") +
          "".join("%17s" % method for method in run["methods"]))
    for block in run["blocks"]:
        row = "  %-12s" % size_name(block)
        for method in run["methods"]:
            row += cell(run, series_of(run, engine=SUBJECT, block=block,
                                       method=method), kind)
        print(row)
    for engine in PEERS:
        peer = series_of(run, engine=engine)
        if peer:
            print("  %-12s" % engine + cell(run, peer, kind))


def print_times(run, title, kind, figure):
    print_table(run, "%s, %s, ms" % (kind, title), kind,
                lambda r, s, k: "%17.2f" % figure(r, s, k))


def work_of(run, series, kind):
    colds = [one["cold"] for one in runs_of(run, series, kind)]
    return "%d /%5.1f /%4.1f" % (
        median([requests_of(cold) for cold in colds]),
        median([pages_of(cold) for cold in colds]) * 8192 / MB,
        median([depth_of(cold) for cold in colds]))


def print_work(run, kind):
    print_table(run, "%s, cold: requests / MB / depth" % kind, kind,
                lambda r, s, k: "%17s" % work_of(r, s, k))


def print_best(run):
    subject = of(run["series"], engine=SUBJECT)
    for name, figure in (("cold", cold_of), ("warm", warm_of)):
        for kind in run["queries"]:
            best = min(subject, key=lambda s: figure(run, s, kind))
            print("best %s, %s: blocks of %s by %s, %.2f ms" % (
                name, kind, size_name(best["block"]), best["method"],
                figure(run, best, kind)))


def wrong_answers(run):
    """Kinds of queries on which not all runs found as many rows."""
    found = {}
    for one in run["runs"]:
        found.setdefault(one["kind"], set()).update(
            [one["cold"]["matches"]] + one["warm"]["matches"])
    return ["%s: %s" % (kind, sorted(counts))
            for kind, counts in found.items() if len(counts) > 1]


def read_share(one):
    """Of what was read cold, how much came from the device; the heap's part
    comes on top."""
    return one["cold"]["device_bytes"] / max(pages_of(one["cold"]) * 8192, 1)


def cold_expectations(run, usual):
    """What comes without setting anything.  Of a phrase the whole statement,
    since GIN leaves its positions to the heap; else the index scan, because
    all visit the same rows of the heap afterwards."""
    lines = []
    for kind in run["queries"]:
        field = "query_ms" if kind == "phrase" else "scan_ms"
        for engine in PEERS:
            peer = series_of(run, engine=engine)
            if peer:
                lines.append(expect(
                    "lookup.%s_cold_vs_%s" % (kind, engine),
                    cold_of(run, peer, kind, field) /
                    cold_of(run, usual, kind, field), COLD_FACTOR, "x", True))
    return lines


def expectations(run):
    lines = []
    block = run.get("default_block")
    method = "auto" if "auto" in run["methods"] else run["methods"][-1]
    usual = series_of(run, engine=SUBJECT, block=block, method=method)
    base = series_of(run, engine=SUBJECT, block=block, method=YARDSTICK)
    lines.append(expect("lookup.cold_was_read_from_device",
                        min(read_share(one) for one in run["runs"]), .95, "x",
                        True))
    if usual:
        lines += cold_expectations(run, usual)
    for kind in run["queries"] if base else ():
        for method in run["methods"]:
            if method != YARDSTICK:
                series = series_of(run, engine=SUBJECT, block=block,
                                   method=method)
                lines.append(expect(
                    "lookup.%s_warm_%s" % (kind, method),
                    warm_of(run, series, kind) / warm_of(run, base, kind),
                    WARM_SHARE, "x", False))
    return lines


def plots(run):
    panels = []
    for kind in run["queries"]:
        for name, figure in (("cold", cold_of), ("warm", warm_of)):
            curves = [(method, run["blocks"],
                       [figure(run, series_of(run, engine=SUBJECT, block=block,
                                              method=method), kind)
                        for block in run["blocks"]])
                      for method in run["methods"]]
            for engine in PEERS:
                peer = series_of(run, engine=engine)
                if peer:
                    level = figure(run, peer, kind)
                    curves.append((engine, run["blocks"],
                                   [level] * len(run["blocks"])))
            panels.append({
                "title": "%s, %s" % (kind, name), "x": "block", "y": "ms",
                "ticks": [(b, size_name(b)) for b in run["blocks"]],
                "curves": curves})
    return [("", "index scan, %s" % run["corpus"], panels)]


def print_indexes(run):
    print("auto     is %s" % run["settings"]["auto"])
    for index in run["indexes"]:
        print("  %-22s %9.1f MB" % (index["index"], index["bytes"] / MB))
    for kind, queries in run["queries"].items():
        print("%-8s %s: %d rows" % (kind, "; ".join(queries), of(
            run["runs"], kind=kind)[0]["cold"]["matches"]))


def tables(run):
    print_head(run)
    print_indexes(run)
    for kind in run["queries"]:
        print_times(run, "cold scan", kind, cold_of)
        print_work(run, kind)
        print_times(run, "warm scan", kind, warm_of)
        print_times(run, "cold query", kind,
                    lambda r, s, k: cold_of(r, s, k, "query_ms"))
    print()
    print_best(run)
