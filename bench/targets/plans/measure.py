"""measure.py FILE: measures statements of all shapes by each plan that can be
enforced; see README.md beside it."""
import json
import re
import subprocess

from harness.record import keep, option, step
from harness.scan import settings
from harness.server import (COLUMNS_SQL, load_docs, outputs, quoted, run_file,
                            sql, version)
from harness.timing import nodes_of
from harness.words import text
from targets.plans.show import SLOW, ratio
from targets.plans.statements import OWNERS, SIZES, Drawn

ROWS = 100000
STATEMENTS = 300
ROUNDS = 5
GIVEN_UP = 4              # times the chosen plan's time, and
LEAST_MS = 200            # at least so long
AGAIN = 3                 # times as many rounds for what seems to be slow
DRAWN = (", 'c' || 1 + floor(drawn(id, 2) * 20)::int AS category"
         ", several(5000, id, 4) AS tags"
         ", floor(drawn(id, 13) * 1000000)::int AS price"
         ", arrival(id) AS sent"
         ", drawn(id, 14) < .1 AS flag"
         ", floor(drawn(id, 15) * %d)::int AS owner"
         ", floor(drawn(id, 16) * %d)::int AS size" % (OWNERS, SIZES))
SUBJECT = "docs_skipidx"
INDEXES = {
    "docs_pkey": "btree (id)",
    "docs_price": "btree (price)",
    "docs_sent": "btree (sent)",
    "docs_owner": "btree (owner)",
    SUBJECT: "skipidx (tsv, category, tags, price, sent, flag)",
}
PEERS = {"docs_gin": "gin (tsv)", "docs_gin_tags": "gin (tags)"}
BTREES = tuple(name for name in INDEXES if name != SUBJECT)
# Indexes that the planner sees.
SETS = (tuple(INDEXES), (SUBJECT,), (SUBJECT, "docs_pkey"),
        (SUBJECT, "docs_owner"), (SUBJECT, "docs_price"),
        (SUBJECT, "docs_sent"), BTREES)
GIN = BTREES + tuple(PEERS)
# What is switched off.
OFF = (
    (), ("enable_sort",), ("enable_bitmapscan",), ("enable_indexscan",),
    ("enable_seqscan",), ("skipidx.enable_custom_scan",),
    ("skipidx.enable_custom_scan", "enable_bitmapscan", "enable_seqscan"),
    ("skipidx.enable_custom_scan", "enable_indexscan", "enable_seqscan"),
    ("enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan"),
    ("enable_nestloop",), ("enable_hashjoin",),
    ("enable_hashjoin", "enable_mergejoin"),
    ("enable_hashjoin", "enable_mergejoin", "enable_bitmapscan"),
    ("enable_hashjoin", "enable_mergejoin", "enable_indexscan"),
    ("enable_hashjoin", "enable_mergejoin", "enable_material"),
    ("enable_nestloop", "enable_bitmapscan"),
    ("enable_nestloop", "skipidx.enable_custom_scan"),
    ("enable_nestloop", "enable_sort"),
    ("enable_sort", "enable_bitmapscan"), ("enable_hashagg",),
    ("enable_incremental_sort",))
INVALID = ("UPDATE pg_index SET indisvalid = false WHERE indrelid ="
           " 'docs'::regclass AND indexrelid <> ALL (ARRAY[%s]::regclass[])")
EXPLAIN = "EXPLAIN (%s FORMAT JSON) "


# ---- the tables ----

def prepare(run):
    path, limit = text()
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    limit = min(limit, int(option("LIMIT", ROWS)))
    run["rows"] = load_docs(path, limit, ["gin", "skipidx"], columns=DRAWN)
    sql("CREATE TABLE owners AS SELECT id, 'o' || id AS name, id % 50 AS team"
        " FROM generate_series(0, {} - 1) id".format(OWNERS),
        "ALTER TABLE owners ADD PRIMARY KEY (id)",
        "CREATE TABLE picked AS SELECT list, list % 16 + n AS value"
        " FROM generate_series(0, 19) list, generate_series(1, 4) n",
        "ALTER TABLE docs ADD PRIMARY KEY (id)")
    step("build")
    for name, clause in dict(INDEXES, **PEERS).items():
        sql("SET maintenance_work_mem = '1GB'",
            "SET client_min_messages = warning",     # the primary key is there
            "CREATE INDEX IF NOT EXISTS %s ON docs USING %s" % (name, clause))
    sql("VACUUM (FREEZE, ANALYZE)")
    run["server"] = version()
    run["settings"] = settings()


# ---- plans ----

def session_of(indexes, off):
    """In a transaction that is never committed: the indexes are back."""
    return ["LOAD 'skipidx'", "BEGIN",
            INVALID % ", ".join(map(quoted, indexes))] + [
                "SET %s = off" % name for name in off]


def same(plan):
    """What tells plans apart: nodes with their conditions."""
    return json.dumps({key: [same(one) for one in value] if key == "Plans"
                       else value for key, value in plan.items()
                       if key in ("Node Type", "Custom Plan Provider",
                                  "Index Name", "Index Cond", "Filter",
                                  "Recheck Cond", "Order By", "Sort Key",
                                  "Join Type", "Plans", "Strategy",
                                  "Scan Direction", "Parent Relationship",
                                  "Relation Name", "Presorted Key")},
                      sort_keys=True)


def told(off):
    return ", ".join(re.sub("^.*enable_", "", name) for name in off)


def uses_gin(plan):
    text = json.dumps(plan)
    return any('"%s"' % name in text for name in PEERS)


def ways_of(statement):
    """A way to have each plan, the chosen one first; no other index than
    those of the table, and GIN's apart."""
    ways = {}
    for indexes in SETS + (GIN,):
        # which ranks
        if "<@>" in statement and SUBJECT not in indexes:
            continue
        before = session_of(indexes, ())
        plans = outputs(*before, *(one for off in OFF for one in (
            *("SET %s = off" % name for name in off),
            EXPLAIN % "" + statement,
            *("RESET %s" % name for name in off))))[len(before):]
        plans = [json.loads(text)[0]["Plan"] for text in plans
                 if text.startswith("[")]
        for off, plan in zip(OFF, plans):
            ways.setdefault(same(plan), {
                "indexes": [name[5:] for name in indexes], "off": told(off),
                "session": session_of(indexes, off), "nodes": nodes_of(plan),
                "cost": plan["Total Cost"], "rows": plan["Plan Rows"],
                "gin": uses_gin(plan), "ms": []})
    return list(ways.values())


def run_way(way, statement, timeout):
    """Adds a time; a plan that takes too long has none."""
    if way["ms"] is None:
        return
    before = way["session"] + ["SET statement_timeout = %d" % timeout]
    # once without a clock: all that is cached
    analyze = EXPLAIN % "ANALYZE, TIMING OFF, BUFFERS," + statement
    try:
        out = outputs(*before, analyze, analyze,
                      stderr=subprocess.DEVNULL)[-1]
    except subprocess.CalledProcessError:      # timed out
        way["ms"] = None
        return
    found = json.loads(out)[0]
    way["ms"].append(found["Execution Time"])
    way["planning"] = found["Planning Time"]
    way["found"] = found["Plan"]["Actual Rows"]
    way["buffers"] = found["Plan"]["Shared Hit Blocks"] + found["Plan"][
        "Shared Read Blocks"]


def measure_statement(run, number, shape, statement):
    ways = ways_of(statement)
    case = {"number": number, "shape": shape, "statement": statement,
            "ways": ways}
    run_way(ways[0], statement, 60000)
    if ways[0]["ms"] is None:
        raise RuntimeError("takes a minute: " + statement)
    timeout = max(LEAST_MS, GIVEN_UP * ways[0]["ms"][0])
    for turn in range(run["rounds"] * (1 + AGAIN)):
        if turn == run["rounds"] and ratio(case) <= SLOW:
            break
        for way in ways if turn % 2 else reversed(ways):
            run_way(way, statement, timeout)
    compare(run, case)
    for way in ways:
        del way["session"]
    run["cases"].append(case)
    print("  %4d %-12s %2d plans %9.3f ms %6.2f" % (
        number, shape, len(ways), min(ways[0]["ms"]), ratio(case)), flush=True)


def compare(run, case):
    """All plans find as many rows."""
    found = {way["found"] for way in case["ways"] if "found" in way}
    if len(found) > 1:
        run["wrong"].append("%s: %s rows" % (
            case["statement"], " or ".join(map(str, sorted(found)))))


def measure_statements(run):
    step("statements")
    drawn = Drawn(run["seed"], run["rows"])
    shapes = option("SHAPES", " ".join(Drawn.SHAPES)).split()
    only = [int(number) for number in option("NUMBERS", "").split()]
    for number, (shape, statement) in enumerate(drawn.statements(
            shapes, int(option("STATEMENTS", STATEMENTS)))):
        if not only or number in only:
            measure_statement(run, number, shape, statement)


def measure(run):
    run.update(seed=int(option("SEED", 1)), cases=[], wrong=[])
    prepare(run)
    measure_statements(run)


if __name__ == "__main__":
    keep(measure, "plans", ROUNDS)
