#!/usr/bin/env python3
"""device.py measure FILE.json: reads a file on this machine's device by blocks
of many sizes, keeps what was measured in one file, prints and draws it;
run_io.sh calls it.
device.py show FILE.json ...: prints and draws files again.
"""
import os
import sys

from harness.plot import beside, draw
from harness.record import (begin, command_line, in_turns, keep, numbers, of,
                    option, print_machine, size_name, step)
from targets.boolean.show import expect, median
from harness.scratch import build_programs, run_program, scratch_file

TABLE_BLOCKS = "512 1k 2k 4k 8k 16k 32k 64k 128k 256k 512k 1M"
CURVE_BLOCKS = "4k 8k 16k 32k 64k 128k 256k 1M"
PATTERNS = ("forward", "backward", "random", "skip")
DEPTHS = (1, 16)
MB = 1 << 20
SMALL, LARGE = 8 << 10, 128 << 10     # a page, the longest run of adjacent ones
LARGE_GAIN = 4.0      # MB/s of large reads over that of small ones
DEPTH_GAIN = 3.0      # of 16 small reads under way over one
BOTH_GAIN = 8.0       # of 16 large reads under way over one small one


# ---- measuring ----

def points():
    """Every measurement of one round: those of the table, then the curves."""
    for block in numbers("TABLE_BLOCKS", TABLE_BLOCKS):
        for mode in ("direct", "warm"):
            yield {"part": "table", "pattern": "random", "block": block,
                   "mode": mode, "depth": 1}
    for pattern in option("PATTERNS", " ".join(PATTERNS)).split():
        for block in numbers("BLOCKS", CURVE_BLOCKS):
            for mode in ("cold", "direct"):
                for depth in DEPTHS:
                    yield {"part": "curve", "pattern": pattern,
                           "block": block, "mode": mode, "depth": depth}


def measure(path):
    rounds = int(option("ROUNDS", 3))
    seconds = float(option("SECONDS", 2))
    run = begin("io")
    run.update(seconds=seconds, rounds=rounds, reads=[])
    sweep = os.path.join(build_programs(), "sweep")
    file = scratch_file(numbers("FILE_BYTES", "4G")[0])
    run["file_bytes"] = os.path.getsize(file)
    last = None
    for turn, point in in_turns(list(points()), rounds):
        if (turn, point["part"]) != last:
            last = (turn, point["part"])
            step("round %d, %s" % (turn + 1, point["part"]))
        got = run_program(sweep, file, point["pattern"], point["block"],
                          point["depth"] if point["depth"] > 1 else 0,
                          point["mode"], seconds, turn + 1)
        run["reads"].append(dict(point, round=turn, **got))
    keep(run, path, ("reads",))
    show(run, path)


# ---- printing ----

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


def print_summary(run):
    figures = [(block, depth, random_direct(run, block, depth))
               for block in (SMALL, LARGE) for depth in DEPTHS]
    print("random direct reads, MB/s: " + ", ".join(
        "%s at depth %d %.0f" % (size_name(block), depth, figure)
        for block, depth, figure in figures if figure))


def expectations(run):
    """What the design of the blocks stands on, as ratios: it should hold on any
    device that is worth it."""
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


def plots(run, path):
    table = blocks_of(run, "table")
    if table:
        ticks = [(block, size_name(block)) for block in table]
        panels = []
        for title, unit, figure in (("rate", "MB/s", rate),
                                    ("time of a read", "us", micros)):
            panels.append({
                "title": title, "x": "block", "y": unit, "ticks": ticks,
                "curves": [(name, table, [
                    figure(of(run["reads"], part="table", mode=mode,
                              block=block)) for block in table])
                    for mode, name in (("direct", "direct"),
                                       ("warm", "in page cache"))]})
        draw(beside(path, "-blocks"), "random reads, one at a time", panels)
    blocks = blocks_of(run, "curve")
    if blocks:
        panels = [{
            "title": "%s, %d under way" % (title, depth),
            "x": "block", "y": "MB/s",
            "ticks": [(block, size_name(block)) for block in blocks],
            "curves": [(pattern, *curve(run, pattern, mode, depth))
                       for pattern in patterns_of(run)]}
            for mode, title in (("cold", "buffered"), ("direct", "direct"))
            for depth in DEPTHS]
        draw(beside(path, "-patterns"), "patterns of reads", panels)


def show(run, path):
    print()
    print_machine(run)
    print("file     %s; %g s a point, %d rounds, medians" % (
        size_name(run["file_bytes"]), run["seconds"], run["rounds"]))
    if blocks_of(run, "table"):
        print_table(run)
    if blocks_of(run, "curve"):
        print_curves(run)
        print_extra(run)
    print()
    plots(run, path)
    print_summary(run)
    for line in expectations(run):
        print(line)


if __name__ == "__main__":
    sys.exit(command_line(__doc__, measure, show))
