#!/bin/bash
# tour.sh: the part of the demo that talks to the server; called by demo.sh
# with the connection in the environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../setup/cluster.sh"
. "$here/../setup/report.sh"
step() { printf '\n== %s  [%d s]\n' "$*" $(($(date +%s) - DEMO_BEGAN)); }

# sql ARG ...: of psql, whose statements have an end
sql() {
	local status
	timeout --foreground "$REPORT_LIMIT" psql -X -q -v ON_ERROR_STOP=1 -v own="${DEMO_OWN:-no}" "$@" |
		report_alive "at work"
	status=${PIPESTATUS[0]}
	[ "$status" != 124 ] ||
		say "demo: not done after $REPORT_LIMIT s: psql $*; REPORT_LIMIT=seconds gives it longer"
	return "$status"
}

# kill_server: every process of the private server at once, as a power cut of
# the processes: none of them gets to write anything more.  kill is the shell's
# own, which every machine has.
kill_server() {
	local postmaster pids pid end=$((SECONDS + 60))
	postmaster=$(head -n 1 "$PGHOST/data/postmaster.pid") && [ -n "$postmaster" ] &&
		kill -STOP "$postmaster" && pids="$(children_of "$postmaster") $postmaster" &&
		kill -KILL $pids || return 1
	for pid in $pids; do
		while [ -e "/proc/$pid" ]; do
			[ "$SECONDS" -lt "$end" ] || { say "demo: waited 60 s for process $pid, which was killed"; return 1; }
			sleep 0.1
		done
	done
}

# await SECONDS PID WHAT: until a child of this shell ends; one that does not is
# killed
await() {
	local end=$((SECONDS + $1))
	while kill -0 "$2" 2>/dev/null; do
		if [ "$SECONDS" -ge "$end" ]; then
			say "demo: waited $1 s for $3"
			report_kill KILL "$2"
			kill -KILL "$2"
			return 1
		fi
		sleep 0.1
	done
}

# start_server: over what the killed one left
start_server() {
	local bindir
	bindir=$("$(find_pg_config)" --bindir)
	(cd "$PGHOST" && as_server_user "$bindir/pg_ctl" -w -t 120 -s \
		-D "$PGHOST/data" -l "$PGHOST/server.log" start) && return
	say "demo: the server does not start within 120 s; the end of its log:"
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
	if ! kill_server; then
		say "demo: the server could not be killed"
		report_kill KILL "$writer"
		return 1
	fi
	await 60 "$writer" "the inserting session, whose server was killed" || return 1
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
	echo "  SELECT title FROM docs ORDER BY (title, body) <@> 'any words' LIMIT 10;"
	echo "  SELECT title FROM docs WHERE (title, body) @@@ 'all words \"a phrase\" -not' LIMIT 10;"
	psql -X
fi
