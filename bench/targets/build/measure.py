"""measure.py FILE: measures CREATE INDEX by skipidx with 0, 1 and 2 parallel
workers, by GIN and by RUM, with several sizes of maintenance_work_mem, and the
same text through Lucene and Tantivy; see README.md beside it."""
from harness.record import in_turns, keep, option, step
from harness.report_base import MB
from harness.scan import matches_of, matches_without
from harness.server import (engines_wanted, load_docs, settings_of, sql,
                            temporary_files, version)
from harness.watch import watched_build
from harness.words import frequencies, queries_of_kinds, sample, text
from peers.peers import measure_peers

SUBJECT, YARDSTICK = "skipidx", "gin"
MEMORY = "64MB 256MB 1GB"
WORKERS = "0 1 2"
GIN_PARALLEL = 180000       # server version
COMMON = 10                 # words, one of which most rows have
SETTINGS = ("shared_buffers", "max_wal_size", "wal_level", "wal_compression",
            "fsync", "full_page_writes", "max_parallel_workers",
            "max_worker_processes", "dynamic_shared_memory_type", "io_method",
            "data_checksums")


def workers_of(engine, version):
    """How many workers to ask for: GIN has none before 18, RUM never."""
    counts = [int(count) for count in option("WORKERS", WORKERS).split()]
    if engine == SUBJECT or engine == YARDSTICK and version >= GIN_PARALLEL:
        return counts
    return [0]


def series_of_run(run):
    """What to build; RUM, which no expectation is about, with the last of the
    sizes only, and once."""
    sizes = option("MEMORY", MEMORY).split()
    return [{"engine": engine, "workers": workers, "memory": memory}
            for memory in sizes for engine in run["engines"]
            if engine != "rum" or memory == sizes[-1]
            for workers in workers_of(engine, run["version_num"])]


def build_rounds(run, temporary):
    for turn, entry in in_turns(series_of_run(run), run["rounds"]):
        if entry["engine"] == "rum" and turn > 0:
            continue
        build = dict(entry, round=turn, **watched_build(
            directory=temporary, **entry))
        build["matches"] = matches_of("docs_" + entry["engine"],
                                      run["queries"])
        run["builds"].append(build)
        print("  %-8s %d workers, %d launched, %-6s %7.1f s, %6.1f MB, peak "
              "%6.1f MB" % (
                  build["engine"], build["workers"], build["workers_launched"],
                  build["memory"], build["seconds"], build["bytes"] / MB,
                  build["peak_bytes"] / MB), flush=True)


def queries_of(rows, corpus):
    """Those of bench-lookup, which are about few rows or words, and one that
    most rows match."""
    common = [word for word, _ in frequencies(rows).most_common(COMMON)]
    kinds = queries_of_kinds(rows, corpus)
    return [" | ".join(common)] + [query for kind in kinds.values()
                                   for query in kind]


def measure(run):
    path, limit = text()
    run.update(builds=[], peers=[], engines=engines_wanted())
    run["queries"] = queries_of(sample(path, limit), run["corpus"])
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, run["engines"])
    run["server"] = version()
    run["version_num"] = int(sql("SHOW server_version_num")[0])
    run["settings"] = settings_of(*SETTINGS)
    run["matches"] = matches_without(run["queries"])
    run["heap_bytes"] = int(sql("SELECT pg_table_size('docs')")[0])
    step("build")
    build_rounds(run, temporary_files())
    measure_peers(run)


if __name__ == "__main__":
    keep(measure, "build")
