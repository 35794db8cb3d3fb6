"""measure.py FILE: measures searches of one tenant's rows: of a role under a
policy, and of the owner, who writes the condition; see README.md beside it."""
import json

from harness.record import in_turns, keep, option, step
from harness.searches import make_searches, read_lines, searches_of
from harness.server import (COLUMNS_SQL, load_docs, measured_build, outputs,
                            run_file, sql, version)
from harness.timing import literal, nodes_of
from harness.words import text
from targets.policies.show import BY_CONDITION, TASKS, UNDER_POLICY

INDEX = "tenant"
CLAUSE = "skipidx (tsv, tenant, arrived)"
TENANT = 7
DRAWN = ", floor(drawn(id, 2) * {0})::int AS tenant, arrival(id) AS arrived"
EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
ROLES = {UNDER_POLICY: "SET ROLE reader", BY_CONDITION: "RESET ROLE"}


def statement_of(task, series, query, what=None):
    select, order = TASKS[task]
    condition = ("" if series == UNDER_POLICY else
                 " AND tenant = current_setting('app.tenant')::int")
    return "SELECT %s FROM docs WHERE tsv @@ %s%s%s" % (
        what or select, literal(query), condition, order.format(literal(query)))


def create_policy():
    """Of the table, whose owner it does not bind."""
    sql("CREATE ROLE reader", "GRANT SELECT ON docs TO reader",
        "ALTER TABLE docs ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON docs FOR SELECT"
        " USING (tenant = current_setting('app.tenant')::int)")


def session_of():
    return ("LOAD 'skipidx'", "SET skipidx.index_under_policy = on",
            "SET app.tenant = '%d'" % TENANT)


def printed(before, lines):
    return outputs(*before, *lines)[len(before):]


def measure_task(run, task, queries):
    """One session has all turns of both series, statement by statement, so
    that what disturbs one disturbs the other, too."""
    for number, query in enumerate(queries):
        entries = [series for _, series in in_turns(list(ROLES), run["turns"])]
        out = printed(session_of(), [
            line for series in entries
            for line in (ROLES[series],
                         EXPLAIN + statement_of(task, series, query))])[1::2]
        for series in ROLES:
            plans = [json.loads(one)[0] for one, whose in zip(out, entries)
                     if whose == series][1:]
            run["times"].append({
                "task": task, "query": number, "series": series,
                "nodes": nodes_of(plans[0]["Plan"]),
                "planning_ms": [one["Planning Time"] for one in plans],
                "execution_ms": [one["Execution Time"] for one in plans]})


def compare_rows(run, task, queries):
    """Rows of both series in their order."""
    for number, query in enumerate(queries):
        found = [printed(session_of() + (role,),
                         [statement_of(task, series, query)])
                 for series, role in ROLES.items()]
        if found[0] != found[1]:
            run["wrong"].append({"task": task, "query": number, "rows": found})


def measure(run):
    path, limit = text()
    run.update(tasks=option("TASKS", " ".join(TASKS)).split(), times=[],
               wrong=[], turns=int(option("TURNS", 21)),
               tenants=int(option("TENANTS", 50)))
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, ["skipidx"],
                            columns=DRAWN.format(run["tenants"]))
    run["server"] = version()
    make_searches(read_lines(option("QUERY_FILE", "")),
                  int(option("QUERIES", 20)))
    queries = sql(searches_of("OR"))
    run["queries"] = [{"words": one} for one in queries]
    step("build")
    run["bytes"] = measured_build(INDEX, "64MB", 0, clause=CLAUSE)["bytes"]
    create_policy()
    sql("CHECKPOINT")
    for task in run["tasks"]:
        step(task)
        compare_rows(run, task, queries)
        measure_task(run, task, queries)


if __name__ == "__main__":
    keep(measure, "policies", rounds=1)
