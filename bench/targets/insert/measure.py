#!/usr/bin/env python3
"""insert.py measure FILE.json: measures inserts in the cluster of PGHOST, keeps
what was measured in one file, and prints it; run_insert.sh calls it.
insert.py show FILE.json ...: prints files again.

Each engine has a table of its own with the same rows.  Engines alternate, so
that what else the machine does is shared among them.
"""
import json
import os
import subprocess
import sys
import time

from harness.hardware import describe
from harness.record import available, command_line, of, option, step
from targets.boolean.show import expect, median, quantile

ENGINES = {  # name: extension, index
    "none": (None, None),
    "gin_on": (None, "gin (tsv) WITH (fastupdate = on)"),
    "gin_off": (None, "gin (tsv) WITH (fastupdate = off)"),
    "rum": ("rum", "rum (tsv rum_tsvector_ops)"),
    "skipidx": ("skipidx", "skipidx (tsv)"),
}
SUBJECT = "skipidx"
STATEMENT_ROWS = 5000
TPS_SHARE = 0.8       # of GIN's with its pending list
MB = 1 << 20


def sql(*statements, session=()):
    """Runs statements in one session; the lines they print."""
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1"]
    for statement in session + statements:
        command += ["-c", statement]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()


def lsn():
    return int(sql("SELECT pg_current_wal_insert_lsn() - '0/0'")[0])


# ---- measuring ----

def load(names, base, pool):
    """The text's first rows as the tables' base, the next ones as the pool."""
    sql("CREATE UNLOGGED TABLE staged (id int, title text, body text)")
    lines = subprocess.Popen(["head", "-n", str(base + pool),
                              os.environ["BENCH_TEXT"]],
                             stdout=subprocess.PIPE)
    subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c",
                    "COPY staged FROM STDIN"], stdin=lines.stdout, check=True)
    lines.wait()
    sql("SET client_min_messages = error",
        "CREATE UNLOGGED TABLE rows AS SELECT row_number() OVER (ORDER BY id)"
        " AS id, to_tsvector('simple', title || ' ' || body) AS tsv"
        " FROM staged", "DROP TABLE staged",
        "CREATE TABLE pool AS SELECT id - %d AS id, tsv FROM rows"
        " WHERE id > %d" % (base, base),
        "ALTER TABLE pool ADD PRIMARY KEY (id)")
    for name in names:
        extension, clause = ENGINES[name]
        if extension:
            sql("CREATE EXTENSION " + extension)
        sql("CREATE TABLE docs_%s (id bigint, tsv tsvector)"
            " WITH (autovacuum_enabled = off)" % name,
            "INSERT INTO docs_%s SELECT id, tsv FROM rows WHERE id <= %d"
            " ORDER BY id" % (name, base))
        if clause:
            sql("CREATE INDEX docs_%s_tsv ON docs_%s USING %s" %
                (name, name, clause))
    sql("DROP TABLE rows", "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")
    return float(sql("SELECT avg(length(tsv)) FROM pool")[0])


def statements(run, rounds, pool):
    names = run["engines"]
    for turn in range(rounds):
        step("statement, round", turn + 1)
        first = 1 + turn * STATEMENT_ROWS % (pool - STATEMENT_ROWS)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            before = lsn()
            began = time.monotonic()
            sql("INSERT INTO docs_%s SELECT id, tsv FROM pool"
                " WHERE id BETWEEN %d AND %d" %
                (name, first, first + STATEMENT_ROWS - 1))
            run["statements"].append({
                "engine": name, "round": turn,
                "seconds": round(time.monotonic() - began, 4),
                "wal_bytes": lsn() - before})


def pgbench(name, clients, seconds, pool):
    """One run: latencies in us, and what it wrote."""
    directory = os.environ["BENCH_TEMP"]
    script = os.path.join(directory, "insert.pgbench")
    prefix = os.path.join(directory, "latency")
    with open(script, "w", encoding="utf-8") as file:
        file.write("\\set id random(1, %d)\n"
                   "INSERT INTO docs_%s SELECT id, tsv FROM pool"
                   " WHERE id = :id;\n" % (pool, name))
    before = lsn()
    subprocess.run(["pgbench", "-n", "-M", "prepared", "-c", str(clients),
                    "-j", str(min(clients, 2)), "-T", str(seconds), "-l",
                    "--log-prefix=" + prefix, "-f", script], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wal = lsn() - before
    times = []
    for file in os.listdir(directory):
        if file.startswith("latency."):
            path = os.path.join(directory, file)
            with open(path, encoding="utf-8") as lines:
                times += [int(line.split()[2]) for line in lines]
            os.remove(path)
    times.sort()
    return {"engine": name, "clients": clients, "seconds": seconds,
            "rows": len(times), "wal_bytes": wal,
            "us": {"p50": quantile(times, .5), "p99": quantile(times, .99),
                   "p999": quantile(times, .999), "max": times[-1]}}


def index_bytes(name):
    if not ENGINES[name][1]:
        return 0
    return int(sql("SELECT pg_total_relation_size('docs_%s_tsv')" % name)[0])


def long_run(run, name, minutes, pool):
    """Size after so much time, with autovacuum as it comes."""
    step("%g minutes, %s" % (minutes, name))
    sql("ALTER TABLE docs_%s SET (autovacuum_enabled = on)" % name)
    result = pgbench(name, 4, int(minutes * 60), pool)
    result["bytes"] = index_bytes(name)
    sql("VACUUM docs_%s" % name)
    result["vacuumed_bytes"] = index_bytes(name)
    result["table_rows"] = int(sql("SELECT count(*) FROM docs_%s" % name)[0])
    if ENGINES[name][1]:
        sql("SET maintenance_work_mem = '1GB'",
            "REINDEX INDEX docs_%s_tsv" % name)
    result["rebuilt_bytes"] = index_bytes(name)
    sql("DROP TABLE docs_%s" % name)
    run["long"].append(result)


def measure(path):
    base, pool = int(option("BASE", 50000)), int(option("POOL", 100000))
    clients = [int(n) for n in option("CLIENTS", "1 4 8").split()]
    seconds = int(option("SECONDS", 30))
    minutes = float(option("MINUTES", 10))
    run = {"bench": "insert", "corpus": option("CORPUS", ""), "base": base,
           "pool": pool, "skipidx": option("SKIPIDX", ""),
           "server": sql("SHOW server_version")[0],
           "settings": dict(line.split("|") for line in sql(
               "SELECT name, setting FROM pg_settings WHERE name IN ('fsync',"
               "'synchronous_commit', 'shared_buffers', 'max_wal_size',"
               "'checkpoint_timeout', 'full_page_writes',"
               "'gin_pending_list_limit')")),
           "hardware": describe(option("TEMP", "/tmp")),
           "engines": available(option("ENGINES", " ".join(ENGINES)).split(),
                               ENGINES, sql),
           "statements": [], "runs": [], "long": []}
    step("load")
    run["lexemes"] = load(run["engines"], base, pool)
    statements(run, int(option("ROUNDS", 5)), pool)
    names = run["engines"]
    for n in clients:
        for turn in range(2):
            step("pgbench, %d clients, round %d" % (n, turn + 1))
            for name in names[turn:] + names[:turn]:
                run["runs"].append(pgbench(name, n, seconds, pool))
    if minutes > 0:
        for name in list(names):
            long_run(run, name, minutes, pool)
    run["load_average_after"] = os.getloadavg()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1, sort_keys=True)
        file.write("\n")
    print("\nkept in %s" % os.path.relpath(path))
    show(run)


# ---- printing ----

def tps(run, name, clients):
    return median([entry["rows"] / entry["seconds"] for entry in
                   of(run["runs"], engine=name, clients=clients)])


def wal_per_row(run, name):
    """Of all runs of pgbench; the table's own is in it."""
    entries = of(run["runs"], engine=name)
    return (sum(entry["wal_bytes"] for entry in entries) /
            sum(entry["rows"] for entry in entries))


def clients_of(run):
    return sorted({entry["clients"] for entry in run["runs"]})


def print_head(run):
    hardware = run["hardware"]
    print("\ncorpus   %s: %d rows before, %.0f lexemes a row; skipidx %s, "
          "server %s" % (run["corpus"], run["base"], run["lexemes"],
                         run["skipidx"], run["server"].split()[0]))
    print("machine  %s, %d cores; load %.1f before, %.1f after; %s" % (
        hardware.get("cpu"), hardware.get("cores", 0),
        hardware["load_average"][0], run["load_average_after"][0],
        ", ".join("%s=%s" % pair for pair in sorted(run["settings"].items())
                  if pair[0] in ("fsync", "synchronous_commit"))))


def print_statements(run):
    print("\n5,000 rows in a statement    seconds      worst   WAL bytes a row")
    for name in run["engines"]:
        entries = of(run["statements"], engine=name)
        times = [entry["seconds"] for entry in entries]
        print("  %-24s %9.2f  %9.2f %17.0f" % (
            name, median(times), max(times),
            sum(entry["wal_bytes"] for entry in entries) /
            (STATEMENT_ROWS * len(entries))))


def print_runs(run):
    print("\none row a transaction, ms       tps       p50       p99      "
          "p99.9       max   WAL bytes a row")
    for clients in clients_of(run):
        print("%d clients" % clients)
        for name in run["engines"]:
            entries = of(run["runs"], engine=name, clients=clients)
            row = "  %-24s %9.0f" % (name, tps(run, name, clients))
            for point in ("p50", "p99", "p999"):
                row += " %9.2f" % (median([e["us"][point] for e in entries])
                                   / 1000)
            print(row + " %9.0f %17.0f" % (
                max(e["us"]["max"] for e in entries) / 1000,
                sum(e["wal_bytes"] for e in entries) /
                sum(e["rows"] for e in entries)))


def print_long(run):
    if not run["long"]:
        return
    print("\n%4.0f minutes, 4 clients        tps       p99       max   "
          "size MB  vacuumed   rebuilt   bytes a row" %
          (run["long"][0]["seconds"] / 60))
    for entry in run["long"]:
        print("  %-24s %9.0f %9.2f %9.0f %9.1f %9.1f %9.1f %13.0f" % (
            entry["engine"], entry["rows"] / entry["seconds"],
            entry["us"]["p99"] / 1000, entry["us"]["max"] / 1000,
            entry["bytes"] / MB, entry["vacuumed_bytes"] / MB,
            entry["rebuilt_bytes"] / MB,
            entry["bytes"] / entry["table_rows"]))


def expectations(run):
    lines = []
    names = run["engines"]
    if SUBJECT not in names:
        return lines
    if "gin_on" in names:
        for clients in clients_of(run):
            lines.append(expect(
                "insert.tps_%d" % clients,
                tps(run, SUBJECT, clients) / tps(run, "gin_on", clients),
                TPS_SHARE, "x", True))
    if "gin_off" in names:
        lines.append(expect("insert.wal_per_row", wal_per_row(run, SUBJECT),
                            wal_per_row(run, "gin_off"), "B", False))
    return lines


def show(run, path=None):
    print_head(run)
    print_statements(run)
    print_runs(run)
    print_long(run)
    print()
    for line in expectations(run):
        print(line)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
