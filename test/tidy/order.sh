#!/bin/sh
# order.sh [ROOT]: where the README of a folder of src/ has a section "Order",
# its indented lines name all files of the folder, lowest first, as
# "name name : what"; functions are called from higher lines only.
root=${1:-.}
cd "$root/src" || exit 2
bad=0

for readme in $(grep -lx '## Order' ./*/README.md ./*/*/README.md 2>/dev/null | sed 's|^\./||'); do
	folder=${readme%/README.md}
	# Both passes read the same files: definitions first, then uses.
	files=$(find "$folder" -name '*.c' | sort)
	awk -v folder="$folder" '
function complain(what) { print "src/" what; bad = 1 }
function file_of(name,    prefix) {
	prefix = folder
	sub(/.*\//, "", prefix)
	return folder "/" prefix "_" name ".c"
}

# The order.
FILENAME == readme {
	if (/^## /)
		inside = /^## Order$/
	if (!inside || !/^    [a-z]/)
		next
	line++
	sub(/ :.*/, "")
	n = split($0, word, " ")
	for (i = 1; i <= n; i++) {
		if (file_of(word[i]) in rank)
			complain(readme ": " word[i] " stands twice in the order")
		rank[file_of(word[i])] = line
		listed[file_of(word[i])] = word[i]
	}
	next
}

FNR == 1 {
	pass = ++seen[FILENAME]
	in_comment = 0
	static = 0
	pending = ""
	if (pass == 1 && !(FILENAME in rank))
		complain(FILENAME ": not in the order of " readme)
	delete listed[FILENAME]
}

# Without comments, strings and characters.
{
	text = ""
	rest = $0
	while (rest != "") {
		if (in_comment) {
			at = index(rest, "*/")
			if (at == 0)
				break
			rest = substr(rest, at + 2)
			in_comment = 0
		} else if (match(rest, /\/\*|"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047/)) {
			text = text substr(rest, 1, RSTART - 1) " "
			in_comment = substr(rest, RSTART, 2) == "/*"
			rest = substr(rest, RSTART + RLENGTH)
		} else {
			text = text rest
			rest = ""
		}
	}
}

# pgindent: the type on a line of its own, then the name in column 0.
pass == 1 {
	if (text ~ /^(static|typedef)/)
		static = 1
	else if (text ~ /^[A-Za-z_][A-Za-z0-9_ ]*[ *]*$/)
		static = 0
	if (text ~ /^[A-Za-z_][A-Za-z0-9_]*\(/) {
		name = text
		sub(/\(.*/, "", name)
		pending = static ? "" : name
	}
	if (pending != "" && text ~ /;[ \t]*$/)
		pending = ""
	if (pending != "" && text ~ /^\{/) {
		home[pending] = FILENAME
		pending = ""
	}
	if (text ~ /^[};]/)
		static = 0
	next
}

{
	n = split(text, word, /[^A-Za-z0-9_]+/)
	for (i = 1; i <= n; i++) {
		if (!(word[i] in home) || home[word[i]] == FILENAME)
			continue
		if (rank[home[word[i]]] >= rank[FILENAME])
			complain(FILENAME ":" FNR ": " word[i] "() is of " \
					 home[word[i]] ", which is not below")
	}
}

END {
	for (file in listed)
		complain(readme ": the order names " file ", which does not exist")
	exit bad
}' readme="$readme" "$readme" $files $files || bad=1
done
exit $bad
