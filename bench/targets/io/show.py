"""show.py: prints and draws what bench-io has measured; imported by
report.py."""
from harness.report_base import (MB, expect, median, of, print_machine,
                                 size_name)

PATTERNS = ("forward", "backward", "random", "skip")
DEPTHS = (1, 16)
SMALL, LARGE = 8 << 10, 128 << 10     # a page, the longest run of these
LARGE_GAIN = 4.0      # MB/s of large reads over that of small ones
DEPTH_GAIN = 3.0      # of 16 small reads under way over one
BOTH_GAIN = 8.0       # of 16 large reads under way over one small one


def rate(entries):
    """MB/s, the median of the rounds."""
    return median([e["bytes"] / e["seconds"] / MB for e in entries])


def micros(entries):
    return median([e["seconds"] / max(e["reads"], 1) * 1e6 for e in entries])


def blocks_of(run, part):
    return sorted({e["block"] for e in of(run["reads"], part=part)})


def print_table(run):
    print("\nrandom reads, one     direct                     in page cache")
    print("at a time               MB/s      us    CPU us      MB/s      us")
    for block in blocks_of(run, "table"):
        direct = of(run["reads"], part="table", block=block, mode="direct")
        warm = of(run["reads"], part="table", block=block, mode="warm")
        cpu = median([e["cpu_seconds"] / max(e["reads"], 1) * 1e6
                      for e in direct])
        print("  %-18s %8.1f %7.0f %9.1f  %8.0f %7.1f" % (
            size_name(block), rate(direct), micros(direct), cpu, rate(warm),
            micros(warm)))


def curve(run, pattern, mode, depth):
    blocks = blocks_of(run, "curve")
    entries = [of(run["reads"], part="curve", pattern=pattern, mode=mode,
                  depth=depth, block=block) for block in blocks]
    return blocks, [rate(e) if e else 0 for e in entries]


def patterns_of(run):
    measured = {e["pattern"] for e in of(run["reads"], part="curve")}
    return [name for name in PATTERNS if name in measured]


def print_curves(run):
    blocks = blocks_of(run, "curve")
    if not blocks:
        return
    print("\nMB/s                      " +
          "".join("%9s" % size_name(block) for block in blocks))
    for mode, title in (("cold", "buffered"), ("direct", "direct")):
        for depth in DEPTHS:
            for pattern in patterns_of(run):
                print("  %-8s %-8s %4d " % (title, pattern, depth) +
                      "".join("%9.0f" % value for value in
                              curve(run, pattern, mode, depth)[1]))


def print_extra(run):
    """What the kernel read beyond what was asked for."""
    print("\nread from the device over asked for, buffered, depth 1")
    for pattern in patterns_of(run):
        row = "  %-22s  " % pattern
        for block in blocks_of(run, "curve"):
            entries = of(run["reads"], part="curve", pattern=pattern,
                         mode="cold", depth=1, block=block)
            row += "%9.2f" % median([e["device_bytes"] / max(e["bytes"], 1)
                                     for e in entries])
        print(row)


def random_direct(run, block, depth):
    """None where it was not measured."""
    part = of(run["reads"], part="curve", pattern="random", mode="direct",
              block=block, depth=depth)
    return rate(part) if part else None


def print_rates(run):
    figures = [(block, depth, random_direct(run, block, depth))
               for block in (SMALL, LARGE) for depth in DEPTHS]
    print("random direct reads, MB/s: " + ", ".join(
        "%s at depth %d %.0f" % (size_name(block), depth, figure)
        for block, depth, figure in figures if figure))


def expectations(run):
    """What the design of the blocks stands on, as ratios: it should hold on
    any device that is worth it."""
    lines = []
    small, many, large, both = (
        random_direct(run, block, depth) for block in (SMALL, LARGE)
        for depth in DEPTHS)
    for name, figure, wanted in (("large_over_small", large, LARGE_GAIN),
                                 ("depth_16_over_1", many, DEPTH_GAIN),
                                 ("large_at_16_over_small_at_1", both,
                                  BOTH_GAIN)):
        if small and figure:
            lines.append(expect("io." + name, figure / small, wanted, "x",
                                True))
    cold = of(run["reads"], part="curve", mode="cold", pattern="random")
    if cold:
        lines.append(expect("io.cold_was_read_from_device",
                            min(e["device_bytes"] / max(e["bytes"], 1)
                                for e in cold), .95, "x", True))
    return lines


def table_plot(run):
    table = blocks_of(run, "table")
    ticks = [(block, size_name(block)) for block in table]
    panels = [{
        "title": title, "x": "block", "y": unit, "ticks": ticks,
        "curves": [(name, table, [
            figure(of(run["reads"], part="table", mode=mode, block=block))
            for block in table])
            for mode, name in (("direct", "direct"),
                               ("warm", "in page cache"))]}
        for title, unit, figure in (("rate", "MB/s", rate),
                                    ("time of a read", "us", micros))]
    return "-blocks", "random reads, one at a time", panels


def curves_plot(run):
    panels = [{
        "title": "%s, %d under way" % (title, depth), "x": "block",
        "y": "MB/s", "ticks": [(block, size_name(block))
                               for block in blocks_of(run, "curve")],
        "curves": [(pattern, *curve(run, pattern, mode, depth))
                   for pattern in patterns_of(run)]}
        for mode, title in (("cold", "buffered"), ("direct", "direct"))
        for depth in DEPTHS]
    return "-patterns", "patterns of reads", panels


def plots(run):
    return [plot(run) for part, plot in (("table", table_plot),
                                         ("curve", curves_plot))
            if blocks_of(run, part)]


def tables(run):
    print()
    print_machine(run)
    print("file     %s; %g s a point, %d rounds, medians" % (
        size_name(run["file_bytes"]), run["seconds"], run["rounds"]))
    if blocks_of(run, "table"):
        print_table(run)
    if blocks_of(run, "curve"):
        print_curves(run)
        print_extra(run)
    print_rates(run)
