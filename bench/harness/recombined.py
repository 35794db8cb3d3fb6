"""recombined.py: a text of any size, made of one by recombine.c, and the table
docs of it; imported by measure.py of several targets.

A text is a dictionary: `text`, its name; `rows`; `row_words`, of a row on
average, 0: as many as the passages have; `order`, "article" or "shuffled"."""
import itertools
import json
import os
import shutil
import subprocess

from harness.record import option, step, temporary
from harness.server import command, sql
from harness.words import text

WORD_BYTES = 7            # of text, with a space and its share of an id
BATCH = 250000            # rows that are loaded together
MILLION = 1000000
# Bytes of disk for each byte of text: itself, the table, skipidx and what its
# build spills, an index of each peer twice and what one merges.
DISK = {False: 6, True: 8}      # whether rows are short
DISK_FIXED = 8 << 30            # mostly WAL
WORDS = "words.tsv"
# One session has rows made to lexemes by several processes, which COPY of a
# query allows; another one writes them, into a table that it has just made:
# only so they are frozen, and stand in the order they came in.
LEXEMES = (
    "TRUNCATE staged",
    "COPY staged FROM STDIN",
    "SET max_parallel_workers_per_gather = 2",
    "SET min_parallel_table_scan_size = 0",
    "SET work_mem = '256MB'",
    "COPY (SELECT id, to_tsvector('simple', body) FROM staged ORDER BY id)"
    " TO STDOUT",
)
DOCS = (
    "BEGIN",
    "CREATE TABLE docs (id int, tsv tsvector)",
    "COPY docs FROM STDIN (FREEZE)",
    "COMMIT",
)


def sizes(name, default):
    found = [float(word) for word in option(name, default).split()]
    return [round(size * MILLION if size < 1000 else size) for size in found]


def size_of(rows):
    for unit, name in ((MILLION, "M"), (1000, "k")):
        if rows >= unit:
            return "%g%s" % (rows / unit, name)
    return "%d" % rows


def disk_wanted(wanted):
    """Bytes, for one text: texts come one after the other."""
    path, _ = text()
    with open(path, "rb") as file:
        lengths = [len(line) for line in itertools.islice(file, 1000)]
    row_bytes = (wanted["row_words"] * WORD_BYTES or
                 sum(lengths) / len(lengths))
    return DISK_FIXED + int(wanted["rows"] * row_bytes *
                            DISK[wanted["row_words"] > 0])


def check_disk(texts):
    """Before anything is begun."""
    most = max(map(disk_wanted, texts))
    free = shutil.disk_usage(temporary()).free
    print("disk     %.0f GB wanted at most at a time, %.0f GB free" % (
        most / (1 << 30), free / (1 << 30)), flush=True)
    if free < most:
        raise SystemExit("bench: not enough space in " + temporary())


def make_text(wanted):
    """In BENCH_TEMP; returns what is known of it."""
    step("text", wanted["text"])
    made = subprocess.run(
        [temporary("recombine"), text()[0], str(wanted["rows"]),
         option("SEED", "1"), wanted["order"], str(wanted["row_words"]),
         temporary(WORDS)], check=True, stdout=subprocess.PIPE, text=True)
    return dict(wanted, **json.loads(made.stdout))


def remove_text():
    os.remove(temporary(WORDS))


def session_of(statements, **streams):
    return subprocess.Popen(command(*(
        word for statement in statements for word in ("-c", statement))),
                            stdin=subprocess.PIPE, **streams)


def finish(session):
    session.stdin.close()
    if session.wait():
        raise RuntimeError("loading the text failed")


def load_text(rows):
    """As the table docs.  In batches: all rows as text, as lexemes and to be
    sorted would take several times the space."""
    step("load", size_of(rows))
    sql("CREATE UNLOGGED TABLE staged (id int, title text, body text)")
    writer = session_of(DOCS)
    with open(temporary(WORDS), "rb") as file:
        for _ in range(0, rows, BATCH):
            session = session_of(LEXEMES, stdout=writer.stdin)
            session.stdin.writelines(itertools.islice(file, BATCH))
            finish(session)
    finish(writer)
    sql("DROP TABLE staged")
    sql("VACUUM (FREEZE, ANALYZE) docs")
    if sql("SELECT count(*) FROM docs") != [str(rows)]:
        raise RuntimeError("the table has not all rows")
    return int(sql("SELECT pg_table_size('docs')")[0])
