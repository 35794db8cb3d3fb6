"""levels.py: words by how many rows have them, as searches of the table
searches; imported by measure.py of count and facets."""
from harness.server import outputs, sql

# Shares of the rows, and what a level of words of about that share is called.
LEVELS = (("half", .5), ("1e-1", .1), ("1e-2", .01), ("1e-3", .001),
          ("1e-4", 1e-4), ("1e-5", 1e-5))
WORDS = 5


def fill_levels(index, rows):
    """Into searches, words of each level, as mode its name, and as mode `all`
    a query that every row matches."""
    sql("CREATE TABLE IF NOT EXISTS searches (id int, mode text, q tsquery)",
        "CREATE TABLE terms AS SELECT * FROM skipidx_terms('%s', '', 200000)"
        % index, "INSERT INTO searches VALUES (0, 'all', '!nosuchword')")
    for name, share in LEVELS:
        sql("INSERT INTO searches SELECT row_number() OVER (), '%s',"
            " quote_literal(term)::tsquery FROM (SELECT term FROM terms WHERE"
            " term ~ '^[a-z]+$' ORDER BY abs(ln(df / %f)), term LIMIT %d) t" %
            (name, max(share * rows, 1), WORDS))
    outputs("ANALYZE searches", "DROP TABLE terms")


def names():
    return ["all"] + [name for name, _ in LEVELS]
