"""measure.py FILE: measures searches of a table that is on two servers, by
postgres_fdw, beside the same of one table; see README.md beside it."""
import random
import subprocess

from harness.record import in_turns, keep, option, step
from harness.searches import (kind_of, make_searches, read_lines, rows_of,
                              searches_of)
from harness.server import (COLUMNS_SQL, command, load_docs, quoted, run_file,
                            sql, version)
from harness.words import text
from targets.machines.servers import (INDEX, Relay, distribute, go_through,
                                      stop)
from targets.machines.show import (ASKED, COUNTS, MODES, PREPARED, RANKED,
                                   SERIES, TWO, is_on_servers)

SERVERS = 2
MARK = "end-of-answer"
RANKING = "(SELECT skipidx_ranking(%s, %s))"


class Session:
    """psql, which tells how long each statement took."""

    def __init__(self):
        self.process = subprocess.Popen(command(), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.ask("LOAD 'skipidx'")
        self.ask("\\timing on")

    def ask(self, statement):
        """us, and what it printed."""
        self.process.stdin.write("%s\n\\echo %s\n" % (
            statement if statement[0] == "\\" else statement + ";", MARK))
        self.process.stdin.flush()
        lines, us = [], 0
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == MARK:
                return us, lines
            if line.startswith("Time: "):
                us = float(line.split()[1]) * 1000
            elif not line.startswith("Timing is"):
                lines.append(line)
        raise RuntimeError("psql failed: " + statement)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- statements ----

def statement_of(series, mode, query, ranking):
    """Of tables on servers, counts are sums, since nothing else is sent."""
    tables = (["part%d" % one for one in range(SERVERS)]
              if is_on_servers(series) else ["docs"])
    table = "parts" if is_on_servers(series) else "docs"
    where = "WHERE tsv @@ " + query
    if mode in COUNTS:
        counts = ["SELECT count(*) AS n FROM %s %s" % (one, where)
                  for one in tables]
        return (counts[0] if len(counts) == 1 else
                "SELECT sum(n) FROM (%s) c" % " UNION ALL ".join(counts))
    if mode not in RANKED:
        return "SELECT id FROM %s %s ORDER BY arrived DESC, id LIMIT %d" % (
            table, where, rows_of(mode))
    return "SELECT id FROM %s %s ORDER BY tsv <@> %s, id LIMIT %d" % (
        table, where, ranking, rows_of(mode))


def asked_of(series, mode, search):
    """What a session is sent for one search."""
    query, ranking = quoted(search["q"]) + "::tsquery", search["r"]
    if series in PREPARED:
        return "EXECUTE p(%s)" % ", ".join(
            [query] + ([ranking] if mode in RANKED else []))
    if series in ASKED:
        ranking = RANKING % (quoted("parts_skipidx" if is_on_servers(series)
                                    else "docs_skipidx"), query)
    return statement_of(series, mode, query, ranking)


def session_of(series, mode):
    session = Session()
    if series in PREPARED:
        session.ask("SET plan_cache_mode = force_generic_plan")
        session.ask("PREPARE p (tsquery%s) AS %s" % (
            ", skipidx_ranking" if mode in RANKED else "",
            statement_of(series, mode, "$1", "$2")))
    return session


# ---- measurements ----

def measure_entry(run, turn, entry, searches):
    session = session_of(entry["series"], entry["mode"])
    statements = [asked_of(entry["series"], entry["mode"], one)
                  for one in searches[kind_of(entry["mode"])]]
    known = run["found"].setdefault(entry["mode"], {})
    us = []
    for one in statements:          # the first time everything becomes warm
        session.ask(one)
    for number, one in enumerate(statements):
        took, lines = session.ask(one)
        us.append(round(took, 1))
        if known.setdefault(number, lines) != lines:
            run["wrong"].append(dict(entry, query=number))
    session.close()
    run["times"].append(dict(entry, round=turn, us=us, queries=[]))
    print("  %-9s %-24s %5d queries, median %10.1f us" % (
        entry["mode"], entry["series"], len(us), sorted(us)[len(us) // 2]),
          flush=True)


def rows_bytes(server, query, ranking):
    """What the first rows of a server are as text, of those columns that are
    shipped."""
    return int(server.sql(
        "SELECT coalesce(sum(octet_length(id::text) + octet_length(tsv::text)"
        "), 0) FROM (SELECT id, tsv FROM part WHERE tsv @@ %s ORDER BY tsv <@>"
        " %s, id LIMIT %d) x" % (query, ranking, int(option("FETCH", 100))))[0])


def measure_bytes(run, mode, searches, servers, relays):
    """Of each search, once connections are there, plans included."""
    series = TWO
    session = session_of(series, mode)
    for one in searches[kind_of(mode)][:1]:
        session.ask(asked_of(series, mode, one))
    for number, one in enumerate(searches[kind_of(mode)]):
        before = [(relay.received, relay.sent) for relay in relays]
        session.ask(asked_of(series, mode, one))
        entry = {"mode": mode, "query": number,
                 "received": sum(relay.received - had[0] for relay, had in
                                 zip(relays, before)),
                 "sent": sum(relay.sent - had[1] for relay, had in
                             zip(relays, before))}
        if mode in RANKED:
            entry["rows"] = sum(rows_bytes(server, quoted(one["q"]) +
                                           "::tsquery", one["r"])
                                for server in servers)
        run["bytes"].append(entry)
    session.close()


def plans_of(run, searches):
    for mode in run["modes"]:
        for series in (TWO,) + PREPARED[1:]:
            session = session_of(series, mode)
            one = searches[kind_of(mode)][0]
            lines = session.ask("EXPLAIN (VERBOSE, COSTS OFF) " +
                                asked_of(series, mode, one))[1]
            session.close()
            run["plans"].append({"mode": mode, "series": series, "nodes": [
                line.strip() for line in lines if "->" in line or
                "Remote SQL" in line]})


# ---- the run ----

def prepare(run):
    """Returns, of each kind, searches with their rankings."""
    path, limit = text()
    step("load", run["corpus"])
    run_file(COLUMNS_SQL)
    run["rows"] = load_docs(path, limit, ["skipidx"],
                            columns=", arrival(id) AS arrived")
    run["server"] = version()
    lines = read_lines(option("QUERY_FILE", ""))
    random.Random(int(option("SEED", 1))).shuffle(lines)
    make_searches(lines, int(option("QUERIES", 200)))
    sql("SET maintenance_work_mem = '1GB'",
        "CREATE INDEX docs_skipidx ON docs " + INDEX, "VACUUM ANALYZE docs",
        "CHECKPOINT")
    searches = {}
    for kind in ("AND", "OR"):
        rows = sql("SELECT q || chr(9) || quote_literal(skipidx_ranking("
                   "'docs_skipidx', q)) FROM (%s) s" % searches_of(kind))
        searches[kind] = [dict(zip("qr", row.split("\t"))) for row in rows]
        for one in searches[kind]:
            one["r"] += "::skipidx_ranking"
    searches["NEWEST"] = searches["AND"]
    return searches


def measure(run):
    run.update(modes=option("MODES", MODES).split(), series=list(SERIES),
               fetch=int(option("FETCH", 100)), servers=SERVERS, times=[],
               bytes=[], plans=[], wrong=[], found={})
    searches = prepare(run)
    step("distribute")
    servers = distribute(SERVERS)
    try:
        step("searches")
        entries = [{"mode": mode, "series": series} for mode in run["modes"]
                   for series in run["series"]
                   if mode in RANKED or series not in ASKED]
        for turn, entry in in_turns(entries, run["rounds"]):
            measure_entry(run, turn, entry, searches)
        plans_of(run, searches)
        step("bytes")
        relays = [Relay(server) for server in servers]
        go_through(relays)
        for mode in run["modes"]:
            measure_bytes(run, mode, searches, servers, relays)
    finally:
        stop(servers)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "machines")
