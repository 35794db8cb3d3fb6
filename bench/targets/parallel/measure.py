"""measure.py FILE: measures searches and counts by one process and by several;
see README.md beside it."""
import json
import random

from harness.recombined import (check_disk, load_text, make_text,
                                remove_text, size_of, sizes)
from harness.record import in_turns, keep, numbers, option, step
from harness.searches import RANKED
from harness.server import (build, create_extensions, outputs, quoted, sql,
                            version)
from harness.timing import literal, nodes_of
from targets.parallel.show import SIZES, TASKS

REPETITIONS = 3
ROWS = "10"
COMMONEST, LEFT_OUT = 2000, 50      # words are drawn from, but for the first
STATEMENTS = {
    "best 10": RANKED.format("{0}", 10),
    "best 10000": RANKED.format("{0}", 10000),
    "count": "SELECT count(*) AS id FROM docs WHERE tsv @@ {0}",
    "read": "SELECT sum(id) AS id FROM docs WHERE tsv @@ {0}",
}


def draw_queries(number):
    """Of each size, so many."""
    words = sql("SELECT term FROM skipidx_terms('docs_skipidx', '', %d)"
                % COMMONEST)[LEFT_OUT:]
    draw = random.Random(int(option("SEED", 1)))
    return [{"words": size, "query": " | ".join(
        quoted(word) for word in sorted(draw.sample(words,
                                                    min(size, len(words)))))}
            for size in SIZES for _ in range(number)]


def launched(plan):
    return plan.get("Workers Launched", 0) + sum(
        map(launched, plan.get("Plans", ())))


def measure_entry(run, turn, entry):
    """One task by so many processes, with each of the queries."""
    before = ["SET max_parallel_workers_per_gather = %d" % (
        entry["processes"] - 1), "SET plan_cache_mode = force_custom_plan"]
    for number, one in enumerate(run["queries"]):
        if one["words"] not in TASKS[entry["task"]]:
            continue
        statement = STATEMENTS[entry["task"]].format(literal(one["query"]))
        out = outputs(
            *before, "SELECT count(*), sum(id) FROM (%s) s" % statement,
            *["EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) " + statement] *
            REPETITIONS)[len(before):]
        rows = run["found"].setdefault((entry["task"], number), out[0])
        if rows != out[0]:
            run["wrong"].append(dict(entry, query=number,
                                     rows=[rows.strip(), out[0].strip()]))
        plans = [json.loads(text)[0] for text in out[1:]]
        run["times"].append(dict(
            entry, words=one["words"], query=number, round=turn,
            ms=min(plan["Execution Time"] for plan in plans),
            workers=max(launched(plan["Plan"]) for plan in plans),
            nodes=nodes_of(plans[0]["Plan"])))
    print("  %-10s %d processes" % (entry["task"], entry["processes"]),
          flush=True)


def prepare(run):
    rows, = sizes("PARALLEL_ROWS", ROWS)
    wanted = {"text": size_of(rows), "rows": rows, "row_words": 0,
              "order": "article"}
    check_disk([wanted])
    known = make_text(wanted)
    run["rows"] = known["rows"]
    load_text(known["rows"])
    remove_text()
    create_extensions(["skipidx"])
    step("build", known["text"])
    run["bytes"] = build("docs_skipidx", "skipidx")
    sql("VACUUM ANALYZE docs")
    sql("CHECKPOINT")


def measure(run):
    run.update(server=version(), times=[], wrong=[], found={},
               repetitions=REPETITIONS,
               processes=numbers("PROCESSES", "1 2"))
    prepare(run)
    run["queries"] = draw_queries(int(option("QUERIES", 5)))
    step("searches")
    entries = [{"task": task, "processes": number} for task in TASKS
               for number in run["processes"]]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "parallel")
