"""clients.py: searches by several sessions at a time; imported by measure.py."""
import subprocess
import time

from harness.searches import STRATEGY, kind_of, rank_by, rows_of, searches_of
from harness.server import command
from harness.timing import NOTHING_FETCHED, course_of, scan_call
from targets.scale.show import CLIENTS, TIGHT_MODES

SECONDS = 3               # a session searches, about


def call_of(mode, passes):
    return scan_call("docs_skipidx", searches_of(
        kind_of(mode), ", skipidx_query(q, 'docs_skipidx')"), STRATEGY,
                     rows_of(mode), False, course_of(passes, warm=False))


def run_together(mode, clients, passes):
    """Seconds until all have ended."""
    began = time.monotonic()
    sessions = [subprocess.Popen(
        command("-c", NOTHING_FETCHED,
                "-c", call_of(mode, passes)), stdout=subprocess.DEVNULL)
                for _ in range(clients)]
    if any([session.wait() for session in sessions]):
        raise RuntimeError("a session failed")
    return time.monotonic() - began


def measure_clients(run, name):
    """Each session goes through all searches as often as one alone does in
    SECONDS; the least time of the rounds counts."""
    rank_by(False)
    for mode in TIGHT_MODES:
        run_together(mode, 1, 1)
        passes = max(1, round(SECONDS / run_together(mode, 1, 1)))
        for clients in CLIENTS:
            seconds = min(run_together(mode, clients, passes)
                          for _ in range(run["rounds"]))
            run["clients"].append({
                "text": name, "mode": mode, "clients": clients,
                "searches": clients * passes * len(run["queries"]),
                "seconds": round(seconds, 3)})
            print("  clients %-6s %d: %.0f a second" % (
                mode, clients, run["clients"][-1]["searches"] / seconds),
                  flush=True)
