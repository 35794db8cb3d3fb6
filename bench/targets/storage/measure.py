"""measure.py FILE: measures builds, cold and warm searches with
skipidx.io_method = shared_buffers, which leaves all to the server's storage
manager, beside other methods; see README.md beside it."""
import json

from harness.record import in_turns, keep, numbers, option, step
from harness.scan import make_cold, settings
from harness.server import build, load_docs, outputs, sql, version
from harness.words import queries_of_kinds, sample, text

INDEX = "docs_skipidx"
METHODS = "shared_buffers buffered auto"
TURNS = 31
CLOCK = "SELECT extract(epoch FROM clock_timestamp())"
EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
SEARCHES = {
    "best": "SELECT id FROM docs WHERE tsv @@ '{0}'"
            " ORDER BY tsv <@> '{0}' LIMIT 10",
    "count": "SELECT count(*) FROM docs WHERE tsv @@ '{0}'"}


def session_of(method):
    return ("LOAD 'skipidx'", "SET skipidx.io_method = '%s'" % method,
            "SET enable_seqscan = off",
            "SELECT count(*) FROM tiny_skipidx WHERE tsv @@ 'a'")


def build_once(method, workers):
    """Seconds of REINDEX, which makes a new file."""
    before = session_of(method) + (
        "SET maintenance_work_mem = '512MB'",
        "SET max_parallel_maintenance_workers = %d" % workers)
    out = outputs(*before, CLOCK, "REINDEX INDEX " + INDEX, CLOCK)
    return float(out[-1]) - float(out[-3])


def spent(text_of_plan):
    return json.loads(text_of_plan)[0]["Execution Time"]


def statements_of(queries):
    return [one.format(query) for one in SEARCHES.values()
            for query in queries]


def search_cold(method, queries):
    """ms of all queries of a new session, and what they count."""
    before = session_of(method)
    every = statements_of(queries)
    out = outputs(*before, *[EXPLAIN + one for one in every],
                  *[SEARCHES["count"].format(query) for query in queries])
    out = out[len(before):]
    return {"cold_ms": sum(map(spent, out[:len(every)])),
            "counts": [int(one) for one in out[len(every):]]}


def search_warm(methods, queries):
    """For each method a list of turns, each the ms of all statements.  One
    session has all turns, so that what disturbs one method disturbs the
    others, too; the first turn is not kept."""
    before = session_of(methods[0])
    every = statements_of(queries)
    order = [method for _, method in in_turns(methods, TURNS)]
    lines = [line for method in order for line in
             ["SET skipidx.io_method = '%s'" % method] +
             [EXPLAIN + one for one in every]]
    out = outputs(*before, *lines)[len(before):]
    kept = {method: [] for method in methods}
    for i, method in enumerate(order):
        turn = out[i * (len(every) + 1) + 1:][:len(every)]
        kept[method].append([spent(one) for one in turn])
    return {method: turns[1:] for method, turns in kept.items()}


def prepare(run):
    path, limit = text()
    run.update(builds=[], cold=[], warm=[], methods=option("METHODS", METHODS).split(),
               workers=numbers("WORKERS", "0 2"))
    queries = queries_of_kinds(sample(path, limit), run["corpus"])
    run["queries"] = {kind: queries[kind]
                      for kind in option("KINDS", " ".join(queries)).split()}
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, ["skipidx"])
    run["server"] = version()
    run["settings"] = settings()
    run["bytes"] = build(INDEX, "skipidx")
    sql("CHECKPOINT")


def measure(run):
    prepare(run)
    step("build")
    for turn, (method, workers) in in_turns(
            [(method, workers) for workers in run["workers"]
             for method in run["methods"]], run["rounds"]):
        seconds = build_once(method, workers)
        sql("CHECKPOINT")
        run["builds"].append({"method": method, "workers": workers,
                              "round": turn, "seconds": seconds})
        print("  %-15s %d workers %8.2f s" % (method, workers, seconds),
              flush=True)
    step("cold searches")
    for turn, (method, kind) in in_turns(
            [(method, kind) for kind in run["queries"]
             for method in run["methods"]], run["rounds"]):
        make_cold()
        run["cold"].append(dict(search_cold(method, run["queries"][kind]),
                                method=method, kind=kind, round=turn))
    step("warm searches")
    for kind in run["queries"]:
        found = search_warm(run["methods"], run["queries"][kind])
        run["warm"] += [{"method": method, "kind": kind, "ms": turns}
                        for method, turns in found.items()]


if __name__ == "__main__":
    keep(measure, "storage", rounds=5)
