#!/bin/sh
# layers.sh [ROOT]: includes go down the layers of src/LAYERS, never sideways
# or up; private headers stay in their folder; headers are few and guarded.
root=${1:-.}
cd "$root/src" || exit 2
[ -r LAYERS ] || { echo "src/LAYERS is missing"; exit 1; }

find . -name '*.[ch]' | sed 's|^\./||' | sort | xargs awk '
function complain(what) { printf "src/%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }

BEGIN {
	while ((getline line < "LAYERS") > 0) {
		if (line ~ /^#/ || line ~ /^[ \t]*$/)
			continue
		rank++
		n = split(line, word, " ")
		for (i = 1; i <= n; i++)
			layer[word[i]] = rank
	}
}

FNR == 1 {
	depth = split(FILENAME, path, "/")
	from = depth > 1 ? path[1] : ""
	if (depth > 2)
		complain("folders inside a module are not allowed")
	if (from != "" && !(from in layer))
		complain("folder " from "/ is not in src/LAYERS")
	if (from == "" && FILENAME != "skipidx.c")
		complain("only skipidx.c lies outside the folders")
	if (from != "" && path[2] != from ".h" && index(path[2], from "_") != 1)
		complain("file name must begin with " from "_")
	header = FILENAME ~ /\.h$/
	includes = 0
	if (header)
		guard_missing[FILENAME] = 1
}

header && /^#ifndef[ \t]+SKX_[A-Z0-9_]+_H[ \t]*$/ {
	if ($2 in guard_of)
		complain("guard " $2 " is that of " guard_of[$2] " too")
	guard_of[$2] = FILENAME
	delete guard_missing[FILENAME]
}

/^[ \t]*#[ \t]*include/ {
	line = $0
	sub(/^[ \t]*#[ \t]*include[ \t]*/, "", line)
	server = line ~ /^"postgres(_fe)?\.h"/
	includes++
	if (header && server)
		complain("a header must not include postgres.h")
	if (!header && includes == 1 && !server)
		complain("the first include of a .c file is postgres.h")
	if (line !~ /^"/)
		next
	split(line, quoted, "\"")
	n = split(quoted[2], part, "/")
	if (n == 1 && (part[1] ~ /^skipidx/ || (("./" part[1]) in seen)))
		complain("write the folder of " part[1])
	if (n != 2 || !(part[1] in layer))
		next
	to = part[1]
	# A server header can share the name of a folder, as access/ would.
	if (part[2] != to ".h" && index(part[2], to "_") != 1)
		next
	if ((getline ignored < quoted[2]) < 0)
		complain("no such header: " quoted[2])
	close(quoted[2])
	if (from == "" ) {
		if (part[2] ~ /_internal\.h$/)
			complain("private header " quoted[2])
		next
	}
	if (from == to)
		next
	if (layer[to] >= layer[from])
		complain(from "/ may not include " to "/")
	if (part[2] ~ /_internal\.h$/)
		complain("private header " quoted[2])
}

END {
	for (file in guard_missing) {
		printf "src/%s: no guard SKX_..._H\n", file
		bad = 1
	}
	exit bad
}'
