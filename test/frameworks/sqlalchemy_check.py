"""The mapped class of doc/searching.md: its table and index are made by SQLAlchemy,
and best() and newest() return what SQL does that says all itself."""
import json
import os
import sys

import sqlalchemy
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

sys.path.insert(0, os.getcwd())
from library import Article, Base, best, newest  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = "to_tsvector('english', title || ' ' || body)"
MATCHES = f"SELECT id FROM article WHERE {DOCUMENT} @@ websearch_to_tsquery('english', :words)"
BEST = f"{MATCHES} ORDER BY {DOCUMENT} <@> skipidx_any('english', :words), id LIMIT 10"
NEWEST = f"{MATCHES} ORDER BY id DESC LIMIT 10"

with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
    cases = json.load(file)

# libpq takes host, port, user and database from the environment.
engine = create_engine("postgresql://", future=True)
with engine.begin() as connection:
    connection.execute(text("CREATE EXTENSION skipidx"))
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all([Article(title=title, body=body) for title, body in cases["rows"]])
    session.commit()
    found = 0
    for words in cases["words"]:
        for search, query in (best, BEST), (newest, NEWEST):
            got = [article.id for article in session.scalars(search(words))]
            wanted = [row.id for row in session.execute(text(query), {"words": words})]
            assert got == wanted, (words, search, got, wanted)
            found += len(got)
    assert found >= 10, found
    session.execute(text("SET enable_seqscan = off"))
    session.execute(text("SET enable_sort = off"))
    for search in best, newest:
        compiled = search("log").compile(engine, compile_kwargs={"literal_binds": True})
        plan = "\n".join(row[0] for row in session.execute(text("EXPLAIN %s" % compiled)))
        assert "article_search" in plan and "Sort" not in plan, plan
print("SQLAlchemy %s: %d rows found" % (sqlalchemy.__version__, found))
