"""measure.py FILE: measures skipidx_highlight() and ts_headline() on documents
of several lengths; see README.md beside it."""
from harness.record import in_turns, keep, option, step
from harness.server import create_extensions, sql, stage, version
from harness.timing import course_of, create_procedures, time_statement
from harness.words import text
from targets.highlight.show import FUNCTIONS, KINDS, LENGTHS

REPETITIONS = 3
CONFIG = "english"
# Passages are strung together until a document has its words.
DOCUMENTS = """
CREATE TABLE documents AS
SELECT d AS id, words, string_agg(body, ' ' ORDER BY s.id) AS body
FROM generate_series(0, {number} - 1) d,
	unnest('{{{lengths}}}'::int[]) words,
	(SELECT id, body, row_number() OVER (ORDER BY id) - 1 AS place
		FROM staged) s
WHERE s.place >= d * greatest(words / {each}, 1)
	AND s.place < (d + 1) * greatest(words / {each}, 1)
GROUP BY d, words"""
QUERIES = """
CREATE TABLE searches AS
SELECT id, words, kind, (SELECT string_agg(quote_literal(lexeme), ' | ')
	FROM (SELECT lexeme FROM unnest(to_tsvector('{config}', body))
		ORDER BY CASE kind WHEN 'common' THEN
			-cardinality(positions) END, md5(lexeme || id) LIMIT 3) t
	)::tsquery AS q
FROM documents, unnest('{{{kinds}}}'::text[]) kind"""
# What is counted is in how many documents a word was marked.
STATEMENT = ("SELECT count(*) FROM documents WHERE words = $1 AND"
             " strpos({function}('{config}', body, $2), '<b>') > 0")


def searches_of(entry):
    return ("SELECT words, q FROM searches WHERE kind = '%s' AND words = %d"
            " ORDER BY id" % (entry["kind"], entry["words"]))


def compare_marks(run, entry, hits):
    """Each document that ts_headline() marks has a mark by the other, too,
    which marks some that ts_headline() leaves out."""
    known = run["found"].setdefault((entry["kind"], entry["words"]), {})
    known[entry["function"]] = hits
    if len(known) == len(FUNCTIONS):
        run["wrong"] += [
            dict(kind=entry["kind"], words=entry["words"], query=number,
                 rows=[ours, theirs]) for number, (ours, theirs) in enumerate(
                     zip(*(known[name] for name in FUNCTIONS)))
            if ours < theirs or ours == 0]


def measure_entry(run, turn, entry):
    statement = STATEMENT.format(function=entry["function"], config=CONFIG)
    result = time_statement(statement, searches_of(entry),
                            course_of(REPETITIONS))
    compare_marks(run, entry, result["hits"])
    n = len(result["us"])
    us = [round(one / run["documents"], 1) for one in result["us"]]
    run["times"].append(dict(entry, round=turn, us=us,
                             marked=sum(result["hits"]),
                             queries=list(range(n))))
    print("  %-6s %6d words %-18s median %12.1f us" % (
        entry["kind"], entry["words"], entry["function"],
        sorted(us)[n // 2]), flush=True)


def prepare(run):
    path, limit = text()
    number = run["documents"] = int(option("DOCUMENTS", 10))
    step("documents")
    stage(path, limit)
    each = int(sql("SELECT avg(array_length(string_to_array(body, ' '), 1))"
                   "::int FROM staged WHERE id < 10000")[0])
    sql(DOCUMENTS.format(number=number, each=each,
                         lengths=",".join(map(str, LENGTHS))))
    sql(QUERIES.format(config=CONFIG, kinds=",".join(KINDS)))
    run["rows"] = int(sql("SELECT count(*) FROM documents")[0])
    run["lengths"] = [list(map(int, row.split("|"))) for row in sql(
        "SELECT words, avg(array_length(string_to_array(body, ' '), 1))::int"
        " FROM documents GROUP BY 1 ORDER BY 1")]
    create_extensions(["skipidx"])
    create_procedures()


def measure(run):
    run.update(server=version(), times=[], wrong=[], found={},
               repetitions=REPETITIONS)
    prepare(run)
    step("passages")
    entries = [{"kind": kind, "words": words, "function": function}
               for kind in KINDS for words in LENGTHS
               for function in FUNCTIONS]
    for turn, entry in in_turns(entries, run["rounds"]):
        measure_entry(run, turn, entry)
    del run["found"]


if __name__ == "__main__":
    keep(measure, "highlight")
