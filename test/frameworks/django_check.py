"""The models.py of doc/searching.md as an application: extension and index are made by
Django, and search() returns what SQL does."""
import json
import os
import sys

import django
from django.conf import settings

HERE = os.path.dirname(os.path.abspath(__file__))
QUERY = """SELECT id FROM library_article WHERE tsv @@ websearch_to_tsquery('english', %s)
ORDER BY tsv <@> websearch_to_tsquery('english', %s), id LIMIT 10"""
TRIGGER = """CREATE TRIGGER tsv BEFORE INSERT OR UPDATE ON library_article FOR EACH ROW
EXECUTE FUNCTION tsvector_update_trigger(tsv, 'pg_catalog.english', title, body)"""

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
from library.models import Article, search  # noqa: E402

with open(os.path.join(HERE, "cases.json"), encoding="utf-8") as file:
    cases = json.load(file)

# What makemigrations would write names the index.
changes = MigrationAutodetector(
    ProjectState(), ProjectState.from_apps(apps),
    MigrationQuestioner({"ask_initial": True})).changes(
        MigrationLoader(None, ignore_no_migrations=True).graph)
written = MigrationWriter(changes["library"][0]).as_string()
assert "SkipidxIndex(fields=['tsv'], name='article_search')" in written, written

with connection.schema_editor() as editor:
    state = ProjectState()
    CreateExtension("skipidx").database_forwards("library", editor, state, state)
    editor.create_model(Article)
with connection.cursor() as cursor:
    cursor.execute(TRIGGER)
for title, body in cases["rows"]:
    Article.objects.create(title=title, body=body)

found = 0
for words in cases["words"]:
    got = [article.pk for article in search(words)]
    with connection.cursor() as cursor:
        cursor.execute(QUERY, [words, words])
        wanted = [row[0] for row in cursor]
    assert got == wanted, (words, got, wanted)
    found += len(got)
assert found >= 5, found
assert search("log", count=1)[0].distance < 0

with connection.cursor() as cursor:
    cursor.execute("SET enable_seqscan = off")
plan = search("log").explain()
assert "article_search" in plan, plan
print("Django %s: %d rows found" % (django.get_version(), found))
