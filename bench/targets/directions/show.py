"""show.py: prints what bench-directions has measured; imported by report.py,
and by measure.py for its names of scripts."""
from harness.report_base import MB, expect, median, of, print_head

SCRIPTS = ("forward", "backward", "forward_sort", "keyset", "rank", "filter")
CONCURRENCIES = (0, 1)    # of effective_io_concurrency
NEAR = 1.2                # as fast as the best plan, but for noise
FLOOR_MS = 0.05           # and this much, which a clock and a cache decide
CLOSE = 4.0               # an estimate that is good enough to plan by


# ---- the whole table ----

def whole_ms(run, **wanted):
    found = of(run["whole"], **wanted)
    return median([one["ms"] for one in found]) if found else None


def print_whole(run):
    if not run["whole"]:
        return
    print("\nwhole table of %d pages, cold %26s %12s %12s %12s %9s" % (
        run["wide"], "ms", "cost", "calibrated", "ms / cost", "cal."))
    for one in run["whole"]:
        if one["round"]:
            continue
        ms = whole_ms(run, series=one["series"], order=one["order"],
                      concurrency=one["concurrency"])
        print("  %-8s %-11s effective_io_concurrency %d %17.0f %12.0f %12.0f"
              " %12.4f %9.4f  %s" % (
                  one["series"], one["order"], one["concurrency"], ms,
                  one["cost"], one["calibrated"], ms / one["cost"],
                  ms / one["calibrated"], one["chosen"]))


# ---- pgbench ----

def print_scripts(run):
    if not run["scripts"]:
        return
    print("\n%-14s %-13s %5s %10s " % ("pgbench", "method", "depth",
                                       "cold ms") +
          "".join("%14s" % ("tps, %d" % clients) for clients in
                  run["clients"]) + "%12s" % "ms, 1")
    for script in SCRIPTS:
        for method in run["methods"]:
            for depth in run["depths"]:
                entry = {"script": script, "method": method, "depth": depth}
                warm = of(run["scripts"], cold=False, **entry)
                cold, = of(run["scripts"], cold=True, **entry)
                print("  %-12s %-13s %5d %10.2f " % (script, method, depth,
                                                     cold["ms"]) +
                      "".join("%14.0f" % one["tps"] for one in warm) +
                      "%12.3f" % warm[0]["ms"])


# ---- plans ----

def chosen_and_best(case):
    """Times of the plan that was chosen and of the fastest; of the same nodes
    the least time counts, whoever asked for them."""
    least = {}
    for one in case["times"]:
        least[one["nodes"]] = min(one["ms"], least.get(one["nodes"], one["ms"]))
    chosen = of(case["times"], plan="chosen")
    if not chosen:
        return None
    return least[chosen[0]["nodes"]], min(least.values())


def ratio(case):
    found = chosen_and_best(case)
    if found is None:
        return float("inf")
    return max(1.0, (found[0] - FLOOR_MS) / max(found[1], 1e-6))


def is_close(case):
    low, high = sorted((max(case["expected"], 1), max(case["matches"], 1)))
    return high <= CLOSE * low


def groups(run):
    for cold in (False, True):
        cases = of(run["plans"], cold=cold)
        if cases:
            name = "cold" if cold else "warm"
            yield name + ", all", cases
            yield name + ", rows known", [one for one in cases
                                          if is_close(one)]


def share(cases, most):
    return sum(ratio(one) <= most for one in cases) / max(len(cases), 1)


def worst(cases):
    return max((ratio(one) for one in cases), default=1.0)


def describe(case):
    best = min(case["times"], key=lambda one: one["ms"])
    chosen, = of(case["times"], plan="chosen") or [{"nodes": "timed out",
                                                    "ms": 0}]
    return "%5.1fx %8.2f ms %s; %8.2f %s: %s%s ORDER BY %s LIMIT %s, %s, %d" \
        " of %d rows" % (
            ratio(case), chosen["ms"], chosen["nodes"], best["ms"],
            best["plan"], case["words"], case["where"], case["order"],
            case["limit"], case["method"], case["expected"], case["matches"])


def print_plans(run):
    if not run["plans"]:
        return
    print("\n%-20s %6s %12s %10s %10s %10s" % (
        "plans", "cases", "near best", "in 3x", "in 10x", "worst"))
    for name, cases in groups(run):
        print("  %-18s %6d %11.1f%% %9.1f%% %9.1f%% %9.1fx" % (
            name, len(cases), 100 * share(cases, NEAR), 100 * share(cases, 3),
            100 * share(cases, 10), worst(cases)))
    lost = sorted((one for one in run["plans"] if ratio(one) > NEAR),
                  key=ratio, reverse=True)
    for case in lost[:25]:
        print("  " + ("cold " if case["cold"] else "") + describe(case))


def tables(run):
    print_head(run, "%d queries; index of docs %.1f MB" % (
        run["queries"], run["bytes"] / MB))
    print("\n%-10s %-11s %11s %6s %9s %8s" % (
        "device", "io", "concurrency", "depth", "us", "price"))
    for one in run["device"]:
        print("  %-8s %-11s %11d %6d %9.2f %8s" % (
            one["pattern"], one["io"], one["concurrency"], one["depth"],
            one["us"], one["price"] or ""))
    print_whole(run)
    print_scripts(run)
    print_plans(run)


def wrong_answers(run):
    """Plans whose answers differ are found by the tests."""
    return run["wrong"]


def expectations(run):
    lines = []
    label = "directions.%s." % run["corpus"]
    both = [whole_ms(run, series="skipidx", order=order, concurrency=1)
            for order in ("descending", "ascending")]
    if all(both):
        lines.append(expect(label + "backward_over_forward",
                            both[0] / both[1], 1.5, "", False))
    for name, cases in groups(run):
        name = label + name.replace(", ", "_").replace(" ", "_")
        known = name.endswith("known")
        lines.append(expect(name + "_near_best", share(cases, NEAR),
                            .98 if known else .9, "", True))
        lines.append(expect(name + "_worst", worst(cases),
                            3 if known else 10, "x", False))
    return lines


def plots(run):
    """Costs and times of the whole table: bars would say no more than the
    table; the curves are clients against transactions."""
    panels = []
    for script in SCRIPTS if run["scripts"] else ():
        curves = []
        for method in run["methods"]:
            for depth in run["depths"]:
                warm = of(run["scripts"], script=script, method=method,
                          depth=depth, cold=False)
                curves.append(("%s, %d" % (method, depth),
                               [one["clients"] for one in warm],
                               [one["tps"] for one in warm]))
        panels.append({"title": script, "x": "clients", "y": "transactions/s",
                       "ticks": [(n, str(n)) for n in run["clients"]],
                       "curves": curves})
    return [("", "rows in an order, by pgbench", panels)] if panels else []
