"""make_fold.py: writes edit_fold_table.h, by Python's own Unicode data."""
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


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])),
                        "edit_fold_table.h")
    with open(path, "w", encoding="ascii") as file:
        file.write("/*\n * edit_fold_table.h\n *\t  Letters without their "
                   "marks, by Unicode %s; written by make_fold.py.\n */\n"
                   % unicodedata.unidata_version)
        file.write("#ifndef SKX_EDIT_FOLD_TABLE_H\n"
                   "#define SKX_EDIT_FOLD_TABLE_H\n\n")
        for first, end in RANGES:
            file.write("#define SKX_FOLD_%04X_END\t0x%04X\n%s" % (
                first, end, table("skx_fold_%04X" % first,
                                  range(first, end))))
        file.write("\n#endif\t\t\t\t\t\t\t/* SKX_EDIT_FOLD_TABLE_H */\n")


if __name__ == "__main__":
    main()
