"""measure.py FILE: measures how many rows with the words of "to be or not to
be" skipidx ranks in a second, when a search may take 150 ms, by each size of
blocks and each method of reading, cold and warm; see README.md beside it."""
from harness.record import in_turns, keep, numbers, option, step
from harness.report_base import size_name
from harness.scan import (COUNTERS, difference, make_cold, matches_without,
                          methods, settings)
from harness.searches import STRATEGY
from harness.server import build, load_docs, outputs, sql, version
from harness.timing import course_of, create_procedures, result_of, scan_call
from harness.words import common_words, sample, text

BLOCKS = "8k 32k 128k 1M"
BUDGET_MS = 150
KINDS = {"and": " & ", "phrase": " <-> ", "or": " | "}
ROWS = {"all": None, "10": 10}
REPEATS = 5
SUBJECT = "skipidx"


def choose_queries(rows, corpus):
    words = common_words(rows, corpus)
    return {kind: KINDS[kind].join(
        words if kind == "phrase" else dict.fromkeys(words))
            for kind in option("KINDS", " ".join(KINDS)).split()}


def build_all(run):
    for block in run["blocks"]:
        index = "docs_skipidx_%d" % block
        step("build", index)
        size = build(index, SUBJECT, "WITH (block_size = '%dkB')" %
                     (block >> 10))
        run["indexes"].append({"index": index, "block": block, "bytes": size})
    sql("CHECKPOINT")


def points(run):
    return [{"block": block, "method": method, "kind": kind, "rows": rows}
            for kind in run["queries"] for rows in run["ranked"]
            for block in run["blocks"] for method in run["methods"]]


def searches_of(query, index):
    return "SELECT %s, skipidx_query(%s, '%s')" % (
        ("'%s'::tsquery" % query,) * 2 + (index,))


def search_once(run, point):
    """A search in a new session, which has done what no reading is before,
    then the same again and again."""
    index = "docs_skipidx_%d" % point["block"]
    query = run["queries"][point["kind"]]
    wanted = ROWS[point["rows"]] or run["matches"][point["kind"]]
    before = ["LOAD 'skipidx'", "SET skipidx.io_method = '%s'" %
              point["method"], "SET skipidx.search_budget = %d" % BUDGET_MS,
              scan_call("tiny_skipidx_tsv", searches_of(
                  "a", "tiny_skipidx_tsv"), STRATEGY, 10, False,
                        course_of(1)), COUNTERS]
    searches = searches_of(query, index)
    out = outputs(
        *before, scan_call(index, searches, STRATEGY, wanted, False,
                           course_of(1, warm=False)), COUNTERS,
        scan_call(index, searches, STRATEGY, wanted, False,
                  course_of(REPEATS)))
    cold, after, warm = out[len(before):]
    cold, warm = result_of(cold), result_of(warm)
    cold["io"] = {key: value for key, value in difference(
        out[len(before) - 1], after).items() if value}
    return cold, warm


def flat(result):
    """Of the one search."""
    return dict(result["work"], us=result["us"][0], hits=result["hits"][0],
                **({"io": result["io"]} if "io" in result else {}))


def prepare(run):
    path, limit = text()
    run.update(indexes=[], runs=[], budget_ms=BUDGET_MS,
               blocks=numbers("BLOCKS", BLOCKS),
               ranked=option("RANKED", " ".join(ROWS)).split())
    run["queries"] = choose_queries(sample(path, limit), run["corpus"])
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, [SUBJECT])
    run["server"] = version()
    run["settings"] = settings()
    run["methods"] = methods()
    run["matches"] = dict(zip(run["queries"], matches_without(
        list(run["queries"].values()))))
    create_procedures()
    build_all(run)


def measure(run):
    prepare(run)
    for turn, point in in_turns(points(run), run["rounds"]):
        make_cold()
        cold, warm = search_once(run, point)
        run["runs"].append(dict(point, round=turn, cold=flat(cold),
                                warm=flat(warm)))
        print("  %-7s %-4s %-7s %-15s cold %9.2f ms, %7d rows; warm %9.2f ms, "
              "%7d rows" % (
                  point["kind"], point["rows"], size_name(point["block"]),
                  point["method"], cold["us"][0] / 1e3, cold["hits"][0],
                  warm["us"][0] / 1e3, warm["hits"][0]), flush=True)


if __name__ == "__main__":
    keep(measure, "execution")
