#!/usr/bin/env python3
"""wiki_corpus.py DUMP ROWS SEED TEXT QUERIES: text and queries from a dump of a
Wikipedia, as its authors publish them for download: pages-articles.xml, plain
or compressed with bzip2.

TEXT gets `id TAB title TAB body`, one paragraph of an article a row, in the
order of the dump, until there are ROWS of them; lists, tables, headings,
references and templates are left out.  QUERIES gets words of rows drawn by
SEED, in the classes of gen_corpus.py.
"""
import bz2
import html
import random
import re
import sys
import xml.etree.ElementTree as xml

from gen_corpus import write_queries

LEAST_WORDS = 12          # of a paragraph
SAMPLE = 4000             # rows that queries are drawn from

COMMENT = re.compile(r"<!--.*?-->", re.S)
# What is left out with all that is in it.
DROPPED = re.compile(r"<(ref|math|gallery|timeline|syntaxhighlight|source|"
                     r"score|table|nowiki|pre)\b[^>]*?(/>|>.*?</\1\s*>)",
                     re.S | re.I)
TAG = re.compile(r"</?[a-zA-Z][^>]*>")
TEMPLATE = re.compile(r"\{\{[^{}]*\}\}")
TABLE = re.compile(r"\{\|(?:(?!\{\||\|\}).)*\|\}", re.S)
# Links to files and categories, which may have links in their captions.
MEDIA = re.compile(r"\[\[(?:file|image|category|media):[^\[\]]*"
                   r"(?:\[\[[^\[\]]*\]\][^\[\]]*)*\]\]", re.I)
LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
URL = re.compile(r"\[(?:https?:|ftp:)?//[^\s\]]*\s*([^\]]*)\]")
QUOTES = re.compile(r"'{2,5}")
WORD = re.compile(r"[a-z0-9]+")


def remove_nested(pattern, text):
    """Innermost first, until there is none left."""
    count = 1
    while count:
        text, count = pattern.subn(" ", text)
    return text


def paragraphs(wikitext):
    text = DROPPED.sub(" ", COMMENT.sub("", wikitext))
    text = remove_nested(TABLE, remove_nested(TEMPLATE, text))
    text = LINK.sub(r"\1", remove_nested(MEDIA, text))
    text = QUOTES.sub("", TAG.sub(" ", URL.sub(r"\1", text)))
    for line in html.unescape(text).split("\n"):
        line = " ".join(line.split())
        if line and line[0] not in "=*#:;|!{}<" and \
                len(line.split()) >= LEAST_WORDS:
            yield line


def articles(path):
    """(title, wikitext) of the pages that are articles, not redirects."""
    opener = bz2.open if path.endswith(".bz2") else open
    with opener(path, "rb") as file:
        page = {}
        for _, element in xml.iterparse(file):
            name = element.tag.rsplit("}", 1)[-1]
            if name in ("title", "ns", "text", "redirect"):
                page[name] = element.text or ""
            elif name == "page":
                if page.get("ns") == "0" and "redirect" not in page:
                    yield page.get("title", ""), page.get("text", "")
                page = {}
                element.clear()


def rows_of(path):
    for title, text in articles(path):
        for body in paragraphs(text):
            yield title, body


def main():
    path, rows, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(seed)
    kept = []
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        for number, (title, body) in enumerate(rows_of(path), 1):
            out.write("%d\t%s\t%s\n" % (number, title.replace("\\", "\\\\"),
                                        body.replace("\\", "\\\\")))
            words = WORD.findall(body.lower())
            if len(words) >= LEAST_WORDS and rng.random() < SAMPLE / rows:
                kept.append(words)
            if number == rows:
                break
    if not kept:
        sys.exit("wiki_corpus: no paragraphs in " + path)
    write_queries(rng, kept, sys.argv[5])


if __name__ == "__main__":
    main()
