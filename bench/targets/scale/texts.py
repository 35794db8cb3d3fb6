"""texts.py: which texts bench-scale is measured on; imported by measure.py."""
from harness.recombined import size_of, sizes
from harness.record import option

ROWS, SHORT, ORDER = "1 4 10", "20", "article"
SHORT_WORDS = 10          # of a row, on average


def wanted_texts():
    """Each has a name, which its measurements bear."""
    found = []
    for order in option("SCALE_ORDER", ORDER).split():
        for rows, words in (
                [(rows, 0) for rows in sizes("SCALE_ROWS", ROWS)] +
                [(rows, SHORT_WORDS) for rows in sizes("SCALE_SHORT", SHORT)]):
            name = size_of(rows) + (" short" if words else "") + (
                " " + order if order != ORDER else "")
            found.append({"text": name, "rows": rows, "row_words": words,
                          "order": order})
    return found
