"""show.py: prints what bench-highlight has measured; imported by report.py, and
by measure.py for what it measures."""
from harness.report_base import collected, expect, median, of, print_head

SUBJECT, YARDSTICK = FUNCTIONS = ("skipidx_highlight", "ts_headline")
KINDS = ("rare", "common")
LENGTHS = (100, 1000, 10000, 100000)
LONG, FACTOR = 1000, 10.0


def wrong_answers(run):
    return ["%s of %d words, query %d: %d documents marked, %d by %s" % (
        one["kind"], one["words"], one["query"], *one["rows"], YARDSTICK)
            for one in run["wrong"]]


def middle(run, **wanted):
    """In us."""
    return median(list(collected(of(run["times"], **wanted), "us").values()))


def tables(run):
    print_head(run, "each the least of %d times" % run["repetitions"])
    print("words    " + ", ".join("%d (%d wanted)" % (found, words)
                                  for words, found in run["lengths"]))
    print("\nthe best passage, us a document, p50; documents marked\n%-7s %7s" %
          ("", "words") + "".join("%27s" % one for one in FUNCTIONS) +
          "%9s" % "ratio")
    for kind in KINDS:
        for words in LENGTHS:
            us = [middle(run, kind=kind, words=words, function=function)
                  for function in FUNCTIONS]
            marked = [of(run["times"], kind=kind, words=words,
                         function=function)[0]["marked"]
                      for function in FUNCTIONS]
            print("%-7s %7d" % (kind, words) + "".join(
                "%20.1f (%4d)" % one for one in zip(us, marked)) +
                  "%9.1f" % (us[1] / us[0]))


def expectations(run):
    return [expect("highlight.%s.%s_%d_vs_ts_headline" % (
        run["corpus"], kind, words),
                   middle(run, kind=kind, words=words, function=YARDSTICK) /
                   middle(run, kind=kind, words=words, function=SUBJECT),
                   FACTOR, "x", True)
            for kind in KINDS for words in LENGTHS if words >= LONG]


def plots(run):
    """The table says it all."""
    return []
