#!/bin/bash
# installed.sh VERSION README LOG: skipidx as it is installed, on the server that
# psql connects to, as a superuser: the version of its control file is VERSION;
# the SQL of README (plain or compressed) prints what stands below it; CREATE
# INDEX has workers, and workers merge in the background, which both find the
# library by the server's path.  LOG is the server's.
set -u
. "$(dirname "$0")/expect.sh"
version=$1 readme=$2 log=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What must be printed, or is to be run: of each block of SQL, and of the text
# that stands right below it.
blocks() {
	zcat -f "$readme" | awk -v what="$1" '
		!open && /^```sql$/ { open = "sql"; said = 0; print (what == "sql" ? "\\echo " : "") "--- line " NR; next }
		!open && /^```text$/ { open = "text"; next }
		!open && /^```/ { open = "other"; next }
		/^```$/ { open = ""; next }
		open == what { print }'
}

# tour: psql ends each result with an empty line, which a block need not
tour() {
	blocks sql >"$work/tour.sql"
	blocks text >"$work/expected"
	psql -X -q -f "$work/tour.sql" >"$work/got" 2>&1
	sed -i 's/[ \t]*$//; /^$/d' "$work/expected" "$work/got"
	same "the tour has blocks" yes "$([ "$(grep -c '^--- line' "$work/expected")" -ge 10 ] && echo yes)"
	same "the tour prints what stands below" "" "$(diff "$work/expected" "$work/got")"
}

# workers_started WHAT: lines of the log
workers_started() { grep -c "starting background worker process \"$1" "$log"; }

# counts QUERY: by the index, and by the table
counts() {
	ask "SET enable_seqscan = off; SELECT count(*) FROM $1 WHERE v @@ '$2'"
	ask "SET enable_indexscan = off; SET enable_bitmapscan = off; SET skipidx.enable_custom_scan = off;
		SELECT count(*) FROM $1 WHERE v @@ '$2'"
}

parallel_build() {
	local before
	before=$(workers_started 'parallel worker')
	same "a parallel build" "" "$(ask "
		CREATE TABLE many (id int, v tsvector) WITH (parallel_workers = 2, autovacuum_enabled = off);
		INSERT INTO many SELECT i, ('all:1 w' || i % 97 || ':2 n' || i || ':3')::tsvector
			FROM generate_series(1, 60000) i;
		SET max_parallel_maintenance_workers = 2; SET maintenance_work_mem = '128MB';
		CREATE INDEX many_v ON many USING skipidx (v);")"
	same "the build has two workers" 2 $(($(workers_started 'parallel worker') - before))
	same "what it has built is found" "619
619" "$(counts many w3)"
}

background_merge() {
	local i
	ask "CREATE TABLE more (id serial, v tsvector) WITH (autovacuum_enabled = off);
		CREATE INDEX more_v ON more USING skipidx (v) WITH (block_size = '8kB', pending_limit = '64kB')"
	for i in $(seq 12); do
		ask "INSERT INTO more (v) SELECT ('all:1 word' || i % 97 || ':2 n' || i || ':3')::tsvector
			FROM generate_series(1, 1500) i"
		same "workers end ($i)" t "$(poll "SELECT NOT EXISTS
			(SELECT FROM pg_stat_activity WHERE backend_type = 'skipidx worker')")"
	done
	like "workers have merged" '^[1-9]' "$(ask "SELECT count(*) FROM skipidx_merges
		WHERE index = 'more_v'::regclass AND operation = 'merge' AND asked_by = 'worker' AND state = 'done'")"
	same "what they have merged is found" "180
180" "$(counts more 'word3 & !n3')"
}

same "the version" "$version" "$(ask "SELECT default_version FROM pg_available_extensions WHERE name = 'skipidx'")"
same "nothing is preloaded" "" "$(ask 'SHOW shared_preload_libraries')"
tour
same "the version of the extension" "$version" "$(ask "SELECT extversion FROM pg_extension WHERE extname = 'skipidx'")"
# of the library, where it says so
[ "$(ask "SELECT to_regproc('skipidx_version') IS NULL")" = t ] ||
	like "the version of the library" "(^|[^0-9])$version" "$(ask "SELECT skipidx_version()")"
parallel_build
background_merge
same "the indexes agree with the tables" "" "$(ask "DO 'BEGIN PERFORM skipidx_check(''many_v'', true);
	PERFORM skipidx_check(''more_v'', true); END'")"
done_here
