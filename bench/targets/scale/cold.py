"""cold.py: what a ranked statement reads after a restart, and what a session
that ranks takes of memory; imported by measure.py."""
import json

from harness.report_base import MB, median
from harness.scan import COUNTERS, difference, make_cold
from harness.searches import RANKED, kind_of, rank_by, rows_of, searches_of
from harness.server import outputs, quoted, sql
from harness.timing import literal, nodes_of
from harness.watch import growth
from targets.scale.queries import cold_queries
from targets.scale.show import LONG, MEMORY_MODES, NEAR, PLAIN, PREFIXES

KINDS = {"AND": " & ", "OR": " | "}
ROWS = 10
PAGE = 8192
MANY = 50                 # words or prefixes of a long query
MOST_ROWS = 1000          # that it asks for
LONG_STATEMENTS = 20
PREFIX, PREFIX_STATEMENTS = 4, 3      # letters


def statement_of(kind, words):
    query = KINDS[kind].join(quoted(word) for word in words)
    return RANKED.format(quoted(query) + "::tsquery", ROWS)


def explain(statement):
    return "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement


def server_blocks(entry):
    """Read by the buffer manager, but for skipidx's own, which it is told of;
    planning reads, too."""
    return sum(part.get("Shared Read Blocks", 0) for part in (
        entry["Plan"], entry.get("Planning", {})))


def search_cold(statement, other):
    """By a session of a server just begun, which has run another one."""
    make_cold()
    *_, before, text, after = outputs(
        explain(other), COUNTERS, COUNTERS, explain(statement), COUNTERS)
    entry = json.loads(text)[0]
    io = difference(before, after)
    blocks = max(0, server_blocks(entry) - io["pages_read"])
    return {"ms": round(entry["Planning Time"] + entry["Execution Time"], 3),
            "requests": io["requests"] + blocks, "server_blocks": blocks,
            "index_bytes": io["pages_read"] * PAGE,
            "io_requests": io["requests"],
            "plan": nodes_of(entry["Plan"]),
            "io": {key: value for key, value in io.items() if value}}


def measure_cold(run, name, count):
    """Each in a cold server of its own."""
    pairs = cold_queries(run, count)
    if not pairs:
        return
    for variant, near in ((PLAIN, False), (NEAR, True)):
        rank_by(near)
        for kind in KINDS:
            found = [dict(text=name, mode="%s%d" % (kind, ROWS),
                          series=variant, words=" ".join(words), **search_cold(
                              statement_of(kind, words),
                              statement_of(kind, other)))
                     for words, other in pairs]
            run["cold"] += found
            print("  cold %-4s %-13s %d searches, median %.1f ms, %d requests"
                  % (kind, variant, len(found),
                     median([one["ms"] for one in found]),
                     median([one["requests"] for one in found])), flush=True)


def many_words(run, ending, length, count):
    """OR of MANY words, `ending` after each, `length` letters of it at most."""
    words = list(dict.fromkeys(
        word[:length] for query in run["queries"] for word in query["words"]))
    groups = [words[place:place + MANY]
              for place in range(0, len(words), MANY)]
    return [" | ".join(quoted(word) + ending for word in group)
            for group in groups[:count]]


def statements_of(run, mode):
    if mode == LONG:
        found, k = many_words(run, "", None, LONG_STATEMENTS), MOST_ROWS
    elif mode == PREFIXES:
        found, k = many_words(run, ":*", PREFIX, PREFIX_STATEMENTS), MOST_ROWS
    else:
        found, k = sql(searches_of(kind_of(mode))), rows_of(mode)
    return [RANKED.format(literal(query), k) for query in found]


def measure_memory(run, name):
    """Of a session that runs all searches of a mode as statements, over what
    it had before."""
    rank_by(True)
    for mode in MEMORY_MODES:
        statements = statements_of(run, mode)
        run["memory"].append(dict(text=name, mode=mode,
                                  statements=len(statements),
                                  **growth(["SELECT 1"], statements)))
        print("  memory %-12s %.1f MB at most" % (
            mode, run["memory"][-1]["most_bytes"] / MB), flush=True)
