#!/usr/bin/env python3
"""rank.py measure FILE.json: measures searches for the best rows by skipidx, in
the server and through pgbench, beside GIN with ts_rank_cd, RUM, Lucene and
Tantivy, on the same words; keeps and prints it; run_rank.sh calls it.
rank.py show FILE.json ...: prints files again.
rank.py worst FILE.json MODE: the queries that take skipidx longest.
"""
import os
import random
import subprocess
import sys

from peers.peers import write_words
from targets.rank.show import (MODES, SUBJECT, VARIANTS, alternating, fast, kind_of,
                         rows_of, show, worst)
from harness.record import (available, begin, command_line, in_turns, keep, load,
                    numbers, option, step)
from harness.scan import ENGINES, build, load_docs, settings, sql
from peers.searches import PEERS, Peer, write_searches
from harness.timing import (course_of, create_procedures, literal, plans_of,
                    set_all, show_only, time_pgbench, time_scan,
                    time_statement)

REPETITIONS = 5
WARM_FIRST, WARM_LATER = 6, .5    # seconds, of programs that compile as they run
SLOW_SECONDS = 20                 # of GIN and RUM for each mode and round
STRATEGIES = {"skipidx": 3, "rum": 2}     # of the operator in ORDER BY
EXECUTIONS = 12                   # of each statement, by pgbench, each round
SLOW_STATEMENTS = 50
EXPRESSION = "to_tsvector('simple', body)"
STATEMENTS = {
    "skipidx": "SELECT id FROM docs WHERE tsv @@ {0} ORDER BY tsv <@> {0}"
               " LIMIT {1}",
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

def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[-1] for line in file]


def load_queries(run, path, limit):
    """The table searches: id, mode and q of each line that has words, in an
    order drawn by seed; their words as to_tsvector splits them."""
    lines = read_lines(path)
    random.Random(int(option("SEED", 1))).shuffle(lines)
    sql("CREATE TABLE lines (id int, line text)",
        "CREATE TABLE searches (id int, mode text, q tsquery)")
    subprocess.run(
        ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", "COPY lines FROM STDIN"],
        input="".join("%d\t%s\n" % (i, line.replace("\\", "\\\\"))
                      for i, line in enumerate(lines)), text=True, check=True)
    sql("CREATE TABLE words AS SELECT id, array_agg(lexeme ORDER BY place)"
        " AS words FROM lines, unnest(to_tsvector('simple', line)),"
        " unnest(positions) place GROUP BY id ORDER BY id LIMIT %d" % limit)
    quote = (r"'''' || replace(replace(word, '\', '\\'), '''', '''''')"
             " || ''''")
    for mode, operator, distinct in (("AND", " & ", "min(place)"),
                                     ("OR", " | ", "min(place)"),
                                     ("PHRASE", " <-> ", "place")):
        sql("INSERT INTO searches SELECT id, '%s', string_agg(%s, '%s'"
            " ORDER BY place)::tsquery FROM (SELECT id, word, %s AS place FROM"
            " words, unnest(words) WITH ORDINALITY w (word, place) GROUP BY id,"
            " word%s) s GROUP BY id ORDER BY id" % (
                mode, quote, operator, distinct,
                ", place" if mode == "PHRASE" else ""))
    sql("ANALYZE searches")
    run["ids"] = [int(line) for line in sql("SELECT id FROM words ORDER BY id")]
    run["queries"] = [{"words": line.split(" ")} for line in sql(
        "SELECT array_to_string(words, ' ') FROM words ORDER BY id")]


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
    sql("CREATE UNLOGGED TABLE staged (id int, title text, body text)")
    with subprocess.Popen(["head", "-n", str(limit), path],
                          stdout=subprocess.PIPE) as lines:
        subprocess.run(["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c",
                        "COPY staged FROM STDIN"], stdin=lines.stdout,
                       check=True)
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
    subprocess.run(
        ["psql", "-Xq", "-v", "ON_ERROR_STOP=1", "-c", "COPY slow FROM STDIN"],
        input="".join("%d\t%d\n" % (run["ids"][number], place)
                      for place, number in enumerate(run["slow"])),
        text=True, check=True)


def build_all(run):
    for engine in run["engines"]:
        step("build", engine)
        run["indexes"][engine] = build("docs_" + engine, engine)
    if SUBJECT in run["engines"]:
        step("build", "of an expression")
        load_texts(option("TEXT", ""), run["limit"])
    sql("CHECKPOINT")


def start_peers(run):
    peers = {name: Peer(name) for name in option("PEERS", PEERS).split()}
    run["peers_missing"] = [name for name in peers
                            if not peers[name].available()]
    for name in run["peers_missing"]:
        del peers[name]
    for name, peer in peers.items():
        step("build", name)
        if peer.build() != run["rows"]:
            raise RuntimeError("%s has not all rows" % name)
        run["indexes"][name] = peer.bytes
    return peers


# ---- one measurement ----

def rank_by(proximity):
    """Whether pairs of words count: with the default weight, or not at all."""
    sql("ALTER INDEX docs_skipidx " +
        ("RESET (proximity)" if proximity else "SET (proximity = 0)"))


def searches_of(kind, argument=""):
    return "SELECT q%s FROM searches WHERE mode = '%s' ORDER BY id" % (
        argument, kind)


def slow_searches_of(kind, argument=""):
    return ("SELECT q%s FROM searches JOIN slow USING (id) WHERE mode = '%s'"
            " ORDER BY place" % (argument, kind))


def subject_times(mode, variant):
    kind, k = kind_of(mode), rows_of(mode)
    choice = VARIANTS[variant]
    show_only("docs_skipidx")
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
    show_only("docs_gin")
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
        entry = {"mode": mode, "series": series, "round": turn,
                 "us": result["us"], "hits": sum(result["hits"])}
        if series in VARIANTS:
            entry["work"] = result["work"]
        if result.get("limit_told") is False and fast(series):
            run["limit_told"] = False
        if not fast(series):
            entry["queries"] = run["slow"][:len(result["us"])]
        compare_hits(run, mode, series, dict(zip(
            entry.get("queries", range(len(result["hits"]))), result["hits"])))
        run["times"].append(entry)
        ordered = sorted(result["us"])
        print("  %-9s %-18s %5d queries, median %9.1f us, %d rows" % (
            mode, series, len(ordered), ordered[len(ordered) // 2],
            entry["hits"]), flush=True)


def compare_hits(run, mode, series, hits):
    """With what the first series found that ran the query."""
    known = run["found"].setdefault(mode, {})
    for number, rows in hits.items():
        if known.setdefault(number, rows) != rows:
            run["wrong"].append({"mode": mode, "series": series,
                                 "query": number,
                                 "rows": [known[number], rows]})


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
            show_only("docs_" + name)
        if name == SUBJECT:
            rank_by(proximity)
        chosen = SLOW_SETTINGS if slow else ()
        entry = {"name": name, "mode": mode, "proximity": proximity,
                 "round": turn}
        if slow:
            entry["queries"] = run["slow"][:len(statements)]
        if turn == 0:
            entry["plans"] = plans_of(statements, chosen)
        entry.update(time_pgbench(statements, EXECUTIONS, chosen,
                                  run["slow_seconds"] if slow else 0))
        run["statements"].append(entry)
        known = sorted(us for us in entry["median"] if us is not None)
        print("  %-9s %-12s%s %5d statements, median %9.1f us" % (
            mode, name, " near" if proximity else "", len(known),
            known[len(known) // 2] if known else 0), flush=True)


def measure(path):
    run = begin("rank")
    run.update(
        corpus=option("CORPUS", ""), rounds=int(option("ROUNDS", 3)),
        modes=option("MODES", MODES).split(), limit=numbers("LIMIT", "1G")[0],
        slow_seconds=float(option("SECONDS", SLOW_SECONDS)),
        engines=available(option("ENGINES", "gin rum skipidx").split(),
                          ENGINES, sql),
        indexes={}, times=[], statements=[], wrong=[], found={},
        limit_told=True, repetitions=REPETITIONS)
    step("load", run["corpus"])
    run["rows"] = load_docs(option("TEXT", ""), run["limit"], run["engines"])
    run["server"] = sql("SHOW server_version")[0]
    load_queries(run, option("QUERY_FILE", ""), int(option("QUERIES", 1000)))
    words = os.path.join(option("TEMP", "/tmp"), "words.tsv")
    write_words(words)
    count_rows(run["queries"], words)
    write_searches(run["queries"])
    order_slow(run)
    create_procedures()
    build_all(run)
    if SUBJECT in run["engines"]:
        run["settings"] = settings()
    peers = start_peers(run)
    os.remove(words)
    run["series"] = list(VARIANTS) if SUBJECT in run["engines"] else []
    run["series"] += [name for name in ("rum", "gin")
                      if name in run["engines"]] + list(peers)
    step("searches")
    measure_searches(run, peers)
    for peer in peers.values():
        peer.stop()
    del run["found"], run["ids"]
    step("pgbench")
    measure_pgbench(run)
    del run["slow"]
    for query in run["queries"]:
        query["words"] = " ".join(query["words"])
    keep(run, path, ("queries", "times", "statements", "wrong"))
    return show(run, path)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "worst":
        worst(load(sys.argv[2]), sys.argv[3])
    else:
        sys.exit(command_line(__doc__, measure, show))
