#!/bin/bash
# lifecycle.sh MAJOR DEB NEWER: as root, in a root where the package DEB is
# installed and tables of installed.sh are on the server that psql connects to:
# a second installation over the first, the package of a newer revision and back,
# all with the server running; removal while the extension is still created, and
# return.
set -u
. "$(dirname "$0")/expect.sh"
major=$1 deb=$2 newer=$3
package=postgresql-$major-skipidx
export DEBIAN_FRONTEND=noninteractive

# installs WHAT COMMAND ...: which must succeed
installs() {
	local what=$1 output
	shift
	output=$("$@" 2>&1 </dev/null)
	same "$what" 0 $?
	printf '%s\n' "$output" | sed 's/^/    /'
}

state() { dpkg-query -W -f '${Version} ${db:Status-Status}' "$package" 2>/dev/null; }
version_of() { dpkg-deb -f "$1" Version; }

# works WHEN: in a new session, by the index, for writes, and for a worker
works() {
	same "$1: rows are found" 619 "$(ask "SET enable_seqscan = off; SELECT count(*) FROM many WHERE v @@ 'w3'")"
	same "$1: a row is written and found" 1 "$(ask "BEGIN; INSERT INTO many VALUES (0, '''$1''');
		SELECT count(*) FROM many WHERE v @@ '''$1'''; ROLLBACK")"
	same "$1: an index is made" "" "$(ask "CREATE INDEX again ON many USING skipidx (v); DROP INDEX again")"
}

# A session that has the library in memory, and goes on with it.
hold() { coproc SESSION { psql -X -A -t -q 2>&1; }; }

# tell SQL: the first line of what it says
tell() {
	local said
	echo "$1" >&"${SESSION[1]}"
	IFS= read -r -t 60 said <&"${SESSION[0]}"
	printf '%s\n' "$said"
}

installs "installed again, over itself" dpkg -i "$deb"
works again
installs "a newer revision" apt-get -q -y install "$newer"
same "it is the newer one" "$(version_of "$newer") installed" "$(state)"
works newer
installs "back to the older one" apt-get -q -y --allow-downgrades install "$deb"
same "it is the older one" "$(version_of "$deb") installed" "$(state)"
works older

hold
same "a session has it in memory" 619 "$(tell "SELECT count(*) FROM many WHERE v @@ 'w3';")"
installs "purged" apt-get -q -y purge "$package"
like "no package" '^(| ?not-installed)$' "$(state)"
same "no file is left" "" "$(find /usr/lib/postgresql /usr/share/postgresql /usr/share/doc -name '*skipidx*')"
same "a session that had it goes on" 619 "$(tell "SELECT count(*) FROM many WHERE v @@ 'w3';")"
for statement in "SELECT count(*) FROM many WHERE v @@ 'w3'" "INSERT INTO many VALUES (0, 'x')" \
	"SELECT skipidx_any('english', 'w3')" "REINDEX INDEX many_v" "DROP INDEX many_v"; do
	like "purged: $statement" 'could not access file "(.libdir/)?skipidx": No such file' "$(ask "$statement")"
done
same "other tables are as before" 7 "$(ask "CREATE TABLE other (v tsvector); INSERT INTO other SELECT 'a' FROM generate_series(1, 7);
	CREATE INDEX ON other USING gin (v); SELECT count(*) FROM other WHERE v @@ 'a'; DROP TABLE other")"
installs "installed once more" apt-get -q -y install "$deb"
works returned
same "the index agrees with the table" "" "$(ask "DO 'BEGIN PERFORM skipidx_check(''many_v'', true); END'")"
same "dropped with its indexes" 0 "$(ask "SET client_min_messages = warning; DROP EXTENSION skipidx CASCADE;
	SELECT count(*) FROM pg_class WHERE relname = 'many_v'")"
installs "purged with nothing created" apt-get -q -y purge "$package"
same "the table has its rows" 60000 "$(ask "SELECT count(*) FROM many")"
done_here
