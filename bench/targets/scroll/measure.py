"""measure.py FILE: measures how long it takes to read all rows that match a
common word, page by page; see README.md beside it."""
import os
import time

from harness.record import in_turns, keep, numbers, option, step, temporary
from harness.scan import make_cold
from harness.server import build, load_docs, only, sql, version
from harness.words import text
from targets.scroll.pages import (cursor_script, go, keyset_script,
                                  offset_script, read, scroll_script, start)
from targets.scroll.show import INDEXES, SLICES, series_of

PREPARED = ["LOAD 'skipidx';", "SET enable_seqscan = off;",
            "SET work_mem = '256MB';"]
# Shared memory is made and the library is loaded before a time is taken.
TOUCHED = ("SELECT count(*) FROM tiny_skipidx WHERE tsv @@ 'a' \\g"
           " /dev/null")


def choose_word(run):
    run["word"] = option("WORD", "") or sql(
        "SELECT term FROM skipidx_terms('docs_skipidx', '', 1)")[0]
    count, total = sql("SELECT count(*), sum(id) FROM docs WHERE tsv @@ '%s'"
                       % run["word"])[0].split("|")
    run["matches"], run["sum"] = int(count), int(total)


def given(run):
    return {"word": run["word"], "size": run["size"]}


def before(run, entry):
    """What a session sets; and plans that read by the index that is meant."""
    lines = PREPARED + ["SET skipidx.io_method = '%s';" % entry["method"],
                        TOUCHED]
    if entry["series"] == "keyset, skipidx":
        lines.append("SET enable_sort = off;")
    return lines


def run_offset(run, entry):
    """Some pages, and what all of them would take."""
    pages = -(-run["matches"] // run["size"])
    sampled = sorted({round(i * (pages - 1) / max(run["sampled"] - 1, 1))
                      for i in range(run["sampled"])})
    order = " ORDER BY id" if "gin" in entry["series"] else ""
    process = start(before(run, entry), offset_script(
        given(run), order, [page * run["size"] for page in sampled]))
    go(process)
    found = read(process)
    return {"ms": [ms for ms, _, _ in found], "places": sampled,
            "seconds": sum(ms for ms, _, _ in found) / len(found) * pages /
            1000, "rows": [], "sum": run["sum"]}


def run_cursor(run, entry):
    path = temporary("rows")
    pages = -(-run["matches"] // run["size"])
    process = start(before(run, entry), cursor_script(given(run), pages, path))
    began = time.monotonic()
    go(process)
    read(process)
    seconds = time.monotonic() - began
    with open(path, encoding="utf-8") as file:
        ids = [int(line) for line in file if line.strip().isdigit()]
    os.remove(path)
    return {"ms": [], "places": [], "seconds": seconds, "rows": [len(ids)],
            "sum": sum(ids)}


def finished(processes, began):
    pages = [read(process) for process in processes]
    seconds = time.monotonic() - began
    return {"ms": [ms for ms, _, _ in pages[0]],
            "places": list(range(len(pages[0]))), "seconds": seconds,
            "rows": [sum(n for _, n, _ in one) for one in pages],
            "sum": sum(s for one in pages for _, _, s in one)}


def run_keyset(run, entry):
    process = start(before(run, entry), keyset_script(
        given(run), -(-run["matches"] // run["size"])))
    began = time.monotonic()
    go(process)
    return finished([process], began)


def run_scroll(run, entry):
    """All slices under one snapshot."""
    slices = SLICES[entry["series"]]
    holder = start(["BEGIN ISOLATION LEVEL REPEATABLE READ;",
                    "\\o %s" % temporary("snapshot"),
                    "SELECT pg_export_snapshot();", "\\o"], [])
    with open(temporary("snapshot"), encoding="utf-8") as file:
        snapshot = file.read().strip()
    processes = [start(before(run, entry), scroll_script(
        given(run), part, slices, run["matches"] // run["size"] + 2,
        snapshot)) for part in range(slices)]
    began = time.monotonic()
    for process in processes:
        go(process)
    found = finished(processes, began)
    go(holder)
    read(holder)
    return found


def run_entry(run, entry):
    series = entry["series"]
    sql(only(*INDEXES[series]))
    if series.startswith("OFFSET"):
        return run_offset(run, entry)
    if series.startswith("cursor"):
        return run_cursor(run, entry)
    if series.startswith("keyset"):
        return run_keyset(run, entry)
    return run_scroll(run, entry)


def measure_entry(run, turn, entry):
    if entry["cold"]:
        make_cold()
    found = run_entry(run, entry)
    run["runs"].append(dict(entry, round=turn, **found))
    print("  %-4s %-14s %-18s %9.2f s" % (
        "cold" if entry["cold"] else "warm", entry["method"], entry["series"],
        found["seconds"]), flush=True)


def prepare(run):
    path, limit = text()
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, ["gin", "skipidx"])
    run["server"] = version()
    step("build")
    build("docs_gin", "gin")
    build("docs_skipidx", "skipidx")
    sql("SET maintenance_work_mem = '1GB'",
        "CREATE INDEX docs_keyed ON docs USING skipidx (tsv, id)",
        "CREATE INDEX docs_id ON docs (id)")
    choose_word(run)
    sql("VACUUM ANALYZE docs")
    sql("CHECKPOINT")


def measure(run):
    run.update(size=int(option("SIZE", 1000)), runs=[],
               sampled=int(option("SAMPLED", 20)),
               methods=option("METHODS", "buffered uring_direct").split(),
               slices=numbers("SLICES", "1 2 4 8"))
    prepare(run)
    run["series"] = series_of(run["slices"])
    step(run["word"], run["matches"], "rows")
    # GIN, btree and the server's own reads are the same by every method
    entries = [{"series": series, "method": method, "cold": cold}
               for cold in (False, True) for method in run["methods"]
               for series in run["series"]
               if "skipidx" in series or method == run["methods"][0]]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry)


if __name__ == "__main__":
    keep(measure, "scroll", rounds=2)
