"""measure.py FILE: measures random fetches of the positions of sets of
candidates, first of plain pages by pread and by io_uring (device), then by
phrase queries in the server (server); see README.md beside it."""
import os

from harness.record import in_turns, keep, numbers, option, step
from harness.scratch import build_programs, run_program, scratch_file
from targets.rescore.phrases import choose_phrases, measure_server

MODES = ("direct", "cold")


def measure_device(run):
    """Depth 0 is pread."""
    seconds = float(option("SECONDS", 2))
    fetch = os.path.join(build_programs(), "fetch")
    file = scratch_file(numbers("FILE_BYTES", "4G")[0])
    run.update(seconds=seconds, file_bytes=os.path.getsize(file))
    points = [{"mode": mode, "clients": clients, "candidates": candidates,
               "depth": depth}
              for mode in MODES for clients in numbers("CLIENTS", "1 4 16")
              for candidates in run["candidates"]
              for depth in [0] + numbers("DEPTHS", "4 16 64")]
    last = None
    for turn, point in in_turns(points, run["rounds"]):
        if (turn, point["mode"]) != last:
            last = (turn, point["mode"])
            step("device, round %d, %s" % (turn + 1, point["mode"]))
        got = run_program(fetch, file, point["candidates"], point["depth"],
                          point["clients"], point["mode"], seconds, turn + 1)
        run["fetches"].append(dict(point, round=turn, **got))
    if not option("FILE", ""):
        os.remove(file)


def measure(run):
    parts = option("PARTS", "device server").split()
    run.update(fetches=[], phrases=[], methods=[],
               candidates=numbers("CANDIDATES", "64 256 1024 4096"))
    if "device" in parts:
        measure_device(run)
    if "server" in parts:
        measure_server(run, choose_phrases(run))


if __name__ == "__main__":
    keep(measure, "rescore")
