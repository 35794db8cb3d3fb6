"""measure.py FILE: measures whole statements over a socket, by skipidx, by GIN
with ts_rank and by pg_textsearch, and their parts; see README.md beside it."""
import json
import os
import random
import re
from contextlib import contextmanager

from harness.record import in_turns, keep, option, step
from harness.report_base import MB, median
from harness.server import (COLUMNS_SQL, create_extensions, engines_wanted,
                            measured_build, outputs, quoted, run_file, sql,
                            stage, version)
from harness.timing import nodes_of, set_all
from harness.words import text
from targets.statement.answers import check_answers
from targets.statement.client import compile_client, lane, run_client
from targets.statement.planning import measure_planning
from targets.statement.show import (CLASSES, CLIENTS, PROTOCOLS,
                                    RARE_SHARE, places_of)
from targets.statement.statements import (
    CONFIG, CREATE_OTHER, CREATE_SMALL, DRAWN, ENGINES, FIRST, INSERT,
    INSERTED, INSERT_SETTINGS, PREPARED_SETTINGS, SAME_NUMBER, SAME_ROWS,
    SEARCHES, SMALL, SMALL_SETTINGS, SMALL_WORDS, SUBJECT, TEXT, YARDSTICK,
    first_statement, search_of, select, value_of, with_literal,
    with_parameter)

QUERIES, PASSES, SECONDS = 150, 2, 2
SOCKETS = 200          # `SELECT 1` of each client
SMALLS = 1000          # statements on the small table
CONNECTIONS = 100
INSERTS = 100
PARTS = 25             # queries of each class


def number_of(name, default):
    return int(option(name, default))


@contextmanager
def database(name):
    """What is run within goes there."""
    before = os.environ["PGDATABASE"]
    os.environ["PGDATABASE"] = name
    yield
    os.environ["PGDATABASE"] = before


# ---- databases ----

def load_text():
    """The rows, as a table that all databases begin with."""
    path, limit = text()
    run_file(COLUMNS_SQL)
    stage(path, limit)
    sql("CREATE TABLE docs AS SELECT id, title, body%s FROM staged ORDER BY id"
        % DRAWN, "DROP TABLE staged",
        "ALTER TABLE docs ALTER id SET NOT NULL, ADD PRIMARY KEY (id)",
        "CREATE SEQUENCE new_id START 1000000001", *CREATE_OTHER,
        "CHECKPOINT")
    return int(sql("SELECT count(*) FROM docs")[0])


def create_database(run, name):
    engine = ENGINES[name]
    sql("CREATE DATABASE %s TEMPLATE postgres STRATEGY file_copy" % name)
    with database(name):
        create_extensions([name], ENGINES)
        if engine.before:
            sql("SET client_min_messages = error", *engine.before)
        build = measured_build("text", "1GB", 0, clause=engine.clause)
        if engine.after:
            sql(*engine.after)
        if name in (YARDSTICK, SUBJECT):
            for statement in CREATE_SMALL:
                sql(statement.replace("{engine}", name))
        sql("VACUUM (FREEZE, ANALYZE)")
    run["builds"].append({"engine": name, "seconds": build["seconds"],
                          "bytes": build["bytes"]})
    print("  %-14s %7.2f s %7.1f MB" % (name, build["seconds"],
                                        build["bytes"] / MB), flush=True)


# ---- queries ----

def drawn_lines():
    """Class and words of each line, in an order drawn by seed."""
    with open(option("QUERY_FILE", ""), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    random.Random(number_of("SEED", 1)).shuffle(lines)
    return [(kind, re.findall("[a-z0-9]+", words.lower()))
            for kind, words in lines]


def lexemes_of(lines):
    """What the configuration makes of each, once each."""
    texts = ", ".join(quoted(" ".join(words)) for _, words in lines)
    found, = outputs(
        "SELECT array_to_string(tsvector_to_array(to_tsvector('%s', line)),"
        " ' ') FROM unnest(ARRAY[%s]) WITH ORDINALITY l (line, place)"
        " ORDER BY place" % (CONFIG, texts))
    return [line.split() for line in found.split("\n")]


def frequency_of(lexemes):
    """In how many rows each is."""
    column = TEXT if SUBJECT == os.environ["PGDATABASE"] else "tsv"
    counts = outputs(*("SELECT count(*) FROM docs WHERE %s @@ %s::tsquery" % (
        column, quoted(quoted(one))) for one in lexemes))
    return {one: int(count) for one, count in zip(lexemes, counts)}


def make_queries(run):
    """Of lines with two lexemes and more, and without "or", which is an
    operator; `neighbours` are words of a row that stand side by side, which
    phrases are made of."""
    lines = drawn_lines()
    kept = [(line, lexemes) for line, lexemes in zip(lines, lexemes_of(lines))
            if len(lexemes) > 1 and "or" not in line[1]]
    kept = kept[:number_of("QUERIES", QUERIES)]
    found = {}
    distinct = sorted({one for _, lexemes in kept for one in lexemes})
    for first in range(0, len(distinct), 100):
        found.update(frequency_of(distinct[first:first + 100]))
    run["queries"] = [
        {"words": " ".join(words), "lexemes": " ".join(lexemes),
         "neighbours": kind.startswith("ng"),
         "rarest": min(found[one] for one in lexemes)}
        for (kind, words), lexemes in kept]
    run["rare_rows"] = max(5, int(RARE_SHARE * run["rows"]))
    print("  %d queries, the rarest word of %d in at most %d rows" % (
        len(run["queries"]), sum(one["rarest"] <= run["rare_rows"]
                                 for one in run["queries"]),
        run["rare_rows"]), flush=True)


def words_of(run, number):
    return run["queries"][number]["words"].split()


# ---- searches ----

def lane_of(run, entry):
    engine, name = entry["engine"], entry["class"]
    prepared = entry["protocol"] == "prepared"
    search = search_of(engine, name, prepared)
    values = [value_of(search, words_of(run, number))
              for number in places_of(run, name)]
    if not prepared:
        return lane(engine, [with_literal(select(search), value)
                             for value in values])
    return lane(engine, [[value] for value in values],
                prepared=with_parameter(select(search)),
                settings=PREPARED_SETTINGS.get((engine, name), ()))


def compare_found(run, entry, found):
    """With what the same class gave before: as many rows by one engine, and
    the same by skipidx, in each protocol and round; the same, or as many, by
    GIN."""
    name, engine = entry["class"], entry["engine"]
    seen = [((name, engine, "rows"), found["rows"])]
    if name in SAME_ROWS:
        seen.append(((name, "hashes"), found["hashes"]))
    elif engine == SUBJECT:
        seen.append(((name, engine, "hashes"), found["hashes"]))
    if name in SAME_NUMBER:
        seen.append(((name, "rows"), found["rows"]))
    for key, values in seen:
        known = run["found"].setdefault(key, {})
        for place, value in zip(places_of(run, name), values):
            if known.setdefault(place, value) != value:
                run["wrong"].append({"class": name, "engine": engine,
                                     "query": place,
                                     "found": [known[place], value]})


def measure_entry(run, turn, entry):
    one = entry["clients"] == 1
    result = run_client([lane_of(run, entry)], clients=entry["clients"],
                        passes=PASSES if one else 1, seconds=run["seconds"])
    found = result["lanes"][0]
    compare_found(run, entry, found)
    run["times"].append(dict(entry, round=turn, n=result["n"],
                             hits=sum(found["rows"]), us=found["us"]))
    print("  %-10s %-14s %-8s %d client%s %4d queries, median %10.1f us" % (
        entry["class"], entry["engine"], entry["protocol"], entry["clients"],
        " " if one else "s", result["n"],
        median([us for times in found["us"] for us in times])), flush=True)


def measure_socket(run, turn):
    for clients in run["clients"]:
        for protocol in run["protocols"]:
            for engine in run["engines"]:
                found = run_client([lane(
                    engine, ["SELECT 1"] * SOCKETS)] if protocol == "simple"
                    else [lane(engine, [[]] * SOCKETS, prepared="SELECT 1")],
                    clients=clients)
                run["socket"].append({
                    "engine": engine, "protocol": protocol,
                    "clients": clients, "round": turn,
                    "us": found["lanes"][0]["us"]})


def entries_of(run):
    """Engines take turns within a class."""
    return [{"class": name, "protocol": protocol, "clients": clients,
             "engine": engine}
            for name in run["classes"] for protocol in run["protocols"]
            for clients in run["clients"] for engine in run["engines"]
            if name in SEARCHES[engine]]


def look_at_plans(run):
    """Of the statements with literals, how many have which plan."""
    for name in run["classes"]:
        for engine in run["engines"]:
            if name not in SEARCHES[engine]:
                continue
            search = search_of(engine, name)
            counts = {}
            with database(engine):
                for line in outputs(*(
                        "EXPLAIN (FORMAT JSON) " + with_literal(
                            select(search), value_of(search,
                                                     words_of(run, number)))
                        for number in places_of(run, name)[:40])):
                    node = nodes_of(json.loads(line)[0]["Plan"])
                    counts[node] = counts.get(node, 0) + 1
            run["plans"].append({"class": name, "engine": engine,
                                 "plans": counts})


# ---- parts ----

SCANS = ("Index Scan", "Index Only Scan", "Bitmap Index Scan", "Custom Scan")


def search_ms(plan):
    """Until the nodes that read an index had their first row, or a bitmap."""
    if plan["Node Type"] in SCANS:
        return plan["Actual Total Time" if plan["Node Type"] == SCANS[2]
                    else "Actual Startup Time"]
    return sum(search_ms(child) for child in plan.get("Plans", ()))


def parts_of(explained):
    """us of planning, the executor's start and end, the search, rows."""
    one = json.loads(explained)[0]
    whole, search = one["Plan"]["Actual Total Time"], search_ms(one["Plan"])
    return {name: round(ms * 1000, 1) for name, ms in (
        ("planning", one["Planning Time"]),
        ("ends", one["Execution Time"] - whole),
        ("search", search), ("rows", whole - search))}


def measure_parts(run):
    """Of each query, run twice, the second time."""
    for name in run["classes"]:
        for engine in run["engines"]:
            if name not in SEARCHES[engine]:
                continue
            search = search_of(engine, name)
            least = min([one["n"] for one in run["times"]
                         if one["class"] == name and
                         one["engine"] == engine] or [0])
            numbers = places_of(run, name)[:min(number_of("PARTS", PARTS),
                                                least)]
            if not numbers:
                continue
            with database(engine):
                found = outputs(*(
                    "EXPLAIN (ANALYZE, BUFFERS OFF, SUMMARY, FORMAT JSON) " +
                    with_literal(select(search), value_of(
                        search, words_of(run, number)))
                    for number in numbers for _ in range(2)))[1::2]
            run["parts"] += [dict({"class": name, "engine": engine,
                                   "query": number}, **parts_of(one))
                             for number, one in zip(numbers, found)]


# ---- others ----

def measure_small(run, turn):
    """The same statement by GIN and by skipidx, one after the other."""
    if not {YARDSTICK, SUBJECT} <= set(run["engines"]):
        return
    with database(YARDSTICK):
        words = sql(SMALL_WORDS)
    statements = [SMALL % quoted(quoted(words[i % len(words)]))
                  for i in range(SMALLS)]
    found = run_client([lane(engine, statements, settings=SMALL_SETTINGS)
                        for engine in (YARDSTICK, SUBJECT)])
    for engine, one in zip((YARDSTICK, SUBJECT), found["lanes"]):
        run["small"].append({"engine": engine, "round": turn, "us": one["us"]})
    if found["lanes"][0]["rows"] != found["lanes"][1]["rows"]:
        run["wrong"].append({"class": "small", "engine": SUBJECT,
                             "query": None, "found": ["other rows than GIN"]})


def measure_first(run, turn, entry):
    rare = sorted(run["queries"], key=lambda one: one["rarest"])
    rare = rare[:number_of("CONNECTIONS", CONNECTIONS)]
    statements = [first_statement(entry["engine"], entry["statement"],
                                  one["words"].split(), one["lexemes"].split())
                  for one in rare]
    found = run_client([lane(entry["engine"], statements)], mode="fresh")
    us = found["lanes"][0]["us"]
    run["first"].append(dict(entry, round=turn, us=us))
    print("  first %-8s %-14s median %10.1f us" % (
        entry["statement"], entry["engine"], median(us[0])), flush=True)


def rows_to_insert():
    """Values of each, drawn from the rows that are there."""
    return [line.split("\t") for line in sql(
        "SELECT concat_ws(E'\\t', %s) FROM docs WHERE id < 1000000000"
        " ORDER BY drawn(id, 9), id LIMIT %d" % (", ".join(
            "regexp_replace(%s::text, '\\s+', ' ', 'g')" % column
            for column in INSERTED.split(", ")),
            number_of("INSERTS", INSERTS)))]


def measure_insert(run, turn, entry):
    with database(entry["engine"]):
        rows = rows_to_insert()
    if entry["protocol"] == "simple":
        lanes = lane(entry["engine"], [INSERT % tuple(map(quoted, row))
                                       for row in rows],
                     settings=INSERT_SETTINGS)
    else:
        lanes = lane(entry["engine"], rows, settings=INSERT_SETTINGS,
                     prepared=INSERT % ("$1", "$2", "$3", "$4", "$5"))
    us = run_client([lanes], clients=entry["clients"])["lanes"][0]["us"]
    run["inserts"].append(dict(entry, round=turn, us=us))
    print("  insert %-14s %-8s %d clients, median %10.1f us" % (
        entry["engine"], entry["protocol"], entry["clients"],
        median([one for times in us for one in times])), flush=True)


# ---- the run ----

def prepare(run):
    compile_client()
    step("load", run["corpus"])
    run["rows"] = load_text()
    run["server"] = version()
    step("databases")
    for name in run["engines"]:
        create_database(run, name)
    with database(SUBJECT if SUBJECT in run["engines"] else YARDSTICK):
        make_queries(run)
    sql("CHECKPOINT")


def measure_searches(run):
    step("searches")
    for turn, entry in in_turns(entries_of(run), run["rounds"]):
        measure_entry(run, turn, entry)
    for turn in range(run["rounds"]):
        measure_socket(run, turn)
        measure_small(run, turn)
    look_at_plans(run)
    step("parts")
    measure_parts(run)


def measure_others(run):
    step("first statements and inserts")
    firsts = [{"statement": statement, "engine": engine}
              for statement in FIRST for engine in run["engines"]
              if first_statement(engine, statement, ["a"], ["a"])]
    for turn, entry in in_turns(firsts, run["rounds"]):
        measure_first(run, turn, entry)
    inserts = [{"protocol": protocol, "clients": clients, "engine": engine}
               for protocol in run["protocols"] for clients in run["clients"]
               for engine in run["engines"]]
    for turn, entry in in_turns(inserts, run["rounds"]):
        measure_insert(run, turn, entry)


def measure(run):
    run.update(
        classes=option("CLASSES", " ".join(CLASSES)).split(),
        protocols=option("PROTOCOLS", " ".join(PROTOCOLS)).split(),
        clients=[int(one) for one in option("CLIENTS", CLIENTS).split()],
        seconds=float(option("SECONDS", SECONDS)), limit=text()[1],
        engines=engines_wanted(" ".join(ENGINES), ENGINES), builds=[],
        times=[], socket=[], plans=[], parts=[], small=[], first=[],
        inserts=[], checked=[], planning=[], wrong=[], found={})
    prepare(run)
    measure_searches(run)
    if SUBJECT in run["engines"]:
        step("answers")
        with database(SUBJECT):
            check_answers(run, lambda name: places_of(run, name))
    measure_others(run)
    for name in run["engines"]:
        with database(name):
            sql("VACUUM (FREEZE, ANALYZE)")
    step("planning")
    measure_planning(run)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "statement")
