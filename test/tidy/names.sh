#!/bin/sh
# names.sh [ROOT]: prefixes of symbols, size asserts of disk structs, one place
# for server versions, no catch-all files, no paths of somebody's machine.
#
# Holds: compat 1; disk 4
root=${1:-.}
cd "$root" || exit 2
bad=0
complain() { echo "$1"; bad=1; }

# All files that are, or would be, under version control.
listed() {
	if [ -e .git ]; then
		git -c safe.directory='*' ls-files -co --exclude-standard 2>/dev/null
	else
		find . -type f | sed 's|^\./||'
	fi | grep -v '^test/tidy/'
}

# 1. Definitions of external functions and variables: skx_<folder>_, or the
# skx<verb> of an access method's callback, or the skipidx_<name> that an SQL
# function shares with its C function, or what the server looks for.
wrong=$(find src -name '*.c' | sort | xargs -r awk '
FNR == 1 {
	static = 0
	pending = ""
	delete callable
	n = split(FILENAME, path, "/")
	folder = n > 2 ? path[n - 1] : ""
}
function check(name, line) {
	if (name ~ /^(_PG_init|_PG_fini|Pg_magic_func)$/)
		return
	if (folder != "" && index(name, "skx_" folder "_") == 1)
		return
	if (name ~ /^skipidx_/ && name in callable)
		return
	if (name ~ /^skx[a-z]+$/ || (folder == "" && name ~ /^skx_/))
		return
	printf "%s:%d: external symbol %s\n", FILENAME, line, name
}
/^PG_FUNCTION_INFO_V1\(/ {
	name = $0
	gsub(/^[^(]*\(|\).*/, "", name)
	callable[name] = 1
}
# pgindent: the type on a line of its own, then the name in column 0
/^(static|typedef)/ { static = 1 }
/^(extern )?[A-Za-z_][A-Za-z0-9_ ]*[ *]*$/ && !/^static/ { static = 0 }
/^[A-Za-z_][A-Za-z0-9_]*\(/ && !/^PG_[A-Z0-9_]+\(/ && !/^[A-Z][A-Za-z]*Assert/ {
	name = $0
	sub(/\(.*/, "", name)
	pending = static ? "" : name
	at = FNR
}
pending != "" && (/;[ \t]*$/ || /^$/) { pending = "" }
pending != "" && /^\{/ { check(pending, at); pending = "" }
/^[};]/ { static = 0 }
# variables: "type name = ..." or "type name;" in column 0
/^[A-Za-z_][A-Za-z0-9_ ]*[ \t*]+[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])*[ \t]*(=.*|;[ \t]*)$/ &&
		!/^(static|typedef|extern|struct [A-Za-z]+;|enum|union|return|goto)/ {
	name = $0
	sub(/(\[|=|;).*/, "", name)
	sub(/[ \t]+$/, "", name)
	sub(/.*[ \t*]/, "", name)
	check(name, FNR)
}')
[ -z "$wrong" ] || complain "$wrong"

# The built library tells what macros and the compiler made of it.
if [ -e skipidx.so ] && command -v nm >/dev/null &&
	[ -z "$(find src -name '*.[ch]' -newer skipidx.so)" ]; then
	wrong=$(nm -D --defined-only skipidx.so | awk '$2 ~ /^[A-TV-Z]$/ {
		if ($3 !~ /^(skx|skipidx_|pg_finfo_|Pg_magic_func$|_PG_init$|_PG_fini$|_init$|_fini$)/)
			print "skipidx.so: external symbol " $3 }')
	[ -z "$wrong" ] || complain "$wrong"
fi

# 2. A disk struct is declared in src/format/disk/ and its size asserted there.
asserted=$(cat src/format/disk/*.[ch] 2>/dev/null | tr -s ' \t\n' ' ' |
	grep -oE 'StaticAssert(Decl|Stmt)? ?\( ?sizeof ?\(SkxDisk[A-Za-z0-9]*\)' |
	grep -oE 'SkxDisk[A-Za-z0-9]*')
for found in $(find src -name '*.[ch]' | sort | xargs -r awk '
FNR == 1 { opened = "" }
opened != "" && /^\{/ { print FILENAME ":" opened }
{ opened = "" }
/^(typedef )?(struct|union)[ \t]+SkxDisk[A-Za-z0-9]*[ \t]*\{?[ \t]*$/ {
	opened = $0
	sub(/.*SkxDisk/, "SkxDisk", opened)
	sub(/[^A-Za-z0-9].*/, "", opened)
	if (/\{/)
		print FILENAME ":" opened
}
/^\}.*SkxDisk[A-Za-z0-9]*[ \t]*;/ {
	name = $0
	sub(/.*SkxDisk/, "SkxDisk", name)
	sub(/[^A-Za-z0-9].*/, "", name)
	print FILENAME ":" name
}' | sort -u); do
	file=${found%:*}
	type=${found#*:}
	case $file in
		src/format/disk/*) ;;
		*) complain "$file: $type belongs to src/format/disk/" ;;
	esac
	printf '%s\n' "$asserted" | grep -qxF "$type" ||
		complain "$file: no StaticAssert of sizeof($type) in src/format/disk/"
done

# A type is defined once in the whole tree.
wrong=$(find src -name '*.[ch]' | sort | xargs -r awk '
/^(typedef )?(struct|union|enum)[ \t]+Skx[A-Za-z0-9]+[ \t]*\{?$/ {
	name = $0
	sub(/[ \t]*\{?$/, "", name)
	sub(/.*[ \t]/, "", name)
	opened = /\{/ ? "" : name
	if (/\{/)
		define(name)
	next
}
opened != "" && /^\{/ { define(opened) }
{ opened = "" }
function define(name) {
	if (name in home)
		printf "%s:%d: type %s is that of %s too\n", FILENAME, FNR, name, home[name]
	else
		home[name] = FILENAME
}')
[ -z "$wrong" ] || complain "$wrong"

# 3. Server versions are told apart in one place.
wrong=$(grep -rnE 'PG_VERSION_NUM|PG_MAJORVERSION_NUM' src --include='*.[ch]' 2>/dev/null |
	grep -v '^src/support/compat/')
[ -z "$wrong" ] || complain "$wrong
PG_VERSION_NUM belongs to src/support/compat/"

# What only the newest server demands is not noticed by the others.
for file in $(grep -rl 'CreateTemplateTupleDesc(' src --include='*.c' 2>/dev/null); do
	[ "$(grep -c 'CreateTemplateTupleDesc(' "$file")" -le "$(grep -c 'SKX_COMPAT_FINISH_DESC(' "$file")" ] ||
		complain "$file: each new descriptor needs SKX_COMPAT_FINISH_DESC()"
done

# 4. Names that gather homeless code.
wrong=$(listed | grep -E '(^|[/_])(utils?|misc|common|helpers?)(_[^/]*)?\.(c|h|sql|sh|pl|pm|py)$')
[ -z "$wrong" ] || complain "$wrong: a file name that says nothing"

# 5. Nothing may point into the machine it was written on.
wrong=$(listed | tr '\n' '\0' |
	xargs -0 -r grep -nIE '(^|[^A-Za-z0-9_.$}-])/(work|root|home)(/|[^A-Za-z0-9_-]|$)' -- /dev/null)
[ -z "$wrong" ] || complain "$wrong
a path of one machine"

exit $bad
