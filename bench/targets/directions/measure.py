"""measure.py FILE: measures rows in an order forward and backward; see
README.md beside it."""
import os
import re
import subprocess

from harness.record import (in_turns, keep, numbers, option, step, temporary)
from harness.report_base import of
from harness.scan import make_cold, settings
from harness.searches import make_searches, read_lines
from harness.server import (COLUMNS_SQL, create_extensions, load_docs, outputs,
                            run_file, sql, version)
from harness.words import text
from targets.directions.plans import measure_plans
from targets.directions.show import CONCURRENCIES, SCRIPTS
from targets.directions.whole import measure_whole

HERE = os.path.dirname(os.path.abspath(__file__))
DRAWN = (", arrival(id) AS arrived"
         ", 1 + floor(drawn(id, 2) * 20)::int AS category"
         ", floor(drawn(id, 3) * 1000000)::int AS price")
COLD_TRANSACTIONS = 50


# ---- tables ----

def load_queries(run):
    """The table chosen, of what pgbench draws; searches with all kinds."""
    found = make_searches(read_lines(option("QUERY_FILE", "")), 500)
    run["queries"] = len(found)
    sql("CREATE TABLE chosen AS SELECT row_number() OVER (ORDER BY id)::int AS"
        " number, q FROM searches WHERE mode = 'AND'",
        "ALTER TABLE chosen ADD PRIMARY KEY (number)", "ANALYZE chosen")


def build(run):
    for name, clause in (
            ("docs_skipidx", "skipidx (tsv, arrived, price, category)"),
            ("docs_arrived", "btree (arrived)"),
            ("docs_price", "btree (price)")):
        sql("CREATE INDEX %s ON docs USING %s" % (name, clause))
    run["bytes"] = int(sql("SELECT pg_table_size('docs_skipidx')")[0])


def load(run):
    path, limit = text()
    limit = min(limit, int(option("LIMIT", 300000)))
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, ["skipidx"], columns=DRAWN)
    load_queries(run)
    build(run)
    sql("VACUUM (FREEZE, ANALYZE) docs", "CHECKPOINT")


# ---- pgbench ----

def pgbench(run, script, clients, length, session):
    """Transactions a second, and the mean latency in ms."""
    out = subprocess.run(
        ["pgbench", "-n", "-c", str(clients), "-j", str(min(clients, 2)),
         *length, "-D", "queries=%d" % run["queries"], "-D",
         "rows=%d" % run["rows"], "--random-seed=1", "-f",
         os.path.join(HERE, "scripts", script + ".sql")],
        env=dict(os.environ, PGOPTIONS=" ".join("-c %s=%s" % pair
                                                for pair in session)),
        check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE).stdout
    return {"tps": float(re.search(r"tps = ([\d.]+) \(without", out)[1]),
            "ms": float(re.search(r"latency average = ([\d.]+)", out)[1])}


def session_of(entry):
    return [("skipidx.io_method", entry["method"]),
            ("skipidx.io_depth", entry["depth"]),
            ("effective_io_concurrency", 1)]


def measure_script(run, turn, entry):
    """Cold with one client, then warm."""
    make_cold()
    found = pgbench(run, entry["script"], 1,
                    ["-t", str(COLD_TRANSACTIONS)], session_of(entry))
    run["scripts"].append(dict(entry, round=turn, clients=1, cold=True,
                               **found))
    for clients in run["clients"]:
        warm = pgbench(run, entry["script"], clients,
                       ["-T", str(run["seconds"])], session_of(entry))
        run["scripts"].append(dict(entry, round=turn, clients=clients,
                                   cold=False, **warm))
    print("  %-13s %-13s depth %2d: cold %8.2f ms, warm %8.3f ms" % (
        entry["script"], entry["method"], entry["depth"], found["ms"],
        run["scripts"][-len(run["clients"])]["ms"]), flush=True)


def measure_scripts(run):
    entries = [{"script": script, "method": method, "depth": depth}
               for script in SCRIPTS for method in run["methods"]
               for depth in run["depths"]]
    for turn, entry in in_turns(entries, 1):
        measure_script(run, turn, entry)


def calibrate(run, concurrency):
    """What the prices are, for tables that are cold."""
    sql("CHECKPOINT")
    lines = outputs("SET effective_io_concurrency = %d" % concurrency,
                    "SELECT * FROM skipidx_calibrate(cached => 0,"
                    " seconds => 1)")[-1].splitlines()
    for line in lines:
        pattern, io, depth, us, price, command = line.split("|")
        run["device"].append({
            "concurrency": concurrency, "pattern": pattern, "io": io,
            "depth": int(depth),
            "us": float(us), "price": float(price) if price else None,
            "setting": command.replace("ALTER SYSTEM ", "") or None})
    print("  concurrency %d: " % concurrency + ", ".join(
        "%s %g" % (one["pattern"], one["price"])
        for one in of(run["device"], concurrency=concurrency)
        if one["price"]))


def measure(run):
    run.update(clients=numbers("CLIENTS", "1 2 4 8"),
               methods=option("METHODS", "buffered uring_direct").split(),
               depths=numbers("DEPTHS", "1 16"),
               seconds=int(option("SECONDS", 3)), server=version(),
               device=[], whole=[], scripts=[], plans=[], wrong=[])
    parts = option("PARTS", "scans scripts plans").split()
    create_extensions(["skipidx"])
    step("device")
    for concurrency in CONCURRENCIES:
        calibrate(run, concurrency)
    if "scans" in parts:
        step("whole table, cold")
        measure_whole(run)
    sql("DROP EXTENSION skipidx CASCADE")
    load(run)
    run["settings"] = settings()
    if "scripts" in parts:
        step("pgbench")
        measure_scripts(run)
    if "plans" in parts:
        step("plans")
        measure_plans(run)


if __name__ == "__main__":
    keep(measure, "directions")
