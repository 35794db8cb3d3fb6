"""measure.py FILE: measures the ten best rows by any of few and of many words,
in the server, beside Lucene and Tantivy; see README.md beside it."""
import os
import random

from harness.record import in_turns, keep, option, step, temporary
from harness.scan import settings
from harness.searches import (STRATEGY, compare_hits, make_searches, rank_by,
                              read_lines, rows_of, kind_of, searches_of)
from harness.server import build, load_docs, only, sql, version, write_words
from harness.timing import course_of, create_procedures, time_scan
from harness.words import text
from peers.searches import (WARM_FIRST, WARM_LATER, build_peers,
                            write_searches)
from targets.words.show import MODE, SIZES, SUBJECT, VARIANTS

REPETITIONS = 5


def draw_lines(words, sizes, number):
    """So many lines of each size, of different words at random, by seed."""
    draw = random.Random(int(option("SEED", 1)))
    return [" ".join(draw.sample(words, min(size, len(words))))
            for size in sizes for _ in range(number)]


def load_queries(run):
    """The table searches, made of words of the query file: those that
    to_tsvector leaves as they are, so that each line has as many as it is
    to have."""
    words = sorted({word for line in read_lines(option("QUERY_FILE", ""))
                    for word in line.split() if word.isalnum()})
    lines = draw_lines(words, run["sizes"], int(option("QUERIES", 300)))
    found = make_searches(lines, len(lines))
    run["queries"] = [{"words": query} for query in found.values()]


def subject_times(variant):
    sql(only("docs_skipidx"))
    rank_by(VARIANTS[variant]["proximity"])
    return time_scan("docs_skipidx", searches_of(
        kind_of(MODE), ", skipidx_query(q, 'docs_skipidx')"), STRATEGY,
                     rows_of(MODE), False, course_of(REPETITIONS))


def times_of(series, turn, peers):
    if series in VARIANTS:
        return subject_times(series)
    return peers[series].times(kind_of(MODE), rows_of(MODE), REPETITIONS,
                               WARM_LATER if turn else WARM_FIRST)


def measure_searches(run, peers):
    for turn, series in in_turns(run["series"], run["rounds"]):
        result = times_of(series, turn, peers)
        run["times"].append({"series": series, "round": turn, "queries": None,
                             "us": result["us"], "hits": sum(result["hits"]),
                             "work": result.get("work")})
        run["wrong"] += [
            {"series": series, "query": number, "rows": rows}
            for number, rows in compare_hits(
                run["found"], dict(enumerate(result["hits"])))]
        print("  %-14s %d rows" % (series, sum(result["hits"])), flush=True)


def measure(run):
    path, limit = text()
    run.update(sizes=[int(size) for size in option("SIZES", SIZES).split()],
               times=[], wrong=[], found={}, indexes={})
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, [SUBJECT])
    run["server"] = version()
    load_queries(run)
    words = temporary("words.tsv")
    write_words(words)
    write_searches(run["queries"])
    create_procedures()
    step("build", SUBJECT)
    run["indexes"][SUBJECT] = build("docs_skipidx", SUBJECT)
    run["settings"] = settings()
    sql("CHECKPOINT")
    peers = build_peers(run)
    os.remove(words)
    run["series"] = list(VARIANTS) + list(peers)
    step("searches")
    measure_searches(run, peers)
    for peer in peers.values():
        peer.stop()
    del run["found"]
    for query in run["queries"]:
        query["words"] = " ".join(query["words"])


if __name__ == "__main__":
    keep(measure, "words")
