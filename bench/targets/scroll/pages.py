"""pages.py: scripts of psql that read all rows that match, a page after the
other, and what they print; imported by measure.py.

Each page is put together in the server, so that all ways send as little: its
number of rows, the sum of their ids, and where to go on."""
import os
import subprocess
import tempfile

from harness.record import temporary
from harness.server import command

FOUND = "SELECT id FROM docs WHERE tsv @@ '{word}'"
# Of a page: n, s, and what the next one needs.
OFFSET = ("SELECT count(*) AS n, sum(id) AS s FROM (" + FOUND +
          "{order} LIMIT {size} OFFSET {offset}) p \\gset")
KEYSET = ("SELECT count(*) AS n, sum(id) AS s, max(id) AS next FROM (" + FOUND
          + " AND id > :next ORDER BY id LIMIT {size}) p \\gset")
SCROLL = ("SELECT count(*) AS n, sum(d.id) AS s, (count(*) = {size})::int AS"
          " more, 'decode(''' || encode((array_agg(p.token))[count(*)], 'hex')"
          " || ''', ''hex'')'"
          " AS after FROM skipidx_scroll('docs_skipidx', '{word}', {slice},"
          " {slices}, :after, {size}) p JOIN docs d ON d.ctid = p.ctid \\gset")
SHOWN = "\\echo page :n :s"


def offset_script(given, order, offsets):
    lines = []
    for offset in offsets:
        lines += [OFFSET.format(order=order, offset=offset, **given), SHOWN]
    return lines


def keyset_script(given, pages):
    return ["\\set next -1"] + [KEYSET.format(**given), SHOWN] * pages


def scroll_script(given, part, slices, pages, snapshot):
    """Goes on as long as pages are full."""
    lines = ["BEGIN ISOLATION LEVEL REPEATABLE READ;",
             "SET TRANSACTION SNAPSHOT '%s';" % snapshot,
             "\\set after NULL", "\\set more 1"]
    page = SCROLL.format(slice=part, slices=slices, **given)
    for _ in range(pages):
        lines += ["\\if :more", page, SHOWN, "\\endif"]
    return lines + ["COMMIT;"]


def cursor_script(given, pages, path):
    """Its rows come to the client, into a file."""
    return (["BEGIN;", "DECLARE c NO SCROLL CURSOR FOR " +
             FOUND.format(**given) + ";", "\\o " + path] +
            ["FETCH %d FROM c;" % given["size"]] * pages + ["\\o", "COMMIT;"])


def start(before, lines):
    """A session that has done what comes before; `go` has it run the rest."""
    process = subprocess.Popen(command(), stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.PIPE)
    process.stdin.write("\n".join(before + ["\\echo ready", ""]))
    process.stdin.flush()
    while process.stdout.readline().strip() != "ready":
        pass
    # a pipe would not take a long script at once
    with tempfile.NamedTemporaryFile("w", dir=temporary(), suffix=".sql",
                                     delete=False) as file:
        file.write("\n".join(["\\timing on"] + lines + [""]))
    process.script = file.name
    return process


def go(process):
    process.stdin.write("\\i %s\n" % process.script)
    process.stdin.close()


def read(process):
    """Of each page: ms, rows, sum of ids."""
    pages, ms = [], None
    for line in process.stdout:
        words = line.split()
        if words[:1] == ["Time:"]:
            ms = float(words[1])
        elif words[:1] == ["page"]:
            pages.append((ms, int(words[1]), int(words[2] if len(words) > 2
                                                 else 0)))
    os.remove(process.script)
    if process.wait() != 0:
        raise RuntimeError("psql failed")
    return pages
