"""measure.py FILE: measures searches with conditions on columns beside the
text, by skipidx with these columns inside its index and without, by GIN with
btree_gin, by GIN beside btree and by Lucene, and what the columns add to an
index; see README.md beside it."""
import json
import os
import random

from harness.record import (in_turns, keep, numbers, option, step,
                            temporary)
from harness.report_base import MB
from harness.scan import settings
from harness.searches import (RANKED, compare_hits, kind_of, make_searches,
                              rank_by, read_lines, rows_of, searches_of)
from harness.server import (COLUMNS_SQL, engines_wanted, load_docs,
                            measured_build, only, outputs, run_file, sql,
                            version, write_words)
from harness.timing import (course_of, create_procedures, literal, nodes_of,
                            set_all, time_statement)
from harness.words import text
from peers.searches import WARM_FIRST, WARM_LATER, Peer, write_searches
from targets.filter.show import (COLUMNS, CONDITIONS, COUNTS, FILTERS, MODES,
                                 NONE, ORDERED, PEER, SERIES, SINGLE, SUBJECT,
                                 TASKS, TEXT, WORK, engine_of, fast, measured)

REPETITIONS = 5
SECONDS = 3                # of the other series for each filter and round
MEMORY, BUILDS = "64MB", 5
CHECKED = 10
DRAWN = (", zipf(1000, id, 1) AS tenant"
         ", 'c' || 1 + floor(drawn(id, 2) * 20)::int AS category"
         ", level_of(drawn(id, 3)) AS level"
         ", several(5000, id, 4) AS tags"
         ", floor(drawn(id, 13) * 1000000)::int AS price"
         ", arrival(id) AS published_at")
# The columns as BuildLucene takes them.
WRITTEN = ("concat_ws(' ', 'tenant:k:' || tenant, 'category:k:' || category,"
           " 'level:k:' || level, 'price:i:' || price, 'published_at:l:' ||"
           " (extract(epoch FROM published_at) * 1000000)::bigint,"
           " (SELECT string_agg('tags:k:' || t, ' ') FROM unnest(tags) t))")
WARM_CONDITION = 2         # seconds, of a program whose code is warm
COUNTED = "SELECT count(*) FROM docs WHERE tsv @@ {0}"
BY_RANK = ("SELECT id FROM docs WHERE tsv @@ {0}{2}"
           " ORDER BY ts_rank_cd(tsv, {0}) DESC LIMIT {1}")
GENERIC = ["SET plan_cache_mode = force_generic_plan"]
# Those that are compared with get all the help that their plans need.
HELP = [("enable_seqscan", "off"), ("work_mem", "256MB")]


# ---- what is searched ----

def load_queries(run):
    """The table searches, in an order drawn by seed."""
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    found = make_searches(lines, int(option("QUERIES", 300)))
    run["queries"] = [{"words": " ".join(words)} for words in found.values()]
    return found


def count_filters(run):
    """In how many rows each condition holds, by reading the table once; the
    newest are a tenth of them."""
    run["newest"], run["newest_us"] = sql(
        "SELECT t, (extract(epoch FROM t) * 1000000)::bigint FROM (SELECT"
        " percentile_disc(.9) WITHIN GROUP (ORDER BY published_at) AS t"
        " FROM docs) d")[0].split("|")
    counts = ", ".join("count(*) FILTER (WHERE %s)" %
                       (FILTERS[name].format(**run) or "true")
                       for name in run["filters"])
    line, = sql("SELECT %s FROM docs" % counts)
    run["filter_rows"] = dict(zip(run["filters"], map(int, line.split("|"))))


def statement_of(run, entry, query="$1"):
    """Conditions are constants, which planners know the share of."""
    condition = FILTERS[entry["filter"]].format(**run)
    if condition:
        condition = " AND " + condition
    if entry["task"] == "count":
        return COUNTED.format(query) + condition
    k = rows_of(entry["mode"])
    if engine_of(entry["series"]) == SUBJECT:
        return RANKED.replace(" ORDER", condition + " ORDER").format(query, k)
    return BY_RANK.format(query, k, condition)


# ---- builds ----

def builds_of(engines, counts):
    """(index, what follows USING): of the text and the first columns together,
    and where GIN is, of each column alone."""
    found = [("%s_%d" % (engine, count), "%s (%s)" % (
        engine, ", ".join(("tsv",) + COLUMNS[:count])))
             for engine in engines for count in counts]
    if "gin" in engines:
        found += [(column, "%s (%s)" % (SINGLE[column], column))
                  for column in COLUMNS]
    return found


def build_all(run):
    """Those of skipidx several times, so that a difference of a few percent
    is seen."""
    memory = option("MEMORY", MEMORY)
    builds = builds_of(run["engines"], run["counts"])
    for turn, (index, clause) in in_turns(builds,
                                          int(option("BUILDS", BUILDS))):
        if turn > 0 and not index.startswith(SUBJECT):
            continue
        build = measured_build(index, memory, 0, clause=clause)
        run["builds"].append({"index": index, "memory": memory, "round": turn,
                              "seconds": build["seconds"],
                              "bytes": build["bytes"]})
        print("  %-12s %-68s %7.2f s %7.1f MB" % (
            index, clause, build["seconds"], build["bytes"] / MB), flush=True)
    for index, _ in builds:
        if index.startswith(SUBJECT):
            rank_by(False, "docs_" + index)


# ---- one measurement ----

def session_of(series):
    """What a session sets before it makes a plan."""
    if series == ORDERED:
        return GENERIC + ["SET enable_sort = off"]
    return GENERIC + (set_all(HELP) if not fast(series) else [])


def see_only(series):
    sql(only(*("docs_" + index for index in SERIES[series])))


def indexes_of(plan):
    """Names of the indexes that a plan reads."""
    own = [plan["Index Name"]] if "Index Name" in plan else []
    return own + [name for child in plan.get("Plans", ())
                  for name in indexes_of(child)]


def has_filter(plan):
    return "Filter" in plan or any(map(has_filter, plan.get("Plans", ())))


def plan_of(run, entry):
    """Of the statement without knowledge of the words, as it is timed; the
    nodes, and whether rows are looked at for the condition."""
    lines = outputs(*session_of(entry["series"]),
                    "PREPARE measured (tsquery) AS " + statement_of(run, entry),
                    "EXPLAIN (FORMAT JSON) EXECUTE measured ('a')")[-1]
    plan = json.loads(lines)[0]["Plan"]
    if not set(indexes_of(plan)) <= {"docs_" + index for index in
                                     SERIES[entry["series"]]}:
        raise RuntimeError("a plan of another's index: " + lines)
    return {"nodes": nodes_of(plan), "indexes": sorted(set(indexes_of(plan))),
            "filter_rows": has_filter(plan)}


def peer_times(run, turn, entry, peer):
    k = rows_of(entry["mode"]) if entry["task"] == "rank" else 0
    first = WARM_FIRST if entry["filter"] == NONE else WARM_CONDITION
    return peer.times(kind_of(entry["mode"]), k, REPETITIONS,
                      WARM_LATER if turn else first,
                      CONDITIONS[entry["filter"]].format(**run))


def times_of(run, entry):
    """Of all searches, or of those that fit, twice, into the seconds: the
    second time is taken."""
    course = (course_of(REPETITIONS) if fast(entry["series"]) else
              course_of(1, seconds=run["seconds"] / 2))
    return time_statement(statement_of(run, entry),
                          searches_of(kind_of(entry["mode"])), course,
                          session_of(entry["series"]))


def note_wrong(run, entry, what):
    run["wrong"] += [dict(entry, query=number, rows=rows)
                     for number, rows in what]


def expected_rows(run, entry, hits):
    """Where the same series has counted the matches, as many of these as are
    wanted."""
    counts = run["found"].get((entry["mode"], entry["filter"], "count"), {})
    for number, rows in hits.items():
        wanted = min(counts.get(number, rows), rows_of(entry["mode"]))
        if number in counts and rows != wanted:
            yield number, [wanted, rows]


def compare(run, entry, hits):
    """All series find as many rows; the ranked ones as many as were
    counted."""
    key = (entry["mode"], entry["filter"], entry["task"])
    note_wrong(run, entry, compare_hits(run["found"].setdefault(key, {}),
                                        hits))
    if entry["task"] == "rank":
        note_wrong(run, entry, expected_rows(run, entry, hits))


def measure_entry(run, turn, entry, peer):
    if entry["series"] == PEER:
        result = peer_times(run, turn, entry, peer)
    else:
        see_only(entry["series"])
        if turn == 0:
            run["plans"].append(dict(entry, **plan_of(run, entry)))
        result = times_of(run, entry)
    n = len(result["us"])
    compare(run, entry, dict(enumerate(result["hits"])))
    run["times"].append(dict(
        entry, round=turn, us=result["us"], hits=sum(result["hits"]),
        queries=None if n == len(run["queries"]) else list(range(n))))
    ordered = sorted(result["us"])
    print("  %-5s %-6s %-9s %-15s %5d queries, median %10.1f us, %d rows" % (
        entry["task"], entry["mode"], entry["filter"], entry["series"], n,
        ordered[n // 2], sum(result["hits"])), flush=True)


def entries_of(run):
    """Counts first, which tell how many rows a ranked search must find; all
    series take turns within a filter."""
    return [{"task": task, "mode": mode, "filter": name, "series": series}
            for task in TASKS for mode in run["modes"]
            for name in run["filters"] for series in run["series"]
            if measured(series, task)]


# ---- the rows themselves ----

def rows_found(run, entry, queries):
    """The ids of each query's rows, in their order."""
    see_only(entry["series"])
    statements = [statement_of(run, entry, literal(q)) for q in queries]
    before = session_of(entry["series"])[1:]      # with the words known
    return [out.split() for out in outputs(*before, *statements)[len(before):]]


def compare_rows(run, entry, queries):
    """Both indexes of skipidx give the same rows in the same order, ordered
    or sorted."""
    known, *others = (rows_found(run, dict(entry, series=series), queries)
                      for series in (SUBJECT, ORDERED, TEXT))
    for series, found in zip((ORDERED, TEXT), others):
        note_wrong(run, dict(entry, series=series), (
            (number, [one, other]) for number, (one, other)
            in enumerate(zip(known, found)) if one != other))
    return known


def compare_peer(run, entry, known, peer):
    """The scores are others, since lengths are kept otherwise: how many of the
    rows are the same, which is told but decides nothing."""
    theirs = peer.rows(kind_of(entry["mode"]), rows_of(entry["mode"]),
                       CONDITIONS[entry["filter"]].format(**run))
    pairs = [(set(one), set(other)) for one, other in zip(known, theirs)]
    total = sum(len(one) for one, _ in pairs)
    if total > 0:
        run["common"].append(dict(entry, rows=total, share=sum(
            len(one & other) for one, other in pairs) / total))


def work_in(plan):
    """The work that a plan's nodes tell, summed up."""
    below = [work_in(child) for child in plan.get("Plans", ())]
    return {name: plan.get(name, 0) + sum(one[name] for one in below)
            for name in WORK}


def work_of(run, entry, queries):
    """Of a search of ORDERED, on average."""
    see_only(entry["series"])
    before = session_of(entry["series"])[1:]      # with the words known
    out = outputs(*before, *("EXPLAIN (ANALYZE, FORMAT JSON) " + statement_of(
        run, entry, literal(q)) for q in queries))[len(before):]
    found = [work_in(json.loads(text)[0]["Plan"]) for text in out]
    return {name: sum(one[name] for one in found) / len(found)
            for name in WORK}


def look_at_rows(run, peer):
    checked = int(option("CHECKED", CHECKED))
    for mode in run["modes"]:
        queries = sql(searches_of(kind_of(mode)) + " LIMIT %d" % checked)
        for name in run["filters"]:
            entry = {"task": "rank", "mode": mode, "filter": name}
            known = compare_rows(run, entry, queries)
            if peer is not None:
                compare_peer(run, entry, known, peer)
            run["work"].append(dict(entry, **work_of(
                run, dict(entry, series=ORDERED), queries)))


# ---- the run ----

def start_peer(run, words):
    """None where it cannot be had."""
    peer = Peer(PEER)
    if PEER not in option("PEERS", PEER).split():
        return None
    if not peer.available():
        run["peers_missing"].append(PEER)
        return None
    step("build", PEER)
    path = temporary("words.tsv")
    write_words(path, WRITTEN)
    built = peer.build()
    os.remove(path)
    if built != run["rows"]:
        raise RuntimeError("%s has not all rows" % PEER)
    run["peer_bytes"] = peer.bytes
    write_searches([{"words": words[number]} for number in sorted(words)])
    run["series"].append(PEER)
    return peer


def prepare(run):
    """The table, the searches and all indexes; returns Lucene."""
    path, limit = text()
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    if "gin" in run["engines"]:
        sql("CREATE EXTENSION btree_gin")
    run["rows"] = load_docs(path, limit, run["engines"], columns=DRAWN)
    run["server"] = version()
    words = load_queries(run)
    count_filters(run)
    create_procedures()
    step("build")
    build_all(run)
    if SUBJECT in run["engines"]:
        run["settings"] = settings()
    sql("CHECKPOINT")
    return start_peer(run, words)


def measure(run):
    run.update(
        modes=option("MODES", MODES).split(), limit=text()[1],
        filters=option("FILTERS", " ".join(FILTERS)).split(),
        seconds=float(option("SECONDS", SECONDS)), repetitions=REPETITIONS,
        counts=[count for count in COUNTS if count in (COUNTS[0], COUNTS[-1])
                or count in numbers("COUNTS", "1 2 4")],
        engines=engines_wanted("gin skipidx"), builds=[], times=[], plans=[],
        work=[], common=[], wrong=[], found={}, peers_missing=[],
        peer_bytes=0)
    run["series"] = [series for series in SERIES
                     if engine_of(series) in run["engines"]]
    peer = prepare(run)
    step("searches")
    for turn, entry in in_turns(entries_of(run), run["rounds"]):
        measure_entry(run, turn, entry, peer)
    if SUBJECT in run["engines"]:
        step("rows")
        look_at_rows(run, peer)
    if peer is not None:
        peer.stop()
    del run["found"]


if __name__ == "__main__":
    keep(measure, "filter")
