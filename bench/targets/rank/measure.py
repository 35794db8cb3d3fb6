"""measure.py FILE: measures searches for the best rows by skipidx, in the
server and through pgbench, beside GIN with ts_rank_cd, RUM, Lucene and
Tantivy, on the same words; see README.md beside it."""
import os
import random

from harness.record import in_turns, keep, option, step, temporary
from harness.scan import settings
from harness.searches import (RANKED, STRATEGY, compare_hits, kind_of,
                              make_searches, rank_by, read_lines, rows_of,
                              searches_of)
from harness.server import (build, engines_wanted, fill, load_docs, only, sql,
                            stage, version, write_words)
from harness.timing import (course_of, create_procedures, literal, plans_of,
                            set_all, time_pgbench, time_scan, time_statement)
from harness.words import text
from peers.searches import (WARM_FIRST, WARM_LATER, build_peers,
                            write_searches)
from targets.rank.show import MODES, SUBJECT, VARIANTS, alternating, fast

REPETITIONS = 5
SLOW_SECONDS = 20                 # of GIN and RUM for each mode and round
STRATEGIES = {"skipidx": STRATEGY, "rum": 2}     # of the operator in ORDER BY
EXECUTIONS = 12                   # of each statement, by pgbench, each round
SLOW_STATEMENTS = 50
EXPRESSION = "to_tsvector('simple', body)"
STATEMENTS = {
    "skipidx": RANKED,
    "rum": "SELECT id FROM docs WHERE tsv @@ {0} ORDER BY tsv <=> {0}"
           " LIMIT {1}",
    "gin": "SELECT id FROM docs WHERE tsv @@ {0} ORDER BY"
           " ts_rank_cd(tsv, {0}) DESC LIMIT {1}",
    "expression": "SELECT id FROM texts WHERE " + EXPRESSION + " @@ {0}"
                  " ORDER BY " + EXPRESSION + " <@> {0} LIMIT {1}",
}
# Peers get all the help that their plans need.
SLOW_SETTINGS = [("enable_seqscan", "off"), ("work_mem", "256MB")]


# ---- what is searched ----

def load_queries(run):
    """The table searches, in an order drawn by seed."""
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    found = make_searches(lines, int(option("QUERIES", 1000)))
    run["ids"] = list(found)
    run["queries"] = [{"words": words} for words in found.values()]


def count_rows(queries, path):
    """In how many rows the rarest word of each query is: field `rarest`."""
    counts = {word: 0 for query in queries for word in query["words"]}
    wanted = set(counts)
    with open(path, encoding="utf-8") as file:
        for line in file:
            for word in wanted.intersection(
                    line.rstrip("\n").split("\t", 2)[2].split(" ")):
                counts[word] += 1
    for query in queries:
        query["rarest"] = min(counts[word] for word in query["words"])


def load_texts(path, limit):
    """The same words in a column of type text, for an index of an
    expression."""
    stage(path, limit)
    sql("CREATE TABLE texts AS SELECT id, title || ' ' || body AS body"
        " FROM staged ORDER BY id", "DROP TABLE staged",
        "SET maintenance_work_mem = '1GB'", "SET client_min_messages = error",
        "CREATE INDEX texts_expression ON texts USING skipidx (%s)"
        " WITH (proximity = 0)" % EXPRESSION, "VACUUM (FREEZE, ANALYZE) texts")


def order_slow(run):
    """The table slow: in which order the searches run that may not all be
    run."""
    run["slow"] = alternating(run)
    sql("CREATE TABLE slow (id int, place int)")
    fill("slow", ((run["ids"][number], place)
                  for place, number in enumerate(run["slow"])))


def build_all(run):
    for engine in run["engines"]:
        step("build", engine)
        run["indexes"][engine] = build("docs_" + engine, engine)
    if SUBJECT in run["engines"]:
        step("build", "of an expression")
        load_texts(*text())
    sql("CHECKPOINT")


# ---- one measurement ----

def slow_searches_of(kind, argument=""):
    return ("SELECT q%s FROM searches JOIN slow USING (id) WHERE mode = '%s'"
            " ORDER BY place" % (argument, kind))


def subject_times(mode, variant):
    kind, k = kind_of(mode), rows_of(mode)
    choice = VARIANTS[variant]
    sql(only("docs_skipidx"))
    rank_by(choice.get("proximity", False))
    course = course_of(REPETITIONS, fresh=choice.get("fresh", True))
    if choice.get("statement"):
        return time_statement(
            STATEMENTS[SUBJECT].format("$1", k), searches_of(kind), course,
            ["SET plan_cache_mode = force_generic_plan"])
    return time_scan("docs_skipidx", searches_of(
        kind, ", skipidx_query(q, 'docs_skipidx')"), STRATEGIES[SUBJECT], k,
                     choice.get("fetch", False), course)


def slow_times(mode, engine, seconds):
    """Engines that take so long for common words that not all searches are
    run: those that fit, twice, into the seconds, the second time is taken."""
    course = course_of(1, seconds=seconds / 2)
    kind, k = kind_of(mode), rows_of(mode)
    if engine == "rum":
        return time_scan("docs_rum", slow_searches_of(kind, ", q"),
                         STRATEGIES[engine], k, False, course)
    sql(only("docs_gin"))
    return time_statement(
        STATEMENTS[engine].format("$1", k), slow_searches_of(kind), course,
        ["SET plan_cache_mode = force_generic_plan"] + set_all(SLOW_SETTINGS))


def times_in_memory(run, series, mode, turn, peers):
    if series in peers:
        return peers[series].times(kind_of(mode), rows_of(mode), REPETITIONS,
                                   WARM_LATER if turn else WARM_FIRST)
    if series in VARIANTS:
        return subject_times(mode, series)
    return slow_times(mode, series, run["slow_seconds"])


def measure_searches(run, peers):
    """All series take turns within a mode."""
    entries = [(mode, series) for mode in run["modes"]
               for series in run["series"]]
    for turn, (mode, series) in in_turns(entries, run["rounds"]):
        result = times_in_memory(run, series, mode, turn, peers)
        numbers = (list(range(len(result["us"]))) if fast(series) else
                   run["slow"][:len(result["us"])])
        entry = {"mode": mode, "series": series, "round": turn,
                 "queries": None if fast(series) else numbers,
                 "us": result["us"], "hits": sum(result["hits"]),
                 "work": result["work"] if series in VARIANTS else None}
        if result.get("limit_told") is False and fast(series):
            run["limit_told"] = False
        run["wrong"] += [
            {"mode": mode, "series": series, "query": number, "rows": rows}
            for number, rows in compare_hits(
                run["found"].setdefault(mode, {}),
                dict(zip(numbers, result["hits"])))]
        run["times"].append(entry)
        ordered = sorted(result["us"])
        print("  %-9s %-18s %5d queries, median %9.1f us, %d rows" % (
            mode, series, len(ordered), ordered[len(ordered) // 2],
            entry["hits"]), flush=True)


# ---- through pgbench ----

def statements_of(name, mode):
    source = searches_of if fast(name) else slow_searches_of
    return [STATEMENTS[name].format(literal(q), rows_of(mode))
            for q in sql(source(kind_of(mode)))]


def pgbench_entries(run):
    """(what, mode, proximity)"""
    entries = []
    for mode in run["modes"]:
        if SUBJECT in run["engines"]:
            entries += [(SUBJECT, mode, False), (SUBJECT, mode, True),
                        ("expression", mode, False)]
        entries += [(engine, mode, False) for engine in run["engines"]
                    if engine != SUBJECT and rows_of(mode) == 10]
    return entries


def measure_pgbench(run):
    for turn, (name, mode, proximity) in in_turns(pgbench_entries(run),
                                                  run["rounds"]):
        slow = not fast(name)
        statements = statements_of(name, mode)
        if slow:
            statements = statements[:SLOW_STATEMENTS]
        if name != "expression":
            sql(only("docs_" + name))
        if name == SUBJECT:
            rank_by(proximity)
        chosen = SLOW_SETTINGS if slow else ()
        entry = {"name": name, "mode": mode, "proximity": proximity,
                 "round": turn,
                 "queries": run["slow"][:len(statements)] if slow else None,
                 "plans": None if turn else plans_of(statements, chosen)}
        entry.update(time_pgbench(statements, EXECUTIONS, chosen,
                                  run["slow_seconds"] if slow else 0))
        run["statements"].append(entry)
        known = sorted(us for us in entry["median"] if us is not None)
        print("  %-9s %-12s%s %5d statements, median %9.1f us" % (
            mode, name, " near" if proximity else "", len(known),
            known[len(known) // 2] if known else 0), flush=True)


def prepare(run):
    """The table, the searches and all indexes."""
    path, limit = text()
    step("load", run["corpus"])
    run["rows"] = load_docs(path, limit, run["engines"])
    run["server"] = version()
    load_queries(run)
    words = temporary("words.tsv")
    write_words(words)
    count_rows(run["queries"], words)
    write_searches(run["queries"])
    order_slow(run)
    create_procedures()
    build_all(run)
    if SUBJECT in run["engines"]:
        run["settings"] = settings()
    peers = build_peers(run)
    os.remove(words)
    return peers


def measure(run):
    run.update(
        modes=option("MODES", MODES).split(), limit=text()[1],
        slow_seconds=float(option("SECONDS", SLOW_SECONDS)),
        engines=engines_wanted(), indexes={}, times=[], statements=[],
        wrong=[], found={}, limit_told=True, repetitions=REPETITIONS)
    peers = prepare(run)
    run["series"] = list(VARIANTS) if SUBJECT in run["engines"] else []
    run["series"] += [name for name in ("rum", "gin")
                      if name in run["engines"]] + list(peers)
    step("searches")
    measure_searches(run, peers)
    for peer in peers.values():
        peer.stop()
    step("pgbench")
    measure_pgbench(run)
    for name in ("found", "ids", "slow"):
        del run[name]
    for query in run["queries"]:
        query["words"] = " ".join(query["words"])


if __name__ == "__main__":
    keep(measure, "rank")
