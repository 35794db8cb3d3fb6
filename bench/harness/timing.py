"""timing.py: times of searches, taken inside the server by the procedures of
timing.c or by pgbench; imported by measure.py of rank and execution."""
import glob
import json
import os
import shutil
import subprocess

from harness.record import temporary
from harness.server import outputs, quoted, run_file

HERE = os.path.dirname(os.path.abspath(__file__))
GROUP = 120               # scripts of one pgbench, which takes 128
SEED = 1
# Searches give TIDs: no block of the table is asked for, either.
NOTHING_FETCHED = "SET effective_io_concurrency = 0"
# Of all searches together, as EXPLAIN has them; `left` is a sum of shares.
WORK = ("passes", "windows", "scored", "candidates", "proximity", "left")


def create_procedures():
    """From the library that prepare.sh has compiled, put where the server's
    user can read it."""
    path = os.path.join(os.environ["PGHOST"], "timing.so")
    shutil.copy(temporary("timing", "timing.so"), path)
    os.chmod(path, 0o755)
    run_file(os.path.join(HERE, "timing.sql"), module=path[:-3])


def literal(query):
    """Without a colon but those of the cast, which pgbench would take for the
    beginning of a variable."""
    if ":" in query:
        return "E%s::tsquery" % quoted(
            query.replace("\\", "\\\\")).replace(":", "\\072")
    return quoted(query) + "::tsquery"


def short(us):
    """As exact as it was measured, as short as that allows."""
    return round(us) if us >= 100 else round(us, 1)


def call_of(procedure, *arguments):
    """`CALL`, the results last."""
    return "CALL %s(%s, NULL, NULL, NULL, NULL)" % (procedure, ", ".join(
        quoted(one) if isinstance(one, str) else str(one).lower()
        for one in arguments))


def values_of(array):
    return [one for one in array[1:-1].split(",") if one]


def result_of(line):
    us, hits, work, told = line.strip().split("|")
    return {"us": [short(float(one)) for one in values_of(us)],
            "hits": [int(one) for one in values_of(hits)],
            "work": dict(zip(WORK, map(float, values_of(work)))),
            "limit_told": told == "t"}


def course_of(repetitions, warm=True, seconds=0, fresh=True):
    return repetitions, warm, "%g" % seconds, fresh


def scan_call(index, searches, strategy, k, fetch, course):
    return call_of("bench_scan", index, searches, strategy, k, fetch, *course)


def time_scan(index, searches, strategy, k, fetch, course, before=()):
    """Of each search the least time of an index scan, in us, and its rows."""
    asks = () if fetch else (NOTHING_FETCHED,)
    return result_of(outputs(*asks, *before, scan_call(
        index, searches, strategy, k, fetch, course))[-1])


def time_statement(statement, searches, course, before=()):
    """The same for a prepared statement; what a count(*) counts is its
    rows."""
    return result_of(outputs(*before, call_of(
        "bench_statement", statement, searches, *course))[-1])


def set_all(settings):
    return ["SET %s = '%s'" % pair for pair in settings]


# ---- through pgbench ----

def read_log(prefix, number):
    """Times of each script, in us, in the order taken."""
    times = [[] for _ in range(number)]
    for path in glob.glob(prefix + ".*"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                fields = line.split()
                times[int(fields[3])].append(int(fields[2]))
        os.remove(path)
    return times


def run_pgbench(statements, length, settings):
    """One client, statements drawn at random, each a transaction of its own,
    prepared when first run: all times but that first one."""
    directory = temporary("pgbench")
    os.makedirs(directory, exist_ok=True)
    command = ["pgbench", "-n", "-M", "prepared", "-c", "1", *length,
               "--random-seed=%d" % SEED, "-l", "--log-prefix=" +
               os.path.join(directory, "log")]
    for number, statement in enumerate(statements):
        path = os.path.join(directory, "%d.sql" % number)
        with open(path, "w", encoding="utf-8") as file:
            file.write(statement + ";\n")
        command += ["-f", path]
    environment = dict(os.environ, PGOPTIONS=" ".join(
        "-c %s=%s" % pair for pair in settings))
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.PIPE, env=environment, text=True)
    if done.returncode:
        raise RuntimeError("pgbench: " + done.stderr[-1000:])
    return [times[1:] for times in
            read_log(os.path.join(directory, "log"), len(statements))]


def time_pgbench(statements, executions, settings=(), seconds=0):
    """Of each statement the least and the median time, None where it was not
    run often enough, and of `SELECT 1` between them.  With `seconds`, the first
    group only, for so long."""
    least, middle, nothing = [], [], []
    for first in range(0, len(statements), GROUP):
        group = statements[first:first + GROUP]
        length = (["-T", "%d" % seconds] if seconds else
                  ["-t", "%d" % (executions * (len(group) + 1))])
        *times, empty = run_pgbench(group + ["SELECT 1"], length, settings)
        nothing += empty
        for one in times:
            one.sort()
            least.append(one[0] if one else None)
            middle.append(one[len(one) // 2] if one else None)
        if seconds:
            break
    nothing.sort()
    return {"least": least, "median": middle,
            "nothing": [nothing[0], nothing[len(nothing) // 2]]
            if nothing else [0, 0]}


# ---- plans ----

def nodes_of(plan):
    """Names of the nodes, from the top, as EXPLAIN's JSON has them."""
    name = plan.get("Custom Plan Provider", plan["Node Type"])
    below = [nodes_of(child) for child in plan.get("Plans", ())]
    return name + (" > " + " + ".join(below) if below else "")


def plans_of(statements, settings=()):
    """How many of the statements have which plan."""
    counts = {}
    before = set_all(settings)
    for first in range(0, len(statements), GROUP):
        group = statements[first:first + GROUP]
        out = outputs(*before, *("EXPLAIN (FORMAT JSON) " + one
                                 for one in group))
        for text in out[len(before):]:
            name = nodes_of(json.loads(text)[0]["Plan"])
            counts[name] = counts.get(name, 0) + 1
    return counts
