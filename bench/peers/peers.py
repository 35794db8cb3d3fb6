"""peers.py: the text of the table docs through Lucene and Tantivy, by programs
that peers.sh has made; imported by bench-build, and by searches.py."""
import json
import os
import shutil
import subprocess

from harness.record import in_turns, option, step, temporary
from harness.report_base import MB, median, of
from harness.server import write_words

PEERS = "lucene tantivy"
FIELDS = ("commit_seconds", "merge_seconds", "cpu_seconds", "segments",
          "bytes", "merged_bytes", "peak_bytes")


def program_of(name):
    return temporary("build_" + name)


def index_of(name):
    return name + "_index"


def remove_index(index):
    shutil.rmtree(temporary(index), ignore_errors=True)


def build_index(name, threads, *copy):
    """Runs in BENCH_TEMP, where the words are; None if it fails.  `copy`: what
    gets the index as it was before it was merged into one segment."""
    log = temporary(name + "_run.log")
    for index in (index_of(name), *copy):
        remove_index(index)
    with open(log, "w", encoding="utf-8") as errors, subprocess.Popen(
            [program_of(name), "words.tsv", index_of(name), str(threads),
             *copy], cwd=temporary(), stdout=subprocess.PIPE, stderr=errors,
            text=True) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        with open(log, encoding="utf-8") as file:
            print("".join(file.readlines()[-5:]), end="")
        return None
    result = json.loads(text)
    result.update(cpu_seconds=round(usage.ru_utime + usage.ru_stime, 2),
                  peak_bytes=usage.ru_maxrss << 10)
    return result


def measure_peers(run):
    """One thread, and as many as each takes by default."""
    names = option("PEERS", PEERS).split()
    run["peers_missing"] = [name for name in names
                            if not os.path.exists(program_of(name))]
    entries = [(name, threads) for name in names for threads in (1, 0)
               if name not in run["peers_missing"]]
    if not entries:
        return
    step("words for", ", ".join(names))
    path = temporary("words.tsv")
    write_words(path)
    run["words_bytes"] = os.path.getsize(path)
    for turn, (name, threads) in in_turns(entries,
                                          int(option("PEER_ROUNDS", 2))):
        result = build_index(name, threads)
        remove_index(index_of(name))
        if result is None:
            if name not in run["peers_missing"]:
                run["peers_missing"].append(name)
            continue
        if result["documents"] != run["rows"]:
            raise RuntimeError("%s has %d of %d rows" % (
                name, result["documents"], run["rows"]))
        run["peers"].append(dict(engine=name, asked=threads, round=turn,
                                 **result))
        print("  %-8s %d threads %8.1f s" % (
            name, result["threads"], result["commit_seconds"]), flush=True)
    os.remove(path)


def peer_medians(run):
    """One entry for each peer and number of threads."""
    found = []
    for peer in run["peers"]:
        key = {"engine": peer["engine"], "asked": peer["asked"]}
        if not of(found, **key):
            same = of(run["peers"], **key)
            found.append(dict(key, threads=peer["threads"], **{
                field: median([one[field] for one in same])
                for field in FIELDS}))
    return found


def print_peers(run):
    """Committed, with the segments that came of it, and merged into one."""
    if run["peers"]:
        print("\n%-10s %8s %10s %9s %9s %10s %9s %9s %9s" % (
            "from text", "threads", "committed", "segments", "size MB",
            "merging s", "size MB", "CPU s", "peak MB"))
    for peer in peer_medians(run):
        print("%-10s %8d %10.1f %9d %9.1f %10.1f %9.1f %9.1f %9.1f" % (
            peer["engine"], peer["threads"], peer["commit_seconds"],
            peer["segments"], peer["bytes"] / MB, peer["merge_seconds"],
            peer["merged_bytes"] / MB, peer["cpu_seconds"],
            peer["peak_bytes"] / MB))
    for name in run["peers_missing"]:
        print("%-10s not available" % name)
