#!/bin/sh
# length.sh [ROOT]: functions of at most 70 lines, counted from the line of
# the name to the closing brace; .c files of 1,200, headers of 600.
root=${1:-.}
cd "$root" || exit 2

find src test bench -name '*.[ch]' 2>/dev/null | sort | xargs -r awk '
function complain(file, line, what) {
	printf "%s:%d: %s\n", file, line, what
	bad = 1
}
function end_of_file() {
	if (last == "")
		return
	most = last ~ /\.h$/ ? 600 : 1200
	if (lines > most)
		complain(last, lines, "file of " lines " lines, at most " most)
}

FNR == 1 { end_of_file(); last = FILENAME; start = 0; body = 0 }
{ lines = FNR }

# A definition has its name in column 0 (pgindent) or, against the style,
# its type there; a prototype ends in a semicolon before any brace.
!body && /^[A-Za-z_][^;={}]*\(/ {
	start = FNR
	name = $0
	sub(/\(.*/, "", name)
	sub(/.*[ \t*]/, "", name)
}
!body && start && /;[ \t]*$/ { start = 0 }
!body && start && (/^\{/ || /\)[ \t]*\{[ \t]*$/) { body = 1 }
body && /^\}/ {
	if (FNR - start + 1 > 70)
		complain(FILENAME, start, name " has " FNR - start + 1 \
				 " lines, at most 70")
	body = 0
	start = 0
}
END { end_of_file(); exit bad }'
