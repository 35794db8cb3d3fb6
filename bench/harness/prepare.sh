# prepare.sh: sourced by ../run.sh, after cluster.sh.  What measurements need:
# packages, skipidx itself, a text, a directory to work in.
#
#   SKIPIDX_CORPORA      where the texts are (default ../shared/corpora)
#   SKIPIDX_BENCH_CACHE  where they are kept decompressed
#   BENCH_INSTALL=no     measure the skipidx that is installed already
#   BENCH_RESULTS        where the JSON goes (default bench/results)
#   BENCH_SEED, BENCH_ROWS   of generated text

corpora_dir=${SKIPIDX_CORPORA:-$root/../shared/corpora}
cache=${SKIPIDX_BENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/skipidx-bench}
results=${BENCH_RESULTS:-$here/results}
BENCH_SEED=${BENCH_SEED:-1}
BENCH_ROWS=${BENCH_ROWS:-150000}

work=$(mktemp -d "${TMPDIR:-/tmp}/skipidx-bench.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# prepare_packages: RUM is left out where Debian has none for the server;
# exports what programs of all targets need
prepare_packages() {
	bash "$root/test/setup/packages.sh" build bench || return 1
	bash "$root/test/setup/packages.sh" rum || say "bench: no RUM"
	BENCH_SKIPIDX=$(version_of_tree)
	BENCH_TEMP=$work
	PYTHONPATH=$here${PYTHONPATH:+:$PYTHONPATH}
	export BENCH_SEED BENCH_SKIPIDX BENCH_TEMP PYTHONPATH
	mkdir -p "$results"
}

# version_of_tree: the commit, with + where the tree differs from it
version_of_tree() {
	local git="git -c safe.directory=* -C $root"
	echo "$(set -f; $git rev-parse --short HEAD 2>/dev/null)$(set -f
		[ -z "$($git status --porcelain -- src sql Makefile 2>/dev/null)" ] || echo +)"
}

# prepare_server: skipidx built and installed
prepare_server() {
	PG_CONFIG=$(find_pg_config) && export PG_CONFIG || return 1
	[ "${BENCH_INSTALL:-yes}" = yes ] || return 0
	mkdir "$work/tree" && copy_tree "$root" "$work/tree" &&
		make -s -C "$work/tree" -j"$(nproc)" with_llvm=no >"$work/build.log" 2>&1 &&
		as_root make -s -C "$work/tree" with_llvm=no install >>"$work/build.log" 2>&1 ||
		{ cat "$work/build.log"; return 1; }
}

# prepare_root: skipidx in a root with another server and peers, see
# peers/root.sh; sets root_dir, and root_copy, where the tree's copy is in it.
# Where none can be had, the machine's own server is prepared.
prepare_root() {
	local made
	if made=$(bash "$here/peers/root.sh" make "$root"); then
		read -r root_dir root_copy <<<"$made"
		# An interrupt may come twice, which must not end the removal.
		trap 'trap "" HUP INT TERM; rm -rf "$work"
			bash "$here/peers/root.sh" remove "$root_dir$root_copy"' EXIT
		BENCH_HARDWARE=$(python3 "$here/harness/hardware.py" "$root_dir$root_copy")
		export BENCH_HARDWARE
		[ ! -e "$root_dir/usr/lib/postgresql/18/lib/pg_textsearch.so" ] ||
			settings+=(shared_preload_libraries=pg_textsearch)
		return 0
	fi
	say "bench: no root with PostgreSQL 18: this machine's server, without pg_textsearch"
	bash "$root/test/setup/packages.sh" callgrind || say "bench: no valgrind"
	prepare_server
}

# measure_in_root FILE OPTION...: the program of the target, in a cluster with
# these options of with_cluster.sh; text and record are passed on
measure_in_root() {
	local file=$1 outside=$root_dir$root_copy name variables=()
	shift
	as_root sh -c 'ln -f "$1" "$3/text" 2>/dev/null || cp "$1" "$3/text"
		cp "$2" "$3/queries"' sh "$BENCH_TEXT" "$BENCH_QUERY_FILE" "$outside" || return 1
	for name in $(compgen -e BENCH_); do
		variables+=("$name=${!name}")
	done
	bash "$here/peers/root.sh" run "$root_dir" env "${variables[@]}" \
		PYTHONPATH="$root_copy/bench" TMPDIR="$root_copy/tmp" BENCH_TEMP="$root_copy/tmp" \
		BENCH_TEXT="$root_copy/text" BENCH_QUERY_FILE="$root_copy/queries" \
		bash "$root_copy/test/setup/with_cluster.sh" "$@" -- \
		python3 -m "targets.$target.measure" "$root_copy/record.json" || return 1
	cp "$outside/record.json" "$file" && say "bench: which is now $file"
}

# prepare_timing: the procedures of timing.c, compiled for the server of
# PG_CONFIG; loaded by their path, never installed
prepare_timing() {
	mkdir -p "$work/timing" && cp "$here"/harness/timing.{c,mk} "$work/timing/" &&
		make -s -C "$work/timing" -f timing.mk with_llvm=no SKIPIDX="$root" \
			>"$work/timing.log" 2>&1 || { cat "$work/timing.log"; return 1; }
}

# prepare_collections: those with judgments
prepare_collections() {
	BENCH_QUALITY=$corpora_dir/quality
	export BENCH_QUALITY
	[ -r "$BENCH_QUALITY/cranfield/docs.tsv" ] ||
		{ say "bench: no collections in $BENCH_QUALITY"; return 1; }
}

# prepare_recombine: the program that makes a text longer
prepare_recombine() {
	"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$work/recombine" \
		"$here/harness/recombine.c" "$here/harness/shuffle.c" -lm
}

# unpack NAME: decompressed into the cache once; sets text and queries
unpack() {
	local packed=$corpora_dir/$1.tsv.xz bytes
	text=$cache/$1.tsv
	queries=$corpora_dir/queries/${1%_1m}.q
	[ -r "$packed" ] && [ -r "$queries" ] ||
		{ say "bench: no $1 in $corpora_dir"; return 1; }
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
	python3 "$here/harness/gen_corpus.py" "$BENCH_ROWS" "$BENCH_SEED" "$text" "$queries"
}

# choose_text NAME: exports what programs need of it; fails if there is none
choose_text() {
	if [ "$1" = generated ]; then
		generate || return 1
	else
		unpack "$1" || return 1
	fi
	BENCH_CORPUS=$1
	BENCH_TEXT=$text
	BENCH_QUERY_FILE=$queries
	export BENCH_CORPUS BENCH_TEXT BENCH_QUERY_FILE
}
