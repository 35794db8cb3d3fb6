"""show.py: prints what bench-typos has measured; imported by report.py, and by
measure.py for its names of series."""
from harness.report_base import MB, expect, median, print_head, quantile

MOST = 16            # words that stand for one, as skipidx_expand() has them
FOUND_AMONG = .997
RATIO = 3            # of the forgiving statement to the exact one, or
WORD_MS = 1          # so much more for its word, whichever is larger
SUGGEST = "suggest"
EXACT = "exact"
FORGIVING = "forgiving"
SERIES = (SUGGEST, EXACT, FORGIVING)


def share(run, most):
    places = [one["place"] for one in run["words"]]
    return sum(0 < place <= most for place in places) / len(places)


def times(run, series):
    """Of each word, the median of its rounds, in ms."""
    return [median(one[series]) for one in run["words"]]


def excess(run):
    """Of each word, the forgiving statement to what it may take."""
    return [forgiving / max(RATIO * exact, exact + WORD_MS)
            for exact, forgiving in zip(times(run, EXACT),
                                        times(run, FORGIVING))]


def tables(run):
    print_head(run, "%d misspelt words, %d rounds, seed %d" % (
        len(run["words"]), run["rounds"], run["seed"]))
    print("index    %.1f MB, %d terms" % (run["bytes"] / MB, run["terms"]))
    print("\nfound    %.4f of all suggestions, %.4f among %d, %.4f first" % (
        share(run, float("inf")), share(run, MOST), MOST, share(run, 1)))
    print("\n%-12s%12s%12s%12s" % ("", "p50, us", "p95, us", "p99, us"))
    for series in SERIES:
        print("%-12s%12.0f%12.0f%12.0f" % (series, *(
            1000 * quantile(times(run, series), p) for p in (.5, .95, .99))))


def wrong_answers(run):
    return ["%s: not among the suggestions for %s" % (one["term"], one["typed"])
            for one in run["words"] if one["place"] == 0]


def expectations(run):
    return [expect("typos.found", 100 * share(run, float("inf")), 100, "%",
                   True),
            expect("typos.found_among_16", 100 * share(run, MOST),
                   100 * FOUND_AMONG, "%", True),
            expect("typos.p50", median(excess(run)), 1, "x", False),
            expect("typos.p99", quantile(excess(run), .99), 1, "x", False)]


def plots(run):
    return []
