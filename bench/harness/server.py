"""server.py: the private cluster of a run: statements, the table docs, its
indexes; imported by measure.py of each target that has one."""
import json
import os
import subprocess

from harness.record import option

ENGINES = {  # name: extension, what follows USING
    "gin": (None, "gin (tsv)"),
    "rum": ("rum", "rum (tsv rum_tsvector_ops)"),
    "skipidx": ("skipidx", "skipidx (tsv)"),
}
MARK = ";;;"
HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS_SQL = os.path.join(HERE, "columns.sql")    # functions that draw columns
# The words of a row in the order of their positions, for programs that split
# text themselves; a line without a title, which may have columns in its place.
WORDS = """COPY (SELECT id, %s, coalesce((SELECT string_agg(lexeme, ' '
    ORDER BY place) FROM unnest(tsv), unnest(positions) place), '')
    FROM docs ORDER BY id) TO STDOUT"""
ORDERS = {"id": "id", "md5": "md5(id::text) COLLATE \"C\", id"}


# ---- statements ----

def command(*arguments):
    return ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", *arguments]


def psql(*arguments, **options):
    """The text that it prints."""
    return subprocess.run(command(*arguments), check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def outputs(*statements, **options):
    """Runs statements in one session; what each printed."""
    return psql(*(word for statement in statements for word in (
        "-c", statement, "-c", "\\echo " + MARK)),
                **options).split(MARK + "\n")[:-1]


def sql(*statements):
    """The lines that the last statement printed."""
    return outputs(*statements)[-1].splitlines()


def run_file(path, **variables):
    """The text that it prints, with such variables of psql."""
    return psql(*(word for pair in variables.items()
                  for word in ("-v", "%s=%s" % pair)), "-f", path)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def fill(table, rows):
    """By COPY, from tuples of numbers and text."""
    psql("-c", "COPY %s FROM STDIN" % table, input="".join(
        "\t".join(str(value).replace("\\", "\\\\") for value in row) + "\n"
        for row in rows))


def version():
    return sql("SHOW server_version")[0]


def settings_of(*patterns):
    """Those whose names are like one of these."""
    return dict(line.split("|") for line in sql(
        "LOAD 'skipidx'", "SELECT name, current_setting(name) FROM pg_settings"
        " WHERE name LIKE ANY (string_to_array('%s', ' '))" %
        " ".join(patterns)))


# ---- processes ----

def pin(searcher, pinned):
    """The searching backend on one processor, the server's other processes,
    which new ones take after, on the others; or all on all."""
    every = set(range(os.cpu_count()))
    data = sql("SHOW data_directory")[0]
    with open(data + "/postmaster.pid", encoding="utf-8") as file:
        master = int(file.readline())
    with open("/proc/%d/task/%d/children" % (master, master),
              encoding="utf-8") as file:
        children = [int(word) for word in file.read().split()]
    for pid in [master] + children:
        mine = {0} if pid == searcher else every - {0}
        try:
            os.sched_setaffinity(pid, mine if pinned else every)
        except ProcessLookupError:
            pass


# ---- the table and its indexes ----

def engines_wanted(names="gin rum skipidx", engines=None):
    """Of BENCH_ENGINES, those whose extension the server has."""
    kept = []
    for name in option("ENGINES", names).split():
        extension = (engines or ENGINES)[name][0]
        if extension and sql("SELECT count(*) FROM pg_available_extensions"
                             " WHERE name = '%s'" % extension) == ["0"]:
            print("bench: %s is not installed, left out" % name)
            continue
        kept.append(name)
    return kept


def create_extensions(names, engines=None):
    for name in names:
        extension = (engines or ENGINES)[name][0]
        if extension:
            sql("CREATE EXTENSION " + extension)


def stage(path, limit):
    """The first rows of a text, as the table staged."""
    sql("CREATE UNLOGGED TABLE staged (id int, title text, body text)")
    with subprocess.Popen(["head", "-n", str(limit), path],
                          stdout=subprocess.PIPE) as lines:
        psql("-c", "COPY staged FROM STDIN", stdin=lines.stdout)


def create_tiny(engines):
    """A table of one row for each engine, with an index."""
    create_extensions(engines)
    for name in engines:
        sql("CREATE TABLE tiny_%s AS SELECT to_tsvector('simple', 'a') AS tsv"
            % name, "CREATE INDEX tiny_%s_tsv ON tiny_%s USING %s" %
            (name, name, ENGINES[name][1]))


def load_docs(path, limit, engines, order="id", columns=""):
    """The text as the table docs, and the tiny tables; returns the number of
    rows.  `columns`: more of a SELECT from the rows of the text."""
    stage(path, limit)
    # Words that are too long to be indexed raise a notice each.
    sql("SET client_min_messages = error", "SET work_mem = '256MB'",
        "CREATE TABLE docs AS SELECT id, to_tsvector('simple', title || ' ' ||"
        " body) AS tsv" + columns + " FROM staged ORDER BY " + ORDERS[order],
        "DROP TABLE staged")
    create_tiny(engines)
    sql("VACUUM (FREEZE, ANALYZE)")
    return int(sql("SELECT count(*) FROM docs")[0])


def build(name, engine, options=""):
    """Returns the size."""
    sql("SET maintenance_work_mem = '1GB'",
        "CREATE INDEX %s ON docs USING %s %s" % (
            name, ENGINES[engine][1], options))
    return int(sql("SELECT pg_table_size('%s')" % name)[0])


def measured_build(engine, memory, workers, watch=None, clause=None):
    """CREATE INDEX docs_<engine>, as create_index.sql measures it; `watch` is
    called with the backend's number and what tells whether it has ended.  With
    `clause`, what follows USING, `engine` may be any name."""
    variables = {"index": "docs_" + engine,
                 "clause": clause or ENGINES[engine][1],
                 "memory": memory, "workers": workers}
    words = command(*(word for pair in variables.items()
                      for word in ("-v", "%s=%s" % pair)),
                    "-f", os.path.join(HERE, "create_index.sql"))
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        backend = int(process.stdout.readline())
        if watch:
            watch(backend, lambda: process.poll() is not None)
        text = process.stdout.read()
    if process.returncode:
        raise RuntimeError("building docs_%s failed" % engine)
    return json.loads(text)


def temporary_files():
    """Where the server keeps them."""
    return os.path.join(sql("SHOW data_directory")[0], "base", "pgsql_tmp")


def only(*indexes):
    """Has planners see no other index of the table docs."""
    return ("UPDATE pg_index SET indisvalid = (indexrelid = ANY (ARRAY[%s]"
            "::regclass[])) WHERE indrelid = 'docs'::regclass" %
            ", ".join(map(quoted, indexes)))


def write_words(path, columns="''"):
    with open(path, "wb") as file:
        subprocess.run(command("-c", WORDS % columns), stdout=file, check=True)
