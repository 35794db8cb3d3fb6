"""make_fold.py: writes edit_fold_table.h and edit_unfold_table.h, by Python's
own Unicode data."""
import os
import sys
import unicodedata

# Latin and its additions up to Cyrillic; the extended Latin and Greek blocks.
RANGES = ((0x00C0, 0x0530), (0x1E00, 0x2000))
# Dotted I is no accented I: in Turkish both are letters.
KEPT = (0x0130,)


def folded(code):
    """The letter that is left without marks; the character itself if it is
    none with marks, 0 if it is a mark."""
    if code in KEPT:
        return code
    if unicodedata.combining(chr(code)):
        return 0
    first, *others = unicodedata.normalize("NFD", chr(code))
    if all(unicodedata.combining(one) for one in others):
        return ord(first)
    return code


def table(name, codes):
    lines, line = [], "\t"
    for code in codes:
        word = "0x%04X," % folded(code)
        if len(line) + len(word) > 72:
            lines.append(line.rstrip())
            line = "\t"
        line += word + " "
    lines.append(line.rstrip().rstrip(","))
    return "static const uint16 %s[] = {\n%s\n};\n" % (name, "\n".join(lines))


def pairs():
    """What is folded: letters, 0 for marks, each with the characters that fold
    to it."""
    found = sorted((folded(code), code) for range_ in RANGES
                   for code in range(*range_) if folded(code) != code)
    lines = ["\t" + " ".join("{0x%04X, 0x%04X}," % pair
                             for pair in found[i:i + 4])
             for i in range(0, len(found), 4)]
    return ("#define SKX_FOLD_PAIRS\t%d\n"
            "static const uint16 skx_fold_pairs[SKX_FOLD_PAIRS][2] = {\n%s\n};\n"
            % (len(found), "\n".join(lines).rstrip(",")))


def header(path, name, text, body):
    guard = "SKX_" + name.upper() + "_H"
    with open(os.path.join(path, name + ".h"), "w", encoding="ascii") as file:
        file.write("/*\n * %s.h\n *\t  %s, by Unicode %s; written by "
                   "make_fold.py.\n */\n#ifndef %s\n#define %s\n\n%s\n"
                   "#endif\t\t\t\t\t\t\t/* %s */\n"
                   % (name, text, unicodedata.unidata_version, guard, guard,
                      body, guard))


def main():
    path = os.path.dirname(os.path.abspath(sys.argv[0]))
    header(path, "edit_fold_table", "Letters without their marks",
           "".join("#define SKX_FOLD_%04X_END\t0x%04X\n%s" % (
               first, end, table("skx_fold_%04X" % first, range(first, end)))
                   for first, end in RANGES))
    header(path, "edit_unfold_table", "Letters with their marks",
           pairs())


if __name__ == "__main__":
    main()
