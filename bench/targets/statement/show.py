"""show.py: prints what bench-statement has measured; imported by report.py,
and by measure.py for its classes, protocols and the queries of a class."""
from harness.report_base import (MB, expect, median, of, print_head, quantile)
from targets.statement.statements import (CLASSES, FIRST, PEER, PLANNED,
                                          SUBJECT, YARDSTICK)

PROTOCOLS = ("simple", "prepared")
CLIENTS = "1 4"
RARE_SHARE = .0005         # of all rows, the rarest word of a rare query
PEER_FACTOR = {"simple": 2.0, "prepared": 3.0}
RARE_RATIO, WORST_RATIO = 1.0, 1.15
PLANNING_RATIO, SMALL_RATIO, OTHER_PERCENT = 1.6, 1.25, 1.0
FIRST_MS = 1.2
PARTS = ("planning", "ends", "search", "rows")


# ---- figures ----

def places_of(run, name):
    """Numbers of the queries of a class, in the order they are run."""
    return [number for number, one in enumerate(run["queries"])
            if name != "phrase" or one["neighbours"]]


def figures_of(run, entry):
    """Of an entry in times: by query, the least of one client's times, the
    median of several clients'."""
    places, clients = places_of(run, entry["class"]), len(entry["us"])
    found = {}
    for client, times in enumerate(entry["us"]):
        first = entry["n"] * client // clients
        for i, us in enumerate(times):
            found.setdefault(places[(first + i) % entry["n"]], []).append(us)
    return {place: min(us) if clients == 1 else median(us)
            for place, us in found.items()}


def rounds_of(run, **wanted):
    """By query, its figures in the rounds, of queries that each round had."""
    found = [figures_of(run, one) for one in of(run["times"], **wanted)]
    if not found:
        return {}
    return {place: [one[place] for one in found] for place in found[0]
            if all(place in one for one in found)}


def figures(run, **wanted):
    return {place: median(us) for place, us in
            rounds_of(run, **wanted).items()}


def is_rare(run, place):
    return run["queries"][place]["rarest"] <= run["rare_rows"]


def ratio_of_medians(run, other, keep=None, **wanted):
    """The other engine's median over skipidx's, of queries that both ran."""
    mine = figures(run, engine=SUBJECT, **wanted)
    its = figures(run, engine=other, **wanted)
    same = [place for place in mine if place in its and
            (keep is None or keep(place))]
    if not same:
        return None
    return (median([its[place] for place in same]) /
            median([mine[place] for place in same]))


def ratios_to_gin(run, **wanted):
    """By query, skipidx's time over GIN's in each round."""
    mine = rounds_of(run, engine=SUBJECT, **wanted)
    its = rounds_of(run, engine=YARDSTICK, **wanted)
    return {place: [a / b for a, b in zip(mine[place], its[place])]
            for place in mine if place in its}


def rare_ratio(run, **wanted):
    """The median of all rare queries', or None."""
    ratios = [median(rounds) for place, rounds in
              ratios_to_gin(run, **wanted).items() if is_rare(run, place)]
    return median(ratios) if ratios else None


def worst_ratio(run, **wanted):
    """Of a query, the least of the rounds: what it is in each of them."""
    least = [min(rounds) for rounds in ratios_to_gin(run, **wanted).values()]
    return max(least) if least else None


def all_times(entries):
    return [us for one in entries for times in one["us"] for us in times]


def small_ratio(run):
    ratios = [median(all_times(of(run["small"], engine=SUBJECT, round=turn))) /
              median(all_times(of(run["small"], engine=YARDSTICK, round=turn)))
              for turn in range(run["rounds"])
              if of(run["small"], engine=SUBJECT, round=turn)]
    return median(ratios) if ratios else None


def planning_of(run, statement, engine):
    """By query, instructions without those of the parser."""
    return {one["query"]: one["instructions"] - one["parser"]
            for one in of(run["planning"], statement=statement, engine=engine)}


def planning_ratios(run, statement):
    gin = planning_of(run, "match", YARDSTICK)
    return [found / gin[query] for query, found in
            planning_of(run, statement, SUBJECT).items() if query in gin]


def wrong_answers(run):
    return ["%s by %s%s: %s" % (
        one["class"], one["engine"], "" if one["query"] is None else
        ", " + run["queries"][one["query"]]["words"],
        " or ".join(str(found) for found in one["found"]))
            for one in run["wrong"]]


# ---- tables ----

def print_searches(run, protocol, clients):
    wanted = {"protocol": protocol, "clients": clients}
    print("\n%-12s" % ("%s, %d" % (protocol, clients)) + "".join(
        "%-34s" % ("%12s %s" % ("p50", engine)) for engine in run["engines"]))
    for name in run["classes"]:
        line = "  %-10s" % name
        for engine in run["engines"]:
            us = list(figures(run, engine=engine, **{"class": name},
                              **wanted).values())
            if not us:
                line += "%-34s" % ("%12s" % "-")
                continue
            ratio = (None if engine == SUBJECT else ratio_of_medians(
                run, engine, **{"class": name}, **wanted))
            cell = "%12.1f %10.1f (%3d)" % (median(us), quantile(us, .99),
                                            len(us))
            line += "%-34s" % (cell + (" %5.1fx" % ratio if ratio else ""))
        print(line.rstrip())


def print_rare(run):
    print("\nskipidx over GIN, by query%s%-20s%-20s" % (
        " " * 6, "median, rare words", "worst of all rounds"))
    for protocol in run["protocols"]:
        for name in run["classes"]:
            wanted = {"class": name, "protocol": protocol, "clients": 1}
            ratios = ratios_to_gin(run, **wanted)
            if not ratios:
                continue
            rare = rare_ratio(run, **wanted)
            above = sum(min(rounds) > WORST_RATIO
                        for rounds in ratios.values())
            print("  %-10s %-18s %8s %20.2f, %d of %d above %.2f" % (
                name, protocol, "-" if rare is None else "%.2f" % rare,
                worst_ratio(run, **wanted), above, len(ratios), WORST_RATIO))


def print_parts(run):
    print("\nus of parts, medians%-9s" % "" + "".join(
        "%10s" % one for one in PARTS + ("socket", "rest")))
    for name in run["classes"]:
        for engine in run["engines"]:
            found = of(run["parts"], **{"class": name}, engine=engine)
            if not found:
                continue
            parts = [median([one[part] for one in found]) for part in PARTS]
            socket = median(all_times(of(run["socket"], engine=engine,
                                         protocol="simple", clients=1)))
            whole = figures(run, engine=engine, protocol="simple", clients=1,
                            **{"class": name})
            rests = [whole[one["query"]] - sum(one[part] for part in PARTS)
                     for one in found if one["query"] in whole]
            rest = median(rests) - socket if rests else 0
            print("  %-10s %-16s" % (name, engine) + "".join(
                "%10.1f" % us for us in parts + [socket, rest]))


def print_entries(title, entries, keys, engines):
    """us of entries that have `keys`, a column an engine."""
    if not entries:
        return
    print("\n%-24s" % title + "".join("%16s" % one for one in engines))
    for kind in dict.fromkeys(tuple(one[key] for key in keys)
                              for one in entries):
        line = "  %-22s" % ", ".join(str(one) for one in kind)
        for engine in engines:
            us = all_times(of(entries, engine=engine,
                              **dict(zip(keys, kind))))
            line += "%16s" % ("%.1f" % median(us) if us else "-")
        print(line)


def print_planning(run):
    print("\ninstructions of planning, the parser's apart; least and most of"
          " queries")
    for statement, engine in dict.fromkeys(
            (one["statement"], one["engine"]) for one in run["planning"]):
        found = planning_of(run, statement, engine).values()
        parser = [one["parser"] for one in of(
            run["planning"], statement=statement, engine=engine)]
        ratios = (planning_ratios(run, statement) if engine == SUBJECT and
                  statement in PLANNED else [])
        print("  %-14s %-14s %9d to %9d, parser %9d to %9d%s" % (
            statement, engine, min(found), max(found), min(parser),
            max(parser), ", %.2f to %.2f of GIN's" % (
                min(ratios), max(ratios)) if ratios else ""))


def tables(run):
    print_head(run, "%d queries, rare: at most %d rows" % (
        len(run["queries"]), run["rare_rows"]))
    if PEER not in run["engines"]:
        print("         without " + PEER)
    print("\n%-16s %9s %9s" % ("build", "seconds", "size MB"))
    for one in run["builds"]:
        print("  %-14s %9.2f %9.1f" % (one["engine"], one["seconds"],
                                       one["bytes"] / MB))
    for clients in run["clients"]:
        for protocol in run["protocols"]:
            print_searches(run, protocol, clients)
    print_rare(run)
    print_parts(run)
    print_entries("SELECT 1, us", run["socket"], ("protocol", "clients"),
                  run["engines"])
    print_entries("first statement, us", run["first"], ("statement",),
                  run["engines"])
    print_entries("insert, us", run["inserts"], ("protocol", "clients"),
                  run["engines"])
    if run["small"]:
        print_entries("100 rows, us", [dict(one, what="a word")
                                       for one in run["small"]],
                      ("what",), run["engines"])
    print_planning(run)
    print("\nplans of %d statements at most" % 40)
    for one in run["plans"]:
        for nodes, number in one["plans"].items():
            print("  %-10s %-14s %4d %s" % (one["class"], one["engine"],
                                            number, nodes))


# ---- expectations ----

def expect_searches(run):
    found = []
    for protocol in run["protocols"]:
        one = {"protocol": protocol, "clients": 1}
        ratio = ratio_of_medians(run, PEER, **{"class": "box"}, **one)
        found.append(("box_%s_vs_%s" % (protocol, PEER), ratio,
                      PEER_FACTOR[protocol], "x", True))
        for name in run["classes"]:
            found.append(("%s_%s_rare_vs_gin" % (name, protocol), rare_ratio(
                run, **{"class": name}, **one), RARE_RATIO, "x", False))
        worst = [worst_ratio(run, **{"class": name}, **one)
                 for name in run["classes"]]
        found.append(("%s_worst_vs_gin" % protocol, max(
            [ratio for ratio in worst if ratio], default=None), WORST_RATIO,
            "x", False))
    return found


def expect_planning(run):
    found = [("planning_" + statement, max(planning_ratios(run, statement),
                                           default=None), PLANNING_RATIO, "x",
              False) for statement in PLANNED]
    alone, loaded = (planning_of(run, name, SUBJECT).get(0)
                     for name in ("other", "other_loaded"))
    if alone and loaded:
        found.append(("planning_other_tables", 100 * (loaded / alone - 1),
                      OTHER_PERCENT, "%", False))
    return found


def expectations(run):
    found = expect_searches(run) + expect_planning(run)
    found.append(("small_vs_gin", small_ratio(run), SMALL_RATIO, "x", False))
    for name in FIRST:
        us = all_times(of(run["first"], statement=name, engine=SUBJECT))
        found.append(("first_" + name, median(us) / 1000 if us else None,
                      FIRST_MS, "ms", False))
    return [expect("statement.%s.%s" % (run["corpus"], name), measured,
                   wanted, unit, at_least)
            for name, measured, wanted, unit, at_least in found
            if measured is not None]


def plots(run):
    """The tables say it all."""
    return []
