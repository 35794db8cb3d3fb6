"""statements.py: statements of all shapes, drawn by seed; imported by
measure.py."""
import math
import random
import re

from harness.server import quoted, sql

SAMPLE = 3000              # rows whose words queries are made of
WORD = re.compile(r"[a-z0-9]+")
OWNERS = 1000
SIZES = 1000
RANKED = "tsv <@> %s::tsquery"
MATCHES = "tsv @@ %s::tsquery"
LIMITS = (1, 10, 20, 20, 20, 100, 1000)
OFFSETS = (0, 0, 0, 0, 100, 1000, 5000)
ORDERS = ("price", "price DESC", "sent", "sent DESC", "id", "id DESC", "size")
GROUPED = ("category", "owner", "flag", "price / 100000", "tags[1]")


class Drawn:
    """What statements are made of; all of it follows from the seed and the
    table."""

    def __init__(self, seed, rows):
        self.draw = random.Random(seed)
        self.rows = rows
        self.df = {}
        step = max(1, rows // SAMPLE)
        self.texts = [line.split() for line in sql(
            "SELECT string_agg(lexeme, ' ' ORDER BY place) FROM docs,"
            " unnest(tsv), unnest(positions) place WHERE id %% %d = %d"
            " GROUP BY id ORDER BY id" % (step, seed % step))]
        self.texts = [[word for word in text if WORD.fullmatch(word)]
                      for text in self.texts]
        self.texts = [text for text in self.texts if len(text) >= 8]
        for text in self.texts:
            for word in set(text):
                self.df[word] = self.df.get(word, 0) + 1
        self.by_share = sorted(self.df, key=lambda word: (self.df[word], word))

    def share(self, low, high):
        """Evenly by its logarithm."""
        return math.exp(self.draw.uniform(math.log(low), math.log(high)))

    # ---- words ----

    def word(self):
        """Half of them as texts have them, half as dictionaries do."""
        if self.draw.random() < .5:
            return self.draw.choice(self.draw.choice(self.texts))
        wanted = self.share(1, max(self.df.values()))
        fit = [word for word in self.by_share
               if wanted / 2 <= self.df[word] <= wanted * 2]
        return self.draw.choice(fit or self.by_share)

    def neighbours(self, n):
        text = self.draw.choice(self.texts)
        start = self.draw.randrange(len(text) - n)
        return text[start:start + n]

    def together(self, n):
        text = sorted(set(self.draw.choice(self.texts)))
        return self.draw.sample(text, min(n, len(text)))

    def prefix(self):
        word = self.word()
        return word[:self.draw.randint(2, 4)] + ":*"

    def conjunctions(self):
        return " | ".join("(%s)" % " & ".join(self.together(2)) for _ in
                          range(self.draw.choice((2, 3, 3, 8, 40))))

    def query(self):
        kinds = {
            "word": self.word,
            "all": lambda: " & ".join(self.together(self.draw.randint(2, 4))),
            "any": lambda: " | ".join(self.word() for _ in range(
                self.draw.randint(2, 5))),
            "phrase": lambda: " <-> ".join(self.neighbours(
                self.draw.randint(2, 3))),
            "prefix": self.prefix,
            "prefix and": lambda: "%s & %s" % (self.word(), self.prefix()),
            "not": lambda: "%s & !%s" % (self.word(), self.word()),
            "mixed": lambda: "(%s | %s) & %s" % (self.word(), self.word(),
                                                 self.word()),
            "disjunction": self.conjunctions,
        }
        return quoted(kinds[self.draw.choice(
            ("word", "word", "word", "all", "all", "all", "any", "any",
             "phrase", "phrase", "prefix", "prefix and", "not", "mixed",
             "disjunction"))]())

    # ---- conditions ----

    def prices(self):
        share = self.share(.0005, .9)
        low = self.draw.uniform(0, 1 - share)
        return self.draw.choice((
            "price < %d" % (share * 1e6),
            "price BETWEEN %d AND %d" % (low * 1e6, (low + share) * 1e6)))

    def dates(self):
        share = self.share(.0005, .9)
        low = self.draw.uniform(0, 1 - share)
        return self.draw.choice((
            "sent >= arrival(%d)" % (self.rows * (1 - share)),
            "sent BETWEEN arrival(%d) AND arrival(%d)" % (
                self.rows * low, self.rows * (low + share))))

    def owners(self):
        return self.draw.choice((
            "owner = %d" % self.draw.randrange(OWNERS),
            "owner < %d" % (self.share(.001, .9) * OWNERS)))

    def condition(self):
        return self.draw.choice((
            lambda: "category = 'c%d'" % self.draw.randint(1, 20),
            lambda: "category IN ('c%d', 'c%d')" % (
                self.draw.randint(1, 10), self.draw.randint(11, 20)),
            lambda: "tags @> ARRAY['t%d']" % self.share(1, 5000),
            lambda: "tags && ARRAY['t%d', 't%d']" % (self.share(1, 5000),
                                                     self.share(1, 5000)),
            lambda: "flag", lambda: "NOT flag",
            lambda: "size < %d" % (self.share(.001, .9) * SIZES),
            self.prices, self.prices, self.dates, self.owners,
            self.owners))()

    def where(self, query):
        """The words and up to two conditions."""
        parts = [MATCHES % query]
        parts += [self.condition() for _ in range(
            self.draw.choice((0, 0, 1, 1, 1, 2)))]
        return " AND ".join(parts)

    def limit(self):
        offset = self.draw.choice(OFFSETS)
        return " LIMIT %d" % self.draw.choice(LIMITS) + (
            " OFFSET %d" % offset if offset else "")

    # ---- statements ----

    def ranked(self):
        query = self.query()
        return "SELECT id FROM docs WHERE %s ORDER BY %s%s" % (
            self.where(query), RANKED % query, self.limit())

    def ranked_other(self):
        """The rows are not those that have the words."""
        return "SELECT id FROM docs WHERE %s ORDER BY %s%s" % (
            self.condition(), RANKED % self.query(), self.limit())

    def ordered(self):
        return "SELECT id FROM docs WHERE %s ORDER BY %s%s" % (
            self.where(self.query()), self.draw.choice(ORDERS), self.limit())

    def rows_found(self):
        return "SELECT id FROM docs WHERE %s" % self.where(self.query())

    def count(self):
        return "SELECT count(*) FROM docs WHERE %s" % self.where(self.query())

    def total(self):
        return "SELECT %s FROM docs WHERE %s" % (self.draw.choice((
            "sum(price)", "min(price)", "max(sent)", "count(size)",
            "avg(size)")), self.where(self.query()))

    def grouped(self):
        key = self.draw.choice(GROUPED)
        return "SELECT %s, count(*) FROM docs WHERE %s GROUP BY 1" % (
            key, self.where(self.query()))

    def distinct(self):
        return "SELECT DISTINCT %s FROM docs WHERE %s" % (
            self.draw.choice(GROUPED), self.where(self.query()))

    def joined(self):
        query = self.query()
        return ("SELECT d.id, o.name FROM docs d JOIN owners o ON o.id ="
                " d.owner WHERE %s%s%s" % (
                    self.where(query), self.draw.choice(
                        ("", " AND o.team = %d" % self.draw.randrange(50))),
                    self.draw.choice((
                        "", " ORDER BY d.%s%s" % (RANKED % query,
                                                  self.limit()),
                        " ORDER BY price" + self.limit()))))

    def joined_few(self):
        query = self.query()
        return ("SELECT d.id FROM picked p JOIN docs d ON d.owner = p.value"
                " WHERE p.list = %d AND %s ORDER BY %s LIMIT 20" % (
                    self.draw.randrange(20), self.where(query),
                    RANKED % query))

    def existing(self):
        return ("SELECT count(*) FROM owners o WHERE o.team = %d AND EXISTS"
                " (SELECT FROM docs WHERE owner = o.id AND %s)" % (
                    self.draw.randrange(50), self.where(self.query())))

    def within(self):
        query = self.query()
        return "SELECT id FROM docs WHERE owner IN (SELECT id FROM owners" \
            " WHERE team = %d) AND %s ORDER BY %s%s" % (
                self.draw.randrange(50), self.where(query),
                self.draw.choice(ORDERS + (RANKED % query,)), self.limit())

    def either(self):
        return "SELECT %s FROM docs WHERE (%s AND %s) OR (%s AND %s)" % (
            self.draw.choice(("count(*)", "id", "sum(price)")),
            MATCHES % self.query(), self.condition(),
            MATCHES % self.query(), self.condition())

    def all_ranked(self):
        query = self.query()
        return "SELECT id FROM docs WHERE %s ORDER BY %s" % (
            self.where(query), RANKED % query)

    SHAPES = {
        "ranked": (ranked, 6), "ranked_other": (ranked_other, 1),
        "ordered": (ordered, 6), "rows": (rows_found, 3), "count": (count, 3),
        "total": (total, 2), "grouped": (grouped, 2),
        "distinct": (distinct, 2), "joined": (joined, 3),
        "joined_few": (joined_few, 1), "existing": (existing, 1),
        "within": (within, 2), "either": (either, 2),
        "all_ranked": (all_ranked, 1),
    }

    def statements(self, shapes, n):
        """(shape, statement), each shape by its weight."""
        names = [name for name in shapes for _ in range(self.SHAPES[name][1])]
        for _ in range(n):
            name = self.draw.choice(names)
            yield name, self.SHAPES[name][0](self)
