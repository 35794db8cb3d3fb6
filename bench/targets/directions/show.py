"""show.py: prints what bench-directions has measured; imported by report.py,
and by measure.py for its names of scripts."""
from harness.report_base import MB, expect, median, of, print_head

SCRIPTS = ("forward", "backward", "forward_sort", "keyset", "rank", "filter")
CONCURRENCIES = (0, 1)    # of effective_io_concurrency
NEAR = 1.2                # as fast as the best plan, but for noise
FLOOR_MS = 0.05           # and this much, which a clock and a cache decide
CLOSE = 4.0               # an estimate that is good enough to plan by
DRAW = 1.2                # costs that tell two plans hardly apart
DIFFERENT = 2.0           # rows looked at, pages read
# Beside the plans that can be chosen: their engines.
PEER_PLANS = {"gin + sort": "gin", "rum": "rum"}


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

def scripts_of(run):
    """Files of before there were other series are of skipidx."""
    return [dict({"series": "skipidx"}, **one) for one in run["scripts"]]


def by_clients(found, field, clients, form):
    """A cell for each number of clients, in the order of `clients`."""
    values = {one["clients"]: one[field] for one in found}
    return "".join(form % values[n] if n in values else "%10s" % "-"
                   for n in clients)


def print_scripts(run):
    scripts = scripts_of(run)
    if not scripts:
        return
    cold = sorted({one["clients"] for one in of(scripts, cold=True)})
    print("\n%-14s %-8s %-13s %5s" % ("pgbench", "", "method", "depth") +
          "".join("%10s" % ("cold ms %d" % n) for n in cold) +
          "".join("%10s" % ("tps %d" % n) for n in run["clients"]) +
          "".join("%10s" % ("ms %d" % n) for n in run["clients"]))
    entries = [{key: one[key] for key in ("script", "series", "method",
                                          "depth")} for one in scripts]
    shown = []
    for entry in sorted(entries, key=lambda one: (
            SCRIPTS.index(one["script"]), one["series"] != "skipidx")):
        if entry in shown:
            continue
        shown.append(entry)
        warm = of(scripts, cold=False, **entry)
        print("  %-12s %-8s %-13s %5s" % (
            entry["script"], entry["series"], entry["method"],
            entry["depth"] or "") +
              by_clients(of(scripts, cold=True, **entry), "ms", cold,
                         "%10.2f") +
              by_clients(warm, "tps", run["clients"], "%10.0f") +
              by_clients(warm, "ms", run["clients"], "%10.3f"))


# ---- plans ----

def choices(case):
    """Times of the plans that can be chosen."""
    return [one for one in case["times"] if one["plan"] not in PEER_PLANS]


def chosen_of(case):
    """None: it timed out."""
    return next(iter(of(case["times"], plan="chosen")), None)


def best_of(case):
    return min(choices(case), key=lambda one: one["ms"], default=None)


def chosen_and_best(case):
    """Times of the plan that was chosen and of the fastest; of the same nodes
    the least time counts, whoever asked for them."""
    least = {}
    for one in choices(case):
        least[one["nodes"]] = min(one["ms"], least.get(one["nodes"], one["ms"]))
    chosen = chosen_of(case)
    if chosen is None:
        return None
    return least[chosen["nodes"]], min(least.values())


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


# ---- why a plan was not the best ----

def unlike(one, other):
    low, high = sorted((max(one, 1), max(other, 1)))
    return high > DIFFERENT * low


def again_near(loss):
    """Whether a second measurement found no loss."""
    again = loss["again"]
    return len(again) == 2 and None not in again and (
        again[0] - FLOOR_MS <= NEAR * again[1])


def reason_of_costs(case, chosen, best):
    """Of plans whose rows are known: the first that differs of what is
    priced."""
    loss = case.get("loss")
    if loss and again_near(loss):
        return "near when measured again"
    if best["cost"] <= chosen["cost"]:
        return "the best plan costs less, but was not offered"
    if best["cost"] <= DRAW * chosen["cost"]:
        return "costs nearly equal"
    if not case["cold"] and loss and loss["free"][1] < loss["free"][0]:
        return "cached share: reads were charged that were none"
    if case["cold"] and unlike(chosen["read"], best["read"]):
        return "cached share: reads were not charged"
    if unlike(chosen["looked_at"], best["looked_at"]):
        return ("price of look-ups: too low"
                if chosen["looked_at"] > best["looked_at"]
                else "price of look-ups: too high")
    if ("Sort" in chosen["nodes"]) != ("Sort" in best["nodes"]):
        return "price of sorting"
    return "price of the index's own work"


def reason(case):
    """A class, computed from what EXPLAIN told of both plans."""
    chosen, best = chosen_of(case), best_of(case)
    if chosen is None:
        return "the chosen plan timed out"
    if not is_close(case):
        return "rows: off by more than %d times" % CLOSE
    if "looked_at" not in chosen or "looked_at" not in best:
        return "not known: an older file"
    return reason_of_costs(case, chosen, best)


def lost_cases(run):
    return sorted((one for one in run["plans"] if ratio(one) > NEAR),
                  key=ratio, reverse=True)


def print_reasons(run):
    counts = {}
    for case in lost_cases(run):
        key = ("cold" if case["cold"] else "warm", reason(case))
        counts[key] = counts.get(key, 0) + 1
    if counts:
        print("\nlosses by reason")
    for (state, why), count in sorted(counts.items(), key=lambda one:
                                      -one[1]):
        print("  %-4s %4d  %s" % (state, count, why))


def describe(case):
    best = best_of(case) or {"plan": "none", "ms": 0}
    chosen = chosen_of(case) or {"nodes": "timed out", "ms": 0}
    return "%5.1fx %8.2f ms %s; %8.2f %s: %s%s ORDER BY %s LIMIT %s, %s, %d" \
        " of %d rows" % (
            ratio(case), chosen["ms"], chosen["nodes"], best["ms"],
            best["plan"], case["words"], case["where"], case["order"],
            case["limit"], case["method"], case["expected"], case["matches"])


def print_peers(run):
    """What others take for the same cases; their plans are no choice."""
    shown = False
    for cold in (False, True):
        cases = [(one, chosen_of(one)) for one in of(run["plans"], cold=cold)]
        cases = [(case, ours) for case, ours in cases if ours is not None]
        for name in list(PEER_PLANS) + ["btree"]:
            pairs = [(ours, theirs) for case, ours in cases
                     for theirs in of(case["times"], plan=name)]
            if not pairs:
                continue
            if not shown:
                print("\n%-20s %6s %14s %14s %12s %12s" % (
                    "beside the chosen", "cases", "median ratio", "all, ratio",
                    "slower", "other rows"))
            shown = True
            print("  %-18s %6d %13.2fx %13.2fx %10.1f %% %12d" % (
                ("cold, " if cold else "warm, ") + name, len(pairs),
                median([theirs["ms"] / ours["ms"] for ours, theirs in pairs]),
                sum(theirs["ms"] for _, theirs in pairs) /
                sum(ours["ms"] for ours, _ in pairs),
                100 * sum(theirs["ms"] > ours["ms"] for ours, theirs in pairs)
                / len(pairs), sum(theirs.get("found") != ours.get("found")
                                  for ours, theirs in pairs)))


def print_plans(run):
    if not run["plans"]:
        return
    print("\n%-20s %6s %12s %10s %10s %10s" % (
        "plans", "cases", "near best", "in 3x", "in 10x", "worst"))
    for name, cases in groups(run):
        print("  %-18s %6d %11.1f%% %9.1f%% %9.1f%% %9.1fx" % (
            name, len(cases), 100 * share(cases, NEAR), 100 * share(cases, 3),
            100 * share(cases, 10), worst(cases)))
    for line in run.get("installed", ()):
        print("  prices: " + line)
    print_peers(run)
    print_reasons(run)
    print()
    for case in lost_cases(run):
        print("  %s%s [%s]" % ("cold " if case["cold"] else "",
                               describe(case), reason(case)))


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


def whole_panel(run):
    """What a scan of the whole table takes, and what the planner expects of
    it before and after calibration, where the cost of a btree forward is what
    that takes."""
    scans = [one for one in run["whole"] if not one["round"]]
    places = [2 ** i for i in range(len(scans))]
    times = [whole_ms(run, series=one["series"], order=one["order"],
                      concurrency=one["concurrency"]) for one in scans]
    unit = {one["concurrency"]: ms / one["cost"]
            for one, ms in zip(scans, times)
            if (one["series"], one["order"]) == ("btree", "ascending")}
    return {"title": "whole table of %d pages, cold" % run["wide"],
            "x": "scan, effective_io_concurrency", "y": "ms",
            "ticks": [(x, "%s %s %d" % (one["series"], one["order"][:4],
                                        one["concurrency"]))
                      for x, one in zip(places, scans)],
            "curves": [("measured", places, times)] + [
                (label, places, [one[field] * unit[one["concurrency"]]
                                 for one in scans])
                for label, field in (("expected", "cost"),
                                     ("expected, calibrated", "calibrated"))]}


def plots(run):
    panels = [whole_panel(run)] if run["whole"] else []
    scripts = scripts_of(run)
    for script in SCRIPTS if scripts else ():
        warm = of(scripts, script=script, cold=False)
        names = dict.fromkeys((one["series"], one["method"], one["depth"])
                              for one in warm)
        curves = []
        for series, method, depth in names:
            found = of(warm, series=series, method=method, depth=depth)
            curves.append(("%s, %d" % (method, depth) if method else series,
                           [one["clients"] for one in found],
                           [one["tps"] for one in found]))
        panels.append({"title": script, "x": "clients", "y": "transactions/s",
                       "ticks": [(n, str(n)) for n in run["clients"]],
                       "curves": curves})
    return [("", "rows in an order: a whole table, and by pgbench", panels)] if (
        panels) else []
