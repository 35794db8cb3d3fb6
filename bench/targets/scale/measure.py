"""measure.py FILE: measures ranked searches by skipidx, Lucene and Tantivy as a
text grows, and what building, memory and cold reads cost then; see README.md
beside it."""
import time

from harness.recombined import (check_disk, load_text, make_text,
                                remove_text)
from harness.record import in_turns, keep, option, save, step
from harness.scan import settings
from harness.searches import (STRATEGY, compare_hits, kind_of, rank_by,
                              rows_of, searches_of)
from harness.server import create_tiny, sql, temporary_files, version
from harness.timing import course_of, create_procedures, time_scan
from harness.watch import watched_build
from peers.peers import build_index, remove_index
from peers.searches import (WARM_FIRST, WARM_LATER, Peer, available_peers,
                            write_searches)
from targets.scale.clients import measure_clients
from targets.scale.cold import measure_cold, measure_memory
from targets.scale.queries import load_queries
from targets.scale.show import MODES, PLAIN, SUBJECT, as_made
from targets.scale.texts import wanted_texts
from targets.scale.tight import measure_tight

REPETITIONS = 5
COLD = 30
MEMORY = "1GB"


# ---- indexes ----

def build_subject(run, known):
    """Checks that the index has the words that were written, and no others."""
    step("build", SUBJECT)
    build = watched_build(SUBJECT, 0, MEMORY, temporary_files())
    segments, terms, words = sql(
        "SELECT count(*), max(terms), sum(positions) FROM"
        " skipidx_segments('docs_skipidx') WHERE kind = 'segment'"
    )[0].split("|")
    run["builds"].append({
        "text": known["text"], "engine": SUBJECT, "segments": int(segments),
        "commit_seconds": build["seconds"], "merge_seconds": 0,
        "cpu_seconds": build["cpu_seconds"], "bytes": build["bytes"],
        "peak_bytes": build["peak_bytes"], "merged_bytes": build["bytes"]})
    counts = (("words", int(words), known["words"]),
              ("distinct words", int(terms), known["distinct"]))
    run["wrong"] += [
        {"text": known["text"], "mode": mode, "series": SUBJECT,
         "query": None, "rows": [wanted, found]}
        for mode, found, wanted in counts[:2 if segments == "1" else 1]
        if found != wanted]


def build_peers(run, known):
    """The programs that search, by series: of one segment, and of as many as
    were made where these are several."""
    peers = {}
    for name in run["peers"]:
        step("build", name)
        segments = as_made(name)
        built = build_index(name, 1, segments + "_index")
        if built is None:
            run["peers_missing"].append("%s with %s" % (name, known["text"]))
            continue
        if built["documents"] != known["rows"]:
            raise RuntimeError("%s has not all rows" % name)
        run["builds"].append({"text": known["text"], "engine": name, **{
            key: value for key, value in built.items()
            if key not in ("documents", "threads")}})
        peers[name] = Peer(name)
        if built["copied_segments"] > 1:
            peers[segments] = Peer(name, segments + "_index")
        else:
            remove_index(segments + "_index")
    return peers


# ---- searches ----

def times_of(peers, series, mode, turn):
    kind, k = kind_of(mode), rows_of(mode)
    if series in peers:
        return peers[series].times(kind, k, REPETITIONS,
                                   WARM_LATER if turn else WARM_FIRST)
    return time_scan("docs_skipidx", searches_of(
        kind, ", skipidx_query(q, 'docs_skipidx')"), STRATEGY, k, False,
                     course_of(REPETITIONS))


def measure_searches(run, name, peers):
    """All series take turns within a mode."""
    rank_by(False)
    found = {}
    entries = [(mode, series) for mode in run["modes"]
               for series in (PLAIN, *peers)]
    for turn, (mode, series) in in_turns(entries, run["rounds"]):
        result = times_of(peers, series, mode, turn)
        run["wrong"] += [
            {"text": name, "mode": mode, "series": series, "query": number,
             "rows": rows} for number, rows in compare_hits(
                 found.setdefault(mode, {}), dict(enumerate(result["hits"])))]
        run["limit_told"] &= result.get("limit_told", True)
        run["times"].append({
            "text": name, "mode": mode, "series": series, "round": turn,
            "queries": None, "us": result["us"], "hits": sum(result["hits"])})
        ordered = sorted(result["us"])
        print("  %-9s %-18s median %9.1f us, %d rows" % (
            mode, series, ordered[len(ordered) // 2],
            run["times"][-1]["hits"]), flush=True)


def search_text(run, name, peers):
    step("searches", name)
    measure_searches(run, name, peers)
    for peer in peers.values():
        peer.stop()
        remove_index(peer.index)


def measure_text(run, wanted):
    began = time.monotonic()
    known = make_text(wanted)
    run["texts"].append(known)
    known["heap_bytes"] = load_text(known["rows"])
    known["made_seconds"] = round(time.monotonic() - began)
    build_subject(run, known)
    peers = build_peers(run, known)
    remove_text()
    search_text(run, known["text"], peers)
    step("several sessions", known["text"])
    measure_clients(run, known["text"])
    step("memory and cold reads", known["text"])
    measure_memory(run, known["text"])
    measure_cold(run, known["text"], int(option("SCALE_COLD", COLD)))
    step("caches of a tenth", known["text"])
    measure_tight(run, known["text"])
    sql("DROP TABLE docs")
    sql("CHECKPOINT")
    known["seconds"] = round(time.monotonic() - began)


def measure(run):
    texts = wanted_texts()
    check_disk(texts)
    found, missing = available_peers()
    run.update(modes=option("MODES", MODES).split(), repetitions=REPETITIONS,
               rows=max(one["rows"] for one in texts), server=version(),
               peers_missing=missing, peers=list(found),
               limit_told=True, texts=[], builds=[], times=[], memory=[],
               cold=[], tight=[], clients=[], wrong=[])
    create_tiny([SUBJECT])
    create_procedures()
    load_queries(run)
    write_searches(run["queries"])
    run["settings"] = settings()
    run["cache_in_force"] = sql(
        "SELECT in_force FROM skipidx_settings() WHERE name LIKE"
        " '%cache_size'")[0]
    for wanted in texts:
        measure_text(run, wanted)
        save(run)         # hours of measuring are not lost to a later text


if __name__ == "__main__":
    keep(measure, "scale")
