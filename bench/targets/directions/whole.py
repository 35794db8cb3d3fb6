"""whole.py: a table read whole in the order of a column, forward and backward,
with nothing of it in memory; imported by measure.py."""
import json

from harness.record import in_turns, option
from harness.report_base import of
from harness.scan import make_cold
from harness.server import outputs, sql
from harness.timing import nodes_of
from targets.directions.show import CONCURRENCIES

INDEXES = {"skipidx": "skipidx (tsv, at)", "btree": "btree (at)"}
ORDERS = {"ascending": "at", "descending": "at DESC"}
QUERY = "SELECT * FROM wide WHERE tsv @@ 'all' ORDER BY %s"
FORCED = ["SET enable_sort = off", "SET enable_seqscan = off",
          "SET enable_bitmapscan = off"]


def create(rows):
    sql("CREATE TABLE wide (id int, at timestamp, tsv tsvector, pad text)"
        " WITH (fillfactor = 10)",
        "INSERT INTO wide SELECT i, timestamp '2020-01-01' + i * interval"
        " '1 minute', ('all n' || i %% 1000)::tsvector, repeat('x', 700)"
        " FROM generate_series(1, %d) i" % rows,
        "VACUUM (FREEZE, ANALYZE) wide")


def index(name):
    sql("DROP INDEX IF EXISTS wide_index",
        "CREATE INDEX wide_index ON wide USING " + INDEXES[name], "CHECKPOINT")


def explain(before, order, how=""):
    text = outputs("LOAD 'skipidx'", *before, "EXPLAIN (%sFORMAT JSON) %s" % (
        how, QUERY % ORDERS[order]))[-1]
    return json.loads(text)[0]


def prices(run, concurrency):
    return [one["setting"] for one in of(run["device"],
                                         concurrency=concurrency)
            if one["setting"]]


def measure_one(run, turn, entry):
    ahead = ["SET effective_io_concurrency = %d" % entry["concurrency"]]
    known = ahead + prices(run, entry["concurrency"])
    make_cold("wide")
    found = explain(ahead + FORCED, entry["order"],
                    "ANALYZE, TIMING OFF, BUFFERS, ")
    plan = found["Plan"]
    result = dict(entry, round=turn, ms=found["Execution Time"],
                  plan=nodes_of(plan), cost=plan["Total Cost"],
                  calibrated=explain(known + FORCED, entry["order"])[
                      "Plan"]["Total Cost"],
                  chosen=nodes_of(explain(known, entry["order"])["Plan"]))
    run["whole"].append(result)
    print("  %-8s %-10s concurrency %2d: %8.0f ms, cost %8.0f, calibrated"
          " %8.0f; planner: %s" % (
              entry["series"], entry["order"], entry["concurrency"],
              result["ms"], result["cost"], result["calibrated"],
              result["chosen"]), flush=True)


def measure_whole(run):
    run["wide"] = int(option("WIDE", 150000))
    create(run["wide"])
    for series in INDEXES:
        index(series)
        entries = [{"series": series, "order": order, "concurrency": ahead}
                   for ahead in CONCURRENCIES for order in ORDERS]
        for turn, entry in in_turns(entries, run["rounds"]):
            measure_one(run, turn, entry)
    sql("DROP TABLE wide")
