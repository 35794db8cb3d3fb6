#!/usr/bin/env python3
"""gen_corpus.py ROWS SEED TEXT QUERIES: seeded text, for where no corpus is.

Words follow Zipf's law; each word has a few favourite successors, so that
phrases recur as they do in language; neighbouring rows share a topic, as
paragraphs of one article do.  TEXT gets `id TAB title TAB body`, QUERIES gets
`class TAB words` in the classes of the real query files: ng2..ng4 contiguous
words of a row, co2..co4 words of one row in any order.
"""
import itertools
import random
import sys

VOCABULARY = 80000
TOPIC_WORDS = 60
ROWS_OF_TOPIC = 12
FOLLOW = 0.5        # chance that a word is followed by one of its favourites
TOPICAL = 0.12      # chance that it comes from the topic
QUERIES = {"ng2": 360, "ng3": 160, "ng4": 40,
           "co2": 240, "co3": 140, "co4": 60}


def make_word(number):
    """Distinct pronounceable words, short for the frequent ones."""
    consonants, vowels = "bcdfghjklmnprstvwz", "aeiou"
    word = ""
    number += 1
    while number:
        number, c = divmod(number, len(consonants))
        number, v = divmod(number, len(vowels))
        word += consonants[c] + vowels[v]
    return word


class Language:
    def __init__(self, rng):
        self.rng = rng
        self.words = [make_word(i) for i in range(VOCABULARY)]
        weights = ((rank + 2.7) ** -1.1 for rank in range(VOCABULARY))
        self.cumulative = list(itertools.accumulate(weights))
        self.favourites = [self.draw(3) for _ in range(VOCABULARY)]

    def draw(self, count):
        return self.rng.choices(range(VOCABULARY), cum_weights=self.cumulative,
                                k=count)

    def text(self, length, topic):
        rng = self.rng
        fresh = iter(self.draw(length))
        numbers = []
        for _ in range(length):
            chance = rng.random()
            if numbers and chance < FOLLOW:
                numbers.append(self.favourites[numbers[-1]][rng.randrange(3)])
            elif chance > 1 - TOPICAL:
                numbers.append(topic[rng.randrange(TOPIC_WORDS)])
            else:
                numbers.append(next(fresh))
        return [self.words[number] for number in numbers]


def write_text(language, rows, path):
    """Writes the rows and returns some of their bodies, to draw queries from."""
    rng = language.rng
    kept = []
    with open(path, "w") as out:
        for row in range(1, rows + 1):
            if row % ROWS_OF_TOPIC == 1:
                topic = [rng.randrange(50, VOCABULARY)
                         for _ in range(TOPIC_WORDS)]
                title = " ".join(language.words[n] for n in topic[:2])
            length = min(600, 8 + int(rng.lognormvariate(4.1, 0.7)))
            body = language.text(length, topic)
            out.write("%d\t%s\t%s\n" % (row, title, " ".join(body)))
            if rng.random() < 4000 / rows:
                kept.append(body)
    return kept


def write_queries(rng, bodies, path):
    with open(path, "w") as out:
        for name, count in QUERIES.items():
            size = int(name[-1])
            for _ in range(count):
                body = bodies[rng.randrange(len(bodies))]
                if name.startswith("ng"):
                    start = rng.randrange(len(body) - size + 1)
                    words = body[start:start + size]
                else:
                    distinct = sorted(set(body))
                    words = rng.sample(distinct, min(size, len(distinct)))
                out.write("%s\t%s\n" % (name, " ".join(words)))


def main():
    rows, seed = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    bodies = write_text(Language(rng), rows, sys.argv[3])
    write_queries(rng, bodies, sys.argv[4])


if __name__ == "__main__":
    main()
