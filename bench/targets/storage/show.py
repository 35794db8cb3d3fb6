"""show.py: prints and draws what bench-storage has measured; imported by
report.py."""
from harness.report_base import MB, expect, median, of, print_head

SUBJECT = "shared_buffers"
BUILD_SHARE = 1.5
WARM_SHARE = 1.1


def seconds_of(run, method, workers):
    return median([one["seconds"] for one in of(
        run["builds"], method=method, workers=workers)])


def cold_of(run, method, kind):
    return median([one["cold_ms"] for one in of(
        run["cold"], method=method, kind=kind)])


def warm_of(run, method, kind):
    """Sum over the statements of the median of their turns."""
    one, = of(run["warm"], method=method, kind=kind)
    return sum(median(times) for times in zip(*one["ms"]))


def print_line(run, name, figure):
    print("%-24s" % name + "".join("%16.2f" % figure(method)
                                   for method in run["methods"]))


def tables(run):
    print_head(run)
    print("index    %.1f MB; auto is %s" % (run["bytes"] / MB,
                                            run["settings"]["auto"]))
    print("\n%-24s" % "" + "".join("%16s" % one for one in run["methods"]))
    for workers in run["workers"]:
        print_line(run, "build, %d workers, s" % workers,
                   lambda method, w=workers: seconds_of(run, method, w))
    for kind in run["queries"]:
        for name, figure in (("cold", cold_of), ("warm", warm_of)):
            print_line(run, "%s, %s, ms" % (kind, name),
                       lambda method, k=kind, f=figure: f(run, method, k))


def wrong_answers(run):
    """Kinds of queries that not all runs counted alike."""
    found = {}
    for one in run["cold"]:
        found.setdefault(one["kind"], set()).add(tuple(one["counts"]))
    return ["%s: %s" % (kind, sorted(counts))
            for kind, counts in found.items() if len(counts) > 1]


def expectations(run):
    lines = []
    for method in run["methods"]:
        if method == SUBJECT or SUBJECT not in run["methods"]:
            continue
        for workers in run["workers"]:
            lines.append(expect(
                "storage.build_%d_vs_%s" % (workers, method),
                seconds_of(run, SUBJECT, workers) /
                seconds_of(run, method, workers), BUILD_SHARE, "x", False))
        for kind in run["queries"]:
            lines.append(expect(
                "storage.%s_warm_vs_%s" % (kind, method),
                warm_of(run, SUBJECT, kind) / warm_of(run, method, kind),
                WARM_SHARE, "x", False))
    return lines


def plots(run):
    return []
