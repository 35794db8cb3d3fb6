"""queries.py: the searches of bench-scale, from the corpus's own file of queries
and from a log; imported by measure.py."""
import itertools
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
    """Pairs of the words of a query and of another that has none of them; of
    the files in turn."""
    fit = {file: [] for file in run["files"]}
    for query in run["queries"]:
        words = list(dict.fromkeys(query["words"]))
        if len(words) == COLD_WORDS:
            fit[query["file"]].append(words)
    mixed = [words for turn in itertools.zip_longest(*fit.values())
             for words in turn if words]
    pairs = []
    for place, words in enumerate(mixed[:count]):
        others = [other for other in mixed[place + 1:] + mixed[:place]
                  if not set(other) & set(words)]
        pairs += [(words, other) for other in others[:1]]
    return pairs
