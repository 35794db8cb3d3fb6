"""measure.py FILE: measures what it costs to find what was misspelt; see
README.md beside it."""
import json

from harness.misspelt import draw
from harness.record import keep, option, step
from harness.server import (build, load_docs, outputs, quoted, sql, version)
from harness.timing import literal
from harness.words import text
from targets.typos.show import EXACT, FORGIVING, SERIES, SUGGEST

INDEX = "docs_skipidx"
EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) "
RANKED = ("SELECT id FROM docs WHERE tsv @@ %s ORDER BY tsv <@> %s LIMIT 10")
# Statements of one word, as it should be and as it was typed.
STATEMENTS = {
    SUGGEST: lambda word, typed: "SELECT * FROM skipidx_suggest('%s', %s)" % (
        INDEX, quoted(typed)),
    EXACT: lambda word, typed: RANKED % ((literal(word),) * 2),
    FORGIVING: lambda word, typed: RANKED % tuple(
        "%s('%s', %s)" % (name, INDEX, quoted(typed))
        for name in ("skipidx_expand_query", "skipidx_expand")),
}


def terms_of():
    return [(term, int(df)) for term, df in (
        line.split("|") for line in sql(
            "SELECT term, df FROM skipidx_terms('%s', '', NULL)"
            " WHERE term ~ '^[a-z]{6,}$' ORDER BY term" % INDEX))]


def place_of(term, typed):
    """Where the word stands among all suggestions, from 1 on; 0: nowhere."""
    found = sql("SELECT term FROM skipidx_suggest('%s', %s, NULL)" % (
        INDEX, quoted(typed)))
    return found.index(term) + 1 if term in found else 0


def time_words(run, series):
    """A session has each word once, since it keeps what it has found."""
    statements = [EXPLAIN + STATEMENTS[series](one["term"], one["typed"])
                  for one in run["words"]]
    before = ("LOAD 'skipidx'", "SELECT * FROM skipidx_suggest('%s', 'a')" %
              INDEX)
    plans = outputs(*before, *statements)[len(before):]
    for one, plan in zip(run["words"], plans):
        plan = json.loads(plan)[0]
        one[series].append(plan["Planning Time"] + plan["Execution Time"])


def measure(run):
    path, limit = text()
    run["seed"] = int(option("SEED", 1))
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, ["skipidx"])
    run["server"] = version()
    step("build")
    run["bytes"] = build(INDEX, "skipidx")
    terms = terms_of()
    run["terms"] = len(terms)
    step("words")
    run["words"] = [
        {"term": term, "df": df, "typed": typed, "place": place_of(term, typed),
         **{series: [] for series in SERIES}}
        for term, df, typed in draw(terms, int(option("MISSPELT", 400)),
                                    run["seed"])]
    for _ in range(run["rounds"]):
        for series in SERIES:
            time_words(run, series)


if __name__ == "__main__":
    keep(measure, "typos", rounds=5)
