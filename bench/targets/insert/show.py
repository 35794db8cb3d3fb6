"""show.py: prints and draws what bench-insert has measured; imported by
report.py."""
from harness.report_base import MB, expect, median, of, print_machine

SUBJECT = "skipidx"
STATEMENT_ROWS = 5000
TPS_SHARE = 0.8       # of GIN's with its pending list
BESIDE_SHARE = 0.95   # of the searches without updates
BESIDE_P99 = 1.3
GROWTH = 1.5          # times a fresh build, after a VACUUM
BESIDE_GROWTH = 2.0   # times a fresh build, at most beside readers


def tps(run, name, clients):
    return median([entry["rows"] / entry["seconds"] for entry in
                   of(run["runs"], engine=name, clients=clients)])


def wal_per_row(run, name):
    """Of all runs of pgbench; the table's own is in it."""
    entries = of(run["runs"], engine=name)
    return (sum(entry["wal_bytes"] for entry in entries) /
            sum(entry["rows"] for entry in entries))


def clients_of(run):
    return sorted({entry["clients"] for entry in run["runs"]})


def print_statements(run):
    print("\n5,000 rows in a statement    seconds      worst   "
          "WAL bytes a row")
    for name in run["engines"]:
        entries = of(run["statements"], engine=name)
        times = [entry["seconds"] for entry in entries]
        print("  %-24s %9.2f  %9.2f %17.0f" % (
            name, median(times), max(times),
            sum(entry["wal_bytes"] for entry in entries) /
            (STATEMENT_ROWS * len(entries))))


def print_updates(run):
    if not run.get("updates"):
        return
    print("\n1,000 rows get another price  seconds      worst   "
          "WAL bytes a row")
    for name in sorted({entry["column"] for entry in run["updates"]},
                       key=lambda name: median([
                           entry["wal_bytes"] for entry in
                           of(run["updates"], column=name)])):
        entries = of(run["updates"], column=name)
        times = [entry["seconds"] for entry in entries]
        print("  %-24s %9.3f  %9.3f %17.0f" % (
            name, median(times), max(times),
            median([entry["wal_bytes"] for entry in entries]) / 1000))


def print_runs(run):
    print("\none row a transaction, ms       tps       p50       p99      "
          "p99.9       max   WAL bytes a row")
    for clients in clients_of(run):
        print("%d clients" % clients)
        for name in run["engines"]:
            entries = of(run["runs"], engine=name, clients=clients)
            row = "  %-24s %9.0f" % (name, tps(run, name, clients))
            for point in ("p50", "p99", "p999"):
                row += " %9.2f" % (median([e["us"][point] for e in entries])
                                   / 1000)
            print(row + " %9.0f %17.0f" % (
                max(e["us"]["max"] for e in entries) / 1000,
                sum(e["wal_bytes"] for e in entries) /
                sum(e["rows"] for e in entries)))


def print_long(run):
    if not run["long"]:
        return
    print("\n%4.0f minutes, 4 clients        tps       p99       max   "
          "size MB  vacuumed   rebuilt   bytes a row" %
          (run["long"][0]["seconds"] / 60))
    for entry in run["long"]:
        print("  %-24s %9.0f %9.2f %9.0f %9.1f %9.1f %9.1f %13.0f" % (
            entry["engine"], entry["rows"] / entry["seconds"],
            entry["us"]["p99"] / 1000, entry["us"]["max"] / 1000,
            entry["bytes"] / MB, entry["vacuumed_bytes"] / MB,
            entry["rebuilt_bytes"] / MB,
            entry["bytes"] / entry["table_rows"]))


def print_loads(run):
    if not run.get("loads"):
        return
    print("\n60,000 rows into an empty table        seconds   size MB  "
          "vacuumed   rebuilt")
    for entry in run["loads"]:
        print("  %-34s %9.2f %9.1f %9.1f %9.1f" % (
            "%s, %s" % (entry["way"], entry["engine"]), entry["seconds"],
            entry["bytes"] / MB, entry["vacuumed_bytes"] / MB,
            entry["rebuilt_bytes"] / MB))


def print_beside(run):
    if not run.get("beside"):
        return
    print("\none client searches, us        updates/s   searches/s       "
          "p50       p99       max  segments at most")
    for entry in run["beside"]:
        print("  %-28s %10.0f %12.0f %9.0f %9.0f %9.0f %17d" % (
            ("alone" if not entry["rate"] else "%d workers" %
             entry["workers"]) + (", pinned" if entry["pinned"] else ""),
            entry["updates"] / entry["seconds"],
            entry["searches"] / entry["seconds"], entry["us"]["p50"],
            entry["us"]["p99"], entry["us"]["max"], entry["most_segments"]))


def print_stalls(run):
    if not run.get("stalls"):
        return
    print("\nupdates beside merges and readers  updates   over 100 ms   "
          "worst ms   with a slow disk   began late   worst ms   probe ms   "
          "size MB     anew")
    for entry in run["stalls"]:
        print("  %-30s %9d %13d %10d %18d %12d %10d %10.1f %9.1f %8.1f" % (
            "%d seconds" % entry["seconds"], entry["updates"],
            len(entry["long_ms"]), max(entry["long_ms"], default=0),
            len(entry["long_ms_slow_disk"]), entry.get("late", 0),
            entry.get("late_ms", 0), entry["probe_ms"],
            entry["most_bytes"] / MB, run["stalls_anew_bytes"] / MB))


def stall_lines(run):
    """Updates that waited, but for the disk; the file beside readers."""
    entries = run.get("stalls", [])
    if not entries:
        return []
    return [
        expect("insert.updates_over_100ms",
               sum(len(entry["long_ms"]) for entry in entries), 0, "", False),
        expect("insert.growth_beside_readers",
               max(entry["most_bytes"] for entry in entries) /
               run["stalls_anew_bytes"], BESIDE_GROWTH, "x", False)]


def beside_lines(run):
    """Searches on a processor of their own, beside updates by alone."""
    alone = of(run.get("beside", []), rate=0, pinned=True)
    busy = of(run.get("beside", []), rate=1000, pinned=True, workers=2)
    if not alone or not busy:
        return []
    return [
        expect("insert.searches_beside_updates",
               median([e["searches"] for e in busy]) /
               median([e["searches"] for e in alone]),
               BESIDE_SHARE, "x", True),
        expect("insert.p99_beside_updates",
               median([e["us"]["p99"] for e in busy]) /
               median([e["us"]["p99"] for e in alone]),
               BESIDE_P99, "x", False)]


def growth_lines(run):
    """Of a fresh build's size, what an index has after a VACUUM."""
    ended = of(run["long"], engine=SUBJECT) + of(run.get("loads", []),
                                                 engine=SUBJECT)
    if not ended:
        return []
    return [expect("insert.growth", max(
        entry["vacuumed_bytes"] / entry["rebuilt_bytes"] for entry in ended),
        GROWTH, "x", False)]


def expectations(run):
    lines = []
    names = run["engines"]
    if SUBJECT not in names:
        return lines
    if "gin_on" in names:
        for clients in clients_of(run):
            lines.append(expect(
                "insert.tps_%d" % clients,
                tps(run, SUBJECT, clients) / tps(run, "gin_on", clients),
                TPS_SHARE, "x", True))
    if "gin_off" in names:
        lines.append(expect("insert.wal_per_row", wal_per_row(run, SUBJECT),
                            wal_per_row(run, "gin_off"), "B", False))
    return (lines + beside_lines(run) + stall_lines(run) +
            growth_lines(run))


def latency(run, name, clients, point):
    return median([entry["us"][point] for entry in
                   of(run["runs"], engine=name, clients=clients)]) / 1000


def plots(run):
    counts = clients_of(run)
    panels = [{
        "title": title, "x": "clients", "y": unit,
        "ticks": [(count, "%d" % count) for count in counts],
        "curves": [(name, counts, [figure(name, count) for count in counts])
                   for name in run["engines"]]}
        for title, unit, figure in (
            ("transactions of one row", "tps",
             lambda name, count: tps(run, name, count)),
            ("latency, p99", "ms",
             lambda name, count: latency(run, name, count, "p99")))]
    return [("", "inserts, %s" % run["corpus"], panels)] if counts else []


def tables(run):
    print()
    print_machine(run)
    print("corpus   %s: %d rows before, %.0f lexemes a row; skipidx %s, "
          "server %s; %s" % (
              run["corpus"], run["base"], run["lexemes"], run["skipidx"],
              run["server"].split()[0], ", ".join(
                  "%s=%s" % (name, run["settings"][name])
                  for name in ("fsync", "synchronous_commit"))))
    print_statements(run)
    print_updates(run)
    print_runs(run)
    print_beside(run)
    print_stalls(run)
    print_long(run)
    print_loads(run)
