"""show.py: prints what bench-score has measured; imported by report.py, and by
measure.py for its series."""
from harness.report_base import MB, expect, median, of, print_head, quantile

MODE = "OR10"
WEIGHTS = (.1, .5, 1)
EXPECTED_WEIGHT = .5
IN_ORDER = 1.5               # times the words alone
SHUFFLED = 2.5

RECENCY = (" + skipidx_recency({column}, interval '{days} days', {{weight}},"
           " timestamptz '{{as_of}}')")
POPULARITY = " + skipidx_saturation(clicks, 100, {weight})"


def recency(column, days):
    return RECENCY.format(column=column, days=days)


SERIES = {
    "words": {"terms": "", "filtered": False},
    "words, filtered": {"terms": "", "filtered": True},
    "arrival, 7 days": {"terms": recency("arrived", 7), "filtered": False},
    "arrival, 365 days": {"terms": recency("arrived", 365), "filtered": False},
    "shuffled, 7 days": {"terms": recency("shuffled", 7), "filtered": False},
    "shuffled, 365 days": {"terms": recency("shuffled", 365),
                           "filtered": False},
    "popularity": {"terms": POPULARITY, "filtered": False},
    "both": {"terms": POPULARITY + recency("arrived", 365), "filtered": False},
    "both, filtered": {"terms": POPULARITY + recency("arrived", 365),
                       "filtered": True},
}
BASES = ("words", "words, filtered")


def name_of(entry):
    return entry["series"] + (" * %g" % entry["weight"]
                              if entry["weight"] else "")


def times(entry):
    """Of each query, the median of its rounds, in ms."""
    return [median(rounds) for rounds in entry["ms"]]


def base_of(run, entry):
    return of(run["measured"],
              series=BASES[SERIES[entry["series"]]["filtered"]])[0]


def ratio(run, entry, share):
    return (quantile(times(entry), share) /
            quantile(times(base_of(run, entry)), share))


def tables(run):
    print_head(run, "%d queries, %d rounds, seed %d" % (
        len(run["queries"]), run["rounds"], run["seed"]))
    print("index    %.1f MB; the tenth row has %.3f" % (run["bytes"] / MB,
                                                        run["score"]))
    print("\n%-26s%12s%12s%12s%12s%8s" % ("", "p50, us", "of words",
                                          "p99, us", "of words", "sorts"))
    for entry in run["measured"]:
        print("%-26s%s%8d" % (name_of(entry), "".join(
            "%12.0f%12.2f" % (1000 * quantile(times(entry), share),
                              ratio(run, entry, share))
            for share in (.5, .99)), entry["sorts"]))


def wrong_answers(run):
    return ["%s: query %d has other sums than by a sort" % (
        name_of(entry), entry["query"]) for entry in run["wrong"]]


def expectations(run):
    return [expect("score.%s.p%g" % (entry["series"].replace(", ", "_")
                                     .replace(" ", "_"), 100 * share),
                   ratio(run, entry, share),
                   SHUFFLED if "shuffled" in entry["series"] else IN_ORDER,
                   "x", False)
            for entry in of(run["measured"], weight=EXPECTED_WEIGHT)
            for share in (.5, .99)]


def plots(run):
    return []
