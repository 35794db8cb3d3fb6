"""show.py: prints and draws what bench-scroll has measured; imported by
report.py, and by measure.py for its names of series."""
from harness.report_base import expect, median, of, print_head

BASE = "OFFSET, gin"
INDEXES = {BASE: ("docs_gin",), "OFFSET, skipidx": ("docs_skipidx",),
           "cursor, gin": ("docs_gin",), "cursor, skipidx": ("docs_skipidx",),
           "keyset, btree": ("docs_id",), "keyset, skipidx": ("docs_keyed",)}
# Series that go on from tokens, and how many connections share the rows.
SLICES = {"skipidx_scroll, %d" % slices: slices
          for slices in (1, 2, 3, 4, 6, 8, 12, 16)}
INDEXES.update((series, ("docs_skipidx",)) for series in SLICES)
FACTOR, FLAT = 26.0, 1.10


def series_of(slices):
    return [series for series in INDEXES
            if series not in SLICES or SLICES[series] in slices]


def runs_of(run, **wanted):
    return of(run["runs"], **wanted)


def seconds_of(run, **wanted):
    return median([one["seconds"] for one in runs_of(run, **wanted)])


def ends_of(run, **wanted):
    """ms of a page: the medians of the first and of the last tenth, without
    the last page, which is not full."""
    firsts, lasts = [], []
    for one in runs_of(run, **wanted):
        ms = one["ms"][:-1] or one["ms"]
        part = max(len(ms) // 10, 1)
        firsts += ms[:part]
        lasts += ms[-part:]
    return (median(firsts), median(lasts)) if firsts else (0, 0)


def wrong_answers(run):
    """Ways that read other rows, or one twice."""
    found = []
    for one in run["runs"]:
        if one["sum"] != run["sum"] or (one["rows"] and sum(one["rows"]) !=
                                        run["matches"]):
            found.append("%s, %s: %d rows, sum %d; there are %d, sum %d" % (
                one["series"], one["method"], sum(one["rows"]), one["sum"],
                run["matches"], run["sum"]))
    return found


def was_run(run, **wanted):
    return bool(runs_of(run, **wanted))


def print_part(run, cold, method):
    base = seconds_of(run, cold=cold, series=BASE)
    print("\n%-20s %10s %9s %11s %11s   rows of each connection" % (
        "%s, %s" % ("cold" if cold else "warm", method), "seconds",
        "speed-up", "first, ms", "last, ms"))
    for series in run["series"]:
        wanted = {"cold": cold, "method": method, "series": series}
        if not was_run(run, **wanted):
            continue
        seconds = seconds_of(run, **wanted)
        rows = runs_of(run, **wanted)[0]["rows"]
        print("%-20s %10.2f %8.1fx %11.3f %11.3f   %s" % (
            (series, seconds, base / seconds) + ends_of(run, **wanted) + (
                " ".join(map(str, rows)) if rows else
                "%d pages were run" % len(runs_of(run, **wanted)[0]["ms"]),)))


def tables(run):
    print_head(run, "pages of %d rows" % run["size"])
    print("all rows with '%s': %d" % (run["word"], run["matches"]))
    for cold in (False, True):
        for method in run["methods"]:
            print_part(run, cold, method)


def expectations(run):
    lines = []
    for cold in (False, True):
        name = "cold" if cold else "warm"
        base = seconds_of(run, cold=cold, series=BASE)
        for method in run["methods"]:
            wanted = {"cold": cold, "method": method}
            alone = "skipidx_scroll, 1"
            if not was_run(run, series=alone, **wanted):
                continue
            lines.append(expect(
                "scroll.%s.%s_%s_vs_offset" % (run["corpus"], name, method),
                base / seconds_of(run, series=alone, **wanted), FACTOR, "x",
                True))
            first, last = ends_of(run, series=alone, **wanted)
            lines.append(expect(
                "scroll.%s.%s_%s_last_vs_first" % (run["corpus"], name,
                                                   method),
                last / first, FLAT, "x", False))
    return lines


def plots(run):
    """ms of pages over their places, warm."""
    curves = []
    for series in run["series"]:
        found = [one for one in runs_of(run, series=series, cold=False)
                 if one["ms"]]
        if found:
            one = found[0]
            step = max(len(one["ms"]) // 50, 1)
            curves.append((series, [place + 1 for place in
                                    one["places"][::step]],
                           [max(ms, .001) for ms in one["ms"][::step]]))
    pages = -(-run["matches"] // run["size"])
    ticks = [(10 ** i, str(10 ** i)) for i in range(len(str(pages)))]
    return [("", "pages of %d rows, %s" % (run["size"], run["corpus"]), [
        {"title": "warm", "x": "page", "y": "ms", "ticks": ticks,
         "curves": curves}])]
