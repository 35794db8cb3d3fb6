"""measure.py FILE: measures rows in the order of columns beside the text, and
ranges of their values, by skipidx with these columns in its index, by GIN and
by GIN with btree; see README.md beside it."""
import json
import random

from harness.record import in_turns, keep, option, step
from harness.report_base import MB
from harness.searches import (compare_hits, kind_of, make_searches,
                              read_lines, rows_of, searches_of)
from harness.server import (COLUMNS_SQL, engines_wanted, load_docs,
                            measured_build, only, outputs, run_file, sql,
                            version)
from harness.timing import (course_of, create_procedures, literal, nodes_of,
                            set_all, time_statement)
from harness.words import text
from targets.order.show import (COLUMNS, INDEXES, MODES, SERIES, SUBJECT,
                                TASKS, WORK, engine_of)

REPETITIONS = 5
SECONDS = 4                # of the other series for each task and round
CHECKED = 10
DRAWN = (", arrival(id) AS arrived"
         ", date '2000-01-01' + floor(drawn(id, 2) * 3000)::int AS day"
         ", (drawn(id, 3) * 10000)::numeric(10, 2) AS price")
GENERIC = ["SET plan_cache_mode = force_generic_plan"]
# Those that are compared with get all the help that their plans need.
HELP = [("enable_seqscan", "off"), ("work_mem", "256MB")]


def load_queries(run):
    """The table searches, in an order drawn by seed."""
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    found = make_searches(lines, int(option("QUERIES", 300)))
    run["queries"] = [{"words": " ".join(words)} for words in found.values()]


def middle_values(run):
    """Of each column, what half of the rows are below."""
    for column in COLUMNS:
        run["middle"][column], = sql(
            "SELECT percentile_disc(.5) WITHIN GROUP (ORDER BY %s) FROM docs"
            % column)


def statement_of(run, entry, query="$1", what="id"):
    """Conditions are constants, which planners know the share of."""
    task = TASKS[entry["task"]]
    where = "tsv @@ %s%s" % (query, task["where"].format(**run["middle"]))
    if task["order"] == "":
        return "SELECT count(*) FROM docs WHERE " + where
    return "SELECT %s FROM docs WHERE %s ORDER BY %s LIMIT %d" % (
        task["order"].split()[0] if what == "value" else what, where,
        task["order"], rows_of(entry["mode"]))


def build_all(run):
    for index, clause in INDEXES.items():
        if engine_of(index) not in run["engines"]:
            continue
        build = measured_build(index, "64MB", 0, clause=clause)
        run["builds"].append({"index": index, "seconds": build["seconds"],
                              "bytes": build["bytes"]})
        print("  %-14s %7.2f s %7.1f MB" % (index, build["seconds"],
                                            build["bytes"] / MB), flush=True)


def session_of(series):
    """What a session sets before it makes a plan."""
    return GENERIC + (set_all(HELP) if series != SUBJECT else [])


def see_only(series):
    sql(only(*("docs_" + index for index in SERIES[series])))


def plan_of(run, entry):
    """Of the statement without knowledge of the words, as it is timed."""
    lines = outputs(*session_of(entry["series"]),
                    "PREPARE measured (tsquery) AS " + statement_of(run, entry),
                    "EXPLAIN (FORMAT JSON) EXECUTE measured ('a')")[-1]
    return nodes_of(json.loads(lines)[0]["Plan"])


def measure_entry(run, turn, entry):
    see_only(entry["series"])
    if turn == 0:
        run["plans"].append(dict(entry, nodes=plan_of(run, entry)))
    course = (course_of(REPETITIONS) if entry["series"] == SUBJECT else
              course_of(1, seconds=run["seconds"] / 2))
    result = time_statement(statement_of(run, entry),
                            searches_of(kind_of(entry["mode"])), course,
                            session_of(entry["series"]))
    n = len(result["us"])
    hits = dict(enumerate(result["hits"]))
    run["wrong"] += [dict(entry, query=number, rows=rows)
                     for number, rows in compare_hits(
                         run["found"].setdefault(
                             (entry["mode"], entry["task"]), {}), hits)]
    run["times"].append(dict(
        entry, round=turn, us=result["us"], hits=sum(result["hits"]),
        queries=None if n == len(run["queries"]) else list(range(n))))
    print("  %-18s %-5s %-12s %5d queries, median %10.1f us, %d rows" % (
        entry["task"], entry["mode"], entry["series"], n,
        sorted(result["us"])[n // 2], sum(result["hits"])), flush=True)


def entries_of(run):
    """All series take turns within a task."""
    return [{"task": task, "mode": mode, "series": series}
            for mode in run["modes"] for task in run["tasks"]
            for series in run["series"]]


def values_found(run, entry, queries):
    """The values of each query's rows, in their order: rows of equal value may
    come in any."""
    see_only(entry["series"])
    before = session_of(entry["series"])[1:]      # with the words known
    statements = [statement_of(run, entry, literal(q), "value")
                  for q in queries]
    return outputs(*before, *statements)[len(before):]


def work_of(run, entry, queries):
    """What EXPLAIN (ANALYZE) tells of the index's searches, on average."""
    see_only(SUBJECT)
    out = outputs(*("EXPLAIN (ANALYZE, FORMAT JSON) " + statement_of(
        run, entry, literal(q)) for q in queries))
    plans = [json.loads(one)[0]["Plan"]["Plans"][0] for one in out]
    return {name: sum(plan.get(name, 0) for plan in plans) / len(plans)
            for name in WORK}


def look_at_rows(run):
    for mode in run["modes"]:
        queries = sql(searches_of(kind_of(mode)) + " LIMIT %d" %
                      int(option("CHECKED", CHECKED)))
        for task in run["tasks"]:
            if TASKS[task]["order"] == "":
                continue
            entry = {"task": task, "mode": mode}
            known, *others = (values_found(run, dict(entry, series=series),
                                           queries)
                              for series in run["series"])
            for series, found in zip(run["series"][1:], others):
                run["wrong"] += [dict(entry, series=series, query=number,
                                      rows=[one, other])
                                 for number, (one, other)
                                 in enumerate(zip(known, found))
                                 if one != other]
            run["work"].append(dict(entry, **work_of(run, entry, queries)))


def measure(run):
    run.update(
        modes=option("MODES", MODES).split(), limit=text()[1],
        tasks=option("TASKS", " ".join(TASKS)).split(),
        seconds=float(option("SECONDS", SECONDS)), repetitions=REPETITIONS,
        engines=engines_wanted("gin skipidx"), builds=[], times=[], plans=[],
        work=[], wrong=[], found={}, middle={})
    run["series"] = [series for series in SERIES
                     if engine_of(series) in run["engines"]]
    path, limit = text()
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, run["engines"], columns=DRAWN)
    run["server"] = version()
    load_queries(run)
    middle_values(run)
    create_procedures()
    step("build")
    build_all(run)
    sql("CHECKPOINT")
    step("searches")
    for turn, entry in in_turns(entries_of(run), run["rounds"]):
        measure_entry(run, turn, entry)
    if SUBJECT in run["engines"]:
        step("rows")
        look_at_rows(run)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "order")
