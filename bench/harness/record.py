"""record.py: options, the record of a run, how it is kept, and the command
line of those that measure; imported by all of these.

A record is one JSON object: what was measured on in its fields, single
measurements in lists, one line each.
"""
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


def size_name(size):
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit and size % unit == 0:
            return "%d %s" % (size // unit, name)
    return "%d B" % size


def step(*words):
    print("==", *words, flush=True)


def in_turns(entries, rounds):
    """(round, entry) in the order to measure them: each round the other way
    round, so that no entry always runs in the wake of the same other."""
    for turn in range(rounds):
        for entry in entries if turn % 2 == 0 else reversed(entries):
            yield turn, entry


def begin(bench):
    return {"bench": bench, "skipidx": option("SKIPIDX", ""),
            "hardware": describe(option("TEMP", "/tmp"))}


def of(entries, **wanted):
    return [entry for entry in entries
            if all(entry[key] == value for key, value in wanted.items())]


def write(run, path, lists):
    """One line a measurement: readable, and small changes make small diffs."""
    rest = {key: value for key, value in run.items() if key not in lists}
    text = json.dumps(rest, indent=1, sort_keys=True)[:-2]
    for name in lists:
        rows = ",\n".join("  " + json.dumps(row, separators=(",", ":"))
                          for row in run[name])
        text += ',\n "%s": [\n%s\n ]' % (name, rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n}\n")


def keep(run, path, lists):
    run["load_average_after"] = os.getloadavg()
    write(run, path, lists)
    print("\nkept in %s" % os.path.relpath(path))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def print_machine(run):
    hardware = run["hardware"]
    print("machine  %s, %d cores, %d MB, kernel %s, %s; load %.1f before, "
          "%.1f after" % (
              hardware.get("cpu"), hardware.get("cores", 0),
              hardware.get("memory_mb", 0), hardware.get("kernel"),
              hardware.get("filesystem"), hardware["load_average"][0],
              run["load_average_after"][0]))


def available(names, engines, sql):
    """Those whose extension the server has, as `sql` finds."""
    kept = []
    for name in names:
        extension = engines[name][0]
        if extension and sql("SELECT count(*) FROM pg_available_extensions"
                             " WHERE name = '%s'" % extension) == ["0"]:
            print("bench: %s is not installed, left out" % name)
            continue
        kept.append(name)
    return kept


def command_line(usage, measure, show):
    """`measure FILE` or `show FILE ...`; the exit code.  What either returns
    says whether the run is valid, None that it cannot be otherwise."""
    if len(sys.argv) == 3 and sys.argv[1] == "measure":
        results = [measure(sys.argv[2])]
    elif len(sys.argv) > 2 and sys.argv[1] == "show":
        results = [show(load(path), path) for path in sys.argv[2:]]
    else:
        print(usage, file=sys.stderr)
        return 2
    return 1 if False in results else 0
