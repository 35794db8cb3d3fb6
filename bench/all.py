#!/usr/bin/env python3
"""all.py: `make bench`: measures all targets, one after the other, by run.sh,
and makes the page of the results.  Called again, also after an interrupt, it
goes on: what was measured of HEAD with the same options is not measured again.

  BENCH_ONLY     names, as in figures.conf, or targets; default all
  BENCH_RESULTS  where files go (default bench/results): the JSON of each,
                 report.html, and state.jsonl, one line for each name that was
                 done or has failed
and all options of run.sh and of the targets, which win over figures.conf.
"""
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

from harness.commit import head, is_clean, not_of_head
from harness.record import load
from harness.state import keep, last_states

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.environ.get("BENCH_RESULTS", os.path.join(HERE, "results"))
# What is no option of a measurement.
OWN = ("BENCH_ONLY", "BENCH_RESULTS", "BENCH_MADE", "BENCH_SUFFIX")


def target_of(name):
    return name.split("-")[0]


def configured():
    """Of each name the options it has as published."""
    names = {name: {} for name in os.listdir(os.path.join(HERE, "targets"))
             if os.path.exists(os.path.join(HERE, "targets", name,
                                            "target.conf"))}
    with open(os.path.join(HERE, "figures.conf"), encoding="utf-8") as lines:
        for line in lines:
            words = shlex.split(line, comments=True)
            if words:
                names[words[0]] = dict(word.split("=", 1) for word in words[1:])
    return names


def given():
    return {name: value for name, value in os.environ.items()
            if name.startswith("BENCH_") and name not in OWN}


def wanted(names):
    only = os.environ.get("BENCH_ONLY", "").split()
    unknown = [word for word in only
               if word not in names and word not in map(target_of, names)]
    if unknown:
        sys.exit("bench: there is no %s; there are %s" % (
            " ".join(unknown), " ".join(sorted(names))))
    return [name for name in sorted(names)
            if not only or name in only or target_of(name) in only]


def is_done(state, options):
    """Measured here, of what HEAD has, with these options."""
    if not state or state["status"] != "done" or state["options"] != options:
        return False
    if not is_clean():
        return False
    for file in state["files"]:
        path = os.path.join(RESULTS, file)
        if not os.path.exists(path) or not_of_head(load(path).get("skipidx")):
            return False
    return bool(state["files"])


def code_of(process):
    """Its exit code.  An interrupt, which it has got as well, is raised when it
    has removed its cluster and ended."""
    interrupted = False
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        raise KeyboardInterrupt
    return code


def run(name, options):
    """Returns what is kept of it in the state."""
    began, more = time.time(), name.split("-", 1)[1:]
    with tempfile.NamedTemporaryFile("r", prefix="skipidx-made.") as made:
        environment = dict(os.environ, **options, BENCH_MADE=made.name,
                           BENCH_SUFFIX="".join("-" + word for word in more))
        code = code_of(subprocess.Popen(
            ["bash", os.path.join(HERE, "run.sh"), target_of(name)],
            env=environment))
        files = made.read().split()
    return {"name": name, "options": options, "commit": head(),
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
                timespec="seconds"),
            "seconds": round(time.time() - began),
            "status": "done" if code == 0 else "failed",
            "files": [os.path.basename(file) for file in files]}


def main():
    names = configured()
    chosen = wanted(names)
    os.makedirs(RESULTS, exist_ok=True)
    if not is_clean():
        print("bench: the sources differ from HEAD: all is measured anew")
    states, failed = last_states(RESULTS), []
    for number, name in enumerate(chosen, 1):
        options = dict(names[name], **given())
        print("== %d of %d: %s %s" % (number, len(chosen), name, " ".join(
            "%s=%s" % (key, shlex.quote(options[key])) for key in
            sorted(options))), flush=True)
        if is_done(states.get(name), options):
            print("bench: measured on %s" % states[name]["date"])
            continue
        state = run(name, options)
        keep(RESULTS, state)
        if state["status"] != "done":
            failed.append(name)
    page = subprocess.run(
        [sys.executable, "-B", os.path.join(HERE, "report.py"), "html",
         os.path.join(RESULTS, "report.html")], check=False).returncode
    if failed:
        print("bench: failed: %s; `make bench` tries these again" %
              " ".join(failed))
    return 1 if failed or page else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("bench: interrupted; `make bench` goes on from here")
