"""plans.py: whether the plan that is chosen is the fastest of those that can be
enforced; imported by measure.py."""
import json
import random

from harness.record import option
from harness.report_base import of
from harness.scan import make_cold
from harness.server import only, outputs, quoted, sql
from harness.timing import nodes_of

TIMEOUT = "20s"
REPETITIONS = 3
ALL = ("docs_skipidx", "docs_arrived", "docs_price")
BTREES = ALL[1:]
OFF = "SET %s = off"
# Which indexes a plan may use, and what is switched off.
PLANS = {
    "chosen": (ALL, ()),
    "skipidx ordered": (ALL[:1], ("enable_sort", "enable_bitmapscan")),
    "skipidx plain": (ALL[:1], ("skipidx.enable_custom_scan",
                                "enable_bitmapscan", "enable_seqscan")),
    "skipidx bitmap": (ALL[:1], ("skipidx.enable_custom_scan",
                                 "enable_indexscan", "enable_seqscan")),
    "btree": (BTREES, ("enable_sort", "enable_bitmapscan")),
    "btree bitmap": (BTREES, ("enable_indexscan", "enable_seqscan")),
    "table": ((), ()),
}
LIMITS = (1, 10, 20, 100, 1000, None)
ORDERS = ("arrived", "arrived DESC", "price", "price DESC", "id", "id DESC")
FILTERS = ("", "", " AND category = {category}",
           " AND arrived < arrival({row})", " AND price < {price}",
           " AND price BETWEEN {price} AND {price} + 1000")


def words_of(draw):
    """A query of one of the kinds, and a single word of it now and then."""
    rows = sql("SELECT q FROM searches ORDER BY mode, id")
    query = draw.choice(rows)
    if draw.random() < .4:
        word = query.replace("<->", "&").replace("|", "&").split(" & ")
        return draw.choice(word)
    return query


def make_case(run, draw, number):
    where = draw.choice(FILTERS).format(
        category=draw.randint(1, 20), row=draw.randint(1, run["rows"]),
        price=draw.randint(0, 1000000))
    limit = draw.choice(LIMITS)
    return {"number": number, "words": words_of(draw), "where": where,
            "order": draw.choice(ORDERS), "limit": limit,
            "method": draw.choice(run["methods"])}


def statement_of(case):
    return "SELECT id FROM docs WHERE tsv @@ %s::tsquery%s ORDER BY %s%s" % (
        quoted(case["words"]), case["where"], case["order"],
        "" if case["limit"] is None else " LIMIT %d" % case["limit"])


def session_of(run, case, plan):
    return (["LOAD 'skipidx'", "SET skipidx.io_method = " + case["method"],
             "SET statement_timeout = '%s'" % TIMEOUT] +
            [one["setting"] for one in run["prices"]] +
            [OFF % name for name in PLANS[plan][1]])


def rows_of(plan):
    """Of the scan with the words: expected, found."""
    for child in plan.get("Plans", ()):
        found = rows_of(child)
        if found:
            return found
    if "Index Cond" in plan or "Filter" in plan:
        return plan["Plan Rows"], plan["Actual Rows"]
    return None


def run_plan(run, case, plan, repetitions):
    """The least time in ms, and the plan; None: it took too long."""
    analyze = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + statement_of(case)
    before = session_of(run, case, plan)
    try:
        out = outputs(*before, *[analyze] * repetitions)[len(before):]
    except Exception:                # timed out
        return None
    found = [json.loads(text)[0] for text in out]
    return {"plan": plan, "ms": min(one["Execution Time"] for one in found),
            "planning": min(one["Planning Time"] for one in found),
            "nodes": nodes_of(found[0]["Plan"]),
            "cost": found[0]["Plan"]["Total Cost"],
            "rows": rows_of(found[0]["Plan"])}


def in_sets(cases):
    """(plan, case), those with the same indexes after each other."""
    for plan, (indexes, _) in PLANS.items():
        sql(only(*indexes))
        for case in cases:
            yield plan, case
    sql(only(*ALL))


def estimates(run, cases):
    """What the planner expects to match the words and the filter, over what
    does."""
    for case in cases:
        inner = statement_of(case).split(" ORDER BY")[0]
        plan, count = outputs(
            "LOAD 'skipidx'", "EXPLAIN (FORMAT JSON) " + inner,
            "SELECT count(*) FROM (%s) x" % inner)[1:]
        case["expected"] = json.loads(plan)[0]["Plan"]["Plan Rows"]
        case["matches"] = int(count)


def measure_plans(run):
    draw = random.Random(int(option("SEED", 1)))
    count = int(option("CASES", 400))
    cold = int(option("COLD", 40))
    run["prices"] = [one for one in of(run["device"], concurrency=1)
                     if one["setting"] and
                     option("CALIBRATED", "no") == "yes"]
    cases = [make_case(run, draw, number) for number in range(count)]
    estimates(run, cases)
    for case in cases:
        run["plans"].append(dict(case, cold=False, times=[]))
    for case in cases[:cold]:
        run["plans"].append(dict(case, cold=True, times=[]))
    for plan, case in in_sets(run["plans"]):
        if case["cold"]:
            make_cold()
        found = run_plan(run, case, plan, 1 if case["cold"] else REPETITIONS)
        if found:
            case["times"].append(found)
    print("  %d cases" % len(run["plans"]))
