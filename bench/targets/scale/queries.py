"""queries.py: the searches of bench-scale, from the corpus's own file of queries
and from a log; imported by measure.py."""
import json
import random
import re

from harness.record import option
from harness.searches import make_searches, read_lines

QUERIES = 500
COLD_WORDS = 3            # of a search after a restart


def read_log(path):
    """One line a query: `words`, or a JSON object with the field query.  Those
    of several words, once each; signs, as of quotes, are dropped, queries that
    exclude words left out."""
    lines = read_lines(path)
    if path.endswith(".jsonl"):
        lines = [json.loads(line)["query"] for line in lines]
    found = {}
    for line in lines:
        words = re.findall(r"\w+", line.lower())
        if len(words) > 1 and not re.search(r"(^|\s)-", line):
            found[" ".join(words)] = True
    return list(found)


def load_queries(run):
    """The table searches; in run["queries"] the words and the file of each, in
    an order drawn by seed."""
    draw = random.Random(int(option("SEED", 1)))
    limit = int(option("QUERIES", QUERIES))
    lines, files = [], []
    for name, path, read in (("corpus", option("QUERY_FILE", ""), read_lines),
                             ("log", option("SCALE_LOG", ""), read_log)):
        if path:
            found = read(path)
            draw.shuffle(found)
            lines += found[:limit]
            files += [name] * len(found[:limit])
    run["queries"] = [
        {"file": files[number], "words": words} for number, words in
        make_searches(lines, len(lines)).items()]
    run["files"] = list(dict.fromkeys(files))


def cold_queries(run, count):
    """(words, words of another query that has none of them); of the files in
    turn."""
    words = [list(dict.fromkeys(query["words"])) for query in run["queries"]]
    fit = [[number for number, query in enumerate(run["queries"])
            if query["file"] == name and len(words[number]) == COLD_WORDS]
           for name in run["files"]]
    found = []
    for place in range(max(map(len, fit))):
        for numbers in fit:
            others = [number for number in numbers
                      if not set(words[number]) & set(
                          words[numbers[place % len(numbers)]])]
            if place < len(numbers) and others:
                found.append((numbers[place],
                              others[place % len(others)]))
    return found[:count]
