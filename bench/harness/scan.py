"""scan.py: queries through one index of the table docs, cold and warm;
imported by measure.py of several targets.

Cold: the server was restarted, the kernel has none of the table's and the
indexes' files in its page cache.  What is no part of reading an index (the
library loaded, shared memory made, the session's ring set up, catalogs looked
up) is done before, on tables of one row.
"""
import json
import os
import re
import subprocess

from harness.record import option
from harness.server import only, outputs, settings_of, sql

HERE = os.path.dirname(os.path.abspath(__file__))
PLAN_SETTINGS = ("SET enable_seqscan = off", "SET enable_indexscan = off",
                 "SET work_mem = '256MB'")
# Of this session: what skipidx counts, what the kernel read from the device.
COUNTERS = """SELECT json_build_object('device_bytes', (regexp_match(
    pg_read_file('/proc/self/io'), 'read_bytes: (\\d+)'))[1]::bigint)::jsonb
    || (SELECT to_jsonb(io) FROM skipidx_io_totals() io WHERE scope = 'session')"""


def methods():
    """Those that this build of skipidx knows and BENCH_METHODS allows; the
    yardstick first."""
    known = sql("LOAD 'skipidx'", "SELECT unnest(enumvals) FROM pg_settings"
                " WHERE name = 'skipidx.io_method'")
    known.sort(key=lambda name: name != "shared_buffers")
    allowed = option("METHODS", "").split()
    return [name for name in known if not allowed or name in allowed]


def settings():
    """What reading goes by, and which method `auto` stands for here."""
    found = settings_of("skipidx.%", "shared_buffers",
                        "effective_io_concurrency")
    found["auto"] = sql(
        "LOAD 'skipidx'", *PLAN_SETTINGS,
        "SELECT count(*) FROM tiny_skipidx WHERE tsv @@ 'a'",
        "SELECT string_agg(method, ' ') FROM skipidx_io_methods()"
        " WHERE scope = 'session' AND pins > 0")[0]
    return found


# ---- cold ----

def files_of(table):
    """Paths of the table's and its indexes' files, all forks and segments."""
    directory, *found = sql(
        "SELECT current_setting('data_directory') UNION ALL SELECT"
        " pg_relation_filepath(oid) FROM pg_class WHERE oid = '{0}'::regclass"
        " OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid ="
        " '{0}'::regclass)".format(table))
    pattern = re.compile(r"\d+(_[a-z]+)?(\.\d+)?")
    numbers = {os.path.basename(path) for path in found}
    folder = os.path.join(directory, os.path.dirname(found[0]))
    for name in os.listdir(folder):
        if pattern.fullmatch(name) and re.match(r"\d+", name)[0] in numbers:
            yield os.path.join(folder, name)


def make_cold(table="docs"):
    subprocess.run(["bash", os.path.join(HERE, "restart.sh")], check=True)
    for path in files_of(table):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


# ---- one index ----

def explain(query):
    return ("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT count(*) FROM docs"
            " WHERE tsv @@ '%s'" % query)


def read_plan(text, index):
    """From EXPLAIN's output: ms of the index scan and of the statement."""
    entry = json.loads(text)[0]
    heap = entry["Plan"]["Plans"][0]
    scan = heap.get("Plans", [{}])[0]
    if scan.get("Index Name") != index:
        raise RuntimeError("no bitmap scan of %s: %s" % (index, text))
    return {"scan_ms": scan["Actual Total Time"],
            "query_ms": entry["Execution Time"],
            "planning_ms": entry["Planning Time"],
            "matches": heap["Actual Rows"],
            "blocks_read": scan["Shared Read Blocks"],
            "blocks_hit": scan["Shared Hit Blocks"]}


def difference(before, after):
    """Of counters, as far as they are numbers."""
    before, after = json.loads(before), json.loads(after)
    return {key: after[key] - before[key] for key in after
            if isinstance(after[key], int)}


def pages_of(result):
    """Of the index scan: skipidx's own reads are in the server's count too."""
    return max(result.get("pages_read", 0), result["blocks_read"])


def requests_of(result):
    """To the kernel; what the buffer manager read, it read block by block."""
    return (result.get("requests", 0) + pages_of(result) -
            result.get("pages_read", 0))


def depth_of(result):
    """Reads under way, on average, when one of skipidx's own was begun."""
    return max(1, result.get("depth_sum", 0) /
               max(result.get("requests", 0), 1))


def matches_of(index, queries):
    """How many rows each query finds by the index."""
    out = outputs(*PLAN_SETTINGS, "BEGIN", only(index), *map(explain, queries),
                  "ROLLBACK")
    return [int(read_plan(text, index)["matches"])
            for text in out[-1 - len(queries):-1]]


def matches_without(queries):
    """The same by reading the table once."""
    counts = ", ".join("count(*) FILTER (WHERE tsv @@ '%s')" % query
                       for query in queries)
    line, = sql("SET enable_bitmapscan = off", "SET enable_indexscan = off",
                "SELECT %s FROM docs" % counts)
    return [int(count) for count in line.split("|")]


def run_queries(engine, index, method, queries, repeats):
    """The queries once each, in a session of their own, then `repeats` times
    all of them again after one untimed time; returns what the first runs took
    and did, and a list of lists of the repeated ones."""
    chosen = ["SET skipidx.io_method = '%s'" % method] if method else []
    before = (["LOAD 'skipidx'"] + chosen + list(PLAN_SETTINGS) +
              ["SELECT count(*) FROM tiny_%s WHERE tsv @@ 'a'" % engine,
               COUNTERS, "BEGIN", only(index)])
    cold = [part for query in queries
            for part in (COUNTERS, explain(query), COUNTERS)]
    again = [explain(query) for query in queries]
    out = outputs(*before, *cold, *again * (1 + repeats if repeats else 0),
                  "ROLLBACK")
    first = out[len(before):len(before) + len(cold)]
    results = [dict(read_plan(first[i + 1], index),
                    **difference(first[i], first[i + 2]))
               for i in range(0, len(first), 3)]
    rest = [read_plan(text, index) for text in
            out[len(before) + len(cold) + len(again):-1]]
    n = len(queries)
    return results, [rest[i:i + n] for i in range(0, len(rest), n)]
