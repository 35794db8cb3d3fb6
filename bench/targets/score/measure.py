"""measure.py FILE: measures the ten best rows by words and by what dates and
numbers add; see README.md beside it."""
import json
import random

from harness.record import keep, option, step
from harness.report_base import MB, median
from harness.searches import kind_of, make_searches, read_lines
from harness.server import (COLUMNS_SQL, load_docs, measured_build, outputs,
                            run_file, sql, version)
from harness.timing import literal
from harness.words import text
from targets.score.show import BASES, MODE, SERIES, WEIGHTS, name_of

INDEX = "docs_skipidx"
CLAUSE = "skipidx (tsv, arrived, shuffled, clicks, category, price)"
DRAWN = (", arrival(id) AS arrived"
         ", arrival((drawn(id, 5) * {rows})::int) AS shuffled"
         ", zipf(1000000, id, 6)::bigint AS clicks"
         ", floor(drawn(id, 7) * 4)::int AS category"
         ", floor(drawn(id, 8) * 1000)::int AS price")
EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
STATEMENT = "SELECT %s FROM docs WHERE tsv @@ %s%s ORDER BY %s LIMIT 10"
FILTER = (" AND category < 3 AND price BETWEEN 100 AND 899"
          " AND arrived > '1971-01-01'")


def statement_of(run, series, weight, query, what="id"):
    """The SQL of a series for a query, with a share of the usual score."""
    distance = "(tsv <@> %s)" % literal(query)
    terms = SERIES[series]["terms"].format(
        weight=run["score"] * weight, as_of=run["as_of"])
    order = distance + terms
    return STATEMENT % (order if what == "sum" else what, literal(query),
                        FILTER if SERIES[series]["filtered"] else "", order)


def queries_of():
    """As tsquery prints them."""
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    make_searches(lines, int(option("QUERIES", 150)))
    return sql("SELECT q FROM searches WHERE mode = '%s' ORDER BY id" %
               kind_of(MODE))


def tenth_score(queries):
    """The median of what the tenth row of a query has."""
    scores = outputs(*("SELECT -(tsv <@> {0}) FROM docs WHERE tsv @@ {0}"
                       " ORDER BY tsv <@> {0} OFFSET 9 LIMIT 1".format(
                           literal(query)) for query in queries))
    return median([float(score) for score in scores if score.strip()])


def entries_of():
    return [{"series": series, "weight": weight} for series in SERIES
            for weight in ([0] if series in BASES else WEIGHTS)]


def time_entry(run, entry):
    plans = outputs("LOAD 'skipidx'", *(
        EXPLAIN + statement_of(run, entry["series"], entry["weight"], query)
        for query in run["queries"]))[1:]
    entry.setdefault("ms", [[] for _ in run["queries"]])
    entry["sorts"] = 0
    for times, plan in zip(entry["ms"], plans):
        plan = json.loads(plan)[0]
        times.append(plan["Planning Time"] + plan["Execution Time"])
        entry["sorts"] += '"Sort"' in json.dumps(plan)


def check_entry(run, entry, checked):
    """The sums of the first queries, against those of a sort."""
    statements = [statement_of(run, entry["series"], entry["weight"], query,
                               "sum") for query in run["queries"][:checked]]
    found = [outputs(*before, *statements)[len(before):] for before in (
        [], ["LOAD 'skipidx'", "SET skipidx.enable_custom_scan = off"])]
    return [{"series": entry["series"], "weight": entry["weight"],
             "query": number}
            for number, pair in enumerate(zip(*found)) if pair[0] != pair[1]]


def measure(run):
    path, limit = text()
    run["seed"] = int(option("SEED", 1))
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, ["skipidx"],
                            columns=DRAWN.format(rows=limit))
    run["server"] = version()
    step("build")
    run["bytes"] = measured_build("skipidx", "1GB", 0, clause=CLAUSE)["bytes"]
    print("  %.1f MB" % (run["bytes"] / MB), flush=True)
    run["as_of"], = sql("SELECT max(arrived) FROM docs")
    run["queries"] = queries_of()
    run["score"] = tenth_score(run["queries"])
    run["measured"] = entries_of()
    for turn in range(run["rounds"]):
        for entry in run["measured"]:
            time_entry(run, entry)
            print("  round %d  %-24s p50 %8.3f ms" % (
                turn, name_of(entry),
                median([times[-1] for times in entry["ms"]])), flush=True)
    run["wrong"] = [wrong for entry in run["measured"]
                    for wrong in check_entry(
                        run, entry, int(option("CHECKED", 10)))]


if __name__ == "__main__":
    keep(measure, "score")
