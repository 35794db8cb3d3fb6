"""queries.py: queries of each class, drawn from a file of `class TAB words`;
imported by measure.py.

  phrase   the contiguous words of an ng line
  and, or  the words of a co line: the same lines for both
  prefix   the first 3 to 5 letters of a word of any line

The draw and its order depend on the seed alone, not on what engines make of
the queries; classes run one after another.
"""
import random


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            name, _, words = line.rstrip("\n").partition("\t")
            if words:
                yield name, words


def draw(path, seed, count):
    rng = random.Random(seed)
    lines = sorted(set(read_lines(path)))
    phrases = [words for name, words in lines if name.startswith("ng")]
    together = [words for name, words in lines if name.startswith("co")]
    rng.shuffle(phrases)
    rng.shuffle(together)

    words = sorted({word for _, line in lines for word in line.split()
                    if word.isalpha() and word.isascii() and len(word) >= 4})
    rng.shuffle(words)
    prefixes = []
    for word in words:
        prefix = word[:rng.randint(3, min(5, len(word) - 1))]
        if prefix not in prefixes:
            prefixes.append(prefix)
        if len(prefixes) == count:
            break
    return (("phrase", phrases), ("and", together), ("or", together),
            ("prefix", prefixes))


def numbered(path, seed, count):
    """(id, class, words), at most `count` of each class."""
    chosen = [(name, words) for name, queries in draw(path, seed, count)
              for words in queries[:count]]
    return [(number, *query) for number, query in enumerate(chosen, 1)]
