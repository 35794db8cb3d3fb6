"""words.py: words and pairs of words of a text, drawn by seed; imported by
lookup.py and rescore.py."""
import os
import random
import re
from collections import Counter

SAMPLE = 50000
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
