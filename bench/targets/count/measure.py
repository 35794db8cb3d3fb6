"""measure.py FILE: measures count(*) of what matches, by skipidx without and
with a look at the rows, by GIN, and by Lucene; see README.md beside it."""
import json
import random

from harness.levels import fill_levels, names
from harness.record import in_turns, keep, option, step, temporary
from harness.searches import (KINDS, compare_hits, make_searches, read_lines,
                              searches_of)
from harness.server import (build, engines_wanted, load_docs, only, outputs,
                            sql, version, write_words)
from harness.timing import (course_of, create_procedures, literal, nodes_of,
                            time_statement)
from harness.words import text
from peers.searches import WARM_FIRST, WARM_LATER, Peer, write_searches
from targets.count.show import PEER, PREPARED, ROWS, SERIES, SUBJECT

REPETITIONS = 5
SECONDS = 10
COUNTED = "SELECT count(*) FROM docs WHERE tsv @@ %s"
# Those that are compared with get all the help that their plans need.
HELP = ["SET enable_seqscan = off", "SET work_mem = '256MB'"]


def session_of(series):
    """Plans are made with the words known, within the time."""
    return (["SET plan_cache_mode = force_%s_plan" % (
        "generic" if series == PREPARED else "custom")] +
            (HELP if series not in (SUBJECT, PREPARED) else []) +
            (["SET skipidx.enable_custom_scan = off"] if series == ROWS else []))


def plan_of(entry):
    query = sql(searches_of(entry["kind"]) + " LIMIT 1")[0]
    before = session_of(entry["series"])
    out = outputs(*before, "EXPLAIN (FORMAT JSON) " +
                  COUNTED % literal(query))[-1]
    return nodes_of(json.loads(out)[0]["Plan"])


def times_of(run, turn, entry, peer):
    """Lucene has its words split, as a prepared statement has."""
    if entry["series"] == PEER:
        return peer.times(entry["kind"], 0, REPETITIONS,
                          WARM_LATER if turn else WARM_FIRST)
    sql(only("docs_" + SERIES[entry["series"]]))
    if turn == 0:
        run["plans"].append(dict(entry, nodes=plan_of(entry)))
    course = (course_of(REPETITIONS)
              if entry["series"] in (SUBJECT, PREPARED) else
              course_of(2, seconds=run["seconds"] / 3))
    return time_statement(COUNTED % "$1", searches_of(entry["kind"]),
                          course, session_of(entry["series"]))


def measure_entry(run, turn, entry, peer):
    result = times_of(run, turn, entry, peer)
    known = run["found"].setdefault(entry["kind"], {})
    run["wrong"] += [dict(entry, query=number, rows=rows) for number, rows in
                     compare_hits(known, dict(enumerate(result["hits"])))]
    n = len(result["us"])
    run["times"].append(dict(entry, round=turn, us=result["us"],
                             queries=list(range(n))))
    run["matches"].setdefault(entry["kind"], sum(result["hits"]) // n)
    print("  %-8s %-16s %5d queries, median %10.1f us" % (
        entry["kind"], entry["series"], n, sorted(result["us"])[n // 2]),
          flush=True)


def start_peer(run, words):
    """None where it cannot be had."""
    peer = Peer(PEER)
    if PEER not in option("PEERS", PEER).split() or not peer.available():
        return None
    step("build", PEER)
    write_words(temporary("words.tsv"))
    if peer.build() != run["rows"]:
        raise RuntimeError("%s has not all rows" % PEER)
    run["indexes"].append({"index": PEER, "bytes": peer.bytes})
    write_searches([{"words": words[number]} for number in sorted(words)])
    return peer


def prepare(run):
    """Returns the words of the searches."""
    path, limit = text()
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, run["engines"])
    run["server"] = version()
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    words = make_searches(lines, int(option("QUERIES", 200)))
    create_procedures()
    for engine in run["engines"]:
        step("build", engine)
        run["indexes"].append({"index": "docs_" + engine,
                               "bytes": build("docs_" + engine, engine)})
    fill_levels("docs_skipidx", run["rows"])
    sql("VACUUM ANALYZE docs")
    sql("CHECKPOINT")
    return words


def measure(run):
    run.update(engines=engines_wanted("gin skipidx"), indexes=[], times=[],
               plans=[], wrong=[], found={}, matches={},
               repetitions=REPETITIONS, kinds=names() + [k[0] for k in KINDS],
               seconds=float(option("SECONDS", SECONDS)))
    run["series"] = [series for series, engine in SERIES.items()
                     if engine in run["engines"]]
    peer = start_peer(run, prepare(run))
    step("counts")
    entries = [{"kind": kind, "series": series} for kind in run["kinds"]
               for series in run["series"]]
    if peer is not None:
        run["series"].append(PEER)
        entries += [{"kind": kind[0], "series": PEER} for kind in KINDS]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry, peer)
    if peer is not None:
        peer.stop()
    del run["found"]


if __name__ == "__main__":
    keep(measure, "count")
