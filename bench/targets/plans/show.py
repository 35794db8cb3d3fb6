"""show.py: prints what bench-plans has measured; imported by report.py, and by
measure.py for what is slow."""
from harness.report_base import expect, print_head

SLOW = 1.5                # times the fastest plan
VERY_SLOW = 3.0
FLOOR_MS = 0.03           # which a clock and a cache decide


def least(way):
    return min(way["ms"])


def choices(case):
    """Those that were measured; GIN's are not the planner's choice here."""
    return [way for way in case["ways"] if way["ms"] and not way["gin"]]


def best_of(case):
    return min(choices(case), key=least)


def ratio(case):
    return max(1.0, (least(case["ways"][0]) - FLOOR_MS) /
               max(least(best_of(case)), 1e-6))


def gin_ratio(case):
    """The chosen plan's time over that of GIN's best; 0: it has none."""
    found = [least(way) for way in case["ways"] if way["ms"] and way["gin"]]
    return max(least(case["ways"][0]) - FLOOR_MS, 0) / min(found) if (
        found) else 0


def shapes_of(run):
    return list(dict.fromkeys(case["shape"] for case in run["cases"]))


def print_way(name, way):
    print("      %-7s %9.3f ms, %7d buffers, cost %10.1f, rows %6d of %6d: %s"
          "%s" % (name, least(way), way["buffers"], way["cost"], way["found"],
                  way["rows"], way["nodes"],
                  " (without %s)" % way["off"] if way["off"] else ""))


def print_losses(run):
    losses = [case for case in run["cases"] if ratio(case) > SLOW]
    for case in sorted(losses, key=ratio, reverse=True):
        print("\n%6.2f  %d, %s\n      %s" % (
            ratio(case), case["number"], case["shape"], case["statement"]))
        print_way("chosen", case["ways"][0])
        print_way("fastest", best_of(case))


def tables(run):
    print_head(run, "%d statements, seed %d" % (len(run["cases"]),
                                                run["seed"]))
    print("\n%-14s %6s %7s %7s %7s %9s" % (
        "shape", "n", "> %.1f" % SLOW, "> %.1f" % VERY_SLOW, "worst",
        "GIN faster"))
    for shape in shapes_of(run):
        ratios = [(ratio(case), gin_ratio(case)) for case in run["cases"]
                  if case["shape"] == shape]
        print("  %-12s %6d %7d %7d %7.2f %9d" % (
            shape, len(ratios), sum(one > SLOW for one, _ in ratios),
            sum(one > VERY_SLOW for one, _ in ratios),
            max(one for one, _ in ratios),
            sum(gin > SLOW for _, gin in ratios)))
    print_losses(run)


def wrong_answers(run):
    return run["wrong"]


def expectations(run):
    ratios = [ratio(case) for case in run["cases"]]
    label = "plans.%s." % run["corpus"]
    return [
        expect(label + "slow", 100 * sum(one > SLOW for one in ratios) /
               max(len(ratios), 1), 2, "%", False),
        expect(label + "very_slow", sum(one > VERY_SLOW for one in ratios), 1,
               "", False)]


def plots(run):
    return []
