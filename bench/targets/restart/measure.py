"""measure.py FILE: times searches before a restart of the server and in the
seconds after it; see README.md beside it."""
import os
import subprocess
import time

from harness.cgroup import drop_pages, restart
from harness.record import in_turns, keep, option, step, temporary
from harness.report_base import MB
from harness.server import load_docs, settings_of, sql, version
from harness.words import text
from targets.merge.measure import (INDEX, SEARCH, create_searches,
                                   create_table, insert)
from targets.restart.show import SERIES

SETTINGS = ("skipidx.%", "shared_buffers", "shared_preload_libraries")
UNITS = {"MB": MB, "GB": 1024 * MB}


def bytes_wanted():
    word = option("SIZE", "1GB")
    return int(word[:-2]) * UNITS[word[-2:]] if word[-2:] in UNITS else 0


def build():
    sql("SET maintenance_work_mem = '1GB'",
        "CREATE INDEX %s ON docs USING skipidx (vector_of(id))" % INDEX)
    return int(sql("SELECT pg_relation_size('%s')" % INDEX)[0])


def create_index(rows):
    """The rows are copied as often as an index of the wanted size takes."""
    insert(1, rows)
    size = build()
    copies = max(round(bytes_wanted() / size), 1)
    if copies > 1:
        sql("DROP INDEX %s" % INDEX)
        insert(rows + 1, rows * copies)
        size = build()
    sql("VACUUM (FREEZE, ANALYZE) docs")
    return size, rows * copies


def answers():
    return sql("SELECT (SELECT string_agg(f.ctid || ' ' || f.score, ' ') FROM"
               " skipidx_search('%s', q, 10) f) FROM searches"
               " WHERE n <= 100 ORDER BY n" % INDEX)


def search(script, seconds, begin):
    """us of each search, by the second from `begin` in which it ended."""
    directory = temporary("pgbench")
    os.makedirs(directory, exist_ok=True)
    prefix = os.path.join(directory, "log")
    subprocess.run(["pgbench", "-n", "-M", "prepared", "-c",
                    option("CLIENTS", "1"), "-T", str(seconds), "-f", script,
                    "-l", "--log-prefix=" + prefix,
                    "--random-seed=%d" % time.time_ns()],
                   check=True, stdout=subprocess.DEVNULL)
    times = {}
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        with open(path, encoding="ascii") as file:
            for line in file:
                _, _, us, _, epoch, part = line.split()[:6]
                second = int(float(epoch) + int(part) / 1e6 - begin)
                times.setdefault(second, []).append(int(us))
        os.remove(path)
    return [times.get(n, []) for n in range(max(times) + 1)]


def cache():
    line = sql("SELECT prewarmed, evictions, frames_used FROM"
               " skipidx_cache()")[0]
    return dict(zip(("prewarmed", "evictions", "frames_used"),
                    map(int, line.split("|"))))


def set_interval(value):
    sql("ALTER SYSTEM SET skipidx.autoprewarm_interval = '%s'" % value)
    sql("SELECT pg_reload_conf()")
    time.sleep(1)


def start(one):
    """Returns when the server began to start, by its own clock.  Rows are
    read before anything is timed, so that what searches read is the index."""
    before = time.time()
    restart()
    one["restart_seconds"] = time.time() - before
    sql("SELECT count(*) FROM docs", "SELECT count(*) FROM searches")
    return float(sql("SELECT extract(epoch FROM"
                     " pg_postmaster_start_time())")[0])


def round_of(run, turn, series, script):
    """The cache is filled and noted; then a restart without a page of any
    file in the page cache."""
    one = {"series": series, "round": turn}
    step("round", turn + 1, series)
    set_interval("1h")
    start(one)
    search(script, option("WARM", "30"), time.time())
    one["warm"] = search(script, option("SECONDS", "10"), time.time())
    one["before"] = cache()
    set_interval(SERIES[series])
    drop_pages()
    began = start(one)
    one["after"] = search(script, option("AFTER", "30"), began)
    one["cache"] = cache()
    run["restarts"].append(one)
    if answers() != run["known"]:
        run["wrong"].append("round %d, %s" % (turn + 1, series))


def measure(run):
    path, limit = text()
    load_docs(path, limit, ("skipidx",))
    run["index_bytes"], run["rows"] = create_index(create_table(1))
    run["queries"] = create_searches(int(option("QUERIES", "2000")))
    run["server"] = version()
    run["settings"] = settings_of(*SETTINGS)
    run["restarts"], run["wrong"] = [], []
    run["known"] = answers()
    script = temporary("search.pgbench")
    with open(script, "w", encoding="ascii") as file:
        file.write(SEARCH.format(run["queries"], INDEX,
                                 option("SKEW", "1.05")))
    for turn, series in in_turns(option("SERIES", " ".join(SERIES)).split(),
                                 run["rounds"]):
        round_of(run, turn, series, script)
    del run["known"]


if __name__ == "__main__":
    keep(measure, "restart")
