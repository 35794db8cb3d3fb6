"""measure.py FILE: measures rows in an order forward and backward; see
README.md beside it."""
import os
import re
import subprocess

from harness.record import (in_turns, keep, numbers, option, step, temporary)
from harness.report_base import of
from harness.scan import make_cold, settings
from harness.searches import make_searches, read_lines
from harness.server import (COLUMNS_SQL, create_extensions, engines_wanted,
                            load_docs, only, outputs, run_file, sql, version)
from harness.words import text
from targets.directions.plans import ALL, BTREES, measure_plans
from targets.directions.show import CONCURRENCIES, SCRIPTS
from targets.directions.whole import measure_whole

HERE = os.path.dirname(os.path.abspath(__file__))
DRAWN = (", arrival(id) AS arrived"
         ", 1 + floor(drawn(id, 2) * 20)::int AS category"
         ", floor(drawn(id, 3) * 1000000)::int AS price")
COLD_TRANSACTIONS = {"skipidx": 50, "gin": 50, "rum": 50, "btree": 3}
INDEXES = {
    "docs_skipidx": "skipidx (tsv, arrived, price, category)",
    "docs_arrived": "btree (arrived)",
    "docs_price": "btree (price)",
    "docs_gin": "gin (tsv)",
    "docs_rum": "rum (tsv rum_tsvector_addon_ops, arrived) WITH"
                " (attach = 'arrived', \"to\" = 'tsv', order_by_attach = true)",
}
# What pgbench runs by others than the planner's choice of skipidx and btrees:
# the indexes, the scripts, what the session sets.
BESIDE = {
    "btree": (BTREES, ("forward", "backward", "filter"),
              [("enable_sort", "off"), ("enable_bitmapscan", "off")]),
    "gin": (("docs_gin",), ("forward", "backward", "keyset", "filter"),
            [("enable_seqscan", "off"), ("work_mem", "256MB")]),
    "rum": (("docs_rum",), ("forward", "backward", "filter"),
            [("enable_seqscan", "off"), ("enable_sort", "off"),
             ("enable_bitmapscan", "off")]),
}


# ---- tables ----

def load_queries(run):
    """The table chosen, of what pgbench draws; searches with all kinds."""
    found = make_searches(read_lines(option("QUERY_FILE", "")), 500)
    run["queries"] = len(found)
    sql("CREATE TABLE chosen AS SELECT row_number() OVER (ORDER BY id)::int AS"
        " number, q FROM searches WHERE mode = 'AND'",
        "ALTER TABLE chosen ADD PRIMARY KEY (number)", "ANALYZE chosen")


def build(run):
    """GIN and RUM are seen where they are beside the others only."""
    wanted = ["docs_" + name for name in run["beside"]]
    if "docs_rum" in wanted:
        sql("CREATE EXTENSION rum")
    for name, clause in INDEXES.items():
        if name in ALL or name in wanted:
            print("  %s" % name, flush=True)
            sql("SET maintenance_work_mem = '1GB'",
                "CREATE INDEX %s ON docs USING %s" % (name, clause))
    run["bytes"] = int(sql("SELECT pg_table_size('docs_skipidx')")[0])


def load(run):
    path, limit = text()
    limit = min(limit, int(option("LIMIT", 300000)))
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, ["skipidx"], columns=DRAWN)
    load_queries(run)
    build(run)
    sql("VACUUM (FREEZE, ANALYZE) docs", only(*ALL), "CHECKPOINT")


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
    if entry["series"] != "skipidx":
        return BESIDE[entry["series"]][2]
    return [("skipidx.io_method", entry["method"]),
            ("skipidx.io_depth", entry["depth"]),
            ("effective_io_concurrency", 1)]


def see_only(series):
    sql(only(*(BESIDE[series][0] if series in BESIDE else ALL)))


def script_of(entry):
    return ("rum_" if entry["series"] == "rum" else "") + entry["script"]


def measure_script(run, turn, entry):
    """Cold with each number of clients, then warm."""
    see_only(entry["series"])
    length = ["-t", str(COLD_TRANSACTIONS[entry["series"]])]
    for clients in run["cold_clients"]:
        make_cold()
        cold = pgbench(run, script_of(entry), clients, length,
                       session_of(entry))
        run["scripts"].append(dict(entry, round=turn, clients=clients,
                                   cold=True, **cold))
    for clients in run["clients"]:
        warm = pgbench(run, script_of(entry), clients,
                       ["-T", str(run["seconds"])], session_of(entry))
        run["scripts"].append(dict(entry, round=turn, clients=clients,
                                   cold=False, **warm))
    print("  %-13s %-8s %-13s depth %2d: cold %8.2f ms, warm %8.3f ms" % (
        entry["script"], entry["series"], entry["method"], entry["depth"],
        run["scripts"][-len(run["clients"]) - 1]["ms"],
        run["scripts"][-len(run["clients"])]["ms"]), flush=True)


def script_entries(run):
    """Those of other indexes have neither a method nor a depth."""
    return ([{"script": script, "series": "skipidx", "method": method,
              "depth": depth} for script in SCRIPTS
             for method in run["methods"] for depth in run["depths"]] +
            [{"script": script, "series": series, "method": "", "depth": 0}
             for series in run["beside"] + ["btree"]
             for script in BESIDE[series][1]])


def measure_scripts(run):
    for turn, entry in in_turns(script_entries(run), 1):
        measure_script(run, turn, entry)
    sql(only(*ALL))


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


def install_prices(run):
    """As skipidx_calibrate() says, with its defaults."""
    for line in sql("SELECT command FROM skipidx_calibrate()"
                    " WHERE command IS NOT NULL AND command <> ''"):
        sql("LOAD 'skipidx'", line)      # else the server does not know them
        run["installed"].append(line)
        print("  " + line, flush=True)
    sql("SELECT pg_reload_conf()")


def measure(run):
    run.update(clients=numbers("CLIENTS", "1 2 4 8"),
               cold_clients=numbers("COLD_CLIENTS",
                                    option("CLIENTS", "1 2 4 8")),
               beside=[name for name in engines_wanted("gin rum")
                       if name in BESIDE], installed=[],
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
        if option("CALIBRATED", "no") == "yes":
            install_prices(run)
        measure_plans(run)


if __name__ == "__main__":
    keep(measure, "directions")
