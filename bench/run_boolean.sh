#!/bin/bash
# run_boolean.sh: `make bench-boolean`.  Installs what is missing, builds and
# installs skipidx, then measures each corpus in a private cluster of its own
# and prints the report; see README.md beside it.
#
#   SKIPIDX_CORPORA      where the corpora are (default ../shared/corpora)
#   SKIPIDX_BENCH_CACHE  where they are kept decompressed
#   BENCH_CORPORA        which of them (default "simplewiki enwiki_1m"),
#                        or "generated"
#   BENCH_ENGINES        default "gin rum skipidx"
#   BENCH_INSTALL=no     measure the skipidx that is installed already
#   BENCH_RESULTS        where the JSON goes (default bench/results)
# and the options of boolean/corpus.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
. "$root/test/setup/cluster.sh"

corpora_dir=${SKIPIDX_CORPORA:-$root/../shared/corpora}
cache=${SKIPIDX_BENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skipidx-bench}
results=${BENCH_RESULTS:-$here/results}
BENCH_ENGINES=${BENCH_ENGINES:-gin rum skipidx}
BENCH_SHARED_BUFFERS=${BENCH_SHARED_BUFFERS:-2GB}
BENCH_SEED=${BENCH_SEED:-1}
BENCH_ROWS=${BENCH_ROWS:-150000}	# of the generated corpus

work=$(mktemp -d "${TMPDIR:-/tmp}/skipidx-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

measures() { case " $BENCH_ENGINES " in *" $1 "*) true ;; *) false ;; esac; }

# engine_field NAME NUMBER: a field of engines.conf without its padding
engine_field() {
	awk -F '|' -v name="$1" -v field="$2" '
	{ for (i = 1; i <= NF; i++) gsub(/^[ \t]+|[ \t]+$/, "", $i) }
	!/^#/ && $1 == name { print $field; found = 1 }
	END { exit !found }' "$here/boolean/engines.conf"
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

install_skipidx() {
	[ "${BENCH_INSTALL:-yes}" = yes ] || return 0
	mkdir "$work/tree" && copy_tree "$root" "$work/tree" &&
		make -s -C "$work/tree" -j"$(nproc)" with_llvm=no >"$work/build.log" 2>&1 &&
		as_root make -s -C "$work/tree" with_llvm=no install >>"$work/build.log" 2>&1 ||
		{ cat "$work/build.log"; return 1; }
}

# unpack NAME: decompressed into the cache once; sets text and queries
unpack() {
	local packed=$corpora_dir/$1.tsv.xz bytes
	text=$cache/$1.tsv
	queries=$corpora_dir/queries/${1%_1m}.q
	[ -r "$packed" ] && [ -r "$queries" ] || return 1
	bytes=$(xz --robot -l "$packed" | awk '$1 == "totals" { print $5 }')
	if [ "$(stat -c %s "$text" 2>/dev/null)" != "$bytes" ]; then
		say "bench: decompressing $1"
		mkdir -p "$cache" && xz -dc "$packed" >"$text.$$" &&
			mv "$text.$$" "$text" || { rm -f "$text.$$"; return 1; }
	fi
}

generate() {
	text=$work/generated.tsv
	queries=$work/generated.q
	say "bench: generating $BENCH_ROWS rows, seed $BENCH_SEED"
	python3 "$here/gen_corpus.py" "$BENCH_ROWS" "$BENCH_SEED" "$text" "$queries"
}

# version_of_tree: the commit, with + where the tree differs from it
version_of_tree() {
	local git="git -c safe.directory=* -C $root"
	echo "$(set -f; $git rev-parse --short HEAD 2>/dev/null)$(set -f
		[ -z "$($git status --porcelain -- src sql Makefile 2>/dev/null)" ] || echo +)"
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
	python3 "$here/hardware.py" "${TMPDIR:-/tmp}" >"$raw/hardware.json"
	BENCH_NAME=$1 BENCH_TEXT=$2 BENCH_QUERY_FILE=$3 BENCH_RAW=$raw \
	bash "$root/test/setup/with_cluster.sh" \
		-c shared_buffers="$BENCH_SHARED_BUFFERS" -c max_wal_size=32GB \
		-c checkpoint_timeout=1h -c jit=off -c autovacuum=off \
		-c max_parallel_workers_per_gather=0 \
		-c max_parallel_maintenance_workers=0 \
		${settings[@]+"${settings[@]}"} -- bash "$here/boolean/corpus.sh" ||
		return 1
	python3 "$here/hardware.py" "${TMPDIR:-/tmp}" >"$raw/hardware_after.json"
	mkdir -p "$results" &&
		python3 "$here/report.py" collect "$raw" "$results/boolean-$1.json"
}

bash "$root/test/setup/packages.sh" build bench ||
	bash "$root/test/setup/packages.sh" build || exit 1
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
