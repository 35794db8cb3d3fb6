#!/bin/sh
# layers.sh [ROOT]: includes go down the layers of src/LAYERS, never sideways
# or up; private headers stay in their folder; headers are few and guarded.
# A folder of files is "group/folder", or a group that has no folders; the lines
# of a group stand together, so that groups are layers, too.
root=${1:-.}
cd "$root/src" || exit 2
[ -r LAYERS ] || { echo "src/LAYERS is missing"; exit 1; }

find . -name '*.[ch]' | sed 's|^\./||' | sort | xargs awk '
function folder_of(path) { return sub(/\/[^\/]*$/, "", path) ? path : "" }
function file_of(path) { sub(/.*\//, "", path); return path }
function prefix_of(folder) { return file_of(folder) }
function complain(what) { printf "src/%s:%d: %s\n", FILENAME, FNR, what; bad = 1 }

BEGIN {
	while ((getline line < "LAYERS") > 0) {
		if (line ~ /^#/ || line ~ /^[ \t]*$/)
			continue
		rank++
		n = split(line, word, " ")
		for (i = 1; i <= n; i++) {
			layer[word[i]] = rank
			group = word[i]
			sub(/\/.*/, "", group)
			if (group in top && top[group] < rank - 1) {
				print "src/LAYERS: the lines of " group "/ do not stand together"
				bad = 1
			}
			top[group] = rank
		}
	}
}

FNR == 1 {
	from = folder_of(FILENAME)
	name = prefix_of(from)
	file = file_of(FILENAME)
	if (from != "" && !(from in layer))
		complain("folder " from "/ is not in src/LAYERS")
	if (from == "" && FILENAME !~ "^skipidx(_settings)?[.]c$")
		complain("only skipidx.c and skipidx_settings.c lie outside the folders")
	if (from != "" && file !~ ("^" name "\\.[ch]$") && index(file, name "_") != 1)
		complain("file name must begin with " name "_")
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
	to = folder_of(quoted[2])
	header_name = file_of(quoted[2])
	if (to == "" && (header_name ~ /^skipidx/ || (("./" header_name) in seen)))
		complain("write the folder of " header_name)
	if (!(to in layer))
		next
	# A header of the server can lie in a folder of that name.
	name = prefix_of(to)
	if (header_name != name ".h" && index(header_name, name "_") != 1)
		next
	if ((getline ignored < quoted[2]) < 0)
		complain("no such header: " quoted[2])
	close(quoted[2])
	if (from == "" ) {
		if (header_name ~ /_internal\.h$/)
			complain("private header " quoted[2])
		next
	}
	if (from == to)
		next
	if (layer[to] >= layer[from])
		complain(from "/ may not include " to "/")
	if (header_name ~ /_internal\.h$/)
		complain("private header " quoted[2])
}

END {
	for (file in guard_missing) {
		printf "src/%s: no guard SKX_..._H\n", file
		bad = 1
	}
	exit bad
}'
