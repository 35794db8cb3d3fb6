"""measure.py FILE: measures the commonest values of columns among the rows that
match, by skipidx with and without a look at the rows, and by GIN; see README.md
beside it."""
import json

from harness.levels import fill_levels, names
from harness.record import in_turns, keep, option, step
from harness.searches import compare_hits, searches_of
from harness.server import (COLUMNS_SQL, engines_wanted, load_docs,
                            measured_build, only, outputs, run_file, sql,
                            version)
from harness.timing import (course_of, create_procedures, literal, nodes_of,
                            time_statement)
from harness.words import text
from targets.facets.show import (GROUPED, ROWS, SCALARS, SERIES, SUBJECT,
                                 TASKS, measured)

REPETITIONS = 5
SECONDS = 6
DRAWN = (", zipf(1000, id, 1) AS tenant"
         ", 'c' || 1 + floor(drawn(id, 2) * 20)::int AS category"
         ", level_of(drawn(id, 3)) AS level"
         ", (1980 + floor(drawn(id, 5) * 40))::int2 AS year"
         ", drawn(id, 6) < .7 AS flag"
         ", several(5000, id, 4) AS tags")
CLAUSES = {"skipidx": "skipidx (tsv, %s, tags)" % ", ".join(SCALARS),
           "gin": "gin (tsv)"}
# Those that are compared with get all the help that their plans need.
HELP = ["SET enable_seqscan = off", "SET work_mem = '256MB'"]


def statement_of(entry, query="$1"):
    """The sum of the counts of the 10 commonest values of each column."""
    columns = TASKS[entry["task"]][0]
    if entry["series"] == SUBJECT:
        return ("SELECT sum(count)::bigint FROM skipidx_facets("
                "'docs_skipidx', %s, '{%s}'::text[], 10)" % (
                    query, ",".join(columns)))
    if columns == ("tags",):
        one = ("SELECT count(*) AS n FROM docs, unnest(tags) tag"
               " WHERE tsv @@ %s GROUP BY tag ORDER BY 1 DESC LIMIT 10")
    elif len(columns) == 1:
        one = ("SELECT count(*) AS n FROM docs WHERE tsv @@ %s GROUP BY " +
               columns[0] + " ORDER BY 1 DESC LIMIT 10")
    else:
        sets = ", ".join("(%s)" % column for column in columns)
        one = ("SELECT n FROM (SELECT n, row_number() OVER (PARTITION BY g"
               " ORDER BY n DESC) AS place FROM (SELECT count(*) AS n,"
               " grouping(" + ", ".join(columns) + ") AS g FROM docs WHERE"
               " tsv @@ %s GROUP BY GROUPING SETS (" + sets + ")) a) b"
               " WHERE place <= 10")
    return "SELECT sum(n)::bigint FROM (%s) c" % (one % query)


def session_of(series):
    """Plans are made with the words known, within the time."""
    return (["SET plan_cache_mode = force_custom_plan"] +
            (HELP if series not in (SUBJECT, GROUPED) else []) +
            (["SET skipidx.enable_custom_scan = off"] if series == ROWS else []))


def plan_of(entry):
    query = sql(searches_of(entry["kind"]) + " LIMIT 1")[0]
    out = outputs(*session_of(entry["series"]), "EXPLAIN (FORMAT JSON) " +
                  statement_of(entry, literal(query)))[-1]
    return nodes_of(json.loads(out)[0]["Plan"])


def measure_entry(run, turn, entry):
    sql(only("docs_" + SERIES[entry["series"]]))
    if turn == 0:
        run["plans"].append(dict(entry, nodes=plan_of(entry)))
    course = (course_of(REPETITIONS) if entry["series"] in (SUBJECT, GROUPED)
              else course_of(1, seconds=run["seconds"] / 2))
    result = time_statement(statement_of(entry), searches_of(entry["kind"]),
                            course, session_of(entry["series"]))
    known = run["found"].setdefault((entry["task"], entry["kind"]), {})
    run["wrong"] += [dict(entry, query=number, rows=rows) for number, rows in
                     compare_hits(known, dict(enumerate(result["hits"])))]
    n = len(result["us"])
    run["times"].append(dict(entry, round=turn, us=result["us"],
                             queries=list(range(n))))
    print("  %-8s %-8s %-18s %5d queries, median %10.1f us" % (
        entry["task"], entry["kind"], entry["series"], n,
        sorted(result["us"])[n // 2]), flush=True)


def prepare(run):
    path, limit = text()
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, run["engines"], columns=DRAWN)
    run["server"] = version()
    create_procedures()
    for engine in run["engines"]:
        step("build", engine)
        build = measured_build(engine, "64MB", 0, clause=CLAUSES[engine])
        run["indexes"].append({"index": "docs_" + engine,
                               "seconds": build["seconds"],
                               "bytes": build["bytes"]})
    fill_levels("docs_skipidx", run["rows"])
    sql("VACUUM ANALYZE docs")
    sql("CHECKPOINT")
    for kind in run["kinds"]:
        counts = sql("SELECT skipidx_count('docs_skipidx', q) FROM searches"
                     " WHERE mode = '%s' ORDER BY 1" % kind)
        run["matches"][kind] = int(counts[len(counts) // 2])


def measure(run):
    run.update(engines=engines_wanted("gin skipidx"), indexes=[], times=[],
               plans=[], wrong=[], found={}, matches={}, kinds=names(),
               repetitions=REPETITIONS,
               seconds=float(option("SECONDS", SECONDS)))
    run["series"] = [series for series, engine in SERIES.items()
                     if engine in run["engines"]]
    prepare(run)
    step("facets")
    entries = [{"task": task, "kind": kind, "series": series}
               for task in TASKS for kind in run["kinds"]
               for series in run["series"] if measured(series, task)]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "facets")
