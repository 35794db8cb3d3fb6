"""measure.py FILE: reads a file on this machine's device by blocks of many
sizes; see README.md beside it."""
import os

from harness.record import in_turns, keep, numbers, option, step
from harness.scratch import build_programs, run_program, scratch_file

TABLE_BLOCKS = "512 1k 2k 4k 8k 16k 32k 64k 128k 256k 512k 1M"
CURVE_BLOCKS = "4k 8k 16k 32k 64k 128k 256k 1M"
PATTERNS = "forward backward random skip"
DEPTHS = (1, 16)


def points():
    """Every measurement of one round: those of the table, then the curves."""
    for block in numbers("TABLE_BLOCKS", TABLE_BLOCKS):
        for mode in ("direct", "warm"):
            yield {"part": "table", "pattern": "random", "block": block,
                   "mode": mode, "depth": 1}
    for pattern in option("PATTERNS", PATTERNS).split():
        for block in numbers("BLOCKS", CURVE_BLOCKS):
            for mode in ("cold", "direct"):
                for depth in DEPTHS:
                    yield {"part": "curve", "pattern": pattern,
                           "block": block, "mode": mode, "depth": depth}


def measure(run):
    seconds = float(option("SECONDS", 2))
    run.update(seconds=seconds, reads=[])
    sweep = os.path.join(build_programs(), "sweep")
    file = scratch_file(numbers("FILE_BYTES", "4G")[0])
    run["file_bytes"] = os.path.getsize(file)
    last = None
    for turn, point in in_turns(list(points()), run["rounds"]):
        if (turn, point["part"]) != last:
            last = (turn, point["part"])
            step("round %d, %s" % (turn + 1, point["part"]))
        got = run_program(sweep, file, point["pattern"], point["block"],
                          point["depth"] if point["depth"] > 1 else 0,
                          point["mode"], seconds, turn + 1)
        run["reads"].append(dict(point, round=turn, **got))


if __name__ == "__main__":
    keep(measure, "io")
