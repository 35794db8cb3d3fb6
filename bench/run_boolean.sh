#!/bin/bash
# run_boolean.sh: `make bench-boolean`.  Installs what is missing, builds and
# installs skipidx, then measures each corpus in a private cluster of its own
# and prints the report; see README.md beside it.
#
#   BENCH_CORPORA        which of them (default "simplewiki enwiki_1m"),
#                        or "generated"
#   BENCH_ENGINES        default "gin rum skipidx"
# and the options of boolean/corpus.sh and prepare.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"
. "$here/harness/prepare.sh"

BENCH_ENGINES=${BENCH_ENGINES:-gin rum skipidx}
BENCH_SHARED_BUFFERS=${BENCH_SHARED_BUFFERS:-2GB}

measures() { case " $BENCH_ENGINES " in *" $1 "*) true ;; *) false ;; esac; }

# engine_field NAME NUMBER: a field of engines.conf without its padding
engine_field() {
	awk -F '|' -v name="$1" -v field="$2" '
	{ for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
	!/^#/ && $1 == name { print $field; found = 1 }
	END { exit !found }' "$here/targets/boolean/engines.conf"
}

# Engines that this machine cannot have are left out, and said to be.
choose_engines() {
	local name extension kept=
	for name in $BENCH_ENGINES; do
		extension=$(engine_field "$name" 2) ||
			{ say "bench: $name is not in engines.conf"; return 1; }
		if [ -n "$extension" ] && [ "$name" != skipidx ] &&
			[ ! -e "$("$PG_CONFIG" --sharedir)/extension/$extension.control" ]; then
			say "bench: $name is not installed, left out"
			continue
		fi
		kept="$kept $name"
	done
	BENCH_ENGINES=${kept# }
}

# run_corpus NAME TEXT QUERIES
run_corpus() {
	local raw=$work/$1 name setting settings=()
	mkdir "$raw" || return 1
	for name in $BENCH_ENGINES; do
		for setting in $(engine_field "$name" 5); do
			settings+=(-c "$setting")
		done
	done
	python3 "$here/harness/hardware.py" "${TMPDIR:-/tmp}" >"$raw/hardware.json"
	BENCH_NAME=$1 BENCH_TEXT=$2 BENCH_QUERY_FILE=$3 BENCH_RAW=$raw \
	bash "$root/test/setup/with_cluster.sh" \
		-c shared_buffers="$BENCH_SHARED_BUFFERS" -c max_wal_size=32GB \
		-c checkpoint_timeout=1h -c jit=off -c autovacuum=off \
		-c max_parallel_workers_per_gather=0 \
		-c max_parallel_maintenance_workers=0 \
		${settings[@]+"${settings[@]}"} -- bash "$here/targets/boolean/corpus.sh" ||
		return 1
	python3 "$here/harness/hardware.py" "${TMPDIR:-/tmp}" >"$raw/hardware_after.json"
	mkdir -p "$results" &&
		python3 -m targets.boolean.show collect "$raw" "$results/boolean-$1.json"
}

prepare_packages || exit 1
PG_CONFIG=$(find_pg_config) || exit 1
export PG_CONFIG
choose_engines || exit 1
if measures skipidx; then
	install_skipidx || exit 1
fi
BENCH_SKIPIDX=$(version_of_tree)
export BENCH_ENGINES BENCH_SEED BENCH_SKIPIDX

status=0
measured=
for name in ${BENCH_CORPORA:-simplewiki enwiki_1m}; do
	if [ "$name" = generated ]; then
		generate || exit 1
	elif ! unpack "$name"; then
		say "bench: no $name in $corpora_dir"
		continue
	fi
	run_corpus "$name" "$text" "$queries" || status=1
	measured="$measured $name"
done
if [ -z "$measured" ]; then
	generate && run_corpus generated "$text" "$queries" || status=1
fi
exit $status
