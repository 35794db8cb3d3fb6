"""answers.py: what skipidx finds by its index, compared with what it finds by
a sequential scan of the same statement; imported by measure.py."""
import json
import os
from concurrent.futures import ThreadPoolExecutor

from harness.record import option
from harness.server import outputs
from harness.timing import nodes_of, set_all
from targets.statement.statements import (NEWEST, SUBJECT, search_of, select,
                                          value_of, with_literal)

CHECKED = 2
BY_INDEX = [("enable_seqscan", "off")]
BY_ROWS = [("enable_indexscan", "off"), ("enable_indexonlyscan", "off"),
           ("enable_bitmapscan", "off"), ("skipidx.enable_custom_scan", "off")]


def statement_of(run, name, number):
    """With the distances of rows, where there are any."""
    search = search_of(SUBJECT, name)
    what = "id" if search.order in (None, NEWEST) else "id, " + search.order
    return with_literal(select(search, what), value_of(
        search, run["queries"][number]["words"].split()))


def find(statement, settings):
    """Lines found, and the plan."""
    before = ["LOAD 'skipidx'"] + set_all(settings)
    *_, plan, found = outputs(*before, "EXPLAIN (FORMAT JSON) " + statement,
                              statement)
    return found.splitlines(), nodes_of(json.loads(plan)[0]["Plan"])


def compare(run, name, number):
    statement = statement_of(run, name, number)
    by_index, index_plan = find(statement, BY_INDEX)
    by_rows, rows_plan = find(statement, BY_ROWS)
    return {"class": name, "query": number, "rows": len(by_index),
            "plans": [index_plan, rows_plan],
            "by_index": by_index, "by_rows": by_rows}


def check_answers(run, numbers):
    """`numbers`: of a class, its queries.  Into run["checked"] what was
    compared, and into run["wrong"] what differs, or was no comparison."""
    wanted = [(name, number) for name in run["classes"]
              for number in numbers(name)[:int(option("CHECKED", CHECKED))]]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda one: compare(run, *one), wanted))
    for one in found:
        by_index, by_rows = one.pop("by_index"), one.pop("by_rows")
        run["checked"].append(one)
        if by_index != by_rows:
            run["wrong"].append({
                "class": one["class"], "engine": SUBJECT,
                "query": one["query"], "found": [by_index[:20], by_rows[:20]]})
        if "Seq Scan" in one["plans"][0] or "Seq Scan" not in one["plans"][1]:
            run["wrong"].append({
                "class": one["class"], "engine": SUBJECT,
                "query": one["query"], "found": one["plans"]})
    print("  %d statements, %d rows" % (
        len(found), sum(one["rows"] for one in found)), flush=True)
