"""record.py: options, the record of a run, and how it is kept; imported by
measure.py of each target.

A record is one JSON object: what was measured on in its fields, single
measurements in lists, one line each.
"""
import datetime
import json
import os
import sys

from harness.hardware import describe


def option(name, default):
    """Of the environment: BENCH_<name>."""
    return os.environ.get("BENCH_" + name, default)


def numbers(name, default):
    """An option of several numbers; 8k and 1M are understood."""
    units = {"k": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    values = []
    for word in option(name, default).split():
        unit = units.get(word[-1], 1)
        values.append(int(word[:-1] if unit > 1 else word) * unit)
    return values


def step(*words):
    print("==", *words, flush=True)


def in_turns(entries, rounds):
    """(round, entry) in the order to measure them: each round the other way
    round, so that no entry always runs in the wake of the same other."""
    for turn in range(rounds):
        for entry in entries if turn % 2 == 0 else reversed(entries):
            yield turn, entry


def temporary(*names):
    """A path in the directory that is gone after the run."""
    return os.path.join(option("TEMP", "/tmp"), *names)


def given_options():
    """Those that were given; of a file its name alone."""
    return {name: os.path.basename(os.environ.get(name, ""))
            for name in option("GIVEN", "").split()}


def begin(bench, rounds):
    """`rounds`: how many there are where BENCH_ROUNDS does not say.  In a root of
    its own, BENCH_HARDWARE says what the machine is."""
    run = {"bench": bench, "skipidx": option("SKIPIDX", ""),
           "date": datetime.datetime.now(datetime.timezone.utc).isoformat(
               timespec="seconds"),
           "options": given_options(),
           "rounds": int(option("ROUNDS", rounds)),
           "hardware": (json.loads(option("HARDWARE", "")) if
                        option("HARDWARE", "") else describe(temporary()))}
    if option("CORPUS", ""):
        run["corpus"] = option("CORPUS", "")
    return run


def is_list_of_measurements(value):
    return (isinstance(value, list) and len(value) > 0 and
            all(isinstance(one, dict) for one in value))


def write(run, path):
    """One line a measurement: readable, and small changes make small diffs."""
    lists = sorted(key for key in run if is_list_of_measurements(run[key]))
    rest = {key: value for key, value in run.items() if key not in lists}
    text = json.dumps(rest, indent=1, sort_keys=True)[:-2]
    for name in lists:
        rows = ",\n".join("  " + json.dumps(row, separators=(",", ":"))
                          for row in run[name])
        text += ',\n "%s": [\n%s\n ]' % (name, rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n}\n")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def save(run):
    """To the file that the command line names."""
    run["load_average_after"] = os.getloadavg()
    write(run, sys.argv[1])


def keep(measure, bench, rounds=3):
    """The program of a target: has measure(run) fill a record, and saves it."""
    run = begin(bench, rounds)
    measure(run)
    save(run)
    print("\nkept in %s" % os.path.relpath(sys.argv[1]))
