#!/usr/bin/env python3
"""quality.py measure FILE.json: measures nDCG@10 of ranked scans over the
collections with judgments, by weights of proximity; keeps and prints it;
run_quality.sh calls it.
quality.py show FILE.json ...: prints files again.
"""
import os
import subprocess
import sys

from harness.record import (begin, command_line, keep, of, option, print_machine,
                    step)
from targets.boolean.show import median

# nDCG@10 of BM25 by another program, k1 1.2, b 0.75, exact lengths.
REFERENCE = {"cranfield": .3667, "scifact": .6859}
TOLERANCE = .005
SWEEP = "0 0.05 0.1 0.2 0.3 0.5 1"
ROUNDS = 3
HERE = os.path.dirname(os.path.abspath(__file__))


# ---- measuring ----

def psql(database, *arguments, stdin=None):
    command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database]
    return subprocess.run(command + list(arguments), check=True, stdin=stdin,
                          stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()


def sql(database, *statements):
    return psql(database, *[word for statement in statements
                            for word in ("-c", statement)])


def load(name):
    folder = os.path.join(os.environ["BENCH_QUALITY"], name)
    sql("postgres", "CREATE DATABASE " + name)
    psql(name, "-f", os.path.join(HERE, "quality.sql"))
    for table, file in (("rows (id, title, body)", "docs"),
                        ("queries", "queries"), ("qrels", "qrels")):
        with open(os.path.join(folder, file + ".tsv"), "rb") as text:
            psql(name, "-c", "COPY %s FROM STDIN" % table, stdin=text)
    sql(name, "CALL collect()")


def ask(name, proximity):
    """nDCG of each query, and the time for all of them."""
    times = []
    change = ("RESET (proximity)" if proximity is None else
              "SET (proximity = %s)" % proximity)
    sql(name, "ALTER INDEX docs_tsv " + change)
    for _ in range(ROUNDS):
        lines = sql(name, "SELECT count(*) FROM firsts()",
                    "CREATE TEMP TABLE t AS SELECT clock_timestamp() AS t",
                    "SELECT count(*) FROM firsts()",
                    "SELECT extract(epoch FROM clock_timestamp() - t) FROM t")
        times.append(float(lines[-1]) * 1000)
    lines = sql(name, "SELECT ndcg FROM ndcg() ORDER BY qid")
    return [round(float(line), 4) for line in lines], round(median(times), 2)


def measure(path):
    run = begin("quality")
    run["measured"] = []
    run["server"] = sql("postgres", "SHOW server_version")[0]
    for name in REFERENCE:
        step("collection", name)
        load(name)
        for word in ["default"] + option("SWEEP", SWEEP).split():
            proximity = None if word == "default" else float(word)
            queries, ms = ask(name, proximity)
            run["measured"].append({
                "collection": name, "proximity": proximity, "ms": ms,
                "ndcg": queries})
    keep(run, path, ("measured",))
    return show(run, path)


# ---- printing ----

def ndcg_of(entry):
    return sum(entry["ndcg"]) / len(entry["ndcg"])


def entry_of(run, name, proximity):
    found = of(run["measured"], collection=name, proximity=proximity)
    return found[0] if found else None


def print_table(run):
    print("\n%-12s%11s%9s%9s%9s%9s%12s" % (
        "collection", "proximity", "nDCG@10", "change", "better", "worse",
        "ms a query"))
    for entry in run["measured"]:
        zero = entry_of(run, entry["collection"], 0.0)
        better = sum(a > b for a, b in zip(entry["ndcg"], zero["ndcg"]))
        worse = sum(a < b for a, b in zip(entry["ndcg"], zero["ndcg"]))
        print("%-12s%11s%9.4f%+8.2f%%%9d%9d%12.3f" % (
            entry["collection"], "default" if entry["proximity"] is None
            else "%g" % entry["proximity"], ndcg_of(entry),
            100 * (ndcg_of(entry) / ndcg_of(zero) - 1), better, worse,
            entry["ms"] / len(entry["ndcg"])))


def show(run, path):
    print_machine(run)
    print_table(run)
    print()
    for name, wanted in REFERENCE.items():
        zero = ndcg_of(entry_of(run, name, 0.0))
        print("expect %s measured=%.4f wanted=%.4f+-%.3f %s" % (
            name, zero, wanted, TOLERANCE,
            "ok" if abs(zero - wanted) <= TOLERANCE else "short"))
        default = ndcg_of(entry_of(run, name, None))
        print("expect %s_default measured=%.4f wanted>=%.4f %s" % (
            name, default, zero, "ok" if default >= zero else "short"))


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
