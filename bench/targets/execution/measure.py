#!/usr/bin/env python3
"""execution.py measure FILE.json: measures how many rows with the words of "to
be or not to be" skipidx ranks in a second, when a search may take 150 ms, by
each size of blocks and each method of reading, cold and warm; keeps, prints and
draws it; run_execution.sh calls it.
execution.py show FILE.json ...: prints and draws files again.
"""
import json
import sys

from harness.plot import beside, draw
from harness.record import (begin, command_line, in_turns, keep, numbers, of, option,
                    print_machine, size_name, step)
from targets.boolean.show import expect, median
from harness.scan import (COUNTERS, build, difference, load_docs, make_cold,
                  matches_without, methods, outputs, settings, sql)
from harness.timing import course_of, create_procedures, result_of, scan_call
from harness.words import frequencies, sample

BLOCKS = "8k 32k 128k 1M"
BUDGET_MS = 150
GRACE_MS = 10              # by which a search may end after its deadline
WORDS = ("to", "be", "or", "not", "to", "be")
KINDS = {"and": " & ", "phrase": " <-> ", "or": " | "}
ROWS = {"all": None, "10": 10}
REPEATS = 5
STRATEGY = 3               # of `<@>`
SUBJECT = "skipidx"
MB = 1 << 20


# ---- measuring ----

def choose_queries(rows, corpus):
    """Generated text has no English words: there, the most frequent ones."""
    words = list(WORDS)
    if corpus == "generated":
        words = [word for word, _ in frequencies(rows).most_common(4)]
    kinds = option("KINDS", " ".join(KINDS)).split()
    return {kind: KINDS[kind].join(
        words if kind == "phrase" else dict.fromkeys(words)) for kind in kinds}


def build_all(run):
    for block in run["blocks"]:
        index = "docs_skipidx_%d" % block
        step("build", index)
        size = build(index, SUBJECT, "WITH (block_size = '%dkB')" %
                     (block >> 10))
        run["indexes"].append({"index": index, "block": block, "bytes": size})
    sql("CHECKPOINT")


def points(run):
    return [{"block": block, "method": method, "kind": kind, "rows": rows}
            for kind in run["queries"] for rows in run["ranked"]
            for block in run["blocks"] for method in run["methods"]]


def searches_of(query, index):
    return "SELECT %s, skipidx_query(%s, '%s')" % (
        ("'%s'::tsquery" % query,) * 2 + (index,))


def search_once(run, point):
    """A search in a new session, which has done what no reading is before, then
    the same again and again."""
    index = "docs_skipidx_%d" % point["block"]
    query = run["queries"][point["kind"]]
    wanted = ROWS[point["rows"]] or run["matches"][point["kind"]]
    before = ["LOAD 'skipidx'", "SET skipidx.io_method = '%s'" %
              point["method"], "SET skipidx.search_budget = %d" % BUDGET_MS,
              scan_call("tiny_skipidx_tsv", searches_of(
                  "a", "tiny_skipidx_tsv"), STRATEGY, 10, False,
                        course_of(1)), COUNTERS]
    searches = searches_of(query, index)
    out = outputs(
        *before, scan_call(index, searches, STRATEGY, wanted, False,
                           course_of(1, warm=False)), COUNTERS,
        scan_call(index, searches, STRATEGY, wanted, False,
                  course_of(REPEATS)))
    cold, after, warm = out[len(before):]
    cold, warm = result_of(cold), result_of(warm)
    cold["io"] = {key: value for key, value in difference(
        out[len(before) - 1], after).items() if value}
    return cold, warm


def flat(result):
    """Of the one search."""
    return dict(result["work"], us=result["us"][0], hits=result["hits"][0],
                **({"io": result["io"]} if "io" in result else {}))


def measure(path):
    text, limit = option("TEXT", ""), numbers("LIMIT", "1G")[0]
    rounds = int(option("ROUNDS", 3))
    run = begin("execution")
    run.update(corpus=option("CORPUS", ""), rounds=rounds, indexes=[], runs=[],
               budget_ms=BUDGET_MS, blocks=numbers("BLOCKS", BLOCKS),
               ranked=option("RANKED", " ".join(ROWS)).split())
    run["queries"] = choose_queries(sample(text, limit), run["corpus"])
    step("load", run["corpus"])
    run["rows"] = load_docs(text, limit, [SUBJECT])
    run["server"] = sql("SHOW server_version")[0]
    run["settings"] = settings()
    run["methods"] = methods()
    run["matches"] = dict(zip(run["queries"], matches_without(
        list(run["queries"].values()))))
    create_procedures()
    build_all(run)
    for turn, point in in_turns(points(run), rounds):
        make_cold()
        cold, warm = search_once(run, point)
        run["runs"].append(dict(point, round=turn, cold=flat(cold),
                                warm=flat(warm)))
        print("  %-7s %-4s %-7s %-15s cold %9.2f ms, %7d rows; warm %9.2f ms, "
              "%7d rows" % (
                  point["kind"], point["rows"], size_name(point["block"]),
                  point["method"], cold["us"][0] / 1e3, cold["hits"][0],
                  warm["us"][0] / 1e3, warm["hits"][0]), flush=True)
    keep(run, path, ("indexes", "runs"))
    return show(run, path)


# ---- figures ----

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


def wrong_answers(run):
    """Searches that gave fewer rows than they should have though they had the
    time."""
    return [(one, heat) for one in run["runs"] for heat in ("cold", "warm")
            if one[heat]["hits"] != min(ROWS[one["rows"]] or run["rows"],
                                        run["matches"][one["kind"]]) and
            (one[heat]["left"] == 0 and
             one[heat]["us"] < .9e3 * run["budget_ms"])]


def plots(run, path):
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
    draw(beside(path), "rows ranked within %d ms, %s" % (
        run["budget_ms"], run["corpus"]), panels)


def show(run, path):
    """Returns whether searches that had the time gave all rows."""
    print()
    print_machine(run)
    print("corpus   %s: %d rows; skipidx %s, server %s; %d rounds, medians; "
          "budget %d ms" % (
              run["corpus"], run["rows"], run["skipidx"],
              run["server"].split()[0], run["rounds"], run["budget_ms"]))
    print("auto     is %s" % run["settings"]["auto"])
    for kind, query in run["queries"].items():
        print("%-8s %s: %d rows" % (kind, query, run["matches"][kind]))
    print_tables(run)
    print_work(run)
    print()
    plots(run, path)
    wrong = wrong_answers(run)
    for one, heat in wrong:
        print("WRONG %s, %s: %s" % (heat, {
            key: one[key] for key in ("kind", "rows", "block", "method")},
                                    json.dumps(one[heat])))
    print(expect("execution.%s.slowest" % run["corpus"], slowest(run),
                 run["budget_ms"] + GRACE_MS, "ms", False))
    return not wrong


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
