"""measure.py FILE: measures nDCG@10 of ranked scans over the collections with
judgments, by weights of proximity and with misspelt words; see README.md beside
it."""
import os
import random

from harness.misspelt import ONE_EDIT, misspelt
from harness.record import keep, option, step
from harness.report_base import median
from harness.server import psql, quoted, version

COLLECTIONS = ("cranfield", "scifact")
SWEEP = "0 0.05 0.1 0.2 0.3 0.5 1"
# The words of each query, with the rows that have them.
WORDS = """
    SELECT DISTINCT q.qid, w.word, t.df FROM queries q,
        regexp_split_to_table(plain(q.body), ' ') AS w (word),
        unnest(to_tsvector('english', w.word)) AS l
        JOIN skipidx_terms('docs_tsv', '', NULL) t ON t.term = l.lexeme
    ORDER BY 1, 3, 2"""
HERE = os.path.dirname(os.path.abspath(__file__))


def sql(database, *statements):
    """The lines that they print, run in one session."""
    return psql("-d", database, *(word for statement in statements
                                  for word in ("-c", statement))).splitlines()


def load(name):
    folder = os.path.join(option("QUALITY", ""), name)
    sql("postgres", "CREATE DATABASE " + name)
    psql("-d", name, "-f", os.path.join(HERE, "quality.sql"))
    for table, file in (("rows (id, title, body)", "docs"),
                        ("queries", "queries"), ("qrels", "qrels")):
        with open(os.path.join(folder, file + ".tsv"), "rb") as text:
            psql("-d", name, "-c", "COPY %s FROM STDIN" % table, stdin=text)
    sql(name, "CALL collect()")


def ask(name, proximity, rounds):
    """nDCG of each query, and the time for all of them."""
    times = []
    change = ("RESET (proximity)" if proximity is None else
              "SET (proximity = %s)" % proximity)
    sql(name, "ALTER INDEX docs_tsv " + change)
    for _ in range(rounds):
        lines = sql(name, "SELECT count(*) FROM firsts()",
                    "CREATE TEMP TABLE t AS SELECT clock_timestamp() AS t",
                    "SELECT count(*) FROM firsts()",
                    "SELECT extract(epoch FROM clock_timestamp() - t) FROM t")
        times.append(float(lines[-1]) * 1000)
    lines = sql(name, "SELECT ndcg FROM ndcg() ORDER BY qid")
    return [round(float(line), 4) for line in lines], round(median(times), 2)


def misspell(name, rng):
    """One letter of the rarest word of each query that has five letters or more.
    Returns how many queries have one."""
    rarest = {}
    for line in sql(name, WORDS):
        qid, word, _ = line.split("|")
        if len(word) >= ONE_EDIT and word.isalpha() and word.isascii():
            rarest.setdefault(qid, word)
    sql(name, *("UPDATE queries SET body = regexp_replace(plain(body),"
                " '\\m%s\\M', '%s', 'g') WHERE qid = %s" % (
                    word, misspelt(word, rng, 1), quoted(qid))
                for qid, word in sorted(rarest.items())))
    return len(rarest)


def forgive(name, rng):
    """nDCG of each query, as it is and with a letter wrong, by a plain search and
    by one that forgives."""
    measured = []
    for typed in (False, True):
        count = misspell(name, rng) if typed else 0
        for forgiving in (False, True):
            lines = sql(name, "SELECT ndcg FROM ndcg(%s) ORDER BY qid" %
                        forgiving)
            measured.append({
                "collection": name, "misspelt": count, "forgiving": forgiving,
                "ndcg": [round(float(line), 4) for line in lines]})
    return measured


def measure(run):
    run["measured"] = []
    run["forgiven"] = []
    run["seed"] = int(option("SEED", 1))
    run["server"] = version()
    for name in COLLECTIONS:
        step("collection", name)
        load(name)
        for word in ["default"] + option("SWEEP", SWEEP).split():
            proximity = None if word == "default" else float(word)
            queries, ms = ask(name, proximity, run["rounds"])
            run["measured"].append({
                "collection": name, "proximity": proximity, "ms": ms,
                "ndcg": queries})
        sql(name, "ALTER INDEX docs_tsv RESET (proximity)")
        run["forgiven"] += forgive(name, random.Random(run["seed"]))


if __name__ == "__main__":
    keep(measure, "quality")
