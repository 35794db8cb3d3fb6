"""summary.py: the figures of doc/compared.md, from the files in results/; imported
by report.py and page.py.

Each row of the table is of one run, in which both engines took turns on one
machine.  The plot is of the run that holds all peers.
"""
import os

from harness.plot import bars
from harness.record import load
from harness.report_base import median, of
from targets.boolean.show import build_of, times_of
from targets.insert.show import tps
from targets.rank.show import figures, spread

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
RANKED = (("OR10", "any of the words"), ("AND10", "all of the words"),
          ("PHRASE10", "the words as a phrase"))
SERIES = (("skipidx", "skipidx"), ("lucene", "Lucene"),
          ("tantivy", "Tantivy"), ("rum", "RUM"), ("gin", "GIN + ts_rank_cd"))
CLIENTS = 4
FILES = ("rank-enwiki_1m-all", "boolean-enwiki_1m", "build-enwiki_1m",
         "insert-enwiki_1m")


def results():
    """Of each of FILES what it holds."""
    return [load(os.path.join(RESULTS, name + ".json")) for name in FILES]


def three_digits(value):
    """As people write it: 0.0841, 5.74, 53.1, 202, 9,653."""
    if value >= 100:
        return "{:,.0f}".format(value)
    return "%#.3g" % value


def row(what, unit, ours, theirs, ratio):
    return "| %s | %s %s | %s %s | %s x |" % (
        what, three_digits(ours), unit, three_digits(theirs), unit,
        "%.0f" % ratio if ratio >= 10 else "%.1f" % ratio)


def table():
    """One row a line of the table, as it stands there."""
    rank, boolean, build, insert = results()
    rows = []
    for mode, what in RANKED[:2]:
        ours, theirs = (spread(rank, figures(rank, mode, name))[0] / 1000
                        for name in ("skipidx", "gin"))
        rows.append(row("the ten best rows with %s, median" % what, "ms",
                        ours, theirs, theirs / ours))
    ours, theirs = (median(times_of(boolean, "phrase", name)) / 1000
                    for name in ("skipidx", "gin"))
    rows.append(row("all rows with a phrase, counted, median", "ms", ours,
                    theirs, theirs / ours))
    ours, theirs = (median([one["seconds"] for one in of(
        build["builds"], engine=name, memory="64MB", workers=0)])
                    for name in ("skipidx", "gin"))
    rows.append(row("`CREATE INDEX`, one process, 64 MB", "s", ours, theirs,
                    theirs / ours))
    ours, theirs = (build_of(boolean, name, "1GB", "bytes") / (1 << 20)
                    for name in ("skipidx", "gin"))
    rows.append(row("size of the index", "MB", ours, theirs, theirs / ours))
    ours, theirs = (tps(insert, name, CLIENTS)
                    for name in ("skipidx", "gin_on"))
    rows.append(row("rows inserted, %d clients" % CLIENTS, "a second", ours,
                    theirs, ours / theirs))
    return rows


def show(path):
    """Prints the table and, where a path is given, draws the plot there."""
    for line in table():
        print(line)
    if path is None:
        return
    run = results()[0]
    panels = []
    for mode, what in RANKED:
        panel = []
        for name, label in SERIES:
            found = figures(run, mode, name)
            ms = spread(run, found)[0] / 1000
            text = three_digits(ms)
            if len(found) < len(run["queries"]):
                text += " (%d queries)" % len(found)
            panel.append((label, ms, text))
        panels.append((what, panel))
    bars(path, "The ten best of a million rows: median ms of %s queries, "
         "logarithmic, shorter is better" % "{:,}".format(len(run["queries"])),
         panels)
