"""measure.py FILE: measures how long it takes to look up all rows with certain
words, by each size of blocks and each method of reading, cold and warm, beside
GIN and RUM; see README.md beside it."""
from harness.record import in_turns, keep, numbers, option, step
from harness.scan import make_cold, methods, run_queries, settings
from harness.server import build, engines_wanted, load_docs, sql, version
from harness.words import queries_of_kinds, sample, text

BLOCKS = "8k 16k 32k 64k 128k 256k 512k 1M"
REPEATS = 5
SUBJECT = "skipidx"


def build_all(run):
    """All indexes, and in run["series"] which of them is read how."""
    for engine in run["engines"]:
        blocks = run["blocks"] if engine == SUBJECT else [0]
        for block in blocks:
            index = "docs_%s" % engine + ("_%d" % block if block else "")
            step("build", index)
            size = build(index, engine, "WITH (block_size = '%dkB')" %
                         (block >> 10) if block else "")
            run["indexes"].append({"index": index, "bytes": size})
            for method in run["methods"] if engine == SUBJECT else [None]:
                run["series"].append({"engine": engine, "index": index,
                                      "block": block, "method": method})
    sql("CHECKPOINT")


def choose_queries(rows, corpus):
    queries = queries_of_kinds(rows, corpus)
    return {kind: queries[kind]
            for kind in option("KINDS", " ".join(queries)).split()}


def total(results):
    """Of several queries: sums."""
    return {key: round(sum(one[key] for one in results), 4)
            for key in results[0]}


def totals_of(repeated):
    """Only what is looked at of warm runs, to keep the file small."""
    totals = [total(one) for one in repeated]
    return {key: [one[key] for one in totals]
            for key in ("scan_ms", "query_ms", "matches")}


def prepare(run):
    path, limit = text()
    run.update(indexes=[], series=[], runs=[], methods=[],
               blocks=numbers("BLOCKS", BLOCKS), engines=engines_wanted())
    run["queries"] = choose_queries(sample(path, limit), run["corpus"])
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, run["engines"])
    run["server"] = version()
    if SUBJECT in run["engines"]:
        run["settings"] = settings()
        run["methods"] = methods()
        run["default_block"] = int(sql(
            "SELECT max(block_size) FROM skipidx_segments('tiny_skipidx_tsv')"
        )[0])
    build_all(run)


def measure(run):
    prepare(run)
    for turn, series in in_turns(run["series"], run["rounds"]):
        if series is run["series"][0 if turn % 2 == 0 else -1]:
            step("round", turn + 1)
        for kind, queries in run["queries"].items():
            make_cold()
            first, again = run_queries(series["engine"], series["index"],
                                       series["method"], queries, REPEATS)
            run["runs"].append(dict(
                index=series["index"], method=series["method"], kind=kind,
                round=turn, cold=total(first),
                warm=totals_of(again)))


if __name__ == "__main__":
    keep(measure, "lookup", rounds=5)
