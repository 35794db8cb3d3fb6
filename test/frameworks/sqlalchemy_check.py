"""The mapped class of doc/searching.md: its table and index are made by SQLAlchemy,
and search() returns what SQL does."""
import json
import os
import sys

import sqlalchemy
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session

sys.path.insert(0, os.getcwd())
from library import Article, Base, search  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
QUERY = """SELECT id FROM article WHERE tsv @@ websearch_to_tsquery('english', :words)
ORDER BY tsv <@> websearch_to_tsquery('english', :words), id LIMIT 10"""

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
        got = [row.id for row in session.execute(search(words))]
        wanted = [row.id for row in session.execute(text(QUERY), {"words": words})]
        assert got == wanted, (words, got, wanted)
        found += len(got)
    assert found >= 5, found
    assert session.execute(search("log", count=1)).first().distance < 0
    session.execute(text("SET enable_seqscan = off"))
    compiled = search("log").compile(engine, compile_kwargs={"literal_binds": True})
    plan = "\n".join(row[0] for row in session.execute(text("EXPLAIN %s" % compiled)))
    assert "article_search" in plan, plan
print("SQLAlchemy %s: %d rows found" % (sqlalchemy.__version__, found))
