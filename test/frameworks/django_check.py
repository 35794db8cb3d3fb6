"""The models.py of doc/searching.md as an application: extension and index are made by
Django, and best() and newest() return what SQL does that says all itself."""
import json
import os
import sys

import django
from django.conf import settings

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENT = "to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, ''))"
MATCHES = f"""SELECT id FROM library_article
WHERE {DOCUMENT} @@ websearch_to_tsquery('english', %(words)s)"""
BEST = f"{MATCHES} ORDER BY {DOCUMENT} <@> skipidx_any('english', %(words)s), id LIMIT 10"
NEWEST = f"{MATCHES} ORDER BY id DESC LIMIT 10"

sys.path.insert(0, os.getcwd())
settings.configure(
    INSTALLED_APPS=["django.contrib.postgres", "library"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
        "USER": os.environ["PGUSER"], "NAME": os.environ["PGDATABASE"]}})
django.setup()

from django.apps import apps            # noqa: E402
from django.contrib.postgres.operations import CreateExtension  # noqa: E402
from django.db import connection        # noqa: E402
from django.db.migrations.autodetector import MigrationAutodetector  # noqa: E402
from django.db.migrations.loader import MigrationLoader  # noqa: E402
from django.db.migrations.questioner import MigrationQuestioner  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402
from django.db.migrations.writer import MigrationWriter  # noqa: E402
from library.models import Article, best, newest  # noqa: E402

with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
    cases = json.load(file)

# What makemigrations would write names the index.
changes = MigrationAutodetector(
    ProjectState(), ProjectState.from_apps(apps),
    MigrationQuestioner({"ask_initial": True})).changes(
        MigrationLoader(None, ignore_no_migrations=True).graph)
written = MigrationWriter(changes["library"][0]).as_string()
assert "SkipidxIndex(django.contrib.postgres.search.SearchVector('title', 'body', " in written, written

with connection.schema_editor() as editor:
    state = ProjectState()
    CreateExtension("skipidx").database_forwards("library", editor, state, state)
    editor.create_model(Article)
for title, body in cases["rows"]:
    Article.objects.create(title=title, body=body)

found = 0
for words in cases["words"]:
    for search, query in (best, BEST), (newest, NEWEST):
        got = [article.pk for article in search(words)]
        with connection.cursor() as cursor:
            cursor.execute(query, {"words": words})
            wanted = [row[0] for row in cursor]
        assert got == wanted, (words, search, got, wanted)
        found += len(got)
assert found >= 10, found

with connection.cursor() as cursor:
    cursor.execute("SET enable_seqscan = off")
    cursor.execute("SET enable_sort = off")
for search in best, newest:
    plan = search("log").explain()
    assert "article_search" in plan and "Sort" not in plan, plan
print("Django %s: %d rows found" % (django.get_version(), found))
