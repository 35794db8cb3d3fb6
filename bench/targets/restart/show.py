"""show.py: prints and draws what bench-restart has measured; imported by
report.py, and by measure.py for its names of series."""
from harness.report_base import (MB, expect, median, of, print_head,
                                 quantile)

SERIES = {"kept": "1h", "cold": "0"}    # skipidx.autoprewarm_interval
SHOWN = (1, 2, 3, 5, 10, 20, 30)        # seconds after the start
BY = 10                                 # s, by which p50 is to be
P50 = 1.2                               # times warm


def warm(one, share=.5):
    return quantile(sum(one["warm"], []), share)


def within(one, second, share=.5):
    """Of the searches that ended in this second after the start; None where
    there was none."""
    seconds = one["after"]
    times = seconds[second - 1] if second <= len(seconds) else []
    return quantile(times, share) if times else None


def ratio(run, series, second, share=.5):
    """Over warm: the median of the rounds' own."""
    ratios = [within(one, second, share) / warm(one, share)
              for one in of(run["restarts"], series=series)
              if within(one, second, share) is not None]
    return median(ratios) if ratios else None


def series_of(run):
    return [name for name in SERIES if of(run["restarts"], series=name)]


def tables(run):
    print_head(run, "index of %d MB" % (run["index_bytes"] // MB),
               "%d queries" % run["queries"])
    for name in series_of(run):
        rounds = of(run["restarts"], series=name)
        print("\n%s: restarted in %.1f s, %d pages read back, "
              "%d evictions; warm p50 %d us, p99 %d us" % (
                  name, median([one["restart_seconds"] for one in rounds]),
                  median([one["cache"]["prewarmed"] for one in rounds]),
                  median([one["cache"]["evictions"] for one in rounds]),
                  median([warm(one) for one in rounds]),
                  median([warm(one, .99) for one in rounds])))
        print("  second      p50/warm   p99/warm   searches")
        for second in SHOWN:
            if ratio(run, name, second) is None:
                continue
            print("  %6d %12.2f %10.2f %10d" % (
                second, ratio(run, name, second),
                ratio(run, name, second, .99),
                median([len(one["after"][second - 1]) for one in rounds
                        if second <= len(one["after"])])))


def plots(run):
    curves = []
    for name in series_of(run):
        pairs = [(second, ratio(run, name, second))
                 for second in range(1, max(SHOWN) + 1)]
        found = [pair for pair in pairs if pair[1] is not None]
        curves.append((name, [second for second, _ in found],
                       [value for _, value in found]))
    return [("", "searches after a restart, %s" % run["corpus"], [{
        "title": "p50 over that before it", "x": "s after the start",
        "y": "times", "over_time": [BY], "curves": curves}])]


def expectations(run):
    value = ratio(run, "kept", BY)
    return [] if value is None else [
        expect("restart.%s.kept_p50_second_%d" % (run["corpus"], BY), value,
               P50, "x", False)]


def wrong_answers(run):
    return run["wrong"]
