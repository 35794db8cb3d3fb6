"""show.py: prints and draws what bench-execution has measured; imported by
report.py."""
import json

from harness.report_base import (MB, expect, median, of, print_head,
                                 size_name)

GRACE_MS = 10              # by which a search may end after its deadline
ROWS = {"all": None, "10": 10}


def ranked_by(run, one, heat):
    """How many rows a search has ranked: those it gave when all were asked
    for; else all those that match and were reached, since no other can be
    among the best."""
    result = one[heat]
    if one["rows"] == "all":
        return result["hits"]
    return run["matches"][one["kind"]] * (1 - result["left"])


def rate(run, heat, **wanted):
    """Thousands of rows ranked in a second."""
    return median([ranked_by(run, one, heat) / one[heat]["us"] * 1e3
                   for one in of(run["runs"], **wanted)])


def millis(run, heat, **wanted):
    return median([one[heat]["us"] for one in of(run["runs"], **wanted)]) / 1e3


def share(run, heat, **wanted):
    """Of the rows that match, how many were ranked, in percent."""
    return median([100 * ranked_by(run, one, heat) /
                   max(run["matches"][one["kind"]], 1)
                   for one in of(run["runs"], **wanted)])


def cell(run, heat, **wanted):
    part = share(run, heat, **wanted)
    figure = rate(run, heat, **wanted)
    return "%8.*f %7.2f%s" % (figure < 100, figure,
                              millis(run, heat, **wanted),
                              "     " if part > 99.95 else "%4.0f%%" % part)


def print_tables(run):
    for kind in run["queries"]:
        for rows in run["ranked"]:
            for heat in ("cold", "warm"):
                print("\n%s, %s, %s: 1000 rows/s, ms, ranked if not all\n%-10s"
                      % (kind, "all in order" if rows == "all" else
                         "best " + rows, heat, "") +
                      "".join("%21s" % one for one in run["methods"]))
                for block in run["blocks"]:
                    print("  %-8s" % size_name(block) + "".join(
                        cell(run, heat, kind=kind, rows=rows, block=block,
                             method=method) for method in run["methods"]))


def print_work(run):
    """The same whatever the method is."""
    print("\n%-24s %8s %10s %10s %10s %10s %10s %8s" % (
        "warm, work of a search", "passes", "scored", "candidates",
        "positions", "cold MB", "requests", "left"))
    for kind in run["queries"]:
        for rows in run["ranked"]:
            for block in run["blocks"]:
                found = of(run["runs"], kind=kind, rows=rows, block=block,
                           method=run["methods"][-1])
                io = [one["cold"]["io"] for one in found]
                warm = [one["warm"] for one in found]
                print("  %-7s %-4s %-9s" % (kind, rows, size_name(block)) +
                      " %8.0f %10.0f %10.0f %10.0f %10.1f %10.0f %7.1f%%" % (
                          *(median([one[field] for one in warm]) for field in
                            ("passes", "scored", "candidates", "proximity")),
                          median([one.get("device_bytes", 0)
                                  for one in io]) / MB,
                          median([one.get("requests", 0) for one in io]),
                          100 * median([one["left"] for one in warm])))


def slowest(run):
    return max(one[heat]["us"] for one in run["runs"]
               for heat in ("cold", "warm")) / 1e3


def is_short(run, one, heat):
    """Whether a search gave fewer rows than it should have though it had the
    time."""
    result = one[heat]
    wanted = min(ROWS[one["rows"]] or run["rows"], run["matches"][one["kind"]])
    return (result["hits"] != wanted and result["left"] == 0 and
            result["us"] < .9e3 * run["budget_ms"])


def wrong_answers(run):
    return ["%s, %s: %s" % (heat, {
        key: one[key] for key in ("kind", "rows", "block", "method")},
                            json.dumps(one[heat]))
            for one in run["runs"] for heat in ("cold", "warm")
            if is_short(run, one, heat)]


def expectations(run):
    return [expect("execution.%s.slowest" % run["corpus"], slowest(run),
                   run["budget_ms"] + GRACE_MS, "ms", False)]


def plots(run):
    panels = []
    for kind in run["queries"]:
        for heat in ("cold", "warm"):
            panels.append({
                "title": "%s, %s" % (kind, heat), "x": "block",
                "y": "1000 rows/s",
                "ticks": [(b, size_name(b)) for b in run["blocks"]],
                "curves": [(method, run["blocks"], [
                    max(rate(run, heat, kind=kind, rows=run["ranked"][0],
                             block=block, method=method), .001)
                    for block in run["blocks"]])
                    for method in run["methods"]]})
    return [("", "rows ranked within %d ms, %s" % (
        run["budget_ms"], run["corpus"]), panels)]


def tables(run):
    print_head(run, "budget %d ms" % run["budget_ms"])
    print("auto     is %s" % run["settings"]["auto"])
    for kind, query in run["queries"].items():
        print("%-8s %s: %d rows" % (kind, query, run["matches"][kind]))
    print_tables(run)
    print_work(run)
