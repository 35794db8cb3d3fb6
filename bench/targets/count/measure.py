"""measure.py FILE: measures count(*) of what matches, by skipidx without and
with a look at the rows, and by GIN; see README.md beside it."""
import json
import random

from harness.levels import fill_levels, names
from harness.record import in_turns, keep, option, step
from harness.searches import (KINDS, compare_hits, make_searches, read_lines,
                              searches_of)
from harness.server import (build, engines_wanted, load_docs, only, outputs,
                            sql, version)
from harness.timing import (course_of, create_procedures, literal, nodes_of,
                            time_statement)
from harness.words import text
from targets.count.show import ROWS, SERIES, SUBJECT

REPETITIONS = 5
SECONDS = 10
COUNTED = "SELECT count(*) FROM docs WHERE tsv @@ %s"
# Those that are compared with get all the help that their plans need.
HELP = ["SET enable_seqscan = off", "SET work_mem = '256MB'"]


def session_of(series):
    """Plans are made with the words known, within the time."""
    return (["SET plan_cache_mode = force_custom_plan"] +
            (HELP if series != SUBJECT else []) +
            (["SET skipidx.enable_count = off"] if series == ROWS else []))


def plan_of(entry):
    query = sql(searches_of(entry["kind"]) + " LIMIT 1")[0]
    before = session_of(entry["series"])
    out = outputs(*before, "EXPLAIN (FORMAT JSON) " +
                  COUNTED % literal(query))[-1]
    return nodes_of(json.loads(out)[0]["Plan"])


def measure_entry(run, turn, entry):
    sql(only("docs_" + SERIES[entry["series"]]))
    if turn == 0:
        run["plans"].append(dict(entry, nodes=plan_of(entry)))
    course = (course_of(REPETITIONS) if entry["series"] == SUBJECT else
              course_of(2, seconds=run["seconds"] / 3))
    result = time_statement(COUNTED % "$1", searches_of(entry["kind"]),
                            course, session_of(entry["series"]))
    known = run["found"].setdefault(entry["kind"], {})
    run["wrong"] += [dict(entry, query=number, rows=rows) for number, rows in
                     compare_hits(known, dict(enumerate(result["hits"])))]
    n = len(result["us"])
    run["times"].append(dict(entry, round=turn, us=result["us"],
                             queries=list(range(n))))
    run["matches"].setdefault(entry["kind"], sum(result["hits"]) // n)
    print("  %-8s %-16s %5d queries, median %10.1f us" % (
        entry["kind"], entry["series"], n, sorted(result["us"])[n // 2]),
          flush=True)


def prepare(run):
    path, limit = text()
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, run["engines"])
    run["server"] = version()
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    make_searches(lines, int(option("QUERIES", 200)))
    create_procedures()
    for engine in run["engines"]:
        step("build", engine)
        run["indexes"].append({"index": "docs_" + engine,
                               "bytes": build("docs_" + engine, engine)})
    fill_levels("docs_skipidx", run["rows"])
    sql("VACUUM ANALYZE docs")
    sql("CHECKPOINT")


def measure(run):
    run.update(engines=engines_wanted("gin skipidx"), indexes=[], times=[],
               plans=[], wrong=[], found={}, matches={},
               repetitions=REPETITIONS, kinds=names() + [k[0] for k in KINDS],
               seconds=float(option("SECONDS", SECONDS)))
    run["series"] = [series for series, engine in SERIES.items()
                     if engine in run["engines"]]
    prepare(run)
    step("counts")
    entries = [{"kind": kind, "series": series} for kind in run["kinds"]
               for series in run["series"]]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "count")
