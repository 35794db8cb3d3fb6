#!/bin/sh
# layout.sh [ROOT] [fix]: C code is laid out as pgindent of the PostgreSQL
# tree lays it out, or, with "fix", is laid out so.  Says so and passes where
# no server's headers of 17 or 18, which bring pgindent, are installed; that of 19
# puts blanks before "..." and in initializers, where these have none.
root=${1:-.}
cd "$root" || exit 2
bin=
for dir in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -t/ -k5 -n); do
	case $dir in */19/*) continue ;; esac
	[ -x "$dir/pgindent" ] && [ -x "$dir/pg_bsd_indent" ] && bin=$dir
done
if [ -z "$bin" ]; then
	echo "layout: not checked, pgindent comes with postgresql-server-dev-17 and -18"
	exit 0
fi
server=/usr/share/postgresql/${bin#/usr/lib/postgresql/}
server=${server%/bin}/typedefs.list
list=$(mktemp) || exit 2
trap 'rm -f "$list"' EXIT
trap 'exit 1' HUP INT TERM
files=$(find src -name '*.[ch]' 2>/dev/null | sort)
[ -n "$files" ] || exit 0

# Names of types: the server's, but for one that is a name of variables here,
# and those of this tree.
{
	grep -vx text "$server"
	awk '
	/^[ \t]*typedef .*\(\*[A-Za-z0-9_]+\)/ { sub(/.*\(\*/, ""); sub(/\).*/, ""); print; next }
	/^[ \t]*typedef (struct|union|enum) [A-Za-z0-9_]+/ { print $3 }
	/^[ \t]*typedef / && !/\{/ { line = $0; sub(/ *__attribute__.*/, ";", line); sub(/ ?\(.*/, ";", line); sub(/\[.*/, ";", line)
		if (line ~ /;/) { sub(/;.*/, "", line); sub(/.*[ *]/, "", line); print line } }
	/^\} *[A-Za-z0-9_]+;/ { sub(/^\} */, ""); sub(/;.*/, ""); print }' $files
} | grep -E '^[A-Za-z_]' | sort -u >"$list"
mode='--check --diff'
[ "${2:-}" != fix ] || mode=
"$bin/pgindent" $mode --indent="$bin/pg_bsd_indent" --typedefs="$list" $files
