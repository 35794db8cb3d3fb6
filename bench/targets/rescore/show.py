"""show.py: prints and draws what bench-rescore has measured; imported by
report.py."""
from harness.report_base import (expect, median, of, print_machine,
                                 size_name)

MODES = (("direct", "direct"), ("cold", "buffered"))
FACTOR = 3.0            # io_uring over pread
EXPECTED_SET = 256
EXPECTED_DEPTH = 16     # skipidx.io_depth as it comes


def figures(entries):
    """p50 and p99 of a set in ms, fetches a second, CPU us of a fetch."""
    return tuple(median(values) for values in (
        [e["p50_ms"] for e in entries], [e["p99_ms"] for e in entries],
        [e["fetches"] / e["seconds"] for e in entries],
        [e["cpu_seconds"] / e["fetches"] * 1e6 for e in entries]))


def values_of(run, field):
    return sorted({entry[field] for entry in run["fetches"]})


def depth_name(depth):
    return "io_uring %d" % depth if depth else "pread"


def print_device(run):
    print("\nrandom pages of 8 kB of a file of %s, %g s a point" % (
        size_name(run["file_bytes"]), run["seconds"]))
    for mode, title in MODES:
        for clients in values_of(run, "clients"):
            print("%-34s%9s%9s%10s%8s" % (
                "%s, %d client%s" % (title, clients, "s" * (clients > 1)),
                "p50 ms", "p99 ms", "fetches/s", "CPU us"))
            for candidates in values_of(run, "candidates"):
                for depth in values_of(run, "depth"):
                    print("  %4d candidates  %-15s %8.2f %8.2f %9.0f %7.1f" % (
                        (candidates, depth_name(depth)) + figures(of(
                            run["fetches"], mode=mode, clients=clients,
                            candidates=candidates, depth=depth))))


def phrase_runs(run, method, candidates):
    return of(run["phrases"], method=method, candidates=candidates)


def phrase_figure(run, method, candidates, field):
    """A phrase's mean, the median of the rounds."""
    return median([sum(one[field] for one in entry["queries"]) /
                   len(entry["queries"])
                   for entry in phrase_runs(run, method, candidates)])


def print_server(run):
    print("\nphrase queries, cold, mean of a query")
    print("%-34s%9s%9s%10s%8s%8s" % ("", "scan ms", "query ms", "requests",
                                     "pages", "depth"))
    for candidates in run["candidates"]:
        for method in run["methods"]:
            if not phrase_runs(run, method, candidates):
                continue
            print("  %4d candidates  %-15s %8.2f %8.2f %9.0f %7.0f %7.1f" % (
                (candidates, method) + tuple(
                    phrase_figure(run, method, candidates, field)
                    for field in ("scan_ms", "query_ms", "requests", "pages",
                                  "depth"))))


def expectations(run):
    """One client at the depth that skipidx has by default."""
    lines = []
    for mode, title in MODES:
        one = {depth: of(run["fetches"], mode=mode, clients=1, depth=depth,
                         candidates=EXPECTED_SET)
               for depth in (0, EXPECTED_DEPTH)}
        if one[0] and one[EXPECTED_DEPTH]:
            lines.append(expect(
                "rescore.%s_%d_candidates" % (title, EXPECTED_SET),
                figures(one[0])[0] / figures(one[EXPECTED_DEPTH])[0], FACTOR,
                "x", True))
    return lines


def print_gains(run):
    """What the same pages take without io_uring, over with it."""
    for ring, plain in (("uring_direct", "direct"), ("uring", "buffered")):
        if {ring, plain} <= set(run["methods"]):
            print("%s over %s:" % (plain, ring), ", ".join(
                "%.2f at %d candidates" % (
                    phrase_figure(run, plain, n, "scan_ms") /
                    phrase_figure(run, ring, n, "scan_ms"), n)
                for n in run["candidates"] if phrase_runs(run, ring, n)))


def device_panels(run):
    sets = values_of(run, "candidates")
    return [{
        "title": "%s, %d clients" % (title, clients), "x": "candidates",
        "y": "ms a set (p50)", "ticks": [(n, str(n)) for n in sets],
        "curves": [(depth_name(depth), sets, [figures(of(
            run["fetches"], mode=mode, clients=clients, depth=depth,
            candidates=n))[0] for n in sets])
            for depth in values_of(run, "depth")]}
        for clients in values_of(run, "clients") for mode, title in MODES]


def server_panels(run):
    sets = [n for n in run["candidates"] if of(run["phrases"], candidates=n)]
    return [{
        "title": title, "x": "candidates", "y": unit,
        "ticks": [(n, str(n)) for n in sets],
        "curves": [(method, sets, [max(phrase_figure(run, method, n, field),
                                       .01) for n in sets])
                   for method in run["methods"]]}
        for title, unit, field in (("index scan", "ms", "scan_ms"),
                                   ("requests", "a query", "requests"))]


def plots(run):
    found = []
    if run["fetches"]:
        found.append(("-device", "sets of random pages", device_panels(run)))
    if run["phrases"]:
        found.append(("-server", "phrase queries, cold", server_panels(run)))
    return found


def wrong_answers(run):
    """Numbers of candidates for which not all methods found the same."""
    found = {}
    for entry in run["phrases"]:
        found.setdefault(entry["candidates"], set()).add(
            tuple(one["matches"] for one in entry["queries"]))
    return ["%d candidates: %s" % (candidates, sorted(matches))
            for candidates, matches in found.items() if len(matches) > 1]


def tables(run):
    print()
    print_machine(run)
    print("skipidx %s; %d rounds, medians" % (run["skipidx"], run["rounds"]))
    if run["fetches"]:
        print_device(run)
    if run["phrases"]:
        print("\ncorpus   %s: %d rows; auto is %s" % (
            run["corpus"], run["rows"], run["settings"]["auto"]))
        print_server(run)
        print_gains(run)
