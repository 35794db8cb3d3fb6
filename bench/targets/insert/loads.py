"""loads.py: short rows get into an empty table with an index on it, in each of
the ways in which rows are loaded; imported by measure.py."""
import os
import time

from harness.cgroup import restart
from harness.server import psql, sql

ROWS = 60000
BATCHES = 60                  # transactions of as many rows
PUBLISHED = "published"       # the database that a subscription copies from
PATIENCE = 600                # seconds for its copy


def by_insert(table):
    sql("INSERT INTO %s SELECT id, tsv FROM short ORDER BY id" % table)


def by_transactions(table):
    size = ROWS // BATCHES
    sql(*("INSERT INTO %s SELECT id, tsv FROM short WHERE id > %d AND"
          " id <= %d ORDER BY id" % (table, first, first + size)
          for first in range(0, ROWS, size)))


def by_copy(table):
    psql("-c", "COPY %s FROM STDIN" % table, input=psql(
        "-c", "COPY (SELECT id, tsv FROM short ORDER BY id) TO STDOUT"))


def by_subscription(table):
    """The initial copy, from another database of the cluster."""
    sql("CREATE SUBSCRIPTION load CONNECTION 'dbname=%s host=%s port=%s"
        " user=%s' PUBLICATION %s WITH (create_slot = false, slot_name ="
        " 'load')" % (PUBLISHED, os.environ["PGHOST"], os.environ["PGPORT"],
                      os.environ["PGUSER"], table))
    end = time.monotonic() + PATIENCE
    while sql("SELECT count(*) FROM pg_subscription_rel WHERE"
              " srsubstate IN ('s', 'r')") == ["0"]:
        if time.monotonic() > end:
            raise RuntimeError("the subscription's copy does not end")
        time.sleep(.05)
    sql("ALTER SUBSCRIPTION load DISABLE")
    sql("ALTER SUBSCRIPTION load SET (slot_name = NONE)")
    sql("DROP SUBSCRIPTION load")


WAYS = {
    "one INSERT": by_insert,
    "60 transactions": by_transactions,
    "COPY": by_copy,
    "subscription": by_subscription,
}


def publish(tables):
    """A database with tables of these names, and a publication of each."""
    sql("ALTER SYSTEM SET wal_level = logical")
    # between two subscriptions the server waits for as long
    sql("ALTER SYSTEM SET wal_retrieve_retry_interval = '10ms'")
    restart()
    sql("CREATE DATABASE " + PUBLISHED)
    rows = psql("-c", "COPY (SELECT id, tsv FROM short ORDER BY id) TO STDOUT")
    there = ("-d", PUBLISHED)
    for table in tables:
        psql(*there, "-c", "CREATE TABLE %s (id bigint PRIMARY KEY,"
             " tsv tsvector)" % table)
        psql(*there, "-c", "COPY %s FROM STDIN" % table, input=rows)
        psql(*there, "-c", "CREATE PUBLICATION %s FOR TABLE %s" %
             (table, table))
    psql(*there, "-c",
         "SELECT pg_create_logical_replication_slot('load', 'pgoutput')")


def size(table):
    return int(sql("SELECT pg_total_relation_size('%s_tsv')" % table)[0])


def vacuum(table):
    """Until the worker that it asks for has ended, too."""
    sql("VACUUM " + table)
    time.sleep(1)                 # it must come
    while sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type ="
              " 'skipidx worker'") != ["0"]:
        time.sleep(.05)


def load_one(run, engine, index, way, table):
    sql("CREATE TABLE %s (id bigint PRIMARY KEY, tsv tsvector)"
        " WITH (autovacuum_enabled = off)" % table,
        "CREATE INDEX %s_tsv ON %s USING %s" % (table, table, index))
    began = time.monotonic()
    WAYS[way](table)
    entry = {"engine": engine, "way": way,
             "seconds": round(time.monotonic() - began, 3)}
    if sql("SELECT count(*) FROM " + table) != [str(ROWS)]:
        raise RuntimeError("%s: other rows than were loaded" % way)
    entry["bytes"] = size(table)
    vacuum(table)
    entry["vacuumed_bytes"] = size(table)
    sql("REINDEX INDEX %s_tsv" % table)
    entry["rebuilt_bytes"] = size(table)
    sql("DROP TABLE " + table)
    run["loads"].append(entry)


def loads(run, kinds):
    """`kinds`: of each engine its index."""
    tables = ["loaded_" + engine for engine in kinds]
    publish(tables)
    for way in WAYS:
        for table, (engine, index) in zip(tables, kinds.items()):
            load_one(run, engine, index, way, table)
    sql("SELECT pg_drop_replication_slot('load')")
    sql("DROP DATABASE " + PUBLISHED)
