#!/bin/bash
# corpus.sh: measures one corpus; called by run_boolean.sh with the connection
# to a fresh cluster, and the following, in the environment.
#
#   BENCH_NAME BENCH_TEXT BENCH_QUERY_FILE BENCH_ENGINES BENCH_SEED
#   BENCH_SKIPIDX    version of skipidx, for the record
#   BENCH_RAW        directory for what was measured
# Options, with their defaults for a corpus of a million rows in brackets:
#   BENCH_QUERIES    queries of each class            200 [200]
#   BENCH_ROUNDS     timed runs of each query         5 [5]
#   BENCH_EXPLAINS   explained runs of each query     2 [2]
#   BENCH_CAP_MS     end a query's rounds early (at least 3) past this, 1500 [4000]
#   BENCH_SECONDS    end a class early past this      50 [240]
#   BENCH_BUILDS     builds of each index at 1GB      3 [2]
#   BENCH_SMALL_BUILDS  the same at 64MB              1 [1]
#   BENCH_ORDER      id (as the text is) or md5 (scattered)
set -u
here=$(cd "$(dirname "$0")" && pwd)
began=$(date +%s)
step() { printf '== %s: %s  [%d s]\n' "$BENCH_NAME" "$*" $(($(date +%s) - began)); }
sql() { psql -X -q -At -v ON_ERROR_STOP=1 "$@"; }

if [ "$(head -n 600000 "$BENCH_TEXT" | wc -l)" = 600000 ]; then
	queries=200 rounds=5 cap=4000 seconds=240 builds=2
else
	queries=200 rounds=5 cap=1500 seconds=50 builds=3
fi
queries=${BENCH_QUERIES:-$queries}
rounds=${BENCH_ROUNDS:-$rounds}
explains=${BENCH_EXPLAINS:-2}
cap=${BENCH_CAP_MS:-$cap}
seconds=${BENCH_SECONDS:-$seconds}
builds=${BENCH_BUILDS:-$builds}
small_builds=${BENCH_SMALL_BUILDS:-1}
order=${BENCH_ORDER:-id}
[ "$rounds" -ge 1 ] && [ "$builds" -ge 1 ] && [ "$explains" -ge 1 ] || exit 2

# The lines of engines.conf that are measured, without their padding
chosen_engines() {
	awk -F '|' -v OFS='|' -v wanted=" $BENCH_ENGINES " '
	/^#/ || NF < 3 { next }
	{ for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
	index(wanted, " " $1 " ") { print $1, $2, $3, $4 }' "$here/engines.conf"
}

declare_engines() {
	local name extension clause often rank=0
	while IFS='|' read -r name extension clause often; do
		rank=$((rank + 1))
		[ -z "$extension" ] ||
			sql -v e="$extension" <<<'CREATE EXTENSION :"e"' || return 1
		sql -v name="$name" -v rank=$rank -v often="$often" -v clause="$clause" \
			<<<"INSERT INTO engine VALUES (:'name', :rank, :'often' = 'few', :'clause')" ||
			return 1
	done < <(chosen_engines)
}

# build_rounds MEMORY ROUNDS OF: one round after another, each begun by the
# next engine; OF = all | repeated (leaves out those built once only)
build_rounds() {
	local memory=$1 round turn lines line name extension clause often
	mapfile -t lines < <(chosen_engines)
	for ((round = 1; round <= $2; round++)); do
		for ((turn = 0; turn < ${#lines[@]}; turn++)); do
			line=${lines[$(((round + turn - 1) % ${#lines[@]}))]}
			IFS='|' read -r name extension clause often <<<"$line"
			if [ "$often" = few ] && { [ "$3" = repeated ] || [ $round -gt 1 ]; }; then
				continue
			fi
			sql -v engine="$name" -v index="docs_$name" -v clause="$clause" \
				-v memory="$memory" -v round=$round -f "$here/build.sql" || return 1
		done
	done
}

load_queries() {
	python3 "$here/make_queries.py" "$BENCH_QUERY_FILE" "$BENCH_SEED" "$queries" \
		>"$BENCH_RAW/queries.tsv" &&
		sql -c "\\copy query (id, class, words) from '$BENCH_RAW/queries.tsv'" \
			-f "$here/queries.sql"
}

# What the record should say beside figures
settings_json() {
	printf '{"corpus": "%s", "order": "%s", "class_queries": %d, "rounds": %d, ' \
		"$BENCH_NAME" "$order" "$queries" "$rounds"
	printf '"explains": %d, "cap_ms": %d, "class_seconds": %d, ' \
		"$explains" "$cap" "$seconds"
	printf '"seed": %d, "text_bytes": %d, "skipidx": "%s"}\n' \
		"$BENCH_SEED" "$(stat -Lc %s "$BENCH_TEXT")" "$BENCH_SKIPIDX"
}

settings_json >"$BENCH_RAW/run.json"
step "load ($order order)"
sql -f "$here/schema.sql" && declare_engines &&
	sql -c 'COPY staged FROM STDIN' <"$BENCH_TEXT" &&
	sql -v order="$order" -f "$here/load.sql" && load_queries || exit 1

step "build"
build_rounds 64MB "$small_builds" repeated && build_rounds 1GB "$builds" all || exit 1

step "match"
sql -f "$here/functions.sql" &&
	sql -v rounds="$rounds" -v explain_rounds="$explains" -v cap_ms="$cap" \
		-v seconds="$seconds" -f "$here/measure.sql" || exit 1
sql -f "$here/export.sql" >"$BENCH_RAW/measured.jsonl" || exit 1
step "measured"
