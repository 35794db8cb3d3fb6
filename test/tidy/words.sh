#!/bin/sh
# words.sh [ROOT]: comments and READMEs of src/ name backends, callers and
# processes, and have no words for persons in their place; lines of its READMEs
# have 120 columns at most, but for tables, code and links; so have those of the
# README at the top, of packaging/ and of doc/.
root=${1:-.}
cd "$root" || exit 2
{ find src -name "*.[ch]" -o -name "*.md" | sort; ls README.md CONTRIBUTING.md ARCHITECTURE.md SECURITY.md packaging/README.md doc/*.md 2>/dev/null; } | xargs -r awk '
function complain(what) {
	printf "%s:%d: %s\n", FILENAME, FNR, what
	bad = 1
}
FILENAME ~ /^src\// {
	line = " " tolower($0) " "
	if (match(line, /[^a-z_](who|whoever|whom|nobody|somebody|someone|anybody|anyone|everybody)[^a-z_]/))
		complain("\"" substr(line, RSTART + 1, RLENGTH - 2) "\" stands for a person")
}
FILENAME ~ /\.md$/ && length($0) > 120 && !/^(\||    |\t)/ && !/\]\(/ {
	complain("line of " length($0) " columns, at most 120")
}
END { exit bad }'
