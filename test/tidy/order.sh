#!/bin/sh
# order.sh [ROOT]: the files of a folder of src/ call each other in one
# direction.  Where its README has a section "Order", its indented lines name
# all files of the folder, lowest first, as "name name : what"; functions are
# called from higher lines only.  In other folders no files call each other in
# a circle, except those in `recursive`.
root=${1:-.}
cd "$root/src" || exit 2
bad=0

# The README of the folder says why.
recursive='read/query/query_iter.c read/query/query_open.c
	read/query/query_range.c read/query/query_turns.c'

for folder in $(find . -name '*.c' | sed 's|^\./||; s|/*[^/]*$||' | sort -u); do
	# Both passes read the same files: definitions first, then uses.
	files=$(find "$folder" -name '*.c' | sort)
	readme=
	! grep -qsx '## Order' "$folder/README.md" || readme=$folder/README.md
	awk -v folder="$folder" -v recursive="$recursive" '
BEGIN {
	n = split(recursive, word, " ")
	for (i = 1; i <= n; i++)
		allowed[word[i]] = 1
}
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
	if (pass == 1)
		file[++nfiles] = FILENAME
	if (pass == 1 && readme != "" && !(FILENAME in rank))
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
		if (readme == "") {
			reaches[FILENAME, home[word[i]]] = 1
			call[FILENAME, home[word[i]]] = FNR ": " word[i]
		} else if (rank[home[word[i]]] >= rank[FILENAME])
			complain(FILENAME ":" FNR ": " word[i] "() is of " \
					 home[word[i]] ", which is not below")
	}
}

# Files that reach each other, by any number of calls, are in a circle.
function circles(    i, j, k) {
	for (k = 1; k <= nfiles; k++)
		for (i = 1; i <= nfiles; i++)
			for (j = 1; (file[i], file[k]) in reaches && j <= nfiles; j++)
				if ((file[k], file[j]) in reaches)
					reaches[file[i], file[j]] = 1
	for (i = 1; i <= nfiles; i++) {
		for (j = 1; j <= nfiles; j++) {
			if (!((file[i], file[j]) in call) || \
				!((file[j], file[i]) in reaches))
				continue
			if (!(file[i] in allowed) || !(file[j] in allowed))
				complain(file[i] ":" call[file[i], file[j]] "() is of " \
						 file[j] ", which calls back")
		}
		if (file[i] in allowed && !((file[i], file[i]) in reaches))
			complain(file[i] ": is recursive here, but in no circle")
	}
}

END {
	for (name in listed)
		complain(readme ": the order names " name ", which does not exist")
	circles()
	exit bad
}' readme="$readme" $readme $files $files || bad=1
done
exit $bad
