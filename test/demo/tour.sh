#!/bin/bash
# tour.sh: the part of the demo that talks to the server; called by demo.sh
# with the connection in the environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../setup/cluster.sh"
. "$here/../setup/report.sh"
step() { printf '\n== %s  [%d s]\n' "$*" $(($(date +%s) - DEMO_BEGAN)); }
sql() {
	psql -X -q -v ON_ERROR_STOP=1 -v own="${DEMO_OWN:-no}" "$@" | report_alive "at work"
	return "${PIPESTATUS[0]}"
}

# kill_server: every process of the private server at once, as a power cut of
# the processes: none of them gets to write anything more
kill_server() {
	local postmaster status
	postmaster=$(head -n 1 "$PGHOST/data/postmaster.pid")
	as_server_user kill -STOP "$postmaster"
	for status in /proc/[0-9]*/status; do
		awk -v ppid="$postmaster" '$1 == "Pid:" { pid = $2 }
			$1 == "PPid:" && $2 == ppid { print pid }' "$status" 2>/dev/null
	done | xargs -r kill -KILL "$postmaster"
}

# start_server: over what the killed one left; its shared memory is free once
# the last of its processes is gone
start_server() {
	local bindir try
	bindir=$("$(find_pg_config)" --bindir)
	for try in 1 2 3 4 5; do
		(cd "$PGHOST" && as_server_user "$bindir/pg_ctl" -w -t 60 -s \
			-D "$PGHOST/data" -l "$PGHOST/server.log" start 2>/dev/null) && return
		sleep 1
	done
	tail -n 5 "$PGHOST/server.log" >&2
	return 1
}

# crash: rows are inserted one a transaction, until the server is killed; of
# each that was acknowledged a line is in $acknowledged
crash() {
	local acknowledged=$DEMO_WORK/acknowledged writer
	sql -c 'CREATE SEQUENCE kept' -c CHECKPOINT
	yes "INSERT INTO docs (id, title, body) SELECT n, 'kept', 'row ' || n
		FROM (SELECT 'kept' || nextval('kept') AS n) s RETURNING id;" |
		sql -At -o "$acknowledged" 2>/dev/null &
	writer=$!
	sleep 2
	kill_server
	wait "$writer" 2>/dev/null
	echo "killed -9, $(wc -l <"$acknowledged") rows acknowledged; started again:"
	start_server || return 1
	sql -c 'CREATE TABLE acknowledged (id text)' \
		-c "\\copy acknowledged from '$acknowledged'" -f "$here/crash.sql"
}

echo "socket directory $PGHOST, no TCP; it is removed when the demo ends"

step "load: a table with a stored tsvector, title labelled A, body D"
sql -f "$here/schema.sql" || exit 1
sql -c "\\copy docs (id, title, body) from '$DEMO_TEXT'" || exit 1
sql -f "$here/queries.sql" || exit 1

step "two indexes on it"
sql -f "$here/indexes.sql" || exit 1

step "what a person types: the best ten rows"
sql -f "$here/ranked.sql" || exit 1

step "boolean queries: every row that matches"
sql -f "$here/measure.sql" || exit 1
sql -f "$here/results.sql" || exit 1

step "writes: seen at once, gone after VACUUM"
sql -f "$here/writes.sql" || exit 1

step "kill -9 while rows are being inserted"
crash || { echo "demo: the server did not come back, or a row was lost"; exit 1; }

[ "$(sql -At -f "$here/verdict.sql")" = t ] ||
	{ echo "demo: an answer or a plan was not as it should be"; exit 1; }

if [ -n "${DEMO_STAY:-}" ]; then
	step "yours: table docs (id, title, body, tsv), index docs_idx; \\q ends it"
	echo "  SELECT title FROM docs ORDER BY tsv <@> skipidx_any('english', 'any words') LIMIT 10;"
	psql -X
fi
