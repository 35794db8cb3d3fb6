#!/bin/sh
# promises.sh [ROOT]: every numbered promise of a folder's README is held by a
# test, which says so in its head comment; and every promise that is cited
# exists.  A citation is a line "Holds: manifest 4, 5; pending 2", as many of
# these as need be; "Holds: none" stands in a test of what has no number.
root=${1:-.}
cd "$root" || exit 2

# All that can hold a promise; each of the first list says what it holds.
tests=$(find test/t test/specs test/unit test/fuzz sql \( -path 'test/t/*.pl' \
	-o -path 'test/specs/*.spec' -o -path 'test/unit/test_*.c' \
	-o -path 'test/fuzz/fuzz_*.c' -o -path 'sql/*.sql' \) \
	! -name 'skipidx--*' -type f 2>/dev/null | sort)
others=$(find test/tidy test/setup test/unit -name '*.sh' -type f 2>/dev/null | sort)

# shellcheck disable=SC2086
awk '
function complain(what) { print what; bad = 1 }

# Of a head comment, the text; "" once it is over.
function text_of(line) {
	if (line ~ /^\/\*/ || FILENAME ~ /\.c$/) {
		if (line !~ /^(\/\*| \*)/)
			return ""
		if (line ~ /\*\//)
			over = 1
		sub(/^(\/\*| \*)[ \t]*/, "", line)
		sub(/[ \t]*\*\/.*/, "", line)
		return line " "
	}
	if (line !~ (FILENAME ~ /\.sql$/ ? "^--" : "^#"))
		return ""
	sub(/^(--|#)[ \t]*/, "", line)
	return line " "
}

function cite(list,    parts, n, i, folder, numbers, m, j) {
	said[FILENAME] = 1
	sub(/^Holds:[ \t]*/, "", list)
	sub(/[ \t]+$/, "", list)
	if (list == "none")
		return
	n = split(list, parts, /; */)
	for (i = 1; i <= n; i++) {
		if (parts[i] !~ /^[a-z]+ [0-9]+(, [0-9]+)*$/) {
			complain(FILENAME ":" FNR ": \"" parts[i] "\" cites nothing")
			continue
		}
		folder = parts[i]
		sub(/ .*/, "", folder)
		sub(/^[a-z]+ /, "", parts[i])
		m = split(parts[i], numbers, /, /)
		for (j = 1; j <= m; j++) {
			held[folder, numbers[j]] = 1
			if (!((folder, numbers[j]) in promise))
				complain(FILENAME ":" FNR ": promise " numbers[j] \
						 " of " folder "/README.md does not exist")
		}
	}
}

FNR == 1 { inside = 0; over = 0; last = 0; files[++nfiles] = FILENAME }

FILENAME ~ /README\.md$/ {
	if (/^#/) {
		if (inside && last == 0)
			complain(FILENAME ": its promises are not numbered")
		inside = /^## Promises/
	}
	if (inside && /^[0-9]+\. /) {
		folder = FILENAME
		sub(/\/README\.md$/, "", folder)
		sub(/.*\//, "", folder)
		number = $1 + 0
		if (number != last + 1)
			complain(FILENAME ":" FNR ": promise " number " follows " last)
		last = number
		promise[folder, number] = FILENAME
		order[++npromises] = folder SUBSEP number
	}
	next
}

over { next }
{
	text = text_of($0)
	if (text == "")
		over = 1
	else if (text ~ /^Holds:/)
		cite(text)
}

END {
	for (i = 1; i <= nfiles; i++)
		if (files[i] !~ /(README\.md|\.sh)$/ && !(files[i] in said))
			complain(files[i] ": its head does not say what it holds")
	for (i = 1; i <= npromises; i++)
		if (!(order[i] in held)) {
			split(order[i], at, SUBSEP)
			complain(promise[order[i]] ": no test holds promise " at[2])
		}
	exit bad
}' $(find src packaging -name README.md \( -path 'src/*/*' -o -path packaging/README.md \) 2>/dev/null | sort) $tests $others
