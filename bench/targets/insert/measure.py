"""measure.py FILE: measures inserts into tables with each kind of index; see
README.md beside it.

Each engine has a table of its own with the same rows.  Engines alternate, so
that what else the machine does is shared among them.
"""
import glob
import os
import subprocess
import time

from harness.record import keep, option, step, temporary
from harness.report_base import quantile
from harness.server import (ENGINES, create_extensions, engines_wanted, pin,
                            settings_of, sql, stage, version)
from targets.insert import loads, stalls

GIN = ENGINES["gin"][1]
KINDS = {  # name: extension, index
    "none": (None, None),
    "gin_on": (None, GIN + " WITH (fastupdate = on)"),
    "gin_off": (None, GIN + " WITH (fastupdate = off)"),
    "rum": ENGINES["rum"],
    "skipidx": ENGINES["skipidx"],
}
STATEMENT_ROWS = 5000
PRICED = {  # where a column is that is updated: indexes
    "no index": ("skipidx (tsv)",),
    "btree beside": ("skipidx (tsv)", "btree (price)"),
    "in the index": ("skipidx (tsv, price)",),
    "gin, btree beside": (GIN, "btree (price)"),
}
UPDATED_ROWS = 1000
LOADED = ("gin_on", "skipidx")
SETTINGS = ("fsync", "synchronous_commit", "shared_buffers", "max_wal_size",
            "checkpoint_timeout", "full_page_writes", "gin_pending_list_limit")


def lsn():
    return int(sql("SELECT pg_current_wal_insert_lsn() - '0/0'")[0])


def load(names, base, pool):
    """The text's first rows as the tables' base, the next ones as the pool."""
    stage(option("TEXT", ""), base + pool)
    sql("SET client_min_messages = error",
        "CREATE UNLOGGED TABLE rows AS SELECT row_number() OVER (ORDER BY id)"
        " AS id, to_tsvector('simple', title || ' ' || body) AS tsv"
        " FROM staged",
        "CREATE TABLE short AS SELECT row_number() OVER (ORDER BY id) AS id,"
        " to_tsvector('simple', left(title || ' ' || body, 250)) AS tsv"
        " FROM (SELECT * FROM staged ORDER BY id LIMIT %d) s" % loads.ROWS,
        "DROP TABLE staged",
        "CREATE TABLE pool AS SELECT id - %d AS id, tsv FROM rows"
        " WHERE id > %d" % (base, base),
        "ALTER TABLE pool ADD PRIMARY KEY (id)")
    create_extensions(names, KINDS)
    for name in names:
        sql("CREATE TABLE docs_%s (id bigint, tsv tsvector)"
            " WITH (autovacuum_enabled = off)" % name,
            "INSERT INTO docs_%s SELECT id, tsv FROM rows WHERE id <= %d"
            " ORDER BY id" % (name, base))
        if KINDS[name][1]:
            sql("CREATE INDEX docs_%s_tsv ON docs_%s USING %s" %
                (name, name, KINDS[name][1]))
    sql("DROP TABLE rows", "VACUUM (FREEZE, ANALYZE)", "CHECKPOINT")
    return float(sql("SELECT avg(length(tsv)) FROM pool")[0])


def statements(run):
    names, pool = run["engines"], run["pool"]
    for turn in range(run["rounds"]):
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
    script, prefix = temporary("insert.pgbench"), temporary("latency")
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
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as lines:
            times += [int(line.split()[2]) for line in lines]
        os.remove(path)
    times.sort()
    return {"engine": name, "clients": clients, "seconds": seconds,
            "rows": len(times), "wal_bytes": wal,
            "us": {"p50": quantile(times, .5), "p99": quantile(times, .99),
                   "p999": quantile(times, .999), "max": times[-1]}}


def index_bytes(name):
    if not KINDS[name][1]:
        return 0
    return int(sql("SELECT pg_total_relation_size('docs_%s_tsv')" % name)[0])


def column_updates(run):
    """A thousand rows get another price, which is in an index or is not."""
    rows = run["base"] // UPDATED_ROWS * UPDATED_ROWS
    for number, indexes in enumerate(PRICED.values()):
        sql("CREATE TABLE priced_%d (id bigint, price int, tsv tsvector)"
            " WITH (fillfactor = 80, autovacuum_enabled = off)" % number,
            "INSERT INTO priced_%d SELECT id, id %% 997, tsv FROM pool"
            " WHERE id <= %d ORDER BY id" % (number, rows),
            *("CREATE INDEX ON priced_%d USING %s" % (number, index)
              for index in indexes), "VACUUM ANALYZE priced_%d" % number)
    sql("CHECKPOINT")
    for turn in range(run["rounds"]):
        step("updates of a column, round", turn + 1)
        for number, name in enumerate(PRICED):
            before, began = lsn(), time.monotonic()
            sql("UPDATE priced_%d SET price = price + 1 WHERE id %% %d = %d" %
                (number, rows // UPDATED_ROWS, turn))
            run["updates"].append({
                "column": name, "round": turn,
                "seconds": round(time.monotonic() - began, 4),
                "wal_bytes": lsn() - before})
    for number in range(len(PRICED)):
        sql("DROP TABLE priced_%d" % number)


def started(script, clients, seconds, *more):
    """pgbench, started: the process and where its latencies go."""
    prefix = script + ".latency"
    return subprocess.Popen(
        ["pgbench", "-n", "-c", str(clients), "-j", "1", "-T", str(seconds),
         "-l", "--log-prefix=" + prefix, *more, "-f", script],
        env=dict(os.environ, PGAPPNAME=os.path.basename(script)),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL), prefix


def ended(process, prefix):
    """Latencies in us, sorted."""
    process.wait()
    times = []
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as lines:
            times += [int(line.split()[2]) for line in lines]
        os.remove(path)
    return sorted(times)


def search_beside(run, workers, rate, pinned):
    """One client searches, while `rate` rows a second are updated."""
    seconds = int(option("BESIDE_SECONDS", 60))
    sql("LOAD 'skipidx'",
        "ALTER SYSTEM SET skipidx.max_workers = %d" % workers)
    sql("SELECT pg_reload_conf()")
    searching = started(temporary("search.pgbench"), 1, seconds)
    updating = rate and started(temporary("update.pgbench"), 4, seconds,
                                "-R", str(rate))
    time.sleep(1)
    if pinned:
        os.sched_setaffinity(searching[0].pid, {0})
    pin(int(sql("SELECT pid FROM pg_stat_activity WHERE application_name ="
                " 'search.pgbench'")[0]), pinned)
    most = 0
    while searching[0].poll() is None:
        most = max(most, int(sql("SELECT segments FROM"
                                 " skipidx_stats('docs_skipidx_tsv')")[0]))
        time.sleep(.5)
    times = ended(*searching)
    updates = len(ended(*updating)) if rate else 0
    pin(0, False)
    run["beside"].append({
        "workers": workers, "rate": rate, "pinned": pinned,
        "seconds": seconds, "searches": len(times),
        "updates": updates, "most_segments": most,
        "us": {"p50": quantile(times, .5), "p99": quantile(times, .99),
               "max": times[-1]}})


def beside(run):
    """Searches alone, and beside updates with workers and without."""
    sql("CREATE TABLE searches AS SELECT row_number() OVER () AS n, q FROM"
        " (SELECT (SELECT string_agg(w, ' | ')::tsquery FROM (SELECT w FROM"
        " unnest(tsvector_to_array(tsv)) w WHERE w ~ '^[a-z]+$'"
        " ORDER BY md5(w) LIMIT 3) s) AS q FROM pool"
        " WHERE id <= 1000) p", "CREATE INDEX ON searches (n)",
        "CREATE INDEX docs_skipidx_id ON docs_skipidx (id)",
        "ALTER TABLE docs_skipidx SET (autovacuum_enabled = on)")
    sql("VACUUM ANALYZE docs_skipidx")
    with open(temporary("search.pgbench"), "w", encoding="utf-8") as file:
        file.write("\\set n random(1, 1000)\nSELECT count(*) FROM"
                   " skipidx_search('docs_skipidx_tsv', (SELECT q FROM searches"
                   " WHERE n = :n), 10);\n")
    with open(temporary("update.pgbench"), "w", encoding="utf-8") as file:
        file.write("\\set id random(1, %d)\n\\set new random(1, %d)\n"
                   "UPDATE docs_skipidx SET tsv = (SELECT tsv FROM pool WHERE"
                   " id = :new) WHERE id = :id;\n" % (run["base"],
                                                   run["pool"]))
    stalls.stalls(run)
    for pinned in (True, False):
        for workers, rate in ((2, 0), (2, 1000), (0, 1000), (2, 0)):
            step("searches beside %d updates/s, %d workers%s" % (
                rate, workers, ", pinned" if pinned else ""))
            search_beside(run, workers, rate, pinned)
    sql("LOAD 'skipidx'", "ALTER SYSTEM RESET skipidx.max_workers")
    sql("SELECT pg_reload_conf()")


def long_run(run, name, minutes, pool):
    """Size after so much time, with autovacuum as it comes."""
    step("%g minutes, %s" % (minutes, name))
    sql("ALTER TABLE docs_%s SET (autovacuum_enabled = on)" % name)
    result = pgbench(name, 4, int(minutes * 60), pool)
    result["bytes"] = index_bytes(name)
    loads.vacuum("docs_%s" % name)
    result["vacuumed_bytes"] = index_bytes(name)
    result["table_rows"] = int(sql("SELECT count(*) FROM docs_%s" % name)[0])
    if KINDS[name][1]:
        sql("SET maintenance_work_mem = '1GB'",
            "REINDEX INDEX docs_%s_tsv" % name)
    result["rebuilt_bytes"] = index_bytes(name)
    sql("DROP TABLE docs_%s" % name)
    run["long"].append(result)


def single_rows(run):
    """Each transaction inserts one row."""
    names, seconds = run["engines"], int(option("SECONDS", 30))
    for clients in [int(n) for n in option("CLIENTS", "1 4 8").split()]:
        for turn in range(2):
            step("pgbench, %d clients, round %d" % (clients, turn + 1))
            for name in names[turn:] + names[:turn]:
                run["runs"].append(pgbench(name, clients, seconds,
                                           run["pool"]))


def measure(run):
    run.update(base=int(option("BASE", 50000)),
               pool=int(option("POOL", 100000)), server=version(),
               settings=settings_of(*SETTINGS),
               engines=engines_wanted(" ".join(KINDS), KINDS),
               statements=[], updates=[], runs=[], long=[], beside=[], loads=[],
               stalls=[])
    step("load", run["corpus"])
    run["lexemes"] = load(run["engines"], run["base"], run["pool"])
    statements(run)
    if "skipidx" in run["engines"] and "gin_on" in run["engines"]:
        column_updates(run)
    single_rows(run)
    if "skipidx" in run["engines"] and int(option("BESIDE_SECONDS", 60)):
        beside(run)
    minutes = float(option("MINUTES", 10))
    if minutes > 0:
        for name in run["engines"]:
            long_run(run, name, minutes, run["pool"])
    if run["base"] + run["pool"] >= loads.ROWS:
        step("loads")
        loads.loads(run, {name: KINDS[name][1] for name in run["engines"]
                          if name in LOADED})


if __name__ == "__main__":
    keep(measure, "insert", rounds=5)
