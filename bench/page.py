"""page.py: one HTML page of all results, imported by report.py: ratios first,
then each run with its commit, date and machine, its plots and its figures.
Figures that are not of HEAD are marked.
"""
import contextlib
import datetime
import glob
import html
import importlib
import io
import os

import summary
from harness.commit import head, not_of_head
from harness.plot import figure
from harness.record import load
from harness.state import last_states

OURS = ("skipidx", "auto")
PEERS = ("gin", "rum", "btree", "lucene", "tantivy", "pg_textsearch", "BM25")
MORE_IS_BETTER = ("tps", "transactions/s", "MB/s", "1000 rows/s", "nDCG@10")
STYLE = """
body { font: 14px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse } td, th { padding: .15em .7em; border-bottom: 1px solid #ddd; text-align: left }
td.figure { text-align: right; white-space: nowrap } .ahead { color: #1b6ca8 } .behind, .wrong { color: #b3261e }
.older { background: #fff3cd } pre { overflow-x: auto; font-size: 12px } svg { max-width: 100%; height: auto }
"""


def tag(name, inside, kind=""):
    """`inside` is HTML."""
    return "<%s%s>%s</%s>" % (name, ' class="%s"' % kind if kind else "", inside,
                              name)


def table(heads, rows):
    """rows: HTML of cells, and the class of the row."""
    return tag("table", tag("tr", "".join(tag("th", one) for one in heads)) +
               "\n".join(tag("tr", "".join(cells), kind) for cells, kind in rows))


class Run:
    """A file of the results, and what its target says of it."""

    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.record = load(path)
        self.target = importlib.import_module(
            "targets.%s.show" % self.record["bench"])
        self.older = not_of_head(self.record.get("skipidx"))
        self.plots = self.target.plots(self.record)
        self.expectations = self.target.expectations(self.record)
        self.wrong = (self.target.wrong_answers(self.record) if
                      hasattr(self.target, "wrong_answers") else [])

    def kind(self):
        return "older" if self.older else ""

    def link(self):
        return '<a href="#%s">%s</a>' % (self.name, html.escape(self.name))

    def figures(self):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            self.target.tables(self.record)
        return printed.getvalue()


# ---- ratios ----

def at_places(panel, ours, theirs):
    """(name of the place, ratio), the first, middle and last that both have;
    above 1 skipidx is ahead."""
    mine, other = dict(zip(*ours)), dict(zip(*theirs))
    names = dict(panel.get("ticks") or [])
    xs = [x for x in mine if mine[x] and other.get(x)]
    found = []
    for x in dict.fromkeys(xs[number] for number in
                           (0, len(xs) // 2, len(xs) - 1) if xs):
        ratio = other[x] / mine[x]
        found.append((names.get(x, x), 1 / ratio if panel["y"] in MORE_IS_BETTER
                      else ratio))
    return found


def ratios(run):
    """(what, beside, [(place, ratio) ...]) of its plots."""
    for _, _, panels in run.plots:
        for panel in panels:
            curves = {label: (xs, ys) for label, xs, ys in panel["curves"]}
            ours = next((curves[name] for name in OURS if name in curves), None)
            for label in curves:
                if ours and label.startswith(PEERS):
                    found = at_places(panel, ours, curves[label])
                    if found:
                        yield panel["title"], label, found


def expected_ratios(run):
    """Of a target without such plots."""
    for line in run.expectations:
        words = line.split()
        measured = words[2].split("=")[1]
        if measured.endswith("x") and measured[:-1].replace(".", "").isdigit():
            yield words[1], words[3] + " " + words[4], measured[:-1]


def ratio_cell(place, ratio):
    return "%s: %s" % (html.escape(str(place)), tag(
        "span", "%.3g" % ratio, "ahead" if ratio >= 1 else "behind"))


def ratio_table(runs):
    rows = []
    for run in runs:
        found = list(ratios(run))
        rows += [([tag("td", run.link()), tag("td", html.escape(what)),
                   tag("td", html.escape(peer)),
                   tag("td", "; ".join(ratio_cell(*one) for one in places))],
                  run.kind()) for what, peer, places in found]
        rows += [([tag("td", run.link()), tag("td", html.escape(what)),
                   tag("td", html.escape(wish)), tag("td", measured)], run.kind())
                 for what, wish, measured in
                 ([] if found else expected_ratios(run))]
    return table(("run", "what", "beside, or wanted", "ratio"), rows)


def headline(runs):
    """The table of doc/compared.md, of the published files."""
    try:
        lines = summary.table()
    except OSError:
        return ""
    older = [run for run in runs if run.name in summary.FILES and run.older]
    rows = [[cell.strip() for cell in line.strip("| \n").split("|")]
            for line in lines]
    return tag("h2", "Beside GIN") + table(
        ("", "skipidx", "GIN", "ratio"),
        [([tag("td", html.escape(cells[0]))] + [
            tag("td", html.escape(cell), "figure") for cell in cells[1:]],
          "older" if older else "")
         for cells in rows])


# ---- runs ----

def facts(run):
    record, hardware = run.record, run.record["hardware"]
    said = [("commit", record.get("skipidx") or "not noted"),
            ("date", record.get("date", "not noted")),
            ("machine", "%s, %s cores, %s MB, kernel %s, %s" % tuple(
                hardware.get(key, "?") for key in
                ("cpu", "cores", "memory_mb", "kernel", "filesystem"))),
            ("load before, after", "%.1f, %.1f" % (
                hardware["load_average"][0], record["load_average_after"][0]))]
    if record.get("server"):
        said.append(("server", record["server"]))
    if record.get("corpus"):
        said.append(("text", "%s, %s rows" % (record["corpus"],
                                              record.get("rows", "?"))))
    if record.get("options"):
        said.append(("options", " ".join("%s=%s" % pair for pair in
                                         sorted(record["options"].items()))))
    return table(("", ""), [([tag("td", one) for one in
                              (name, html.escape(str(value)))], "")
                            for name, value in said])


def section(run):
    parts = ['<h2 id="%s">%s</h2>' % (run.name, html.escape(run.name))]
    if run.older:
        parts.append(tag("p", "These figures are %s." % html.escape(run.older),
                         "older"))
    parts.append(facts(run))
    parts += [tag("p", "WRONG " + html.escape(line), "wrong")
              for line in run.wrong]
    parts += [figure(title, panels) for _, title, panels in run.plots]
    if run.expectations:
        parts.append(tag("pre", html.escape("\n".join(run.expectations))))
    parts.append(tag("details", tag("summary", "all figures") +
                     tag("pre", html.escape(run.figures()))))
    return "\n".join(parts)


def states(folder):
    """What `make bench` has done, and what has failed."""
    found = last_states(folder)
    if not found:
        return ""
    return tag("h2", "Runs of make bench") + table(
        ("name", "commit", "ended", "seconds", "status"),
        [([tag("td", html.escape(str(found[name][key]))) for key in
           ("name", "commit", "date", "seconds", "status")],
          "wrong" if found[name]["status"] != "done" else "")
         for name in sorted(found)])


def page(folder):
    """The HTML of all runs in a folder, and whether all are valid."""
    runs = [Run(path) for path in sorted(glob.glob(os.path.join(folder,
                                                                "*.json")))]
    older = [run for run in runs if run.older]
    now = datetime.datetime.now(datetime.timezone.utc)
    parts = [
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
        "<title>skipidx: what was measured</title>" + tag("style", STYLE) +
        "</head><body>", tag("h1", "skipidx: what was measured"),
        tag("p", "%d runs; HEAD is %s; made on %s (UTC). %s" % (
            len(runs), html.escape(head() or "not known"),
            now.strftime("%Y-%m-%d %H:%M"),
            tag("span", "%d runs are not of HEAD, and marked so." % len(older),
                "older") if older else "All runs are of HEAD.")),
        headline(runs) if os.path.realpath(folder) == os.path.realpath(
            summary.RESULTS) else "",
        tag("h2", "Ratios"),
        tag("p", "How many times as long as skipidx, or as much memory or "
            "space, the other takes; of rates, how many times as many skipidx "
            "has: above 1 it is ahead. At the first, middle and last place of "
            "each plot, within one run. Of targets without such plots what was "
            "wanted stands there."),
        ratio_table(runs), states(folder)]
    parts += [section(run) for run in runs]
    return "\n".join(parts + ["</body></html>\n"]), not any(
        run.wrong for run in runs)


def write(path):
    """Of the files in BENCH_RESULTS, or the published ones; returns whether all
    are valid."""
    written, valid = page(os.environ.get("BENCH_RESULTS", summary.RESULTS))
    with open(path, "w", encoding="utf-8") as file:
        file.write(written)
    print("the page of all results is %s" % os.path.relpath(path))
    return valid
