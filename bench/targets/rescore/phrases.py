"""phrases.py: the server's part of bench-rescore: phrase queries with about so
many rows that have both words, whose positions have to be read; imported by
measure.py."""
import math

from harness.record import in_turns, option, step
from harness.scan import (depth_of, make_cold, methods, pages_of, requests_of,
                          run_queries, settings)
from harness.server import build, load_docs, outputs, sql, version
from harness.words import pairs, sample, text

INDEX = "docs_skipidx"
TRIED = 150            # pairs for each number of candidates
NEAR = 1.5             # a pair has so many candidates, within this factor


def count_candidates(found):
    """How many rows have both words of each pair."""
    counts = outputs(*["SELECT count(*) FROM docs WHERE tsv @@ '%s & %s'"
                       % pair for pair in found])
    return {pair: int(count) for pair, count in zip(found, counts)}


def choose_phrases(run):
    """Loads and indexes the text; for each number of candidates, the pairs
    nearest to it, with their own numbers."""
    path, limit = text()
    rows = sample(path, limit)
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, ["skipidx"])
    run["server"] = version()
    run["settings"] = settings()
    run["methods"] = methods()
    run["index_bytes"] = build(INDEX, "skipidx")
    sql("CHECKPOINT")
    step("choose phrases")
    chosen = {}
    for wanted in run["candidates"]:
        counts = count_candidates(pairs(rows, run["rows"], wanted, TRIED,
                                        int(option("SEED", 1))))
        near = [pair for pair, count in counts.items()
                if wanted / NEAR <= count <= wanted * NEAR]
        near.sort(key=lambda pair: abs(math.log(counts[pair] / wanted)))
        chosen[wanted] = [(pair, counts[pair])
                          for pair in near[:int(option("PAIRS", 8))]]
        print("  %d: %s" % (wanted, ", ".join(
            "%s %s (%d)" % (*pair, count) for pair, count in chosen[wanted])))
    return chosen


def measure_server(run, chosen):
    series = [(method, wanted) for wanted in chosen if chosen[wanted]
              for method in run["methods"]]
    for turn, (method, wanted) in in_turns(series, run["rounds"]):
        step("server, round %d, %d candidates, %s" % (turn + 1, wanted,
                                                      method))
        make_cold()
        results, _ = run_queries(
            "skipidx", INDEX, method,
            ["%s <-> %s" % pair for pair, _ in chosen[wanted]], 0)
        run["phrases"].append({
            "method": method, "candidates": wanted, "round": turn,
            "queries": [{
                "words": " ".join(pair), "candidates": count,
                "scan_ms": one["scan_ms"], "query_ms": one["query_ms"],
                "matches": one["matches"], "pages": pages_of(one),
                "requests": requests_of(one), "depth": depth_of(one),
                "ahead": one.get("ahead", 0), "waits": one.get("waits", 0)}
                for (pair, count), one in zip(chosen[wanted], results)]})
