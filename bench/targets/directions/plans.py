"""plans.py: whether the plan that is chosen is the fastest of those that can be
enforced; imported by measure.py."""
import json
import random

from harness.record import option
from harness.scan import make_cold
from harness.server import only, outputs, quoted, sql
from harness.timing import nodes_of
from targets.directions.show import (NEAR, PEER_PLANS, best_of, chosen_of,
                                     ratio)

TIMEOUT = "20s"
REPETITIONS = 3
LONG_MS = 200.0          # once is enough
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
    "gin + sort": (("docs_gin",), ("enable_seqscan",)),
    "rum": (("docs_rum",), ("enable_seqscan",)),
}
# What RUM has in its order, by distance from what is beyond all values.
RUM_ORDERS = {"arrived": "arrived |=> timestamptz '1900-01-01'",
              "arrived DESC": "arrived <=| timestamptz '2100-01-01'"}
RUM_ORDERED = ("enable_seqscan", "enable_sort", "enable_bitmapscan")
FREE = ["SET %s = 0" % name for name in ("seq_page_cost", "random_page_cost")]
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


def statement_of(case, plan=""):
    order = case["order"]
    if plan == "rum":
        order = RUM_ORDERS.get(order, order)
    return "SELECT id FROM docs WHERE tsv @@ %s::tsquery%s ORDER BY %s%s" % (
        quoted(case["words"]), case["where"], order,
        "" if case["limit"] is None else " LIMIT %d" % case["limit"])


def switched_off(case, plan):
    if plan == "rum" and case["order"] in RUM_ORDERS:
        return RUM_ORDERED
    return PLANS[plan][1]


def session_of(case, plan):
    return (["LOAD 'skipidx'", "SET skipidx.io_method = " + case["method"],
             "SET statement_timeout = '%s'" % TIMEOUT] +
            [OFF % name for name in switched_off(case, plan)])


def rows_of(plan):
    """Of the scan with the words: expected, found."""
    for child in plan.get("Plans", ()):
        found = rows_of(child)
        if found:
            return found
    if "Index Cond" in plan or "Filter" in plan:
        return plan["Plan Rows"], plan["Actual Rows"]
    return None


def looked_at(plan):
    """Rows of the table that were fetched, those thrown away included."""
    below = sum(looked_at(child) for child in plan.get("Plans", ()))
    if plan["Node Type"] not in ("Index Scan", "Bitmap Heap Scan", "Seq Scan"):
        return below
    return plan["Actual Rows"] + sum(plan.get("Rows Removed by " + why, 0) for
                                     why in ("Filter", "Index Recheck"))


def analyzed(case, plan, repetitions):
    """What EXPLAIN tells, of each time; None: it took too long."""
    analyze = ("EXPLAIN (ANALYZE, TIMING OFF, BUFFERS, FORMAT JSON) " +
               statement_of(case, plan))
    before = session_of(case, plan)
    try:
        out = outputs(*before, *[analyze] * repetitions)[len(before):]
    except Exception:                # timed out
        return None
    return [json.loads(text)[0] for text in out]


def run_plan(case, plan, repetitions):
    """The least time in ms, and the plan; what takes long is not repeated."""
    found = analyzed(case, plan, 1)
    if found and repetitions > 1 and found[0]["Execution Time"] < LONG_MS:
        found += analyzed(case, plan, repetitions - 1) or []
    if not found:
        return None
    first = found[0]["Plan"]
    return {"plan": plan, "ms": min(one["Execution Time"] for one in found),
            "planning": min(one["Planning Time"] for one in found),
            "nodes": nodes_of(first), "cost": first["Total Cost"],
            "rows": rows_of(first), "found": first["Actual Rows"],
            "looked_at": looked_at(first),
            "read": first["Shared Read Blocks"]}


def in_sets(run, cases):
    """(plan, case), those with the same indexes after each other."""
    for plan, (indexes, _) in PLANS.items():
        if plan in PEER_PLANS and PEER_PLANS[plan] not in run["beside"]:
            continue
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


# ---- losses ----

def forced_like(case, one):
    """The name of a plan that is enforced and has the same nodes."""
    return next((other["plan"] for other in case["times"]
                 if other["nodes"] == one["nodes"] and
                 other["plan"] not in PEER_PLANS and
                 other["plan"] != "chosen"), one["plan"])


def cost_without_reads(case, plan):
    sql(only(*PLANS[plan][0]))
    return json.loads(outputs(
        *session_of(case, plan), *FREE,
        "EXPLAIN (FORMAT JSON) " + statement_of(case))[-1])[0]["Plan"][
            "Total Cost"]


def look_into(case):
    """Of a plan that was not near the best: what both cost with reads for
    nothing, and warm both times measured again."""
    chosen, best = chosen_of(case), best_of(case)
    if chosen is None or best is None:
        return
    names = [forced_like(case, one) for one in (chosen, best)]
    loss = {"plans": names, "free": [cost_without_reads(case, name)
                                     for name in names], "again": []}
    for name in () if case["cold"] else names:
        sql(only(*PLANS[name][0]))
        found = run_plan(case, name, REPETITIONS)
        loss["again"].append(found["ms"] if found else None)
    case["loss"] = loss


def compare_found(run, case):
    """All plans give as many rows; RUM's are told with its times."""
    counts = {one["found"] for one in case["times"] if one["plan"] != "rum"}
    if len(counts) > 1:
        run["wrong"].append("%s%s LIMIT %s: %s rows" % (
            case["words"], case["where"], case["limit"],
            " or ".join(map(str, sorted(counts)))))


def measure_plans(run):
    draw = random.Random(int(option("SEED", 1)))
    count = int(option("CASES", 400))
    cold = int(option("COLD", 40))
    cases = [make_case(run, draw, number) for number in range(count)]
    estimates(run, cases)
    for case in cases:
        run["plans"].append(dict(case, cold=False, times=[]))
    for case in cases[:cold]:
        run["plans"].append(dict(case, cold=True, times=[]))
    for plan, case in in_sets(run, run["plans"]):
        if case["cold"]:
            make_cold()
        found = run_plan(case, plan, 1 if case["cold"] else REPETITIONS)
        if found:
            case["times"].append(found)
    for case in run["plans"]:
        compare_found(run, case)
        if ratio(case) > NEAR:
            look_into(case)
    sql(only(*ALL))
    print("  %d cases" % len(run["plans"]))
