"""searches.py: ranked searches of the table docs, made of lines of words;
imported by measure.py of several targets.

A mode is how the words are joined and how many rows are wanted: AND10, OR1000.
"""
import re

from harness.server import fill, sql

STRATEGY = 3        # of `<@>`
KINDS = (("AND", " & ", True), ("OR", " | ", True), ("PHRASE", " <-> ", False))
RANKED = ("SELECT id FROM docs WHERE tsv @@ {0} ORDER BY tsv <@> {0}"
          " LIMIT {1}")


def kind_of(mode):
    return re.match(r"[A-Z]+", mode)[0]


def rows_of(mode):
    return int(mode[len(kind_of(mode)):])


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t")[-1] for line in file]


def make_words(lines, limit):
    """The table words: what to_tsvector makes of the lines that have any."""
    sql("CREATE TABLE lines (id int, line text)")
    fill("lines", enumerate(lines))
    sql("CREATE TABLE words AS SELECT id, array_agg(lexeme ORDER BY place)"
        " AS words FROM lines, unnest(to_tsvector('simple', line)),"
        " unnest(positions) place GROUP BY id ORDER BY id LIMIT %d" % limit)


def add_searches(kind, operator, distinct):
    """Into the table searches, the words of each line joined by an operator,
    each once or each where it stands."""
    lexeme = (r"'''' || replace(replace(word, '\', '\\'), '''', '''''')"
              " || ''''")
    sql("INSERT INTO searches SELECT id, '%s', string_agg(%s, '%s'"
        " ORDER BY place)::tsquery FROM (SELECT id, word, %s AS place FROM"
        " words, unnest(words) WITH ORDINALITY w (word, place) GROUP BY id,"
        " word%s) s GROUP BY id ORDER BY id" % (
            kind, lexeme, operator, "min(place)" if distinct else "place",
            "" if distinct else ", place"))


def make_searches(lines, limit):
    """The table searches: id, mode and q of each line that has words, `limit`
    lines at most; returns the words by id."""
    make_words(lines, limit)
    sql("CREATE TABLE searches (id int, mode text, q tsquery)")
    for kind, operator, distinct in KINDS:
        add_searches(kind, operator, distinct)
    sql("ANALYZE searches")
    rows = sql("SELECT id || ' ' || array_to_string(words, ' ') FROM words"
               " ORDER BY id")
    return {int(number): words for number, *words in map(str.split, rows)}


def searches_of(kind, argument=""):
    return "SELECT q%s FROM searches WHERE mode = '%s' ORDER BY id" % (
        argument, kind)


def rank_by(proximity, index="docs_skipidx"):
    """Whether pairs of words count: with the default weight, or not at all."""
    sql("ALTER INDEX %s " % index +
        ("RESET (proximity)" if proximity else "SET (proximity = 0)"))


def compare_hits(known, hits):
    """With what the first series found that ran the query: what differs."""
    for number, rows in hits.items():
        if known.setdefault(number, rows) != rows:
            yield number, [known[number], rows]
