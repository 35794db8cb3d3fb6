#!/usr/bin/env python3
"""report.py show FILE.json ...: prints files of bench/results again, whatever
target measured them, and draws their plots beside them.
report.py worst FILE.json NAME: of a class or mode of bench-boolean or
bench-rank, the queries that take skipidx longest.
report.py summary [FILE.svg]: the table of doc/compared.md, and its plot.
report.py html FILE.html: one page of all files in bench/results, or in
BENCH_RESULTS, ratios first.

A file holds the single times, in the order they were taken; every figure
printed is computed from them.  The exit code is 1 if a run is not valid (what
was compared gave different answers), whether expectations are met or not.

targets/<name>/show.py prints what the target of that name measured:
  tables(run)         prints
  plots(run)          of each: what follows FILE in its name, title, panels
  expectations(run)   a line for each
and where answers are compared, or single queries kept:
  wrong_answers(run)  a line for each
  worst(run, name)    prints
"""
import importlib
import sys

from harness.plot import beside, draw
from harness.record import load

SHOWN_WRONG = 20


def target_of(run):
    return importlib.import_module("targets.%s.show" % run["bench"])


def show(path):
    """Returns whether the run is valid."""
    run = load(path)
    target = target_of(run)
    target.tables(run)
    print()
    for suffix, title, panels in target.plots(run):
        draw(beside(path, suffix), title, panels)
    wrong = (target.wrong_answers(run) if hasattr(target, "wrong_answers")
             else [])
    for line in wrong[:SHOWN_WRONG]:
        print("WRONG " + line)
    if len(wrong) > SHOWN_WRONG:
        print("WRONG and %d more" % (len(wrong) - SHOWN_WRONG))
    for line in target.expectations(run):
        print(line)
    return not wrong


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "show":
        return 0 if all([show(path) for path in sys.argv[2:]]) else 1
    if len(sys.argv) in (2, 3) and sys.argv[1] == "summary":
        importlib.import_module("summary").show((sys.argv + [None])[2])
        return 0
    if len(sys.argv) == 3 and sys.argv[1] == "html":
        return 0 if importlib.import_module("page").write(sys.argv[2]) else 1
    if len(sys.argv) == 4 and sys.argv[1] == "worst":
        run = load(sys.argv[2])
        if hasattr(target_of(run), "worst"):
            target_of(run).worst(run, sys.argv[3])
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
