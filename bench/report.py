#!/usr/bin/env python3
"""report.py show FILE.json ...: prints files of bench/results again, whatever
target measured them, and draws their plots beside them.
report.py worst FILE.json NAME: of a class or mode of bench-boolean or
bench-rank, the queries that take skipidx longest.
report.py summary [FILE.svg]: the table of the README at the top of the tree,
and its plot.

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
import importlib.util
import os
import subprocess
import sys

from harness.plot import beside, draw
from harness.record import load

SHOWN_WRONG = 20
DEBIAN_PYTHON = "/usr/bin/python3"      # which has Debian's matplotlib


def has_matplotlib(python):
    return os.path.exists(python) and subprocess.run(
        [python, "-c", "import matplotlib"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


def find_matplotlib():
    """Goes on by the distribution's Python where another one comes first in
    PATH."""
    if (importlib.util.find_spec("matplotlib") is None and
            os.path.realpath(sys.executable) !=
            os.path.realpath(DEBIAN_PYTHON) and
            has_matplotlib(DEBIAN_PYTHON)):
        os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)


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
        find_matplotlib()
        return 0 if all([show(path) for path in sys.argv[2:]]) else 1
    if len(sys.argv) in (2, 3) and sys.argv[1] == "summary":
        find_matplotlib()
        importlib.import_module("summary").show((sys.argv + [None])[2])
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "worst":
        run = load(sys.argv[2])
        if hasattr(target_of(run), "worst"):
            target_of(run).worst(run, sys.argv[3])
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
