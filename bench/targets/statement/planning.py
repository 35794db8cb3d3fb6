"""planning.py: instructions of planning, counted by callgrind in a server of
one process, on the cluster of the run, which is stopped for it; imported by
measure.py."""
import os
import pwd
import re
import shutil
import subprocess

from harness.record import option
from harness.server import quoted, sql
from targets.statement.statements import (COLUMNS, OTHER, PARSER, PEER, PLAIN,
                                          PLANNED, SEARCHES, SUBJECT,
                                          YARDSTICK, search_of, select,
                                          value_of, with_literal)

WARM, COUNTED = 20, 50     # plans before and while instructions are counted
QUERIES = 3
PLANNER = "planner"        # the server's function, which calls all hooks
SETTINGS = {"shared_buffers": "128MB", "skipidx.cache_size": "16MB",
            "shared_preload_libraries": ""}


class Valgrind:
    """Runs statements in the stopped cluster."""

    def __init__(self):
        self.data = sql("SHOW data_directory")[0]
        self.programs = subprocess.run(
            ["pg_config", "--bindir"], check=True, text=True,
            stdout=subprocess.PIPE).stdout.strip()
        self.settings = dict(SETTINGS)
        if int(sql("SHOW server_version_num")[0]) >= 180000:
            self.settings["io_method"] = "sync"
        self.file = os.path.join(os.environ["PGHOST"], "callgrind.out")

    def as_owner(self, *command, **options):
        owner = os.stat(self.data).st_uid
        before = ([] if owner == os.geteuid() else
                  ["runuser", "-u", pwd.getpwuid(owner).pw_name, "--"])
        return subprocess.run(before + list(command), check=True, text=True,
                              cwd=self.data, **options)

    def stop_server(self):
        self.as_owner(os.path.join(self.programs, "pg_ctl"), "-w", "-s", "-D",
                      self.data, "-m", "fast", "stop")

    def run(self, database, statements, preload="", before=()):
        """By a server of one process, which is an argument of `before`."""
        settings = dict(self.settings, shared_preload_libraries=preload)
        done = self.as_owner(
            *before, os.path.join(self.programs, "postgres"), "--single", "-D",
            self.data, *(word for pair in settings.items()
                         for word in ("-c", "%s=%s" % pair)), database,
            input="".join(one + "\n" for one in statements),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        wrong = re.search(r"^.*(?:ERROR|FATAL):.*", done.stderr, re.M)
        if wrong:
            raise RuntimeError(wrong[0])

    def count(self, database, statements, preload):
        """Instructions of all planning, and those of the parser in it."""
        self.run(database, statements, preload, (
            "valgrind", "--tool=callgrind",
            "--callgrind-out-file=" + self.file, "--collect-atstart=no",
            "--toggle-collect=" + PLANNER))
        with open(self.file, encoding="utf-8") as file:
            found = instructions_of(file)
        os.remove(self.file)
        return found


def instructions_of(lines):
    """In all, and of calls of the parser with all that these call, of a file
    of callgrind: names are given once, with a number that stands for them
    later, and the line behind "calls=" has the instructions of such calls."""
    names, called, total, parser = {}, None, 0, 0
    is_call = False
    for line in lines:
        if is_call:
            parser += int(line.split()[1]) if called == PARSER else 0
            is_call = False
        elif line.startswith("calls="):
            is_call = True
        elif line.startswith(("fn=", "cfn=")):
            number, _, name = line.split("=", 1)[1].strip().partition(" ")
            # A function that calls itself may have its depth behind the name.
            called = names.setdefault(number, name.split("'")[0])
        elif line.startswith(("summary:", "totals:")):
            total = int(line.split()[1])
    if total == 0:
        raise RuntimeError("callgrind has counted no planning")
    return total, parser


def per_plan(valgrind, database, statement, before=(), preload=""):
    """Of one plan, when all that is made once has been made."""
    statement = "EXPLAIN (COSTS OFF) " + statement
    (few, few_parsed), (many, many_parsed) = (
        valgrind.count(database, list(before) + [statement] * n, preload)
        for n in (WARM, WARM + COUNTED))
    return {"instructions": (many - few) // COUNTED,
            "parser": (many_parsed - few_parsed) // COUNTED}


def matches_of(run):
    """Number of the query, GIN's match with a literal."""
    for number, one in enumerate(run["queries"][:run["planned"]]):
        yield number, PLAIN % quoted(" & ".join(one["lexemes"].split()))


def searches_of(run, engine):
    """Name, number of the query, statement."""
    for number, one in enumerate(run["queries"][:run["planned"]]):
        for name in PLANNED:
            if name in SEARCHES[engine]:
                search = search_of(engine, name)
                yield name, number, with_literal(
                    select(search), value_of(search, one["words"].split()))


def note(run, name, engine, number, found):
    run["planning"].append(dict({"statement": name, "engine": engine,
                                 "query": number}, **found))
    print("  %-14s %-14s %9d instructions, %9d of the parser" % (
        name, engine, found["instructions"], found["parser"]), flush=True)


def count_yardstick(run, valgrind):
    """Beside the btrees of the other columns, and without them."""
    for name in ("match_beside", "match"):
        if name == "match":
            valgrind.run(YARDSTICK, ["DROP INDEX docs_" + column
                                     for column in COLUMNS])
        for number, statement in matches_of(run):
            note(run, name, YARDSTICK, number,
                 per_plan(valgrind, YARDSTICK, statement))


def count_others(run, valgrind):
    """A statement of another table, before and after a search had the library
    loaded."""
    *_, search = next(searches_of(run, SUBJECT))
    for name, before in (("other", ()),
                         ("other_loaded", ["EXPLAIN " + search])):
        note(run, name, SUBJECT, 0, per_plan(valgrind, SUBJECT, OTHER, before))


def count_all(run):
    valgrind = Valgrind()
    valgrind.stop_server()
    if YARDSTICK in run["engines"]:
        count_yardstick(run, valgrind)
    for engine in (SUBJECT, PEER):
        if engine in run["engines"]:
            for name, number, statement in searches_of(run, engine):
                note(run, name, engine, number, per_plan(
                    valgrind, engine, statement,
                    preload=PEER if engine == PEER else ""))
    if SUBJECT in run["engines"]:
        count_others(run, valgrind)


def measure_planning(run):
    """Into run["planning"]; the server does not run any more afterwards.  A
    record without it is better than none: all else has been measured."""
    run["planned"] = int(option("PLANNED", QUERIES))
    if run["planned"] == 0:
        return
    if shutil.which("valgrind") is None:
        print("bench: valgrind is not installed, planning is not counted")
        return
    try:
        count_all(run)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print("bench: planning is not counted any further: %s" % error)
