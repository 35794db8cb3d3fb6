#!/usr/bin/env python3
"""lookup.py measure FILE.json: measures how long it takes to look up all rows
with certain words, by each size of blocks and each method of reading, cold and
warm, beside GIN and RUM; keeps, prints and draws it; run_lookup.sh calls it.
lookup.py show FILE.json ...: prints and draws files again.
"""
import sys

from harness.plot import beside, draw
from harness.record import (available, begin, command_line, in_turns, keep, numbers,
                    of, option, print_machine, size_name, step)
from targets.boolean.show import expect, median
from harness.scan import (ENGINES, build, depth_of, load_docs, make_cold, methods,
                  pages_of, requests_of, run_queries, settings, sql)
from harness.words import frequencies, rare_sets, sample

BLOCKS = "8k 16k 32k 64k 128k 256k 512k 1M"
DENSE = "to & be & or & not"
PHRASE = "to <-> be <-> or <-> not <-> to <-> be"
SPARSE_SHARE = (0.0002, 0.005)     # of all rows, each word
SPARSE_SETS = 8
REPEATS = 5
PEERS = ("gin", "rum")
SUBJECT = "skipidx"
YARDSTICK = "shared_buffers"
COLD_FACTOR = 5.0
WARM_SHARE = 1.05
MB = 1 << 20


# ---- measuring ----

def build_all(run):
    """All indexes, and in run["series"] which of them is read how."""
    for engine in run["engines"]:
        blocks = run["blocks"] if engine == SUBJECT else [0]
        for block in blocks:
            index = "docs_%s" % engine + ("_%d" % block if block else "")
            step("build", index)
            size = build(index, engine, "WITH (block_size = '%dkB')" %
                         (block >> 10) if block else "")
            run["indexes"].append({"index": index, "bytes": size})
            for method in run["methods"] if engine == SUBJECT else [None]:
                run["series"].append({"engine": engine, "index": index,
                                      "block": block, "method": method})
    sql("CHECKPOINT")


def choose_queries(rows, corpus):
    """Generated text has no English words: there, the most frequent ones."""
    dense, phrase = DENSE, PHRASE
    if corpus == "generated":
        common = [word for word, _ in frequencies(rows).most_common(4)]
        dense, phrase = " & ".join(common), " <-> ".join(common[:2])
    sparse = rare_sets(rows, SPARSE_SHARE, SPARSE_SETS, int(option("SEED", 1)))
    queries = {"dense": [option("DENSE", dense)],
               "sparse": [" & ".join(words) for words in sparse],
               "phrase": [option("PHRASE", phrase)]}
    return {kind: queries[kind]
            for kind in option("KINDS", " ".join(queries)).split()}


def total(results):
    """Of several queries: sums."""
    return {key: round(sum(one[key] for one in results), 4)
            for key in results[0]}


def totals_of(repeated):
    """Only what is looked at of warm runs, to keep the file small."""
    totals = [total(one) for one in repeated]
    return {key: [one[key] for one in totals]
            for key in ("scan_ms", "query_ms", "matches")}


def measure(path):
    text, limit = option("TEXT", ""), numbers("LIMIT", "1G")[0]
    rounds = int(option("ROUNDS", 5))
    run = begin("lookup")
    run.update(corpus=option("CORPUS", ""), rounds=rounds, indexes=[],
               series=[], runs=[], blocks=numbers("BLOCKS", BLOCKS),
               engines=available(option("ENGINES", "gin rum skipidx").split(),
                                 ENGINES, sql))
    run["queries"] = choose_queries(sample(text, limit), run["corpus"])
    step("load")
    run["rows"] = load_docs(text, limit, run["engines"])
    run["server"] = sql("SHOW server_version")[0]
    run["settings"] = settings()
    if SUBJECT in run["engines"]:
        run["methods"] = methods()
        run["default_block"] = int(sql(
            "SELECT max(block_size) FROM skipidx_segments('tiny_skipidx_tsv')"
        )[0])
    build_all(run)
    for turn, series in in_turns(run["series"], rounds):
        if series is run["series"][0 if turn % 2 == 0 else -1]:
            step("round", turn + 1)
        for kind, queries in run["queries"].items():
            make_cold()
            first, again = run_queries(series["engine"], series["index"],
                                       series["method"], queries, REPEATS)
            run["runs"].append(dict(
                index=series["index"], method=series["method"], kind=kind,
                round=turn, cold=total(first),
                warm=totals_of(again)))
    keep(run, path, ("series", "indexes", "runs"))
    return show(run, path)


# ---- printing ----

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
    return {kind: sorted(counts) for kind, counts in found.items()
            if len(counts) > 1}


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


def plots(run, path):
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
    draw(beside(path), "index scan, %s" % run["corpus"], panels)


def show(run, path):
    """Returns whether all answers agree."""
    print()
    print_machine(run)
    print("corpus   %s: %d rows; skipidx %s, server %s; %d rounds, medians" % (
        run["corpus"], run["rows"], run["skipidx"], run["server"].split()[0],
        run["rounds"]))
    print("auto     is %s" % run["settings"]["auto"])
    for index in run["indexes"]:
        print("  %-22s %9.1f MB" % (index["index"], index["bytes"] / MB))
    for kind, queries in run["queries"].items():
        print("%-8s %s: %d rows" % (kind, "; ".join(queries), of(
            run["runs"], kind=kind)[0]["cold"]["matches"]))
    for kind in run["queries"]:
        print_times(run, "cold scan", kind, cold_of)
        print_work(run, kind)
        print_times(run, "warm scan", kind, warm_of)
        print_times(run, "cold query", kind,
                    lambda r, s, k: cold_of(r, s, k, "query_ms"))
    print()
    plots(run, path)
    print_best(run)
    wrong = wrong_answers(run)
    for kind, counts in wrong.items():
        print("WRONG %s: %s" % (kind, counts))
    for line in expectations(run):
        print(line)
    return not wrong


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
