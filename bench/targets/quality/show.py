"""show.py: prints and draws what bench-quality has measured; imported by
report.py."""
from harness.report_base import of, print_machine

# nDCG@10 of BM25 by another program, k1 1.2, b 0.75, exact lengths.
REFERENCE = {"cranfield": .3667, "scifact": .6859}
TOLERANCE = .005
# of the nDCG of queries as they are, with a letter of the rarest word wrong
FORGIVEN = .9


def ndcg_of(entry):
    return sum(entry["ndcg"]) / len(entry["ndcg"])


def entry_of(run, name, proximity):
    found = of(run["measured"], collection=name, proximity=proximity)
    return found[0] if found else None


def print_table(run):
    print("\n%-12s%11s%9s%9s%9s%9s%12s" % (
        "collection", "proximity", "nDCG@10", "change", "better", "worse",
        "ms a query"))
    for entry in run["measured"]:
        zero = entry_of(run, entry["collection"], 0.0)
        better = sum(a > b for a, b in zip(entry["ndcg"], zero["ndcg"]))
        worse = sum(a < b for a, b in zip(entry["ndcg"], zero["ndcg"]))
        print("%-12s%11s%9.4f%+8.2f%%%9d%9d%12.3f" % (
            entry["collection"], "default" if entry["proximity"] is None
            else "%g" % entry["proximity"], ndcg_of(entry),
            100 * (ndcg_of(entry) / ndcg_of(zero) - 1), better, worse,
            entry["ms"] / len(entry["ndcg"])))


def forgiven_of(run, name, misspelt, forgiving):
    return [ndcg_of(entry) for entry in run["forgiven"] if
            entry["collection"] == name and entry["forgiving"] == forgiving and
            (entry["misspelt"] > 0) == misspelt][0]


def print_forgiven(run):
    print("\n%-12s%18s%12s%12s" % ("collection", "queries misspelt", "plain",
                                   "forgiving"))
    for entry in run["forgiven"]:
        if not entry["forgiving"]:
            name, misspelt = entry["collection"], entry["misspelt"]
            print("%-12s%18d%12.4f%12.4f" % (name, misspelt, *(
                forgiven_of(run, name, misspelt > 0, forgiving)
                for forgiving in (False, True))))


def weights(run):
    """Those that were tried, the default apart."""
    return sorted({entry["proximity"] for entry in run["measured"]
                   if entry["proximity"] is not None})


def plots(run):
    """The weights at even distances, 1, 2, 4 on the axis."""
    places = [1 << number for number in range(len(weights(run)))]
    return [("", "ranked scans, by weights of proximity", [{
        "title": name, "x": "proximity", "y": "nDCG@10", "linear": True,
        "ticks": [(place, "%g" % weight)
                  for place, weight in zip(places, weights(run))],
        "curves": [("skipidx", places, [
            ndcg_of(entry_of(run, name, weight)) for weight in weights(run)]),
            ("BM25 of another program", places, [wanted] * len(places))]}
        for name, wanted in REFERENCE.items()])]


def expect_forgiven(run, name):
    if not run.get("forgiven"):
        return []
    plain = forgiven_of(run, name, False, False)
    share = forgiven_of(run, name, True, True) / plain
    return ["expect %s_forgiven measured=%.4f wanted>=%.4f %s" % (
        name, share, FORGIVEN, "ok" if share >= FORGIVEN else "short")]


def expectations(run):
    lines = []
    for name, wanted in REFERENCE.items():
        zero = ndcg_of(entry_of(run, name, 0.0))
        lines.append("expect %s measured=%.4f wanted=%.4f+-%.3f %s" % (
            name, zero, wanted, TOLERANCE,
            "ok" if abs(zero - wanted) <= TOLERANCE else "short"))
        default = ndcg_of(entry_of(run, name, None))
        lines.append("expect %s_default measured=%.4f wanted>=%.4f %s" % (
            name, default, zero, "ok" if default >= zero else "short"))
        lines += expect_forgiven(run, name)
    return lines


def tables(run):
    print()
    print_machine(run)
    print_table(run)
    if run.get("forgiven"):
        print_forgiven(run)
