"""measure.py FILE: measures builds and boolean matches of each engine; see
README.md beside it."""
import itertools
import json
import os

from harness.record import keep, option, step
from harness.report_base import MB
from harness.server import (engines_wanted, fill, load_docs, measured_build,
                            run_file, settings_of, sql, version)
from harness.words import text
from targets.boolean.queries import numbered

HERE = os.path.dirname(os.path.abspath(__file__))
# Engines that no expectation is about, and that are slow: built once; at most
# 3 timed and 1 explained run of a query.
FEW = ("rum",)
LARGE = 600000              # rows
# Options of a corpus that is smaller, and of one that is as large
DEFAULTS = {"CAP_MS": (1500, 4000), "SECONDS": (50, 240), "BUILDS": (3, 2)}
SETTINGS = ("shared_buffers", "max_wal_size", "wal_level", "wal_compression",
            "fsync", "full_page_writes", "synchronous_commit",
            "checkpoint_timeout", "jit", "autovacuum",
            "max_parallel_workers_per_gather", "data_checksums",
            "max_parallel_maintenance_workers", "huge_pages",
            "effective_cache_size", "io_method", "skipidx.%")


def is_large(path):
    with open(path, "rb") as file:
        return sum(1 for _ in itertools.islice(file, LARGE)) == LARGE


def begin(run, path):
    """Options and engines."""
    large = is_large(path)
    cap, seconds, builds = (int(option(name, values[large]))
                            for name, values in DEFAULTS.items())
    run.update(order=option("ORDER", "id"), seed=int(option("SEED", 1)),
               class_queries=int(option("QUERIES", 200)),
               explains=int(option("EXPLAINS", 2)), cap_ms=cap,
               class_seconds=seconds, text_bytes=os.path.getsize(path),
               engines=engines_wanted(), builds=[])
    return {"1GB": builds, "64MB": int(option("SMALL_BUILDS", 1))}


def load(run, path, limit):
    run["rows"] = load_docs(path, limit, run["engines"], run["order"])
    run["server"] = version()
    run["settings"] = settings_of(*SETTINGS)
    run["extensions"] = dict(line.split("|") for line in sql(
        "SELECT extname, extversion FROM pg_extension"))
    run["table"] = json.loads(sql(
        "SELECT json_build_object('lexemes', sum(length(tsv)), 'heap_bytes',"
        " pg_relation_size('docs'), 'with_toast_bytes', pg_table_size('docs'))"
        " FROM docs")[0])
    run_file(os.path.join(HERE, "schema.sql"))
    fill("engine", ((name, rank, name in FEW)
                    for rank, name in enumerate(run["engines"], 1)))
    fill("query (id, class, words)", numbered(
        option("QUERY_FILE", ""), run["seed"], run["class_queries"]))
    run_file(os.path.join(HERE, "queries.sql"))


def turns_of(run, rounds, repeated):
    """(round, engine): each round begun by the next engine; `repeated` leaves
    out those that are built once only."""
    names = run["engines"]
    for turn in range(rounds):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            if name not in FEW or not (repeated or turn):
                yield turn + 1, name


def build_rounds(run, memory, rounds, repeated):
    for turn, name in turns_of(run, rounds, repeated):
        build = measured_build(name, memory, 0)
        run["builds"].append({"engine": name, "memory": memory, "round": turn,
                              **{field: build[field] for field in (
                                  "seconds", "flush_seconds", "bytes",
                                  "wal_bytes")}})
        print("  %-8s maintenance_work_mem %-5s %8.1f s %7.0f MB, WAL %.0f MB"
              % (name, memory, build["seconds"], build["bytes"] / MB,
                 build["wal_bytes"] / MB), flush=True)


def match(run):
    run_file(os.path.join(HERE, "functions.sql"))
    print(run_file(os.path.join(HERE, "measure.sql"), rounds=run["rounds"],
                   explain_rounds=run["explains"], cap_ms=run["cap_ms"],
                   seconds=run["class_seconds"]), end="", flush=True)
    run["queries"] = [json.loads(line) for line in run_file(
        os.path.join(HERE, "export.sql")).splitlines()]


def measure(run):
    path, limit = text()
    builds = begin(run, path)
    step("load", run["corpus"], "(%s order)" % run["order"])
    load(run, path, limit)
    step("build")
    build_rounds(run, "64MB", builds["64MB"], True)
    build_rounds(run, "1GB", builds["1GB"], False)
    run["indexes"] = {name: sql("SELECT pg_get_indexdef('docs_%s'::regclass)"
                                % name)[0] for name in run["engines"]}
    step("match")
    match(run)


if __name__ == "__main__":
    keep(measure, "boolean", rounds=5)
