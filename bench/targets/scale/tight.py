"""tight.py: searches of an index that is ten times as large as all caches
together, in a memory cgroup; imported by measure.py.

Searches give TIDs, and nothing of the table is read: what is cached is in the
block cache of skipidx, in shared buffers, and by `buffered` in the page cache,
which has what the group's limit leaves for it.
"""
import json
import os

from harness.cgroup import Group
from harness.report_base import MB
from harness.scan import COUNTERS, difference
from harness.searches import STRATEGY, kind_of, rank_by, rows_of
from harness.server import outputs, quoted, sql
from harness.timing import NOTHING_FETCHED, course_of, result_of, scan_call
from targets.scale.show import TIGHT_METHODS, TIGHT_MODES

SHARE = 10                # of the index, all caches
SHARED_BUFFERS = 16 * MB
PAGE = 8192
# Of all caches, that of skipidx, by method
CACHE = {"uring_direct": 1.0, "buffered": 0.5}
ONE = ("SELECT q, skipidx_query(q, 'docs_skipidx') FROM searches"
       " WHERE mode = %s AND id = %d")


def search_of(mode, number):
    """Once, as it comes, in a transaction of its own."""
    return scan_call("docs_skipidx", ONE % (quoted(kind_of(mode)), number),
                     STRATEGY, rows_of(mode), False,
                     course_of(1, warm=False))


def search_all(method, mode, numbers):
    """The searches one after the other, by one session."""
    before = ["SET skipidx.io_method = '%s'" % method,
              NOTHING_FETCHED]
    calls = [part for number in numbers
             for part in (search_of(mode, number), COUNTERS)]
    _, _, first, *out = outputs(*before, COUNTERS, *calls)
    found = []
    for result, counted in zip(out[::2], out[1::2]):
        io = difference(first, counted)
        found.append({"us": result_of(result)["us"][0],
                      "requests": io["requests"],
                      "bytes": io["pages_read"] * PAGE})
        first = counted
    return found


def limited(group, share, size):
    """Restarts the server with so much of a cache; the limit comes when it is
    full, since only then it is known what the processes take."""
    cache = max(int(size * share) - SHARED_BUFFERS, 4 * MB)
    sql("ALTER SYSTEM SET shared_buffers = '%dkB'" % (SHARED_BUFFERS // 1024))
    sql("ALTER SYSTEM SET skipidx.cache_size = '%dkB'" % (cache // 1024))
    group.restart()
    rank_by(False)
    return cache


def measure_tight(run, name):
    """Each method after a pass of all searches that is not counted."""
    group = Group()
    index = int(sql("SELECT pg_relation_size('docs_skipidx')")[0])
    size = index // SHARE
    numbers = range(len(run["queries"]))
    for method in TIGHT_METHODS:
        cache = limited(group, CACHE[method], size)
        for mode in TIGHT_MODES:
            search_all(method, mode, numbers)
        if group.limit:
            group.allow(group.own() + group.kinds()[1] +
                        max(size - cache - SHARED_BUFFERS, 8 * MB))
        for mode in TIGHT_MODES:
            found = search_all(method, mode, numbers)
            run["tight"].append({
                "text": name, "method": method, "mode": mode,
                "index_bytes": index, "cache_bytes": cache,
                "shared_buffers": SHARED_BUFFERS,
                "page_cache_bytes": group.page_cache(),
                **{key: [one[key] for one in found] for key in found[0]}})
            print("  tight %-13s %-6s %d searches" % (method, mode,
                                                     len(found)), flush=True)
    sql("ALTER SYSTEM RESET shared_buffers")
    sql("ALTER SYSTEM RESET skipidx.cache_size")
    group.remove()
    if not group.limit:
        group.restart()
