#!/bin/bash
# tour.sh: the part of the demo that talks to the server; called by demo.sh
# with the connection in the environment.
set -u
here=$(cd "$(dirname "$0")" && pwd)
step() { printf '\n== %s  [%d s]\n' "$*" $(($(date +%s) - DEMO_BEGAN)); }
sql() { psql -X -q -v ON_ERROR_STOP=1 -v am="$DEMO_AM" -v own="${DEMO_OWN:-no}" "$@"; }

echo "socket directory $PGHOST, no TCP; it is removed when the demo ends"

step "load: a table with a stored tsvector, title labelled A, body D"
sql -f "$here/schema.sql" || exit 1
sql -c "\\copy docs (id, title, body) from '$DEMO_TEXT'" || exit 1
sql -f "$here/queries.sql" || exit 1

step "two indexes, and every query through each"
sql -f "$here/measure.sql" || exit 1

step "results"
sql -f "$here/results.sql" || exit 1
if [ "$DEMO_AM" = skipidx ]; then
	step "writes: seen at once, gone after VACUUM"
	sql -f "$here/writes.sql" || exit 1
fi
[ "$(sql -At -c 'SELECT demo_verdict()')" = t ] ||
	{ echo "demo: an answer or a plan was not as it should be"; exit 1; }
