"""misspelt.py: words with a letter wrong, drawn by seed; imported by measure.py
of several targets."""
import random

LETTERS = "abcdefghijklmnopqrstuvwxyz"
ONE_EDIT = 5        # least length of a word, as skipidx_suggest() has it
TWO_EDITS = 9


def distance(one, other):
    """By optimal string alignment, in letters."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one):
        row = [i + 1]
        for j, b in enumerate(other):
            row.append(min(row[j] + 1, rows[i][j + 1] + 1,
                           rows[i][j] + (a != b)))
            if i and j and a == other[j - 1] and b == one[i - 1]:
                row[-1] = min(row[-1], rows[i - 1][j - 1] + 1)
        rows.append(row)
    return rows[-1][-1]


def edited(word, rng, first):
    """With one edit at a place from `first` on."""
    at = rng.randrange(first, len(word))
    kind = rng.choice("left-out doubled other swapped".split())
    if kind == "left-out":
        return word[:at] + word[at + 1:]
    if kind == "doubled":
        return word[:at] + word[at] + word[at:]
    if kind == "swapped" and at + 1 < len(word):
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    return word[:at] + rng.choice(LETTERS) + word[at + 1:]


def misspelt(word, rng, most=2):
    """As far from the word as a search box forgives: one edit from five letters
    on, two from nine on with the first letter right; `most` at most."""
    edits = most if len(word) > TWO_EDITS and rng.random() < .5 else 1
    typed = word
    while (not 0 < distance(word, typed) <= edits or
           len(typed) < (TWO_EDITS if edits == 2 else ONE_EDIT)):
        typed = word
        for _ in range(edits):
            typed = edited(typed, rng, 1 if len(word) >= TWO_EDITS - 1 else 0)
    return typed


def draw(terms, count, seed):
    """`terms`: (term, df).  Returns (term, df, typed): terms of every df, of six
    letters or more, half of them drawn by their number, half by their rows."""
    rng = random.Random(seed)
    known = [(term, df) for term, df in terms
             if len(term) > ONE_EDIT and set(term) <= set(LETTERS)]
    chosen = rng.sample(known, count // 2) + rng.choices(
        known, [df for _, df in known], k=count - count // 2)
    return [(term, df, misspelt(term, rng)) for term, df in chosen]
