"""statements.py: all statements that bench-statement runs, and the tables that
they are run on; imported by measure.py of the target.

An engine's form of a search is changed here, and nowhere else.
"""
from collections import namedtuple

from harness.server import quoted

# ---- the tables ----

CONFIG = "english"
DRAWN = (", floor(drawn(id, 3) * 10000)::int AS price, arrival(id) AS sent,"
         " 'c' || zipf(50, id, 4) AS category")
COLUMNS = ("price", "sent", "category")
BTREES = ["CREATE INDEX docs_%s ON docs (%s)" % (column, column)
          for column in COLUMNS]

# extension; what is run before and after its index is built; what follows
# USING
Engine = namedtuple("Engine", "extension before after clause")
ENGINES = {
    "gin": Engine(
        None,
        ["ALTER TABLE docs ADD COLUMN tsv tsvector"
         " GENERATED ALWAYS AS (to_tsvector('%s', body)) STORED" % CONFIG],
        BTREES, "gin (tsv)"),
    "pg_textsearch": Engine(
        "pg_textsearch", [], BTREES,
        "bm25 (body) WITH (text_config = '%s')" % CONFIG),
    "skipidx": Engine(
        "skipidx", [], [],
        "skipidx (to_tsvector('%s', body), %s)" % (
            CONFIG, ", ".join(COLUMNS))),
}
SUBJECT, YARDSTICK, PEER = "skipidx", "gin", "pg_textsearch"
INDEX = "docs_text"

# ---- searches ----

# words: plain, or joined (a | b), or quoted as a phrase; "{q}" in the rest is
# what is searched for, a literal or $1; order None: rows are counted
Search = namedtuple("Search", "words where order limit")
CHEAP = " AND price < 1000"            # a tenth of the rows
NEWEST = "sent DESC"

TEXT = "to_tsvector('%s', body)" % CONFIG
DISTANCE = "body <@> {q}"


def skipidx(words, also="", order=DISTANCE, limit=10):
    return Search(words, "body @@@ {q}" + also, order, limit)


ALL = "websearch_to_tsquery('%s', {q})" % CONFIG
GIN_ANY = "to_tsquery('%s', {q})" % CONFIG


def gin(words, query, also="", order=None, limit=10):
    return Search(words, "tsv @@ %s%s" % (query, also),
                  order or "ts_rank(tsv, %s) DESC" % query, limit)


BM25 = "body <@> {q}"
BM25_NAMED = "body <@> to_bm25query({q}, '%s')" % INDEX

SEARCHES = {
    "skipidx": {
        "box": Search("plain", None, DISTANCE, 10),
        "box_filter": Search("plain", CHEAP.replace(" AND ", ""), DISTANCE, 10),
        "all": skipidx("plain"),
        "phrase": skipidx("quoted"),
        "filter": skipidx("plain", CHEAP),
        "newest": skipidx("plain", order=NEWEST, limit=20),
        "count": skipidx("plain", order=None, limit=None),
    },
    "gin": {
        "box": gin("joined", GIN_ANY),
        "box_filter": gin("joined", GIN_ANY, CHEAP),
        "all": gin("plain", ALL),
        "phrase": gin("quoted", ALL),
        "filter": gin("plain", ALL, CHEAP),
        "newest": gin("plain", ALL, order=NEWEST, limit=20),
        "count": Search("plain", "tsv @@ " + ALL, None, None),
    },
    "pg_textsearch": {
        "box": Search("plain", None, BM25, 10),
        "box_filter": Search("plain", CHEAP.replace(" AND ", ""), BM25, 10),
    },
}
CLASSES = tuple(SEARCHES["skipidx"])
# Of prepared statements, where they are not the same: a parameter is taken
# with the index named only, and the LIMIT of a generic plan by the first
# execution only, so that the number of rows to score is set.
PREPARED = {
    "pg_textsearch": {
        "box": Search("plain", None, BM25_NAMED, 10),
        "box_filter": Search("plain", CHEAP.replace(" AND ", ""), BM25_NAMED,
                             10),
    },
}
PREPARED_SETTINGS = {
    ("pg_textsearch", "box"): [("pg_textsearch.default_limit", 10)],
    ("pg_textsearch", "box_filter"): [("pg_textsearch.default_limit", 200)],
}
# Classes in which engines find the same rows, and what of these can be
# compared: the rows in their order, or how many there are.
SAME_ROWS = ("newest", "count")
SAME_NUMBER = ("all", "phrase", "filter")


def search_of(engine, name, is_prepared=False):
    found = PREPARED.get(engine, {}) if is_prepared else {}
    return found.get(name) or SEARCHES[engine][name]


def select(search, what="id, title"):
    """With {q} in it."""
    statement = "SELECT %s FROM docs" % (what if search.order else "count(*)")
    if search.where:
        statement += " WHERE " + search.where
    if search.order:
        statement += " ORDER BY %s LIMIT %d" % (search.order, search.limit)
    return statement


def value_of(search, words):
    """What is searched for."""
    if search.words == "quoted":
        return '"%s"' % " ".join(words)
    return (" | " if search.words == "joined" else " ").join(words)


def with_literal(statement, value):
    return statement.replace("{q}", quoted(value))


def with_parameter(statement):
    return statement.replace("{q}", "$1")


# ---- inserts ----

INSERT = ("INSERT INTO docs (id, title, body, price, sent, category) VALUES"
          " (nextval('new_id'), %s, %s, %s, %s, %s)")
INSERTED = "title, body, price, sent, category"
INSERT_SETTINGS = [("synchronous_commit", "off")]

# ---- the first statement of a connection ----

FIRST = ("key", "match", "box")
KEY = "SELECT title FROM docs WHERE id = 7"
MATCH = {"gin": "SELECT id, title FROM docs WHERE tsv @@ %s::tsquery",
         "skipidx": "SELECT id, title FROM docs WHERE " + TEXT +
                    " @@ %s::tsquery"}


def first_statement(engine, name, words, lexemes):
    """None where the engine has no such statement."""
    if name == "key":
        return KEY
    if name == "match":
        return engine in MATCH and MATCH[engine] % quoted(" & ".join(lexemes))
    search = search_of(engine, name)
    return with_literal(select(search), value_of(search, words))


# ---- planning ----

# Of the searches as they are; GIN's with a literal, without an order.
PLANNED = ("box", "all", "filter_newest")
SEARCHES["skipidx"]["filter_newest"] = skipidx("plain", CHEAP, order=NEWEST,
                                               limit=20)
PLAIN = MATCH["gin"]
# The server's function that parses text by a configuration.
PARSER = "parsetext"
OTHER = "SELECT id, name FROM other WHERE id = 7 ORDER BY name"
CREATE_OTHER = ["CREATE TABLE other AS SELECT id, 'n' || id AS name"
                " FROM generate_series(1, 1000) id",
                "ALTER TABLE other ADD PRIMARY KEY (id)", "ANALYZE other"]

# ---- a small table: the same statement for both engines ----

CREATE_SMALL = ["CREATE TABLE small AS SELECT id, to_tsvector('%s', body) AS"
                " tsv FROM docs ORDER BY id LIMIT 100" % CONFIG,
                "CREATE INDEX small_tsv ON small USING {engine} (tsv)",
                "VACUUM (FREEZE, ANALYZE) small"]
SMALL = "SELECT id FROM small WHERE tsv @@ %s::tsquery"
SMALL_WORDS = ("SELECT array_to_string((tsvector_to_array(tsv))[1:1], '')"
               " FROM small WHERE length(tsv) > 0 ORDER BY id")
SMALL_SETTINGS = [("enable_seqscan", "off")]
