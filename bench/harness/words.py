"""words.py: words of a text that queries are made of, those that are drawn by
seed; imported by measure.py of several targets."""
import os
import random
import re
from collections import Counter

from harness.record import numbers, option

SAMPLE = 50000
WORDS = ("to", "be", "or", "not", "to", "be")
SPARSE_SHARE = (0.0002, 0.005)     # of all rows, each word of a sparse query
SPARSE_SETS = 8
WORD = re.compile(r"[a-z]{3,}")


def sample(path, limit):
    """About SAMPLE of the first `limit` rows, each a list of its words."""
    with open(path, encoding="utf-8") as file:
        average = sum(len(next(file)) for _ in range(1000)) / 1000
        rows = min(limit, int(os.path.getsize(path) / average))
        stride = max(1, rows // SAMPLE)
        file.seek(0)
        kept = []
        for number, line in enumerate(file):
            if number >= limit:
                break
            if number % stride == 0:
                kept.append(WORD.findall(line.lower()))
    return kept


def frequencies(rows):
    """In how many rows of the sample each word is."""
    counts = Counter()
    for row in rows:
        counts.update(set(row))
    return counts


def text():
    """Path of the text, and how many of its rows are measured at most."""
    return option("TEXT", ""), numbers("LIMIT", "1G")[0]


def common_words(rows, corpus):
    """Those of "to be or not to be"; generated text has no English words:
    there, the most frequent ones."""
    if corpus != "generated":
        return WORDS
    return [word for word, _ in frequencies(rows).most_common(4)]


def rare_sets(rows, share, number, seed):
    """`number` sets of three words of one row each, every word in at least
    and at most such shares of all rows."""
    counts = frequencies(rows)
    low, high = (part * len(rows) for part in share)
    draw = random.Random(seed)
    found = []
    for row in draw.sample(rows, len(rows)):
        fit = sorted({word for word in row if low <= counts[word] <= high})
        if len(fit) >= 3:
            found.append(draw.sample(fit, 3))
        if len(found) == number:
            break
    return found


def pairs(rows, total, wanted, number, seed):
    """`number` pairs of neighbours, the rarer word of which is in `wanted` to
    50 times as many of all `total` rows."""
    counts = frequencies(rows)
    scale = total / len(rows)
    draw = random.Random(seed)
    found = set()
    for row in draw.sample(rows, len(rows)):
        fit = [pair for pair in zip(row, row[1:]) if pair[0] != pair[1] and
               wanted <= min(counts[w] for w in pair) * scale <= 50 * wanted]
        if fit:
            found.add(draw.choice(fit))
        if len(found) == number:
            break
    return sorted(found)


def queries_of_kinds(rows, corpus):
    """Lists of queries: dense, of long lists; sparse, of words in few rows;
    phrase."""
    common = common_words(rows, corpus)
    sparse = rare_sets(rows, SPARSE_SHARE, SPARSE_SETS, int(option("SEED", 1)))
    phrase = common[:2] if corpus == "generated" else common
    return {"dense": [option("DENSE", " & ".join(dict.fromkeys(common)))],
            "sparse": [" & ".join(words) for words in sparse],
            "phrase": [option("PHRASE", " <-> ".join(phrase))]}
