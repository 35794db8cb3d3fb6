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
REPEATS = 5
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


def search(method, queries):
    """ms of all queries of a session: the first time, each further time but
    one; and what they count."""
    before = session_of(method)
    every = [one.format(query) for one in SEARCHES.values()
             for query in queries]
    out = outputs(*before, *[EXPLAIN + one for one in every] * (2 + REPEATS),
                  *[SEARCHES["count"].format(query) for query in queries])
    plans = out[len(before):len(out) - len(queries)]
    times = [sum(map(spent, plans[i:i + len(every)]))
             for i in range(0, len(plans), len(every))]
    return {"cold_ms": times[0], "warm_ms": times[2:],
            "counts": [int(one) for one in out[len(out) - len(queries):]]}


def prepare(run):
    path, limit = text()
    run.update(builds=[], runs=[], methods=option("METHODS", METHODS).split(),
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
    step("search")
    for turn, (method, kind) in in_turns(
            [(method, kind) for kind in run["queries"]
             for method in run["methods"]], run["rounds"]):
        make_cold()
        run["runs"].append(dict(search(method, run["queries"][kind]),
                                method=method, kind=kind, round=turn))


if __name__ == "__main__":
    keep(measure, "storage", rounds=5)
